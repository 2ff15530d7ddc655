//! Counters: what InnoDB says of its pages, its log and its tables, and what Linux says of the server's process.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;

use plimsoll_clock::{Clock, windowed};
use plimsoll_engine::database::{Sampler, TableSize};
use plimsoll_engine::error::{ErrorKind, Result};
use plimsoll_engine::process;
use plimsoll_engine::table::Table;
use plimsoll_measurement::{Counter, FileRow, Reading};

use super::connection::Connection;
use super::error::statement;

/// The question for [`status_of`].
pub(super) fn status_sql(names: &[&str]) -> String {
    let list: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
    format!("SHOW GLOBAL STATUS WHERE Variable_name IN ({})", list.join(", "))
}

/// Status of the whole server by name, as far as it is a number.
pub(super) fn status_of(rows: Vec<Vec<Option<String>>>) -> BTreeMap<String, u64> {
    rows.into_iter()
        .filter_map(|row| match <[Option<String>; 2]>::try_from(row).ok()? {
            [Some(name), Some(value)] => Some((name.to_ascii_lowercase(), value.parse().ok()?)),
            _ => None,
        })
        .collect()
}

fn status(connection: &mut Connection, names: &[&str]) -> Result<BTreeMap<String, u64>> {
    connection.ask(&status_sql(names)).map(status_of)
}

/// Pages that were read from files, read-ahead included; bytes of the log; and bytes that were read, if no cache of the
/// system is in between. All of it is of the whole server.
pub(super) fn sample(connection: &mut Connection, clock: &dyn Clock, is_direct: bool) -> Result<Vec<Reading>> {
    let names = ["Innodb_pages_read", "Innodb_os_log_written", "Innodb_data_read"];
    let (status, window) = windowed(clock, || status(connection, &names));
    let status = status?;
    let metrics = [Counter::CacheMissPages, Counter::LogWriteBytes, Counter::DeviceReadBytes];
    let seen = names.iter().zip(metrics).filter(|(_, metric)| is_direct || *metric != Counter::DeviceReadBytes);
    Ok(seen
        .filter_map(|(name, metric)| {
            let value = *status.get(&name.to_ascii_lowercase())? as f64;
            Some(Reading { metric, value, window })
        })
        .collect())
}

/// What [`log_rows`] are made of.
pub(super) const LOG_STATUS: [&str; 3] = ["Innodb_log_writes", "Innodb_os_log_written", "Innodb_os_log_fsyncs"];

/// The log as the whole server wrote and synced it; nobody takes the times.
pub(super) fn log_rows(status: &BTreeMap<String, u64>) -> Vec<FileRow> {
    let [writes, bytes, syncs] = LOG_STATUS.map(|name| status.get(&name.to_ascii_lowercase()).copied());
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
    Ok(log_rows(&status(connection, &LOG_STATUS)?))
}

/// Has the server look at some pages of a table and renew its statistics, in its own log only.
pub(super) fn analyze(connection: &mut Connection, table: &Table) -> Result<()> {
    connection.run(&format!("ANALYZE NO_WRITE_TO_BINLOG TABLE {}", table.name)).map(drop)
}

/// Pages of a table's clustered tree by its statistics: those that hold rows, where these may be seen; else all that are
/// set aside for it.
pub(super) fn table_size(connection: &mut Connection, table: &Table, page_bytes: u64) -> Result<TableSize> {
    let name = &table.name;
    let sql = format!(
        "SELECT DATA_LENGTH FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = '{name}'"
    );
    let reserved = connection.ask_one(&sql)?.and_then(|bytes| bytes.parse().ok());
    let reserved: u64 = reserved.ok_or_else(|| statement(format_args!("there is no table {name}")))?;
    let sql = format!(
        "SELECT stat_value FROM mysql.innodb_index_stats WHERE database_name = DATABASE() AND table_name = '{name}' \
         AND index_name IN ('PRIMARY', 'GEN_CLUST_INDEX') AND stat_name = 'n_leaf_pages'"
    );
    let leaves = match connection.ask_one(&sql) {
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
    let row = connection.ask("SELECT @@hostname, @@pid_file, @@datadir").ok()?.into_iter().next()?;
    let [Some(host), Some(file), Some(directory)] = <[Option<String>; 3]>::try_from(row).ok()? else { return None };
    // A loopback address may lead into a container, which has a name of its own and whose process ids mean nothing here.
    if rustix::system::uname().nodename().to_str().ok()? != host {
        return None;
    }
    let file = std::path::Path::new(&directory).join(file);
    let pid: u32 = fs::read_to_string(file).ok()?.trim().parse().ok()?;
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    connection.server.product.process_names().contains(&name.trim()).then_some(pid)
}

/// Counters of the server's process.
pub(super) struct ProcessSampler {
    clock: Arc<dyn Clock>,
    pid: u32,
}

impl ProcessSampler {
    /// A sampler of the server with this process; `None` without the right to read anything of it.
    pub(super) fn new(clock: Arc<dyn Clock>, pid: u32) -> Option<Self> {
        let sees = process::of_process(pid).is_some() || process::cpu_seconds(pid).is_some();
        sees.then_some(Self { clock, pid })
    }
}

impl Sampler for ProcessSampler {
    /// Leaves out what can't be read any more, such as everything when the server was restarted.
    fn sample(&mut self) -> Result<Vec<Reading>> {
        let ((io, cpu), window) =
            windowed(self.clock.as_ref(), || (process::of_process(self.pid), process::cpu_seconds(self.pid)));
        let values = [
            (Counter::DeviceReadBytes, io.map(|io| io.device_read_bytes as f64)),
            (Counter::DeviceWriteBytes, io.map(|io| io.device_write_bytes as f64)),
            (Counter::EngineCpuSeconds, cpu),
        ];
        Ok(values.into_iter().filter_map(|(metric, value)| Some(Reading { metric, value: value?, window })).collect())
    }
}
