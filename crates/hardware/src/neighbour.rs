//! Noisy neighbours: what others on the same host leave of a limit, as a function of the seed and the time.
//!
//! *Two states*: the factor flips between two values; each stay lasts a uniform draw from half to one and a half times
//! the state's mean dwell. Which state comes first is drawn in proportion to the dwells. This is the shape of a shared
//! tier with reads that flipped between about 200 and 800 MB/min (measurements of Azure SQL Business Edition, 2015).
//! *Drift*: every so often the factor moves one small step up or down with equal chance, and turns back at its bounds.
//!
//! All limits of one disk follow the same neighbour. Left out: a neighbour that reacts to our own load, and any other
//! distribution of the dwell (an exponential one would need a logarithm, which is not the same on every machine).

use std::time::Duration;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};
use serde::{Deserialize, Serialize};

use crate::Rate;
use crate::time::{PS_PER_NANO, Ps, from_duration};

/// The shortest dwell or interval of drift: a limit that changes faster is an average.
const SHORTEST: Duration = Duration::from_millis(100);
/// The longest: 30 days.
const LONGEST: Duration = Duration::from_hours(24 * 30);
/// Factors are kept as billionths.
const WHOLE: u64 = 1_000_000_000;

/// How a disk's limits change with time; factors of the limits' rates, more than 0 and at most 1000.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Neighbour {
    /// Flips between two factors.
    TwoState {
        /// The two factors.
        rates: [f64; 2],
        /// The mean stay in each.
        dwell: [Duration; 2],
    },
    /// Walks slowly between two bounds, from 1 (or the nearest bound).
    Drift {
        /// The lowest factor.
        low: f64,
        /// The highest factor.
        high: f64,
        /// The size of one step.
        step: f64,
        /// The time between steps.
        every: Duration,
    },
}

impl Neighbour {
    /// What breaks a rule, in words.
    pub(crate) fn check(&self) -> Result<(), String> {
        let factor = |name: &str, value: f64| {
            if (1e-6..=1e3).contains(&value) {
                Ok(())
            } else {
                Err(format!("{name} {value} must be a factor between 0.000001 and 1000"))
            }
        };
        let span = |name: &str, value: Duration| {
            if (SHORTEST..=LONGEST).contains(&value) {
                Ok(())
            } else {
                Err(format!("{name} must be between 100ms and 30 days"))
            }
        };
        match self {
            Self::TwoState { rates, dwell } => {
                rates.iter().try_for_each(|rate| factor("rate", *rate))?;
                dwell.iter().try_for_each(|dwell| span("dwell", *dwell))
            }
            Self::Drift { low, high, step, every } => {
                [("low", low), ("high", high), ("step", step)].iter().try_for_each(|(name, v)| factor(name, **v))?;
                if high - low < *step {
                    return Err("high must be at least one step above low".to_owned());
                }
                span("every", *every)
            }
        }
    }
}

fn billionths(factor: f64) -> u64 {
    (factor * WHOLE as f64).round() as u64
}

/// A rate as a function of time, read forwards only. The clones of one timeline tell the same story.
#[derive(Debug, Clone)]
pub(crate) struct Timeline {
    nominal: u64,
    factor: u64,
    rate: u64,
    until: Ps,
    source: Source,
}

#[derive(Debug, Clone)]
enum Source {
    Constant,
    TwoState { factors: [u64; 2], dwell: [Ps; 2], state: usize, random: Xoshiro256PlusPlus },
    Drift { low: u64, high: u64, step: u64, every: Ps, random: Xoshiro256PlusPlus },
}

impl Timeline {
    /// The timeline of `rate` under a neighbour, from time 0.
    pub(crate) fn new(rate: Rate, neighbour: Option<&Neighbour>, seed: u64) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let (source, factor, until) = match neighbour {
            None => (Source::Constant, WHOLE, Ps::MAX),
            Some(Neighbour::TwoState { rates, dwell }) => {
                let factors = rates.map(billionths);
                let dwell = dwell.map(|dwell| from_duration(dwell.clamp(SHORTEST, LONGEST)));
                let state = usize::from(Ps::from(random.next_u64()) % (dwell[0] + dwell[1]) >= dwell[0]);
                let until = stay(dwell[state], &mut random);
                (Source::TwoState { factors, dwell, state, random }, factors[state], until)
            }
            Some(Neighbour::Drift { low, high, step, every }) => {
                let (low, high) = (billionths(*low), billionths(*high).max(billionths(*low)));
                let every = from_duration((*every).clamp(SHORTEST, LONGEST));
                let source = Source::Drift { low, high, step: billionths(*step), every, random };
                (source, WHOLE.clamp(low, high), every)
            }
        };
        let mut timeline = Self { nominal: rate.as_milli(), factor, rate: 0, until, source };
        timeline.apply();
        timeline
    }

    /// The rate at `at` in thousandths of a unit a second, and until when it stays. `at` may not lie before an earlier one.
    pub(crate) fn at(&mut self, at: Ps) -> (u64, Ps) {
        while at >= self.until && self.until != Ps::MAX {
            self.step();
        }
        (self.rate, self.until)
    }

    /// The rate at the last time asked for.
    pub(crate) fn rate(&self) -> u64 {
        self.rate
    }

    fn step(&mut self) {
        match &mut self.source {
            Source::Constant => self.until = Ps::MAX,
            Source::TwoState { factors, dwell, state, random } => {
                *state = 1 - *state;
                self.factor = factors[*state];
                self.until = self.until.saturating_add(stay(dwell[*state], random));
            }
            Source::Drift { low, high, step, every, random } => {
                let up = random.next_u64() >> 63 == 1;
                let fits_up = self.factor.saturating_add(*step) <= *high;
                let fits_down = self.factor.saturating_sub(*step) >= *low && self.factor > *step;
                self.factor = match (up, fits_up, fits_down) {
                    (true, true, _) | (false, true, false) => self.factor + *step,
                    (false, _, true) | (true, false, true) => self.factor - *step,
                    (_, false, false) => self.factor,
                };
                self.until = self.until.saturating_add(*every);
            }
        }
        self.apply();
    }

    fn apply(&mut self) {
        let rate = u128::from(self.nominal) * u128::from(self.factor) / u128::from(WHOLE);
        self.rate = u64::try_from(rate).unwrap_or(u64::MAX).max(1);
    }
}

/// Uniform from half to one and a half times the mean, in whole nanoseconds.
fn stay(mean: Ps, random: &mut Xoshiro256PlusPlus) -> Ps {
    mean / 2 + Ps::from(random.next_u64()) % (mean / PS_PER_NANO) * PS_PER_NANO
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::PS_PER_SECOND;

    fn rate(units: f64) -> Rate {
        Rate::per_second(units).unwrap()
    }

    fn segments(neighbour: &Neighbour, seed: u64, count: usize) -> Vec<(u64, Ps)> {
        let mut timeline = Timeline::new(rate(1000.0), Some(neighbour), seed);
        let mut at = 0;
        (0..count)
            .map(|_| {
                let (rate, until) = timeline.at(at);
                let length = until - at;
                at = until;
                (rate, length)
            })
            .collect()
    }

    #[test]
    fn two_states_take_turns_and_stay_about_their_dwell() {
        let dwell = [Duration::from_mins(1), Duration::from_secs(20)];
        let neighbour = Neighbour::TwoState { rates: [0.25, 1.0], dwell };
        let seen = segments(&neighbour, 7, 2_000);
        for pair in seen.windows(2) {
            assert_eq!([pair[0].0.min(pair[1].0), pair[0].0.max(pair[1].0)], [250_000, 1_000_000]);
        }
        for (factor, seconds) in [(250_000, 60), (1_000_000, 20)] {
            let lengths: Vec<Ps> = seen.iter().filter(|(rate, _)| *rate == factor).map(|(_, length)| *length).collect();
            let mean = lengths.iter().sum::<Ps>() as f64 / lengths.len() as f64 / PS_PER_SECOND as f64;
            assert!((mean / f64::from(seconds) - 1.0).abs() < 0.03, "{mean}");
            let bounds = seconds as Ps * PS_PER_SECOND / 2..=seconds as Ps * PS_PER_SECOND * 3 / 2;
            assert!(lengths.iter().all(|length| bounds.contains(length)));
        }
    }

    #[test]
    fn drift_moves_by_single_steps_within_its_bounds() {
        let neighbour = Neighbour::Drift { low: 0.9, high: 1.1, step: 0.05, every: Duration::from_secs(30) };
        let seen = segments(&neighbour, 3, 1_000);
        assert_eq!(seen[0], (1_000_000, 30 * PS_PER_SECOND));
        for pair in seen.windows(2) {
            assert_eq!(pair[0].0.abs_diff(pair[1].0), 50_000);
        }
        let rates: Vec<u64> = seen.iter().map(|(rate, _)| *rate).collect();
        assert_eq!((rates.iter().min(), rates.iter().max()), (Some(&900_000), Some(&1_100_000)));
    }

    #[test]
    fn the_seed_alone_decides() {
        let neighbour = Neighbour::TwoState { rates: [0.5, 1.0], dwell: [Duration::from_secs(1); 2] };
        assert_eq!(segments(&neighbour, 1, 50), segments(&neighbour, 1, 50));
        assert_ne!(segments(&neighbour, 1, 50), segments(&neighbour, 2, 50));
        let mut asked_often = Timeline::new(rate(10.0), Some(&neighbour), 1);
        let mut asked_once = asked_often.clone();
        for second in 0..100 {
            asked_often.at(second * PS_PER_SECOND);
        }
        assert_eq!(asked_often.at(100 * PS_PER_SECOND), asked_once.at(100 * PS_PER_SECOND));
    }
}
