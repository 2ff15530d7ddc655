//! What binds a scenario, by running it again (*counterfactual*): as it is, and with each thing changed that a limit could be, one
//! at a time. No rule about utilisation or waits takes part, and no verdict.
//!
//! - A change *gains* if the rate with it is at least [`GAINS`] higher, and *does nothing* if it is less than [`NOTHING`] higher (or
//!   lower). What is between makes the case unclear: the next seed takes its place, and the cases that were replaced are counted.
//! - A case with a rate that differs by [`NOTHING`] or more when it runs again with nothing changed but its random
//!   numbers is not clear either. What a change gives can't be told from chance there. A gain near a threshold is the
//!   mean of two, the second with other random numbers on both sides.
//! - What binds is every change that gains: one limit, or several that bind together. If no change gains, nothing binds.
//! - A second limit is *near* if what binds, raised by a fifth, gives at most [`NEAR`]: something else binds within 10
//!   % then, as it would give 20 % by itself.

use std::sync::Arc;

use plimsoll_bench::run::Plan;
use plimsoll_bench::{Interrupt, Sinks, definition::Definition, execute};
use plimsoll_clock::{Clock, VirtualClock, enter};
use plimsoll_engine::Target;
use plimsoll_lab::LabDatabase;
use plimsoll_lab::scenario::{Class, Scenario};
use plimsoll_measurement::{Host, RunRecord};

use super::super::run::plan;
use crate::failure::Failure;
use crate::printer::Printer;

/// From this gain on a change gains the rate.
pub const GAINS: f64 = 0.05;

/// Below this gain a change does nothing.
pub const NOTHING: f64 = 0.02;

/// Gains so near to the thresholds that chance may decide: they are the mean of two, with other random numbers.
const DECIDED_TWICE: std::ops::Range<f64> = 0.01..0.07;

/// A limit raised by a fifth that gives no more than this has another within 10 %, one of a hundred allowed for noise.
pub const NEAR: f64 = 0.11;

/// What became of a scenario.
#[derive(Debug)]
pub struct Outcome {
    /// The scenario.
    pub scenario: Scenario,
    /// Requests a second as it is.
    pub rate: f64,
    /// How much higher the rate is with other random numbers and nothing else changed, as a part of it.
    pub by_chance: f64,
    /// How much higher the rate is with each change, as a part of it.
    pub gains: Vec<(Class, f64)>,
    /// The run's record, with the tool's verdict.
    pub record: RunRecord,
}

/// What became of a case.
pub enum Case {
    /// It is clear; so many seeds before it were not.
    Clear(Box<Outcome>, u64),
    /// None of its seeds is.
    Unclear,
}

impl Outcome {
    /// Names of what binds; `none` alone if nothing does.
    pub fn bottleneck(&self) -> Vec<&'static str> {
        bottleneck(&self.gains)
    }

    /// Whether every change either gains or does nothing, and chance alone does nothing.
    pub fn is_clear(&self) -> bool {
        self.by_chance.abs() < NOTHING && self.gains.iter().all(|(_, gain)| *gain >= GAINS || *gain < NOTHING)
    }

    /// Whether another limit is within 10 % of the one that binds, or several bind together.
    pub fn has_second(&self) -> bool {
        let limits =
            self.gains.iter().filter(|(class, gain)| *gain >= GAINS && !matches!(class, Class::Device | Class::Locks));
        self.bottleneck().len() > 1 || limits.clone().any(|(_, gain)| *gain <= NEAR)
    }

    /// The case for scripts, with the run's record.
    pub fn json(&self, replaced: u64) -> serde_json::Value {
        let gains: serde_json::Map<String, serde_json::Value> =
            self.gains.iter().map(|(class, gain)| (class.name().to_owned(), (100.0 * gain).into())).collect();
        serde_json::json!({
            "half": self.scenario.half.name(),
            "family": self.scenario.family.name(),
            "aims_at": self.scenario.aims_at.name(),
            "seed": self.scenario.seed,
            "replaced": replaced,
            "rate": self.rate,
            "by_chance_percent": 100.0 * self.by_chance,
            "gains_percent": gains,
            "binding": self.bottleneck(),
            "hardware": self.scenario.hardware,
            "record": self.record,
        })
    }

    /// What the tool says: the limit and those that bound with it; nothing if it abstains.
    pub fn verdict(&self) -> Vec<&str> {
        let verdict = &self.record.verdict;
        verdict.limits().collect()
    }
}

fn bottleneck(gains: &[(Class, f64)]) -> Vec<&'static str> {
    let mut lifting: Vec<&str> =
        gains.iter().filter(|(_, gain)| *gain >= GAINS).map(|(class, _)| class.name()).collect();
    if lifting.is_empty() {
        lifting.push(Class::Nothing.name());
    }
    lifting
}

/// The runner of scenarios.
#[derive(Clone)]
pub struct Runner {
    /// This machine.
    pub host: Host,
    /// Requests to stop.
    pub interrupt: Interrupt,
    /// The observer that hears of a clock that stands still.
    pub printer: Printer,
}

impl Runner {
    /// Runs a scenario and all its changes.
    pub fn truth(&self, scenario: &Scenario) -> Result<Outcome, Failure> {
        let record = self.run(scenario)?;
        let rate = rate(&record)?;
        let other = scenario.again();
        let other_rate = self::rate(&self.run(&other)?)?;
        let by_chance = other_rate / rate - 1.0;
        let mut gains = Vec::new();
        for class in Class::ALL.iter().copied() {
            let Some(changed) = scenario.without(class) else { continue };
            let mut gain = self::rate(&self.run(&changed)?)? / rate - 1.0;
            if DECIDED_TWICE.contains(&gain) {
                gain = f64::midpoint(gain, self::rate(&self.run(&changed.again())?)? / other_rate - 1.0);
            }
            gains.push((class, gain));
        }
        Ok(Outcome { scenario: scenario.clone(), rate, by_chance, gains, record })
    }

    /// A run on a lab of its own, in a thread of its own: a thread on a virtual clock is bound to one CPU from then on.
    fn run(&self, scenario: &Scenario) -> Result<RunRecord, Failure> {
        let work = || -> Result<RunRecord, Failure> {
            let printer = self.printer.clone();
            let clock: Arc<dyn Clock> =
                Arc::new(VirtualClock::with_watchdog(Box::new(move |sentence: &str| printer.stalled(sentence))));
            let _on_clock = enter(&clock, "run");
            let database = LabDatabase::scenario(scenario, Arc::clone(&clock))?;
            let name = format!("{}-{}", scenario.family.name(), scenario.seed);
            let definition = Definition::parse(&format!("{name}.toml"), &scenario.test())
                .map_err(|error| Failure::usage(error.to_string()))?;
            let target = Target::parse(&format!("lab:{name}.toml?scale=1&seed={}", scenario.luck))?;
            let plan = Plan {
                repetitions: 1,
                ..plan(&definition, definition.parameters(false), target.display(), &self.host)
            };
            Ok(execute(&plan, &database, &clock, &self.interrupt, Sinks::default()))
        };
        let record = std::thread::scope(|scope| scope.spawn(work).join())
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        match &record.error {
            None => Ok(record),
            Some(error) => {
                Err(Failure { message: format!("{}: {}", record.target, error.message), ..Failure::from(error) })
            }
        }
    }
}

fn rate(record: &RunRecord) -> Result<f64, Failure> {
    let figure = record.results.iter().find(|figure| figure.metric == "request_rate");
    figure.map(|figure| figure.value).filter(|rate| *rate > 0.0).ok_or_else(|| {
        Failure::usage(format!("{} has no rate", record.target)).hint("no request of the scenario gets an answer")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lifts_binds_and_what_is_between_the_thresholds_is_not_clear() {
        let of = |gains: &[(Class, f64)]| bottleneck(gains).join("+");
        assert_eq!(of(&[(Class::Cpu, 0.019), (Class::Memory, -0.3)]), "none");
        assert_eq!(of(&[(Class::Cpu, 0.05), (Class::Memory, 0.0)]), "cpu");
        assert_eq!(of(&[(Class::DataIops, 0.2), (Class::Memory, 0.07)]), "data_iops+memory");
        assert_eq!(of(&[]), "none");
    }
}
