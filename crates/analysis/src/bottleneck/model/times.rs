//! How long operations of devices and of the log take, where the engine or its device says it.

use super::super::means::{Means, operations};
use super::super::rules::{Rule, Station};
use super::super::usage::highest;
use super::{EXPLAINED, Model};
use crate::summary;

impl Model<'_> {
    /// How long operations take at a limit, and how long while the limit was hardly used: milliseconds, with what it is in words.
    pub fn latencies(&self, rule: &Rule) -> Vec<(&'static str, f64, Option<f64>)> {
        let known = |column: &str| self.means.column(column).is_some();
        let (devices, engines): (Vec<_>, Vec<_>) = rule
            .latency
            .iter()
            .filter(|(column, _)| known(column))
            .partition(|(column, _)| device_of(column).is_some());
        if !engines.is_empty() {
            return engines.into_iter().filter_map(|(column, words)| self.latency(rule, column, words)).collect();
        }
        if let Some(ms) = self.flush_ms().filter(|_| rule.station() == Some(Station::Log)) {
            return vec![("a write of the log with its sync", ms, None)];
        }
        // What a limit holds back is not at the device yet, which so counts too short a time.
        let is_held = |column: &str| {
            device_of(column).is_some_and(|device| self.ceilings.iter().any(|one| one.resource.starts_with(device)))
        };
        let first = devices.into_iter().find(|(column, _)| !is_held(column) && self.explains(column, rule));
        first.and_then(|(column, words)| self.latency(rule, column, words)).into_iter().collect()
    }

    /// Whether the device's operations take a good part of what sessions wait for them. What takes the rest is above the device: a file
    /// system, a network, a quota. The device's own time would mislead then.
    fn explains(&self, column: &str, rule: &Rule) -> bool {
        let rate = operations(column).and_then(|name| self.means.column(&name));
        let (Some(rate), Some(ms), Some(waiting)) = (rate, self.means.time_of_each(column), self.waiting(rule)) else {
            return true;
        };
        if !self.is_mostly_the_servers(column) {
            return false;
        }
        // One write of the log serves all that wait for it.
        let waiting = if rule.station() == Some(Station::Log) { waiting.min(1.0) } else { waiting };
        rate * ms / 1e3 >= EXPLAINED * waiting
    }

    /// Whether most of what a device carries is the server's, where both are known.
    fn is_mostly_the_servers(&self, column: &str) -> bool {
        let [own, all] = if column == "disk_read_latency" {
            ["device_read_rate", "disk_read_rate"]
        } else if column == "disk_write_latency" {
            ["device_write_rate", "disk_write_rate"]
        } else {
            return true;
        };
        self.means.column(own).zip(self.means.column(all)).is_none_or(|(own, all)| own >= EXPLAINED * all)
    }

    fn latency(&self, rule: &Rule, column: &str, words: &'static str) -> Option<(&'static str, f64, Option<f64>)> {
        let is_at_ease = |one: &Means<'_>| {
            highest(one, self.ceilings, rule).is_some_and(|used| used.part > 0.0 && used.part <= AT_EASE)
        };
        let at_ease: Vec<f64> = self
            .means
            .each_of_all()
            .filter(is_at_ease)
            .filter_map(|one| one.column(column))
            .filter(|ms| *ms > 0.0)
            .collect();
        let unthrottled = summary::median(&at_ease).filter(|_| at_ease.len() >= LEAST_AT_EASE);
        Some((words, self.means.time_of_each(column)?, unthrottled))
    }

    /// How long a flush of the log took in milliseconds, where the engine takes no times: the sessions that were seen to flush are the rate
    /// of syncs times that (Little's law).
    fn flush_ms(&self) -> Option<f64> {
        let syncs = self.means.column("log_syncs").filter(|syncs| *syncs >= LEAST_SYNCS && !self.others_write_log())?;
        Some(1e3 * self.means.column("flushing_log").filter(|flushing| *flushing > 0.0)? / syncs)
    }

    /// The part of the time with sessions that wait for the log in which it was written or synced. In the rest they wait for each other:
    /// for a delay that gathers commits, or for locks of the log in memory. `None` where that is not seen.
    pub fn flushed(&self) -> Option<f64> {
        // Of sums that the server makes nobody is left out.
        let is_seen_of_sessions = self.means.is_momentary(&["flushing_log"]);
        let flushing =
            self.means.column("flushing_log").filter(|_| !(is_seen_of_sessions && self.others_write_log()))?;
        let waited = self.means.seen_part("waiting_for_log_write").filter(|part| *part > 0.0)?;
        Some((flushing / waited).min(1.0))
    }

    /// Whether the log is written by others than sessions that commit, such as a process of the server: nobody sees for how long.
    fn others_write_log(&self) -> bool {
        let of = |column| self.means.column(column);
        of("log_writes").zip(of("log_syncs")).is_some_and(|(writes, syncs)| writes > MOST_WRITES_A_SYNC * syncs)
    }
}

/// The device that a column is of, as the beginning of the names of its limits.
fn device_of(column: &str) -> Option<&'static str> {
    ["disk_", "log_disk_"].into_iter().find(|device| column.starts_with(device))
}

/// Writes of the log for each sync from which on others than commits write it.
const MOST_WRITES_A_SYNC: f64 = 1.3;
/// Syncs a second of which a mean time is told.
const LEAST_SYNCS: f64 = 1.0;
/// Intervals in which at most this part of a limit is used show what it does unthrottled, if there are so many of them.
const AT_EASE: f64 = 0.5;
const LEAST_AT_EASE: usize = 2;
