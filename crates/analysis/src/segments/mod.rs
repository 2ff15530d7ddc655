//! What a series of points does over time: whether it keeps a level, steps, drifts, warms up or flips between two levels,
//! and which part of it is steady.
//!
//! Method: each shape is fitted under noise in which points depend on each other (a first-order autoregression). It
//! pays a price for its coefficients that noise alone seldom pays. The best shape that can pay is the answer. That
//! steady state is found by change points, and that "never" is an answer, is from Barrett and others, Virtual machine
//! warmup blows hot and cold, Proceedings of the ACM on Programming Languages 1 (OOPSLA 2017) 52. Cuts: `partition`;
//! noise: `autoregression`; two levels and outliers in modules of their own, with their sources. How often it errs is
//! measured: docs/STATISTICS.md.

mod fit;
mod levels;
pub(crate) mod outliers;
mod pattern;
mod steady;

pub use levels::{Level, TwoLevels};
pub use pattern::{Change, Drift, Pattern, Terms, WarmUp};
pub use steady::{Steady, Unsteady};

use crate::autoregression::Whitened;
use crate::logs::t_quantile;
use crate::partition;
use crate::{DEFAULT_CONFIDENCE, autocorrelation, summary};

/// Shorter series are not judged.
pub const MINIMUM_POINTS: usize = 12;

/// Differences below this share of the largest value are beneath the resolution of any clock or counter.
const RESOLUTION: f64 = 1e-7;

/// What was found in a series. Indices count its points from 0, ends are exclusive.
#[derive(Debug, Clone, PartialEq)]
pub struct Segments {
    /// What the series does.
    pub pattern: Pattern,
    /// Single points that are no part of it, and take no part in what else is said.
    pub outliers: Vec<usize>,
    /// The part in which the series kept its level.
    pub steady: Steady,
}

/// Judges a series of values that are evenly spaced in time.
///
/// `None` with fewer than [`MINIMUM_POINTS`], and for values that are not finite.
pub fn segments(values: &[f64], terms: Terms) -> Option<Segments> {
    if values.len() < MINIMUM_POINTS {
        return None;
    }
    let (low, high) = summary::range(values)?;
    let resolution = RESOLUTION * low.abs().max(high.abs()).max(f64::MIN_POSITIVE);
    let (outliers, cleaned) = outliers::replace(values, resolution);
    if let Some(levels) = levels::two_levels(&cleaned, resolution) {
        let steady = Steady::Never(Unsteady::Flips);
        return Some(Segments { pattern: Pattern::TwoLevel(levels), outliers, steady });
    }
    let fitted = fit::best(&cleaned, terms, resolution)?;
    let kept = || if outliers.is_empty() { Pattern::None } else { Pattern::OutliersOnly };
    let least = terms.tolerance * summary::mean(&cleaned)?.abs();
    let pattern = match fitted.shape {
        fit::Shape::Level => kept(),
        fit::Shape::Unclear => Pattern::Undecided,
        fit::Shape::Cuts(starts) => {
            let found = large(&starts, least, |starts| changes(&cleaned, starts, fitted.coefficient));
            if found.is_empty() { kept() } else { Pattern::Step(found) }
        }
        fit::Shape::Drift => Pattern::Drift(fit::drift(&cleaned, resolution)?),
        fit::Shape::WarmUp(warm_up) if (warm_up.from - warm_up.level).abs() < least => kept(),
        fit::Shape::WarmUp(warm_up) => Pattern::WarmUp(warm_up),
    };
    let steady = steady::part(&pattern, values.len(), summary::mean(&cleaned)?, terms.tolerance);
    Some(Segments { pattern, outliers, steady })
}

/// The changes of at least this size: without the smallest of the others, as long as there is one. What is certain but too small to
/// matter to anybody is no change.
fn large(starts: &[usize], least: f64, of: impl Fn(&[usize]) -> Vec<Change>) -> Vec<Change> {
    let mut all = of(starts);
    let size = |change: &Change| (change.after - change.before).abs();
    while let Some(smallest) = all.iter().min_by(|a, b| size(a).total_cmp(&size(b))).filter(|one| size(one) < least) {
        let left: Vec<usize> =
            all.iter().filter(|change| change.index != smallest.index).map(|change| change.index).collect();
        all = of(&left);
    }
    all
}

/// The changes at the starts of segments, with intervals from the noise that all segments share.
fn changes(values: &[f64], starts: &[usize], coefficient: f64) -> Vec<Change> {
    let mean = summary::mean(values).unwrap_or(0.0);
    let centred: Vec<f64> = values.iter().map(|value| value - mean).collect();
    let series = Whitened::of(&centred, coefficient);
    let segments: Vec<(usize, usize)> = partition::segments(starts, values.len()).collect();
    let squares: f64 = segments.iter().map(|(from, to)| series.cost(*from, *to)).sum();
    let points = values.len() as f64;
    let variance = squares / (points - segments.len() as f64).max(1.0);
    let effective = points / autocorrelation::variance_factor(coefficient, points);
    let quantile =
        t_quantile(DEFAULT_CONFIDENCE, (effective - segments.len() as f64).max(2.0)).unwrap_or(f64::INFINITY);
    let change = |pair: &[(usize, usize)]| {
        let [before, after] = [pair[0], pair[1]].map(|(from, to)| series.level(from, to) + mean);
        let weights = [pair[0], pair[1]].map(|(from, to)| 1.0 / series.weight(to - from));
        let half = quantile * (variance * (weights[0] + weights[1])).sqrt();
        Change { index: pair[1].0, before, after, low: after - before - half, high: after - before + half }
    };
    segments.windows(2).map(change).collect()
}

#[cfg(test)]
mod tests;
