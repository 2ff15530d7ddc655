//! What a sampler asks a PostgreSQL server, by its version, and what each answer counts.
//!
//! Source: the manual's chapter "The Cumulative Statistics System", versions 12 to 18. Versions 14 to 18 were tried; the texts for
//! all are golden files.

use plimsoll_measurement::Counter;

use super::counters::{FLUSH_VERSION, IO_VIEW_VERSION as WAL_IN_IO_VERSION, LOG_VIEW_VERSION};

/// From these versions on there is a view of all I/O, and the checkpointer has a view of its own.
const IO_VERSION: u32 = 160_000;
const CHECKPOINTER_VERSION: u32 = 170_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Column {
    /// Counted as it happens, or by a process that publishes its counts at least once a second.
    Fresh(Counter),
    /// Counted by sessions, each of which publishes it when a transaction ends and no more often than once a second.
    Late(Counter),
    /// Transactions of our database, ours among them.
    Commits,
}

use Column::{Commits, Fresh, Late};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) sql: String,
    pub(super) columns: &'static [Column],
}

/// The questions for counters. The first has [`Column::Commits`] and makes our own counts known to the next reading.
pub(super) fn sources(version: u32) -> Vec<Source> {
    let mut sources = vec![database(version), position()];
    if version < IO_VERSION {
        let sql = "SELECT buffers_checkpoint + buffers_clean + buffers_backend FROM pg_stat_bgwriter".to_owned();
        // Pages that sessions write are counted by the checkpointer.
        sources.push(Source { sql, columns: &[Fresh(Counter::DataWrites)] });
    } else {
        sources.push(data_io());
    }
    if version >= LOG_VIEW_VERSION {
        sources.push(log_io(version));
    }
    sources
}

/// Of a database that is dropped the counts go with it, so that a sum over all could go backwards unseen: only ours is asked for.
fn database(version: u32) -> Source {
    let flush = if version >= FLUSH_VERSION { ", pg_stat_force_next_flush()" } else { "" };
    let reads = if version < IO_VERSION {
        ", blks_read, CASE WHEN current_setting('track_io_timing')::bool THEN blk_read_time / 1000 END"
    } else {
        ""
    };
    let sql = format!(
        "SELECT xact_commit, blks_read, blks_read + blks_hit{reads}{flush} FROM pg_stat_database \
         WHERE datname = current_database() AND current_setting('track_counts')::bool"
    );
    let columns: &[Column] = if version < IO_VERSION {
        &[
            Commits,
            Late(Counter::CacheMissPages),
            Late(Counter::CacheLookupPages),
            Late(Counter::DataReads),
            Late(Counter::DataReadStallSeconds),
        ]
    } else {
        &[Commits, Late(Counter::CacheMissPages), Late(Counter::CacheLookupPages)]
    };
    Source { sql, columns }
}

/// How far the log was written: nobody has to publish that, and no reset of statistics touches it.
fn position() -> Source {
    let sql =
        "SELECT CASE WHEN NOT pg_is_in_recovery() THEN (pg_current_wal_lsn() - '0/0'::pg_lsn)::float8 END".to_owned();
    Source { sql, columns: &[Fresh(Counter::LogWriteBytes)] }
}

/// Reads and writes of tables and indexes by everybody; a table that grows is written.
fn data_io() -> Source {
    let sql = "SELECT sum(reads), CASE WHEN current_setting('track_io_timing')::bool THEN sum(read_time) / 1000 END, \
               sum(coalesce(writes, 0) + coalesce(extends, 0)), CASE WHEN current_setting('track_io_timing')::bool \
               THEN sum(coalesce(write_time, 0) + coalesce(extend_time, 0)) / 1000 END FROM pg_stat_io WHERE object = 'relation'";
    let columns = &[
        Late(Counter::DataReads),
        Late(Counter::DataReadStallSeconds),
        Late(Counter::DataWrites),
        Late(Counter::DataWriteStallSeconds),
    ];
    Source { sql: sql.to_owned(), columns }
}

fn log_io(version: u32) -> Source {
    let (count, time, view) = if version < WAL_IN_IO_VERSION {
        ("wal_write + wal_sync", "(wal_write_time + wal_sync_time)", "pg_stat_wal")
    } else {
        (
            "sum(coalesce(writes, 0) + coalesce(fsyncs, 0))",
            "sum(coalesce(write_time, 0) + coalesce(fsync_time, 0))",
            "pg_stat_io WHERE object = 'wal'",
        )
    };
    let sql = format!(
        "SELECT {count}, CASE WHEN current_setting('track_wal_io_timing')::bool THEN {time} / 1000 END FROM {view}"
    );
    Source { sql, columns: &[Late(Counter::LogWrites), Late(Counter::LogWriteStallSeconds)] }
}

/// Pages of data files that were written, by the kind of process.
pub(super) fn writers(version: u32) -> &'static str {
    match version {
        ..IO_VERSION => "SELECT buffers_checkpoint, buffers_clean, buffers_backend FROM pg_stat_bgwriter",
        IO_VERSION..CHECKPOINTER_VERSION => {
            "SELECT buffers_checkpoint, buffers_clean, (SELECT sum(coalesce(writes, 0) + coalesce(extends, 0)) FROM pg_stat_io \
             WHERE object = 'relation' AND backend_type NOT IN ('checkpointer', 'background writer')) FROM pg_stat_bgwriter"
        }
        CHECKPOINTER_VERSION.. => {
            "SELECT (SELECT buffers_written FROM pg_stat_checkpointer), buffers_clean, (SELECT sum(coalesce(writes, 0) \
             + coalesce(extends, 0)) FROM pg_stat_io WHERE object = 'relation' AND backend_type NOT IN ('checkpointer', \
             'background writer')) FROM pg_stat_bgwriter"
        }
    }
}

/// What sessions and their parallel workers do now, of all databases, but for the session that asks. Those in the middle of
/// something are counted by state and wait. So are those with late counts: they have worked on a transaction of our database
/// for over a second. A session that has only been waiting has nothing new to count. Of a session that we may not look into,
/// only the name is seen. Ours have one that begins so; parallel workers have their leader's.
pub(super) const ACTIVITY: &str = "SELECT coalesce(application_name LIKE 'plimsoll %', false), \
    backend_type IS NULL OR state = 'disabled', state, wait_event_type, wait_event, \
    count(*), count(*) FILTER (WHERE datname = current_database() AND xact_start < clock_timestamp() - interval '1 s' \
    AND CASE state WHEN 'active' THEN coalesce(wait_event_type, '') NOT IN ('Lock', 'Timeout') \
    ELSE state_change > clock_timestamp() - interval '1 s' END) \
    FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND state IS DISTINCT FROM 'idle' \
    AND (backend_type IN ('client backend', 'parallel worker') \
    OR backend_type IS NULL AND datid IS NOT NULL AND usesysid IS NOT NULL) GROUP BY 1, 2, 3, 4, 5";

/// Waits of a type, by the beginnings of their names; the first that fits counts. `None`: such a session is not counted, as its
/// workers are. Names changed their letters' case in version 17.
const WAITS: [(&str, &[&str], Option<Counter>); 12] = [
    ("IO", &["DataFileRead", "DataFilePrefetch", "SlruRead"], Some(Counter::SessionsReadingData)),
    ("IPC", &["BufferIO"], Some(Counter::SessionsReadingData)),
    ("AIO", &["AioIoCompletion"], Some(Counter::SessionsReadingData)),
    ("IO", &["WalWrite", "WalSync", "WalInit"], Some(Counter::SessionsWritingLog)),
    ("LWLock", &["WALWrite", "WALInsert", "WALBufMapping"], Some(Counter::SessionsWritingLog)),
    ("Lock", &[""], Some(Counter::SessionsWaitingForLocks)),
    ("LWLock", &["LockManager", "LockFastPath", "PredicateLock"], Some(Counter::SessionsWaitingForLocks)),
    ("Client", &[""], Some(Counter::SessionsWaitingForClients)),
    ("Timeout", &["PgSleep"], Some(Counter::SessionsAsleep)),
    ("Timeout", &["SpinDelay"], Some(Counter::SessionsOnCpu)),
    ("IPC", &["ExecuteGather", "ParallelFinish", "MessageQueueReceive"], None),
    ("", &[""], Some(Counter::SessionsWaitingForOthers)),
];

/// What a session with this state and wait counts as; `None` if it is not counted.
pub(super) fn gauge(state: Option<&str>, wait: Option<(&str, &str)>) -> Option<Counter> {
    match (state?, wait) {
        ("active" | "fastpath function call", None) => Some(Counter::SessionsOnCpu),
        ("active" | "fastpath function call", Some((kind, event))) => {
            let begins = |name: &&str| event.get(..name.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(name));
            let fits =
                |(of, names, _): &&(&str, &[&str], _)| (of.is_empty() || *of == kind) && names.iter().any(begins);
            WAITS.iter().find(fits)?.2
        }
        ("idle in transaction" | "idle in transaction (aborted)", _) => Some(Counter::SessionsWaitingForClients),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    #[test]
    fn waits_are_known_in_the_letters_of_every_version() {
        let active = |kind, event| gauge(Some("active"), Some((kind, event)));
        for (kind, event, expected) in [
            ("IO", "DataFileRead", Some(Counter::SessionsReadingData)),
            ("IPC", "BufferIO", Some(Counter::SessionsReadingData)),
            ("IPC", "BufferIo", Some(Counter::SessionsReadingData)),
            ("IO", "SLRURead", Some(Counter::SessionsReadingData)),
            ("IO", "WALSync", Some(Counter::SessionsWritingLog)),
            ("IO", "WalSync", Some(Counter::SessionsWritingLog)),
            ("IO", "WALRead", Some(Counter::SessionsWaitingForOthers)),
            ("LWLock", "WALWrite", Some(Counter::SessionsWritingLog)),
            ("LWLock", "BufferContent", Some(Counter::SessionsWaitingForOthers)),
            ("Lock", "transactionid", Some(Counter::SessionsWaitingForLocks)),
            ("LWLock", "LockManager", Some(Counter::SessionsWaitingForLocks)),
            ("Client", "ClientWrite", Some(Counter::SessionsWaitingForClients)),
            ("Timeout", "PgSleep", Some(Counter::SessionsAsleep)),
            ("Timeout", "VacuumDelay", Some(Counter::SessionsWaitingForOthers)),
            ("IPC", "ExecuteGather", None),
            ("Extension", "Extension", Some(Counter::SessionsWaitingForOthers)),
        ] {
            assert_eq!(active(kind, event), expected, "{kind} {event}");
        }
        assert_eq!(gauge(Some("active"), None), Some(Counter::SessionsOnCpu));
        let idle = gauge(Some("idle in transaction"), Some(("Client", "ClientRead")));
        assert_eq!(idle, Some(Counter::SessionsWaitingForClients));
        assert_eq!((gauge(Some("idle"), None), gauge(None, None)), (None, None));
    }

    #[test]
    fn every_version_is_asked_for_what_it_has() {
        let mut texts = String::new();
        for version in [120_000, 140_000, 150_000, 160_000, 170_000, 180_000] {
            let _ = writeln!(texts, "-- {version}");
            for Source { sql, columns } in sources(version) {
                let _ = writeln!(texts, "{sql}\n  {columns:?}");
            }
            let _ = writeln!(texts, "{}\n", writers(version));
        }
        insta::assert_snapshot!(texts);
    }
}
