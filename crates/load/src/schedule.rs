//! When requests are meant to start: one schedule for all sessions (open loop), constant or Poisson, at one rate or at one
//! that changes steadily. Latency counts from the intended start, so a server that stalls is not spared (Tene, "How NOT to
//! measure latency").

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use plimsoll_measurement::Moment;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;

pub use crate::arrivals::Arrivals;
use crate::arrivals::exponential;

/// Nanoseconds of a second.
const NANOS: f64 = 1e9;

/// Starts a second: at the beginning, and at the end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    /// At the beginning.
    pub from: f64,
    /// At the end; in between it changes steadily.
    pub to: f64,
}

impl Rate {
    /// The same all the time.
    pub const fn constant(rate: f64) -> Self {
        Self { from: rate, to: rate }
    }

    /// True if it changes.
    pub fn is_ramp(self) -> bool {
        self.from.total_cmp(&self.to).is_ne()
    }

    /// On average.
    pub fn mean(self) -> f64 {
        f64::midpoint(self.from, self.to)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_ramp() { write!(f, "{} to {}/s", self.from, self.to) } else { write!(f, "{}/s", self.from) }
    }
}

/// A schedule of intended starts from a moment on.
#[derive(Debug)]
pub struct Schedule {
    start: Moment,
    end: Moment,
    rate: Rate,
    /// By how much the rate grows in a second.
    growth: f64,
    arrivals: Arrivals,
    next: Mutex<Next>,
    /// Starts that were handed out and came too late.
    given_up: AtomicU64,
}

#[derive(Debug)]
struct Next {
    number: u64,
    /// Poisson: the expected number of starts up to the last one.
    expected: f64,
    random: Xoshiro256PlusPlus,
}

impl Schedule {
    /// Starts at this rate from `start` on, for this long.
    pub fn new(start: Moment, lasts: Duration, rate: Rate, arrivals: Arrivals, seed: u64) -> Self {
        let next = Next { number: 0, expected: 0.0, random: Xoshiro256PlusPlus::seed_from_u64(seed) };
        let growth = (rate.to - rate.from) / lasts.as_secs_f64().max(f64::MIN_POSITIVE);
        Self {
            start,
            end: start.after(lasts),
            rate,
            growth,
            arrivals,
            next: Mutex::new(next),
            given_up: AtomicU64::new(0),
        }
    }

    /// Seconds after which so many starts are expected: the inverse of [`due`](Self::due), in a form that holds for a
    /// constant rate as well.
    fn seconds(&self, starts: f64) -> f64 {
        let root = libm::sqrt((self.rate.from * self.rate.from + 2.0 * self.growth * starts).max(0.0));
        if starts <= 0.0 { 0.0 } else { 2.0 * starts / (self.rate.from + root) }
    }

    /// Starts that are expected within so many seconds of the beginning.
    pub fn due(&self, seconds: f64) -> f64 {
        let seconds = seconds.clamp(0.0, self.end.since(self.start).as_secs_f64());
        self.rate.from * seconds + self.growth * seconds * seconds / 2.0
    }

    /// The next intended start, for the session that asks first; `None` when the time is up.
    pub fn next(&self) -> Option<Moment> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let starts = match self.arrivals {
            Arrivals::Constant => next.number as f64,
            Arrivals::Poisson => {
                next.expected += exponential(&mut next.random);
                next.expected
            }
        };
        // A ramp that falls ends before the start that it never comes to.
        if starts > self.due(self.end.since(self.start).as_secs_f64()) {
            return None;
        }
        let moment = self.start.after(Duration::from_nanos((self.seconds(starts) * NANOS) as u64));
        let is_in_time = moment < self.end;
        next.number += u64::from(is_in_time);
        is_in_time.then_some(moment)
    }

    /// A start that was handed out was too late to be made: it belongs to the backlog again.
    pub fn give_up(&self) {
        self.given_up.fetch_add(1, Ordering::Relaxed);
    }

    /// How many starts lie before `now` and were not made: the backlog of a target that is too slow.
    pub fn backlog(&self, now: Moment) -> u64 {
        let next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let given_up = self.given_up.load(Ordering::Relaxed);
        let due = self.due(now.min(self.end).since(self.start).as_secs_f64());
        match self.arrivals {
            // The start at the very end is none of the schedule's.
            Arrivals::Constant => {
                let due = if now >= self.end { due.ceil() as u64 } else { due as u64 + 1 };
                due.saturating_sub(next.number) + given_up
            }
            Arrivals::Poisson => (due - next.expected).max(0.0) as u64 + given_up,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn starts(arrivals: Arrivals, rate: f64, seconds: u64) -> Vec<f64> {
        ramp(arrivals, Rate::constant(rate), seconds)
    }

    fn ramp(arrivals: Arrivals, rate: Rate, seconds: u64) -> Vec<f64> {
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
    fn a_ramp_has_its_rate_at_every_time() {
        for (from, to) in [(100.0, 300.0), (300.0, 100.0), (0.0, 400.0), (400.0, 0.0)] {
            for (arrivals, error) in [(Arrivals::Constant, 1.0), (Arrivals::Poisson, 60.0)] {
                let starts = ramp(arrivals, Rate { from, to }, 10);
                assert!((starts.len() as f64 - 2000.0).abs() <= 2.0 * error, "{from} {to} {}", starts.len());
                // In the first half: the mean of the rates at its ends.
                let half = starts.iter().filter(|start| **start < 5.0).count() as f64;
                assert!((half - 5.0 * (3.0 * from + to) / 4.0).abs() <= 2.0 * error, "{from} {to} {half}");
                assert!(starts.is_sorted());
            }
        }
    }

    #[test]
    fn what_was_due_and_not_begun_is_the_backlog() {
        let schedule =
            Schedule::new(Moment::default(), Duration::from_secs(10), Rate::constant(100.0), Arrivals::Constant, 1);
        assert_eq!((0..50).filter_map(|_| schedule.next()).count(), 50);
        let at = |seconds: u64| Moment::from_nanos(seconds * 1_000_000_000);
        assert_eq!((schedule.backlog(at(0)), schedule.backlog(at(1)), schedule.backlog(at(60))), (0, 51, 950));
        schedule.give_up();
        assert_eq!(schedule.backlog(at(60)), 951);
    }
}
