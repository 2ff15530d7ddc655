//! What a local server is held to by its machine: CPUs, and what control groups allow at block devices.

use plimsoll_measurement::Ceiling;

use crate::deltas::{GroupDelta, HostDelta, LimitUse, Limited, Scope};
use crate::host::{IoKind, Snapshot};

const MB: f64 = (1 << 20) as f64;

/// The ceilings of a group of processes; of several of a resource the lowest.
pub fn of_group(snapshot: &Snapshot, of: &str) -> Vec<Ceiling> {
    let host = HostDelta::between(snapshot, snapshot);
    let group: Option<&GroupDelta> = host.groups.iter().find(|group| group.name == of);
    let limits = host.limits.iter().chain(group.into_iter().flat_map(|group| &group.limits));
    let mut ceilings: Vec<Ceiling> = Vec::new();
    for ceiling in limits.filter_map(ceiling) {
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
    let host = HostDelta::between(snapshot, snapshot);
    let is_machines = |limit: &&LimitUse| limit.scope == Scope::Machine && matches!(limit.limited, Limited::Cpus);
    Ceiling::new("machine_cpu", host.limits.iter().find(is_machines)?.limit, MACHINE)
}

const MACHINE: &str = "CPUs of the machine";

fn ceiling(limit: &LimitUse) -> Option<Ceiling> {
    let source = match &limit.scope {
        Scope::Machine => MACHINE.to_owned(),
        Scope::Affinity => "CPUs that its processes may run on".to_owned(),
        Scope::Cgroup(path) => format!("CPU quota of control group {path}"),
        Scope::CgroupDevice(path, device) => format!("I/O limit of control group {path} at device {device}"),
        Scope::Interface(_) => return None,
    };
    let (resource, value) = match limit.limited {
        Limited::Cpus => ("cpu", limit.limit),
        Limited::Io(IoKind::Reads) => ("data_read_iops", limit.limit),
        Limited::Io(IoKind::Writes) => ("data_write_iops", limit.limit),
        Limited::Io(IoKind::ReadBytes) => ("data_read_bandwidth", limit.limit / MB),
        Limited::Io(IoKind::WriteBytes) => ("data_write_bandwidth", limit.limit / MB),
        // Memory of a machine is cache of the system as well, and no ceiling of the engine's own.
        Limited::MemoryBytes | Limited::ReceivedBits | Limited::SentBits => return None,
    };
    Ceiling::new(resource, value, source)
}
