//! Columns of what the engine said.

use std::collections::BTreeMap;

use plimsoll_engine::foreign::shown;
use plimsoll_measurement::{Counter, Moment, Reading, SampleColumn, SampleGap};

use super::pieces::{column, join, seconds};
use crate::look::{Glance, Look};

/// How a value comes about.
#[derive(Debug, Clone, Copy)]
enum Make {
    /// Growth a second, times this.
    Rate(Counter, f64),
    /// Growth of a sum for each by which a count grew, times this.
    Each(Counter, Counter, f64),
    /// Growth of all these sums together a second.
    All(&'static [Counter]),
    /// As it was said at the end.
    Now(Counter),
    /// What was to be seen in the moment of the end.
    Seen(Counter),
}

use Make::{All, Each, Now, Rate, Seen};

/// Times that the log is written or synced. Not every engine has a binary log, and not every server keeps it.
const LOG_STALLS: [Counter; 3] =
    [Counter::LogWriteStallSeconds, Counter::LogSyncStallSeconds, Counter::BinaryLogSyncStallSeconds];

const PER_MB: f64 = 1.0 / (1 << 20) as f64;

/// Name, unit, and where it comes from: the first that is known. Waits by the second are sessions: a session that waits
/// all the time counts as one. An engine that doesn't add them up counts the sessions that wait at the end of the
/// interval.
const COLUMNS: [(&str, &str, &[Make]); 39] = [
    ("cpu", "cores", &[Rate(Counter::EngineCpuSeconds, 1.0)]),
    ("client_cpu", "cores", &[Rate(Counter::ClientCpuSeconds, 1.0)]),
    ("cpu_percent", "%", &[Now(Counter::CpuPercent)]),
    ("data_io_percent", "%", &[Now(Counter::DataIoPercent)]),
    ("log_write_percent", "%", &[Now(Counter::LogWritePercent)]),
    ("memory_percent", "%", &[Now(Counter::MemoryPercent)]),
    ("commits", "1/s", &[Rate(Counter::Commits, 1.0)]),
    ("data_reads", "1/s", &[Rate(Counter::DataReads, 1.0)]),
    ("data_writes", "1/s", &[Rate(Counter::DataWrites, 1.0)]),
    ("log_writes", "1/s", &[Rate(Counter::LogWrites, 1.0)]),
    ("log_syncs", "1/s", &[Rate(Counter::LogSyncs, 1.0)]),
    ("file_syncs", "1/s", &[Rate(Counter::FileSyncs, 1.0)]),
    ("device_read_rate", "MB/s", &[Rate(Counter::DeviceReadBytes, PER_MB)]),
    ("device_write_rate", "MB/s", &[Rate(Counter::DeviceWriteBytes, PER_MB)]),
    ("log_write_rate", "MB/s", &[Rate(Counter::LogWriteBytes, PER_MB)]),
    ("temp_write_rate", "MB/s", &[Rate(Counter::TempWriteBytes, PER_MB)]),
    ("cache_misses", "pages/s", &[Rate(Counter::CacheMissPages, 1.0)]),
    ("cache_lookups", "pages/s", &[Rate(Counter::CacheLookupPages, 1.0)]),
    ("data_read_latency", "ms", &[Each(Counter::DataReadStallSeconds, Counter::DataReads, 1e3)]),
    ("data_write_latency", "ms", &[Each(Counter::DataWriteStallSeconds, Counter::DataWrites, 1e3)]),
    ("log_write_latency", "ms", &[Each(Counter::LogWriteStallSeconds, Counter::LogWrites, 1e3)]),
    ("log_sync_latency", "ms", &[Each(Counter::LogSyncStallSeconds, Counter::LogSyncs, 1e3)]),
    ("binary_log_sync_latency", "ms", &[Each(Counter::BinaryLogSyncStallSeconds, Counter::BinaryLogSyncs, 1e3)]),
    ("waiting_for_log_governor", "sessions", &[Rate(Counter::LogRateGovernorWaitSeconds, 1.0)]),
    (
        "waiting_for_log_write",
        "sessions",
        &[Rate(Counter::LogWriteWaitSeconds, 1.0), Seen(Counter::SessionsWritingLog)],
    ),
    (
        "flushing_log",
        "sessions",
        &[Seen(Counter::SessionsFlushingLog), All(&LOG_STALLS), All(LOG_STALLS.split_at(2).0)],
    ),
    (
        "waiting_for_data_read",
        "sessions",
        &[Rate(Counter::DataReadWaitSeconds, 1.0), Seen(Counter::SessionsReadingData)],
    ),
    ("waiting_for_data_write", "sessions", &[Seen(Counter::SessionsWritingData)]),
    ("waiting_for_lock", "sessions", &[Rate(Counter::LockWaitSeconds, 1.0), Seen(Counter::SessionsWaitingForLocks)]),
    ("waiting_for_table_lock", "sessions", &[Seen(Counter::SessionsWaitingForTableLocks)]),
    ("blocked_by_others", "sessions", &[Seen(Counter::SessionsBlockedByOthers)]),
    ("waiting_for_turn", "sessions", &[Rate(Counter::WriteTurnWaitSeconds, 1.0)]),
    (
        "waiting_for_client",
        "sessions",
        &[Rate(Counter::ClientWaitSeconds, 1.0), Seen(Counter::SessionsWaitingForClients)],
    ),
    (
        "waiting_for_worker",
        "sessions",
        &[Rate(Counter::WorkerWaitSeconds, 1.0), Seen(Counter::SessionsWaitingForWorkers)],
    ),
    ("sleeping", "sessions", &[Rate(Counter::SleepWaitSeconds, 1.0), Seen(Counter::SessionsAsleep)]),
    ("on_cpu", "sessions", &[Rate(Counter::CpuWaitSeconds, 1.0), Seen(Counter::SessionsOnCpu)]),
    ("redo_log_used", "%", &[Seen(Counter::RedoLogPercent)]),
    ("sessions_of_others", "sessions", &[Seen(Counter::SessionsOfOthers)]),
    ("waiting_for_others", "sessions", &[Seen(Counter::SessionsWaitingForOthers)]),
];

impl Make {
    /// The value of an interval, where it is known.
    fn value(self, before: &[Reading], after: &[Reading]) -> Option<f64> {
        let rate = |metric| {
            let (old, new) = (find(before, metric)?, find(after, metric)?);
            let seconds = new.window.end.since(old.window.end).as_secs_f64();
            let growth = new.value - old.value;
            (seconds > 0.0 && growth >= 0.0).then(|| growth / seconds)
        };
        match self {
            Rate(metric, times) => Some(rate(metric)? * times),
            All(metrics) => metrics.iter().map(|metric| rate(*metric)).sum(),
            Each(sum, count, times) => {
                let grown = |metric| Some(find(after, metric)?.value - find(before, metric)?.value);
                let (sum, count) = (grown(sum)?, grown(count)?);
                (sum >= 0.0 && count > 0.0).then(|| sum / count * times)
            }
            Now(metric) | Seen(metric) => Some(find(after, metric)?.value),
        }
    }
}

fn find(readings: &[Reading], metric: Counter) -> Option<&Reading> {
    readings.iter().find(|reading| reading.metric == metric)
}

/// What was said; `None` where nobody was asked, or no answer came.
fn said(look: &Look) -> Option<&[Reading]> {
    look.engine.as_ref()?.as_deref().ok()
}

/// All columns, those without a value too.
pub(super) fn columns(looks: &[&Look]) -> Vec<SampleColumn> {
    COLUMNS
        .into_iter()
        .map(|(metric, unit, makes)| {
            let value = |pair: &[&Look]| {
                let (before, after) = (said(pair[0])?, said(pair[1])?);
                // After a restart what is of now is of other sessions, and still true.
                makes.iter().find_map(|make| Some((make, make.value(before, after)?)))
            };
            let known: Vec<_> = looks.windows(2).map(value).collect();
            let momentary = known.iter().flatten().any(|(make, _)| matches!(make, Seen(_)));
            let values = known.into_iter().map(|known| known.map(|(_, value)| value)).collect();
            SampleColumn { momentary, ..column(metric, "engine", unit, values) }
        })
        .collect()
}

/// Whether a counter is of a moment.
pub(super) fn is_gauge(metric: Counter) -> bool {
    COLUMNS.iter().flat_map(|(_, _, makes)| *makes).any(|make| matches!(make, Seen(seen) if *seen == metric))
}

/// What was seen at single moments, by the names of the columns.
pub(super) fn moments(glances: &[&Glance]) -> Vec<SampleColumn> {
    let of_gauges = COLUMNS.into_iter().filter_map(|(metric, unit, makes)| {
        let seen = makes.iter().find_map(|make| if let Seen(counter) = make { Some(*counter) } else { None })?;
        let values = glances.iter().map(|glance| Some(find(&glance.readings, seen)?.value)).collect();
        Some(SampleColumn { momentary: true, ..column(metric, "engine", unit, values) })
    });
    let stopped = glances.iter().map(|glance| Some(if glance.stopped? { 100.0 } else { 0.0 })).collect();
    let stopped = SampleColumn { momentary: true, ..column("server_stopped", "host", "%", stopped) };
    let mut columns: Vec<SampleColumn> = of_gauges.chain([stopped]).collect();
    columns.retain(|column| column.values.iter().any(Option::is_some));
    columns
}

/// Waits of ours by the engine's own names, those that most sessions were in first: what [`columns`] adds up.
pub(super) fn waits(looks: &[&Look]) -> Vec<SampleColumn> {
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    for (name, sessions) in looks.iter().skip(1).flat_map(|look| &look.seen) {
        *sums.entry(name).or_default() += sessions;
    }
    let mut names: Vec<(&str, f64)> = sums.into_iter().collect();
    names.sort_by(|a, b| b.1.total_cmp(&a.1));
    names.truncate(MOST_WAITS);
    let of = |name: &str, look: &Look| {
        said(look)?;
        Some(look.seen.iter().filter(|(other, _)| other == name).fold(0.0, |sum, (_, sessions)| sum + sessions))
    };
    let column = |name: &str| SampleColumn {
        of: Some(shown(name)),
        momentary: true,
        ..column("waiting", "engine", "sessions", looks.iter().skip(1).map(|look| of(name, look)).collect())
    };
    names.into_iter().map(|(name, _)| column(name)).collect()
}

/// Waits with a column of their own: with more a record would grow, and nobody reads them.
const MOST_WAITS: usize = 12;

/// When the engine said nothing, or its counters began anew.
pub(super) fn gaps(looks: &[&Look], from: Moment) -> Vec<SampleGap> {
    let gap = |pair: &[&Look]| {
        let reason = match (pair[0].engine.as_ref()?, pair[1].engine.as_ref()?) {
            (_, Err(reason)) | (Err(reason), Ok(_)) => reason.clone(),
            (Ok(before), Ok(after)) => backwards(before, after)?,
        };
        let [from_seconds, to_seconds] = [pair[0], pair[1]].map(|look| seconds(from, look.at));
        Some(SampleGap { from_seconds, to_seconds, source: "engine".to_owned(), reason })
    };
    let mut gaps: Vec<SampleGap> = looks.windows(2).filter_map(gap).collect();
    join(&mut gaps);
    gaps
}

/// What is to be said of counters that went backwards.
fn backwards(before: &[Reading], after: &[Reading]) -> Option<String> {
    let mut cumulative = COLUMNS.iter().flat_map(|(_, _, makes)| makes.iter()).flat_map(|make| match *make {
        Rate(metric, _) => vec![metric],
        Each(sum, count, _) => vec![sum, count],
        All(metrics) => metrics.to_vec(),
        Now(_) | Seen(_) => Vec::new(),
    });
    let fell = |metric: &Counter| matches!((find(before, *metric), find(after, *metric)), (Some(old), Some(new)) if new.value < old.value);
    let metric = cumulative.find(fell)?;
    let name = metric.name();
    Some(format!("{name} went backwards: the server was restarted, or its statistics were reset"))
}
