//! What a sampler asks a PostgreSQL server, by its version, and what each answer counts. The questions are in
//! `data/statements/counters.toml`.

use plimsoll_measurement::Counter;

use super::statements::{sql, sql_for};

/// From this version on there is a view of all I/O.
const IO_VERSION: u32 = 160_000;

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
    pub(super) sql: &'static str,
    pub(super) columns: &'static [Column],
}

/// The questions for counters. The first has [`Column::Commits`] and makes our own counts known to the next reading. Of a database that
/// is dropped the counts go with it, so that a sum over all could go backwards unseen: only ours is asked for.
pub(super) fn sources(version: u32) -> Vec<Source> {
    let database: &[Column] = &[
        Commits,
        Late(Counter::CacheMissPages),
        Late(Counter::CacheLookupPages),
        Late(Counter::TempWriteBytes),
        Late(Counter::DataReads),
        Late(Counter::DataReadStallSeconds),
    ];
    let files: &[Column] = &[
        Late(Counter::DataReads),
        Late(Counter::DataReadStallSeconds),
        Late(Counter::DataWrites),
        Late(Counter::DataWriteStallSeconds),
    ];
    let log = &[
        Late(Counter::LogWrites),
        Late(Counter::LogWriteStallSeconds),
        Late(Counter::LogSyncs),
        Late(Counter::LogSyncStallSeconds),
    ];
    // Pages that sessions write are counted by the checkpointer.
    let written: &[Column] = &[Fresh(Counter::DataWrites)];
    let (database, files) = if version < IO_VERSION { (database, written) } else { (&database[..4], files) };
    let all: [(&str, &'static [Column]); 4] = [
        ("counters of the database", database),
        ("position of the log", &[Fresh(Counter::LogWriteBytes)]),
        ("data files", files),
        ("writes of the log", log),
    ];
    all.into_iter().filter_map(|(name, columns)| Some(Source { sql: sql_for(name, version)?, columns })).collect()
}

/// Pages of data files that were written, by the kind of process.
pub(super) fn writers(version: u32) -> Option<&'static str> {
    sql_for("writers of data files", version)
}

/// Reads and writes of data files and of the log, of the whole server. Before version 14 nobody counted the log's.
pub(super) fn files_by_kind(version: u32) -> Option<&'static str> {
    sql_for("files by kind", version)
}

/// What sessions and their parallel workers do now, of all databases.
pub(super) fn activity() -> &'static str {
    sql("what sessions do")
}

/// Who holds the locks that our sessions wait for.
pub(super) fn holders() -> &'static str {
    sql("holders of locks")
}

/// Waits of a type, by the beginnings of their names; the first that fits counts. `None`: such a session is not counted, as its
/// workers are. Names changed their letters' case in version 17.
const WAITS: [(&str, &[&str], Option<Counter>); 12] = [
    // Version 18 reads by others' hands, and writes nothing so.
    ("IO", &["DataFileRead", "DataFilePrefetch", "SlruRead", "AioIo"], Some(Counter::SessionsReadingData)),
    // Whoever needs room for a page writes another one himself. A sort that spills writes its runs and reads them: no cache helps there.
    ("IO", &["DataFile", "BufFile"], Some(Counter::SessionsWritingData)),
    ("IPC", &["BufferIO"], Some(Counter::SessionsReadingData)),
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

/// Whether a session that waits so writes or syncs the log itself.
pub(super) fn flushes(kind: &str, event: &str) -> bool {
    kind == "IO"
        && event.get(..3).is_some_and(|begin| begin.eq_ignore_ascii_case("wal"))
        && gauge_of(kind, event) == LOG
}

const LOG: Option<Counter> = Some(Counter::SessionsWritingLog);

/// What a session with this state and wait counts as; `None` if it is not counted.
pub(super) fn gauge(state: Option<&str>, wait: Option<(&str, &str)>) -> Option<Counter> {
    match (state?, wait) {
        ("active" | "fastpath function call", None) => Some(Counter::SessionsOnCpu),
        ("active" | "fastpath function call", Some((kind, event))) => gauge_of(kind, event),
        ("idle in transaction" | "idle in transaction (aborted)", _) => Some(Counter::SessionsWaitingForClients),
        _ => None,
    }
}

fn gauge_of(kind: &str, event: &str) -> Option<Counter> {
    let begins = |name: &&str| event.get(..name.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(name));
    let fits = |(of, names, _): &&(&str, &[&str], _)| (of.is_empty() || *of == kind) && names.iter().any(begins);
    WAITS.iter().find(fits)?.2
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statements::{STATEMENTS, edition};

    #[test]
    fn waits_are_known_in_the_letters_of_every_version() {
        let active = |kind, event| gauge(Some("active"), Some((kind, event)));
        for (kind, event, expected) in [
            ("IO", "DataFileRead", Some(Counter::SessionsReadingData)),
            ("IPC", "BufferIO", Some(Counter::SessionsReadingData)),
            ("IPC", "BufferIo", Some(Counter::SessionsReadingData)),
            ("IO", "SLRURead", Some(Counter::SessionsReadingData)),
            ("IO", "AioIoCompletion", Some(Counter::SessionsReadingData)),
            ("IO", "AioIoUringExecution", Some(Counter::SessionsReadingData)),
            ("IO", "AioIoUringSubmit", Some(Counter::SessionsReadingData)),
            ("IO", "DataFileWrite", Some(Counter::SessionsWritingData)),
            ("IO", "DataFileExtend", Some(Counter::SessionsWritingData)),
            ("IO", "BuffileWrite", Some(Counter::SessionsWritingData)),
            ("IO", "BufFileRead", Some(Counter::SessionsWritingData)),
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
        for (version, questions) in [(120_000, 3), (130_000, 3), (140_000, 4), (160_000, 4), (170_000, 4), (180_000, 4)]
        {
            let sources = sources(version);
            assert_eq!(sources.len(), questions, "{version}");
            for Source { sql, columns } in sources {
                let mut entries = STATEMENTS.entries().iter();
                let entry = entries.find(|entry| entry.sql == sql && entry.is_in(Some(edition(version)))).unwrap();
                let numbers = ["bigint", "numeric", "double precision"];
                let counts = entry.answer.iter().filter(|column| numbers.contains(&column.kind.as_str())).count();
                assert_eq!(counts, columns.len(), "{version}: {sql}");
            }
            assert!(writers(version).is_some());
        }
    }
}
