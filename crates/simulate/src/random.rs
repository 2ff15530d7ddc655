//! Streams of random numbers: one for each use, so that another use of one does not shift the others.

use plimsoll_load::arrivals::exponential;
use plimsoll_load::keys::unit;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;

use crate::events::Nanos;

/// A stream of random numbers.
#[derive(Debug, Clone)]
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// The stream of this use of a seed. The finaliser of `SplitMix64` over both keeps neighbouring seeds apart.
    pub fn new(seed: u64, user: u64) -> Self {
        let mut mixed = seed.wrapping_add(user.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        Self(Xoshiro256PlusPlus::seed_from_u64(mixed ^ (mixed >> 31)))
    }

    /// A number from 0 on and below 1.
    pub fn unit(&mut self) -> f64 {
        unit(&mut self.0)
    }

    /// A time from the exponential distribution of this mean, in nanoseconds; without a mean always 0, and nothing is drawn.
    pub fn exponential(&mut self, mean_ns: f64) -> Nanos {
        if mean_ns > 0.0 { (mean_ns * exponential(&mut self.0)).round() as Nanos } else { 0 }
    }

    /// A whole number with this mean: the whole number below it, or the one above.
    pub fn around(&mut self, mean: f64) -> u32 {
        let whole = mean.floor();
        let rest = mean - whole;
        whole as u32 + u32::from(rest > 0.0 && self.unit() < rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_have_their_means_and_streams_are_apart() {
        let mut stream = Stream::new(1, 0);
        let draws = 200_000;
        let mean = (0..draws).map(|_| stream.exponential(5_000.0) as f64).sum::<f64>() / f64::from(draws);
        assert!((mean / 5_000.0 - 1.0).abs() < 5.0 / f64::from(draws).sqrt(), "{mean}");
        let pages = (0..draws).map(|_| f64::from(stream.around(2.75))).sum::<f64>() / f64::from(draws);
        assert!((pages - 2.75).abs() < 5.0 * 0.433 / f64::from(draws).sqrt(), "{pages}");
        assert_eq!((stream.exponential(0.0), stream.around(3.0)), (0, 3));
        let first = |seed, user| Stream::new(seed, user).unit().to_bits();
        assert_eq!(first(1, 0), first(1, 0));
        assert!(first(1, 0) != first(1, 1) && first(1, 0) != first(2, 0));
    }
}
