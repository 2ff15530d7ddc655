//! Whether the interval of a series' mean covers it, by length and autocorrelation; and the interval of a drift.

use plimsoll_analysis::autocorrelation::effective_sample;
use plimsoll_analysis::segments::{Pattern, Terms, segments};

use super::Count;
use super::random::{Random, variance_factor};
use super::series::{COEFFICIENTS, noise};

/// How often the 95 % interval of the mean covers the true one, a row for each length, a column for each coefficient.
pub fn coverage(seed: u64, lengths: &[usize], cases: usize) -> Vec<(usize, [Count; 4])> {
    let cover = |points: usize, coefficient: f64| {
        let hit = |case: usize| {
            let values = noise(seed ^ 0x5EED, points, coefficient, case);
            let interval = effective_sample(&values).and_then(|sample| sample.interval(0.95)).expect("enough points");
            interval.0 <= 1000.0 && 1000.0 <= interval.1
        };
        (0..cases).map(hit).collect()
    };
    lengths.iter().map(|points| (*points, COEFFICIENTS.map(|coefficient| cover(*points, coefficient)))).collect()
}

/// How often the 95 % interval of a drift of ten standard errors covers it, of the drifts that were found.
pub fn drift_coverage(seed: u64, points: usize, coefficient: f64, cases: usize) -> Count {
    let error = (12.0 * variance_factor(points, coefficient) / points as f64).sqrt();
    let slope = 10.0 * error / points as f64;
    let mut count = Count::default();
    for case in 0..cases {
        let mut random = Random::of(seed, 400 + points as u64 + (coefficient * 10.0) as u64, case as u64);
        let noise = random.autoregression(points, coefficient);
        let values: Vec<f64> =
            noise.iter().enumerate().map(|(index, noise)| 100.0 + noise + slope * index as f64).collect();
        if let Some(Pattern::Drift(drift)) = segments(&values, Terms::default()).map(|found| found.pattern) {
            count.add(drift.low <= slope && slope <= drift.high);
        }
    }
    count
}
