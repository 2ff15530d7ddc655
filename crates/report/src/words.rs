//! How values are worded, the same way in every output: figures with their spread, states, dates, flags.

use plimsoll_measurement::units::{MB, format_seconds, format_significant};
use plimsoll_measurement::{Expected, Figure, Repetition, RunRecord, Verdict};

/// Stands for a value that nobody knows.
pub const UNKNOWN: &str = "–";

/// Text from outside, made harmless for a terminal: control and direction characters can neither move the cursor nor
/// reorder a line; ends of lines become spaces.
pub fn plain(text: &str) -> String {
    let harmless = |c: char| match c {
        '\n' | '\r' | '\t' => ' ',
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
        c if c.is_control() => '\u{fffd}',
        c => c,
    };
    text.chars().map(harmless).collect()
}

/// `read_rate` as a heading: `Read rate`.
pub fn title(name: &str) -> String {
    let words: Vec<String> = plain(name).split('_').map(spelled).collect();
    capital(&words.join(" "))
}

/// The text with a capital at its beginning.
fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Abbreviations in capitals, as people write them.
fn spelled(word: &str) -> String {
    if ["cpu", "dtu", "io", "iops"].contains(&word) { word.to_uppercase() } else { word.to_owned() }
}

/// A number for people; `None` if it is not finite.
pub fn number(value: f64) -> Option<String> {
    value.is_finite().then(|| if value.abs() < UNREADABLE { format_significant(value) } else { format!("{value:.2e}") })
}

/// From here on a number has more digits than anybody reads.
const UNREADABLE: f64 = 1e15;

/// A count, every digit of it.
pub fn whole(count: u64) -> String {
    if count < 100 { count.to_string() } else { format_significant(count as f64) }
}

/// A share in percent: `98.9 %`.
pub fn percent(value: f64) -> Option<String> {
    number(value).map(|text| format!("{text} %"))
}

/// A difference in percent, with its sign: `+1.20 %`. Hundredths of a percent are the finest that is shown.
pub fn signed_percent(value: f64) -> Option<String> {
    let hundredths = (value * 100.0).round() / 100.0;
    match hundredths {
        0.0 => Some("±0 %".to_owned()),
        small if small.abs() < 1.0 => Some(format!("{small:+.2} %")),
        _ => percent(value).map(|text| if value > 0.0 { format!("+{text}") } else { text }),
    }
}

/// Bytes as MB (2^20), without the unit, for columns that state it.
pub fn megabytes(bytes: u64) -> Option<String> {
    number(bytes as f64 / MB as f64)
}

/// Value and unit of a run's figure: `142 MB/min`, and `at least` before it where the client was the limit.
pub fn value(record: &RunRecord, figure: &Figure) -> String {
    format!("{}{}", bound(record, &figure.unit), quantity(figure.value, &figure.unit))
}

/// What stands before a figure of this unit. In virtual time the client's own time does not pass, but a modelled client's does.
pub fn bound(record: &RunRecord, unit: &str) -> &'static str {
    let client = record.host.client.as_ref().filter(|_| record.clock != "virtual");
    bound_by(record.verdict.limits(), client.map(|client| client.verdict.as_str()), unit)
}

/// What stands before a figure of this unit by the limits that bound and the verdict on the client: nothing, or on which side the
/// target's own lies where our client held the requests back.
pub fn bound_by<'a>(
    mut limits: impl Iterator<Item = &'a str>,
    client_verdict: Option<&str>,
    unit: &str,
) -> &'static str {
    let is_bound = client_verdict == Some(WAS_THE_LIMIT) || limits.any(|limit| limit == CLIENT);
    match unit {
        _ if !is_bound => "",
        "ms" | "s" => "at most ",
        unit if unit.contains('/') => "at least ",
        _ => "",
    }
}

/// The verdict on a client that makes rates lower bounds.
const WAS_THE_LIMIT: &str = "was-the-limit";

/// Whether our own client held the requests back: a sentence, and whether it is a warning. `None` where none were made.
pub fn client(record: &RunRecord) -> Option<(String, bool)> {
    let client = record.host.client.as_ref()?;
    let (verdict, warns) = match client.verdict.as_str() {
        "free" => ("The client was free".to_owned(), false),
        "near-its-limit" => ("A faster client would have got more".to_owned(), true),
        WAS_THE_LIMIT => {
            // Where both work on one machine its CPUs can be what binds, and a client elsewhere would leave the server more of them.
            let other = record.verdict.limit.as_deref().is_some_and(|limit| !["client", "none"].contains(&limit));
            let who =
                if other { "Beside that limit the client held sessions back" } else { "The client was the limit" };
            (format!("{who}: rates are lower bounds, and response times may be shorter than shown"), true)
        }
        other => (format!("The client: {}", plain(other)), true),
    };
    let evidence: Vec<String> =
        client.evidence.iter().map(|sentence| plain(sentence).trim_end_matches('.').to_owned()).collect();
    let evidence = if evidence.is_empty() { String::new() } else { format!(" ({})", evidence.join("; ")) };
    Some((format!("{verdict}{evidence}."), warns))
}

/// A number with its unit.
pub fn quantity(amount: f64, unit: &str) -> String {
    number(amount).map_or_else(|| UNKNOWN.to_owned(), |text| format!("{text} {}", plain(unit)))
}

/// The interval in words. A single repetition has none, and that is said.
pub fn interval(figure: &Figure) -> String {
    let bound = |bound: Option<f64>| bound.and_then(number);
    match (bound(figure.low), bound(figure.high)) {
        (Some(_), Some(_)) => {
            format!("{} interval {}", confidence(figure.confidence), interval_ends(figure).unwrap_or_default())
        }
        (Some(low), None) => format!("at least {low}"),
        (None, Some(high)) => format!("at most {high}"),
        (None, None) => "no interval".to_owned(),
    }
}

/// The interval's ends for a cell: `570 to 610`; `None` unless both are known.
pub fn interval_ends(figure: &Figure) -> Option<String> {
    ends(figure.value, figure.low?, figure.high?)
}

/// Two ends around a value: `570 to 610`, or `±<0.1` where both are shown as the value is: less than its last place.
pub fn ends(value: f64, low: f64, high: f64) -> Option<String> {
    let (low, high) = (number(low)?, number(high)?);
    // Nothing but zero itself is shown as 0.
    if low == high && number(value).as_ref() == Some(&low) && low != "0" && !low.contains('e') {
        let decimals = low.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        return Some(format!("±<{:.decimals$}", 0.1_f64.powi(decimals as i32)));
    }
    Some(format!("{low} to {high}"))
}

/// A confidence of 0.95 as `95 %`.
pub fn confidence(share: f64) -> String {
    let text = format!("{:.1}", share * 100.0);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

/// What stands behind a figure: repetitions and, where known, how steady the points were.
pub fn basis(figure: &Figure) -> String {
    let repetitions = count(figure.repetitions as usize, "repetition");
    match figure.point_cv_percent.and_then(percent) {
        Some(cv) => format!("{repetitions}, CV {cv} over the points"),
        None => repetitions,
    }
}

/// `1 repetition`, `3 repetitions`.
pub fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// Said where no figure was printed that a measurement could be held against.
pub const NOT_PUBLISHED: &str = "not published";

/// What the lab knows to be true, and how far the measurement was off.
pub fn truth(truth: &Expected) -> String {
    let value = quantity(truth.value, &truth.unit);
    let off =
        truth.error_percent.and_then(signed_percent).map_or_else(String::new, |error| format!(", off by {error}"));
    let basis = plain(&truth.basis);
    if truth.published {
        format!("true value {value} ({basis}){off}")
    } else {
        format!("true value {NOT_PUBLISHED}; by the lab's limits {value} ({basis}){off}")
    }
}

/// Which limit makes the true value what it is, and how; empty where that isn't known.
pub fn why_true(truth: &Expected) -> String {
    let limit = truth.limit.as_deref().map(|limit| format!("Limit: {}", title(limit)));
    let parts: Vec<String> = limit.into_iter().chain(truth.reason.as_deref().map(plain)).collect();
    parts.join("; ")
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
pub const GAINS: &str = "What would lift it, by a model of what was measured";

/// A limit by the name that the record has for it: its name in a sentence, and what it means that it bound.
const LIMITS: [(&str, &str, &str); 12] = [
    ("cpu", "CPU", "The work waited for processor time."),
    ("data_io", "data IO", "Reads and writes of data were held back."),
    ("data_iops", "data IOPS", "Reads and writes of data were held back by how many there may be in a second."),
    (
        "data_bandwidth",
        "data bandwidth",
        "Reads and writes of data were held back by how many MB there may be in a second.",
    ),
    ("log_write", "log write", "Changes waited until the log had taken them."),
    ("memory", "memory", "The working set does not fit into the cache, so that pages were read again and again."),
    ("locks", "locks", "Sessions waited for each other."),
    ("workers", "workers", "Requests waited until the server had a worker for them."),
    ("network", "network", "What goes between the client and the server took the time."),
    ("device", "device", "The device was slow to answer, below what it is allowed to do."),
    ("client", "client", "The target waited for the client, so the figures are lower bounds of what it can do."),
    (NO_LIMIT, "nothing that can be seen", "Nothing that was watched held the target back."),
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

/// What it means that a limit bound; empty for one that nobody knows.
pub fn limit_meaning(limit: Option<&str>) -> &'static str {
    LIMITS.iter().find(|(name, ..)| Some(*name) == limit).map_or("", |(.., meaning)| meaning)
}

/// The limit that bound, in one line; `None` until something is known.
pub fn verdict(verdict: &Verdict) -> Option<String> {
    if verdict.limit.is_none() && verdict.evidence.is_empty() {
        return None;
    }
    let bound = verdict.limit.as_deref().is_some_and(|limit| limit != NO_LIMIT);
    let used = verdict.utilisation_percent.and_then(percent).filter(|_| bound);
    let limits = limits_used(verdict.limit.as_deref(), &verdict.also, used);
    // Lifts are in order, so one that is of no limit that is named and yet the first is what one should know of.
    let better = verdict.gains.first().filter(|lift| bound && verdict.limits().all(|limit| limit != lift.limit));
    let better = better.map_or_else(String::new, |lift| format!("; {} would bring more", plain(&lift.change)));
    Some(format!("{limits}{better}"))
}

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
        None if is_complete => "complete".to_owned(),
        None if !has_ended => "unfinished".to_owned(),
        None => "incomplete".to_owned(),
    }
}

/// Said in place of a headline.
pub fn no_result(record: &RunRecord) -> String {
    let state = state(record);
    if state == "complete" { "No result.".to_owned() } else { format!("No result: {state}.") }
}

/// How a repetition ended.
pub const fn repetition_state(repetition: &Repetition) -> &'static str {
    if repetition.complete { "complete" } else { "incomplete" }
}

/// An RFC 3339 moment in UTC as `2026-03-01 10:00:00 UTC`; anything else as it stands.
pub fn moment(timestamp: &str) -> String {
    let shaped = timestamp.is_ascii() && timestamp.len() >= 20 && timestamp.as_bytes()[10] == b'T';
    if shaped && timestamp.ends_with('Z') {
        return plain(&format!("{} {} UTC", &timestamp[..10], &timestamp[11..19]));
    }
    plain(timestamp)
}

/// The same to the minute and without the zone, for columns that name it.
pub fn minute(timestamp: &str) -> String {
    let moment = moment(timestamp);
    moment.strip_suffix(" UTC").and_then(|text| text.get(..16)).map_or_else(|| moment.clone(), str::to_owned)
}

/// All warnings of a record; those of the client's machine are marked as such.
pub fn warnings(record: &RunRecord) -> Vec<String> {
    let client = record.host.warnings.iter().map(|text| format!("client: {}", plain(text)));
    record.warnings.iter().map(|text| plain(text)).chain(client).collect()
}

/// The sign that marks a flag wherever colour would not be enough.
pub fn flag_symbol(flag: &str) -> &'static str {
    match flag {
        "plan-change" => "◆",
        "low-cpu" => "▽",
        "short" => "∘",
        "source-read" => "□",
        "goal-missed" => "✕",
        _ => "†",
    }
}

/// What a flag means, for legends and tooltips.
pub fn flag_meaning(flag: &str) -> String {
    match flag {
        "plan-change" => "the time does not grow with the square of N: the plan may have changed".to_owned(),
        "low-cpu" => "the CPUs were not fully used".to_owned(),
        "short" => "too short to compare: other times weigh more than CPU".to_owned(),
        "goal-missed" => "the goal of the search was not met".to_owned(),
        "source-read" => "the source had to be read from storage while it was written".to_owned(),
        other => plain(other),
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_measurement::Gain;

    use super::*;

    #[test]
    fn text_from_outside_cannot_drive_a_terminal() {
        assert_eq!(plain("a\u{1b}[31mb\nc\u{202e}d"), "a\u{fffd}[31mb c\u{fffd}d");
    }

    #[test]
    fn moments_are_shortened_only_when_they_are_utc() {
        assert_eq!(moment("2026-03-01T10:00:00.25Z"), "2026-03-01 10:00:00 UTC");
        assert_eq!(moment("2026-03-01T10:00:00+02:00"), "2026-03-01T10:00:00+02:00");
        assert_eq!(moment(""), "");
    }

    #[test]
    fn differences_are_no_finer_than_they_mean() {
        let shown = [0.00998, 0.002, -0.5, 2.0, 119.4].map(|value| signed_percent(value).unwrap());
        assert_eq!(shown, ["+0.01 %", "±0 %", "-0.50 %", "+2.00 %", "+119 %"]);
    }

    #[test]
    fn a_verdict_is_said_in_words() {
        let said = |limit: Option<&str>, also: &[&str], evidence: &[&str]| {
            let strings = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
            let (limit, also, evidence) = (limit.map(str::to_owned), strings(also), strings(evidence));
            verdict(&Verdict { limit, also, utilisation_percent: Some(97.5), evidence, ..Verdict::default() })
        };
        assert_eq!(said(Some("log_write"), &[], &[]).unwrap(), "Log write, used to 97.5 %");
        assert_eq!(
            said(Some("cpu"), &["data_iops", "locks"], &[]).unwrap(),
            "CPU (used to 97.5 %), data IOPS and locks"
        );
        assert_eq!(said(Some("none"), &[], &[]).unwrap(), "Nothing that can be seen");
        assert_eq!(said(None, &[], &["no counter"]).unwrap(), "Not enough evidence");
        assert_eq!(said(None, &[], &[]), None);
        assert_eq!(said(Some("<new_one>"), &[], &[]).unwrap(), "<new one>, used to 97.5 %");

        let lift = |limit: &str, change: &str, gain_percent| Gain {
            limit: limit.to_owned(),
            change: change.to_owned(),
            gain_percent,
        };
        let gains = vec![lift("cpu", "faster cores", 14.3), lift("client", "a client that needs less", 6.2)];
        let client = Verdict { limit: Some("client".to_owned()), gains, ..Verdict::default() };
        assert_eq!(verdict(&client).unwrap(), "Client; faster cores would bring more");
        let both = Verdict { also: vec!["cpu".to_owned()], ..client };
        assert_eq!(verdict(&both).unwrap(), "Client and CPU");
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

    #[test]
    fn ends_that_are_shown_as_the_value_are_said_to_be_nearer_than_its_last_place() {
        assert_eq!(ends(12.3, 12.28, 12.32).unwrap(), "±<0.1");
        assert_eq!(ends(12.3, 12.28, 12.38).unwrap(), "12.3 to 12.4");
        assert_eq!(ends(1_234.0, 1_233.9, 1_234.1).unwrap(), "±<1");
        assert_eq!(ends(0.0456, 0.0456, 0.0456).unwrap(), "±<0.0001");
        // A value outside of its ends is no exact one.
        assert_eq!(ends(15.0, 12.3, 12.3).unwrap(), "12.3 to 12.3");
    }

    #[test]
    fn what_is_not_finite_is_unknown() {
        assert_eq!(quantity(f64::NAN, "MB"), UNKNOWN);
        assert_eq!(percent(f64::INFINITY), None);
        assert_eq!(number(-1e300).unwrap(), "-1.00e300");
        assert_eq!(confidence(0.95), "95 %");
        assert_eq!(confidence(0.999), "99.9 %");
    }
}
