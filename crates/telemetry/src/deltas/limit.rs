//! A limit that the machine sets.

use crate::host::{DeviceNumber, IoKind};

/// What is limited, with its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Limited {
    /// CPUs at work on average.
    Cpus,
    /// I/O in a second.
    Io(IoKind),
}

/// The source of a limit.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Scope {
    /// The CPUs that a process may run on.
    Affinity,
    /// A control group, by its path. Everything in the group and below shares it.
    Cgroup(String),
    /// A control group at a block device.
    CgroupDevice(String, DeviceNumber),
}

/// A limit.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    /// What is limited.
    pub limited: Limited,
    /// The source that sets it.
    pub scope: Scope,
    /// How much, as it was at the end.
    pub value: f64,
}
