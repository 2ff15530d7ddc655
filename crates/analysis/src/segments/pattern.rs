//! What a series can do over time, and by which terms that is judged.

use super::levels::TwoLevels;

/// How a series is judged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Terms {
    /// Least points in a segment; at least 3 are taken, since two may be outliers.
    pub minimum_segment: usize,
    /// What changes by less than this share of the mean keeps its level: over the whole series, at once, or at the beginning.
    pub tolerance: f64,
}

impl Default for Terms {
    fn default() -> Self {
        Self { minimum_segment: 5, tolerance: 0.01 }
    }
}

/// What a series does over time.
#[derive(Debug, Clone, PartialEq)]
pub enum Pattern {
    /// It keeps its level.
    None,
    /// It keeps its level but for single points.
    OutliersOnly,
    /// There is more than noise usually shows and less than would prove a change.
    Undecided,
    /// Its level changes at once, in these places.
    Step(Vec<Change>),
    /// It rises or falls all the time.
    Drift(Drift),
    /// It goes to and fro between two levels.
    TwoLevel(TwoLevels),
    /// It begins elsewhere and settles.
    WarmUp(WarmUp),
}

impl Pattern {
    /// The pattern as scripts see it.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::OutliersOnly => "outliers-only",
            Self::Undecided => "undecided",
            Self::Step(_) => "step",
            Self::Drift(_) => "drift",
            Self::TwoLevel(_) => "two-level",
            Self::WarmUp(_) => "warm-up",
        }
    }
}

/// A change of level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// First point of the new level.
    pub index: usize,
    /// Level before, in the unit of the series.
    pub before: f64,
    /// Level after.
    pub after: f64,
    /// Lower end of the 95 % interval of the difference of the levels, given that there is a change here.
    pub low: f64,
    /// Upper end of that interval.
    pub high: f64,
}

/// A steady rise or fall.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drift {
    /// Change per point, in the unit of the series.
    pub per_point: f64,
    /// Lower end of its 95 % interval, autocorrelation counted in.
    pub low: f64,
    /// Upper end of that interval.
    pub high: f64,
}

/// A beginning whose distance from the level that is reached decays with exp(-index / `points`).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WarmUp {
    /// The level it settles at, in the unit of the series.
    pub level: f64,
    /// Where it begins, in the unit of the series.
    pub from: f64,
    /// Points in which the distance falls to 1/e.
    pub points: f64,
    /// First point at which the distance is lost in the noise.
    pub settled: usize,
}
