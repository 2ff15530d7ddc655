//! What happened between two readings: rates over the time between them, and the limits of the later one.
//!
//! A figure that is missing on a side, or a counter that went backwards (it wrapped, or what it counted was made anew)
//! is a gap. It is `None`, never negative and never zero. The same holds for what was there on one side only. Two
//! readings of one source give the time between them, from the middle of one window to the middle of the other. Where
//! the windows meet there is no time, and no rate.

mod group;
mod interval;
mod limit;
mod machine;

pub use group::GroupDelta;
pub use limit::{Limit, Limited, Scope};
pub use machine::{CpuDelta, DiskDelta, InterfaceDelta};

use crate::host::Snapshot;

/// What the machine did between two snapshots.
#[derive(Debug, Clone, PartialEq)]
pub struct HostDelta {
    /// CPUs of the whole machine.
    pub cpu: Option<CpuDelta>,
    /// CPUs at work for the kernel's own threads. With very many they are not read each time.
    pub kernel_cpus: Option<f64>,
    /// Whether the kernel shows them at all.
    pub shows_kernel: bool,
    /// Every block device that was there on either side.
    pub disks: Vec<DiskDelta>,
    /// Every network interface that was there on either side.
    pub interfaces: Vec<InterfaceDelta>,
    /// Time in which all that had something to do waited for I/O, in percent.
    pub io_stall_percent: Option<f64>,
    /// CPUs that are online.
    pub cpus: Option<u32>,
    /// Every watched group that was there on either side.
    pub groups: Vec<GroupDelta>,
}

impl HostDelta {
    /// What happened from one snapshot of a sampler to a later one.
    pub fn between(before: &Snapshot, after: &Snapshot) -> Self {
        let kernel = interval::both(&before.kernel, &after.kernel);
        let stall = interval::both(&before.io_stall, &after.io_stall);
        Self {
            cpu: machine::cpu(&before.cpu, &after.cpu),
            kernel_cpus: kernel.and_then(|(seconds, old, new)| Some(interval::grown_seconds(*old, *new)? / seconds)),
            shows_kernel: before.kernel.is_ok() && after.kernel.is_ok(),
            disks: machine::disks(&before.disks, &after.disks),
            interfaces: machine::interfaces(&before.network, &after.network),
            io_stall_percent: stall
                .and_then(|(seconds, old, new)| interval::percent(interval::grown_seconds(*old, *new), seconds)),
            cpus: after.cpu.as_ref().ok().and_then(|times| times.value.cpus),
            groups: group::groups(&before.groups, &after.groups),
        }
    }
}

#[cfg(test)]
mod tests;
