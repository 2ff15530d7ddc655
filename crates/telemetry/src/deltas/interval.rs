//! The time between two readings, and what grew in it.

use plimsoll_measurement::{Moment, Window};

use crate::host::{Sampled, Source};

/// The time between two readings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval {
    /// The middle of the first reading's window.
    pub start: Moment,
    /// The middle of the second one's.
    pub end: Moment,
}

impl Interval {
    /// The time from one window to another. `None` if the second doesn't come after the first.
    pub fn between(before: Window, after: Window) -> Option<Self> {
        let interval = Self { start: middle(before), end: middle(after) };
        (after.start >= before.end && interval.end > interval.start).then_some(interval)
    }

    /// How long it is; never zero.
    pub fn seconds(self) -> f64 {
        self.end.since(self.start).as_nanos() as f64 / 1e9
    }

    /// What grew, for a second of it.
    pub(super) fn rate(self, growth: Option<f64>) -> Option<f64> {
        Some(growth? / self.seconds())
    }

    /// A time within it in percent; by the inaccuracy of its ends it might be a little more than all.
    pub(super) fn percent(self, seconds: Option<f64>) -> Option<f64> {
        Some((100.0 * seconds? / self.seconds()).min(100.0))
    }
}

fn middle(window: Window) -> Moment {
    window.start.after(window.end.since(window.start) / 2)
}

/// Both values of a source with the time between them. `None` where there are not both.
pub(super) fn both<'s, T>(before: &'s Source<T>, after: &'s Source<T>) -> Option<(Interval, &'s T, &'s T)> {
    let (Sampled { value: old, window: first }, Sampled { value: new, window: second }) =
        (before.as_ref().ok()?, after.as_ref().ok()?);
    Some((Interval::between(*first, *second)?, old, new))
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
