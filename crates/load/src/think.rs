//! Pauses of sessions between an answer and the next request: all alike, or exponential as in TPC-C (revision 5.11, clause 5.2.5.4).
//! Pauses that are all alike let sessions march in step, so that they queue for a server that mostly idles.

use std::time::Duration;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;

use crate::arrivals::{Arrivals, exponential};

/// The longest pause, as a multiple of the mean: the standard cuts them there.
const LONGEST: f64 = 10.0;

/// How long sessions pause.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Think {
    /// On average.
    pub mean: Duration,
    /// All alike, or each drawn by itself.
    pub arrivals: Arrivals,
    /// Seed of the draws.
    pub seed: u64,
}

/// The pauses of one session.
#[derive(Debug)]
pub struct Pauses {
    think: Think,
    random: Xoshiro256PlusPlus,
}

impl Think {
    /// Those of the session of this number; `None` if there are none.
    pub fn of(&self, session: u64) -> Option<Pauses> {
        let random = Xoshiro256PlusPlus::seed_from_u64(self.seed ^ session << 20);
        (!self.mean.is_zero()).then_some(Pauses { think: *self, random })
    }
}

impl Pauses {
    /// The next one.
    pub fn draw(&mut self) -> Duration {
        match self.think.arrivals {
            Arrivals::Constant => self.think.mean,
            Arrivals::Poisson => self.think.mean.mul_f64(exponential(&mut self.random).min(LONGEST)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_alike_or_exponential() {
        let think = |arrivals| Think { mean: Duration::from_millis(20), arrivals, seed: 7 };
        let mut alike = think(Arrivals::Constant).of(0).unwrap();
        assert_eq!((alike.draw(), alike.draw()), (Duration::from_millis(20), Duration::from_millis(20)));
        let draws = |session| -> Vec<f64> {
            let mut pauses = think(Arrivals::Poisson).of(session).unwrap();
            (0..20_000).map(|_| pauses.draw().as_secs_f64()).collect()
        };
        let (one, other) = (draws(0), draws(1));
        assert!(one != other && one == draws(0));
        let mean = one.iter().sum::<f64>() / one.len() as f64;
        let variance = one.iter().map(|pause| (pause - mean).powi(2)).sum::<f64>() / one.len() as f64;
        // Five standard errors of the mean; an exponential's deviation is its mean.
        assert!((mean - 0.020).abs() < 5.0 * 0.020 / 20_000_f64.sqrt(), "{mean}");
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.05, "{variance}");
        assert!(Think { mean: Duration::ZERO, ..think(Arrivals::Poisson) }.of(0).is_none());
    }
}
