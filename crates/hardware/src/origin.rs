//! Where the limits of a description come from: which of its limits, and what is known of it.

use plimsoll_measurement::Provenance;
use serde::{Deserialize, Serialize};

use crate::LimitKind;

/// A part of a description that has limits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitHolder {
    /// Memory for pages.
    Memory,
    /// The CPU quota.
    Cpu,
    /// The client.
    Client,
    /// The disks of the device of this name.
    Disks(String),
    /// The governor in front of the device of this name.
    Governor(String),
    /// The cap of this name.
    Cap(String),
}

/// What is known of one limit, or of all limits of a part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The owner of the limit.
    pub holder: LimitHolder,
    /// Which limit; absent where it is about all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<LimitKind>,
    /// What is known of it.
    #[serde(flatten)]
    pub provenance: Provenance,
}
