//! What is known of a limit beside its value: what it holds back, from which source, for which day, and how that is
//! known.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::vocabulary;

vocabulary! {
    /// What a limit holds back as a whole.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    LimitScope {
        /// One disk.
        Device = "device",
        /// All disks of a volume together.
        Volume = "volume",
        /// All volumes of a virtual machine together.
        Vm = "vm",
        /// All disks of a storage account together.
        Account = "account",
        /// All databases of a server or an instance together.
        Instance = "instance",
        /// One file of a database.
        File = "file",
        /// One database.
        Database = "database",
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
