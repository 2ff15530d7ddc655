//! What is found of a repetition over time, in seconds and in shares of the time.

use plimsoll_analysis::autocorrelation::{EffectiveSample, effective_sample};
use plimsoll_analysis::consistency::{DEFAULT_WINDOW, rolling_average};
use plimsoll_analysis::segments::{self, Pattern, Segments, Steady, Terms, TwoLevels};
use plimsoll_analysis::summary;

use super::series::Series;

/// What a repetition, or a phase of it, did over time.
#[derive(Debug, Clone, PartialEq)]
pub struct Steadiness {
    pub(super) series: Series,
    pub(super) found: Segments,
}

/// A level that a series keeps for a while.
pub(super) struct Level {
    /// Its mean, in the unit of the series.
    pub value: f64,
    /// Part of the time that was spent there, in percent.
    pub share_percent: f64,
    /// Lengths of its stays, in order. Those at the ends of the series may have been longer.
    pub dwell_seconds: Vec<f64>,
}

impl Steadiness {
    /// `None` of a series that is too short to be judged.
    pub(super) fn of(series: Series) -> Option<Self> {
        let found = segments::segments(&series.values(), Terms::default())?;
        Some(Self { series, found })
    }

    pub(super) fn points(&self) -> usize {
        self.series.spots.len()
    }

    /// Start of the first value and end of the last, seconds after the repetition's start.
    pub(super) fn span(&self) -> (f64, f64) {
        (self.series.starts_at(0), self.series.ends_before(self.points()))
    }

    /// Lowest and highest of the rolling means of ten points; `None` where there are not more than ten.
    pub(super) fn rolling(&self) -> Option<(f64, f64)> {
        rolling_average(&self.series.values(), DEFAULT_WINDOW).get(DEFAULT_WINDOW..).and_then(summary::range)
    }

    /// Why it was never steady: it drifts, flips, or changed or settled too late.
    pub(super) const fn unsteady(&self) -> Option<&'static str> {
        match self.found.steady {
            Steady::Reached { .. } => None,
            Steady::Never(reason) => Some(reason.reason()),
        }
    }

    /// The part that kept its level, seconds after the repetition's start; `None` where it never did.
    pub(super) fn steady_seconds(&self) -> Option<(f64, f64)> {
        let Steady::Reached { from, to } = self.found.steady else { return None };
        Some((self.series.starts_at(from), self.series.ends_before(to)))
    }

    /// The steady part as a sample of its mean. Of this repetition only: repetitions differ by more, so its interval is
    /// none of the run's figure.
    pub(super) fn steady_mean(&self) -> Option<EffectiveSample> {
        let Steady::Reached { from, to } = self.found.steady else { return None };
        effective_sample(&self.kept(from, to))
    }

    /// Values without those that are far off: they are no part of a level, and take no part in its mean.
    fn kept(&self, from: usize, to: usize) -> Vec<f64> {
        let spots = self.series.spots.iter().enumerate().take(to).skip(from);
        spots.filter(|(at, _)| !self.found.outliers.contains(at)).map(|(_, spot)| spot.value).collect()
    }

    /// Levels in the order of time, of two-level series the lower first. A single one where the level was kept; none while
    /// it rises or falls all the time.
    pub(super) fn levels(&self) -> Vec<Level> {
        let (points, (start, end)) = (self.points(), self.span());
        let level = |value: f64, stays: &[(usize, usize)]| {
            let seconds = |(from, to): &(usize, usize)| self.series.ends_before(*to) - self.series.starts_at(*from);
            let dwell_seconds: Vec<f64> = stays.iter().map(seconds).collect();
            let share_percent = 100.0 * dwell_seconds.iter().sum::<f64>() / (end - start);
            Level { value, share_percent, dwell_seconds }
        };
        match &self.found.pattern {
            Pattern::None | Pattern::OutliersOnly | Pattern::Undecided => {
                summary::mean(&self.kept(0, points)).map(|mean| level(mean, &[(0, points)])).into_iter().collect()
            }
            Pattern::Step(changes) => {
                let starts = std::iter::once(0).chain(changes.iter().map(|change| change.index));
                let ends = changes.iter().map(|change| change.index).chain([points]);
                let means = changes.first().map(|change| change.before).into_iter();
                let means = means.chain(changes.iter().map(|change| change.after));
                starts.zip(ends).zip(means).map(|(stay, mean)| level(mean, &[stay])).collect()
            }
            Pattern::TwoLevel(levels) => {
                let [low, high] = stays(levels);
                vec![level(levels.low.mean, &low), level(levels.high.mean, &high)]
            }
            Pattern::Drift(_) => Vec::new(),
            Pattern::WarmUp(warm_up) => vec![level(warm_up.level, &[(warm_up.settled.min(points), points)])],
        }
    }

    /// Times at which a level changed for good, seconds after the repetition's start.
    pub(super) fn changes_seconds(&self) -> Vec<f64> {
        let Pattern::Step(changes) = &self.found.pattern else { return Vec::new() };
        changes.iter().map(|change| self.series.starts_at(change.index)).collect()
    }

    /// Rise or fall all the time and the ends of its 95 % interval, in percent of the mean a minute.
    pub(super) fn drift(&self) -> Option<[f64; 3]> {
        let Pattern::Drift(drift) = &self.found.pattern else { return None };
        let (start, end) = self.span();
        let minutes_each = (end - start) / self.points() as f64 / 60.0;
        let mean = summary::mean(&self.series.values()).filter(|mean| *mean > 0.0)?;
        Some([drift.per_point, drift.low, drift.high].map(|per_point| 100.0 * per_point / minutes_each / mean))
    }

    /// Seconds until the level was reached at which it settled.
    pub(super) fn warm_up_seconds(&self) -> Option<f64> {
        let Pattern::WarmUp(warm_up) = &self.found.pattern else { return None };
        Some(self.series.starts_at(warm_up.settled) - self.span().0)
    }
}

/// From where to where a flipping series stayed at the lower and at the higher level.
fn stays(levels: &TwoLevels) -> [Vec<(usize, usize)>; 2] {
    let mut stays = [Vec::new(), Vec::new()];
    let mut dwells = [levels.low.dwells.iter(), levels.high.dwells.iter()];
    let mut from = 0;
    for turn in 0..=levels.switches {
        let level = (turn + usize::from(levels.starts_high)) % 2;
        let Some(points) = dwells[level].next() else { break };
        stays[level].push((from, from + points));
        from += points;
    }
    stays
}
