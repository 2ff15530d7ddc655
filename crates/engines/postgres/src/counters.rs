//! Counters: what the server says of its cache and its log, and which of its processes is on this machine.

use std::fs;
use std::time::Duration;

use plimsoll_clock::{Clock, windowed};
use plimsoll_engine::process;
use plimsoll_engine::{Result, Table, Workspace};
use plimsoll_measurement::{Counter, FileRow, Reading};

use super::connection::Connection;

/// From this version on a session can be told to publish its counts at once.
pub(super) const FLUSH_VERSION: u32 = 150_000;
/// From these versions on the server counts writes of its log: first in a view of their own, then in that of all I/O.
pub(super) const LOG_VIEW_VERSION: u32 = 140_000;
pub(super) const IO_VIEW_VERSION: u32 = 180_000;
/// Before [`FLUSH_VERSION`], it publishes at most every half second, at the end of a statement.
const PUBLISH_PAUSE: Duration = Duration::from_millis(600);

/// Makes this session's counts visible in the statistics views.
pub(super) fn flush(connection: &mut Connection, clock: &dyn Clock, server_version: u32) -> Result<()> {
    if server_version >= FLUSH_VERSION {
        return connection.run("SELECT pg_stat_force_next_flush()").map(drop);
    }
    clock.sleep(PUBLISH_PAUSE);
    connection.run("SELECT pg_stat_clear_snapshot()")?;
    clock.sleep(PUBLISH_PAUSE);
    Ok(())
}

/// Pages of the table, its index and its TOAST table that were not in shared buffers, cumulative.
pub(super) fn table_misses(connection: &mut Connection, table: &Table) -> Result<Option<u64>> {
    let sql = "SELECT coalesce(heap_blks_read, 0) + coalesce(idx_blks_read, 0) \
               + coalesce(toast_blks_read, 0) + coalesce(tidx_blks_read, 0) \
               FROM pg_statio_user_tables WHERE relid = $1::text::regclass";
    Ok(connection.rows(sql, &[&table.name])?.first().and_then(|row| row.get(0)))
}

/// Misses of all tables of a place, and bytes of the log since the cluster was made. This session's counts have to be
/// [`flush`]ed before; other sessions' are seen up to a second late.
pub(super) fn sample(connection: &mut Connection, clock: &dyn Clock, workspace: &Workspace) -> Result<Vec<Reading>> {
    let sql = "SELECT (SELECT coalesce(sum(coalesce(heap_blks_read, 0) + coalesce(idx_blks_read, 0) + coalesce(toast_blks_read, 0) \
               + coalesce(tidx_blks_read, 0)), 0)::float8 FROM pg_statio_user_tables WHERE schemaname = $1), \
               CASE WHEN NOT pg_is_in_recovery() AND has_function_privilege('pg_current_wal_lsn()', 'execute') \
               THEN (pg_current_wal_lsn() - '0/0'::pg_lsn)::float8 END";
    let (row, window) = windowed(clock, || connection.row(sql, &[workspace.name()]));
    let row = row?;
    let metrics = [Counter::CacheMissPages, Counter::LogWriteBytes].into_iter().enumerate();
    Ok(metrics.filter_map(|(index, metric)| Some(Reading { metric, value: row.get(index)?, window })).collect())
}

/// The question for [`file_rows`]: the log as the whole server wrote and synced it, with times where the server takes them
/// (`track_wal_io_timing`). Counts of other sessions come late; those of a session that has ended are there soon. Before
/// version 14 nobody counted.
pub(super) fn files_sql(server_version: u32) -> Option<String> {
    let source = match server_version {
        ..LOG_VIEW_VERSION => return None,
        LOG_VIEW_VERSION..IO_VIEW_VERSION => {
            "wal_write AS writes, wal_bytes::int8 AS bytes, wal_write_time AS write_time, wal_sync AS syncs, \
             wal_sync_time AS sync_time FROM pg_stat_wal"
        }
        IO_VIEW_VERSION.. => {
            "sum(writes)::int8 AS writes, sum(write_bytes)::int8 AS bytes, sum(write_time) AS write_time, \
             sum(fsyncs)::int8 AS syncs, sum(fsync_time) AS sync_time FROM pg_stat_io WHERE object = 'wal'"
        }
    };
    Some(format!(
        "SELECT writes::float8, bytes::float8, CASE WHEN timed THEN write_time / 1000 END, syncs::float8, \
         CASE WHEN timed THEN sync_time / 1000 END \
         FROM (SELECT {source}) counts, (SELECT current_setting('track_wal_io_timing')::bool AS timed) settings"
    ))
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
    let row = connection.row(&sql, &[])?;
    Ok(file_rows(&|index| row.get(index)).to_vec())
}

/// The parent of all processes of the server that serves this connection, if they are on this machine.
pub(super) fn postmaster(connection: &mut Connection, loopback: bool) -> Option<u32> {
    if !loopback {
        return None;
    }
    let backend: u32 = connection.value("SELECT pg_backend_pid()", &[]).ok()?;
    // A loopback address may lead into a container, which has process ids of its own.
    let name = fs::read_to_string(format!("/proc/{backend}/comm")).ok()?;
    (name.trim() == "postgres").then_some(())?;
    process::parent(backend)
}
