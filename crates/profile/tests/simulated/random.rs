//! Random numbers of the simulated histories: the same ones for the same seed.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};

/// A source of random numbers.
pub struct Random(Xoshiro256PlusPlus);

impl Random {
    /// The source of a history.
    pub fn of(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x9E37_79B9_7F4A_7C15))
    }

    /// Uniform from 0 to 1.
    pub fn part(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// A whole number from `low` to `high - 1`.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        low + (self.part() * (high - low) as f64) as i64
    }

    /// True in so many of a thousand cases.
    pub fn in_thousand(&mut self, cases: i64) -> bool {
        self.between(0, 1000) < cases
    }

    /// Exponential with this mean, at least 1.
    pub fn exponential(&mut self, mean: f64) -> i64 {
        (-mean * self.part().ln()) as i64 + 1
    }
}
