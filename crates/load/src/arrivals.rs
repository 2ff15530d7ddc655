//! How starts and pauses are spread over time.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng as _;

/// How starts are spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrivals {
    /// Evenly.
    Constant,
    /// Independently of each other: gaps are exponential.
    Poisson,
}

/// A draw from the exponential distribution of mean 1, by an exact library: the same on every machine.
pub fn exponential(random: &mut Xoshiro256PlusPlus) -> f64 {
    let draw = ((random.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
    -libm::log(draw)
}
