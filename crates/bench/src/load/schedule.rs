//! When requests are meant to start: one schedule for all sessions (open loop), constant or Poisson, at one rate or at
//! one after the other. Latency counts from the intended start, so a server that stalls is not spared (Tene, "How NOT to
//! measure latency").

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use plimsoll_measurement::Moment;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};

/// How starts are spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrivals {
    /// Evenly.
    Constant,
    /// Independently of each other: gaps are exponential.
    Poisson,
}

/// Nanoseconds of a second, and the fractions of a nanosecond that are kept.
const NANOS: f64 = 1e9;

/// A schedule of intended starts from a moment on.
#[derive(Debug)]
pub struct Schedule {
    start: Moment,
    end: Moment,
    rate: f64,
    arrivals: Arrivals,
    next: Mutex<Next>,
}

#[derive(Debug)]
struct Next {
    number: u64,
    seconds: f64,
    random: Xoshiro256PlusPlus,
}

impl Schedule {
    /// `rate` starts a second from `start` on, for this long.
    pub fn new(start: Moment, lasts: Duration, rate: f64, arrivals: Arrivals, seed: u64) -> Self {
        let next = Next { number: 0, seconds: 0.0, random: Xoshiro256PlusPlus::seed_from_u64(seed) };
        Self { start, end: start.after(lasts), rate, arrivals, next: Mutex::new(next) }
    }

    /// The next intended start, for whoever asks first; `None` when the time is up.
    pub fn next(&self) -> Option<Moment> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let seconds = match self.arrivals {
            Arrivals::Constant => next.number as f64 / self.rate,
            Arrivals::Poisson => {
                // A draw from (0, 1], by an exact library: the same on every machine.
                let draw = ((next.random.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
                next.seconds += -libm::log(draw) / self.rate;
                next.seconds
            }
        };
        next.number += 1;
        let moment = self.start.after(Duration::from_nanos((seconds * NANOS) as u64));
        (moment < self.end).then_some(moment)
    }

    /// How many starts lie before `now` and were not handed out: the backlog of a target that is too slow.
    pub fn backlog(&self, now: Moment) -> u64 {
        let next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let due = now.min(self.end).since(self.start).as_secs_f64();
        match self.arrivals {
            Arrivals::Constant => ((due * self.rate) as u64 + 1).saturating_sub(next.number),
            Arrivals::Poisson => ((due - next.seconds).max(0.0) * self.rate) as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn starts(arrivals: Arrivals, rate: f64, seconds: u64) -> Vec<f64> {
        let schedule = Schedule::new(Moment::default(), Duration::from_secs(seconds), rate, arrivals, 3);
        std::iter::from_fn(|| schedule.next()).map(|moment| moment.as_nanos() as f64 / 1e9).collect()
    }

    #[test]
    fn constant_starts_are_even_and_do_not_drift() {
        let starts = starts(Arrivals::Constant, 3.0, 1000);
        assert_eq!(starts.len(), 3000);
        assert!(starts.iter().zip(0..).all(|(start, number)| (start - f64::from(number) / 3.0).abs() < 1e-8));
    }

    #[test]
    fn poisson_gaps_have_their_mean_and_deviation() {
        let starts = starts(Arrivals::Poisson, 100.0, 1000);
        assert!((starts.len() as f64 / 100_000.0 - 1.0).abs() < 0.01, "{}", starts.len());
        let gaps: Vec<f64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let deviation = (gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64).sqrt();
        assert!((deviation / mean - 1.0).abs() < 0.02, "{mean} {deviation}");
    }

    #[test]
    fn what_was_due_and_not_begun_is_the_backlog() {
        let schedule = Schedule::new(Moment::default(), Duration::from_secs(10), 100.0, Arrivals::Constant, 1);
        assert_eq!((0..50).filter_map(|_| schedule.next()).count(), 50);
        let at = |seconds: u64| Moment::from_nanos(seconds * 1_000_000_000);
        assert_eq!((schedule.backlog(at(0)), schedule.backlog(at(1)), schedule.backlog(at(60))), (0, 51, 951));
    }
}
