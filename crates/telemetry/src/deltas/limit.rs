//! A limit, and how much of it was used.

use crate::host::{DeviceNumber, IoKind};

/// What is limited, with its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Limited {
    /// CPUs at work on average.
    Cpus,
    /// Bytes of memory.
    MemoryBytes,
    /// I/O in a second.
    Io(IoKind),
    /// Bits received in a second.
    ReceivedBits,
    /// Bits sent in a second.
    SentBits,
}

/// The source of a limit.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Scope {
    /// What the machine has.
    Machine,
    /// The CPUs that a process may run on.
    Affinity,
    /// A control group, by its path. Everything in the group and below shares it.
    Cgroup(String),
    /// A control group at a block device.
    CgroupDevice(String, DeviceNumber),
    /// A network interface.
    Interface(String),
}

/// A limit with what was used of it, in the same unit.
#[derive(Debug, Clone, PartialEq)]
pub struct LimitUse {
    /// What is limited.
    pub limited: Limited,
    /// The source that sets it.
    pub scope: Scope,
    /// The limit as it was at the end.
    pub limit: f64,
    /// What all that share it used; `None` if that is not known, or if the limit was another one at the start.
    pub used: Option<f64>,
}

impl LimitUse {
    /// Use in percent of the limit. A limit is held over its own short periods, so it may be a little more than 100.
    pub fn percent(&self) -> Option<f64> {
        let used = self.used.filter(|_| self.limit > 0.0)?;
        Some(100.0 * used / self.limit)
    }
}
