//! What files did in a stored run.

use std::collections::HashMap;

use plimsoll_measurement::{FileDelta, FileGrowth, Repetition, RunRecord, foreign};

use crate::activity::{Activity, GB, MB, add, as_counted, is_slow};
use crate::demand::Interval;
use crate::file::FileKind;

/// What each file did in the repetitions of a run: a repetition is an interval. Where the file's busiest time between two looks is known the
/// rate is that, and elsewhere the mean. Empty where nobody counted by file. `unit_bytes` is the size from which on the storage counts a
/// read or write as several.
pub fn of_run(record: &RunRecord, unit_bytes: u64) -> Vec<Activity> {
    let mut all: Vec<(Activity, FileGrowth)> = Vec::new();
    let mut places = HashMap::new();
    for repetition in &record.repetitions {
        for file in repetition.files.iter().filter(|file| !is_syncs(file)) {
            let Some(seconds) = file.elapsed_seconds.filter(|seconds| *seconds > 0.0) else { continue };
            let place = *places.entry((&file.database, &file.file)).or_insert_with(|| {
                all.push((Activity { are_sizes_known: true, ..Activity::default() }, FileGrowth::default()));
                all.len() - 1
            });
            grow(&mut all[place], file, repetition, (seconds, unit_bytes));
        }
    }
    all.into_iter()
        .map(|(activity, sums)| Activity { read_ms: sums.read_ms(), write_ms: sums.write_ms(), ..activity })
        .collect()
}

/// Where a server counts syncs of its log, these have a row of their own, without bytes: they are no reads or writes.
fn is_syncs(file: &FileDelta) -> bool {
    file.kind.as_deref() == Some(FileKind::Log.name()) && file.read_bytes.or(file.write_bytes).is_none()
}

fn grow(
    (activity, sums): &mut (Activity, FileGrowth),
    file: &FileDelta,
    repetition: &Repetition,
    (seconds, unit_bytes): (f64, u64),
) {
    let growth = FileGrowth {
        reads: file.reads,
        writes: file.writes,
        read_bytes: file.read_bytes,
        write_bytes: file.write_bytes,
        read_stall_seconds: file.read_stall_seconds,
        write_stall_seconds: file.write_stall_seconds,
    };
    let limits = file.limits.as_ref();
    let at = |mean: Option<f64>, highest: Option<f64>| Interval {
        start_s: repetition.started_seconds,
        seconds,
        rate: mean.map(|mean| highest.map_or(mean, |highest| highest.max(mean))).or(highest),
        is_bounded: false,
    };
    let iops = as_counted(&growth, unit_bytes).map(|ios| ios / seconds);
    let mb_per_s = growth.bytes().map(|bytes| bytes as f64 / MB / seconds);
    let highest = limits.and_then(|used| used.highest_mb_per_second);
    activity.iops.intervals.push(at(iops, limits.and_then(|used| used.highest_iops)));
    activity.mb_per_s.intervals.push(at(mb_per_s, highest));
    // Of the busiest time both together are known: where nothing was read that is what was written.
    let written = growth.write_bytes.map(|bytes| bytes as f64 / MB / seconds);
    let written = written.filter(|_| highest.is_none() || growth.read_bytes == Some(0));
    activity.written_mb_per_s.intervals.push(at(written, written.and(highest)));
    activity.are_sizes_known &= growth.bytes().is_some();
    activity.slow += usize::from(is_slow(growth.read_ms(), growth.write_ms()));
    activity.database = file.database.as_deref().map(foreign::plain);
    activity.name = foreign::plain(&file.file);
    activity.kind =
        file.kind.as_deref().map(|kind| if kind == FileKind::Log.name() { FileKind::Log } else { FileKind::Data });
    let size_bytes = file.size_bytes.or(limits.and_then(|used| used.size_bytes));
    activity.size_gb = size_bytes.map(|bytes| bytes as f64 / GB);
    activity.is_limited |= limits.is_some();
    add(sums, &growth);
}
