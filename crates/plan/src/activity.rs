//! What files or disks did over time: rates between neighbouring looks at counters that only grow, by the clock of who counted them.

use std::collections::HashMap;

use plimsoll_measurement::{FileGrowth, FileRow, Files, Moment, Window, foreign};

use crate::advice::{ABOVE_PERCENT, AT_LIMIT_PERCENT};
use crate::demand::{Demand, Interval};
use crate::file::{AtLimit, DatabaseFile, FileKind};
use crate::limits::FileLimits;

pub(crate) const MB: f64 = (1 << 20) as f64;
pub(crate) const GB: f64 = (1 << 30) as f64;

/// More files than these are not looked at.
const MOST_FILES: usize = 20_000;

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
    /// MB written a second, of which a rate is absent where nobody counted it apart.
    pub written_mb_per_s: Demand,
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
        let written_mb_per_s = self.written();
        let size_gb = self.size_gb.filter(|gb| *gb > 0.0)?;
        let file = DatabaseFile::new(self.database.as_deref()?, &self.name, self.kind?, size_gb);
        Some(DatabaseFile { iops, mb_per_s, written_mb_per_s, read_ms, write_ms, ..file })
    }

    /// MB written a second at its busiest; `None` where that may be a time of which only reads and writes together are known.
    pub fn written(&self) -> Option<f64> {
        let are_parted = self.written_mb_per_s.known().count() >= self.mb_per_s.known().count();
        self.written_mb_per_s.highest().filter(|_| are_parted)
    }

    /// In how many intervals it was near a limit of these.
    pub fn at_limit(&self, limits: &FileLimits) -> Option<AtLimit> {
        let step = limits.step.as_ref()?;
        let most = |percent: f64| {
            let of = |demand: &Demand, limit: Option<f64>| limit.map(|limit| demand.near(limit, percent) as u64);
            [of(&self.iops, step.iops), of(&self.mb_per_s, step.mb_per_s)].into_iter().flatten().max()
        };
        let known = self.iops.known().count().max(self.mb_per_s.known().count());
        let intervals = most(AT_LIMIT_PERCENT).filter(|_| known > 0)?;
        Some(AtLimit { intervals, of: Some(known as u64), above: most(ABOVE_PERCENT) })
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
    let mut watch = Watch::new(unit_bytes);
    looks.iter().cloned().for_each(|look| watch.take(look));
    watch.done()
}

/// Looks as they come, of which only what files did between them is kept.
#[derive(Debug)]
pub struct Watch {
    unit_bytes: u64,
    origin: Moment,
    /// Looks so far, and the last of them that anybody answered.
    looks: usize,
    answered: usize,
    /// When the last one was.
    end: Moment,
    /// Looks at a file, of all files.
    intervals: usize,
    seen: Vec<Seen>,
    /// Places of files by their names, and by what a new name does not change.
    by_name: HashMap<(Option<String>, String, &'static str), usize>,
    by_handle: HashMap<String, usize>,
}

/// A file, as it was last seen.
#[derive(Debug)]
struct Seen {
    activity: Activity,
    last: FileRow,
    at: usize,
    window: Window,
    sums: FileGrowth,
}

impl Watch {
    /// Nothing was seen yet.
    pub fn new(unit_bytes: u64) -> Self {
        Self {
            unit_bytes,
            origin: Moment::default(),
            looks: 0,
            answered: 0,
            end: Moment::default(),
            intervals: 0,
            seen: Vec::new(),
            by_name: HashMap::new(),
            by_handle: HashMap::new(),
        }
    }

    /// One more look.
    pub fn take(&mut self, look: Files) {
        if self.looks == 0 {
            self.origin = look.window.end;
        }
        self.looks += 1;
        self.end = look.window.end;
        if !look.rows.is_empty() {
            self.answered = self.looks;
        }
        for row in look.rows {
            // A server that was started again may know a file by another handle.
            let names = (row.database.clone(), row.name.clone(), row.kind);
            let by_handle = row.handle.as_ref().and_then(|handle| self.by_handle.get(handle));
            let place = by_handle.or_else(|| self.by_name.get(&names)).copied();
            // A server that makes up files without end gets no more room.
            if place.is_none() && self.seen.len() == MOST_FILES {
                continue;
            }
            let place = place.unwrap_or_else(|| {
                self.seen.push(Seen::new(&row, self.looks, look.window));
                self.seen.len() - 1
            });
            let seen = &mut self.seen[place];
            // A file has one name and one handle at a time.
            let last = (seen.last.database.clone(), seen.last.name.clone(), seen.last.kind);
            if last != names && self.by_name.get(&last) == Some(&place) {
                self.by_name.remove(&last);
            }
            self.by_name.insert(names, place);
            if let Some(old) = seen.last.handle.as_ref().filter(|old| row.handle.as_ref() != Some(old)) {
                self.by_handle.remove(old);
            }
            if let Some(handle) = &row.handle {
                self.by_handle.insert(handle.clone(), place);
            }
            self.intervals += 1;
            if seen.at < self.looks {
                seen.grow(&row, look.window, (self.looks, self.origin), self.unit_bytes);
            }
            (seen.last, seen.at, seen.window) = (row, self.looks, look.window);
        }
    }

    /// How many looks at a file are kept, of all files together.
    pub const fn kept(&self) -> usize {
        self.intervals
    }

    /// What each file did. From the last answer on nothing is known of those that were there then.
    pub fn done(mut self) -> Vec<Activity> {
        for seen in self.seen.iter_mut().filter(|seen| seen.at == self.answered && self.looks > self.answered) {
            seen.gap(self.end, self.origin);
        }
        self.seen.into_iter().map(Seen::done).collect()
    }
}

impl Seen {
    fn new(row: &FileRow, at: usize, window: Window) -> Self {
        let activity = Activity { are_sizes_known: true, ..Activity::default() };
        Self { activity, last: row.clone(), at, window, sums: FileGrowth::default() }
    }

    /// An interval from the last look that has the file to this one.
    fn grow(&mut self, row: &FileRow, window: Window, (at, origin): (usize, Moment), unit_bytes: u64) {
        let seconds = self.window.seconds_until(window);
        let is_known = at - self.at == 1 && self.last.is_same(row);
        let growth = FileGrowth::between(&self.last, row).filter(|_| is_known).zip(seconds);
        let interval = Interval {
            start_s: self.window.end.since(origin).as_secs_f64(),
            seconds: seconds.unwrap_or_else(|| window.end.since(self.window.end).as_secs_f64()),
            rate: None,
            is_bounded: false,
        };
        let ios = growth.as_ref().and_then(|(growth, seconds)| Some(as_counted(growth, unit_bytes)? / seconds));
        let mb = growth.as_ref().and_then(|(growth, seconds)| Some(growth.bytes()? as f64 / MB / seconds));
        self.activity.iops.intervals.push(Interval { rate: ios, ..interval });
        let written = growth.as_ref().and_then(|(growth, seconds)| Some(growth.write_bytes? as f64 / MB / seconds));
        self.activity.mb_per_s.intervals.push(Interval { rate: mb, ..interval });
        self.activity.written_mb_per_s.intervals.push(Interval { rate: written, ..interval });
        if let Some((growth, _)) = growth {
            self.activity.are_sizes_known &= growth.bytes().is_some();
            self.activity.slow += usize::from(is_slow(growth.read_ms(), growth.write_ms()));
            add(&mut self.sums, &growth);
        }
    }

    /// A time of which nothing is known, from the last look that has the file on.
    fn gap(&mut self, end: Moment, origin: Moment) {
        let interval = Interval {
            start_s: self.window.end.since(origin).as_secs_f64(),
            seconds: end.since(self.window.end).as_secs_f64(),
            rate: None,
            is_bounded: false,
        };
        for demand in [&mut self.activity.iops, &mut self.activity.mb_per_s, &mut self.activity.written_mb_per_s] {
            demand.intervals.push(interval);
        }
    }

    fn done(self) -> Activity {
        let (last, sums) = (self.last, self.sums);
        Activity {
            database: last.database.as_deref().map(foreign::plain),
            name: foreign::plain(&last.name),
            kind: Some(kind_of(&last)),
            size_gb: last.size_bytes.map(|bytes| bytes as f64 / GB),
            is_limited: last.limit.is_some(),
            read_ms: sums.read_ms(),
            write_ms: sums.write_ms(),
            ..self.activity
        }
    }
}

/// What a server says of a file, and of its folders their path.
fn kind_of(row: &FileRow) -> FileKind {
    let by_path = row.path.as_deref().and_then(FileKind::of_path);
    match by_path {
        _ if row.kind == FileKind::Log.name() => FileKind::Log,
        Some(FileKind::Container) => FileKind::Container,
        _ => FileKind::Data,
    }
}

/// Whether reads or writes took so long that the disk was busy itself.
pub(crate) fn is_slow(read_ms: Option<f64>, write_ms: Option<f64>) -> bool {
    read_ms.into_iter().chain(write_ms).any(|ms| ms >= BUSY_MS)
}

/// Reads and writes as the storage counts them. Those that are larger than its unit it counts as several; how many are is not known, so
/// this is the least that it can have counted.
pub(crate) fn as_counted(growth: &FileGrowth, unit_bytes: u64) -> Option<f64> {
    let least = |count: Option<u64>, bytes: Option<u64>| {
        count.map(|count| count.max(bytes.map_or(0, |bytes| bytes.div_ceil(unit_bytes.max(1)))))
    };
    let both = [least(growth.reads, growth.read_bytes), least(growth.writes, growth.write_bytes)];
    both.into_iter().flatten().reduce(u64::saturating_add).map(|count| count as f64)
}

/// Adds what grew in an interval.
pub(crate) fn add(all: &mut FileGrowth, growth: &FileGrowth) {
    let sum = |all: Option<u64>, one: Option<u64>| one.map_or(all, |one| Some(all.unwrap_or(0).saturating_add(one)));
    let time = |all: Option<f64>, one: Option<f64>| one.map_or(all, |one| Some(all.unwrap_or(0.0) + one));
    all.reads = sum(all.reads, growth.reads);
    all.writes = sum(all.writes, growth.writes);
    all.read_stall_seconds = time(all.read_stall_seconds, growth.read_stall_seconds);
    all.write_stall_seconds = time(all.write_stall_seconds, growth.write_stall_seconds);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that is gone from the third look on: half of the time is not known.
    #[test]
    fn after_the_last_answer_nothing_is_known() {
        let look = |second: u64, reads: Option<u64>| {
            let at = Moment::from_nanos(second * 1_000_000_000);
            let row = |reads| FileRow {
                name: "a".to_owned(),
                kind: "data",
                reads: Some(reads),
                read_bytes: Some(0),
                ..FileRow::default()
            };
            Files { rows: reads.map(row).into_iter().collect(), window: Window { start: at, end: at } }
        };
        let looks = [look(0, Some(1)), look(1, Some(11)), look(2, None), look(3, None)];
        let found = between(&looks, 1 << 18).remove(0);
        let rates: Vec<(f64, Option<f64>)> = found.iops.intervals.iter().map(|one| (one.seconds, one.rate)).collect();
        assert_eq!(rates, [(1.0, Some(10.0)), (2.0, None)]);
        assert_eq!(found.iops.coverage_percent().map(f64::round), Some(33.0));
        let folder = FileRow { path: Some("https://x/a/b.XTP".to_owned()), kind: "data", ..FileRow::default() };
        assert_eq!(kind_of(&folder), FileKind::Container);
        assert_eq!(kind_of(&FileRow { kind: "log", ..folder }), FileKind::Log);
        // A file that is dropped while others are there has no more time.
        let mut kept = [look(0, Some(1)), look(1, Some(2)), look(2, Some(3))];
        for look in &mut kept {
            look.rows.push(FileRow { name: "b".to_owned(), ..look.rows[0].clone() });
        }
        kept[2].rows.remove(0);
        assert_eq!(between(&kept, 1 << 18)[0].iops.intervals.len(), 1);
    }
}
