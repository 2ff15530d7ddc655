//! What happened between two readings: rates and the use of limits over the time between them.
//!
//! A figure that is missing on a side, or a counter that went backwards (it wrapped, or what it counted was made anew)
//! is a gap. It is `None`, never negative and never zero. The same holds for what was there on one side only. Two
//! readings of one source give the time between them, from the middle of one window to the middle of the other. Where
//! the windows meet there is no time, and no rate.

mod group;
mod interval;
mod limit;
mod machine;

pub use group::{GroupCpu, GroupDelta, GroupIo, GroupSwitches, MemoryHits, Throttling};
pub use interval::Interval;
pub use limit::{LimitUse, Limited, Scope};
pub use machine::{CpuDelta, DiskDelta, InterfaceDelta, PressureDelta, StallPercent};

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
    /// Stalls of the whole machine.
    pub pressure: Option<PressureDelta>,
    /// Limits of the machine itself: its CPUs, its memory, links of its network.
    pub limits: Vec<LimitUse>,
    /// Every watched group that was there on either side.
    pub groups: Vec<GroupDelta>,
}

impl HostDelta {
    /// What happened from one snapshot of a sampler to a later one.
    pub fn between(before: &Snapshot, after: &Snapshot) -> Self {
        let cpu = machine::cpu(&before.cpu, &after.cpu);
        let interfaces = machine::interfaces(&before.network, &after.network);
        let limits = machine::limits(cpu.as_ref(), &interfaces, after);
        let kernel = interval::both(&before.kernel, &after.kernel);
        Self {
            kernel_cpus: kernel.and_then(|(time, old, new)| time.rate(interval::grown_seconds(*old, *new))),
            shows_kernel: before.kernel.is_ok() && after.kernel.is_ok(),
            disks: machine::disks(&before.disks, &after.disks),
            pressure: machine::pressure(&before.pressure, &after.pressure),
            groups: group::groups(&before.groups, &after.groups),
            cpu,
            interfaces,
            limits,
        }
    }
}

#[cfg(test)]
mod tests;
