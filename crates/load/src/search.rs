//! A search for the highest rate at which a goal holds.

use std::time::Duration;

use plimsoll_measurement::LatencyHistogram;
use plimsoll_measurement::histogram::{self, TooFew};

use crate::arrivals::Arrivals;

/// What is asked of the response times, and how much of them a try has.
#[derive(Debug, Clone, PartialEq)]
pub struct Goal {
    /// No longer than this ...
    pub time: Duration,
    /// ... may so many percent of them be.
    pub percent: f64,
    /// How long a try lasts, unless the percentile needs more response times than it has in that time.
    pub usual: Duration,
    /// How starts are spread.
    pub arrivals: Arrivals,
}

impl Goal {
    /// Requests that a try is to make, so that the percentile has the response times that it needs.
    fn planned(&self) -> f64 {
        let needed = histogram::needed(self.percent) as f64;
        match self.arrivals {
            Arrivals::Constant => needed,
            // By chance there are hardly ever fewer than that by four deviations.
            Arrivals::Poisson => needed + 4.0 * libm::sqrt(needed),
        }
    }

    fn longest(&self) -> Duration {
        self.usual.saturating_mul(MOST_TIMES_USUAL)
    }

    /// The lowest rate that makes so many requests in the longest try: what is below can't be judged.
    fn lowest(&self, planned: f64) -> f64 {
        (planned / self.longest().as_secs_f64().max(f64::MIN_POSITIVE)).ceil().max(1.0)
    }
}

/// A search for the highest rate at which a goal holds: it doubles while the goal holds, and then halves the gap on a
/// logarithmic scale. A rate breaks the goal when it does so twice. One that did so once and then held is no answer,
/// but since a disturbance may have done that, the search goes on above it. If nothing holds there, below it. Rates that
/// are so low that they can't be judged are not tried.
#[derive(Debug, Clone, PartialEq)]
pub struct Search {
    goal: Goal,
    /// Where it was to begin.
    asked: Option<f64>,
    /// Requests that a try is to make, and the lowest rate that makes them.
    planned: f64,
    lowest: f64,
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
/// Where a search begins if no rate is given.
const FIRST_RATE: f64 = 100.0;
/// A try lasts so many times as long as usual at most.
const MOST_TIMES_USUAL: u32 = 10;
/// Where a try had too few response times, so much more is planned than it lacked.
const MORE_THAN_LACKED: f64 = 1.1;
/// A phase in which this part of the requests was left waiting at its end doesn't hold, whatever the percentiles say.
const MOST_LEFT_PERCENT: f64 = 1.0;

impl Search {
    /// A search for the highest rate at which a goal holds. It begins at `asked` operations a second, if there is such a rate
    /// and it can be judged.
    pub fn new(goal: Goal, asked: Option<f64>) -> Self {
        let planned = goal.planned();
        let lowest = goal.lowest(planned);
        let next = asked.unwrap_or(FIRST_RATE).max(lowest);
        Self { goal, asked, planned, lowest, next, holds: None, breaks: None, doubted: None, wavered: None, tries: 0 }
    }

    /// How long a rate is tried.
    pub fn lasts(&self, rate: f64) -> Duration {
        let enough = Duration::try_from_secs_f64(self.planned / rate).unwrap_or(Duration::MAX);
        enough.max(self.goal.usual).min(self.goal.longest())
    }

    /// What the search could not look at, in a sentence: rates that are too low to be judged, where one of them was asked for or
    /// might be the answer.
    pub fn unseen(&self) -> Option<String> {
        let might_hold = self.lowest > 1.0 && self.breaks.is_some_and(|breaks| breaks <= self.lowest);
        let asked = self.asked.filter(|asked| *asked < self.lowest);
        let (percent, lowest) = (self.goal.percent, self.lowest);
        let needed = histogram::needed(percent);
        let seconds = self.goal.longest().as_secs_f64();
        (might_hold || asked.is_some()).then(|| {
            let has = asked.map(|asked| {
                format!(" (at {asked}/s it has {})", (asked * seconds).floor())
            });
            format!(
                "no rate below {lowest}/s can be judged: p{percent} needs {needed} response times, and a try lasts {seconds} s at most{}; make \
                 'duration' longer, or name a lower percentile",
                has.unwrap_or_default()
            )
        })
    }

    /// The next rate to try; `None` when the search is over.
    pub fn propose(&mut self) -> Option<f64> {
        self.tries += 1;
        if self.is_closed(self.wavered) {
            self.breaks = self.wavered.take();
            self.next = self.between();
        }
        let is_over = self.tries > MOST_TRIES || self.breaks.is_some_and(|breaks| breaks <= self.lowest);
        (!is_over && !self.is_closed(self.holds)).then_some(self.next)
    }

    /// True if hardly anything is left between a rate and one that breaks the goal.
    fn is_closed(&self, rate: Option<f64>) -> bool {
        rate.zip(self.breaks).is_some_and(|(rate, breaks)| breaks / rate <= CLOSE_ENOUGH || breaks - rate <= 1.0)
    }

    /// Whether a phase holds: the goal is met, hardly anything is left over, and hardly anything failed. What failed, and what
    /// was due and not begun, counts as infinitely slow. What was under way at the end counts with the time that it took.
    ///
    /// # Errors
    /// A sentence if there are too few operations for the percentile of the goal.
    pub fn holds(&self, times: &LatencyHistogram, backlog: u64, failed: u64) -> Result<bool, TooFew> {
        let Goal { time, percent, .. } = self.goal;
        let all = times.count() + backlog + failed;
        histogram::enough(all, percent)?;
        let slow = (times.count_above(time) + backlog + failed) as f64;
        let most = |percent: f64, count: u64| count as f64 <= percent / 100.0 * all as f64;
        let met = slow <= (100.0 - percent) / 100.0 * all as f64 * (1.0 + 1e-9);
        Ok(met && most(MOST_LEFT_PERCENT, backlog) && most(MOST_LEFT_PERCENT, failed))
    }

    /// Tells how a rate went, and settles which is next. True if it held in all its tries.
    pub fn tell(&mut self, rate: f64, holds: Result<bool, TooFew>) -> bool {
        let holds = match holds {
            Ok(holds) => holds,
            Err(TooFew { count, needed, .. }) => {
                // Some requests found nothing to be made of. It is tried again, for longer, or at a rate that can be judged.
                self.planned *= MORE_THAN_LACKED * needed as f64 / count.max(1) as f64;
                self.lowest = self.goal.lowest(self.planned);
                self.next = rate.max(self.lowest);
                return false;
            }
        };
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
        next.round().max(self.lowest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn goal(percent: f64, usual: u64) -> Goal {
        let (time, usual) = (Duration::from_millis(10), Duration::from_secs(usual));
        Goal { time, percent, usual, arrivals: Arrivals::Constant }
    }

    /// A search for which a rate of one a second can be judged.
    fn patient(first: Option<f64>) -> Search {
        Search::new(goal(99.0, 100), first)
    }

    /// Searches on a target that holds up to a rate.
    fn found(first: Option<f64>, limit: f64) -> (Option<f64>, u32) {
        let mut search = patient(first);
        let mut tries = 0;
        while let Some(rate) = search.propose() {
            search.tell(rate, Ok(rate <= limit));
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
        let mut search = patient(Some(100.0));
        let (mut tried, mut best) = (Vec::new(), 0.0);
        while let Some(rate) = search.propose() {
            let holds = rate <= limit && !tries_disturbed.contains(&tried.len());
            if search.tell(rate, Ok(holds)) {
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
        let search = Search::new(goal(90.0, 10), None);
        let holds = |times: &LatencyHistogram, backlog, failed| search.holds(times, backlog, failed).unwrap();
        let mut times = LatencyHistogram::new();
        (0..95).for_each(|_| times.record(Duration::from_millis(5)));
        (0..5).for_each(|_| times.record(Duration::from_millis(50)));
        assert!(holds(&times, 0, 0));
        assert!(!holds(&times, 2, 0) && !holds(&times, 0, 2), "more than one in a hundred is left over");
        (0..6).for_each(|_| times.record(Duration::from_millis(50)));
        assert!(!holds(&times, 0, 0));
        assert!(!holds(&LatencyHistogram::new(), 100, 0), "nothing was answered");
    }

    #[test]
    fn what_failed_or_was_not_served_is_infinitely_slow() {
        // 9,991 in time and 9 late: 99.9 of 100 are in time...
        let search = Search::new(goal(99.9, 10), None);
        let holds = |times: &LatencyHistogram, backlog, failed| search.holds(times, backlog, failed).unwrap();
        let mut times = LatencyHistogram::new();
        (0..9991).for_each(|_| times.record(Duration::from_millis(5)));
        (0..9).for_each(|_| times.record(Duration::from_millis(50)));
        assert!(holds(&times, 0, 0) && holds(&times, 1, 0) && holds(&times, 0, 1));
        // ... unless others were not served at all: of 10,080 then 99.9 of 100 are not.
        assert!(!holds(&times, 80, 0) && !holds(&times, 0, 80) && !holds(&times, 1, 1));
    }

    #[test]
    fn too_few_response_times_hold_nothing_and_break_nothing() {
        let of = |percent: f64, count: u64, backlog: u64| {
            let mut times = LatencyHistogram::new();
            (0..count).for_each(|_| times.record(Duration::from_millis(1)));
            Search::new(goal(percent, 10), None).holds(&times, backlog, 0)
        };
        assert_eq!(of(99.9, 13, 0).unwrap_err().needed, 10_000);
        assert_eq!(
            of(99.0, 999, 0).unwrap_err().to_string(),
            "p99 needs 1000 response times, 10 of them beyond it; there are 999"
        );
        assert_eq!((of(99.0, 1000, 0), of(99.0, 900, 100)), (Ok(true), Ok(false)));
    }

    #[test]
    fn a_try_lasts_as_long_as_its_percentile_needs() {
        let search = Search::new(goal(99.0, 10), None);
        let seconds = |rate: f64| search.lasts(rate).as_secs();
        assert_eq!([1e4, 100.0, 50.0, 10.0, 5.0].map(seconds), [10, 10, 20, 100, 100]);
        // Of a random number of starts there are enough but for one try in thousands.
        let poisson = Search::new(Goal { arrivals: Arrivals::Poisson, ..goal(99.0, 10) }, None);
        assert!((poisson.lasts(50.0).as_secs_f64() - 22.5).abs() < 0.1, "{:?}", poisson.lasts(50.0));
    }

    #[test]
    fn a_try_that_had_too_few_response_times_is_made_again_for_longer() {
        let mut search = Search::new(goal(99.0, 10), None);
        assert_eq!(search.propose(), Some(100.0));
        let too_few = TooFew { percent: 99.0, count: 500, needed: 1000 };
        assert!(!search.tell(100.0, Err(too_few)) && search.propose() == Some(100.0));
        assert!((search.lasts(100.0).as_secs_f64() - 22.0).abs() < 1e-9, "{:?}", search.lasts(100.0));
        assert!(search.tell(100.0, Ok(true)) && search.propose() == Some(200.0));
        // Where nothing is ever answered it ends.
        let mut search = Search::new(goal(99.0, 10), None);
        let none = TooFew { count: 0, ..too_few };
        assert!((0..100).all(|_| search.propose().is_none_or(|rate| !search.tell(rate, Err(none)))));
        assert_eq!((search.propose(), search.holds), (None, None));
    }

    /// All rates that are tried on a target that holds up to one, the answer, and what is said of those that can't be judged.
    fn tried(search: &mut Search, limit: f64) -> (Vec<f64>, Option<f64>, Option<String>) {
        let mut tried = Vec::new();
        while let Some(rate) = search.propose() {
            tried.push(rate);
            search.tell(rate, Ok(rate <= limit));
        }
        (tried, search.holds, search.unseen())
    }

    #[test]
    fn a_rate_that_can_t_be_judged_is_not_tried_and_that_is_said() {
        // In ten times a second there are 10,000 response times from 1,000 a second on.
        let (rates, found, unseen) = tried(&mut Search::new(goal(99.9, 1), Some(13.0)), 2000.0);
        assert_eq!((rates[0], rates.iter().copied().fold(f64::INFINITY, f64::min)), (1000.0, 1000.0));
        assert!(found.unwrap() > 1940.0, "{found:?}");
        let sentence = "no rate below 1000/s can be judged: p99.9 needs 10000 response times, and a try lasts 10 s at most \
                        (at 13/s it has 130); make 'duration' longer, or name a lower percentile";
        assert_eq!(unseen.unwrap(), sentence);
        let (rates, found, unseen) = tried(&mut Search::new(goal(99.9, 1), None), 130.0);
        assert_eq!((rates, found), (vec![1000.0, 1000.0], None));
        assert!(unseen.unwrap().starts_with("no rate below 1000/s can be judged: p99.9 needs 10000 response times"));
        // Down to the lowest that can be judged.
        let (rates, found, unseen) = tried(&mut Search::new(goal(99.0, 10), None), 11.0);
        assert!(
            rates.iter().all(|rate| *rate >= 10.0) && found == Some(11.0) && unseen.is_none(),
            "{rates:?} {found:?}"
        );
        assert_eq!(tried(&mut Search::new(goal(99.0, 10), None), 9.0).1, None);
    }
}
