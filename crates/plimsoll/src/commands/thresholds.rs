//! Thresholds of a run (`run --fail-if 'p99 > 20ms'`): what is wrong with one is found before anything is measured, and what a run measured
//! is then held against all of them.

use plimsoll_bench::Definition;
use plimsoll_bench::figures::metrics_of;
use plimsoll_measurement::units::{format_significant, parse_duration};
use plimsoll_measurement::{Figure, RunRecord};

use crate::failure::Failure;

/// The share of requests that failed, in percent; no figure of a record.
const ERRORS: &str = "errors";

/// What ends a run with code 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Threshold {
    /// As it was given.
    text: String,
    /// The figure: `request_rate`, `latency_p99`; or `errors`.
    metric: String,
    /// Whether it fails above the value, and not below it.
    is_above: bool,
    /// Whether it fails at the value as well.
    is_inclusive: bool,
    value: f64,
    unit: Option<String>,
}

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
        let signs = [(">=", true, true), ("<=", false, true), (">", true, false), ("<", false, false)];
        let found = signs.into_iter().find_map(|(sign, is_above, is_inclusive)| {
            text.split_once(sign).map(|(metric, value)| (metric.trim(), value.trim(), is_above, is_inclusive))
        });
        let Some((name, wanted, is_above, is_inclusive)) = found else {
            return Err(wrong("it has none of >, >=, < and <=".to_owned()));
        };
        let end = wanted.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '_'))).unwrap_or(wanted.len());
        let (number, unit) = (wanted[..end].replace('_', ""), wanted[end..].trim());
        // `1,000`, `1e308` and `0x10` are written otherwise, and begin no unit.
        let begins_none =
            unit.starts_with(',') || unit.get(1..).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        let value = number.parse::<f64>().ok().filter(|value| value.is_finite() && !begins_none);
        let value = value.ok_or_else(|| wrong(format!("'{wanted}' is no number")))?;
        let metric = name.to_lowercase().replace(' ', "_");
        // A percentile alone is one of response times.
        let metric = if metric.starts_with('p') && metric[1..].starts_with(|c: char| c.is_ascii_digit()) {
            format!("latency_{metric}")
        } else {
            metric
        };
        if metric.is_empty() {
            return Err(wrong("it names no figure".to_owned()));
        }
        let unit = Some(unit.to_owned()).filter(|unit| !unit.is_empty());
        if metric.starts_with("latency_") && unit.as_deref().is_none_or(|unit| in_ms(value, unit).is_none()) {
            return Err(wrong(format!("'{wanted}' is not a time with a unit")));
        }
        Ok(Self { text: text.trim().to_owned(), metric, is_above, is_inclusive, value, unit })
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
        let mut meant = known.iter().filter(|(metric, _)| *metric == self.metric).peekable();
        if let Some((metric, unit)) = meant.peek() {
            if meant.any(|(_, unit)| self.in_unit(unit).is_some()) {
                return Ok(());
            }
            return Err(Failure::usage(format!("--fail-if '{}': {metric} is in {unit}", self.text))
                .hint("leave the unit out, or name that one"));
        }
        let names: Vec<&str> = known.iter().map(|(metric, _)| metric.as_str()).collect();
        Err(Failure::usage(format!("--fail-if '{}': these tests have no figure {}", self.text, self.metric))
            .hint(format!("they have {}", names.join(", "))))
    }

    /// Holds a run against it.
    pub fn judge(&self, record: &RunRecord) -> Outcome {
        let figure = || record.results.iter().find(|figure| figure.metric == self.metric);
        if self.metric == ERRORS {
            return failed_percent(record).map_or_else(
                || Outcome::Unknown(format!("'{}' is not known: the run made no requests", self.text)),
                |percent| self.outcome(percent, &format!("{} % of the requests failed", format_significant(percent))),
            );
        }
        let Some(figure) = figure() else {
            let absent = record.absent.iter().find(|absent| absent.metric == self.metric);
            let why = absent.map(|absent| format!(": {}", absent.reason)).unwrap_or_default();
            return Outcome::Unknown(format!("'{}' is not known: the run has no {}{why}", self.text, self.metric));
        };
        match self.in_unit(&figure.unit) {
            Some(limit) => self.outcome_at(figure.value, limit, &said(figure)),
            None => Outcome::Unknown(format!("'{}' is not known: {} is in {}", self.text, self.metric, figure.unit)),
        }
    }

    /// Its value in a unit.
    fn in_unit(&self, wanted: &str) -> Option<f64> {
        match self.unit.as_deref() {
            None => Some(self.value),
            Some(unit) if unit == wanted => Some(self.value),
            // Per second, as people write it.
            Some("/s") if wanted == "1/s" => Some(self.value),
            Some(unit) if wanted == "ms" => in_ms(self.value, unit),
            Some(unit) if wanted == "s" => in_ms(self.value, unit).map(|ms| ms / 1e3),
            Some(_) => None,
        }
    }

    fn outcome(&self, value: f64, said: &str) -> Outcome {
        self.outcome_at(value, self.value, said)
    }

    fn outcome_at(&self, value: f64, limit: f64, said: &str) -> Outcome {
        let is_beyond = if self.is_above { value > limit } else { value < limit };
        let is_at = self.is_inclusive && value.total_cmp(&limit).is_eq();
        if is_beyond || is_at {
            Outcome::Fails(format!("'{}' is true: {said}", self.text))
        } else {
            Outcome::Holds(format!("'{}' is not so: {said}", self.text))
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

/// A time in ms; `None` without a unit of time.
fn in_ms(value: f64, unit: &str) -> Option<f64> {
    let is_time = unit.chars().all(|c| c.is_ascii_alphabetic());
    let time = parse_duration(&format!("{value}{unit}")).ok().filter(|_| is_time)?;
    Some(time.as_secs_f64() * 1e3)
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
