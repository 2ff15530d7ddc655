//! The time axis that the strips of a panel share.

use crate::html::svg::scale::Scale;

/// Longer spans have an axis in minutes.
const LONGEST_IN_SECONDS: f64 = 300.0;

/// Where time is drawn.
pub struct Time {
    scale: Scale,
    /// Seconds of a unit of the axis.
    unit: f64,
    pub left: f64,
    pub right: f64,
}

impl Time {
    pub fn new((from, to): (f64, f64), left: f64, right: f64) -> Option<Self> {
        let unit = if to > LONGEST_IN_SECONDS { 60.0 } else { 1.0 };
        Some(Self { scale: Scale::spanning(from / unit, to / unit, (left, right))?, unit, left, right })
    }

    /// The place of a moment; those beyond the axis are at its ends.
    pub fn at(&self, seconds: f64) -> f64 {
        let place = self.scale.at(seconds / self.unit).unwrap_or(self.left);
        place.clamp(self.left, self.right)
    }

    pub const fn title(&self) -> &'static str {
        if self.unit > 1.0 { "Time since the start, min" } else { "Time since the start, s" }
    }

    pub fn ticks(&self) -> impl Iterator<Item = (f64, f64)> {
        self.scale.ticks().into_iter().filter_map(|tick| Some((tick, self.scale.at(tick)?)))
    }
}
