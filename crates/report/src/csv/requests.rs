//! The tables of requests: seconds, kinds, phases, histograms, waits and files.

use std::collections::BTreeMap;

use plimsoll_measurement::{
    FileDelta, FileUse, Phase, Repetition, RequestKind, RunRecord, Seconds, TimesData, WaitDelta,
};

use super::{line, real, whole};

/// Name of a column and what is in it.
type Column<T> = (&'static str, fn(&T) -> String);

/// What a column of seconds is read from: these, and which of them, counted from 0.
type OfSecond = fn(&Seconds, usize) -> String;

const SECONDS: &[(&str, OfSecond)] = &[
    ("second", |_, at| at.to_string()),
    ("operations", |seconds, at| whole(seconds.operations.get(at))),
    ("rows", |seconds, at| whole(seconds.rows.get(at))),
    ("rows_examined", |seconds, at| whole(seconds.rows_examined.get(at))),
    ("content_bytes", |seconds, at| whole(seconds.content_bytes.get(at))),
    ("errors", |seconds, at| whole(seconds.errors.get(at))),
    ("errors_by_class", |seconds, at| {
        let of_second = |counts: &Vec<u64>| counts.get(at).copied().unwrap_or(0);
        classes(seconds.errors_by_class.iter().map(|(class, counts)| (class, of_second(counts))))
    }),
    ("latency_us_p50", |seconds, at| real(seconds.latency_us_p50.get(at).copied().flatten())),
    ("latency_us_p99", |seconds, at| real(seconds.latency_us_p99.get(at).copied().flatten())),
];

const KINDS: &[Column<RequestKind>] = &[
    ("kind", |kind| kind.kind.clone()),
    ("operations", |kind| kind.operations.to_string()),
    ("drained", |kind| kind.drained.to_string()),
    ("rows_examined", |kind| kind.rows_examined.to_string()),
    ("rows", |kind| kind.rows.to_string()),
    ("content_bytes", |kind| kind.content_bytes.to_string()),
    ("errors", |kind| classes(kind.errors.iter().map(|(class, count)| (class, *count)))),
    ("retries", |kind| kind.retries.to_string()),
    ("times_mean_ms", |kind| mean(Some(&kind.times))),
    ("times_p50_ms", |kind| percentile(Some(&kind.times), 50.0)),
    ("times_p90_ms", |kind| percentile(Some(&kind.times), 90.0)),
    ("times_p99_ms", |kind| percentile(Some(&kind.times), 99.0)),
    ("times_p99.9_ms", |kind| percentile(Some(&kind.times), 99.9)),
    ("times_p99.99_ms", |kind| percentile(Some(&kind.times), 99.99)),
    ("times_longest_ms", |kind| percentile(Some(&kind.times), 100.0)),
    ("times_without_waits_p50_ms", |kind| percentile(kind.times_without_waits.as_ref(), 50.0)),
    ("times_without_waits_p99_ms", |kind| percentile(kind.times_without_waits.as_ref(), 99.0)),
    ("times_uncorrected_p50_ms", |kind| percentile(kind.times_uncorrected.as_ref(), 50.0)),
    ("times_uncorrected_p99_ms", |kind| percentile(kind.times_uncorrected.as_ref(), 99.0)),
    ("times_uncorrected_longest_ms", |kind| percentile(kind.times_uncorrected.as_ref(), 100.0)),
];

const PHASES: &[Column<Phase>] = &[
    ("label", |phase| phase.label.clone()),
    ("started_seconds", |phase| real(Some(phase.started_seconds))),
    ("seconds", |phase| real(Some(phase.seconds))),
    ("sessions", |phase| phase.sessions.to_string()),
    ("rate_asked", |phase| real(phase.rate_asked)),
    ("batch_rows", |phase| whole(phase.batch_rows)),
    ("operations", |phase| phase.operations.to_string()),
    ("drained", |phase| phase.drained.to_string()),
    ("errors", |phase| phase.errors.to_string()),
    ("rate", |phase| real(Some(phase.rate))),
    ("mb_per_minute", |phase| real(phase.mb_per_minute)),
    ("backlog", |phase| whole(phase.backlog)),
    ("times_p50_ms", |phase| percentile(Some(&phase.times), 50.0)),
    ("times_p90_ms", |phase| percentile(Some(&phase.times), 90.0)),
    ("times_p99_ms", |phase| percentile(Some(&phase.times), 99.0)),
    ("times_p99.9_ms", |phase| percentile(Some(&phase.times), 99.9)),
    ("times_longest_ms", |phase| percentile(Some(&phase.times), 100.0)),
    ("times_without_waits_p50_ms", |phase| percentile(phase.times_without_waits.as_ref(), 50.0)),
    ("times_without_waits_p99_ms", |phase| percentile(phase.times_without_waits.as_ref(), 99.0)),
    ("times_uncorrected_p50_ms", |phase| percentile(phase.times_uncorrected.as_ref(), 50.0)),
    ("times_uncorrected_p99_ms", |phase| percentile(phase.times_uncorrected.as_ref(), 99.0)),
    ("start_lag_p50_ms", |phase| percentile(phase.start_lag.as_ref(), 50.0)),
    ("start_lag_p99_ms", |phase| percentile(phase.start_lag.as_ref(), 99.0)),
    ("holds", |phase| whole(phase.holds)),
];

const WAITS: &[Column<WaitDelta>] = &[
    ("wait", |wait| wait.wait.clone()),
    ("seconds", |wait| real(Some(wait.seconds))),
    ("count", |wait| whole(wait.count)),
    ("elapsed_percent", |wait| real(Some(wait.elapsed_percent))),
];

const FILES: &[Column<FileDelta>] = &[
    ("file", |file| file.file.clone()),
    ("reads", |file| whole(file.reads)),
    ("writes", |file| whole(file.writes)),
    ("read_bytes", |file| whole(file.read_bytes)),
    ("write_bytes", |file| whole(file.write_bytes)),
    ("read_latency_ms", |file| real(file.read_latency_ms)),
    ("write_latency_ms", |file| real(file.write_latency_ms)),
    ("limits", |file| file.limits.as_ref().map_or_else(String::new, |used| used.source.clone())),
    ("size_bytes", |file| whole(used(file, |used| used.size_bytes))),
    ("limit_iops", |file| real(used(file, |used| used.limit_iops))),
    ("limit_mb_per_second", |file| real(used(file, |used| used.limit_mb_per_second))),
    ("highest_iops", |file| real(used(file, |used| used.highest_iops))),
    ("highest_mb_per_second", |file| real(used(file, |used| used.highest_mb_per_second))),
    ("intervals", |file| whole(used(file, |used| Some(used.intervals)))),
    ("intervals_near_iops", |file| whole(used(file, |used| Some(used.intervals_near_iops)))),
    ("intervals_near_mb_per_second", |file| whole(used(file, |used| Some(used.intervals_near_mb_per_second)))),
];

fn used<T>(file: &FileDelta, of: fn(&FileUse) -> Option<T>) -> Option<T> {
    of(file.limits.as_ref()?)
}

/// The columns of a bucket: of which kind or phase, of which times, its upper end in microseconds, how many are in it.
const HISTOGRAMS: [&str; 5] = ["of", "name", "times", "upper_us", "count"];

/// A row for each second of each repetition.
pub fn seconds(records: &[RunRecord]) -> String {
    table(records, SECONDS.iter().map(|(name, _)| *name), |repetition| {
        let seconds = &repetition.seconds;
        let row = |at: usize| SECONDS.iter().map(|(_, part)| part(seconds, at)).collect();
        (0..seconds.operations.len()).map(row).collect()
    })
}

/// A row for each kind of request of each repetition.
pub fn kinds(records: &[RunRecord]) -> String {
    listed(records, KINDS, |repetition| &repetition.requests)
}

/// A row for each phase of each repetition.
pub fn phases(records: &[RunRecord]) -> String {
    listed(records, PHASES, |repetition| &repetition.phases)
}

/// A row for each wait of each repetition.
pub fn waits(records: &[RunRecord]) -> String {
    listed(records, WAITS, |repetition| &repetition.waits)
}

/// A row for each file of each repetition.
pub fn files(records: &[RunRecord]) -> String {
    listed(records, FILES, |repetition| &repetition.files)
}

/// A row for each bucket of each histogram: all that is known of the times.
pub fn histograms(records: &[RunRecord]) -> String {
    table(records, HISTOGRAMS.into_iter(), |repetition| {
        let mut rows = Vec::new();
        let mut add = |of: &str, name: &str, which: &str, times: Option<&TimesData>| {
            for (end, count) in times.iter().flat_map(|times| &times.buckets) {
                rows.push(
                    [of, name, which]
                        .map(str::to_owned)
                        .into_iter()
                        .chain([real(Some(*end)), count.to_string()])
                        .collect(),
                );
            }
        };
        for kind in &repetition.requests {
            add("kind", &kind.kind, "times", Some(&kind.times));
            add("kind", &kind.kind, "times_uncorrected", kind.times_uncorrected.as_ref());
        }
        for phase in &repetition.phases {
            add("phase", &phase.label, "times", Some(&phase.times));
            add("phase", &phase.label, "times_uncorrected", phase.times_uncorrected.as_ref());
            add("phase", &phase.label, "start_lag", phase.start_lag.as_ref());
        }
        rows
    })
}

/// A row for each of what a repetition lists.
fn listed<T>(records: &[RunRecord], columns: &[Column<T>], list: fn(&Repetition) -> &Vec<T>) -> String {
    table(records, columns.iter().map(|(name, _)| *name), |repetition| {
        list(repetition).iter().map(|one| columns.iter().map(|(_, part)| part(one)).collect()).collect()
    })
}

/// Rows of the repetitions, below one line of column names.
pub(super) fn table<'a>(
    records: &[RunRecord],
    names: impl Iterator<Item = &'a str>,
    rows: impl Fn(&Repetition) -> Vec<Vec<String>>,
) -> String {
    let whose = ["run_id", "test", "target", "repetition"].into_iter();
    let mut text = line(whose.chain(names).map(str::to_owned));
    for record in records {
        for repetition in &record.repetitions {
            let whose = [&record.run_id, &record.test, &record.target, &repetition.label];
            for row in rows(repetition) {
                text += &line(whose.into_iter().cloned().chain(row));
            }
        }
    }
    text
}

/// Errors by class that there were, as `busy=3 lost=1`.
fn classes<'a>(counts: impl Iterator<Item = (&'a String, u64)>) -> String {
    let counts: BTreeMap<&String, u64> = counts.filter(|(_, count)| *count > 0).collect();
    counts.iter().map(|(class, count)| format!("{class}={count}")).collect::<Vec<_>>().join(" ")
}

fn percentile(times: Option<&TimesData>, percent: f64) -> String {
    real(times.and_then(|times| times.percentile_us(percent)).map(|us| us / 1e3))
}

fn mean(times: Option<&TimesData>) -> String {
    real(times.filter(|times| times.count > 0).map(|times| times.sum_us / times.count as f64 / 1e3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every_field(of: &str, columns: impl Iterator<Item = &'static str>) {
        let schema = plimsoll_measurement::run::json_schema();
        let columns: Vec<&str> = columns.collect();
        let fields = schema["$defs"][of]["properties"].as_object().unwrap();
        for field in fields.keys() {
            let expanded = format!("{field}_p50_ms");
            let known = columns.contains(&field.as_str()) || columns.contains(&expanded.as_str());
            assert!(known, "{of}: {field}");
        }
    }

    /// A field that is added to the record must not be forgotten here.
    #[test]
    fn every_field_has_a_column() {
        every_field("Seconds", SECONDS.iter().map(|(name, _)| *name));
        every_field("RequestKind", KINDS.iter().map(|(name, _)| *name));
        every_field("Phase", PHASES.iter().map(|(name, _)| *name));
        every_field("WaitDelta", WAITS.iter().map(|(name, _)| *name));
        every_field("FileDelta", FILES.iter().map(|(name, _)| *name));
        // Its source is called after what it is the source of.
        every_field("FileUse", FILES.iter().map(|(name, _)| if *name == "limits" { "source" } else { *name }));
    }

    #[test]
    fn classes_without_errors_are_left_out() {
        let (busy, lost) = ("busy".to_owned(), "lost".to_owned());
        assert_eq!(classes([(&lost, 1), (&busy, 0)].into_iter()), "lost=1");
        assert_eq!(classes([(&lost, 1), (&busy, 3)].into_iter()), "busy=3 lost=1");
    }
}
