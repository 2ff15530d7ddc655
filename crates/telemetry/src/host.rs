//! The machine that we run on, as its kernel counts: Linux. Elsewhere every source is absent and says so.
//!
//! [`Sampler::read`] takes a [`Snapshot`]: CPU, block devices, network and stalls of the whole machine, and for each watched group of
//! processes (ourselves, a local server) its CPU time, and the limits of its control group.
//! Nearly all are cumulative; [`deltas`](crate::deltas) makes rates of two snapshots. Each source has the window in which it was read,
//! or the reason why it can't be, with what is lost.
//!
//! The cost of a reading is at most this CPU time of our process by getrusage. It was measured on a virtual machine with two CPUs,
//! Linux 6.18 and 280 processes, while others compute: 0.35 ms for the machine (of that 0.2 for 58 threads of its
//! kernel), 0.45 ms with ourselves, 2 to 2.7 ms with a server of 101 processes. At a reading a second that is 0.035,
//! 0.045 and at most 0.27 % of a core; more processes or threads are read less often and don't cost more. `cargo run
//! --release -p plimsoll-telemetry --example sampling_cost PID` measures it.
//!
//! The formats are those of proc(5) and of the kernel's own documentation, which each module names.

mod cgroup;
mod cpu;
mod device;
mod disk;
mod fields;
mod group;
mod kernel;
mod machine;
mod mounts;
mod network;
mod paced;
mod pressure;
mod process;
pub(crate) mod run_queue;
mod sampler;
mod text;
mod tree;

use plimsoll_engine::Capability;
use plimsoll_measurement::Window;

pub use cgroup::{Cgroup, CpuGroup, IoGroup, IoKind, IoLimit, MemoryGroup};
pub use cpu::CpuTimes;
pub use device::{Placed, Role};
pub use disk::{DeviceNumber, DiskCounters};
pub use network::InterfaceCounters;
pub use process::{ProcessId, ProcessUse};
pub use sampler::Sampler;

/// What a source said, and when.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampled<T> {
    /// What it said.
    pub value: T,
    /// From asking to the answer.
    pub window: Window,
}

/// What a source said, or what is lost as it can't be read.
pub type Source<T> = Result<Sampled<T>, Capability>;

/// The machine in a moment. Sources are read one after the other, each with its own window.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// CPU time of the whole machine.
    pub cpu: Source<CpuTimes>,
    /// Seconds of CPU that the kernel's own threads used since the first reading, or before it.
    pub kernel: Source<f64>,
    /// Block devices.
    pub disks: Source<Vec<DiskCounters>>,
    /// On which of them the server's files are, as far as that is known.
    pub placed: Vec<Placed>,
    /// Network interfaces.
    pub network: Source<Vec<InterfaceCounters>>,
    /// Seconds in which all that had something to do waited for I/O.
    pub io_stall: Source<f64>,
    /// Watched groups of processes, in the order of [`Sampler::watch`].
    pub groups: Vec<GroupSnapshot>,
}

/// A group of processes in a moment.
#[derive(Debug, Clone)]
pub struct GroupSnapshot {
    /// Its name.
    pub name: String,
    /// The processes at its top. Readings with other ones are of other processes, and there is no growth from one to the other.
    pub roots: Vec<ProcessId>,
    /// CPU time. With very many processes it is not read each time: then the last reading stands, with the window of that.
    pub processes: Source<ProcessUse>,
    /// CPUs that the processes at its top may run on.
    pub allowed_cpus: Source<u32>,
    /// Limits of the control group of the first of them.
    pub cgroup: Cgroup,
}

impl Snapshot {
    /// Everything that could not be read, each thing once.
    pub fn missing(&self) -> Vec<&Capability> {
        let mut missing: Vec<&Capability> = Vec::new();
        let cpu = [self.cpu.as_ref().err(), self.kernel.as_ref().err()];
        let machine = [self.disks.as_ref().err(), self.network.as_ref().err(), self.io_stall.as_ref().err()];
        let groups = self.groups.iter().flat_map(GroupSnapshot::missing);
        for capability in cpu.into_iter().chain(machine).flatten().chain(groups) {
            if !missing.contains(&capability) {
                missing.push(capability);
            }
        }
        missing
    }
}

impl GroupSnapshot {
    fn missing(&self) -> impl Iterator<Item = &Capability> {
        let processes = [self.processes.as_ref().err(), self.allowed_cpus.as_ref().err()];
        processes.into_iter().chain([self.cgroup.cpu.as_ref().err(), self.cgroup.io.as_ref().err()]).flatten()
    }
}
