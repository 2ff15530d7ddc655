//! What is tried in a repetition, one phase after another: rates, numbers of sessions, sizes of batches, a ramp; or rates
//! that a search chooses as it goes.

use std::time::Duration;

use plimsoll_measurement::Times;

use super::schedule::Rate;
use crate::parameters::{ParameterValue, Parameters};

/// A part of a repetition.
#[derive(Debug, Clone, PartialEq)]
pub struct Phase {
    /// What is tried in it.
    pub label: String,
    /// Sessions that make requests.
    pub sessions: u64,
    /// Requests a second; without one each session makes the next when the last is answered.
    pub rate: Option<Rate>,
    /// Rows of a batch.
    pub batch_rows: u64,
}

/// The phases that the parameters ask for, one at least.
///
/// # Errors
/// A sentence if more than one parameter has several values: their combinations would be a test each.
pub fn plan(parameters: &Parameters) -> Result<Vec<Phase>, String> {
    let one = |name: &str| parameters.count(name).max(1);
    let rate = match parameters.value("rate") {
        Some(ParameterValue::Ramp(from, to)) => Some(Rate { from: *from as f64, to: *to as f64 }),
        _ => Some(Rate::constant(parameters.count("rate") as f64)).filter(|rate| rate.from > 0.0),
    };
    let common = Phase { label: "all".to_owned(), sessions: one("sessions"), rate, batch_rows: one("batch") };
    let several = ["sessions", "rate", "batch"].into_iter().filter_map(|name| match parameters.value(name) {
        Some(ParameterValue::Levels(levels)) if levels.len() > 1 => Some((name, levels)),
        _ => None,
    });
    let several: Vec<_> = several.collect();
    for name in ["sessions", "batch"] {
        if matches!(parameters.value(name), Some(ParameterValue::Ramp(..))) {
            return Err(format!("'{name}' can't rise steadily; give several values such as 1,2,4,8"));
        }
    }
    if let [(first, _), (second, _), ..] = several.as_slice() {
        return Err(format!("'{first}' and '{second}' both have several values; give one of them a single one"));
    }
    if rate.is_some() && !parameters.duration("think").is_zero() {
        return Err("'think' is a pause of sessions that follow no 'rate'; leave one of them out".to_owned());
    }
    if !parameters.duration("goal").is_zero() && (!several.is_empty() || rate.is_some_and(Rate::is_ramp)) {
        return Err("a search for the highest rate chooses the rates itself; give single values".to_owned());
    }
    let Some((name, levels)) = several.first() else {
        let label = rate.filter(|rate| rate.is_ramp());
        let label = label.map_or(common.label.clone(), |rate| format!("{} to {}/s", rate.from, rate.to));
        return Ok(vec![Phase { label, ..common }]);
    };
    let phase = |level: &u64| match *name {
        "rate" => at_rate(&common, *level as f64),
        "batch" => Phase {
            label: if *level == 1 { "1 row".to_owned() } else { format!("{level} rows") },
            batch_rows: *level,
            ..common.clone()
        },
        _ => {
            let label = if *level == 1 { "1 session".to_owned() } else { format!("{level} sessions") };
            Phase { label, sessions: *level, ..common.clone() }
        }
    };
    Ok(levels.iter().map(phase).collect())
}

/// The same at another rate.
pub fn at_rate(phase: &Phase, rate: f64) -> Phase {
    Phase { label: format!("{rate}/s"), rate: Some(Rate::constant(rate)), ..phase.clone() }
}

/// A search for the highest rate at which a goal holds: it doubles while the goal holds, and then halves the gap on a
/// logarithmic scale. A rate breaks the goal when it does so twice. One that did so once and then held is no answer, but since a
/// disturbance may have done that, the search goes on above it; if nothing holds there, below it.
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
    /// The search that the parameters ask for, if they do.
    pub fn new(parameters: &Parameters) -> Option<Self> {
        let goal = parameters.duration("goal");
        let percent = parameters.choice("goal_at").strip_prefix('p').and_then(|text| text.parse().ok()).unwrap_or(99.0);
        let next = match parameters.count("rate") {
            0 => FIRST_RATE,
            rate => rate as f64,
        };
        let search = Self { goal, percent, next, holds: None, breaks: None, doubted: None, wavered: None, tries: 0 };
        (!goal.is_zero()).then_some(search)
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

    /// Whether a phase holds: the goal is met, hardly anything is left over, and hardly anything failed.
    pub fn holds(&self, times: &Times, backlog: u64, failed_percent: f64) -> bool {
        let left = 100.0 * backlog as f64 / (times.count() + backlog).max(1) as f64;
        let met = times.percentile(self.percent).is_some_and(|time| time <= self.goal);
        met && left <= MOST_LEFT_PERCENT && failed_percent <= MOST_LEFT_PERCENT
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
    use crate::definition::find_builtin;

    fn parameters(sets: &[(&str, &str)]) -> Parameters {
        let definition = find_builtin("mix-b").unwrap();
        let mut parameters = definition.parameters(true);
        for (name, value) in sets {
            parameters.set(name, value, &definition.steps).unwrap();
        }
        parameters
    }

    fn labels(sets: &[(&str, &str)]) -> Vec<String> {
        plan(&parameters(sets)).unwrap().into_iter().map(|phase| phase.label).collect()
    }

    #[test]
    fn what_has_several_values_makes_the_phases() {
        assert_eq!(labels(&[]), ["all"]);
        assert_eq!(labels(&[("sessions", "1,2,4")]), ["1 session", "2 sessions", "4 sessions"]);
        assert_eq!(labels(&[("rate", "100,200")]), ["100/s", "200/s"]);
        assert_eq!(labels(&[("rate", "100..200")]), ["100 to 200/s"]);
        assert_eq!(labels(&[("batch", "1,1000")]), ["1 row", "1000 rows"]);
        let ladder = plan(&parameters(&[("rate", "100,200"), ("sessions", "3")])).unwrap();
        assert_eq!((ladder[1].sessions, ladder[1].rate), (3, Some(Rate::constant(200.0))));
        assert_eq!(plan(&parameters(&[("rate", "0")])).unwrap()[0].rate, None);
        for bad in [
            [("rate", "1,2"), ("sessions", "1,2")],
            [("sessions", "1..2"), ("rate", "0")],
            [("goal", "1s"), ("rate", "1,2")],
            [("think", "1s"), ("rate", "1")],
            [("goal", "1s"), ("rate", "1..2")],
        ] {
            assert!(plan(&parameters(&bad)).is_err(), "{bad:?}");
        }
    }

    /// Searches on a target that holds up to a rate.
    fn found(first: &str, limit: f64) -> (Option<f64>, u32) {
        let mut search = Search::new(&parameters(&[("goal", "10ms"), ("rate", first)])).unwrap();
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
            for first in ["0", "1", "5000"] {
                let (rate, tries) = found(first, limit);
                let rate = rate.unwrap();
                assert!(rate <= limit && (limit / rate <= CLOSE_ENOUGH || limit - rate <= 1.0), "{limit}: {rate}");
                assert!(tries < MOST_TRIES, "{limit}: {tries}");
            }
        }
        let (none, tries) = found("0", 0.5);
        assert!(none.is_none() && tries < 20, "not even one a second: {tries}");
        assert!(found("0", f64::INFINITY).1 == MOST_TRIES);
        assert_eq!(Search::new(&parameters(&[])), None);
    }

    /// Searches on a target that holds up to a rate, but for some tries, counted from 0.
    fn disturbed(first: &str, limit: f64, tries_disturbed: &[usize]) -> (f64, Vec<(f64, bool)>) {
        let mut search = Search::new(&parameters(&[("goal", "10ms"), ("rate", first)])).unwrap();
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
            let (best, tried) = disturbed("100", 777.0, &[disturbance]);
            let at_best = |(rate, _): &&(f64, bool)| (*rate - best).abs() < 1e-9;
            assert!(tried.iter().filter(at_best).all(|(_, holds)| *holds), "{disturbance}: {best}, {tried:?}");
            assert!((700.0..=777.0).contains(&best), "{disturbance}: {best}, {tried:?}");
        }
        // Where nothing above it holds, it is sought below what wavered.
        let (best, tried) = disturbed("100", 202.0, &[1]);
        assert_eq!(tried[1..4], [(200.0, false), (200.0, true), (400.0, false)]);
        assert!((180.0..200.0).contains(&best), "{best}, {tried:?}");
        assert!(tried.len() < 30, "{tried:?}");
    }

    #[test]
    fn a_phase_holds_by_its_percentile_and_by_what_is_left() {
        let search = Search::new(&parameters(&[("goal", "10ms"), ("goal_at", "p90")])).unwrap();
        let mut times = Times::new();
        (0..95).for_each(|_| times.record(Duration::from_millis(5)));
        (0..5).for_each(|_| times.record(Duration::from_millis(50)));
        assert!(search.holds(&times, 0, 0.0));
        assert!(!search.holds(&times, 2, 0.0) && !search.holds(&times, 0, 2.0));
        (0..10).for_each(|_| times.record(Duration::from_millis(50)));
        assert!(!search.holds(&times, 0, 0.0));
        assert!(!search.holds(&Times::new(), 0, 0.0), "nothing was answered");
    }
}
