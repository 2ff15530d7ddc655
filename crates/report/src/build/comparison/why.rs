//! Why one run is better than another, as far as the runs say it: what held each back, what would raise its rate, what was changed, and under which
//! conditions both were measured.

use plimsoll_analysis::summary::coefficient_of_variation_percent;
use plimsoll_measurement::histogram::LatencyHistogramData;
use plimsoll_measurement::{Gain, RequestKind, RunRecord, Subject};

use super::super::bought::held_back;
use super::super::compared::{Compared, Differs, is_real, ratio_at, shared_kinds, times};
use super::super::work::other_cores;
use super::super::{kinds::Kind, waited, words};
use crate::model::format::{self, plain};

/// More differences than this stand in the table alone.
const MOST_DIFFERENCES: usize = 6;

/// A kind of request whose time is this many times another is worth a sentence.
const WORTH_A_SENTENCE: f64 = 1.25;

/// What differs between runs without anybody's doing.
const CLIENT_LOAD: &str = "client's load";

/// How the sentences of a verdict without a limit begin that say why, and what to do: the others say what is known all the same.
const NOT_KNOWN: [&str; 2] = ["not enough evidence", "what would settle it"];

/// What the first sentence of a verdict without a limit says of sessions that something else held up.
const HELD: [&str; 3] =
    [" sessions slept, ", " sessions waited inside the server for ", " sessions waited to try a request again "];

/// What would raise each run's rate most, by its model, and what comes near to that.
pub(super) fn gains(one: &Compared<'_>, b: &str) -> Option<String> {
    let of = |run: &RunRecord, letter: &str| {
        run.verdict.limit.as_ref()?;
        let mut all: Vec<&Gain> = run.verdict.gains.iter().filter(|gain| gain.gain_percent > 0.0).collect();
        all.sort_by(|one, other| other.gain_percent.total_cmp(&one.gain_percent));
        let least = all.first()?.gain_percent * NEARLY;
        all.retain(|gain| gain.gain_percent >= least);
        // What was named goes first.
        all.sort_by_key(|gain| run.verdict.limits().all(|limit| limit != gain.limit));
        let all = all.into_iter().take(2);
        let said = all.map(|gain| {
            let digits = usize::from(gain.gain_percent < 10.0);
            let percent = plimsoll_measurement::units::format_decimals(gain.gain_percent, digits);
            format!("{} by {percent} %", plain(&gain.change))
        });
        let said: Vec<String> = said.collect();
        Some(format!("{} in {letter}", said.join(" or ")))
    };
    let all: Vec<String> = [of(one.baseline, "A"), of(one.candidate, b)].into_iter().flatten().collect();
    let of_locks = [one.baseline, one.candidate].iter().any(|run| run.verdict.limits().any(|limit| limit == "locks"));
    let proviso = if of_locks { " What sessions would wait for without these locks is not known." } else { "" };
    (!all.is_empty()).then(|| format!("What would raise the rate, by a model: {}.{proviso}", all.join("; ")))
}

/// A gain that is so large a part of the largest is told as well.
const NEARLY: f64 = 0.5;

/// What a verdict without a limit says of times: that of one core, and of what sessions waited for.
const ONE_CORE: &str = "uses one core at a time";
const WAITED: &str = " sessions waited for ";

/// What held a run back, with how far it was used; without a limit what is known of it.
pub(super) fn limit(run: &RunRecord) -> String {
    if let Some(held) = held_back(run) {
        return held;
    }
    let verdict = &run.verdict;
    match verdict.limit.as_deref() {
        None => {
            let is_known = |sentence: &&String| NOT_KNOWN.iter().all(|begin| !sentence.starts_with(begin));
            let known = verdict.evidence.iter().find(is_known).map(|known| format!(" ({})", plain(known)));
            format!("not known for want of evidence{}", known.unwrap_or_default())
        }
        Some("none") => {
            let is_held = |sentence: &&String| HELD.iter().any(|part| sentence.contains(part));
            let of = |begin: &str| verdict.evidence.iter().find(|sentence| sentence.contains(begin));
            // Times decide where no limit does: those of one core, or of what sessions wait for.
            let told = verdict.evidence.first().filter(is_held).or_else(|| of(ONE_CORE)).or_else(|| of(WAITED));
            let told = told.map(|told| told.split(", and ").next().unwrap_or(told));
            let told = told.map(|told| format!(" ({})", plain(told)));
            format!("no limit that was watched{}", told.unwrap_or_default())
        }
        limit => {
            let said = words::limits_used(limit, &verdict.also, verdict.utilisation_percent.and_then(words::used));
            // Names begin with a capital there, and stand in a sentence here.
            let mut rest = said.chars();
            let said: String = match rest.next().filter(|_| !said.starts_with("CPU")) {
                Some(first) => first.to_lowercase().chain(rest).collect(),
                None => said,
            };
            let others = beside_others(run, limit);
            match waited::beside(run) {
                Some((what, percent)) if percent >= MOSTLY_PERCENT => format!(
                    "waits for {what}, {percent:.0} % of the sessions' time; the nearest limit is {said}{others}"
                ),
                Some((what, percent)) => {
                    format!("{said}{others}; in {percent:.0} % of their time sessions waited for {what}")
                }
                None => said + &others,
            }
        }
    }
}

/// From so large a part of the sessions' time on a wait is told before the limit.
const MOSTLY_PERCENT: f64 = 50.0;

/// What other programs took of CPUs that held a run back.
fn beside_others(run: &RunRecord, limit: Option<&str>) -> String {
    let others = other_cores(run).filter(|(others, cores)| limit == Some("cpu") && *others >= MUCH_OF_OTHERS * cores);
    let said = others.and_then(|(others, cores)| Some((format::number(others)?, format::number(cores)?)));
    said.map(|(others, cores)| format!(" (other programs used {others} of {cores} cores)")).unwrap_or_default()
}

/// A part of a machine that others use which is worth a word.
const MUCH_OF_OTHERS: f64 = 0.1;

pub(super) fn changed(one: &Compared<'_>, b: &str) -> String {
    // How busy our client was follows from the rate.
    let differences: Vec<&Differs> = one.differences.iter().filter(|one| one.what != CLIENT_LOAD).collect();
    if differences.is_empty() {
        return format!("No setting that the runs record differs between A and {b}.{}", unrecorded(one));
    }
    // Where a value comes from stands among the details.
    let short = |value: &str| match plain(value).split_once(" (") {
        Some((begin, _)) if !begin.is_empty() => begin.to_owned(),
        _ => plain(value),
    };
    let shown = |value: &Option<String>| value.as_deref().map_or_else(|| "unknown".to_owned(), short);
    let said = differences.iter().take(MOST_DIFFERENCES);
    let sized = |one: &Differs, at: usize| in_mib(&one.what, &shown(&one.values[at]));
    let said = said.map(|one| format!("{} {} → {}", plain(&one.what), sized(one, 0), sized(one, 1)));
    let said: Vec<String> = said.collect();
    let rest = differences.len().saturating_sub(MOST_DIFFERENCES);
    let rest = if rest > 0 { format!("; and {rest} more") } else { String::new() };
    format!("Changed from A to {b}: {}{rest}.{}", said.join("; "), unrecorded(one))
}

/// The value of a size that a server tells in bytes, in MiB.
fn in_mib(name: &str, value: &str) -> String {
    let bytes = value.parse::<u64>().ok().filter(|_| name.contains("size"));
    let whole = bytes.filter(|bytes| *bytes >= MIB && bytes % MIB == 0);
    whole.map_or_else(|| value.to_owned(), |bytes| format!("{} MiB", format::whole(bytes / MIB)))
}

const MIB: u64 = 1 << 20;

/// What may differ and is in no record. Of a volume there is none of it.
fn unrecorded(one: &Compared<'_>) -> &'static str {
    if one.baseline.subject == Subject::Volume { "" } else { " Indexes, triggers and plans are not recorded." }
}

/// By how much the first figure varies, and whether that has in it what differs from run to run.
pub(super) fn spread(one: &Compared<'_>, b: &str) -> Option<String> {
    let first = one.figures.first().filter(|_| is_real(one))?;
    let of = |at: usize| {
        let values = &first.figures[at].as_ref()?.values;
        format::number(coefficient_of_variation_percent(values)?)
    };
    let varies = of(0).zip(of(1)).map(|(of_a, of_b)| format!("{of_a} % in A and {of_b} % in {b}"));
    let name = format::name(&first.metric);
    if one.has_rounds() {
        let [in_a, in_b] = one.rounds.each_ref().map(Vec::len);
        let varies =
            varies.map(|varies| format!(" From run to run the {name} varies by {varies}.")).unwrap_or_default();
        return Some(format!(
            "Each of {in_a} runs of A and {in_b} of {b} counts once, so that the interval has what differs from run to run.{varies} What held them back is of the newest."
        ));
    }
    let unknown = "by how much from run to run is not known from one run of each";
    Some(format!("From repetition to repetition the {name} varies by {}; {unknown}.", varies?))
}

/// Under which conditions both were measured, as far as they are the same.
pub(super) fn conditions(one: &Compared<'_>, b: &str) -> Option<String> {
    let of = |run: &RunRecord| {
        let complete = run.repetitions.iter().filter(|repetition| repetition.complete);
        let count = complete.clone().count();
        let seconds: f64 = complete.flat_map(|repetition| &repetition.phases).map(|phase| phase.seconds).sum();
        let each = (count > 0 && seconds > 0.0).then(|| format!(" of {}", format::seconds(seconds / count as f64)));
        let sessions = run.parameters.get("sessions").and_then(serde_json::Value::as_u64);
        let sessions = sessions
            .map(|sessions| format!("{}, ", format::count(usize::try_from(sessions).unwrap_or(usize::MAX), "session")))
            .unwrap_or_default();
        let data = run.ceilings.iter().find(|ceiling| ceiling.resource == "data" && ceiling.unit == "MB");
        let data =
            data.and_then(|data| Some(format!(", {} MB of data", format::number(data.value)?))).unwrap_or_default();
        let version =
            run.engine_version.as_deref().and_then(|version| plain(version).split(" (").next().map(str::to_owned));
        let version = version.map(|version| format!(", {} {version}", plain(&run.engine))).unwrap_or_default();
        let repetitions = format::count(count, "repetition");
        let pace = pace(run).unwrap_or_default();
        format!("{sessions}{pace}{repetitions}{}{data}{version}", each.unwrap_or_default())
    };
    if one.baseline.subject == Subject::Volume {
        return None;
    }
    let (of_a, of_b) = (of(one.baseline), of(one.candidate));
    let said = if of_a == of_b { format!("Both: {of_a}.") } else { format!("A: {of_a}. {b}: {of_b}.") };
    let number = |cores: f64| format::number(cores).unwrap_or_default();
    let others = other_cores(one.baseline).zip(other_cores(one.candidate)).map(|((in_a, cores), (in_b, _))| {
        format!(
            " Other programs on the server's machine used {} of {} cores in A and {} in {b}.",
            number(in_a),
            number(cores),
            number(in_b)
        )
    });
    Some(said + &others.unwrap_or_default())
}

/// How requests followed each other, where all of them did so alike.
fn pace(run: &RunRecord) -> Option<String> {
    let mut all = run.repetitions.iter().flat_map(|repetition| &repetition.phases).map(|phase| phase.rate_asked);
    let first = all.next().filter(|_| run.repetitions.iter().any(|one| !one.requests.is_empty()))?;
    let is_one = all.all(|other| other == first);
    is_one.then(|| match first {
        Some(rate) => format!("{} requests scheduled a second, ", format::number(rate).unwrap_or_default()),
        None => "each request after the last answer, ".to_owned(),
    })
}

/// The kind of request whose time changed most, where there are several.
pub(super) fn slowest(one: &Compared<'_>, b: &str) -> Option<String> {
    // What a volume does is one figure each, with a verdict.
    if one.baseline.subject == Subject::Volume {
        return None;
    }
    let kinds = shared_kinds(one);
    // The median of few answers is steadier than what is rare among them. What many requests wait for counts more than what few do.
    let made = |at: usize| kinds.iter().map(|pair| pair[at].operations).sum::<u64>().max(1) as f64;
    let totals = [made(0), made(1)];
    let time = |pair: &[Kind; 2]| {
        let [a, b] = [0, 1].map(|at| pair[at].ms(50.0, |kind| Some(&kind.times)));
        let part = (pair[0].operations as f64 / totals[0]).max(pair[1].operations as f64 / totals[1]);
        Some((b? - a?).abs() * part)
    };
    let all = kinds.iter().filter_map(|pair| Some((pair, ratio_at(pair, 50.0)?, time(pair)?)));
    let (pair, ratio, _) = all.max_by(|one, other| one.2.total_cmp(&other.2))?;
    (kinds.len() > 1 && ratio.max(ratio.recip()) >= WORTH_A_SENTENCE).then(|| {
        let shown = times(ratio).unwrap_or_default();
        let p99 = ratio_at(pair, 99.0).and_then(times).map(|times| format!(", and its p99 {times} times"));
        format!(
            "Of the requests, {} changed most: its latency p50 in {b} is {shown} times that in A{}.",
            plain(&pair[0].kind),
            p99.unwrap_or_default()
        )
    })
}

/// That no request failed, or how many did, where requests were made; and how often some were tried again.
pub(super) fn failures(one: &Compared<'_>, b: &str) -> Option<String> {
    let of = |run: &RunRecord, count: fn(&RequestKind) -> u64| {
        let kinds = || run.repetitions.iter().flat_map(|repetition| &repetition.requests);
        let made: u64 = kinds().map(|kind| kind.operations + failed(kind)).sum();
        let counted: u64 = kinds().map(count).sum();
        (kinds().next().is_some()).then_some((counted, 100.0 * counted as f64 / made.max(1) as f64))
    };
    let said = |(count, percent): (u64, f64)| {
        let percent = format::number(percent).filter(|_| count > 0).map(|percent| format!(" ({percent} %)"));
        format!("{}{}", format::whole(count), percent.unwrap_or_default())
    };
    let both = |count: fn(&RequestKind) -> u64| Some((of(one.baseline, count)?, of(one.candidate, count)?));
    let failed = match both(failed)? {
        ((0, _), (0, _)) => "No request failed in either.".to_owned(),
        (in_a, in_b) => format!("Requests failed: {} in A, {} in {b}.", said(in_a), said(in_b)),
    };
    let again = match both(|kind| kind.retries)? {
        ((0, _), (0, _)) => String::new(),
        (in_a, in_b) => format!(
            " Tried again after a conflict: {} in A, {} in {b}{}.",
            said(in_a),
            said(in_b),
            without_waits(one, b).unwrap_or_default()
        ),
    };
    Some(failed + &again)
}

fn failed(kind: &RequestKind) -> u64 {
    kind.errors.values().sum()
}

/// A part of the requests' time that is worth a word.
const LEAST_WAITED_PERCENT: f64 = 5.0;

/// The highest p99 of a kind in each run, and what it is without our own waits before requests were tried again, where these make a difference.
fn without_waits(one: &Compared<'_>, b: &str) -> Option<String> {
    let kinds = shared_kinds(one);
    let highest = |at: usize, times: fn(&RequestKind) -> Option<&LatencyHistogramData>| {
        kinds.iter().filter_map(|pair| pair[at].ms(99.0, times)).reduce(f64::max)
    };
    let said = |(at, letter): (usize, &str)| {
        let with = highest(at, |kind| Some(&kind.times))?;
        let without = highest(at, |kind| Some(kind.times_without_waits.as_ref().unwrap_or(&kind.times)))?;
        let number = |ms: f64| format::number(ms).unwrap_or_default();
        let run = [one.baseline, one.candidate][at];
        let kinds = || run.repetitions.iter().flat_map(|repetition| &repetition.requests);
        let all: f64 = kinds().map(|kind| kind.times.sum_us).sum();
        let waited = |kind: &RequestKind| Some(kind.times.sum_us - kind.times_without_waits.as_ref()?.sum_us);
        let percent = 100.0 * kinds().filter_map(waited).sum::<f64>() / all.max(f64::MIN_POSITIVE);
        (with >= WORTH_A_SENTENCE * without || percent >= LEAST_WAITED_PERCENT).then(|| {
            format!(
                "{} % of the requests' time in {letter}, whose p99 of {} ms is {} without them",
                number(percent),
                number(with),
                number(without)
            )
        })
    };
    let all: Vec<String> = [(0, "A"), (1, b)].into_iter().filter_map(said).collect();
    (!all.is_empty())
        .then(|| format!("; our own waits before that are part of the latency and of the rate: {}", all.join("; ")))
}

#[cfg(test)]
mod tests {
    use plimsoll_measurement::Verdict;

    use super::*;

    #[test]
    fn sizes_in_bytes_are_told_in_mib_and_other_numbers_are_not() {
        assert_eq!(in_mib("innodb_buffer_pool_size", "268435456"), "256 MiB");
        for (name, value) in [("block_size", "8192"), ("max_connections", "268435456"), ("work_mem_size", "64MB")] {
            assert_eq!(in_mib(name, value), value);
        }
    }

    #[test]
    fn the_gain_of_what_is_named_goes_first_and_small_ones_are_left_out() {
        let gain = |limit: &str, change: &str, gain_percent: f64| Gain {
            limit: limit.to_owned(),
            change: change.to_owned(),
            gain_percent,
            ..Gain::default()
        };
        let verdict = Verdict {
            limit: Some("log_write".to_owned()),
            gains: vec![
                gain("cpu", "faster cores", 6.8),
                gain("log_write", "faster log", 4.8),
                gain("memory", "memory", 1.0),
            ],
            ..Verdict::default()
        };
        let run = RunRecord { verdict, ..RunRecord::default() };
        let compared = Compared {
            baseline: &run,
            candidate: &run,
            figures: Vec::new(),
            differences: Vec::new(),
            notes: [Vec::new(), Vec::new()],
            rounds: [vec![&run], vec![&run]],
        };
        let told = gains(&compared, "B").unwrap();
        assert!(
            told.starts_with(
                "What would raise the rate, by a model: faster log by 4.8 % or faster cores by 6.8 % in A"
            ),
            "{told}"
        );
        assert!(!told.contains("memory"), "{told}");
    }
}
