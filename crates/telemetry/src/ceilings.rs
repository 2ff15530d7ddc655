//! What a local server is held to by its machine: CPUs, and what control groups allow at block devices.

use plimsoll_measurement::Ceiling;

use crate::deltas::{GroupDelta, HostDelta, Limit, Limited, Scope};
use crate::host::{IoKind, Snapshot};
use crate::placed::{self, Devices};

const MB: f64 = (1 << 20) as f64;

/// The ceilings of a group of processes; of several of a resource the lowest.
pub fn of_group(snapshot: &Snapshot, of: &str) -> Vec<Ceiling> {
    let host = HostDelta::between(snapshot, snapshot);
    let group: Option<&GroupDelta> = host.groups.iter().find(|group| group.name == of);
    let all: Vec<&Limit> = group.into_iter().flat_map(|group| &group.limits).collect();
    let devices = placed::devices(&snapshot.placed, &all);
    let limits = all.into_iter().filter_map(|limit| ceiling(limit, devices));
    let memory = group.and_then(|group| group.memory.as_ref()).and_then(|memory| {
        let source = format!("memory limit of control group {}", memory.path);
        Ceiling::new("server_memory", memory.limit_bytes? as f64 / MB, source)
    });
    let cpus = host.cpus.and_then(|cpus| Ceiling::new("cpu", f64::from(cpus), MACHINE));
    let mut ceilings: Vec<Ceiling> = Vec::new();
    for ceiling in cpus.into_iter().chain(limits).chain(memory) {
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

/// A limit as a ceiling; `None` for one of a device on which nothing of ours is known to be.
fn ceiling(limit: &Limit, devices: Devices) -> Option<Ceiling> {
    let (source, prefix) = match &limit.scope {
        Scope::Affinity => ("CPUs that its processes may run on".to_owned(), None),
        Scope::Cgroup(path) => (format!("CPU quota of control group {path}"), None),
        Scope::CgroupDevice(path, device) => {
            (format!("I/O limit of control group {path} at device {device}"), Some(devices.prefix(*device)?))
        }
    };
    let (resource, value) = match limit.limited {
        Limited::Cpus => ("cpu".to_owned(), limit.value),
        Limited::Io(kind) => {
            let (of, unit) = match kind {
                IoKind::Reads => ("read_iops", 1.0),
                IoKind::Writes => ("write_iops", 1.0),
                IoKind::ReadBytes => ("read_bandwidth", MB),
                IoKind::WriteBytes => ("write_bandwidth", MB),
            };
            (format!("{}_{of}", prefix?), limit.value / unit)
        }
    };
    Ceiling::new(&resource, value, source)
}
