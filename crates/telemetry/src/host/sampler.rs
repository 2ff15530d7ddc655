//! Reads the machine again and again, without a thread or a schedule of its own.

use std::path::Path;
use std::sync::Arc;

use plimsoll_clock::Clock;

use super::cgroup::{CancelGuard, Cgroup};
use super::device::{self, Placed, Role};
use super::group::Group;
use super::kernel::KernelThreads;
use super::machine::{Machine, Missing};
use super::text::{KeptFile, failure, unlike};
use super::{CpuTimes, DiskCounters, GroupSnapshot, InterfaceCounters, Snapshot, Source};
use super::{cpu, disk, network, pressure};

const CPU: Missing = Missing { name: "CPU time of this machine", cost: "whether its CPUs were busy is unknown" };
const DISKS: Missing =
    Missing { name: "disk counters of this machine", cost: "whether its disks were busy is unknown" };
const NETWORK: Missing =
    Missing { name: "network counters of this machine", cost: "how much went through its network is unknown" };
const PRESSURE: Missing =
    Missing { name: "pressure stalls of this machine", cost: "how long it stood still for want of I/O is unknown" };

/// Reads the machine and groups of processes. It keeps files open and remembers processes, so the first reading costs more than the
/// following ones.
#[derive(Debug)]
pub struct Sampler {
    machine: Machine,
    stat: KeptFile,
    diskstats: KeptFile,
    net_dev: KeptFile,
    pressure: KeptFile,
    kernel: KernelThreads,
    groups: Vec<Watch>,
    placed: Vec<Placed>,
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
            pressure: file("pressure/io"),
            kernel: KernelThreads::default(),
            groups: Vec::new(),
            placed: Vec::new(),
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

    /// Notes that what has this role lies in a folder.
    pub fn place(&mut self, role: Role, folder: &Path) {
        let devices = device::of_folder(folder).map(|device| device::below(device, &self.machine.path("sys")));
        self.placed.extend(devices.map(|devices| Placed { role, devices }));
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
            placed: self.placed.clone(),
            network: self.read_network(),
            io_stall: parsed(&PRESSURE, &mut self.machine, &mut self.pressure, pressure::parse),
        }
    }

    /// Whether the first processes of a group are stopped at this moment, by a signal or a debugger.
    pub fn is_stopped(&mut self, name: &str) -> Option<bool> {
        let watch = self.groups.iter_mut().find(|known| known.name == name)?;
        watch.group.is_stopped(&mut self.machine)
    }

    /// How many processes of a group wait to write to a pipe at this moment.
    pub fn in_pipe(&mut self, name: &str) -> Option<u32> {
        let watch = self.groups.iter().find(|known| known.name == name)?;
        Some(watch.group.in_pipe(&mut self.machine))
    }

    fn read_cpu(&mut self) -> Source<CpuTimes> {
        let ticks_per_second = self.machine.ticks_per_second;
        parsed(&CPU, &mut self.machine, &mut self.stat, |text| cpu::parse(text, ticks_per_second))
    }

    fn read_disks(&mut self) -> Source<Vec<DiskCounters>> {
        parsed(&DISKS, &mut self.machine, &mut self.diskstats, |text| listed(text, disk::parse(text)))
    }

    fn read_network(&mut self) -> Source<Vec<InterfaceCounters>> {
        parsed(&NETWORK, &mut self.machine, &mut self.net_dev, |text| listed(text, network::parse(text)))
    }

    fn read_groups(&mut self) -> Vec<GroupSnapshot> {
        let machine = &mut self.machine;
        let read = |watch: &mut Watch| {
            let (processes, allowed_cpus) = watch.group.read(machine);
            GroupSnapshot {
                name: watch.name.clone(),
                roots: watch.group.roots().to_vec(),
                processes,
                allowed_cpus,
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
    known.unless(clock.as_ref(), || {
        let text = file.read(buffer).map_err(|error| failure(file.path(), &error))?;
        parse(&text).ok_or_else(|| unlike(file.path()))
    })
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;
