//! What records say, in words: figures with their spread, bottlenecks, gains, the client, states.

use crate::model::format::seconds as format_seconds;
use plimsoll_analysis::interval::OF_TWO;
use plimsoll_measurement::{Basis, Expected, Figure, Gain, Repetition, RunRecord, Verdict};

use crate::model::format::{
    self, capital, confidence, count, ends_of, name, percent, plain, quantity, signed_percent, value as shown,
};
use crate::model::{Bound, Value};

/// A figure of a run as a value, with the side on which the target's own lies where the client was the limit.
pub fn value(record: &RunRecord, figure: &Figure) -> Value {
    let finite = |end: Option<f64>| end.filter(|end| end.is_finite());
    let unit = plain(&figure.unit);
    Value { value: figure.value, low: finite(figure.low), high: finite(figure.high), bound: bound(record, &unit), unit }
}

/// On which side of a figure of this unit the target's own lies. In virtual time the client's own time does not pass, but a modelled
/// client's does.
pub fn bound(record: &RunRecord, unit: &str) -> Option<Bound> {
    let client = record.host.client.as_ref().filter(|_| record.clock != "virtual");
    bound_by(record.verdict.limits(), client.map(|client| client.verdict.as_str()), unit)
}

/// The same by the limits that bound and the verdict on the client; nothing where the client did not hold requests back.
pub fn bound_by<'a>(
    mut limits: impl Iterator<Item = &'a str>,
    client_verdict: Option<&str>,
    unit: &str,
) -> Option<Bound> {
    let is_bound = client_verdict == Some(WAS_THE_LIMIT) || limits.any(|limit| limit == CLIENT);
    match unit {
        _ if !is_bound => None,
        "ms" | "s" => Some(Bound::AtMost),
        unit if unit.contains('/') => Some(Bound::AtLeast),
        _ => None,
    }
}

/// What the ends of figures such as this one are: `95 % interval`, or the `range` of two repetitions.
pub fn interval_of(figure: Option<&Figure>) -> String {
    let share = figure.map_or(plimsoll_analysis::DEFAULT_CONFIDENCE, |figure| figure.confidence);
    if share <= OF_TWO { "range".to_owned() } else { format!("{} interval", confidence(share)) }
}

/// The figure in a sentence, with its interval. A single repetition has none, and that is said.
pub fn headline(record: &RunRecord, figure: &Figure) -> String {
    let value = value(record, figure);
    let interval = match (ends_of(&value), value.low, value.high) {
        (Some(ends), ..) => format!("with a {} of {ends}", interval_of(Some(figure))),
        (None, Some(low), _) => format!("at least {}", quantity(low, &value.unit)),
        (None, None, Some(high)) => format!("at most {}", quantity(high, &value.unit)),
        (None, None, None) => "without an interval".to_owned(),
    };
    let number = figure.repetitions as usize;
    let repetitions = match record.basis {
        Basis::Predicted => format!("{number} sets of parameters"),
        _ => count(number, "repetition"),
    };
    format!("The {} is {} over {repetitions}, {interval}.", name(&figure.metric), shown(&value))
}

/// The verdict on a client that makes rates lower bounds.
pub const WAS_THE_LIMIT: &str = "was-the-limit";

/// Whether our own client held the requests back: a sentence, and whether it is a warning. `None` where none were made.
pub fn client(record: &RunRecord) -> Option<(String, bool)> {
    let client = record.host.client.as_ref()?;
    let (verdict, warns) = match client.verdict.as_str() {
        "free" => ("The client was free".to_owned(), false),
        "near-its-limit" => ("A faster client would have got more".to_owned(), true),
        WAS_THE_LIMIT => {
            // Where both work on one machine its CPUs can be what binds, and a client elsewhere would leave the server more of them.
            let other = record.verdict.limit.as_deref().is_some_and(|limit| !["client", "none"].contains(&limit));
            // What it waited for a CPU somebody else had: the server beside it, or other programs.
            let waited =
                client.run_queue_percent.zip(client.busy_percent).is_some_and(|(queue, busy)| 2.0 * queue > busy);
            let is_held = record.ceilings.iter().any(|ceiling| ceiling.resource == "client_cpu");
            let who = match (other, waited) {
                (true, _) => "Beside that limit the client held sessions back",
                (false, true) if !is_held => "The client waited for a CPU that others used",
                (false, _) => "The client was the limit",
            };
            (format!("{who}: rates are lower bounds, and response times may be shorter than shown"), true)
        }
        other => (format!("Client: {}", plain(other)), true),
    };
    let evidence: Vec<String> =
        client.evidence.iter().map(|sentence| plain(sentence).trim_end_matches('.').to_owned()).collect();
    let evidence = if evidence.is_empty() { String::new() } else { format!(" ({})", evidence.join("; ")) };
    Some((format!("{verdict}{evidence}."), warns))
}

/// Said where no figure was printed that a measurement could be held against.
pub const NOT_PUBLISHED: &str = "not published";

/// What the figure should be, computed before the run, and how far the measurement was off.
pub fn expected(record: &RunRecord, expected: &Expected) -> String {
    let value = quantity(expected.value, &expected.unit);
    // The lab's settings have the figure as it was printed: `324.4444 MB/min (derived: ~292 MB/min at 90 % data IO)`.
    let setting = match expected.limit.as_deref().filter(|_| expected.published) {
        Some("data_io") => record.environment.get("read limit"),
        Some("log_write") => record.environment.get("log limit"),
        _ => None,
    };
    let printed = setting.and_then(|text| text.split_once(" (")?.1.strip_suffix(')'));
    let basis = plain(printed.unwrap_or(&expected.basis));
    let off = expected.error_percent.and_then(signed_percent);
    let off = off.map_or_else(String::new, |error| format!(" The measurement is off by {error}."));
    let by = if expected.published { "computed from the published figure" } else { "computed from the lab's limits" };
    format!("The expected value is {value}, {by} ({basis}).{off}")
}

/// Which limit makes the expected value what it is, and how; nothing where that isn't known.
pub fn computed(expected: &Expected) -> Option<String> {
    let limit = expected.limit.as_deref().map(|limit| format!("limit {}", limit_name(limit)));
    let parts: Vec<String> = limit.into_iter().chain(expected.reason.as_deref().map(plain)).collect();
    (!parts.is_empty())
        .then(|| format!("How the expected value is computed: {}.", parts.join("; ").trim_end_matches('.')))
}

/// The target, and the year of the limits that the lab has it by: nobody should take them for what the service gives today.
pub fn target(record: &RunRecord) -> String {
    let target = plain(&record.target);
    let (edition, date) = (record.catalog_edition.as_deref(), record.catalog_edition_date.as_deref());
    let year = date.and_then(|date| date.get(..4)).map(plain);
    match (edition, year) {
        (Some(edition), Some(year)) if !target.contains(&format!("@{edition}")) => {
            format!("{target}, as it was in {year} (edition {})", plain(edition))
        }
        (_, Some(year)) => format!("{target}, as it was in {year}"),
        _ => target,
    }
}

/// The clock, and in virtual time how much of it passed in how much real time.
pub fn time(record: &RunRecord) -> String {
    match (record.virtual_seconds, record.host.real_seconds) {
        (Some(virtual_seconds), Some(real_seconds)) => {
            format!("{} of virtual time in {}", format_seconds(virtual_seconds), format_seconds(real_seconds))
        }
        _ => format!("{} time", plain(&record.clock)),
    }
}

/// Heading of what would raise the rate.
pub const GAINS: &str = "Gains, by a model of what was measured";

/// A limit by the name that the record has for it: its name in a sentence, and what it means that it bound.
const LIMITS: [(&str, &str, &str); 12] = [
    ("cpu", "CPU", "Processor time held the rate back."),
    ("data_io", "data IO", "Data reads and writes held the rate back."),
    ("data_iops", "data IOPS", "The number of data reads and writes per second held the rate back."),
    ("data_bandwidth", "data bandwidth", "The MB per second of data reads and writes held the rate back."),
    ("log_write", "log write", "Changes waited until the log had taken them."),
    ("memory", "memory", "The working set does not fit into the cache, so that pages were read again and again."),
    ("locks", "locks", "Sessions waited for locks that others held."),
    ("workers", "limit of threads", "Requests waited until the server's limit of threads let them work."),
    (
        "network",
        "network or proxy",
        "Requests were under way between client and server: on the network, in a proxy or a pool, or where the server takes and answers them.",
    ),
    ("device", "device stalls", "For a part of the time the device answered nobody, although it was below its limits."),
    ("client", "client", "The target waited for the client, so the figures are lower bounds of what it can do."),
    (NO_LIMIT, "no limit seen", ""),
];

/// The limit of a verdict that nothing bound.
const NO_LIMIT: &str = "none";

/// The limit that makes rates lower bounds.
const CLIENT: &str = "client";

/// A limit's name within a sentence: `log write`.
pub fn limit_name(limit: &str) -> String {
    let known = LIMITS.iter().find(|(name, ..)| *name == limit);
    known.map_or_else(|| plain(limit).replace('_', " "), |(_, words, _)| (*words).to_owned())
}

/// Limits that bound together, the first one first: `CPU and log write`; that there was not enough evidence for one.
pub fn limits(limit: Option<&str>, also: &[String]) -> String {
    limits_used(limit, also, None)
}

/// The same with how far the first one was used: `CPU (used to 88.5 %) and log write`.
pub fn limits_used(limit: Option<&str>, also: &[String], used: Option<String>) -> String {
    let Some(limit) = limit else { return "Not enough evidence".to_owned() };
    let used = match used {
        Some(used) if also.is_empty() => format!(", used to {used}"),
        Some(used) => format!(" (used to {used})"),
        None => String::new(),
    };
    capital(&joined_limits(format!("{}{used}", limit_name(limit)), also))
}

/// What bound, for a cell: `log write and locks`, `none` where nothing did; `None` where there is not enough evidence.
pub fn limit_in_a_cell(limit: Option<&str>, also: &[String]) -> Option<String> {
    limit.map(|limit| if limit == NO_LIMIT { NO_LIMIT.to_owned() } else { joined_limits(limit_name(limit), also) })
}

fn joined_limits(first: String, also: &[String]) -> String {
    let names: Vec<String> = std::iter::once(first).chain(also.iter().map(|limit| limit_name(limit))).collect();
    match names.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}

/// How far a limit was used. More than all of it is had for a while: limits are what is given for ever.
pub fn used(share: f64) -> Option<String> {
    let burst = if share > ROUNDING_PERCENT { " of what is given for ever, in a burst that ends" } else { "" };
    percent(share).map(|share| format!("{share}{burst}"))
}

/// Up to here more than all of a limit is rounding.
const ROUNDING_PERCENT: f64 = 105.0;

/// The bottleneck in a sentence, and what it means; `None` until something is known.
pub fn bottleneck(verdict: &Verdict) -> Option<String> {
    let Some(limit) = verdict.limit.as_deref() else {
        return (!verdict.evidence.is_empty()).then(|| "There is not enough evidence to name a bottleneck.".to_owned());
    };
    if limit == NO_LIMIT {
        return Some("No limit that was watched held the target back.".to_owned());
    }
    let names = capital(&joined_limits(limit_name(limit), &verdict.also));
    let verb = match (&verdict.also[..], limit) {
        ([], "locks" | "device") => "were the bottleneck",
        ([], _) => "was the bottleneck",
        _ => "were the bottlenecks",
    };
    // A server that others keep from the CPU uses little of it: how full it was says the evidence.
    let is_of_others = limit == "cpu" && verdict.utilisation_percent.is_some_and(|percent| percent < OTHERS_PERCENT);
    let used = verdict.utilisation_percent.filter(|_| !is_of_others).and_then(used);
    let used = match used {
        Some(used) if verdict.also.is_empty() => format!(", used to {used}"),
        Some(used) => format!(", {} used to {used}", limit_name(limit)),
        None => String::new(),
    };
    let meaning = LIMITS.iter().find(|(name, ..)| *name == limit).map_or("", |(.., meaning)| meaning);
    Some(format!("{names} {verb}{used}. {meaning}").trim_end().to_owned())
}

/// A CPU that binds is used by others where we and the server use less of it than this.
const OTHERS_PERCENT: f64 = 75.0;

/// What would raise the rate most, in a sentence.
pub fn gain(verdict: &Verdict) -> Option<String> {
    let gain = verdict.gains.first().filter(|gain| is_worth_a_row(gain))?;
    let by = format::gain(gain.gain_percent)?;
    Some(format!("{} would raise the rate by {by} %, by a model of what was measured.", capital(&plain(&gain.change))))
}

/// The state of a run that came to its end with all that it should measure.
pub const COMPLETE: &str = "complete";

/// How the run ended.
pub fn state(record: &RunRecord) -> String {
    let kind = record.error.as_ref().map(|error| error.kind.as_str());
    ended(kind, record.ended_at.is_some(), record.is_complete())
}

/// How a run ended by the class of its error, and whether it came to an end and was complete.
pub fn ended(error_kind: Option<&str>, has_ended: bool, is_complete: bool) -> String {
    match error_kind {
        Some("interrupted") => "interrupted".to_owned(),
        Some(kind) => format!("failed ({})", plain(kind)),
        None if is_complete => COMPLETE.to_owned(),
        None if !has_ended => "unfinished".to_owned(),
        None => "incomplete".to_owned(),
    }
}

/// Said in place of a headline.
pub fn no_result(record: &RunRecord) -> String {
    let state = state(record);
    let absent = record.absent.first().map(|absent| plain(&absent.reason));
    let reason = absent.filter(|_| state == COMPLETE).unwrap_or_else(|| state.clone());
    if reason == COMPLETE { "No result.".to_owned() } else { format!("No result: {}.", reason.trim_end_matches('.')) }
}

/// How a repetition ended.
pub const fn repetition_state(repetition: &Repetition) -> &'static str {
    if repetition.complete { COMPLETE } else { "incomplete" }
}

/// Whether a gain is worth a row: of those that were asked for there may be many that bring nothing.
pub fn is_worth_a_row(gain: &Gain) -> bool {
    gain.gain_percent_high.is_none_or(|high| high >= LEAST_GAIN_PERCENT)
}

const LEAST_GAIN_PERCENT: f64 = 0.5;

#[cfg(test)]
mod tests {
    use plimsoll_measurement::Gain;

    use super::*;

    #[test]
    fn a_bottleneck_is_said_in_a_sentence() {
        let said = |limit: Option<&str>, also: &[&str], evidence: &[&str]| {
            let strings = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
            let (limit, also, evidence) = (limit.map(str::to_owned), strings(also), strings(evidence));
            bottleneck(&Verdict { limit, also, utilisation_percent: Some(97.5), evidence, ..Verdict::default() })
        };
        let log = "Log write was the bottleneck, used to 97.5 %. Changes waited until the log had taken them.";
        assert_eq!(said(Some("log_write"), &[], &[]).unwrap(), log);
        let locks = said(Some("locks"), &[], &[]).unwrap();
        assert!(locks.starts_with("Locks were the bottleneck, used"), "{locks}");
        let several = said(Some("cpu"), &["data_iops", "locks"], &[]).unwrap();
        assert!(several.starts_with("CPU, data IOPS and locks were the bottlenecks, CPU used to 97.5 %."), "{several}");
        assert_eq!(said(Some("none"), &[], &[]).unwrap(), "No limit that was watched held the target back.");
        assert!(said(None, &[], &["no counter"]).unwrap().contains("not enough evidence"));
        assert_eq!(said(None, &[], &[]), None);
        assert_eq!(said(Some("<new_one>"), &[], &[]).unwrap(), "<new one> was the bottleneck, used to 97.5 %.");
    }

    #[test]
    fn the_largest_gain_is_said_in_a_sentence() {
        let of = |limit: &str, change: &str, gain_percent| Gain {
            limit: limit.to_owned(),
            change: change.to_owned(),
            gain_percent,
            ..Gain::default()
        };
        let gains = vec![of("cpu", "faster cores", 14.3), of("client", "a client that needs less", 6.2)];
        let verdict = Verdict { limit: Some("client".to_owned()), gains, ..Verdict::default() };
        let said = gain(&verdict).unwrap();
        assert_eq!(said, "Faster cores would raise the rate by 14.3 %, by a model of what was measured.");
        assert_eq!(gain(&Verdict::default()), None);
    }

    #[test]
    fn what_was_printed_stands_beside_what_is_computed_from_it() {
        let text = r#"{"schema_version": "2.0", "subject": "database", "basis": "measured", "run_id": "", "test": "", "target": "",
            "engine": "lab", "clock": "virtual", "started_at": "", "parameters": {}, "definition": {"hash": "", "text": ""},
            "environment": {"read limit": "617 MB/min (derived: ~550 to 580 MB/min at 90 % data IO)"}, "build": "", "repetitions": [],
            "verdict": {"limit": null, "evidence": []}, "warnings": [], "host": {"platform": "", "cpus": 1}}"#;
        let record: RunRecord = serde_json::from_str(text).unwrap();
        let figure = r#"{"value": 617, "unit": "MB/min", "basis": "derived", "published": true, "limit": "data_io"}"#;
        let said = expected(&record, &serde_json::from_str(figure).unwrap());
        let printed = "(derived: ~550 to 580 MB/min at 90 % data IO)";
        assert_eq!(said, format!("The expected value is 617 MB/min, computed from the published figure {printed}."));
    }

    #[test]
    fn what_bound_fits_into_a_cell() {
        let said = |limit, also: &[&str]| {
            limit_in_a_cell(limit, &also.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(said(Some("cpu"), &["log_write"]).unwrap(), "CPU and log write");
        assert_eq!(said(Some("none"), &[]).unwrap(), "none");
        assert_eq!(said(None, &[]), None);
    }
}
