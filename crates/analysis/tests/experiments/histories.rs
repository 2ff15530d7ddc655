//! Histories of runs: alarms where nothing changed, and changes found where something did.

use plimsoll_analysis::history::{Run, Terms, history};

use super::Count;
use super::random::Random;

/// Scatter of runs: standard deviation of their logarithms.
const BETWEEN: f64 = 0.01;

/// A history of runs of three repetitions each, on a level that changes by `ratio` before run `at`.
fn runs(random: &mut Random, count: usize, at: usize, ratio: f64) -> Vec<Run> {
    // Half of the histories have repetitions that scatter as much as runs do.
    let within = random.one(&[0.3, 1.7]) * BETWEEN;
    let one = |index: usize| {
        let level = 500.0 * if index < at { 1.0 } else { ratio } * (BETWEEN * random.normal()).exp();
        let repetitions = [0; 3].map(|_| level * (within * random.normal()).exp());
        Run::of(&repetitions).expect("positive")
    };
    (0..count).map(one).collect()
}

/// Histories of `count` runs without a change in which one is claimed.
pub fn alarms(seed: u64, count: usize, cases: usize) -> Count {
    let alarm = |case: usize| {
        let mut random = Random::of(seed, 800 + count as u64, case as u64);
        let runs = runs(&mut random, count, count, 1.0);
        history(&runs, Terms::new(true)).is_some_and(|found| !found.shifts.is_empty())
    };
    (0..cases).map(alarm).collect()
}

/// Histories of `count` runs that change by `ratio` in the last third, in which that one change is found within one run of
/// its place; and of those found how often the interval holds the ratio.
pub fn found(seed: u64, count: usize, ratio: f64, cases: usize) -> (Count, Count) {
    let (mut hits, mut covered) = (Count::default(), Count::default());
    for case in 0..cases {
        let mut random = Random::of(seed, 900 + count as u64 + (ratio * 100.0) as u64 * 1000, case as u64);
        let at = count - count / 3 + random.below(count / 3 - 2);
        let runs = runs(&mut random, count, at, ratio);
        let found = history(&runs, Terms::new(true)).expect("enough runs");
        let hit = found.shifts.len() == 1 && found.shifts[0].index.abs_diff(at) <= 1;
        hits.add(hit);
        if hit {
            covered.add(found.shifts[0].low <= ratio && ratio <= found.shifts[0].high);
        }
    }
    (hits, covered)
}
