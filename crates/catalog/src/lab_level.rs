//! What the lab needs to know of a level, each number with where it comes from.

use crate::Date;
use crate::model::{Basis, Metric};
use crate::sourced::{LatencyQuantiles, Sourced};
use serde::Deserialize;
use strum::IntoStaticStr;

/// Which way the data goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// From the device.
    Read,
    /// To the device.
    Write,
}

/// What the lab needs of a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Quantity {
    /// Data content read a minute with data IO at its limit.
    ReadRate,
    /// Data content written a minute with the log at its limit.
    WriteRate,
    /// Memory for cached data.
    Memory,
    /// CPU capacity.
    Dtu,
    /// How much of a database the service moves a minute: restores and changes of level.
    MovementRate,
}

impl Quantity {
    /// The metric of its figures; DTU are an attribute of a level, not a figure.
    pub(crate) const fn metric(self) -> Option<Metric> {
        match self {
            Self::ReadRate => Some(Metric::ReadRate),
            Self::WriteRate => Some(Metric::WriteRate),
            Self::Memory => Some(Metric::Memory),
            Self::Dtu => None,
            Self::MovementRate => Some(Metric::RestoreRate),
        }
    }

    /// The name in files and errors.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A complete level.
#[derive(Debug, Clone, PartialEq)]
pub struct LabLevel {
    /// The service, as targets name it.
    pub service: String,
    /// The level's own name, also where an alias was asked for.
    pub level: String,
    /// The edition it was found in.
    pub edition: String,
    /// The day of the edition.
    pub as_of: Date,
    /// The level's tier.
    pub tier: String,
    /// MB of data content a minute at 100 % of the data IO limit.
    pub read_rate: Sourced,
    /// MB of data content a minute at 100 % of the log limit.
    pub write_rate: Sourced,
    /// MB of memory for cached data.
    pub memory_mb: Sourced,
    /// CPU capacity relative to 50 for S2.
    pub dtu: Sourced,
    /// MB of database a minute that the service moves when it restores one or gives it another level; absent where nobody
    /// has published that of this generation.
    pub movement_rate: Option<Sourced>,
    /// Other tiers whose levels are reached from this one without moving data.
    pub in_place: Vec<String>,
    /// Reads of data files.
    pub data_read_latency: LatencyQuantiles,
    /// Writes of data files.
    pub data_write_latency: LatencyQuantiles,
    /// Writes of the log.
    pub log_write_latency: LatencyQuantiles,
    /// Operations a second on data files; absent where the tier has no such rule.
    pub iops: Option<Sourced>,
    /// Who disturbs the level, if that was seen.
    pub neighbour: Option<NeighbourFigures>,
}

/// A neighbour that switches a limit between two rates.
#[derive(Debug, Clone, PartialEq)]
pub struct NeighbourFigures {
    /// Share of the limit while the neighbour works.
    pub low_factor: f64,
    /// Share of the limit while it does not; above 1, since the limit stands for the mean.
    pub high_factor: f64,
    /// How long the low state lasts on average, at full volumes: whoever scales volumes scales this as well.
    pub low_dwell_seconds: f64,
    /// How long the high state lasts on average, at full volumes.
    pub high_dwell_seconds: f64,
    /// Which limit it disturbs.
    pub applies_to: Access,
    /// How it is known.
    pub basis: Basis,
    /// How it came about, in one sentence.
    pub rule: String,
    /// Who says what it rests on.
    pub source: String,
}
