//! Whether the interval of a ratio covers it, how often a target is called better or worse than itself, and whether the
//! advice on more repetitions is good. A repetition is what it is in a run: the mean of points that follow each other, around
//! a level of its own.

use plimsoll_analysis::compare::{Terms, Verdict, compare, holm, p_value, repetitions_to_decide};

use super::Count;
use super::random::Random;

/// Points in a repetition.
const POINTS: usize = 60;

/// Resamples of a bootstrap.
const RESAMPLES: usize = 999;

/// No margin, so that nothing is called equivalent.
pub const TERMS: Terms = Terms { higher_is_better: true, margin: 0.0, confidence: 0.95 };

/// Where the repetitions of a side come from.
#[derive(Debug, Clone, Copy)]
pub struct Side {
    /// The level around which repetitions lie.
    pub level: f64,
    /// Standard deviation of the logarithms of their levels.
    pub between: f64,
    /// Standard deviation of the points within one, as a share of its level.
    pub within: f64,
    /// First autocorrelation of the points.
    pub coefficient: f64,
}

impl Side {
    fn repetitions(&self, random: &mut Random, count: usize) -> Vec<f64> {
        let one = |random: &mut Random| {
            let level = self.level * (self.between * random.normal()).exp();
            let points = random.autoregression(POINTS, self.coefficient);
            level * (1.0 + self.within * points.iter().sum::<f64>() / POINTS as f64)
        };
        (0..count).map(|_| one(random)).collect()
    }
}

/// The two sides of an experiment. `unequal` is by which factor their spreads differ; 0 draws it from 1 to 6.
fn sides(random: &mut Random, unequal: f64) -> [Side; 2] {
    let unequal = if unequal == 0.0 { random.between(1.0, 6.0) } else { unequal };
    let spread = random.between(0.005, 0.03);
    let mut side = |level: f64, factor: f64| Side {
        level,
        between: spread * factor,
        within: 2.0 * spread * factor,
        coefficient: random.between(0.0, 0.9),
    };
    let (first, second) = (side(500.0, 1.0), side(500.0, unequal));
    let ratio = random.between(0.8, 1.25);
    let [mut a, mut b] = if random.below(2) == 0 { [first, second] } else { [second, first] };
    (a.level, b.level) = (500.0, 500.0 * ratio);
    [a, b]
}

/// How often 95 % intervals cover the true ratio.
#[derive(Debug, Clone, Copy, Default)]
pub struct Coverage {
    /// The product's: Welch's t on logarithms.
    pub product: Count,
    /// Bootstrap-t on logarithms, for comparison.
    pub bootstrap_t: Count,
    /// Percentiles of resampled ratios, for comparison.
    pub percentile: Count,
}

/// Coverage with `repetitions` a side. With `others`, the two bootstraps as well.
pub fn coverage(seed: u64, repetitions: usize, unequal: f64, cases: usize, others: bool) -> Coverage {
    let mut coverage = Coverage::default();
    for case in 0..cases {
        let mut random = Random::of(seed, 500 + repetitions as u64 * 10 + unequal as u64, case as u64);
        let [a, b] = sides(&mut random, unequal);
        let truth = b.level / a.level;
        let (a, b) = (a.repetitions(&mut random, repetitions), b.repetitions(&mut random, repetitions));
        let found = compare(&a, &b, TERMS).expect("positive");
        coverage.product.add(found.low.is_some_and(|low| low <= truth) && found.high.is_some_and(|high| truth <= high));
        if others {
            let [t, percentile] = bootstraps(&mut random, &a, &b);
            coverage.bootstrap_t.add(t.0 <= truth.ln() && truth.ln() <= t.1);
            coverage.percentile.add(percentile.0 <= truth.ln() && truth.ln() <= percentile.1);
        }
    }
    coverage
}

/// How often a target is called better or worse than itself.
pub fn against_itself(seed: u64, repetitions: usize, cases: usize) -> Count {
    let called = |case: usize| {
        let mut random = Random::of(seed, 600 + repetitions as u64, case as u64);
        let [side, _] = sides(&mut random, 1.0);
        let (a, b) = (side.repetitions(&mut random, repetitions), side.repetitions(&mut random, repetitions));
        compare(&a, &b, TERMS).is_some_and(|found| found.verdict != Verdict::Undecided)
    };
    (0..cases).map(called).collect()
}

/// What became of the advice on more repetitions.
#[derive(Debug, Clone, Copy, Default)]
pub struct Advice {
    /// Undecided comparisons for which a number was given, of those undecided.
    pub given: Count,
    /// Of those: decided with that many repetitions.
    pub decided: Count,
    /// Mean number of repetitions a side that was asked for.
    pub mean_asked: f64,
}

/// Comparisons that are undecided, made again with as many repetitions as were asked for (the first ones kept).
pub fn advice(seed: u64, repetitions: usize, cases: usize) -> Advice {
    let mut advice = Advice::default();
    let mut asked = 0;
    for case in 0..cases {
        let mut random = Random::of(seed, 700 + repetitions as u64, case as u64);
        let [mut a, mut b] = sides(&mut random, 1.0);
        // A difference of one to three standard deviations of a side: large enough to be found, too small for so few.
        let size = random.between(1.0, 3.0) * a.between;
        (a.level, b.level) = (500.0, 500.0 * size.exp());
        let (mut a_values, mut b_values) =
            (a.repetitions(&mut random, repetitions), b.repetitions(&mut random, repetitions));
        if compare(&a_values, &b_values, TERMS).is_none_or(|found| found.verdict != Verdict::Undecided) {
            continue;
        }
        let count = repetitions_to_decide(&a_values, &b_values, TERMS);
        advice.given.add(count.is_some());
        let Some(count) = count else { continue };
        asked += count;
        a_values.extend(a.repetitions(&mut random, count - repetitions));
        b_values.extend(b.repetitions(&mut random, count - repetitions));
        let decided = compare(&a_values, &b_values, TERMS).is_some_and(|found| found.verdict != Verdict::Undecided);
        advice.decided.add(decided);
    }
    advice.mean_asked = asked as f64 / advice.decided.of as f64;
    advice
}

/// Intervals of the logarithm of the ratio by two bootstraps (Efron and Tibshirani, An introduction to the bootstrap, 1993,
/// chapters 12 and 13), to see what they are worth at these sizes: bootstrap-t, percentile.
fn bootstraps(random: &mut Random, a: &[f64], b: &[f64]) -> [(f64, f64); 2] {
    let logs = |values: &[f64]| values.iter().map(|value| value.ln()).collect::<Vec<_>>();
    let (a, b) = (logs(a), logs(b));
    let (difference, error) = difference(&a, &b);
    let mut draw = |values: &[f64]| (0..values.len()).map(|_| random.one(values)).collect::<Vec<_>>();
    let (mut ts, mut differences) = (Vec::new(), Vec::new());
    for _ in 0..RESAMPLES {
        let (again, its_error) = self::difference(&draw(&a), &draw(&b));
        differences.push(again);
        // Resamples of a single value repeated have no spread and say nothing of t.
        if its_error > 0.0 {
            ts.push((again - difference) / its_error);
        }
    }
    let (low_t, high_t) = middle(&mut ts);
    [(difference - high_t * error, difference - low_t * error), middle(&mut differences)]
}

/// Difference of the means and its standard error.
fn difference(a: &[f64], b: &[f64]) -> (f64, f64) {
    let [a, b] = [a, b].map(|values| {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        (mean, squares / (count - 1.0) / count)
    });
    (b.0 - a.0, (a.1 + b.1).sqrt())
}

/// The 2.5 % and 97.5 % quantiles.
fn middle(values: &mut [f64]) -> (f64, f64) {
    values.sort_by(f64::total_cmp);
    let at = |share: f64| values[((values.len() - 1) as f64 * share).round() as usize];
    (at(0.025), at(0.975))
}

/// What `--fail-on worse` said of pairs of runs.
pub struct Alarms {
    /// Pairs without a difference of which it said that a metric is worse.
    pub alarms: usize,
    /// Pairs of which it found the metric that is 3 % worse.
    pub found: usize,
}

/// Pairs of runs with seven repetitions and six metrics with a noise of 1 %, half of which all metrics of a repetition share.
pub fn six_metrics(seed: u64, pairs: u64) -> Alarms {
    const METRICS: usize = 6;
    const REPETITIONS: usize = 7;
    let worse = |case: u64, change: f64| {
        let mut random = Random::of(seed, 77, case);
        let mut side = |change: f64| {
            let mut values = vec![Vec::new(); METRICS];
            for _ in 0..REPETITIONS {
                let shared = random.normal();
                for (metric, values) in values.iter_mut().enumerate() {
                    let noise = 0.01 * (shared + random.normal()) / 2.0_f64.sqrt();
                    let level = if metric == 0 { 100.0 * (1.0 + change) } else { 100.0 };
                    values.push(level * noise.exp());
                }
            }
            values
        };
        let (before, after) = (side(0.0), side(change));
        let of = |(a, b): (&Vec<f64>, &Vec<f64>)| p_value(a, b).unwrap_or(1.0);
        let adjusted = holm(&before.iter().zip(&after).map(of).collect::<Vec<f64>>());
        let is_lower = |metric: usize| after[metric].iter().sum::<f64>() < before[metric].iter().sum::<f64>();
        let is_worse = |metric: &usize| adjusted[*metric] <= 0.05 && is_lower(*metric);
        (0..METRICS).filter(is_worse).collect::<Vec<usize>>()
    };
    let alarms = (0..pairs).filter(|case| !worse(*case, 0.0).is_empty()).count();
    let found = (0..pairs).filter(|case| worse(pairs + case, -0.03).contains(&0)).count();
    Alarms { alarms, found }
}
