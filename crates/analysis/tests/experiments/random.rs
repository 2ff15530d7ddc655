//! Random numbers of the experiments: the same ones for the same seed and case, in whatever order cases are run.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};

/// A source of random numbers.
pub struct Random(Xoshiro256PlusPlus);

impl Random {
    /// The source of case `case` of the experiment `experiment`.
    pub fn of(seed: u64, experiment: u64, case: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed ^ experiment.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (case << 20)))
    }

    /// Uniform from `low` to `high`.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * ((self.0.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// A whole number from 0 to `count - 1`.
    pub fn below(&mut self, count: usize) -> usize {
        self.between(0.0, count as f64) as usize
    }

    /// One of the values.
    pub fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// Standard normal: Box and Muller, A note on the generation of random normal deviates, Annals of Mathematical
    /// Statistics 29 (1958) 610-611.
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.between(0.0, 1.0).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.between(0.0, 1.0)).cos()
    }

    /// A stationary first-order autoregression with normal innovations and a standard deviation of 1.
    pub fn autoregression(&mut self, points: usize, coefficient: f64) -> Vec<f64> {
        let innovation = (1.0 - coefficient * coefficient).sqrt();
        let mut last = self.normal();
        let mut next = || {
            let value = last;
            last = coefficient * last + innovation * self.normal();
            value
        };
        (0..points).map(|_| next()).collect()
    }
}

/// By how much the variance of a mean of `points` of an autoregression exceeds that of independent points, summed up
/// from its autocorrelations.
pub fn variance_factor(points: usize, coefficient: f64) -> f64 {
    let count = points as f64;
    1.0 + 2.0 * (1..points).map(|lag| (1.0 - lag as f64 / count) * coefficient.powi(lag as i32)).sum::<f64>()
}
