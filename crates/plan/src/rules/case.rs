//! What the rules look at.

use crate::file::{DatabaseFile, FileKind};
use crate::limits::{FileLimits, Limits};
use crate::storage::{LimitOf, Storage};

/// How much of the limit that it comes nearer to a file uses, in percent; `None` where one of both is not known.
pub fn used(file: &DatabaseFile, limits: &FileLimits) -> Option<(f64, LimitOf)> {
    let step = limits.step.as_ref()?;
    let percent = |seen: Option<f64>, limit: Option<f64>| Some(100.0 * seen? / limit?);
    let iops = percent(file.iops, step.iops).map(|percent| (percent, LimitOf::Iops));
    let rate = percent(file.mb_per_s, step.mb_per_s).map(|percent| (percent, LimitOf::Bandwidth));
    iops.into_iter().chain(rate).max_by(|a, b| a.0.total_cmp(&b.0))
}

/// What the rules look at.
pub struct Case<'a> {
    pub files: &'a [DatabaseFile],
    pub storage: &'a Storage<'a>,
    pub limits: &'a Limits,
    /// Files at a limit, those that use most of it first. Of a database the log comes first.
    pub at_limit: Vec<usize>,
    /// Whether sessions wait for the governor of the log's rate.
    pub waits_for_governor: bool,
}

impl Case<'_> {
    pub fn percent(&self, at: usize) -> f64 {
        used(&self.files[at], &self.limits.files[at]).map_or(0.0, |(percent, _)| percent)
    }

    /// Databases by what their busiest file uses; within one the log first, then by use.
    pub fn in_order(&mut self) {
        let of_database = |at: usize| {
            let own = self.at_limit.iter().filter(|other| self.files[**other].is_beside(&self.files[at]));
            own.map(|other| self.percent(*other)).fold(0.0, f64::max)
        };
        let key = |at: usize| {
            let is_log = self.files[at].kind == FileKind::Log;
            (of_database(at), self.files[at].database.to_lowercase(), is_log, self.percent(at))
        };
        let mut keyed: Vec<_> = self.at_limit.iter().map(|at| (key(*at), *at)).collect();
        keyed.sort_by(|(a, _), (b, _)| {
            let by_database = b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1));
            by_database.then(b.2.cmp(&a.2)).then(b.3.total_cmp(&a.3))
        });
        self.at_limit = keyed.into_iter().map(|(_, at)| at).collect();
    }

    /// MB a second of all logs, each at its busiest, without that of one.
    pub fn logs_mb_per_s(&self, without: Option<usize>) -> f64 {
        let logs = self.logs().filter(|at| Some(*at) != without);
        logs.filter_map(|at| self.files[at].mb_per_s).sum()
    }

    pub fn logs(&self) -> impl Iterator<Item = usize> {
        (0..self.files.len()).filter(|at| self.files[*at].kind == FileKind::Log && !self.files[*at].is_of_tempdb())
    }
}
