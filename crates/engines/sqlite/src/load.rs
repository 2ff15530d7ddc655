//! The fast path of loading: one transaction, one prepared statement, a row at a time.
//!
//! In WAL mode each page would be written twice, into the log and then into the file. A load appends to a table that is
//! new, and with a rollback journal SQLite writes new pages straight into the file and journals nothing of them. So the
//! file leaves WAL mode for the time of the load if this session is its only one; a session that opens meanwhile finds it
//! busy. It likewise leaves `memory` and `off`, in which a killed load would damage the tables that were there before.

use std::sync::atomic::Ordering;

use plimsoll_engine::{Error, ErrorKind, Result, Row, RowSource, RowSummary, Table};
use rusqlite::{ErrorCode, StatementStatus};

use super::modelled::Follower;
use super::native::cache_writes;
use super::options::{DELETE, WAL, set_journal_mode, survives_a_kill};
use super::statements::SqliteSession;
use super::values::bind;

/// Loads all rows or none.
pub(super) fn load(session: &mut SqliteSession, table: &Table, rows: &mut dyn RowSource) -> Result<RowSummary> {
    session.cancelled.store(false, Ordering::Relaxed);
    let left_mode = !table.name.starts_with("temp.") && leave_mode(session)?;
    if !left_mode {
        return in_transaction(session, table, rows).map(|(row_summary, _)| row_summary);
    }
    let before = cache_writes(&session.connection);
    let outcome = in_transaction(session, table, rows);
    let restored = set_journal_mode(&session.connection, session.options.journal_mode);
    let pages = cache_writes(&session.connection).zip(before).map_or(0, |(after, before)| after - before);
    session.pages_past_the_log += pages;
    let (row_summary, _) = outcome?;
    if !restored.map_err(|error| session.failed(error))? {
        return Err(Error::new(ErrorKind::Busy, "the journal mode could not be restored after a load")
            .hint("another program has opened the file of the measurement: keep it away, then run again"));
    }
    Ok(row_summary)
}

/// Loads all rows or none as any transaction would: others may have the file open, and the log is written. A follower hears
/// of it as of one statement.
pub(super) fn batch(
    session: &SqliteSession,
    mut follower: Option<&mut (dyn Follower + 'static)>,
    table: &Table,
    rows: &mut dyn RowSource,
) -> Result<RowSummary> {
    session.cancelled.store(false, Ordering::Relaxed);
    if let Some(follower) = &mut follower {
        follower.begin(&insert_sql(table), true)?;
    }
    let outcome = in_transaction(session, table, rows);
    let steps = outcome.as_ref().map_or(0, |(_, steps)| *steps);
    let ended = follower.map_or(Ok(()), |follower| follower.end(steps, session.connection.is_autocommit()));
    outcome.and_then(|(row_summary, _)| ended.map(|()| row_summary))
}

/// Changes to a rollback journal if that is better for a load; true if the mode was changed.
fn leave_mode(session: &SqliteSession) -> Result<bool> {
    let mode = session.options.journal_mode;
    if mode != WAL && survives_a_kill(mode) {
        return Ok(false);
    }
    match set_journal_mode(&session.connection, DELETE) {
        Ok(changed) => Ok(changed),
        // Somebody else has the file open: the log will do.
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => Ok(false),
        Err(error) => Err(session.failed(error)),
    }
}

/// Also gives the steps of SQLite's virtual machine that the inserts took.
fn in_transaction(session: &SqliteSession, table: &Table, rows: &mut dyn RowSource) -> Result<(RowSummary, u64)> {
    let run = |sql: &str| session.connection.execute_batch(sql).map_err(|error| session.failed(error));
    run("BEGIN IMMEDIATE")?;
    let outcome = insert(session, table, rows).and_then(|row_summary| run("COMMIT").map(|()| row_summary));
    if outcome.is_err() && !session.connection.is_autocommit() {
        // The first error tells the reason; what can't be rolled back now is rolled back when the file is opened next.
        let _ = run("ROLLBACK");
    }
    outcome
}

fn insert_sql(table: &Table) -> String {
    let placeholders = vec!["?"; table.columns.len()].join(", ");
    format!("INSERT INTO {} VALUES ({placeholders})", table.name)
}

fn insert(session: &SqliteSession, table: &Table, rows: &mut dyn RowSource) -> Result<(RowSummary, u64)> {
    let failed = |error| session.failed(error);
    let columns = table.columns.len();
    let mut statement = session.connection.prepare(&insert_sql(table)).map_err(failed)?;
    let (mut row, mut row_summary) = (Row::default(), RowSummary::default());
    loop {
        row.clear();
        if !rows.next(&mut row)? {
            let steps = statement.reset_status(StatementStatus::VmStep);
            return Ok((row_summary, u64::try_from(steps).unwrap_or(0)));
        }
        if session.cancelled.load(Ordering::Relaxed) {
            return Err(Error::new(ErrorKind::Cancelled, "the load was cancelled"));
        }
        if row.len() != columns {
            let text = format!("a row of {} values can't be loaded into {columns} columns", row.len());
            return Err(Error::new(ErrorKind::Internal, text));
        }
        for (index, value) in row.values().enumerate() {
            bind(&mut statement, index + 1, value).map_err(failed)?;
        }
        statement.raw_execute().map_err(failed)?;
        row_summary.add(&mut row);
    }
}
