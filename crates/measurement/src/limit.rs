//! What is known of a limit beside its value: what it holds back, from which source, for which day, and how that is
//! known.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a limit holds back as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LimitScope {
    /// One disk.
    Device,
    /// All disks of a volume together.
    Volume,
    /// All volumes of a virtual machine together.
    Vm,
    /// All disks of a storage account together.
    Account,
    /// All databases of a server or an instance together.
    Instance,
    /// One file of a database.
    File,
    /// One database.
    Database,
}

impl LimitScope {
    /// All of them, in the order in which an I/O meets them.
    pub const ALL: [Self; 7] =
        [Self::Device, Self::Volume, Self::Vm, Self::Account, Self::Instance, Self::File, Self::Database];

    /// The name in files and for scripts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::Volume => "volume",
            Self::Vm => "vm",
            Self::Account => "account",
            Self::Instance => "instance",
            Self::File => "file",
            Self::Database => "database",
        }
    }

    /// The scope of this name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.name() == name)
    }
}

/// How the value of a limit is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LimitBasis {
    /// The source prints it.
    Published,
    /// Arithmetic on published figures.
    Derived,
    /// A choice that the source explains.
    Assumed,
    /// It was measured.
    Measured,
    /// The user's own description says so.
    Given,
}

/// Where a limit comes from.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Provenance {
    /// What the limit holds back; absent where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<LimitScope>,
    /// How the value is known.
    pub basis: LimitBasis,
    /// The source, in a sentence or as the catalogue names its source.
    pub source: String,
    /// The day for which the value stands, as `2015-01-31`; absent where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
}
