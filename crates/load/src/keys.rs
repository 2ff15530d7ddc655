//! Which row a request asks for: distributions over the position of a key, and which keys exist.
//!
//! A position is a share of the table from 0, the oldest row, to 1, the newest. D1 and D2 are the reference's two
//! distributions for single rows and for ranges (A11): their formulas are lost, so they are tables of mass.
//! No platform maths library is used: draws are the same on every machine.

use std::sync::atomic::{AtomicU64, Ordering};

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng as _;

/// A distribution of positions.
#[derive(Debug, Clone, PartialEq)]
pub enum Keys {
    /// Every key alike.
    Uniform,
    /// The rank-th most popular key in proportion to 1 / rank^theta; rank 1 is the newest row.
    Zipf(Zipf),
    /// Uniform within pieces that have a mass each.
    Table(Pieces),
}

/// The masses of the pieces up to each position.
pub const D1: [(f64, f64); 4] = [(0.5, 0.05), (0.8, 0.05), (0.95, 0.10), (1.0, 0.80)];
/// The same for ranges of rows: less peaked at the end.
pub const D2: [(f64, f64); 4] = [(0.5, 0.15), (0.8, 0.20), (0.95, 0.35), (1.0, 0.30)];

/// A piecewise uniform density.
#[derive(Debug, Clone, PartialEq)]
pub struct Pieces(Vec<Piece>);

#[derive(Debug, Clone, PartialEq)]
struct Piece {
    from: f64,
    to: f64,
    cumulated: f64,
}

impl Pieces {
    /// Pieces by their upper end and mass.
    ///
    /// # Errors
    /// A sentence if the ends do not rise to 1 or the masses do not make up 1.
    pub fn new(pieces: &[(f64, f64)]) -> Result<Self, String> {
        let (mut from, mut cumulated, mut made) = (0.0, 0.0, Vec::with_capacity(pieces.len()));
        for (to, mass) in pieces {
            if !(*to > from && *to <= 1.0 && *mass >= 0.0) {
                return Err(format!("a piece up to {to} with mass {mass} does not follow one up to {from}"));
            }
            cumulated += mass;
            made.push(Piece { from, to: *to, cumulated });
            from = *to;
        }
        if (from - 1.0).abs() > 1e-9 || (cumulated - 1.0).abs() > 1e-9 {
            return Err(format!("the pieces end at {from} and have a mass of {cumulated}; both must be 1"));
        }
        Ok(Self(made))
    }

    fn position(&self, random: &mut Xoshiro256PlusPlus) -> f64 {
        let draw = unit(random);
        let piece = self.0.iter().find(|piece| draw < piece.cumulated).or(self.0.last());
        piece.map_or(0.0, |piece| piece.from + unit(random) * (piece.to - piece.from))
    }
}

/// Zipf's distribution over 1 to n with exponent theta, by rejection-inversion (Hörmann and Derflinger 1996, "Rejection-
/// inversion to generate variates from monotone discrete distributions"). The number of keys may grow between draws.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Zipf {
    theta: f64,
}

impl Zipf {
    /// A distribution with this exponent.
    ///
    /// # Errors
    /// A sentence if the exponent is not above 0 and up to 10.
    pub fn new(theta: f64) -> Result<Self, String> {
        if theta > 0.0 && theta <= 10.0 {
            Ok(Self { theta })
        } else {
            Err(format!("the exponent {theta} is not above 0 and up to 10"))
        }
    }

    /// A rank from 1 to `n`.
    fn rank(self, n: u64, random: &mut Xoshiro256PlusPlus) -> u64 {
        let low = self.integral(0.5);
        let high = self.integral(n as f64 + 0.5);
        loop {
            let u = high + unit(random) * (low - high);
            let x = self.inverse(u);
            let rank = (x + 0.5).clamp(1.0, n as f64) as u64;
            let k = rank as f64;
            if u >= self.integral(k + 0.5) - libm::pow(k, -self.theta) {
                return rank;
            }
        }
    }

    /// The integral of x^-theta, up to a constant.
    fn integral(self, x: f64) -> f64 {
        if (self.theta - 1.0).abs() < 1e-12 {
            libm::log(x)
        } else {
            libm::pow(x, 1.0 - self.theta) / (1.0 - self.theta)
        }
    }

    fn inverse(self, y: f64) -> f64 {
        if (self.theta - 1.0).abs() < 1e-12 {
            libm::exp(y)
        } else {
            libm::pow(y * (1.0 - self.theta), 1.0 / (1.0 - self.theta))
        }
    }
}

impl Keys {
    /// A key from 1 to `newest`, which must not be 0.
    pub fn draw(&self, newest: u64, random: &mut Xoshiro256PlusPlus) -> u64 {
        match self {
            Self::Uniform => below(random, newest) + 1,
            Self::Zipf(zipf) => newest + 1 - zipf.rank(newest, random),
            Self::Table(pieces) => ((pieces.position(random) * newest as f64) as u64).min(newest - 1) + 1,
        }
    }
}

/// Which keys of a table exist: a bit each (reference, A32), shared by all sessions. Keys are given in rising order.
#[derive(Debug, Default)]
pub struct LiveKeys {
    bits: Vec<AtomicU64>,
    newest: AtomicU64,
    live: AtomicU64,
}

impl LiveKeys {
    /// Keys 1 to `rows` exist. New ones up to `remembered` can be picked later, beyond that they are given and forgotten.
    pub fn new(rows: u64, remembered: u64) -> Self {
        let words = remembered.max(rows) / 64 + 1;
        let full = |word: u64| {
            let first = word * 64;
            match (rows + 1).saturating_sub(first) {
                0 => 0,
                keys if keys >= 64 => u64::MAX,
                keys => (1 << keys) - 1,
            }
        };
        let bits: Vec<AtomicU64> = (0..words).map(|word| AtomicU64::new(full(word))).collect();
        // There is no key 0.
        bits[0].fetch_and(!1, Ordering::Relaxed);
        Self { bits, newest: AtomicU64::new(rows), live: AtomicU64::new(rows) }
    }

    /// The first of so many keys for new rows; `None` when there are no more.
    pub fn next(&self, rows: u64) -> Option<u64> {
        let key = self.newest.fetch_add(rows, Ordering::Relaxed) + 1;
        i32::try_from(key + rows).is_ok().then_some(key)
    }

    /// A row with this key exists now.
    pub fn insert(&self, key: u64) {
        let (word, bit) = self.bit(key);
        if word.is_some_and(|word| word.fetch_or(bit, Ordering::Relaxed) & bit == 0) {
            self.live.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The word with the bit of a key, if it is remembered, and that bit.
    fn bit(&self, key: u64) -> (Option<&AtomicU64>, u64) {
        (self.bits.get((key / 64) as usize), 1 << (key % 64))
    }

    /// Takes a key away for a session that wants to delete its row; false if another session was faster.
    pub fn take(&self, key: u64) -> bool {
        let (word, bit) = self.bit(key);
        let taken = word.is_some_and(|word| word.fetch_and(!bit, Ordering::Relaxed) & bit != 0);
        if taken {
            self.live.fetch_sub(1, Ordering::Relaxed);
        }
        taken
    }

    /// True if a row with this key exists.
    pub fn lives(&self, key: u64) -> bool {
        let (word, bit) = self.bit(key);
        word.is_some_and(|word| word.load(Ordering::Relaxed) & bit != 0)
    }

    /// How many keys exist.
    pub fn len(&self) -> u64 {
        self.live.load(Ordering::Relaxed)
    }

    /// True if no key exists.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A key that exists, by a distribution over all that were ever given: others are rejected. `None` if there is none,
    /// or none was met in many draws.
    pub fn pick(&self, keys: &Keys, random: &mut Xoshiro256PlusPlus) -> Option<u64> {
        /// Beyond this many rejections the table is as good as empty.
        const MOST_DRAWS: u32 = 10_000;
        let newest = self.newest.load(Ordering::Relaxed).min(self.bits.len() as u64 * 64 - 1);
        if newest == 0 || self.is_empty() {
            return None;
        }
        (0..MOST_DRAWS).map(|_| keys.draw(newest, random)).find(|key| self.lives(*key))
    }
}

/// A number from 0 on and below 1.
pub fn unit(random: &mut Xoshiro256PlusPlus) -> f64 {
    (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

/// A number below `bound` by multiplication (Lemire 2019, without the rejection: the bias is below 2^-20 for all that is drawn).
pub fn below(random: &mut Xoshiro256PlusPlus, bound: u64) -> u64 {
    ((u128::from(random.next_u64()) * u128::from(bound)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use rand_xoshiro::rand_core::SeedableRng as _;

    use super::*;

    const DRAWS: u32 = 200_000;

    /// Chi-square of draws in bins against their expected shares; it must not exceed its mean by six deviations.
    fn fits(keys: &Keys, newest: u64, expected: &[(u64, f64)]) {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
        let mut seen = vec![0_u32; expected.len()];
        for _ in 0..DRAWS {
            let key = keys.draw(newest, &mut random);
            assert!((1..=newest).contains(&key));
            seen[expected.iter().position(|(last, _)| key <= *last).unwrap()] += 1;
        }
        let square: f64 = seen
            .iter()
            .zip(expected)
            .map(|(seen, (_, share))| {
                let wanted = share * f64::from(DRAWS);
                (f64::from(*seen) - wanted).powi(2) / wanted
            })
            .sum();
        let freedom = (expected.len() - 1) as f64;
        assert!(square < freedom + 6.0 * (2.0 * freedom).sqrt(), "chi-square {square} with {freedom}: {seen:?}");
    }

    #[test]
    fn draws_have_their_masses() {
        let tenths: Vec<(u64, f64)> = (1..=10).map(|tenth| (tenth * 1000, 0.1)).collect();
        fits(&Keys::Uniform, 10_000, &tenths);
        for table in [D1, D2] {
            let pieces = Keys::Table(Pieces::new(&table).unwrap());
            let bins: Vec<(u64, f64)> = table.iter().map(|(to, mass)| ((to * 10_000.0) as u64, *mass)).collect();
            fits(&pieces, 10_000, &bins);
        }
        for theta in [0.5, 1.0, 1.5] {
            let n = 1000_u32;
            let weight = |rank: u32| f64::from(rank).powf(-theta);
            let sum: f64 = (1..=n).map(weight).sum();
            // Bins of keys from the oldest: the newest have the lowest ranks.
            let edges = [500_u32, 800, 900, 950, 990, 995, 999, 1000];
            let mut from = 0;
            let bins: Vec<(u64, f64)> = edges
                .iter()
                .map(|to| {
                    let share = (from + 1..=*to).map(|key| weight(n + 1 - key)).sum::<f64>() / sum;
                    from = *to;
                    (u64::from(*to), share)
                })
                .collect();
            fits(&Keys::Zipf(Zipf::new(theta).unwrap()), u64::from(n), &bins);
        }
    }

    #[test]
    fn pieces_that_make_no_distribution_are_refused() {
        for bad in [&[(0.5, 0.5)][..], &[(1.0, 0.9)], &[(0.5, 0.5), (0.4, 0.5)], &[(1.0, f64::NAN)], &[]] {
            assert!(Pieces::new(bad).is_err(), "{bad:?}");
        }
        assert!(Zipf::new(0.0).is_err() && Zipf::new(f64::NAN).is_err());
    }

    #[test]
    fn only_keys_that_exist_are_picked() {
        let live = LiveKeys::new(100, 1000);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        assert_eq!((live.len(), live.lives(0), live.lives(100), live.lives(101)), (100, false, true, false));
        for key in 1..=90 {
            assert!(live.take(key) && !live.take(key));
        }
        let key = live.next(1).unwrap();
        live.insert(key);
        assert_eq!((key, live.len()), (101, 11));
        for _ in 0..1000 {
            let picked = live.pick(&Keys::Uniform, &mut random).unwrap();
            assert!((91..=101).contains(&picked));
        }
        (91..=101).for_each(|key| assert!(live.take(key)));
        assert_eq!(live.pick(&Keys::Uniform, &mut random), None);
        let forgetful = LiveKeys::new(10, 10);
        assert_eq!(forgetful.next(1000), Some(11));
        forgetful.insert(1010);
        assert_eq!((forgetful.next(1), forgetful.len(), forgetful.lives(1010)), (Some(1011), 10, false));
        assert_eq!(forgetful.next(i32::MAX as u64), None, "keys are 32 bits wide");
        let exact = LiveKeys::new(64, 200);
        assert_eq!((exact.len(), exact.lives(64), exact.lives(63), exact.lives(65)), (64, true, true, false));
    }
}
