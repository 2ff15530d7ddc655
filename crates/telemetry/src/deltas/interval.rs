//! The time between two readings, and what grew in it.

use crate::host::{Sampled, Source};

/// A part of a time in percent; by the inaccuracy of its ends it might be a little more than all.
pub(super) fn percent(part: Option<f64>, seconds: f64) -> Option<f64> {
    Some((100.0 * part? / seconds).min(100.0))
}

/// Both values of a source with the seconds between them. `None` where there are not both.
pub(super) fn both<'s, T>(before: &'s Source<T>, after: &'s Source<T>) -> Option<(f64, &'s T, &'s T)> {
    let (Sampled { value: old, window: first }, Sampled { value: new, window: second }) =
        (before.as_ref().ok()?, after.as_ref().ok()?);
    Some((first.seconds_until(*second)?, old, new))
}

/// Growth of a counter; `None` if it went backwards or is missing on a side.
pub(super) fn grown(before: impl Into<Option<u64>>, after: impl Into<Option<u64>>) -> Option<f64> {
    Some(after.into()?.checked_sub(before.into()?)? as f64)
}

/// Growth of a counter of seconds.
pub(super) fn grown_seconds(before: impl Into<Option<f64>>, after: impl Into<Option<f64>>) -> Option<f64> {
    let growth = after.into()? - before.into()?;
    (growth >= 0.0 && growth.is_finite()).then_some(growth)
}
