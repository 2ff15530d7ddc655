//! What a disk reaches above its limits for a while.

use serde::Deserialize;

/// What a disk reaches above its limits.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Burst {
    /// How it is paid for.
    pub kind: BurstKind,
    /// Operations a second.
    pub iops: f64,
    /// Bandwidth, in the level's MB.
    pub mb_per_second: f64,
    /// How long a full bucket lasts at the full burst; absent where there is no end.
    pub seconds: Option<f64>,
}

/// How a burst is paid for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BurstKind {
    /// From a bucket, full at first, that fills with what is unused of the limit.
    Credit,
    /// With money, where switched on.
    OnDemand,
}
