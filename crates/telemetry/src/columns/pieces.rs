//! What columns and gaps are made with, whoever was asked.

use plimsoll_measurement::{Moment, SampleColumn, SampleGap};

/// Seconds from one moment to another, which may be before it.
pub(super) fn seconds(from: Moment, to: Moment) -> f64 {
    if to >= from { to.since(from).as_secs_f64() } else { -from.since(to).as_secs_f64() }
}

/// A column whose values are made of each two looks that follow one another.
pub(super) fn column(metric: &str, source: &str, unit: &str, values: Vec<Option<f64>>) -> SampleColumn {
    let [metric, source, unit] = [metric, source, unit].map(str::to_owned);
    SampleColumn { metric, source, unit, values, ..SampleColumn::default() }
}

/// Gaps that follow one another for the same reason are one.
pub(super) fn join(gaps: &mut Vec<SampleGap>) {
    gaps.dedup_by(|later, earlier| {
        let same = later.source == earlier.source && later.reason == earlier.reason;
        let joined = same && (later.from_seconds - earlier.to_seconds).abs() < 1e-9;
        if joined {
            earlier.to_seconds = later.to_seconds;
        }
        joined
    });
}
