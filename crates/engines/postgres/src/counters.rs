//! Counters: what the server says of its cache and its log, and which of its processes is on this machine.

use std::fs;
use std::time::Duration;

use plimsoll_clock::{Clock, windowed};
use plimsoll_engine::process;
use plimsoll_engine::{ErrorKind, Result, Table, Workspace};
use plimsoll_measurement::{Counter, FileRow, Reading};

use super::connection::Connection;
use super::statements::{sql, sql_for};

/// From this version on a session can be told to publish its counts at once.
pub(super) const FLUSH_VERSION: u32 = 150_000;
/// Before [`FLUSH_VERSION`], it publishes at most every half second, at the end of a statement.
const PUBLISH_PAUSE: Duration = Duration::from_millis(600);

/// Makes this session's counts visible in the statistics views.
pub(super) fn flush(connection: &mut Connection, clock: &dyn Clock, server_version: u32) -> Result<()> {
    if let Some(flush) = sql_for("publish counts", server_version) {
        return connection.run(flush).map(drop);
    }
    clock.sleep(PUBLISH_PAUSE);
    connection.run(sql("forget counts"))?;
    clock.sleep(PUBLISH_PAUSE);
    Ok(())
}

/// Pages of the table, its index and its TOAST table that were not in shared buffers, cumulative.
pub(super) fn table_misses(connection: &mut Connection, table: &Table) -> Result<Option<u64>> {
    Ok(connection.rows(sql("cache misses of a table"), &[&table.name])?.first().and_then(|row| row.get(0)))
}

/// Misses of all tables of a place, and bytes of the log since the cluster was made where the user may see them. This session's counts
/// have to be [`flush`]ed before; other sessions' are seen up to a second late.
pub(super) fn sample(
    connection: &mut Connection,
    clock: &dyn Clock,
    workspace: &Workspace,
    log_is_hidden: &mut bool,
) -> Result<Vec<Reading>> {
    let place = [workspace.name()];
    let (row, window) = windowed(clock, || {
        if !*log_is_hidden {
            match connection.row(sql("counters of a workspace"), &place) {
                Err(error) if error.kind == ErrorKind::Permission => *log_is_hidden = true,
                outcome => return outcome,
            }
        }
        connection.row(sql("cache misses of a workspace"), &place)
    });
    let row = row?;
    let metrics = [Counter::CacheMissPages, Counter::LogWriteBytes].into_iter().enumerate();
    Ok(metrics.filter_map(|(index, metric)| Some(Reading { metric, value: row.get(index)?, window })).collect())
}

/// The question for [`file_rows`]: the log as the whole server wrote and synced it, with times where the server takes them
/// (`track_wal_io_timing`). Counts of other sessions come late; those of a session that has ended are there soon. Before
/// version 14 nobody counted.
pub(super) fn files_sql(server_version: u32) -> Option<&'static str> {
    sql_for("log as a file", server_version)
}

/// Writes and syncs of the log, from the columns of an answer to [`files_sql`].
pub(super) fn file_rows(number: &dyn Fn(usize) -> Option<f64>) -> [FileRow; 2] {
    let file = |name: &str, count: usize, bytes: Option<f64>, seconds: usize| FileRow {
        name: name.to_owned(),
        kind: "log",
        writes: number(count).map(|count| count as u64),
        write_bytes: bytes.map(|bytes| bytes as u64),
        write_stall_seconds: number(seconds),
        ..FileRow::default()
    };
    [file("WAL writes", 0, number(1), 2), file("WAL syncs", 3, None, 4)]
}

/// What [`files_sql`] asks for, over a session.
pub(super) fn files(connection: &mut Connection, server_version: u32) -> Result<Vec<FileRow>> {
    let Some(sql) = files_sql(server_version) else { return Ok(Vec::new()) };
    let row = connection.row(sql, &[])?;
    Ok(file_rows(&|index| row.get(index)).to_vec())
}

/// The parent of all processes of the server that serves this connection, if they are on this machine.
pub(super) fn postmaster(connection: &mut Connection, loopback: bool) -> Option<u32> {
    if !loopback {
        return None;
    }
    let backend: u32 = connection.value(sql("process of the session"), &[]).ok()?;
    // A loopback address may lead into a container, which has process ids of its own.
    let name = fs::read_to_string(format!("/proc/{backend}/comm")).ok()?;
    (name.trim() == "postgres").then_some(())?;
    process::parent(backend)
}
