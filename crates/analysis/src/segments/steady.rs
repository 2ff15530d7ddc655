//! The steady part of a series: what is left when the beginning is taken off, if enough is left.

use super::pattern::Pattern;

/// The part after the last change is steady if it is at least this share of the series.
const LEAST_SHARE: f64 = 1.0 / 3.0;

/// Where a series keeps its level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Steady {
    /// From the first index to the second, which is exclusive.
    Reached {
        /// First steady point.
        from: usize,
        /// One behind the last steady point.
        to: usize,
    },
    /// It does not.
    Never(Unsteady),
}

/// Why a steady state was never reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsteady {
    /// It rises or falls to its end.
    Drifts,
    /// It goes to and fro between two levels.
    Flips,
    /// Less than a third of the series comes after the last change.
    ChangesLate,
    /// It had settled for less than a third of the series, or not yet.
    SettlesLate,
}

impl Unsteady {
    /// The reason in words.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Drifts => "it drifts to its end",
            Self::Flips => "it flips between two levels",
            Self::ChangesLate => "its level changed in the last third",
            Self::SettlesLate => "it was still settling in the last third",
        }
    }
}

/// The steady part of a series of `points` with this pattern.
pub(super) fn part(pattern: &Pattern, points: usize, mean: f64, tolerance: f64) -> Steady {
    let after = |from: usize, otherwise: Unsteady| {
        if (points - from.min(points)) as f64 >= LEAST_SHARE * points as f64 {
            Steady::Reached { from, to: points }
        } else {
            Steady::Never(otherwise)
        }
    };
    match pattern {
        Pattern::None | Pattern::OutliersOnly | Pattern::Undecided => Steady::Reached { from: 0, to: points },
        Pattern::Step(changes) => after(changes.last().map_or(0, |change| change.index), Unsteady::ChangesLate),
        Pattern::WarmUp(warm_up) => after(warm_up.settled, Unsteady::SettlesLate),
        Pattern::Drift(drift) if (drift.per_point * points as f64).abs() < tolerance * mean.abs() => {
            Steady::Reached { from: 0, to: points }
        }
        Pattern::Drift(_) => Steady::Never(Unsteady::Drifts),
        Pattern::TwoLevel(_) => Steady::Never(Unsteady::Flips),
    }
}
