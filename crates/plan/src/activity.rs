//! What files or disks did over time: rates between neighbouring looks at counters that only grow, by the clock of who counted them.

use plimsoll_measurement::{FileGrowth, FileRow, Files, foreign};

use crate::advice::AT_LIMIT_PERCENT;
use crate::demand::{Demand, Interval};
use crate::file::{AtLimit, DatabaseFile, FileKind};
use crate::limits::FileLimits;

const MB: f64 = (1 << 20) as f64;
const GB: f64 = (1 << 30) as f64;

/// What a file did, or a disk that a file may come from.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Activity {
    /// The database; absent for a disk, and where the server does not say it.
    pub database: Option<String>,
    /// The file's logical name, or the disk's.
    pub name: String,
    /// What is in it; absent for a disk.
    pub kind: Option<FileKind>,
    /// How large the file was in the end, in GB.
    pub size_gb: Option<f64>,
    /// Whether it was held to the limits of its size where it was counted.
    pub is_limited: bool,
    /// Reads and writes a second as the storage counts them: a larger one than its unit counts as several.
    pub iops: Demand,
    /// Whether the sizes of reads and writes were known, without which each counts as one.
    pub are_sizes_known: bool,
    /// MB read and written a second.
    pub mb_per_s: Demand,
    /// Mean time of a read, in ms.
    pub read_ms: Option<f64>,
    /// Mean time of a write, in ms.
    pub write_ms: Option<f64>,
    /// Intervals in which reads or writes took [`BUSY_MS`] or more on average.
    pub slow: usize,
}

/// From this time on a disk is busy itself, in ms, so that it may do less than is wanted.
pub const BUSY_MS: f64 = 20.0;

impl Activity {
    /// The file as plans have it, at its busiest; `None` where its size or its database is not known.
    pub fn file(&self) -> Option<DatabaseFile> {
        let (iops, mb_per_s) = (self.iops.highest(), self.mb_per_s.highest());
        let (read_ms, write_ms) = (self.read_ms, self.write_ms);
        let size_gb = self.size_gb.filter(|gb| *gb > 0.0)?;
        let file = DatabaseFile::new(self.database.as_deref()?, &self.name, self.kind?, size_gb);
        Some(DatabaseFile { iops, mb_per_s, read_ms, write_ms, ..file })
    }

    /// In how many intervals it was near a limit of these.
    pub fn at_limit(&self, limits: &FileLimits) -> Option<AtLimit> {
        let step = limits.step.as_ref()?;
        let near = |demand: &Demand, limit: Option<f64>| limit.map(|limit| demand.near(limit, AT_LIMIT_PERCENT));
        let both = [near(&self.iops, step.iops), near(&self.mb_per_s, step.mb_per_s)];
        let known = self.iops.known().count().max(self.mb_per_s.known().count());
        let intervals = both.into_iter().flatten().max().filter(|_| known > 0)?;
        Some(AtLimit { intervals: intervals as u64, of: Some(known as u64) })
    }

    /// Marks intervals in which the file stood at a limit that it has where it was counted: what was wanted then may have been more.
    pub fn bound(&mut self, limits: &FileLimits) {
        let Some(step) = limits.step.as_ref().filter(|_| self.is_limited) else { return };
        if let Some(limit) = step.iops {
            self.iops.bound(limit, AT_LIMIT_PERCENT);
        }
        if let Some(limit) = step.mb_per_s {
            self.mb_per_s.bound(limit, AT_LIMIT_PERCENT);
        }
    }
}

/// What each file did between looks. The last look of a file has no pair. A counter that began anew, and a look without the file, leave a
/// gap. `unit_bytes` is the size from which on the storage counts a read or write as several.
pub fn between(looks: &[Files], unit_bytes: u64) -> Vec<Activity> {
    let mut seen: Vec<Vec<(usize, &FileRow)>> = Vec::new();
    for (at, look) in looks.iter().enumerate() {
        for row in &look.rows {
            // A server that was started again may know a file by another handle.
            let is_of = |last: &FileRow| {
                let names = |row: &FileRow| (row.database.clone(), row.name.clone(), row.kind);
                last.is_same(row) || names(last) == names(row)
            };
            match seen.iter_mut().find(|rows| rows.last().is_some_and(|(_, last)| is_of(last))) {
                Some(rows) => rows.push((at, row)),
                None => seen.push(vec![(at, row)]),
            }
        }
    }
    seen.iter().filter_map(|rows| of_file(rows, looks, unit_bytes)).collect()
}

fn of_file(rows: &[(usize, &FileRow)], looks: &[Files], unit_bytes: u64) -> Option<Activity> {
    let (_, last) = rows.last()?;
    let mut sums = Sums::default();
    let mut activity = Activity {
        database: last.database.as_deref().map(foreign::plain),
        name: foreign::plain(&last.name),
        kind: Some(if last.kind == FileKind::Log.name() { FileKind::Log } else { FileKind::Data }),
        size_gb: last.size_bytes.map(|bytes| bytes as f64 / GB),
        is_limited: last.limit.is_some(),
        are_sizes_known: true,
        ..Activity::default()
    };
    let origin = looks.first()?.window.end;
    for pair in rows.windows(2) {
        let [(before, old), (after, new)] = pair else { continue };
        let (start, end) = (looks[*before].window, looks[*after].window);
        let seconds = start.seconds_until(end);
        let is_known = after - before == 1 && old.is_same(new);
        let growth = FileGrowth::between(old, new).filter(|_| is_known).zip(seconds);
        let interval = Interval {
            start_s: start.end.since(origin).as_secs_f64(),
            seconds: seconds.unwrap_or_else(|| end.end.since(start.end).as_secs_f64()),
            rate: None,
            is_bounded: false,
        };
        let ios = growth.as_ref().and_then(|(growth, seconds)| Some(as_counted(growth, unit_bytes)? / seconds));
        let mb = growth.as_ref().and_then(|(growth, seconds)| Some(growth.bytes()? as f64 / MB / seconds));
        activity.iops.intervals.push(Interval { rate: ios, ..interval });
        activity.mb_per_s.intervals.push(Interval { rate: mb, ..interval });
        if let Some((growth, _)) = growth {
            activity.are_sizes_known &= growth.bytes().is_some();
            activity.slow += usize::from(is_slow(growth.read_ms(), growth.write_ms()));
            sums.add(&growth);
        }
    }
    activity.read_ms = sums.0.read_ms();
    activity.write_ms = sums.0.write_ms();
    Some(activity)
}

/// Whether reads or writes took so long that the disk was busy itself.
pub(crate) fn is_slow(read_ms: Option<f64>, write_ms: Option<f64>) -> bool {
    read_ms.into_iter().chain(write_ms).any(|ms| ms >= BUSY_MS)
}

/// Reads and writes as the storage counts them. Those that are larger than its unit it counts as several; how many are is not known, so
/// this is the least that it can have counted.
fn as_counted(growth: &FileGrowth, unit_bytes: u64) -> Option<f64> {
    let least = |count: Option<u64>, bytes: Option<u64>| {
        count.map(|count| count.max(bytes.map_or(0, |bytes| bytes.div_ceil(unit_bytes.max(1)))))
    };
    let both = [least(growth.reads, growth.read_bytes), least(growth.writes, growth.write_bytes)];
    both.into_iter().flatten().reduce(u64::saturating_add).map(|count| count as f64)
}

/// What grew in all known intervals.
#[derive(Default)]
struct Sums(FileGrowth);

impl Sums {
    fn add(&mut self, growth: &FileGrowth) {
        let sum =
            |all: Option<u64>, one: Option<u64>| one.map_or(all, |one| Some(all.unwrap_or(0).saturating_add(one)));
        let time = |all: Option<f64>, one: Option<f64>| one.map_or(all, |one| Some(all.unwrap_or(0.0) + one));
        let all = &mut self.0;
        all.reads = sum(all.reads, growth.reads);
        all.writes = sum(all.writes, growth.writes);
        all.read_stall_seconds = time(all.read_stall_seconds, growth.read_stall_seconds);
        all.write_stall_seconds = time(all.write_stall_seconds, growth.write_stall_seconds);
    }
}
