//! The file: how it is opened, which program it belongs to, which tables it has in which version.

use std::time::Duration;

use rusqlite::{Connection, MAIN_DB, TransactionBehavior};

/// Marks a file as ours: "PLIM" in ASCII. SQLite keeps it in the header for this purpose.
pub(crate) const APPLICATION_ID: i32 = i32::from_be_bytes(*b"PLIM");

/// Steps from one version of the schema to the next; the version of a file is the number of steps it has taken. A step that
/// was released is never changed.
pub(crate) const MIGRATIONS: &[&str] = &[
    // Version 1. The columns of `run` beside the document repeat what lists are filtered by.
    "CREATE TABLE run (
        run_id TEXT NOT NULL PRIMARY KEY,
        test TEXT NOT NULL,
        target TEXT NOT NULL,
        target_fingerprint TEXT,
        campaign TEXT,
        ended_at TEXT,
        document TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE repetition (
        run_id TEXT NOT NULL REFERENCES run ON DELETE CASCADE,
        label TEXT NOT NULL,
        sequence INTEGER NOT NULL,
        document TEXT NOT NULL,
        PRIMARY KEY (run_id, label)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE point (
        run_id TEXT NOT NULL,
        label TEXT NOT NULL,
        sequence INTEGER NOT NULL,
        document TEXT NOT NULL,
        PRIMARY KEY (run_id, label, sequence),
        FOREIGN KEY (run_id, label) REFERENCES repetition ON DELETE CASCADE
    ) STRICT, WITHOUT ROWID;",
    // Version 2: events. What version 1 had becomes events with its documents as they are. A run that was copied while it went
    // on has other sequence numbers, as those of the finished one have to count beside them.
    "ALTER TABLE run RENAME TO run_1;
    CREATE TABLE run (
        run_id TEXT NOT NULL PRIMARY KEY,
        test TEXT NOT NULL,
        target TEXT NOT NULL,
        target_fingerprint TEXT,
        campaign TEXT,
        engine TEXT NOT NULL,
        started_at TEXT NOT NULL,
        ended_at TEXT,
        complete INTEGER NOT NULL,
        error_kind TEXT,
        client_verdict TEXT,
        bottleneck TEXT,
        also TEXT,
        figure TEXT
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE event (
        position INTEGER PRIMARY KEY AUTOINCREMENT,
        run_id TEXT NOT NULL,
        source TEXT NOT NULL,
        sequence INTEGER NOT NULL,
        at TEXT NOT NULL,
        kind TEXT NOT NULL,
        document TEXT NOT NULL,
        UNIQUE (run_id, source, sequence)
    ) STRICT;
    CREATE TEMP VIEW old AS
        SELECT *, CASE WHEN json_valid(document) THEN document ELSE '{}' END AS head FROM main.run_1;
    INSERT INTO run
        SELECT run_id, test, target, target_fingerprint, campaign,
            coalesce(head ->> '$.engine', ''), coalesce(head ->> '$.started_at', ''), ended_at,
            ended_at IS NOT NULL AND head ->> '$.error' IS NULL AND NOT EXISTS (
                SELECT 1 FROM repetition WHERE repetition.run_id = old.run_id AND (
                    NOT json_valid(repetition.document) OR repetition.document ->> '$.complete' IS NOT 1)),
            head ->> '$.error.kind',
            CASE WHEN head ->> '$.clock' IS NOT 'virtual' THEN head ->> '$.host.client.verdict' END,
            head ->> '$.verdict.limit', head -> '$.verdict.also',
            CASE WHEN head -> '$.result.truth' IS NULL THEN head -> '$.result'
                ELSE json_remove(json_set(head -> '$.result', '$.expected', json(head -> '$.result.truth')), '$.truth') END
        FROM old;
    INSERT INTO event (run_id, source, sequence, at, kind, document)
        SELECT run_id, iif(ended_at IS NULL, 'begun', 'main'), 0, coalesce(head ->> '$.started_at', ''),
            iif(ended_at IS NULL, 'begun', 'finished'), document
        FROM old;
    INSERT INTO event (run_id, source, sequence, at, kind, document)
        SELECT old.run_id, iif(ended_at IS NULL, 'begun', 'main'), 1 + sequence, coalesce(head ->> '$.started_at', ''),
            'repetition', repetition.document
        FROM repetition JOIN old ON old.run_id = repetition.run_id ORDER BY old.run_id, sequence;
    INSERT INTO event (run_id, source, sequence, at, kind, document)
        SELECT old.run_id, iif(ended_at IS NULL, 'begun', 'main'),
            1000 + row_number() OVER (PARTITION BY old.run_id ORDER BY label, sequence),
            coalesce(head ->> '$.started_at', ''), 'point',
            '{\"repetition\":' || json_quote(label) || ',\"point\":' || point.document || '}'
        FROM point JOIN old ON old.run_id = point.run_id ORDER BY old.run_id, label, sequence;
    DROP VIEW temp.old;
    DROP TABLE point;
    DROP TABLE repetition;
    DROP TABLE run_1;",
    // Version 3: notes about what is about to be made at targets.
    "CREATE TABLE intent (
        target TEXT NOT NULL,
        object TEXT NOT NULL,
        token TEXT NOT NULL,
        made INTEGER NOT NULL,
        PRIMARY KEY (target, object)
    ) STRICT, WITHOUT ROWID;",
    // Version 4: lists tell what was measured from what a model says.
    "ALTER TABLE run ADD COLUMN basis TEXT NOT NULL DEFAULT 'measured';
    UPDATE run SET basis = coalesce((
        SELECT document ->> '$.basis' FROM event
        WHERE event.run_id = run.run_id AND kind IN ('begun', 'finished') AND json_valid(document)
        ORDER BY kind LIMIT 1), 'measured');",
    // Version 5: what was watched. Moments are microseconds since 1970 by the server's clock. Tier 0 has slots shorter than a minute, 1
    // minutes and longer slots, 2 quarters of an hour, 3 hours. Statement 0 is the exact rest. Measures are packed: a bit for each that is
    // known, by its place, and then their values, all as numbers of variable length (LEB128).
    "CREATE TABLE watched (
        watched_no INTEGER PRIMARY KEY,
        target TEXT NOT NULL UNIQUE,
        engine TEXT NOT NULL,
        reads INTEGER NOT NULL DEFAULT 0,
        known TEXT,
        rolled TEXT NOT NULL DEFAULT '[0,0,0]',
        kept TEXT NOT NULL DEFAULT '[0,0,0,0]'
    ) STRICT;
    CREATE TABLE watched_row (
        watched_no INTEGER NOT NULL REFERENCES watched ON DELETE CASCADE,
        row BLOB NOT NULL,
        document TEXT NOT NULL,
        PRIMARY KEY (watched_no, row)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE watched_text (
        text_no INTEGER PRIMARY KEY,
        hash BLOB NOT NULL UNIQUE,
        text TEXT NOT NULL
    ) STRICT;
    CREATE TABLE watched_query (
        query_no INTEGER PRIMARY KEY,
        watched_no INTEGER NOT NULL REFERENCES watched ON DELETE CASCADE,
        item BLOB NOT NULL,
        database TEXT,
        text_no INTEGER REFERENCES watched_text,
        first_us INTEGER NOT NULL,
        last_us INTEGER NOT NULL,
        UNIQUE (watched_no, item)
    ) STRICT;
    CREATE INDEX watched_query_text ON watched_query (text_no);
    CREATE TABLE watched_slot (
        slot_no INTEGER PRIMARY KEY,
        watched_no INTEGER NOT NULL REFERENCES watched ON DELETE CASCADE,
        tier INTEGER NOT NULL,
        start_us INTEGER NOT NULL,
        is_rolled INTEGER NOT NULL,
        length_us INTEGER NOT NULL,
        covered_us INTEGER NOT NULL,
        status INTEGER NOT NULL,
        explained_us INTEGER,
        total_us INTEGER,
        sums INTEGER NOT NULL,
        document TEXT NOT NULL,
        UNIQUE (watched_no, tier, start_us)
    ) STRICT;
    CREATE TABLE watched_sum (
        slot_no INTEGER NOT NULL REFERENCES watched_slot ON DELETE CASCADE,
        query_no INTEGER NOT NULL,
        nested INTEGER NOT NULL,
        plan INTEGER NOT NULL,
        status INTEGER NOT NULL,
        sums INTEGER NOT NULL,
        longest_us INTEGER,
        measures BLOB NOT NULL,
        PRIMARY KEY (slot_no, query_no, nested, plan)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE watched_wait (
        slot_no INTEGER NOT NULL REFERENCES watched_slot ON DELETE CASCADE,
        query_no INTEGER NOT NULL,
        wait_no INTEGER NOT NULL,
        us INTEGER NOT NULL,
        PRIMARY KEY (slot_no, query_no, wait_no)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE watched_wait_name (
        wait_no INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE
    ) STRICT;
    CREATE TABLE watched_event (
        watched_no INTEGER NOT NULL REFERENCES watched ON DELETE CASCADE,
        from_us INTEGER NOT NULL,
        kind TEXT NOT NULL,
        to_us INTEGER NOT NULL,
        note TEXT NOT NULL,
        PRIMARY KEY (watched_no, from_us, kind)
    ) STRICT, WITHOUT ROWID;",
    // Version 6: runs have labels.
    "ALTER TABLE run ADD COLUMN label TEXT;",
    // Version 7: in which procedure or function a watched statement stands; empty for none, and NULL where nobody said it.
    "ALTER TABLE watched_query ADD COLUMN object TEXT;",
    // Version 8: what a server counted of waits (source 1), files (2) and other counters (3) in a slot. Thing 0 is the exact rest.
    "CREATE TABLE watched_thing (
        thing_no INTEGER PRIMARY KEY,
        source INTEGER NOT NULL,
        name TEXT NOT NULL,
        kind TEXT NOT NULL,
        database TEXT NOT NULL,
        service TEXT NOT NULL,
        UNIQUE (source, name, kind, database, service)
    ) STRICT;
    CREATE TABLE watched_count (
        slot_no INTEGER NOT NULL REFERENCES watched_slot ON DELETE CASCADE,
        source INTEGER NOT NULL,
        thing_no INTEGER NOT NULL,
        status INTEGER NOT NULL,
        sums INTEGER NOT NULL,
        measures BLOB NOT NULL,
        PRIMARY KEY (slot_no, source, thing_no)
    ) STRICT, WITHOUT ROWID;",
];

pub(crate) const VERSION: i32 = MIGRATIONS.len() as i32;

/// Another process writes one point at a time, which takes milliseconds; a merge of thousands of runs takes seconds.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// Who waited so long in vain waits no longer than this for the next change.
pub(crate) const LITTLE_PATIENCE: Duration = Duration::from_millis(500);

/// The owner of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// None: an empty file.
    Nobody,
    /// Ours, in this version.
    Plimsoll(i32),
    /// Another program's, with this application id.
    Other(i32),
}

/// Finds out which program the file belongs to, without writing to it.
pub(crate) fn owner(connection: &Connection) -> rusqlite::Result<Owner> {
    // All of it as of one moment, since another process may be making the store.
    let _moment = connection.unchecked_transaction()?;
    let application_id = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let version = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if application_id == APPLICATION_ID {
        // A view in the place of a table may be read for ever.
        let others = "SELECT count(*) FROM sqlite_schema WHERE type IN ('view', 'trigger')";
        let others: i64 = connection.query_row(others, [], |row| row.get(0))?;
        return Ok(if others == 0 { Owner::Plimsoll(version) } else { Owner::Other(application_id) });
    }
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let empty = application_id == 0 && version == 0 && tables == 0;
    Ok(if empty { Owner::Nobody } else { Owner::Other(application_id) })
}

/// Settings that write nothing, made before the file is looked at.
pub(crate) fn prepare(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(PATIENCE)?;
    // A store may come from another user: its schema must not be able to call functions with side effects.
    connection.pragma_update(None, "trusted_schema", false)?;
    // A finished point is on disk before the call returns: NORMAL would lose the last ones with the power.
    connection.pragma_update(None, "synchronous", "FULL")?;
    // On macOS fsync alone leaves data in the drive's cache; elsewhere this changes nothing.
    connection.pragma_update(None, "fullfsync", true)
}

/// How often the change to a log is tried while other processes make the same store.
const ATTEMPTS: u32 = 100;

/// Changes the file to a write-ahead log. SQLite does not wait for others there, so a process that meets one waits for the right to
/// write, and tries again.
fn use_log(connection: &mut Connection) -> rusqlite::Result<()> {
    for _ in 1..ATTEMPTS {
        match connection.pragma_update(None, "journal_mode", "WAL") {
            Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy) => {
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?.rollback()?;
            }
            changed => return changed,
        }
    }
    connection.pragma_update(None, "journal_mode", "WAL")
}

/// Makes the file ours and brings it up to date. Only for files that are [`Owner::Nobody`]'s or ours and not newer.
pub(crate) fn migrate(connection: &mut Connection) -> rusqlite::Result<()> {
    // First of all, as the header says whose the file is, and a log would keep that to itself until its end.
    make(connection)?;
    // Readers (another `plimsoll runs`, the web interface) never wait for a running test, and it never waits for them. Can't
    // be changed within a transaction; stays in the file.
    use_log(connection)
}

/// The bytes of a store without runs.
pub(crate) fn image() -> rusqlite::Result<Vec<u8>> {
    let mut connection = Connection::open_in_memory()?;
    make(&mut connection)?;
    let mut image = connection.serialize(MAIN_DB)?.to_vec();
    // It uses a write-ahead log from the first moment: a store never has a journal, so that one beside it is somebody else's.
    image[18..20].fill(2);
    Ok(image)
}

fn make(connection: &mut Connection) -> rusqlite::Result<()> {
    // Asked again under the write lock, as another process may have been faster.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let version: i32 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if version < VERSION {
        for step in &MIGRATIONS[usize::try_from(version).unwrap_or(0)..] {
            transaction.execute_batch(step)?;
        }
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", VERSION)?;
    }
    transaction.commit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_file_becomes_ours_and_stays_so() {
        let mut connection = Connection::open_in_memory().unwrap();
        prepare(&connection).unwrap();
        assert_eq!(owner(&connection).unwrap(), Owner::Nobody);
        migrate(&mut connection).unwrap();
        assert_eq!(owner(&connection).unwrap(), Owner::Plimsoll(VERSION));
        migrate(&mut connection).unwrap();
        assert_eq!(owner(&connection).unwrap(), Owner::Plimsoll(VERSION));
    }

    #[test]
    fn a_file_with_anything_in_it_is_somebody_elses() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE letters (text TEXT)").unwrap();
        assert_eq!(owner(&connection).unwrap(), Owner::Other(0));
        connection.execute_batch("DROP TABLE letters; PRAGMA application_id = 7").unwrap();
        assert_eq!(owner(&connection).unwrap(), Owner::Other(7));
    }

    #[test]
    fn the_settings_that_matter_are_in_force() {
        let folder = tempfile::tempdir().unwrap();
        let mut connection = Connection::open(folder.path().join("runs.db")).unwrap();
        prepare(&connection).unwrap();
        migrate(&mut connection).unwrap();
        let number = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).unwrap();
        let full = 2;
        assert_eq!(number("synchronous"), full);
        assert_eq!(number("busy_timeout"), 10_000);
        assert_eq!((number("fullfsync"), number("trusted_schema")), (1, 0));
        let mode: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
        assert_eq!(mode, "wal");
    }
}
