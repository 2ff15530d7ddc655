//! Counters: what InnoDB says of its pages, its log and its tables, and the server's process where it is on this machine.

use std::fs;

use plimsoll_clock::{Clock, windowed};
use plimsoll_engine::{ErrorKind, Result, TableSize, Workspace};
use plimsoll_measurement::{Counter, FileRow, Reading};

use super::connection::{Connection, Rows};
use super::counter_queries::{Status, of};
use super::error::statement;
use super::statements::{of_table, text};

/// Status of the whole server by name, as far as it is a number.
pub(super) fn status_of(rows: Rows) -> Status {
    rows.into_iter()
        .filter_map(|row| match <[Option<String>; 2]>::try_from(row).ok()? {
            [Some(name), Some(value)] => Some((name.to_ascii_lowercase(), value.parse().ok()?)),
            _ => None,
        })
        .collect()
}

/// Pages that were read from files, read-ahead included; bytes of the log; and bytes that were read, if no cache of the
/// system is in between. All of it is of the whole server.
pub(super) fn sample(connection: &mut Connection, clock: &dyn Clock, is_direct: bool) -> Result<Vec<Reading>> {
    let (rows, window) = windowed(clock, || connection.ask(text("status of pages and log")));
    let status = status_of(rows?);
    let values = [
        (Counter::CacheMissPages, of(&status, "Innodb_pages_read")),
        (Counter::LogWriteBytes, of(&status, "Innodb_os_log_written")),
        (Counter::DeviceReadBytes, of(&status, "Innodb_data_read").filter(|_| is_direct)),
    ];
    Ok(values.into_iter().filter_map(|(metric, value)| Some(Reading { metric, value: value?, window })).collect())
}

/// The log as the whole server wrote and synced it; nobody takes the times.
pub(super) fn log_rows(status: &Status) -> Vec<FileRow> {
    let count = |name: &str| status.get(name).copied();
    let [writes, bytes, syncs] = ["innodb_log_writes", "innodb_os_log_written", "innodb_os_log_fsyncs"].map(count);
    let file = |name: &str, writes, write_bytes| FileRow {
        name: name.to_owned(),
        kind: "log",
        writes,
        write_bytes,
        ..FileRow::default()
    };
    let rows = [file("redo log writes", writes, bytes), file("redo log syncs", syncs, None)];
    rows.into_iter().filter(|row| row.writes.is_some()).collect()
}

/// [`log_rows`] over a session.
pub(super) fn files(connection: &mut Connection) -> Result<Vec<FileRow>> {
    let sql = connection.server.product.text("status of the log");
    Ok(log_rows(&status_of(connection.ask(sql)?)))
}

/// Writes a table's dirty pages; false if this user may not ask for it.
pub(super) fn flush(connection: &mut Connection, workspace: &Workspace, table: &str) -> Result<bool> {
    let flushed = connection.run(&of_table("flush a table", workspace, table));
    let unlocked = connection.run(text("unlock tables"));
    match flushed {
        Ok(_) => unlocked.map(|_| true),
        Err(error) if error.kind == ErrorKind::Permission => Ok(false),
        Err(error) => Err(error),
    }
}

/// Pages of a table's clustered tree by its statistics: those that hold rows, where these may be seen; else all that are
/// set aside for it.
pub(super) fn table_size(
    connection: &mut Connection,
    workspace: &Workspace,
    table: &str,
    page_bytes: u64,
) -> Result<TableSize> {
    let bytes = connection.ask_one(&of_table("bytes of a table", workspace, table))?;
    let reserved = bytes.and_then(|bytes| bytes.parse().ok());
    let reserved: u64 = reserved.ok_or_else(|| statement(format_args!("there is no table {table}")))?;
    let leaves = match connection.ask_one(&of_table("pages of a table", workspace, table)) {
        Ok(pages) => pages.and_then(|pages| pages.parse::<u64>().ok()),
        // For some users only.
        Err(error) if error.kind == ErrorKind::Permission => None,
        Err(error) => return Err(error),
    };
    Ok(TableSize { table_bytes: leaves.map_or(reserved, |pages| pages * page_bytes), index_bytes: 0 })
}

/// The server's process, if it is on this machine and we may know.
pub(super) fn process_of(connection: &mut Connection, loopback: bool) -> Option<u32> {
    if !loopback {
        return None;
    }
    let row = connection.ask(text("process")).ok()?.into_iter().next()?;
    let [Some(host), Some(file), Some(directory)] = <[Option<String>; 3]>::try_from(row).ok()? else { return None };
    // A loopback address may lead into a container, which has a name and process ids of its own.
    if rustix::system::uname().nodename().to_str().ok()? != host {
        return None;
    }
    let file = std::path::Path::new(&directory).join(file);
    let pid: u32 = fs::read_to_string(file).ok()?.trim().parse().ok()?;
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    connection.server.product.process_names().contains(&name.trim()).then_some(pid)
}
