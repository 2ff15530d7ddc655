//! The limits of what was bought of a volume.

use plimsoll_measurement::units::MB;
use plimsoll_measurement::{Ceiling, Cell, RunRecord};

use crate::model::format::{quantity, rounded};

/// Above this share of a limit that can be had for ever it is no rounding.
pub const BURST_PERCENT: f64 = 105.0;

/// What was bought: the ceilings of a volume.
pub struct Limits<'a> {
    /// Operations a second.
    pub iops: Option<&'a Ceiling>,
    /// Bytes a second.
    pub bytes_per_s: Option<f64>,
    /// How much of them somebody expects, in percent.
    pub expected: Option<f64>,
}

impl<'a> Limits<'a> {
    /// Those of a record's ceilings.
    pub fn of(record: &'a RunRecord) -> Self {
        let lowest = |resource: &str| {
            let of_it = record.ceilings.iter().filter(|ceiling| ceiling.resource == resource);
            of_it.min_by(|one, other| one.value.total_cmp(&other.value))
        };
        Self {
            iops: lowest("data_iops"),
            bytes_per_s: lowest("data_bandwidth").map(|ceiling| ceiling.value * MB as f64),
            expected: record
                .parameters
                .get("expect")
                .and_then(serde_json::Value::as_f64)
                .filter(|percent| *percent > 0.0),
        }
    }

    /// How much of what was bought operations of a cell came to, in percent: of the limit that they came nearer to.
    pub fn percent_of(&self, cell: &Cell, iops: f64, bytes_per_s: Option<f64>) -> Option<f64> {
        self.percents_of(cell, iops, bytes_per_s).into_iter().flatten().reduce(f64::max)
    }

    /// How much of the limit of operations and of the limit of bytes they came to, in percent.
    pub fn percents_of(&self, cell: &Cell, iops: f64, bytes_per_s: Option<f64>) -> [Option<f64>; 2] {
        let of = |value: Option<f64>, limit: Option<f64>| Some(100.0 * value? / limit?);
        let counted = iops * f64::from(cell.writes_per_sync) * self.pieces(cell) as f64;
        [of(Some(counted), self.iops.map(|ceiling| ceiling.value)), of(bytes_per_s, self.bytes_per_s)]
    }

    /// The limit of operations and the limit of bytes, as they are told.
    pub fn told(&self) -> [Option<String>; 2] {
        let iops = self.iops.map(|iops| format!("{} IOPS", rounded(iops.value)));
        [iops, self.bytes_per_s.map(|bytes| quantity(bytes / MB as f64, "MB/s"))]
    }

    /// How many I/Os of the disks one of the cell is.
    pub fn pieces(&self, cell: &Cell) -> u64 {
        self.iops.map_or(1, |ceiling| ceiling.ios(cell.block_bytes))
    }
}
