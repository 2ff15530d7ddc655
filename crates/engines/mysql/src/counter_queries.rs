//! What a sampler makes of the answers of a MariaDB or MySQL server.
//!
//! Source: the manuals' chapters on status variables, thread states and the Performance Schema, and what MariaDB 10.11 and 11.4
//! and MySQL 9.7 were seen to count.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_measurement::Counter;

use super::product::Product;

/// The Performance Schema counts time in picoseconds.
pub(super) const TIMER: f64 = 1e-12;

/// Values of the status by name in small letters.
pub(super) type Status = BTreeMap<String, u64>;

pub(super) fn of(status: &Status, name: &str) -> Option<f64> {
    status.get(&name.to_ascii_lowercase()).map(|value| *value as f64)
}

/// Counters of the status that need no more thought.
pub(super) fn counters(status: &Status, product: Product, is_direct: bool) -> Vec<(Counter, f64)> {
    let writes = match product {
        Product::MariaDb => "Innodb_data_writes",
        // There the others have the log's in them.
        Product::MySql => "Innodb_pages_written",
    };
    let direct = |value: Option<f64>| value.filter(|_| is_direct);
    let syncs = of(status, "Innodb_os_log_fsyncs");
    [
        (Counter::CacheMissPages, of(status, "Innodb_pages_read")),
        (Counter::CacheLookupPages, of(status, "Innodb_buffer_pool_read_requests")),
        (Counter::DeviceReadBytes, direct(of(status, "Innodb_data_read"))),
        (Counter::LogWriteBytes, of(status, "Innodb_os_log_written")),
        (Counter::DataReads, of(status, "Innodb_data_reads")),
        (Counter::DataWrites, of(status, writes)),
        (Counter::LogWrites, of(status, "Innodb_log_writes")),
        (Counter::LogSyncs, syncs),
        // MariaDB counts those of all its files together.
        (Counter::FileSyncs, of(status, "Innodb_data_fsyncs").filter(|_| syncs.is_none())),
    ]
    .into_iter()
    .filter_map(|(metric, value)| Some((metric, value?)))
    .collect()
}

/// What two readings of the status tell of the time between them, beside growth.
#[derive(Debug, Default)]
pub(super) struct Follow {
    last: Option<Last>,
    commits: f64,
}

/// Counters of what begins and ends transactions of several statements.
const EXPLICIT: [&str; 3] = ["com_begin", "com_commit", "com_rollback"];

#[derive(Debug, Clone, Copy)]
struct Last {
    commits: f64,
    /// Transactions of several statements that began or ended.
    explicit: u64,
    uptime: f64,
    waits: f64,
    waiting: f64,
}

impl Follow {
    /// Commits, where each statement is its own transaction: the server counts commits of statements, also of those inside
    /// transactions, be they rolled back later. And the time waited for row locks, which is counted when a wait ends: as long as
    /// the same ones wait it is not known.
    pub(super) fn next(&mut self, status: &Status) -> Vec<(Counter, f64)> {
        let value = |name: &str| of(status, name);
        let mut known = Vec::new();
        // The binary log counts as one more engine that commits.
        let in_log = ["Binlog_cache_use", "Binlog_stmt_cache_use"].into_iter().filter_map(value).sum::<f64>();
        let now = (|| {
            Some(Last {
                commits: value("Handler_commit")? - in_log,
                explicit: EXPLICIT.into_iter().map(|name| status.get(name).copied()).sum::<Option<u64>>()?,
                uptime: value("Uptime")?,
                waits: value("Innodb_row_lock_waits")?,
                waiting: value("Innodb_row_lock_current_waits")?,
            })
        })();
        let last = std::mem::replace(&mut self.last, now);
        let Some(now) = now else { return known };
        // A server that was restarted begins anew.
        let last = last.filter(|last| now.uptime >= last.uptime);
        let grown = last.map_or(0.0, |last| now.commits - last.commits);
        if grown >= 0.0 && last.is_none_or(|last| last.explicit == now.explicit) {
            self.commits += grown;
            known.push((Counter::Commits, self.commits));
        }
        let ended = last.map(|last| last.waiting + (now.waits - last.waits) - now.waiting);
        let all_wait_on = last.is_some_and(|last| last.waiting > 0.0) && ended <= Some(0.0);
        if let Some(milliseconds) = value("Innodb_row_lock_time").filter(|_| !all_wait_on) {
            known.push((Counter::LockWaitSeconds, milliseconds / 1e3));
        }
        known
    }
}

/// Of MySQL's redo log so much is taken when sessions begin to write pages themselves: with slow writes of pages it stood at 73 % of 8 MB and
/// at 78 % of 16 MB (9.7).
const MYSQL_LOG_PART: f64 = 0.8;

/// How full the redo log is of changes whose pages are not written yet, in percent of what makes sessions write pages themselves.
pub(super) fn redo_log_percent(status: &Status) -> Option<f64> {
    let part = |used: &str, most: &str| Some((of(status, used)?, of(status, most).filter(|most| *most > 0.0)?));
    let (used, most) = part("Innodb_checkpoint_age", "Innodb_checkpoint_max_age").or_else(|| {
        let (used, most) = part("Innodb_redo_log_logical_size", "Innodb_redo_log_capacity_resized")?;
        Some((used, most * MYSQL_LOG_PART))
    })?;
    Some(100.0 * used / most)
}

/// What sessions do, by the beginnings of their states; the first that fits counts. Others work, and wait for what the server
/// doesn't tell: for pages, for row locks, or for nothing. `System lock` is one of those: it stands until the storage engine sets another
/// state, whatever it does meanwhile.
const STATES: [(&str, Counter); 17] = [
    ("User sleep", Counter::SessionsAsleep),
    ("User lock", Counter::SessionsWaitingForTableLocks),
    ("Commit", Counter::SessionsWritingLog),
    ("Waiting for handler commit", Counter::SessionsWritingLog),
    // MariaDB waits for the log behind all else, before it answers.
    ("Updating status", Counter::SessionsWritingLog),
    ("Waiting for prior transaction to", Counter::SessionsWritingLog),
    // ... and leaves its thread to others meanwhile, where these come from a pool.
    ("Starting cleanup", Counter::SessionsWritingLog),
    ("Writing to net", Counter::SessionsWaitingForClients),
    ("Sending to client", Counter::SessionsWaitingForClients),
    ("Reading from net", Counter::SessionsWaitingForClients),
    ("Table lock", Counter::SessionsWaitingForTableLocks),
    ("Locked", Counter::SessionsWaitingForTableLocks),
    ("Waiting for table", Counter::SessionsWaitingForTableLocks),
    ("Waiting for global", Counter::SessionsWaitingForTableLocks),
    ("Waiting for backup", Counter::SessionsWaitingForTableLocks),
    ("Waiting for schema", Counter::SessionsWaitingForTableLocks),
    ("Waiting", Counter::SessionsWaitingForOthers),
];

/// Commands of threads that do nothing for a client.
const IDLE: [&str; 7] = ["Sleep", "Daemon", "Binlog Dump", "Binlog Dump GTID", "Connect", "Slave_IO", "Slave_SQL"];

/// Databases of ours begin so.
const OUR_DATABASES: &str = "plimsoll_";

/// Users of the server's own threads.
const SYSTEM: [&str; 2] = ["system user", "event_scheduler"];

/// What is known of sessions besides their list.
#[derive(Debug, Clone, Copy)]
pub(super) struct Beside {
    /// Number of the session that asks.
    pub(super) own: u32,
    /// Sessions that are connected, ours that asks among them.
    pub(super) connected: Option<f64>,
    /// Sessions of ours that wait for row locks, and of others.
    pub(super) row_locks: [f64; 2],
    /// Sessions of ours that are in a transaction and run no statement, where these are seen.
    pub(super) idle_in_transaction: Option<f64>,
    /// Reads of pages that are under way.
    pub(super) pending_reads: f64,
    /// Sessions of all users that wait until InnoDB lets them in; they are listed as if they worked.
    pub(super) in_front: Option<f64>,
}

/// Reads that the server's own threads make: the server counts them among those that are under way, and its purge reads most where sessions
/// wait for locks or for the log. What is under way while no session can be reading is theirs.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct OwnReads {
    sum: f64,
    looks: u32,
}

/// The reads under way and the sessions are asked for one after the other, so that a read that ended in between may be taken for the server's own. So
/// many looks without any stand beside those that were made.
const DOUBTED_LOOKS: f64 = 4.0;

impl OwnReads {
    /// Of so many reads under way those that may be of sessions. `may_read` of them may read, and `waiting` of ours wait for other things.
    fn of_sessions(&mut self, pending: f64, may_read: f64, waiting: f64) -> f64 {
        if may_read > 0.0 {
            let own = self.sum / (f64::from(self.looks) + DOUBTED_LOOKS);
            return (pending - own).max(0.0);
        }
        if waiting > 0.0 {
            self.sum += pending;
            self.looks += 1;
        }
        0.0
    }
}

/// Numbers of our own connections.
pub(super) type Ours = BTreeSet<u32>;

/// Whether a row is of a session of ours: they have these numbers or work in a database of ours, as client programs do.
fn is_ours(row: &[Option<String>], ours: &Ours) -> bool {
    let text = |index: usize| row.get(index).and_then(Option::as_deref).unwrap_or_default();
    text(0).parse().is_ok_and(|number| ours.contains(&number)) || text(3).starts_with(OUR_DATABASES)
}

/// What sessions of ours wait for, by their states in the statement "sessions", but for the one that asks.
pub(super) fn waits(rows: &[Vec<Option<String>>], ours: &Ours, own: u32) -> Vec<(String, f64)> {
    let text = |row: &[Option<String>], index: usize| row.get(index).cloned().flatten().unwrap_or_default();
    let is_at_work = |row: &&Vec<Option<String>>| {
        is_ours(row, ours) && !IDLE.contains(&text(row, 4).as_str()) && text(row, 0).parse() != Ok(own)
    };
    let waits = rows.iter().filter(is_at_work).map(|row| text(row, 6));
    waits.filter(|state| metric_of(state).is_some()).map(|state| (state, 1.0)).collect()
}

/// What a session in this state waits for; `None` for one that works.
fn metric_of(state: &str) -> Option<Counter> {
    let begins =
        |(name, _): &&(&str, Counter)| state.get(..name.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(name));
    STATES.iter().find(begins).map(|(_, metric)| *metric)
}

/// Gauges from the rows of the statement "sessions". `None` if there are sessions that are not seen.
pub(super) fn gauges(
    rows: &[Vec<Option<String>>],
    ours: &Ours,
    beside: Beside,
    own_reads: &mut OwnReads,
) -> Option<Vec<(Counter, f64)>> {
    let (mut known, mut working, mut others, mut seen) = (BTreeMap::new(), 0.0, (0.0, 0.0), 0.0);
    for row in rows {
        let text = |index: usize| row.get(index).and_then(Option::as_deref).unwrap_or_default();
        let is_system = SYSTEM.contains(&text(1));
        if !is_system {
            seen += 1.0;
        }
        let number = text(0).parse();
        // Threads of a replica wait for changes under several commands, and their states say so.
        let waits_for_changes = is_system && text(6).to_ascii_lowercase().contains("waiting");
        if IDLE.contains(&text(4)) || waits_for_changes || number == Ok(beside.own) {
            continue;
        }
        let is_ours = is_ours(row, ours);
        match metric_of(text(6)) {
            Some(metric) if is_ours => *known.entry(metric).or_insert(0.0) += 1.0,
            None if is_ours => working += 1.0,
            Some(metric) if metric.is_rest() => {}
            Some(_) => others.0 += 1.0,
            None => others.1 += 1.0,
        }
    }
    if beside.connected.is_some_and(|connected| seen < connected) {
        return None;
    }
    let of = |metric: Counter| known.get(&metric).copied().unwrap_or(0.0);
    let waiting = beside.row_locks[0].min(working);
    let others_at_work = (others.1 - beside.row_locks[1]).max(0.0);
    // The server does not say which sessions wait for them.
    let share = if working > waiting { (working - waiting) / (working - waiting + others_at_work) } else { 0.0 };
    let in_front = beside.in_front.map(|sessions| (sessions * share).min(working - waiting));
    let inside = working - waiting - in_front.unwrap_or(0.0);
    let may_read = inside + (others_at_work - beside.in_front.unwrap_or(0.0) * (1.0 - share)).max(0.0);
    let pending = own_reads.of_sessions(beside.pending_reads, may_read, waiting + known.values().sum::<f64>());
    let reading = (pending * share).min(inside);
    let clients = beside.idle_in_transaction.map(|idle| of(Counter::SessionsWaitingForClients) + idle);
    let values = [
        (Counter::SessionsOnCpu, Some(inside - reading)),
        (Counter::SessionsReadingData, Some(reading)),
        (Counter::SessionsWritingLog, Some(of(Counter::SessionsWritingLog))),
        (Counter::SessionsWaitingForLocks, Some(waiting)),
        (Counter::SessionsWaitingForTableLocks, Some(of(Counter::SessionsWaitingForTableLocks))),
        (Counter::SessionsWaitingForClients, clients),
        (Counter::SessionsAsleep, Some(of(Counter::SessionsAsleep))),
        (Counter::SessionsWaitingForOthers, Some(of(Counter::SessionsWaitingForOthers))),
        (Counter::SessionsWaitingForWorkers, in_front),
        (Counter::SessionsOfOthers, Some(others.0 + others_at_work)),
    ];
    Some(values.into_iter().filter_map(|(metric, value)| Some((metric, value?))).collect())
}

/// How many statements wait in InnoDB's queue, by its status: `1 queries inside InnoDB, 5 queries in queue`.
pub(super) fn in_front_of_innodb(status: &str) -> Option<f64> {
    let (before, _) = status.split_once(" queries in queue")?;
    before.rsplit(' ').next()?.parse().ok()
}

/// Of so many sessions of ours that wait for row locks, those that wait in the end for sessions of others, which wait for nobody
/// themselves. Where both hold some, it is their part of the holders. `pairs` are who waits for whom. `None` if nobody holds them any more.
pub(super) fn blocked_by_others(pairs: &[(u32, u32)], ours: &Ours, waiting: f64) -> Option<f64> {
    let mut chain: Vec<u32> = pairs.iter().map(|(waits, _)| *waits).filter(|session| ours.contains(session)).collect();
    let mut next = 0;
    while let Some(session) = chain.get(next).copied() {
        next += 1;
        let holders = pairs.iter().filter(|(waits, _)| *waits == session).map(|(_, holds)| *holds);
        let new: Vec<u32> = holders.filter(|holds| !chain.contains(holds)).collect();
        chain.extend(new);
    }
    let holders: BTreeSet<u32> =
        chain.into_iter().filter(|session| pairs.iter().all(|(waits, _)| waits != session)).collect();
    let others = holders.iter().filter(|session| !ours.contains(session)).count();
    (!holders.is_empty()).then(|| waiting * others as f64 / holders.len() as f64)
}

#[cfg(test)]
mod tests;
