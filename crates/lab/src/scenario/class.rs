//! What may bind, and the halves of the scenarios.

/// Which half of the scenarios: rules are made on one and tried on the other, which has other workloads and other seeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Half {
    /// Rules are made by these.
    Developing,
    /// Rules are tried on these.
    HeldOut,
}

impl Half {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Developing, Self::HeldOut];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Developing => "developing",
            Self::HeldOut => "held-out",
        }
    }
}

/// What may bind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Log writes.
    LogWrite,
    /// Data I/O by its number.
    DataIops,
    /// Data I/O by its bytes.
    DataBandwidth,
    /// CPU of the server.
    Cpu,
    /// Memory: the working set does not fit.
    Memory,
    /// The device, which stands still every so often.
    Device,
    /// Locks.
    Locks,
    /// The client.
    Client,
    /// Nothing that can be raised.
    Nothing,
}

impl Class {
    /// All of them; the last is what is left when none of the others binds.
    pub const ALL: [Self; 9] = [
        Self::LogWrite,
        Self::DataIops,
        Self::DataBandwidth,
        Self::Cpu,
        Self::Memory,
        Self::Device,
        Self::Locks,
        Self::Client,
        Self::Nothing,
    ];

    /// Its name, as a verdict has it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::LogWrite => "log_write",
            Self::DataIops => "data_iops",
            Self::DataBandwidth => "data_bandwidth",
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::Device => "device",
            Self::Locks => "locks",
            Self::Client => "client",
            Self::Nothing => "none",
        }
    }
}
