//! What a local server is held to by its machine: CPUs, and what control groups allow at block devices.

use plimsoll_measurement::Ceiling;

use crate::deltas::{GroupDelta, HostDelta, Limit, Limited, Scope};
use crate::host::{IoKind, Snapshot};

const MB: f64 = (1 << 20) as f64;

/// The ceilings of a group of processes; of several of a resource the lowest.
pub fn of_group(snapshot: &Snapshot, of: &str) -> Vec<Ceiling> {
    let host = HostDelta::between(snapshot, snapshot);
    let group: Option<&GroupDelta> = host.groups.iter().find(|group| group.name == of);
    let limits = group.into_iter().flat_map(|group| &group.limits).filter_map(ceiling);
    let cpus = host.cpus.and_then(|cpus| Ceiling::new("cpu", f64::from(cpus), MACHINE));
    let mut ceilings: Vec<Ceiling> = Vec::new();
    for ceiling in cpus.into_iter().chain(limits) {
        match ceilings.iter_mut().find(|known| known.resource == ceiling.resource) {
            Some(known) if known.value <= ceiling.value => {}
            Some(known) => *known = ceiling,
            None => ceilings.push(ceiling),
        }
    }
    ceilings
}

/// CPUs of the machine, which all processes share.
pub fn of_machine(snapshot: &Snapshot) -> Option<Ceiling> {
    let cpus = HostDelta::between(snapshot, snapshot).cpus?;
    Ceiling::new("machine_cpu", f64::from(cpus), MACHINE)
}

const MACHINE: &str = "CPUs of the machine";

fn ceiling(limit: &Limit) -> Option<Ceiling> {
    let source = match &limit.scope {
        Scope::Affinity => "CPUs that its processes may run on".to_owned(),
        Scope::Cgroup(path) => format!("CPU quota of control group {path}"),
        Scope::CgroupDevice(path, device) => format!("I/O limit of control group {path} at device {device}"),
    };
    let (resource, value) = match limit.limited {
        Limited::Cpus => ("cpu", limit.value),
        Limited::Io(IoKind::Reads) => ("data_read_iops", limit.value),
        Limited::Io(IoKind::Writes) => ("data_write_iops", limit.value),
        Limited::Io(IoKind::ReadBytes) => ("data_read_bandwidth", limit.value / MB),
        Limited::Io(IoKind::WriteBytes) => ("data_write_bandwidth", limit.value / MB),
    };
    Ceiling::new(resource, value, source)
}
