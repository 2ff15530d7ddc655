//! "Has it got slower?": changes of level in a history of runs of one test.
//!
//! Method: the logarithms of the runs' figures are cut into stretches of at least three runs (`partition`), each cut
//! paying the price of a t-test at every possible place. Change points over a test's history instead of thresholds
//! between neighbours. Source: Daly and others, The use of change point detection to identify software performance
//! regressions in a continuous integration system, ICPE 2020, 67-75. A run weighs by its own uncertainty and by what
//! runs differ beside it, as in the meta-analysis of studies (`DerSimonian` and Laird, Controlled Clinical Trials 7
//! (1986) 177-188). A run with a narrow interval is not the truth where runs scatter. Runs are taken as independent.

use crate::compare::{Verdict, direction};
use crate::logs::{LogSample, t_quantile};
use crate::partition::{self, Search};
use crate::segments::outliers;
use crate::{DEFAULT_CONFIDENCE, summary};

/// Relative differences below this are beneath the resolution of any clock or counter.
const RESOLUTION: f64 = 1e-7;

/// A run of the history.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Run {
    /// The run's figure, such as a rate; positive.
    pub value: f64,
    /// Standard error of its logarithm (about its relative standard error); absent where it isn't known.
    pub log_error: Option<f64>,
}

impl Run {
    /// The run with these repetitions: their geometric mean, and its error from two repetitions on. `None` for none, and
    /// where one isn't positive and finite.
    pub fn of(repetitions: &[f64]) -> Option<Self> {
        let sample = LogSample::of(repetitions)?;
        let log_error = sample.variance.map(|variance| (variance / sample.count).sqrt());
        Some(Self { value: sample.first * sample.mean.exp(), log_error })
    }
}

/// How a history is judged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Terms {
    /// True for rates, false for times.
    pub higher_is_better: bool,
    /// Least runs in a stretch; at least 3 are taken.
    pub minimum_segment: usize,
    /// Probability of an alarm where nothing changed. Divide it by the number of histories that are looked at together.
    pub significance: f64,
}

impl Terms {
    /// Stretches of three runs, one alarm in a hundred histories without change.
    pub const fn new(higher_is_better: bool) -> Self {
        Self { higher_is_better, minimum_segment: 3, significance: 0.01 }
    }
}

/// What became of a figure over its runs. Indices count runs from 0 in the order of their dates.
#[derive(Debug, Clone, PartialEq)]
pub struct History {
    /// Stretches of runs on one level, in order; a single one where nothing changed.
    pub segments: Vec<Segment>,
    /// From each stretch to the next.
    pub shifts: Vec<Shift>,
    /// From the first stretch to the last; absent where nothing changed.
    pub overall: Option<Shift>,
    /// Single runs that are far from their neighbours, and take no part in what else is said.
    pub outliers: Vec<usize>,
}

/// Runs on one level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Segment {
    /// First run.
    pub from: usize,
    /// One behind the last run.
    pub to: usize,
    /// Geometric mean of its runs, weighted by their errors.
    pub value: f64,
}

/// A change of level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shift {
    /// First run on the new level.
    pub index: usize,
    /// New level over old level.
    pub ratio: f64,
    /// Lower end of the ratio's 95 % interval, given that the level changed here.
    pub low: f64,
    /// Upper end of that interval.
    pub high: f64,
    /// Better or worse; undecided where the interval holds 1.
    pub verdict: Verdict,
}

/// Judges the runs of a test, in the order of their dates.
///
/// `None` with fewer runs than two stretches need, for values that aren't positive and finite, and for errors that are
/// negative or not finite.
pub fn history(runs: &[Run], terms: Terms) -> Option<History> {
    let usable = |run: &Run| {
        run.value.is_finite() && run.value > 0.0 && run.log_error.is_none_or(|error| error.is_finite() && error >= 0.0)
    };
    let minimum = terms.minimum_segment.max(3);
    let price = partition::price_of_cut(runs.len(), minimum, terms.significance)?;
    if !runs.iter().all(usable) {
        return None;
    }
    let logs: Vec<f64> = runs.iter().map(|run| run.value.ln() - runs[0].value.ln()).collect();
    let (outliers, cleaned) = outliers::replace(&logs, RESOLUTION);
    let scatter = outliers::noise_variance(&cleaned);
    let weighted = Weighted::of(&cleaned, &weights(runs, scatter));
    let points = runs.len();
    let floor = RESOLUTION * RESOLUTION * points as f64;
    let cost = |from: usize, to: usize| weighted.squares(from, to);
    let cuts = Search { points, minimum, price, floor, cost }.best(scatter);

    let freedom = (points - cuts.starts.len() - 1) as f64;
    let quantile = t_quantile(DEFAULT_CONFIDENCE, freedom)?;
    let variance = cuts.squares / freedom;
    let shift = |before: (usize, usize), after: (usize, usize)| {
        let difference = weighted.level(after.0, after.1) - weighted.level(before.0, before.1);
        let weights = 1.0 / weighted.weight(before.0, before.1) + 1.0 / weighted.weight(after.0, after.1);
        let half = quantile * (variance * weights).sqrt();
        let (low, high) = ((difference - half).exp(), (difference + half).exp());
        let verdict = direction((low, high), terms.higher_is_better);
        Shift { index: after.0, ratio: difference.exp(), low, high, verdict }
    };
    let segments: Vec<(usize, usize)> = partition::segments(&cuts.starts, points).collect();
    let segment =
        |&(from, to): &(usize, usize)| Segment { from, to, value: runs[0].value * weighted.level(from, to).exp() };
    Some(History {
        segments: segments.iter().map(segment).collect(),
        shifts: segments.windows(2).map(|pair| shift(pair[0], pair[1])).collect(),
        overall: (segments.len() > 1).then(|| shift(segments[0], segments[segments.len() - 1])),
        outliers,
    })
}

/// Weights with a mean of 1. An error from three repetitions is a rough one, so each is drawn half way to the usual one;
/// a run without has the usual one.
fn weights(runs: &[Run], scatter: f64) -> Vec<f64> {
    let known: Vec<f64> = runs.iter().filter_map(|run| run.log_error).map(|error| error * error).collect();
    let usual = summary::median(&known).unwrap_or(0.0);
    let between = (scatter - usual).max(0.0);
    let variance = |run: &Run| between + run.log_error.map_or(usual, |error| f64::midpoint(error * error, usual));
    let variances: Vec<f64> = runs.iter().map(variance).collect();
    if !variances.iter().all(|variance| *variance > 0.0) {
        return vec![1.0; runs.len()];
    }
    let total: f64 = variances.iter().map(|variance| 1.0 / variance).sum();
    variances.iter().map(|variance| runs.len() as f64 / variance / total).collect()
}

/// Sums of weights, weighted values and their squares before each index.
struct Weighted {
    sums: Vec<[f64; 3]>,
}

impl Weighted {
    fn of(values: &[f64], weights: &[f64]) -> Self {
        let mut sums = vec![[0.0; 3]];
        let mut total = [0.0; 3];
        for (value, weight) in values.iter().zip(weights) {
            total = [total[0] + weight, total[1] + weight * value, total[2] + weight * value * value];
            sums.push(total);
        }
        Self { sums }
    }

    fn weight(&self, from: usize, to: usize) -> f64 {
        self.sums[to][0] - self.sums[from][0]
    }

    fn level(&self, from: usize, to: usize) -> f64 {
        (self.sums[to][1] - self.sums[from][1]) / self.weight(from, to)
    }

    fn squares(&self, from: usize, to: usize) -> f64 {
        let product = self.sums[to][1] - self.sums[from][1];
        (self.sums[to][2] - self.sums[from][2] - product * product / self.weight(from, to)).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATES: Terms = Terms::new(true);

    fn runs(values: &[f64]) -> Vec<Run> {
        values.iter().map(|value| Run { value: *value, log_error: None }).collect()
    }

    fn noisy(levels: &[(usize, f64)]) -> Vec<Run> {
        let values = levels.iter().flat_map(|(count, level)| vec![*level; *count]);
        let noise = [1.0, 0.99, 1.005, 1.01, 0.995, 1.0, 0.992, 1.004];
        let values: Vec<f64> = values.enumerate().map(|(index, level)| level * noise[index * 5 % 8]).collect();
        runs(&values)
    }

    #[test]
    fn a_slower_version_is_dated_and_sized() {
        let found = history(&noisy(&[(10, 500.0), (6, 450.0)]), RATES).unwrap();
        assert_eq!(found.shifts.len(), 1, "{found:?}");
        let shift = found.shifts[0];
        assert_eq!((shift.index, shift.verdict), (10, Verdict::Worse));
        assert!(
            (shift.ratio - 0.9).abs() < 0.01 && shift.low < 0.9 && shift.high > 0.9 && shift.high < 1.0,
            "{shift:?}"
        );
        assert_eq!(found.overall, Some(shift));
        assert!((found.segments[1].value / 450.0 - 1.0).abs() < 0.01);
        let times = history(&noisy(&[(10, 500.0), (6, 450.0)]), Terms::new(false)).unwrap();
        assert_eq!(times.shifts[0].verdict, Verdict::Better);
    }

    #[test]
    fn there_and_back_is_two_shifts_and_overall_nothing() {
        let found = history(&noisy(&[(8, 500.0), (8, 400.0), (8, 500.0)]), RATES).unwrap();
        assert_eq!(found.shifts.iter().map(|shift| shift.index).collect::<Vec<_>>(), [8, 16]);
        assert_eq!(found.overall.unwrap().verdict, Verdict::Undecided);
    }

    #[test]
    fn noise_and_a_single_odd_run_are_no_shift() {
        let mut odd = noisy(&[(20, 500.0)]);
        assert_eq!(history(&odd, RATES).unwrap().shifts, []);
        odd[12].value = 300.0;
        let found = history(&odd, RATES).unwrap();
        assert_eq!((found.shifts.len(), found.outliers, found.overall), (0, vec![12], None));
        assert_eq!(found.segments.len(), 1);
    }

    #[test]
    fn runs_without_spread_change_exactly() {
        let found = history(&runs(&[2.0, 2.0, 2.0, 3.0, 3.0, 3.0]), RATES).unwrap();
        let shift = found.shifts[0];
        assert_eq!(shift.index, 3);
        assert!((shift.low - 1.5).abs() < 1e-6 && (shift.high - 1.5).abs() < 1e-6, "{shift:?}");
        assert_eq!(history(&runs(&[2.0; 6]), RATES).unwrap().shifts, []);
    }

    #[test]
    fn a_run_that_is_known_badly_weighs_little() {
        let mut all = noisy(&[(8, 500.0), (8, 450.0)]);
        for run in &mut all {
            run.log_error = Some(0.008);
        }
        let even = history(&all, RATES).unwrap().segments[0].value;
        all[3] = Run { value: 520.0, log_error: Some(0.1) };
        let weighted = history(&all, RATES).unwrap().segments[0].value;
        assert!((weighted / even - 1.0).abs() < 0.002, "{weighted} {even}");
    }

    #[test]
    fn what_has_no_information_has_no_history() {
        assert_eq!(history(&runs(&[1.0; 5]), RATES), None);
        assert_eq!(history(&runs(&[1.0, 1.0, 1.0, 1.0, 1.0, 0.0]), RATES), None);
        let negative = vec![Run { value: 1.0, log_error: Some(-1.0) }; 8];
        assert_eq!(history(&negative, RATES), None);
        assert_eq!(Run::of(&[]), None);
        assert_eq!(Run::of(&[4.0]), Some(Run { value: 4.0, log_error: None }));
        assert!((Run::of(&[90.0, 100.0, 110.0]).unwrap().log_error.unwrap() - 0.05797).abs() < 1e-4);
    }
}
