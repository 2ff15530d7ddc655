//! Reads the machine again and again, without a thread or a schedule of its own.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use plimsoll_clock::{Clock, windowed};

use super::cgroup::{CancelGuard, Cgroup, stalls};
use super::group::Group;
use super::kernel::KernelThreads;
use super::machine::{Machine, Missing};
use super::text::{KeptFile, failure, read_once, unlike};
use super::{CpuTimes, DiskCounters, GroupSnapshot, InterfaceCounters, Memory, Sampled, Snapshot, Source};
use super::{cpu, disk, memory, network};

const CPU: Missing = Missing { name: "CPU time of this machine", cost: "whether its CPUs were busy is unknown" };
const DISKS: Missing =
    Missing { name: "disk counters of this machine", cost: "whether its disks were busy is unknown" };
const NETWORK: Missing =
    Missing { name: "network counters of this machine", cost: "how much went through its network is unknown" };
const MEMORY: Missing = Missing { name: "memory of this machine", cost: "how much memory was free is unknown" };
const PRESSURE: Missing = Missing {
    name: "pressure stalls of this machine",
    cost: "how long it stood still for want of a resource is unknown",
};

/// Reads the machine and groups of processes. It keeps files open and remembers processes, so the first reading costs more than the
/// following ones.
#[derive(Debug)]
pub struct Sampler {
    machine: Machine,
    stat: KeptFile,
    diskstats: KeptFile,
    net_dev: KeptFile,
    meminfo: KeptFile,
    pressure: [KeptFile; 3],
    /// Speeds of interfaces' links, asked when one is first seen.
    speeds: BTreeMap<String, Option<u64>>,
    kernel: KernelThreads,
    groups: Vec<Watch>,
}

#[derive(Debug)]
struct Watch {
    name: String,
    group: Group,
    cgroup: Option<CancelGuard>,
}

impl Sampler {
    /// A sampler of this machine; its readings have the times of `clock`.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self::at(Path::new("/"), clock)
    }

    /// A sampler of a folder that looks like the root of a machine.
    fn at(root: &Path, clock: Arc<dyn Clock>) -> Self {
        let machine = Machine::at(root, clock);
        let file = |path: &str| KeptFile::new(machine.proc.join(path));
        Self {
            stat: file("stat"),
            diskstats: file("diskstats"),
            net_dev: file("net/dev"),
            meminfo: file("meminfo"),
            pressure: ["pressure/cpu", "pressure/memory", "pressure/io"].map(file),
            speeds: BTreeMap::new(),
            kernel: KernelThreads::default(),
            groups: Vec::new(),
            machine,
        }
    }

    /// Watches these processes and all below them as a group, from the next reading on. A group of that name is replaced, as when a
    /// server was restarted: its readings before and after have nothing to do with each other.
    pub fn watch(&mut self, name: &str, pids: &[u32]) {
        let cgroup = pids.first().map(|pid| CancelGuard::new(*pid, &self.machine));
        let watch = Watch { name: name.to_owned(), group: Group::new(pids), cgroup };
        match self.groups.iter_mut().find(|known| known.name == name) {
            Some(known) => *known = watch,
            None => self.groups.push(watch),
        }
    }

    /// Reads everything.
    pub fn read(&mut self) -> Snapshot {
        let cpu = self.read_cpu();
        self.machine.list_processes(cpu.as_ref().ok().and_then(|sampled| sampled.value.started));
        Snapshot {
            cpu,
            // What is compared with each other is read one right after the other.
            groups: self.read_groups(),
            kernel: self.kernel.read(&mut self.machine),
            disks: self.read_disks(),
            network: self.read_network(),
            memory: self.read_memory(),
            pressure: {
                let Machine { clock, buffer, .. } = &mut self.machine;
                let (stalls, window) = windowed(clock.as_ref(), || stalls(&mut self.pressure, buffer));
                stalls.map(|value| Sampled { value, window }).map_err(|reason| PRESSURE.because(reason))
            },
        }
    }

    fn read_cpu(&mut self) -> Source<CpuTimes> {
        let ticks_per_second = self.machine.ticks_per_second;
        parsed(&CPU, &mut self.machine, &mut self.stat, |text| cpu::parse(text, ticks_per_second))
    }

    fn read_disks(&mut self) -> Source<Vec<DiskCounters>> {
        parsed(&DISKS, &mut self.machine, &mut self.diskstats, |text| listed(text, disk::parse(text)))
    }

    fn read_memory(&mut self) -> Source<Memory> {
        parsed(&MEMORY, &mut self.machine, &mut self.meminfo, memory::parse)
    }

    fn read_network(&mut self) -> Source<Vec<InterfaceCounters>> {
        let mut network =
            parsed(&NETWORK, &mut self.machine, &mut self.net_dev, |text| listed(text, network::parse(text)))?;
        let Machine { sys, buffer, .. } = &mut self.machine;
        for interface in &mut network.value {
            if !self.speeds.contains_key(&interface.name) {
                let path = sys.join("class/net").join(&interface.name).join("speed");
                // A link that is down, or a driver that doesn't know, gives an error.
                let speed = read_once(&path, buffer).ok().and_then(|text| network::parse_speed(&text));
                self.speeds.insert(interface.name.clone(), speed);
            }
            interface.link_bits_per_second = self.speeds.get(&interface.name).copied().flatten();
        }
        Ok(network)
    }

    fn read_groups(&mut self) -> Vec<GroupSnapshot> {
        let machine = &mut self.machine;
        let read = |watch: &mut Watch| {
            let found = watch.group.read(machine);
            GroupSnapshot {
                name: watch.name.clone(),
                roots: watch.group.roots().to_vec(),
                processes: found.processes,
                io: found.io,
                switches: found.switches,
                allowed_cpus: found.allowed_cpus,
                cgroup: match &mut watch.cgroup {
                    Some(cgroup) => cgroup.read(machine),
                    None => Cgroup::unknown("no process was named"),
                },
            }
        };
        self.groups.iter_mut().map(read).collect()
    }
}

/// A list may be empty, but not because nothing of its text was understood.
fn listed<T>(text: &str, list: Vec<T>) -> Option<Vec<T>> {
    (!list.is_empty() || text.trim().is_empty()).then_some(list)
}

/// Reads a file of which something is known to be in it.
fn parsed<T>(
    known: &Missing,
    machine: &mut Machine,
    file: &mut KeptFile,
    parse: impl FnOnce(&str) -> Option<T>,
) -> Source<T> {
    let Machine { clock, buffer, .. } = machine;
    let read = || {
        let text = file.read(buffer).map_err(|error| failure(file.path(), &error))?;
        parse(&text).ok_or_else(|| unlike(file.path()))
    };
    let (value, window) = windowed(clock.as_ref(), read);
    value.map(|value| Sampled { value, window }).map_err(|reason: String| known.because(reason))
}

#[cfg(test)]
#[cfg(target_os = "linux")]
#[path = "sampler_tests.rs"]
mod tests;
