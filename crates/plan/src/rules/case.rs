//! What the rules look at.

use super::observed::WaitShares;
use crate::advice::AT_LIMIT_PERCENT;
use crate::file::{DatabaseFile, FileKind};
use crate::gain::Unthrottled;
use crate::limits::{FileLimits, Limits};
use crate::storage::{LimitOf, Step, Storage};

/// How much of the limit that it comes nearer to a file uses, in percent; `None` where one of both is not known.
pub fn used(file: &DatabaseFile, limits: &FileLimits) -> Option<(f64, LimitOf)> {
    used_of(file, limits.step.as_ref()?)
}

/// The same of these limits.
pub fn used_of(file: &DatabaseFile, step: &Step) -> Option<(f64, LimitOf)> {
    let percent = |seen: Option<f64>, limit: Option<f64>| Some(100.0 * seen? / limit?);
    let iops = percent(file.iops, step.iops).map(|percent| (percent, LimitOf::Iops));
    let rate = percent(file.mb_per_s, step.mb_per_s).map(|percent| (percent, LimitOf::Bandwidth));
    iops.into_iter().chain(rate).max_by(|a, b| a.0.total_cmp(&b.0))
}

/// How long the slower of a read and a write takes; a mean of 0 is none that was measured.
pub fn slower_ms(file: &DatabaseFile) -> Option<f64> {
    file.read_ms.into_iter().chain(file.write_ms).reduce(f64::max).filter(|ms| *ms > 0.0)
}

/// From this part on a file is full: rows come into none that is so, as far as that is known.
const FULL_PART: f64 = 0.95;

/// Whether a file takes no more rows.
pub fn is_full(file: &DatabaseFile) -> bool {
    file.used_gb.is_some_and(|used| used >= FULL_PART * file.size_gb)
}

/// What the rules look at.
#[derive(Clone)]
pub struct Case<'a> {
    pub files: &'a [DatabaseFile],
    pub storage: &'a Storage<'a>,
    pub limits: &'a Limits,
    /// Files at a limit, those that use most of it first. Of a database the log comes first.
    pub at_limit: Vec<usize>,
    /// What sessions wait for, where that is storage most of the time.
    pub waits: Option<WaitShares>,
    /// Whether sessions wait for the governor of the log's rate.
    pub waits_for_governor: bool,
    /// Whether the CPU is used up, so that no file makes it do more.
    pub is_cpu_busy: bool,
    /// How much of what they can files give back at least where there is no room for further ones, in sixteenths.
    pub gives_back: u32,
    /// Files that other rules leave smaller, and their sizes then, in GB, where the room for what is asked for is to come from these.
    pub smaller: Vec<(usize, f64)>,
    /// Files for which there is no room yet, and the GB of files and of blobs that all else leaves for them.
    pub left: (Vec<usize>, [f64; 2]),
}

impl Case<'_> {
    pub fn percent(&self, at: usize) -> f64 {
        used(&self.files[at], &self.limits.files[at]).map_or(0.0, |(percent, _)| percent)
    }

    /// How long an operation takes below its limits: at best as it is published, or as reads or writes of a file took that is known to stand
    /// at none.
    pub fn unthrottled_ms(&self) -> Unthrottled {
        let [published, most] = self.storage.unthrottled_ms();
        let is_free = |at: &usize| {
            let used = used(&self.files[*at], &self.limits.files[*at]);
            !self.files[*at].is_of_tempdb() && used.is_some_and(|(percent, _)| percent < AT_LIMIT_PERCENT)
        };
        let own = (0..self.files.len()).filter(is_free).map(|at| &self.files[at]);
        let seen = own.flat_map(|file| file.read_ms.into_iter().chain(file.write_ms)).filter(|ms| *ms > 0.0);
        Unthrottled { least: seen.fold(published, f64::min), most }
    }

    /// The share of files of this kind in all waits, in percent, where sessions wait mostly for storage. The log's own governor is no file.
    pub fn waited_percent(&self, kind: FileKind) -> Option<f64> {
        self.waits.map(|waits| if kind == FileKind::Log { waits.log } else { waits.data })
    }

    /// Whether data files go before the log: sessions wait for them, and less for the log.
    pub fn is_data_first(&self) -> bool {
        self.waits.is_some_and(|waits| waits.data > waits.log)
    }

    /// Databases by what their busiest file of these uses; within one the log first, unless sessions wait for data, then by use.
    pub fn in_order(&self, all: &[usize]) -> Vec<usize> {
        // What was seen in one interval of several may not come again. Of files that use as much, those that did so more often come first.
        let of_file = |at: usize| {
            let intervals = self.files[at].at_limit.map_or(2, |seen| seen.intervals);
            let once = if intervals == 1 { -100.0 } else { 0.0 };
            self.percent(at) + once + (intervals as f64 / 1e9).min(1e-3)
        };
        let of_database = |at: usize| {
            let own = all.iter().filter(|other| self.files[**other].is_beside(&self.files[at]));
            own.map(|other| of_file(*other)).fold(f64::NEG_INFINITY, f64::max)
        };
        let key = |at: usize| {
            let is_first = (self.files[at].kind == FileKind::Log) != self.is_data_first();
            (of_database(at), self.files[at].database.to_lowercase(), is_first, of_file(at))
        };
        let mut keyed: Vec<_> = all.iter().map(|at| (key(*at), *at)).collect();
        keyed.sort_by(|(a, _), (b, _)| {
            let by_database = b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1));
            let by_kind = b.2.cmp(&a.2);
            // What sessions wait for comes first, of whatever database.
            let first = if self.waits.is_some() { by_kind } else { std::cmp::Ordering::Equal };
            first.then(by_database).then(by_kind).then(b.3.total_cmp(&a.3))
        });
        keyed.into_iter().map(|(_, at)| at).collect()
    }

    /// MB a second by which all logs grew, each at its busiest.
    pub fn logs_mb_per_s(&self) -> f64 {
        self.logs().filter_map(|at| self.files[at].grew_mb_per_s()).sum()
    }

    /// The same where it is known, and by how much they may.
    pub fn log_growth(&self) -> [Option<f64>; 2] {
        let is_known = self.logs().any(|at| self.files[at].grew_mb_per_s().is_some());
        let seen = is_known.then(|| self.logs_mb_per_s());
        [seen, self.storage.tier.log_mb_per_second(self.storage.wishes.vcores)]
    }

    pub fn logs(&self) -> impl Iterator<Item = usize> {
        (0..self.files.len()).filter(|at| self.files[*at].kind == FileKind::Log && !self.files[*at].is_of_tempdb())
    }
}
