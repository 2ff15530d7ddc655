//! A search for the highest rate at which a goal holds.

use std::time::Duration;

use plimsoll_measurement::LatencyHistogram;

/// A search for the highest rate at which a goal holds: it doubles while the goal holds, and then halves the gap on a
/// logarithmic scale. A rate breaks the goal when it does so twice. One that did so once and then held is no answer,
/// but since a disturbance may have done that, the search goes on above it. If nothing holds there, below it.
#[derive(Debug, Clone, PartialEq)]
pub struct Search {
    goal: Duration,
    percent: f64,
    next: f64,
    holds: Option<f64>,
    breaks: Option<f64>,
    /// A rate that broke the goal once: a disturbance may do that, so it is tried again.
    doubted: Option<f64>,
    /// A rate above all that hold that broke the goal once and then held.
    wavered: Option<f64>,
    tries: u32,
}

/// A search ends when the rate that breaks the goal is at most this far above one that holds...
const CLOSE_ENOUGH: f64 = 1.03;
/// ... or after so many tries.
const MOST_TRIES: u32 = 40;
/// Where a search begins if nobody says.
const FIRST_RATE: f64 = 100.0;
/// A phase in which this part of the requests was left waiting at its end doesn't hold, whatever the percentiles say.
const MOST_LEFT_PERCENT: f64 = 1.0;

impl Search {
    /// A search for the highest rate at which so many percent of the operations take no longer than `goal`. It begins at
    /// `first` operations a second, if there is such a rate.
    pub fn new(goal: Duration, percent: f64, first: Option<f64>) -> Self {
        let next = first.unwrap_or(FIRST_RATE);
        Self { goal, percent, next, holds: None, breaks: None, doubted: None, wavered: None, tries: 0 }
    }

    /// The next rate to try; `None` when the search is over.
    pub fn propose(&mut self) -> Option<f64> {
        self.tries += 1;
        if self.is_closed(self.wavered) {
            self.breaks = self.wavered.take();
            self.next = self.between();
        }
        let is_over = self.tries > MOST_TRIES || self.breaks.is_some_and(|breaks| breaks <= 1.0);
        (!is_over && !self.is_closed(self.holds)).then_some(self.next)
    }

    /// True if hardly anything is left between a rate and one that breaks the goal.
    fn is_closed(&self, rate: Option<f64>) -> bool {
        rate.zip(self.breaks).is_some_and(|(rate, breaks)| breaks / rate <= CLOSE_ENOUGH || breaks - rate <= 1.0)
    }

    /// Whether a phase holds: the goal is met, hardly anything is left over, and hardly anything failed. What failed, and what
    /// was due and not begun, counts as infinitely slow. What was under way at the end counts with the time that it took.
    ///
    /// This is a count and no estimate of a percentile, so it needs no number of operations.
    pub fn holds(&self, times: &LatencyHistogram, backlog: u64, failed: u64) -> bool {
        let all = (times.count() + backlog + failed) as f64;
        let slow = (times.count_above(self.goal) + backlog + failed) as f64;
        let most = |percent: f64, count: u64| count as f64 <= percent / 100.0 * all;
        let met = times.count() > 0 && slow <= (100.0 - self.percent) / 100.0 * all * (1.0 + 1e-9);
        met && most(MOST_LEFT_PERCENT, backlog) && most(MOST_LEFT_PERCENT, failed)
    }

    /// Tells how a rate went, and settles which is next. True if it held in all its tries.
    pub fn tell(&mut self, rate: f64, holds: bool) -> bool {
        let is_doubted = self.doubted == Some(rate);
        if !holds && !is_doubted {
            (self.doubted, self.next) = (Some(rate), rate);
            return false;
        }
        let held = holds && !is_doubted;
        if held {
            self.holds = Some(self.holds.map_or(rate, |best: f64| best.max(rate)));
            self.wavered = self.wavered.filter(|wavered| *wavered > rate);
        } else if holds {
            self.wavered = Some(rate);
        } else {
            self.breaks = Some(self.breaks.map_or(rate, |least: f64| least.min(rate)));
        }
        self.next = self.between();
        held
    }

    /// The rate between what seems to hold and what breaks, or beyond the one that is known.
    fn between(&self) -> f64 {
        let next = match (self.wavered.or(self.holds), self.breaks) {
            (Some(holds), None) => holds * 2.0,
            (None, Some(breaks)) => breaks / 2.0,
            (Some(holds), Some(breaks)) => libm::sqrt(holds * breaks),
            (None, None) => self.next,
        };
        // Whole numbers are easier to say and to set again.
        next.round()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    const GOAL: Duration = Duration::from_millis(10);

    /// Searches on a target that holds up to a rate.
    fn found(first: Option<f64>, limit: f64) -> (Option<f64>, u32) {
        let mut search = Search::new(GOAL, 99.0, first);
        let mut tries = 0;
        while let Some(rate) = search.propose() {
            search.tell(rate, rate <= limit);
            tries += 1;
        }
        (search.holds, tries)
    }

    #[test]
    fn the_highest_rate_that_holds_is_found() {
        for limit in [1.0, 3.0, 99.0, 100.0, 777.0, 12_345.0, 1e6] {
            for first in [None, Some(1.0), Some(5000.0)] {
                let (rate, tries) = found(first, limit);
                let rate = rate.unwrap();
                assert!(rate <= limit && (limit / rate <= CLOSE_ENOUGH || limit - rate <= 1.0), "{limit}: {rate}");
                assert!(tries < MOST_TRIES, "{limit}: {tries}");
            }
        }
        let (none, tries) = found(None, 0.5);
        assert!(none.is_none() && tries < 20, "not even one a second: {tries}");
        assert!(found(None, f64::INFINITY).1 == MOST_TRIES);
    }

    /// Searches on a target that holds up to a rate, but for some tries, counted from 0.
    fn disturbed(limit: f64, tries_disturbed: &[usize]) -> (f64, Vec<(f64, bool)>) {
        let mut search = Search::new(GOAL, 99.0, Some(100.0));
        let (mut tried, mut best) = (Vec::new(), 0.0);
        while let Some(rate) = search.propose() {
            let holds = rate <= limit && !tries_disturbed.contains(&tried.len());
            if search.tell(rate, holds) {
                best = f64::max(best, rate);
            }
            tried.push((rate, holds));
        }
        assert!((search.holds.unwrap_or(0.0) - best).abs() < 1e-9);
        (best, tried)
    }

    #[test]
    fn the_answer_has_held_in_all_its_tries_and_one_disturbance_hardly_moves_it() {
        for disturbance in 0..12 {
            let (best, tried) = disturbed(777.0, &[disturbance]);
            let at_best = |(rate, _): &&(f64, bool)| (*rate - best).abs() < 1e-9;
            assert!(tried.iter().filter(at_best).all(|(_, holds)| *holds), "{disturbance}: {best}, {tried:?}");
            assert!((700.0..=777.0).contains(&best), "{disturbance}: {best}, {tried:?}");
        }
        // Where nothing above it holds, it is sought below what wavered.
        let (best, tried) = disturbed(202.0, &[1]);
        assert_eq!(tried[1..4], [(200.0, false), (200.0, true), (400.0, false)]);
        assert!((180.0..200.0).contains(&best), "{best}, {tried:?}");
        assert!(tried.len() < 30, "{tried:?}");
    }

    #[test]
    fn a_phase_holds_by_its_percentile_and_by_what_is_left() {
        let search = Search::new(GOAL, 90.0, None);
        let mut times = LatencyHistogram::new();
        (0..95).for_each(|_| times.record(Duration::from_millis(5)));
        (0..5).for_each(|_| times.record(Duration::from_millis(50)));
        assert!(search.holds(&times, 0, 0));
        assert!(!search.holds(&times, 2, 0) && !search.holds(&times, 0, 2), "more than one in a hundred is left over");
        (0..6).for_each(|_| times.record(Duration::from_millis(50)));
        assert!(!search.holds(&times, 0, 0));
        assert!(!search.holds(&LatencyHistogram::new(), 0, 0), "nothing was answered");
    }

    #[test]
    fn what_failed_or_was_not_served_is_infinitely_slow() {
        // 9,991 in time and 9 late: 99.9 of 100 are in time...
        let search = Search::new(GOAL, 99.9, None);
        let mut times = LatencyHistogram::new();
        (0..9991).for_each(|_| times.record(Duration::from_millis(5)));
        (0..9).for_each(|_| times.record(Duration::from_millis(50)));
        assert!(search.holds(&times, 0, 0) && search.holds(&times, 1, 0) && search.holds(&times, 0, 1));
        // ... unless others were not served at all: of 10,080 then 99.9 of 100 are not.
        assert!(!search.holds(&times, 80, 0) && !search.holds(&times, 0, 80) && !search.holds(&times, 1, 1));
    }
}
