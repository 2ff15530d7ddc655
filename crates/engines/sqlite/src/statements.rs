//! What a session is made of: a connection, the statements on it, and their follower.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use plimsoll_clock::Clock;
use plimsoll_engine::{Cancel, Error, ErrorKind, Result, Table, Value};
use rusqlite::{CachedStatement, Connection, InterruptHandle, OpenFlags, StatementStatus};

use super::counted::Counted;
use super::errors::from_sqlite;
use super::modelled::{Follower, Modelled};
use super::native::{cache_writes, read_file};
use super::options::{Options, WAL};
use super::texts::text;
use super::tree;
use super::values::bind;

const KEPT_STATEMENTS: usize = 64;

#[derive(Debug)]
pub(super) struct SqliteSession {
    /// Charges statements to modelled hardware. It goes before the connection does.
    pub(super) follower: Option<Box<dyn Follower>>,
    pub(super) connection: Connection,
    pub(super) options: Options,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) path: PathBuf,
    /// Set by a cancellation. SQLite forgets an interruption that comes between two statements, and a load is many.
    pub(super) cancelled: Arc<AtomicBool>,
    /// Pages that were written while there was no log.
    pub(super) pages_past_the_log: u64,
    /// What all sessions of the target did.
    pub(super) counted: Arc<Counted>,
}

impl SqliteSession {
    pub(super) fn new(connection: Connection, path: PathBuf, options: &Options, clock: Arc<dyn Clock>) -> Self {
        connection.set_prepared_statement_cache_capacity(KEPT_STATEMENTS);
        let cancelled = Arc::default();
        Self {
            follower: None,
            connection,
            options: options.clone(),
            clock,
            path,
            cancelled,
            pages_past_the_log: 0,
            counted: Arc::default(),
        }
    }

    pub(super) fn follow(&mut self, modelled: &dyn Modelled) -> Result<()> {
        let follower = modelled.follow(&self.path, &mut self.connection, &self.cancelled)?;
        self.follower = Some(follower);
        Ok(())
    }

    pub(super) fn failed(&self, error: rusqlite::Error) -> Error {
        from_sqlite(error, self.path.parent().unwrap_or(Path::new(".")))
    }

    pub(super) fn prepare(&self, sql: &str, parameters: &[Value<'_>]) -> Result<CachedStatement<'_>> {
        let failed = |error| self.failed(error);
        let mut statement = self.connection.prepare_cached(sql).map_err(failed)?;
        let expected = statement.parameter_count();
        if expected != parameters.len() {
            let text = format!("the statement has {expected} parameters and {} were given", parameters.len());
            return Err(Error::new(ErrorKind::Statement, text));
        }
        for (index, value) in parameters.iter().enumerate() {
            bind(&mut statement, index + 1, *value).map_err(failed)?;
        }
        Ok(statement)
    }

    /// Prepares a statement and works with it. A follower hears of its begin and its end, however it ends; but for a
    /// panic, which it has to outlive: it goes after the rollback.
    pub(super) fn followed<T>(
        &mut self,
        sql: &str,
        parameters: &[Value<'_>],
        work: impl FnOnce(&Self, &mut CachedStatement<'_>) -> Result<T>,
    ) -> Result<T> {
        let begun = self.counted.is_on().then(|| self.clock.now());
        let mut follower = self.follower.take();
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let mut statement = self.prepare(sql, parameters)?;
            if let Some(follower) = &mut follower {
                self.cancelled.store(false, Ordering::Relaxed);
                follower.begin(sql, !statement.readonly())?;
            }
            let mut outcome = work(self, &mut statement);
            if let Some(follower) = &mut follower {
                let steps = statement.reset_status(StatementStatus::VmStep);
                let ended = follower.end(u64::try_from(steps).unwrap_or(0), self.connection.is_autocommit());
                outcome = outcome.and_then(|value| ended.map(|()| value));
            }
            if parameters.is_empty() {
                statement.discard();
            }
            outcome
        }));
        self.follower = follower;
        if let Some(begun) = begun {
            self.counted.note(sql, self.clock.now().since(begun), matches!(outcome, Ok(Ok(_))));
        }
        outcome.unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// Pages of a table by its tree in the file. `None` if rows may overflow their pages, or if a part of the table is
    /// only in the log as yet.
    pub(super) fn pages_by_tree(&self, table: &Table) -> rusqlite::Result<Option<Result<u64>>> {
        let page_bytes = self.options.page_bytes;
        let in_the_file = self.follower.is_some() || self.log_is_in_the_file()?;
        if !tree::rows_fit(table, page_bytes) || !in_the_file {
            return Ok(None);
        }
        let root = self.connection.query_row(text("root of a table"), [&table.name], |row| row.get(0))?;
        Ok(Some(tree::pages(root, page_bytes, |number, page| {
            if let Some(follower) = &self.follower {
                return follower.read_page(number, page);
            }
            let offset = (u64::from(number) - 1) * page_bytes;
            read_file(&self.connection, offset, page).map_err(|error| self.failed(error))
        })))
    }

    /// Frames that this connection wrote to the log.
    pub(super) fn frames(&self) -> Option<u64> {
        cache_writes(&self.connection).map(|pages| pages.saturating_sub(self.pages_past_the_log))
    }

    /// Copies what a commit left in the log into the file, which mostly is nothing; true if all of it is there.
    pub(super) fn log_is_in_the_file(&self) -> rusqlite::Result<bool> {
        if self.options.journal_mode != WAL {
            return Ok(true);
        }
        self.connection.query_row(text("copy the log"), [], |row| {
            Ok(!row.get::<_, bool>(0)? && row.get::<_, i64>(1)? == row.get::<_, i64>(2)?)
        })
    }

    /// Bytes of a table by SQLite's `dbstat`, which reads all its pages. A connection of its own does that, so that this
    /// session's page cache and counters stay as they are; a temporary table only this session sees.
    pub(super) fn bytes_by_reading(&self, schema: &str, name: &str) -> rusqlite::Result<u64> {
        let sum = |connection: &Connection| {
            let bytes: i64 = connection.query_row(text("bytes of a table"), [schema, name], |row| row.get(0))?;
            Ok(bytes as u64)
        };
        // Modelled hardware charges statements only, and has one page cache for all.
        if schema == "temp" || self.follower.is_some() {
            return sum(&self.connection);
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let other = Connection::open_with_flags(&self.path, flags)?;
        other.pragma_update(None, "cache_size", 1)?;
        sum(&other)
    }
}

/// Splits `temp.name`; every other table is in the file.
pub(super) fn schema_and_name(table: &Table) -> (&str, &str) {
    table.name.split_once('.').unwrap_or(("main", &table.name))
}

impl Drop for SqliteSession {
    /// A follower may let another session write as soon as it goes, so a transaction has to be over by then.
    fn drop(&mut self) {
        if self.follower.is_some() && !self.connection.is_autocommit() {
            // What can't be rolled back now is, when the connection closes.
            let _ = self.connection.execute_batch("ROLLBACK");
        }
    }
}

pub(super) struct Canceller {
    pub(super) handle: InterruptHandle,
    pub(super) cancelled: Arc<AtomicBool>,
}

impl Cancel for Canceller {
    fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
        self.handle.interrupt();
    }

    /// There is no line to break; what works here can only be told to stop.
    fn sever(&self) {
        self.cancel();
    }
}
