//! What may bind, and the halves of the scenarios.

use strum::{IntoStaticStr, VariantArray};

/// Which half of the scenarios: rules are made on one and tried on the other, which has other workloads and other seeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
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
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// What may bind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
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
    #[strum(serialize = "none")]
    Nothing,
}

impl Class {
    /// All of them; the last is what is left when none of the others binds.
    pub const ALL: &[Self] = Self::VARIANTS;

    /// Its name, as a verdict has it.
    pub fn name(self) -> &'static str {
        self.into()
    }
}
