//! A session: one connection to the file of a place.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use plimsoll_clock::{Clock, windowed};
use plimsoll_engine::database::{Cancel, RowSource, Sampler, Session, TableSize, ask_for};
use plimsoll_engine::dialect::Dialect;
use plimsoll_engine::error::{Error, ErrorKind, Result};
use plimsoll_engine::process;
use plimsoll_engine::request::{Answer, Statement};
use plimsoll_engine::table::{ColumnType, Table};
use plimsoll_engine::value::{Row, RowSummary, Value};
use plimsoll_measurement::{Counter, FileRow, Reading, Views};
use rusqlite::{CachedStatement, Connection, InterruptHandle, OpenFlags, StatementStatus};

use super::errors::from_sqlite;
use super::location::wal;
use super::modelled::{Follower, Modelled};
use super::native::{cache_misses, cache_writes, read_file};
use super::options::{JournalMode, Options};
use super::values::{bind, content_bytes, decode};
use super::{SqliteDialect, load, tree};

/// Statements that a session keeps.
const KEPT_STATEMENTS: usize = 64;

/// Bytes of a log frame's header ("The WAL File Format" in SQLite's description of its file format).
const FRAME_HEADER_BYTES: u64 = 24;

/// A file is made smaller when this part of it, one in so many, is free.
const MOST_FREE: i64 = 10;

/// How often a session tries to empty the log beside the checkpointer of modelled hardware, and how long it waits.
const CHECKPOINT_ATTEMPTS: u32 = 1000;
const CHECKPOINT_WAIT: Duration = Duration::from_millis(10);

/// A session.
#[derive(Debug)]
pub(super) struct SqliteSession {
    /// Charges statements to modelled hardware. It goes before the connection does.
    follower: Option<Box<dyn Follower>>,
    pub(super) connection: Connection,
    pub(super) options: Options,
    clock: Arc<dyn Clock>,
    path: PathBuf,
    /// Set by a cancellation. SQLite forgets an interruption that comes between two statements, and a load is many.
    pub(super) cancelled: Arc<AtomicBool>,
    /// Pages that were written while there was no log.
    pub(super) pages_past_the_log: u64,
}

impl SqliteSession {
    pub(super) fn new(connection: Connection, path: PathBuf, options: &Options, clock: Arc<dyn Clock>) -> Self {
        connection.set_prepared_statement_cache_capacity(KEPT_STATEMENTS);
        let cancelled = Arc::default();
        Self { follower: None, connection, options: options.clone(), clock, path, cancelled, pages_past_the_log: 0 }
    }

    /// Lets modelled hardware follow the session.
    pub(super) fn follow(&mut self, modelled: &dyn Modelled) -> Result<()> {
        let follower = modelled.follow(&self.path, &mut self.connection, &self.cancelled)?;
        self.follower = Some(follower);
        Ok(())
    }

    pub(super) fn failed(&self, error: rusqlite::Error) -> Error {
        from_sqlite(error, self.path.parent().unwrap_or(Path::new(".")))
    }

    fn prepare(&self, sql: &str, parameters: &[Value<'_>]) -> Result<CachedStatement<'_>> {
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
    fn followed<T>(
        &mut self,
        sql: &str,
        parameters: &[Value<'_>],
        work: impl FnOnce(&Self, &mut CachedStatement<'_>) -> Result<T>,
    ) -> Result<T> {
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
        outcome.unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// Pages of a table by its tree in the file. `None` if rows may overflow their pages, or if a part of the table is
    /// only in the log as yet.
    fn pages_by_tree(&self, table: &Table) -> rusqlite::Result<Option<Result<u64>>> {
        let page_bytes = self.options.page_bytes;
        let in_the_file = self.follower.is_some() || self.log_is_in_the_file()?;
        if !tree::rows_fit(table, page_bytes) || !in_the_file {
            return Ok(None);
        }
        let root = self.connection.query_row(
            "SELECT rootpage FROM sqlite_schema WHERE type = 'table' AND name = ?1 COLLATE NOCASE",
            [&table.name],
            |row| row.get(0),
        )?;
        Ok(Some(tree::pages(root, page_bytes, |number, page| {
            if let Some(follower) = &self.follower {
                return follower.read_page(number, page);
            }
            let offset = (u64::from(number) - 1) * page_bytes;
            read_file(&self.connection, offset, page).map_err(|error| self.failed(error))
        })))
    }

    /// Frames that this connection wrote to the log.
    fn frames(&self) -> Option<u64> {
        cache_writes(&self.connection).map(|pages| pages.saturating_sub(self.pages_past_the_log))
    }

    /// Copies what a commit left in the log into the file, which mostly is nothing; true if all of it is there.
    fn log_is_in_the_file(&self) -> rusqlite::Result<bool> {
        if self.options.journal_mode != JournalMode::Wal {
            return Ok(true);
        }
        self.connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| {
            Ok(!row.get::<_, bool>(0)? && row.get::<_, i64>(1)? == row.get::<_, i64>(2)?)
        })
    }

    /// Bytes of a table by SQLite's `dbstat`, which reads all its pages. A connection of its own does that, so that this
    /// session's page cache and counters stay as they are; a temporary table only this session sees.
    fn bytes_by_reading(&self, schema: &str, name: &str) -> rusqlite::Result<u64> {
        let sum = |connection: &Connection| {
            connection.query_row(
                "SELECT pgsize FROM dbstat WHERE schema = ?1 AND name = ?2 COLLATE NOCASE AND aggregate = TRUE",
                [schema, name],
                |row| row.get::<_, i64>(0).map(|bytes| bytes as u64),
            )
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
fn schema_and_name(table: &Table) -> (&str, &str) {
    table.name.split_once('.').unwrap_or(("main", &table.name))
}

impl Session for SqliteSession {
    fn dialect(&self) -> &'static dyn Dialect {
        &SqliteDialect
    }

    fn execute(&mut self, sql: &str, parameters: &[Value<'_>]) -> Result<u64> {
        let before = self.connection.total_changes();
        self.followed(sql, parameters, |session, statement| {
            statement.raw_execute().map(drop).map_err(|error| session.failed(error))
        })?;
        Ok(self.connection.total_changes() - before)
    }

    fn query(
        &mut self,
        sql: &str,
        parameters: &[Value<'_>],
        types: &[ColumnType],
        each: &mut dyn FnMut(&mut Row) -> Result<()>,
    ) -> Result<()> {
        self.followed(sql, parameters, |session, statement| {
            if statement.column_count() != types.len() {
                let text = format!("the query has {} columns and not {}", statement.column_count(), types.len());
                return Err(Error::new(ErrorKind::Statement, text));
            }
            let mut row = Row::default();
            let mut rows = statement.raw_query();
            while let Some(stored) = rows.next().map_err(|error| session.failed(error))? {
                row.clear();
                for (index, kind) in types.iter().enumerate() {
                    let value = stored.get_ref(index).map_err(|error| session.failed(error))?;
                    row.push(decode(value, *kind)?);
                }
                each(&mut row)?;
            }
            Ok(())
        })
    }

    fn check(&mut self, sql: &str) -> Result<()> {
        self.connection.prepare(sql).map(drop).map_err(|error| self.failed(error))
    }

    /// Rows without named columns count by what is stored: numbers have 8 bytes of content, texts and blobs their
    /// length.
    fn ask(&mut self, statement: &Statement, parameters: &[Value<'_>]) -> Result<Answer> {
        if let Some(columns) = &statement.columns {
            return ask_for(self, &statement.sql, columns, parameters);
        }
        let before = self.connection.total_changes();
        let (columns, mut answer) = self.followed(&statement.sql, parameters, |session, prepared| {
            let (columns, mut answer) = (prepared.column_count(), Answer::default());
            let mut rows = prepared.raw_query();
            while let Some(stored) = rows.next().map_err(|error| session.failed(error))? {
                answer.rows += 1;
                for index in 0..columns {
                    answer.content_bytes +=
                        content_bytes(stored.get_ref(index).map_err(|error| session.failed(error))?);
                }
            }
            Ok((columns, answer))
        })?;
        if columns == 0 {
            answer.rows = self.connection.total_changes() - before;
        }
        Ok(answer)
    }

    /// Gives the table's pages back to the file system as well: tables to come would read the list of free pages.
    fn drop_table(&mut self, table: &Table) -> Result<()> {
        let failed = |error| self.failed(error);
        let run = |sql: &str| self.connection.execute_batch(sql).map_err(failed);
        run(&format!("DROP TABLE IF EXISTS {}", table.name))?;
        let pages = |name| self.connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).map_err(failed);
        if pages("freelist_count")? * MOST_FREE < pages("page_count")? {
            return Ok(());
        }
        run("VACUUM")?;
        self.checkpoint().map(drop)
    }

    fn create_table(&mut self, table: &Table) -> Result<()> {
        self.execute(&SqliteDialect.create_table(table), &[]).map(drop)
    }

    fn load(&mut self, table: &Table, rows: &mut dyn RowSource) -> Result<RowSummary> {
        load::load(self, table, rows)
    }

    fn load_batch(&mut self, table: &Table, rows: &mut dyn RowSource) -> Result<RowSummary> {
        let mut follower = self.follower.take();
        // A follower has to outlive a panic: it goes after the rollback.
        let outcome = catch_unwind(AssertUnwindSafe(|| load::batch(self, follower.as_deref_mut(), table, rows)));
        self.follower = follower;
        outcome.unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// Empties the log into the file. There are no statistics to gather: the statements of the tests leave no choice.
    fn settle_table(&mut self, table: &Table) -> Result<()> {
        if schema_and_name(table).0 == "temp" { Ok(()) } else { self.checkpoint().map(drop) }
    }

    /// Empties the log into the file; without a log a commit has done it already.
    fn checkpoint(&mut self) -> Result<bool> {
        if self.options.journal_mode == JournalMode::Wal {
            let blocked = || -> Result<bool> {
                let query = "PRAGMA wal_checkpoint(TRUNCATE)";
                self.connection.query_row(query, [], |row| row.get(0)).map_err(|error| self.failed(error))
            };
            let mut is_blocked = blocked()?;
            // Modelled hardware has a checkpointer of its own, which is soon done.
            for _ in 0..if self.follower.is_some() { CHECKPOINT_ATTEMPTS } else { 0 } {
                if !is_blocked {
                    break;
                }
                self.clock.sleep(CHECKPOINT_WAIT);
                is_blocked = blocked()?;
            }
            if is_blocked {
                return Err(Error::new(ErrorKind::Busy, "another session keeps the log from being emptied")
                    .hint("another program reads the file of the measurement: wait or end it, then run again"));
            }
        }
        Ok(true)
    }

    /// Reads the inner pages of the table's tree only; all pages where rows may overflow, as with very small pages.
    fn table_size(&mut self, table: &Table) -> Result<TableSize> {
        let failed = |error| match error {
            rusqlite::Error::QueryReturnedNoRows => {
                Error::new(ErrorKind::Statement, format!("there is no table {}", table.name))
            }
            other => self.failed(other),
        };
        let (schema, name) = schema_and_name(table);
        let pages = if schema == "main" { self.pages_by_tree(table).map_err(failed)?.transpose()? } else { None };
        let table_bytes = match pages {
            Some(pages) => pages * self.options.page_bytes,
            None => self.bytes_by_reading(schema, name).map_err(failed)?,
        };
        Ok(TableSize { table_bytes, index_bytes: 0 })
    }

    /// SQLite counts by connection, not by table.
    fn table_misses(&mut self, _table: &Table) -> Result<Option<u64>> {
        Ok(None)
    }

    fn canceller(&self) -> Arc<dyn Cancel> {
        Arc::new(Canceller { handle: self.connection.get_interrupt_handle(), cancelled: Arc::clone(&self.cancelled) })
    }
}

impl Sampler for SqliteSession {
    /// Page cache and log of this connection, device bytes and CPU time of the calling thread, which is where SQLite
    /// works. The log's bytes are its frames; a header of 32 bytes whenever it starts over is left out.
    fn sample(&mut self) -> Result<Vec<Reading>> {
        if let Some(follower) = &mut self.follower {
            return Ok(follower.sample());
        }
        let mut readings = Vec::with_capacity(5);
        let clock = self.clock.as_ref();
        if self.options.mmap_bytes == 0 {
            let (misses, window) = windowed(clock, || cache_misses(&self.connection));
            let reading = |pages| Reading { metric: Counter::CacheMissPages, value: pages as f64, window };
            readings.extend(misses.map(reading));
        }
        if self.options.journal_mode == JournalMode::Wal {
            let (frames, window) = windowed(clock, || self.frames());
            let bytes = frames.map(|frames| frames * (self.options.page_bytes + FRAME_HEADER_BYTES));
            let reading = |bytes| Reading { metric: Counter::LogWriteBytes, value: bytes as f64, window };
            readings.extend(bytes.map(reading));
        }
        let (device, window) = windowed(clock, process::this_thread);
        if let Some(device) = device {
            let (read, written) = (device.device_read_bytes as f64, device.device_write_bytes as f64);
            readings.push(Reading { metric: Counter::DeviceReadBytes, value: read, window });
            readings.push(Reading { metric: Counter::DeviceWriteBytes, value: written, window });
        }
        let (seconds, window) = windowed(clock, process::thread_cpu_seconds);
        readings.push(Reading { metric: Counter::EngineCpuSeconds, value: seconds, window });
        Ok(readings)
    }

    /// What this connection wrote to the log. SQLite counts no times, and nothing of the file itself.
    fn views(&mut self) -> Result<Views> {
        if let Some(follower) = &mut self.follower {
            return Ok(follower.views());
        }
        let mut views = Views::default();
        if self.options.journal_mode == JournalMode::Wal
            && let (Some(frames), Some(name)) = (self.frames(), wal(&self.path).file_name())
        {
            views.files.push(FileRow {
                name: name.to_string_lossy().into_owned(),
                kind: "log",
                writes: Some(frames),
                write_bytes: Some(frames * (self.options.page_bytes + FRAME_HEADER_BYTES)),
                ..FileRow::default()
            });
        }
        Ok(views)
    }
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
}
