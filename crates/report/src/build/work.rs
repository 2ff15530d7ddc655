//! What a request took of the server, and what other programs took of the machine, by the samples of a run: why one run is faster than another
//! is often seen there and in no setting.

use plimsoll_analysis::summary;
use plimsoll_measurement::{Repetition, RunRecord, Samples};

use crate::model::format;

/// A column of samples, how much of it makes one of what is told, in words, and less than this is nothing. From so many times as much on it
/// is worth a word.
const WORK: [(&str, f64, &str, f64, f64); 9] = [
    ("cache_lookups", 1.0, "pages looked up", 0.5, WORTH_A_WORD),
    ("cache_misses", 1.0, "pages missed", 0.05, WORTH_A_WORD),
    ("data_reads", 1.0, "reads of data", 0.05, WORTH_A_WORD),
    ("temp_write_rate", 1024.0, "KiB of temporary files", 1.0, WORTH_A_WORD),
    ("log_syncs", 1.0, "syncs of the log", 0.05, WORTH_A_WORD),
    ("file_syncs", 1.0, "syncs of files", 0.05, WORTH_A_WORD),
    ("log_writes", 1.0, "writes of the log", 0.05, WORTH_A_WORD),
    ("log_write_rate", 1024.0, "KiB of log", 0.1, WORTH_A_WORD),
    // It is known to a percent or two, and the cause of small differences.
    ("server_cpu", 1e3, "ms of the server's CPU", 0.001, 1.02),
];

const WORTH_A_WORD: f64 = 1.25;
/// So many of them are told.
const MOST: usize = 4;

/// How long after the last request a server may count what requests did, in seconds: its sessions publish that a little later.
const LATE: f64 = 1.0;

/// The mean of a column in the time in which requests were made, over all repetitions.
pub(super) fn mean(record: &RunRecord, metric: &str) -> Option<f64> {
    let of = |repetition: &Repetition, samples: &Samples| {
        let column = samples.column(metric)?;
        let is_within = |(from, to): (f64, f64)| {
            let middle = f64::midpoint(from, to);
            repetition
                .phases
                .iter()
                .any(|phase| (phase.started_seconds..phase.started_seconds + phase.seconds).contains(&middle))
        };
        let known = samples.intervals().zip(&column.values).filter(|(interval, _)| is_within(*interval));
        let sums = known.filter_map(|((from, to), value)| Some((((*value)? * (to - from)), to - from)));
        sums.reduce(|(a, b), (c, d)| (a + c, b + d))
    };
    let all = record.repetitions.iter().flat_map(|one| one.samples.iter().filter_map(move |samples| of(one, samples)));
    let (sum, seconds) = all.reduce(|(a, b), (c, d)| (a + c, b + d))?;
    (seconds > 0.0).then(|| sum / seconds)
}

/// What a request took of a rate's column in each repetition, over all the time in which requests were made and what they did was counted.
fn each(record: &RunRecord, metric: &str) -> Vec<f64> {
    let of = |repetition: &Repetition| {
        let ends = repetition.phases.iter().map(|phase| (phase.started_seconds, phase.started_seconds + phase.seconds));
        let (from, to) = ends.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)))?;
        let samples = repetition.samples.iter().filter_map(|samples| Some((samples, samples.column(metric)?)));
        let all = samples.flat_map(|(samples, column)| samples.intervals().zip(&column.values));
        let within = all.filter(|((begin, end), _)| f64::midpoint(*begin, *end) > from && *begin < to + LATE);
        let total = within.filter_map(|((begin, end), value)| Some((*value)? * (end - begin))).reduce(|a, b| a + b)?;
        let made: u64 = repetition.phases.iter().map(|phase| phase.operations).sum();
        (made > 0).then(|| total / made as f64)
    };
    record.repetitions.iter().filter_map(of).collect()
}

/// Cores that other programs used on the server's machine, and all that it has. `None` where nobody looked.
pub fn other_cores(record: &RunRecord) -> Option<(f64, f64)> {
    let cores = record.ceilings.iter().find(|ceiling| ceiling.resource == "machine_cpu")?.value;
    Some((mean(record, "other_cpu")?, cores)).filter(|_| cores > 0.0)
}

/// What a request took on both sides, over all runs of each, where that differs much: a sentence.
pub fn changed([baseline, candidate]: [&Vec<&RunRecord>; 2], b: &str) -> Option<String> {
    // What only the first repetition does, such as to warm a cache or to log whole pages after a checkpoint, is no request's.
    let usual = |runs: &[&RunRecord], metric: &str| {
        summary::median(&runs.iter().flat_map(|run| each(run, metric)).collect::<Vec<f64>>())
    };
    let mut is_known = false;
    let each = |(metric, times, words, least, worth): &(&str, f64, &'static str, f64, f64)| {
        let (a, b) = (usual(baseline, metric)? * times, usual(candidate, metric)? * times);
        is_known = true;
        let factor = a.max(b) / a.min(b).max(f64::MIN_POSITIVE);
        let whole = |value: f64| if value < *least / 10.0 { 0.0 } else { value };
        (a.max(b) >= *least && factor >= *worth).then_some((factor, *words, whole(a), whole(b)))
    };
    let mut all: Vec<(f64, &str, f64, f64)> = WORK.iter().filter_map(each).collect();
    all.sort_by(|one, other| other.0.total_cmp(&one.0));
    let number = |value: f64| format::number(value).unwrap_or_default();
    let told: Vec<String> =
        all.iter().take(MOST).map(|(_, words, a, b)| format!("{} → {} {words}", number(*a), number(*b))).collect();
    match told.as_slice() {
        [] => {
            is_known.then(|| "What a request took of the server hardly differs, as far as that was counted.".to_owned())
        }
        told => Some(format!("What a request took, A → {b}: {}.", told.join("; "))),
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_measurement::{Ceiling, Phase, SampleColumn};

    use super::*;

    fn run(lookups: f64, operations: u64) -> RunRecord {
        let column = |metric: &str, value: f64| SampleColumn {
            metric: metric.to_owned(),
            values: vec![Some(9e9), Some(value), Some(value)],
            ..SampleColumn::default()
        };
        // The first second is before requests are made.
        let samples = Samples {
            seconds: vec![1.0, 2.0, 3.0],
            columns: vec![column("cache_lookups", lookups), column("other_cpu", 0.5)],
            ..Samples::default()
        };
        let phase = Phase { started_seconds: 1.0, seconds: 2.0, operations, ..Phase::default() };
        let repetition = Repetition { phases: vec![phase], samples: vec![samples], ..Repetition::default() };
        let ceilings = vec![Ceiling::new("machine_cpu", 2.0, "the test").unwrap()];
        RunRecord { repetitions: vec![repetition], ceilings, ..RunRecord::default() }
    }

    #[test]
    fn the_work_of_a_request_says_what_no_setting_does() {
        let compared = |a, b| changed([&vec![&run(2000.0, 4)], &vec![&run(a, b)]], "B");
        assert_eq!(
            compared(6800.0, 2000).as_deref(),
            Some("What a request took, A → B: 1,000 → 6.80 pages looked up.")
        );
        assert!(compared(2100.0, 4).unwrap().contains("hardly differs"));
        assert_eq!(other_cores(&run(1.0, 1)), Some((0.5, 2.0)));
    }
}
