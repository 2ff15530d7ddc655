//! The tables of requests: seconds, kinds, phases, histograms, waits and files.

use std::collections::BTreeMap;

use plimsoll_measurement::{
    FileDelta, FileUse, LatencyHistogramData, Phase, Repetition, RequestKind, RunRecord, Seconds, WaitDelta,
};

use crate::model::{Cell, Table, text};

/// Name of a column and what is in it.
type Column<T> = (&'static str, fn(&T) -> Cell);

/// What a column of seconds is read from: these, and which of them, counted from 0.
type OfSecond = fn(&Seconds, usize) -> Cell;

const SECONDS: &[(&str, OfSecond)] = &[
    ("second", |_, at| at.into()),
    ("operations", |seconds, at| seconds.operations.get(at).copied().into()),
    ("rows", |seconds, at| seconds.rows.get(at).copied().into()),
    ("rows_examined", |seconds, at| seconds.rows_examined.get(at).copied().into()),
    ("content_bytes", |seconds, at| seconds.content_bytes.get(at).copied().into()),
    ("errors", |seconds, at| seconds.errors.get(at).copied().into()),
    ("errors_by_class", |seconds, at| {
        let of_second = |counts: &Vec<u64>| counts.get(at).copied().unwrap_or(0);
        classes(seconds.errors_by_class.iter().map(|(class, counts)| (class, of_second(counts))))
    }),
    ("latency_us_p50", |seconds, at| seconds.latency_us_p50.get(at).copied().flatten().into()),
    ("latency_us_p99", |seconds, at| seconds.latency_us_p99.get(at).copied().flatten().into()),
];

const KINDS: &[Column<RequestKind>] = &[
    ("kind", |kind| kind.kind.clone().into()),
    ("operations", |kind| kind.operations.into()),
    ("drained", |kind| kind.drained.into()),
    ("rows_examined", |kind| kind.rows_examined.into()),
    ("rows", |kind| kind.rows.into()),
    ("content_bytes", |kind| kind.content_bytes.into()),
    ("errors", |kind| classes(kind.errors.iter().map(|(class, count)| (class, *count)))),
    ("retries", |kind| kind.retries.into()),
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
    ("label", |phase| phase.label.clone().into()),
    ("started_seconds", |phase| phase.started_seconds.into()),
    ("seconds", |phase| phase.seconds.into()),
    ("sessions", |phase| phase.sessions.into()),
    ("rate_asked", |phase| phase.rate_asked.into()),
    ("batch_rows", |phase| phase.batch_rows.into()),
    ("operations", |phase| phase.operations.into()),
    ("drained", |phase| phase.drained.into()),
    ("errors", |phase| phase.errors.into()),
    ("rate", |phase| phase.rate.into()),
    ("mb_per_minute", |phase| phase.mb_per_minute.into()),
    ("backlog", |phase| phase.backlog.into()),
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
    ("holds", |phase| phase.holds.map(|holds| holds.to_string()).into()),
];

const WAITS: &[Column<WaitDelta>] = &[
    ("wait", |wait| wait.wait.clone().into()),
    ("seconds", |wait| wait.seconds.into()),
    ("count", |wait| wait.count.into()),
    ("elapsed_percent", |wait| wait.elapsed_percent.into()),
    ("signal_seconds", |wait| wait.signal_seconds.into()),
    ("longest_seconds", |wait| wait.longest_seconds.into()),
    ("class", |wait| wait.class.as_ref().map(|class| class.as_str().to_owned()).into()),
];

const FILES: &[Column<FileDelta>] = &[
    ("file", |file| file.file.clone().into()),
    ("database", |file| file.database.clone().into()),
    ("path", |file| file.path.clone().into()),
    ("kind", |file| file.kind.clone().into()),
    ("elapsed_seconds", |file| file.elapsed_seconds.into()),
    ("reads", |file| file.reads.into()),
    ("writes", |file| file.writes.into()),
    ("read_bytes", |file| file.read_bytes.into()),
    ("write_bytes", |file| file.write_bytes.into()),
    ("read_stall_seconds", |file| file.read_stall_seconds.into()),
    ("write_stall_seconds", |file| file.write_stall_seconds.into()),
    ("read_mb_per_second", |file| file.read_mb_per_second.into()),
    ("write_mb_per_second", |file| file.write_mb_per_second.into()),
    ("read_latency_ms", |file| file.read_latency_ms.into()),
    ("write_latency_ms", |file| file.write_latency_ms.into()),
    ("limits", |file| file.limits.as_ref().map(|used| used.source.clone()).into()),
    ("size_bytes", |file| file.size_bytes.or(used(file, |used| used.size_bytes)).into()),
    ("limit_iops", |file| used(file, |used| used.limit_iops).into()),
    ("limit_mb_per_second", |file| used(file, |used| used.limit_mb_per_second).into()),
    ("highest_iops", |file| used(file, |used| used.highest_iops).into()),
    ("highest_mb_per_second", |file| used(file, |used| used.highest_mb_per_second).into()),
    ("intervals", |file| used(file, |used| Some(used.intervals)).into()),
    ("intervals_near_iops", |file| used(file, |used| Some(used.intervals_near_iops)).into()),
    ("intervals_near_mb_per_second", |file| used(file, |used| Some(used.intervals_near_mb_per_second)).into()),
];

fn used<T>(file: &FileDelta, of: fn(&FileUse) -> Option<T>) -> Option<T> {
    of(file.limits.as_ref()?)
}

/// The columns of a bucket: of which kind or phase, of which times, its upper end in microseconds, how many are in it.
const HISTOGRAMS: [&str; 5] = ["of", "name", "times", "upper_us", "count"];

/// A row for each second of each repetition.
pub fn seconds(records: &[RunRecord]) -> Table {
    table(records, SECONDS.iter().map(|(name, _)| *name), |_, repetition| {
        let seconds = &repetition.seconds;
        let row = |at: usize| SECONDS.iter().map(|(_, part)| part(seconds, at)).collect();
        (0..seconds.operations.len()).map(row).collect()
    })
}

/// A row for each kind of request of each repetition.
pub fn kinds(records: &[RunRecord]) -> Table {
    listed(records, KINDS, |repetition| &repetition.requests)
}

/// A row for each phase of each repetition.
pub fn phases(records: &[RunRecord]) -> Table {
    listed(records, PHASES, |repetition| &repetition.phases)
}

/// A row for each wait of each repetition.
pub fn waits(records: &[RunRecord]) -> Table {
    listed(records, WAITS, |repetition| &repetition.waits)
}

/// A row for each file of each repetition.
pub fn files(records: &[RunRecord]) -> Table {
    listed(records, FILES, |repetition| &repetition.files)
}

/// A row for each bucket of each histogram: all that is known of the times.
pub fn histograms(records: &[RunRecord]) -> Table {
    table(records, HISTOGRAMS.into_iter(), |_, repetition| {
        let mut rows = Vec::new();
        let mut add = |of: &str, name: &str, which: &str, times: Option<&LatencyHistogramData>| {
            for (end, count) in times.iter().flat_map(|times| &times.buckets) {
                rows.push(vec![of.into(), name.into(), which.into(), (*end).into(), (*count).into()]);
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
fn listed<T>(records: &[RunRecord], columns: &[Column<T>], list: fn(&Repetition) -> &Vec<T>) -> Table {
    table(records, columns.iter().map(|(name, _)| *name), |_, repetition| {
        list(repetition).iter().map(|one| columns.iter().map(|(_, part)| part(one)).collect()).collect()
    })
}

/// Rows of the repetitions, behind what tells them apart.
pub(super) fn table<'a>(
    records: &[RunRecord],
    names: impl Iterator<Item = &'a str>,
    rows: impl Fn(&RunRecord, &Repetition) -> Vec<Vec<Cell>>,
) -> Table {
    let mut table = Table::with(["run_id", "test", "target", "repetition"].into_iter().chain(names).map(text));
    for record in records {
        for repetition in &record.repetitions {
            let whose = [&record.run_id, &record.test, &record.target, &repetition.label];
            for row in rows(record, repetition) {
                table.row(whose.into_iter().map(|name| Cell::from(name.as_str())).chain(row).collect());
            }
        }
    }
    table
}

/// Errors by class that there were, as `busy=3 lost=1`.
fn classes<'a>(counts: impl Iterator<Item = (&'a String, u64)>) -> Cell {
    let counts: BTreeMap<&String, u64> = counts.filter(|(_, count)| *count > 0).collect();
    counts.iter().map(|(class, count)| format!("{class}={count}")).collect::<Vec<_>>().join(" ").into()
}

fn percentile(times: Option<&LatencyHistogramData>, percent: f64) -> Cell {
    times.and_then(|times| times.percentile_us(percent)).map(|us| us / 1e3).into()
}

fn mean(times: Option<&LatencyHistogramData>) -> Cell {
    times.filter(|times| times.count > 0).map(|times| times.sum_us / times.count as f64 / 1e3).into()
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
        assert_eq!(classes([(&lost, 1), (&busy, 0)].into_iter()), Cell::from("lost=1"));
        assert_eq!(classes([(&lost, 1), (&busy, 3)].into_iter()), Cell::from("busy=3 lost=1"));
    }
}
