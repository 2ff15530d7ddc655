//! Series whose pattern is known, as a run of a test might give them: around a level of 1,000, with noise of 1 to 3 % whose
//! points follow each other more or less.

use super::random::{Random, variance_factor};

/// The level of all series.
const LEVEL: f64 = 1000.0;

/// Lengths of series, in points.
const LENGTHS: [usize; 4] = [60, 120, 300, 600];

/// First autocorrelations of the noise.
pub const COEFFICIENTS: [f64; 4] = [0.0, 0.3, 0.6, 0.9];

/// Sizes of steps and drifts, in standard errors.
const SIZES: (f64, f64) = (5.0, 15.0);

/// What a series truly does.
#[derive(Debug, Clone, PartialEq)]
pub enum Truth {
    /// Noise.
    None,
    /// One step, before this point, of this size in standard errors of the difference of its two sides.
    Step(usize, f64),
    /// A straight line.
    Drift,
    /// Two levels, the means of the points that were drawn on each, and the share of points on the lower one.
    TwoLevel([f64; 2], [f64; 2], f64),
    /// An exponential approach.
    WarmUp,
    /// Noise with one to four single points or pairs far away.
    Outliers,
}

impl Truth {
    /// As the analysis calls it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Step(..) => "step",
            Self::Drift => "drift",
            Self::TwoLevel(..) => "two-level",
            Self::WarmUp => "warm-up",
            Self::Outliers => "outliers-only",
        }
    }
}

/// The kinds of series in this order, and how many of 500 are of each.
pub const KINDS: [(&str, usize); 6] =
    [("none", 100), ("step", 100), ("drift", 75), ("two-level", 75), ("warm-up", 75), ("outliers-only", 75)];

/// A series and its truth.
pub struct Series {
    /// Values.
    pub values: Vec<f64>,
    /// What they do.
    pub truth: Truth,
}

/// Case `case` of a kind. Lengths and coefficients take turns, the rest is drawn.
pub fn series(seed: u64, kind: &str, case: usize) -> Series {
    let number = KINDS.iter().position(|(name, _)| *name == kind).expect("a kind") as u64;
    let mut random = Random::of(seed, 100 + number, case as u64);
    let coefficient = COEFFICIENTS[case % COEFFICIENTS.len()];
    let points = LENGTHS[case / COEFFICIENTS.len() % LENGTHS.len()];
    let deviation = LEVEL * random.between(0.01, 0.03);
    let mut values: Vec<f64> =
        random.autoregression(points, coefficient).iter().map(|noise| LEVEL + deviation * noise).collect();
    let size = random.between(SIZES.0, SIZES.1) * random.one(&[-1.0, 1.0]);
    let truth = match kind {
        "none" => Truth::None,
        "step" => {
            let at = (random.between(0.2, 0.8) * points as f64) as usize;
            add_step(&mut values, at, size * deviation * step_error(points, at, coefficient));
            Truth::Step(at, size.abs())
        }
        "drift" => {
            // Standard error of the total over the series, from the variance of a slope by least squares.
            let error = deviation * (12.0 * variance_factor(points, coefficient) / points as f64).sqrt();
            for (index, value) in values.iter_mut().enumerate() {
                *value += size * error * (index as f64 / points as f64 - 0.5);
            }
            Truth::Drift
        }
        "two-level" => two_levels(&mut random, &mut values),
        "warm-up" => {
            let speed = random.between(0.03, 0.12) * points as f64;
            let offset = -LEVEL * random.between(0.15, 0.6);
            for (index, value) in values.iter_mut().enumerate() {
                *value += offset * (-(index as f64) / speed).exp();
            }
            Truth::WarmUp
        }
        _ => {
            let mut places: Vec<usize> = Vec::new();
            for _ in 0..=random.below(4) {
                let at = random.below(points - 1);
                // Apart from each other: three points in a row would be a level.
                if places.iter().any(|place| place.abs_diff(at) < 5) {
                    continue;
                }
                places.push(at);
                let height = deviation * random.between(8.0, 30.0) * random.one(&[-1.0, 1.0]);
                let width = 1 + random.below(2);
                values[at..at + width].iter_mut().for_each(|value| *value += height);
            }
            Truth::Outliers
        }
    };
    Series { values, truth }
}

/// The case of the bar that is spelled out: a step of 3 % in 60 points with noise of 1 %, in the middle third.
pub fn three_percent(seed: u64, coefficient: f64, case: usize) -> (Vec<f64>, usize) {
    let mut random = Random::of(seed, 200 + (coefficient * 10.0) as u64, case as u64);
    let mut values: Vec<f64> =
        random.autoregression(60, coefficient).iter().map(|noise| LEVEL * (1.0 + 0.01 * noise)).collect();
    let at = 20 + random.below(21);
    add_step(&mut values, at, LEVEL * random.one(&[-0.03, 0.03]));
    (values, at)
}

/// Noise alone, of any length and coefficient.
pub fn noise(seed: u64, points: usize, coefficient: f64, case: usize) -> Vec<f64> {
    let experiment = 300 + points as u64 * 10 + (coefficient * 10.0) as u64;
    let noise = Random::of(seed, experiment, case as u64).autoregression(points, coefficient);
    noise.iter().map(|noise| LEVEL * (1.0 + 0.02 * noise)).collect()
}

fn add_step(values: &mut [f64], at: usize, by: f64) {
    values[at..].iter_mut().for_each(|value| *value += by);
}

/// Standard error of the difference of the means before and after a point, in standard deviations of the noise.
fn step_error(points: usize, at: usize, coefficient: f64) -> f64 {
    let part = |count: usize| variance_factor(count, coefficient) / count as f64;
    (part(at) + part(points - at)).sqrt()
}

/// Makes noise around [`LEVEL`] into one around two levels, in proportion to them.
fn two_levels(random: &mut Random, values: &mut [f64]) -> Truth {
    let points = values.len();
    let levels = [LEVEL / random.between(1.3, 4.0), LEVEL];
    let mut is_high = random.below(2) == 1;
    let (mut at, mut low_points, mut sums) = (0, 0, [0.0, 0.0]);
    while at < points {
        let stay = random.between(points as f64 / 20.0, points as f64 / 5.0).max(3.0) as usize;
        let end = (at + stay).min(points);
        if !is_high {
            values[at..end].iter_mut().for_each(|value| *value *= levels[0] / LEVEL);
            low_points += end - at;
        }
        sums[usize::from(is_high)] += values[at..end].iter().sum::<f64>();
        (at, is_high) = (end, !is_high);
    }
    let means = [sums[0] / low_points as f64, sums[1] / (points - low_points) as f64];
    Truth::TwoLevel(levels, means, low_points as f64 / points as f64)
}
