//! Numbers drawn from a seed.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};

#[derive(Debug)]
pub struct Draw {
    seed: u64,
    numbers: Xoshiro256PlusPlus,
}

impl Draw {
    pub fn new(seed: u64) -> Self {
        Self { seed, numbers: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    /// Other numbers of the same seed, which leave alone what is drawn here.
    pub fn beside(&self, what: u64) -> Self {
        Self::new(self.seed ^ what)
    }

    fn unit(&mut self) -> f64 {
        (self.numbers.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// All alike between two.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Between two, all orders of magnitude alike.
    pub fn scale(&mut self, low: f64, high: f64) -> f64 {
        (self.between(low.ln(), high.ln())).exp()
    }

    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// One of them.
    pub fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[((self.unit() * of.len() as f64) as usize).min(of.len() - 1)]
    }
}
