//! Thresholds of a run (`run --fail-if 'p99 > 20ms'`): what is wrong with one is found before anything is measured, and what a run measured
//! is then held against all of them.

use plimsoll_bench::Definition;
use plimsoll_bench::figures::metrics_of;
use plimsoll_measurement::units::format_significant;
use plimsoll_measurement::{Figure, RunRecord};

use super::condition::Condition;
use crate::failure::Failure;

/// The share of requests that failed, in percent; no figure of a record.
const ERRORS: &str = "errors";

/// What ends a run with code 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Threshold(Condition);

/// How a run stands to a threshold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It is kept.
    Holds(String),
    /// It is not.
    Fails(String),
    /// The run says nothing of it.
    Unknown(String),
}

impl Threshold {
    /// Reads `p99 > 20ms`, `request_rate < 3000` or `errors >= 1%`.
    ///
    /// # Errors
    /// If it is none.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        let wrong = |problem: String| {
            Failure::usage(format!("--fail-if '{text}': {problem}"))
                .hint("such as --fail-if 'p99 > 20ms', --fail-if 'request_rate < 3000' or --fail-if 'errors > 1%'")
        };
        let mut condition = Condition::parse(text).map_err(&wrong)?;
        // A percentile alone is one of response times.
        if condition.figure.starts_with('p') && condition.figure[1..].starts_with(|c: char| c.is_ascii_digit()) {
            condition.figure = format!("latency_{}", condition.figure);
        }
        if condition.figure.starts_with("latency_") && !condition.is_time() {
            return Err(wrong(format!("'{}' is not a time with a unit", condition.wanted)));
        }
        Ok(Self(condition))
    }

    /// Refuses a threshold of a figure that none of these tests has.
    ///
    /// # Errors
    /// If it is none of theirs.
    pub fn check<'a>(&self, definitions: impl IntoIterator<Item = &'a Definition>) -> Result<(), Failure> {
        let mut known: Vec<(String, String)> = Vec::new();
        for definition in definitions {
            let own = metrics_of(definition);
            // What it will have is only known from what was measured.
            if own.is_empty() {
                return Ok(());
            }
            let of_requests = own.iter().any(|(metric, _)| metric == "request_rate");
            known.extend(own);
            known.extend(of_requests.then(|| (ERRORS.to_owned(), "%".to_owned())));
        }
        known.sort();
        known.dedup();
        let Condition { text, figure, .. } = &self.0;
        let mut meant = known.iter().filter(|(metric, _)| metric == figure).peekable();
        if let Some((metric, unit)) = meant.peek() {
            if meant.any(|(_, unit)| self.0.in_unit(unit).is_some()) {
                return Ok(());
            }
            return Err(Failure::usage(format!("--fail-if '{text}': {metric} is in {unit}"))
                .hint("leave the unit out, or name that one"));
        }
        let names: Vec<&str> = known.iter().map(|(metric, _)| metric.as_str()).collect();
        Err(Failure::usage(format!("--fail-if '{text}': these tests have no figure {figure}"))
            .hint(format!("they have {}", names.join(", "))))
    }

    /// Holds a run against it.
    pub fn judge(&self, record: &RunRecord) -> Outcome {
        let Condition { text, figure: metric, .. } = &self.0;
        let (value, unit, said) = if metric == ERRORS {
            let Some(percent) = failed_percent(record) else {
                return Outcome::Unknown(format!("'{text}' is not known: the run made no requests"));
            };
            (percent, "%", format!("{} % of the requests failed", format_significant(percent)))
        } else {
            let Some(figure) = record.results.iter().find(|figure| figure.metric == *metric) else {
                let absent = record.absent.iter().find(|absent| absent.metric == *metric);
                let why = absent.map(|absent| format!(": {}", absent.reason)).unwrap_or_default();
                return Outcome::Unknown(format!("'{text}' is not known: the run has no {metric}{why}"));
            };
            (figure.value, figure.unit.as_str(), said(figure))
        };
        match self.0.in_unit(unit) {
            None => Outcome::Unknown(format!("'{text}' is not known: {metric} is in {unit}")),
            Some(limit) if self.0.is_true(value, limit) => Outcome::Fails(format!("'{text}' is true: {said}")),
            Some(_) => Outcome::Holds(format!("'{text}' is not so: {said}")),
        }
    }
}

/// A figure with its interval.
fn said(figure: &Figure) -> String {
    let Figure { metric, value, unit, low, high, .. } = figure;
    let interval = low.zip(*high).map(|(low, high)| {
        let [low, high] = [low, high].map(format_significant);
        format!(" ({low} to {high})")
    });
    format!("{metric} is {} {unit}{}", format_significant(*value), interval.unwrap_or_default())
}

/// The share of a run's requests that failed; `None` where it made none.
fn failed_percent(record: &RunRecord) -> Option<f64> {
    let phases = || record.repetitions.iter().filter(|one| one.complete).flat_map(|one| &one.phases);
    let (answered, failed) =
        phases().fold((0, 0), |(answered, failed), phase| (answered + phase.operations, failed + phase.errors));
    let all = answered + failed;
    (all > 0).then(|| 100.0 * failed as f64 / all as f64)
}

#[cfg(test)]
mod tests {
    use plimsoll_bench::definition::{builtin, find_builtin};
    use plimsoll_bench::figures::Series;
    use plimsoll_measurement::{Phase, Repetition};

    use super::*;

    fn figure(metric: &str, value: f64, unit: &str) -> Figure {
        Series::new(metric, unit, vec![value]).figure().unwrap()
    }

    fn run() -> RunRecord {
        let phase = Phase { operations: 990, errors: 10, ..Phase::default() };
        let repetition = Repetition { complete: true, phases: vec![phase], ..Repetition::default() };
        RunRecord {
            results: vec![figure("request_rate", 2870.0, "1/s"), figure("latency_p99", 19.5, "ms")],
            repetitions: vec![repetition],
            ..RunRecord::default()
        }
    }

    fn fails(text: &str) -> Option<bool> {
        match Threshold::parse(text).unwrap().judge(&run()) {
            Outcome::Fails(_) => Some(true),
            Outcome::Holds(_) => Some(false),
            Outcome::Unknown(_) => None,
        }
    }

    #[test]
    fn a_run_is_held_against_what_must_not_be() {
        assert_eq!(fails("p99 > 20ms"), Some(false));
        assert_eq!(fails("p99>19ms"), Some(true));
        assert_eq!(fails("latency_p99 >= 0.0195s"), Some(true));
        assert_eq!(fails("p99 > 19500us"), Some(false));
        assert_eq!(fails("request_rate < 3000"), Some(true));
        assert_eq!(fails("Request rate <= 2_870 1/s"), Some(true));
        assert_eq!(fails("request_rate < 2870"), Some(false));
        assert_eq!(fails("errors > 1%"), Some(false));
        assert_eq!(fails("errors >= 1"), Some(true));
        assert_eq!(fails("request_rate < 3 MB"), None);
        assert_eq!(fails("latency_p50 > 1ms"), None);
        let Outcome::Fails(said) = Threshold::parse("request_rate < 3000").unwrap().judge(&run()) else { panic!() };
        assert_eq!(said, "'request_rate < 3000' is true: request_rate is 2,870 1/s");
    }

    #[test]
    fn what_is_no_threshold_is_refused() {
        for text in [
            "",
            "p99",
            "p99 = 20ms",
            "p99 > ",
            "p99 > 20",
            "p99 > 20 apples",
            "> 3",
            "request_rate < x",
            "p99 > -1ms",
            "request_rate < 1e308",
            "request_rate < 1,000",
            "request_rate < 0x10",
        ] {
            assert!(Threshold::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_figure_has_to_be_one_of_the_tests() {
        let mix = find_builtin("mix-b").unwrap();
        let check = |text: &str| Threshold::parse(text).unwrap().check([&mix]);
        assert!(check("p99 > 20ms").is_ok() && check("errors > 1%").is_ok());
        assert!(check("request_rate < 3000/s").is_ok() && check("errors > 1").is_ok());
        for text in ["request_rate > 1ms", "errors > 3 MB", "request_rate < 3000 and p99 > 1ms"] {
            assert!(check(text).is_err(), "{text}");
        }
        assert!(check("read_rate < 3").unwrap_err().hint.unwrap().contains("request_rate"));
        let open = builtin().into_iter().filter(|one| metrics_of(one).is_empty()).map(|one| one.name);
        assert_eq!(open.collect::<Vec<_>>(), ["cpu-join"], "its figures go by the sizes that were reached");
    }
}
