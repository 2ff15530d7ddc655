//! A session: one connection to the file of a place.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::Duration;

use plimsoll_clock::windowed;
use plimsoll_engine::process;
use plimsoll_engine::{
    Answer, Cancel, ColumnType, Dialect, Error, ErrorKind, Requester, Result, Row, RowSource, RowSummary, Sampler,
    Session, Statement, Table, TableSize, Value, ask_for,
};
use plimsoll_measurement::{Counter, FileRow, Reading, Views};

use super::existing;
use super::location::wal;
use super::native::cache_misses;
use super::options::WAL;
use super::owner;
use super::statements::{Canceller, SqliteSession, schema_and_name};
use super::texts::text;
use super::values::{content_bytes, decode};
use super::{SqliteDialect, load};

/// Bytes of a log frame's header ("The WAL File Format" in SQLite's description of its file format).
const FRAME_HEADER_BYTES: u64 = 24;

/// A file is made smaller when this part of it, one in so many, is free.
const MOST_FREE: i64 = 10;

/// Statements in one text, most of all: the stack of a thread has room for some ten times as many.
const MOST_STATEMENTS: usize = 2000;
/// How often a session tries to empty the log beside the checkpointer of modelled hardware, and how long it waits.
const CHECKPOINT_ATTEMPTS: u32 = 1000;
const CHECKPOINT_WAIT: Duration = Duration::from_millis(10);

impl Session for SqliteSession {
    fn dialect(&self) -> &'static dyn Dialect {
        &SqliteDialect
    }

    fn execute(&mut self, sql: &str, parameters: &[Value<'_>]) -> Result<u64> {
        let before = self.connection.total_changes();
        self.followed(sql, parameters, |session, statement| {
            // Rows that come of it are passed over.
            let mut rows = statement.raw_query();
            while rows.next().map_err(|error| session.failed(error))?.is_some() {}
            Ok(())
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
        // The driver looks into what follows a statement by calling itself.
        if sql.split('\'').step_by(2).map(|outside| outside.matches(';').count()).sum::<usize>() > MOST_STATEMENTS {
            let message = format!("a text with more than {MOST_STATEMENTS} statements is not read");
            return Err(Error::new(ErrorKind::Statement, message).hint("name them one by one: statements = [...]"));
        }
        self.connection.prepare(sql).map(drop).map_err(|error| self.failed(error))
    }

    fn adopt_tables(&mut self) -> Result<()> {
        let others = owner::others(&self.connection, &[]).map_err(|error| self.failed(error))?;
        let tables: Vec<String> =
            others.into_iter().filter(|(kind, _)| kind == "table").map(|(_, name)| name).collect();
        if tables.is_empty() {
            return Ok(());
        }
        let adopt = || {
            self.connection.execute_batch(text("make the list of adopted tables"))?;
            tables.iter().try_for_each(|name| self.connection.execute(text("adopt a table"), [name]).map(drop))
        };
        adopt().map_err(|error| self.failed(error))
    }

    fn check_table(&mut self, table: &Table) -> Result<()> {
        let others = owner::others_at(&self.connection, &table.name).map_err(|error| self.failed(error))?;
        if others.is_empty() {
            return Ok(());
        }
        let message = format!("the database of this run is kept, as this in it is not ours: {}", others.join(", "));
        Err(Error::new(ErrorKind::Safety, message).hint("move or drop it, then run plimsoll clean"))
    }

    /// Gives the table's pages back to the file system as well: tables to come would read the list of free pages.
    fn drop_table(&mut self, table: &Table) -> Result<()> {
        self.check_table(table)?;
        let failed = |error| self.failed(error);
        let run = |sql: &str| self.connection.execute_batch(sql).map_err(failed);
        run(&format!("DROP TABLE IF EXISTS {}", table.name))?;
        let pages = |name| self.connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).map_err(failed);
        if pages("freelist_count")? * MOST_FREE < pages("page_count")? {
            return Ok(());
        }
        existing::attaching(&self.connection, || self.connection.execute_batch(text("shrink"))).map_err(failed)?;
        self.checkpoint().map(drop)
    }

    fn load(&mut self, table: &Table, rows: &mut dyn RowSource) -> Result<RowSummary> {
        load::load(self, table, rows)
    }

    /// Empties the log into the file. There are no statistics to gather: the statements of the tests leave no choice.
    fn settle_table(&mut self, table: &Table) -> Result<()> {
        if schema_and_name(table).0 == "temp" { Ok(()) } else { self.checkpoint().map(drop) }
    }

    /// Empties the log into the file; without a log a commit has done it already.
    fn checkpoint(&mut self) -> Result<bool> {
        if self.options.journal_mode == WAL {
            let blocked = || -> Result<bool> {
                self.connection
                    .query_row(text("empty the log"), [], |row| row.get(0))
                    .map_err(|error| self.failed(error))
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
    fn table_size(&mut self, table: &Table) -> Result<Option<TableSize>> {
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
        Ok(Some(TableSize { table_bytes, index_bytes: 0 }))
    }
}

impl Requester for SqliteSession {
    /// Rows without named columns count by what is stored: numbers have 8 bytes of content, texts and blobs their
    /// length.
    fn ask(&mut self, statement: &Statement, parameters: &[Value<'_>]) -> Result<Answer> {
        if statement.columns.is_some() {
            return ask_for(self, statement, parameters);
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

    fn load_batch(&mut self, table: &Table, rows: &mut dyn RowSource) -> Result<RowSummary> {
        let mut follower = self.follower.take();
        // A follower has to outlive a panic: it goes after the rollback.
        let outcome = catch_unwind(AssertUnwindSafe(|| load::batch(self, follower.as_deref_mut(), table, rows)));
        self.follower = follower;
        outcome.unwrap_or_else(|panic| resume_unwind(panic))
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
        let mut put = |metric, value: f64, window| readings.push(Reading { metric, value, window });
        let clock = self.clock.as_ref();
        if self.options.mmap_bytes == 0 {
            let (misses, window) = windowed(clock, || cache_misses(&self.connection));
            if let Some(pages) = misses {
                put(Counter::CacheMissPages, pages as f64, window);
            }
        }
        if self.options.journal_mode == WAL {
            let (frames, window) = windowed(clock, || self.frames());
            let bytes = frames.map(|frames| frames * (self.options.page_bytes + FRAME_HEADER_BYTES));
            if let Some(bytes) = bytes {
                put(Counter::LogWriteBytes, bytes as f64, window);
            }
        }
        let (device, window) = windowed(clock, process::this_thread);
        if let Some(device) = device {
            put(Counter::DeviceReadBytes, device.device_read_bytes as f64, window);
            put(Counter::DeviceWriteBytes, device.device_write_bytes as f64, window);
        }
        let (seconds, window) = windowed(clock, process::thread_cpu_seconds);
        put(Counter::EngineCpuSeconds, seconds, window);
        Ok(readings)
    }

    /// What this connection wrote to the log. SQLite counts no times, and nothing of the file itself.
    fn views(&mut self) -> Result<Views> {
        if let Some(follower) = &mut self.follower {
            return Ok(follower.views());
        }
        let mut views = Views::default();
        if self.options.journal_mode == WAL
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
