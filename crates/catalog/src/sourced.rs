//! A number that says where it comes from.

use crate::{Basis, Date};
use serde::Deserialize;

/// A number with where it comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct Sourced {
    /// The number, in the unit its field names.
    pub value: f64,
    /// How it is known.
    pub basis: Basis,
    /// How it came about, in one sentence: "~292 MB/min at 90 % data IO", "scaled by DTU from S2 (2560 MB at 50 DTU)".
    pub rule: String,
    /// The source of what it rests on.
    pub source: String,
    /// The day for which it stands: that of the edition that it rests on. Absent where it is an assumption without a day.
    pub as_of: Option<Date>,
    /// Whether it rests on a figure printed for this very level and edition. Only such numbers belong in a table of
    /// accuracy.
    pub published_here: bool,
}

impl Sourced {
    /// A number that was not published here.
    pub(crate) fn of(value: f64, basis: Basis, rule: String, source: &str, as_of: Option<Date>) -> Self {
        Self { value, basis, rule, source: source.to_owned(), as_of, published_here: false }
    }
}

/// Service times of one kind of I/O: quantiles in milliseconds, none of them zero. Between two quantiles the
/// distribution is taken as uniform.
#[derive(Debug, Clone, PartialEq)]
pub struct LatencyQuantiles {
    /// The quantiles.
    pub ms: QuantilesMs,
    /// How they are known.
    pub basis: Basis,
    /// How they came about, in one sentence.
    pub rule: String,
    /// The source of what they rest on.
    pub source: String,
}

/// Five quantiles in milliseconds, rising.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuantilesMs {
    /// The shortest.
    pub p0: f64,
    /// The median.
    pub p50: f64,
    /// 90 % are no longer.
    pub p90: f64,
    /// 99 % are no longer.
    pub p99: f64,
    /// The longest.
    pub p100: f64,
}

impl QuantilesMs {
    /// (share, milliseconds), in rising order.
    pub const fn points(&self) -> [(f64, f64); 5] {
        [(0.0, self.p0), (0.5, self.p50), (0.9, self.p90), (0.99, self.p99), (1.0, self.p100)]
    }

    /// The mean in milliseconds of the distribution that is uniform between its quantiles.
    pub fn mean(&self) -> f64 {
        let points = self.points();
        points.windows(2).map(|pair| (pair[1].0 - pair[0].0) * f64::midpoint(pair[0].1, pair[1].1)).sum()
    }
}
