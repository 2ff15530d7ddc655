//! Counters of the server, as its system views have them. What a user may not see is left out.

use std::time::Duration;

use plimsoll_clock::{Clock, windowed};
use plimsoll_engine::{Result, Row, Value};
use plimsoll_measurement::{Counter, FileLimit, FileRow, Moment, Reading, ResourceRow, Views, WaitClass, WaitRow};

use super::abilities::{Abilities, Ability};
use super::control::{Control, text_of, whole};
use super::describe::PAGE_BYTES;
use super::{sql, waits};

/// Type of a log file in `sys.database_files`.
const LOG: i64 = 1;
/// Columns of a file's size, of whether it is a blob, and of its database, in [`sql::FILE_STATISTICS_TIMED`].
const PAGES: usize = 9;
const IS_BLOB: usize = 10;
const OWN_DATABASE: usize = 11;
/// Columns of where a file belongs and lies, and of what it is known by, in [`sql::ALL_FILES`].
const DATABASE: usize = 8;
const PATH: usize = 9;
const IDENTITY: usize = 10;
/// Columns of the server's time, of a file's pages and of its database, in the same.
const SAMPLED_AT: usize = 11;
const PAGES_ANYWHERE: usize = 12;
const DATABASE_ID: usize = 13;
/// Databases whose files are on the instance's own disk: `tempdb`, and those that a managed instance has for itself (reference, 5.5).
const LOCAL: [i64; 5] = [2, 32760, 32761, 32762, 32763];
/// Columns of parts of a wait's time.
const SIGNAL: usize = 3;
const LONGEST: usize = 4;
/// What the catalogue calls the limits of files that are blobs.
const BLOBS: &str = "azure-sql-mi-gp";

struct File {
    name: String,
    is_log: bool,
    reads: u64,
    read_bytes: u64,
    read_stall_ms: u64,
    writes: u64,
    write_bytes: u64,
    write_stall_ms: u64,
}

impl File {
    fn of(row: &Row) -> Option<Self> {
        let count = |index| whole(row, index).and_then(|number| u64::try_from(number).ok());
        Some(Self {
            name: text_of(row, 0)?,
            is_log: whole(row, 1)? == LOG,
            reads: count(2)?,
            read_bytes: count(3)?,
            read_stall_ms: count(4)?,
            writes: count(5)?,
            write_bytes: count(6)?,
            write_stall_ms: count(7)?,
        })
    }
}

fn files(control: &mut Control) -> Result<Vec<File>> {
    Ok(control.rows(sql::FILE_STATISTICS, &[])?.iter().filter_map(File::of).collect())
}

/// Cumulative counters: I/O of the database's files by all sessions, and the CPU of this one. SQL Server reads past the
/// system's cache, so what it reads from files comes from the device.
pub(super) fn sample(control: &mut Control, clock: &dyn Clock, abilities: Abilities) -> Result<Vec<Reading>> {
    let mut readings = Vec::new();
    let mut put = |metric, value: f64, window| readings.push(Reading { metric, value, window });
    if abilities.has(Ability::SeeFiles) {
        let (files, window) = windowed(clock, || files(control));
        let files = files?;
        sums(&files, |metric, value| put(metric, value, window));
    }
    let (cpu, window) = windowed(clock, || control.number(sql::OWN_CPU, &[]));
    // A server without that view, or another server, doesn't count it.
    if let Ok(Some(milliseconds)) = cpu {
        put(Counter::EngineCpuSeconds, milliseconds as f64 / 1e3, window);
    }
    Ok(readings)
}

fn sums(files: &[File], mut put: impl FnMut(Counter, f64)) {
    let sum = |is_log: bool, of: fn(&File) -> u64| {
        files.iter().filter(|file| file.is_log == is_log).map(of).sum::<u64>() as f64
    };
    put(Counter::CacheMissPages, sum(false, |file| file.read_bytes / PAGE_BYTES));
    put(Counter::DeviceReadBytes, sum(false, |file| file.read_bytes));
    put(Counter::DeviceWriteBytes, sum(false, |file| file.write_bytes) + sum(true, |file| file.write_bytes));
    put(Counter::LogWriteBytes, sum(true, |file| file.write_bytes));
    put(Counter::DataReads, sum(false, |file| file.reads));
    put(Counter::DataWrites, sum(false, |file| file.writes));
    put(Counter::LogWrites, sum(true, |file| file.writes));
    put(Counter::DataReadStallSeconds, sum(false, |file| file.read_stall_ms) / 1e3);
    put(Counter::DataWriteStallSeconds, sum(false, |file| file.write_stall_ms) / 1e3);
    put(Counter::LogWriteStallSeconds, sum(true, |file| file.write_stall_ms) / 1e3);
}

/// What rows of files count. Gives the files of a managed instance that are blobs, each with limits of its own.
pub(super) fn file_readings(rows: &[Row], put: impl FnMut(Counter, f64)) -> Vec<FileRow> {
    let files: Vec<File> = rows.iter().filter_map(File::of).collect();
    sums(&files, put);
    let blob = |row: &Row| {
        let pages = whole(row, PAGES).and_then(|pages| u64::try_from(pages).ok());
        let size_bytes = pages.map(|pages| pages.saturating_mul(PAGE_BYTES));
        let limit = Some(FileLimit::BySize(BLOBS));
        Some(FileRow { size_bytes, limit, database: text_of(row, OWN_DATABASE), ..file_row(File::of(row)?) })
    };
    rows.iter().filter(|row| whole(row, IS_BLOB) == Some(1)).filter_map(blob).collect()
}

/// How much of the level's memory is in use, in Azure.
pub(super) fn sample_memory(control: &mut Control, clock: &dyn Clock, abilities: Abilities) -> Result<Option<Reading>> {
    if !abilities.has(Ability::SeeResources) {
        return Ok(None);
    }
    let (rows, window) = windowed(clock, || control.rows(sql::MEMORY_IN_USE, &[]));
    Ok(match rows?.first().map(|row| row.get(0)) {
        Some(Value::Float(value)) => Some(Reading { metric: Counter::MemoryPercent, value, window }),
        _ => None,
    })
}

/// Files, this session's waits, and in Azure the use of the level's resources.
pub(super) fn views(control: &mut Control, clock: &dyn Clock, abilities: Abilities) -> Result<Views> {
    let mut views = Views::default();
    if abilities.has(Ability::SeeFiles) {
        views.files = match control.rows(sql::ALL_FILES, &[]) {
            Ok(rows) => rows.iter().filter_map(file_anywhere).collect(),
            // Azure SQL Database has one database and no view of others.
            Err(_) => files(control)?.into_iter().map(file_row).collect(),
        };
    }
    if abilities.has(Ability::SeeOwnWaits) {
        let rows = control.rows(sql::OWN_WAITS, &[])?;
        views.waits = rows.iter().filter_map(wait_row).collect();
    }
    if abilities.has(Ability::SeeResources) {
        let rows = control.rows(sql::RESOURCES, &[])?;
        let now = clock.now();
        views.resources_15_s = rows.iter().filter_map(|row| resource_row(row, now)).collect();
    }
    Ok(views)
}

fn file_row(file: File) -> FileRow {
    FileRow {
        name: file.name,
        kind: if file.is_log { "log" } else { "data" },
        reads: Some(file.reads),
        read_bytes: Some(file.read_bytes),
        read_stall_seconds: Some(file.read_stall_ms as f64 / 1e3),
        writes: Some(file.writes),
        write_bytes: Some(file.write_bytes),
        write_stall_seconds: Some(file.write_stall_ms as f64 / 1e3),
        ..FileRow::default()
    }
}

/// Rows of the files of this database.
pub(super) fn own_files(rows: &[Row]) -> Vec<FileRow> {
    rows.iter().filter_map(File::of).map(file_row).collect()
}

/// The same of all databases, each with what it is held to.
pub(super) fn files_anywhere(rows: &[Row]) -> Vec<FileRow> {
    rows.iter().filter_map(limited).collect()
}

/// A file of any database.
fn file_anywhere(row: &Row) -> Option<FileRow> {
    let [database, path, handle] = [DATABASE, PATH, IDENTITY].map(|column| text_of(row, column));
    let pages = whole(row, PAGES_ANYWHERE).and_then(|pages| u64::try_from(pages).ok());
    let size_bytes = pages.map(|pages| pages.saturating_mul(PAGE_BYTES));
    Some(FileRow { database, path, handle, size_bytes, ..file_row(File::of(row)?) })
}

/// The same with its limits. A file that is a blob has an URL for a path.
fn limited(row: &Row) -> Option<FileRow> {
    let file = file_anywhere(row)?;
    let is_blob = file.path.as_ref().is_some_and(|path| path.starts_with("http"));
    Some(FileRow { limit: is_blob.then_some(FileLimit::BySize(BLOBS)), ..file })
}

/// The same without its counts if it is on the instance's own disk.
fn file_with_limits(row: &Row) -> Option<FileRow> {
    let file = limited(row)?;
    if !whole(row, DATABASE_ID).is_some_and(|id| LOCAL.contains(&id)) {
        return Some(file);
    }
    let FileRow { name, database, path, handle, kind, size_bytes, .. } = file;
    Some(FileRow { name, database, path, handle, kind, size_bytes, ..FileRow::default() })
}

/// Files of all databases, with the newest of the server's times at which they were counted.
pub(super) fn all_files(rows: &[Row]) -> Option<(Vec<FileRow>, i64)> {
    let sampled_at = rows.iter().filter_map(|row| whole(row, SAMPLED_AT)).max()?;
    Some((rows.iter().filter_map(file_with_limits).collect(), sampled_at))
}

/// A row of waits; `None` for those of the server's own threads for work.
pub(super) fn wait_row(row: &Row) -> Option<WaitRow> {
    let count = u64::try_from(whole(row, 1)?).ok()?;
    let name = text_of(row, 0)?;
    let class = waits::class_of(&name);
    // What the server's own threads wait for says nothing of anybody's work.
    if class == WaitClass::Idle {
        return None;
    }
    let seconds = |column| whole(row, column).map(|milliseconds| milliseconds as f64 / 1e3);
    let [signal_seconds, longest_seconds] = [SIGNAL, LONGEST].map(seconds);
    Some(WaitRow { name, class: Some(class), count, seconds: seconds(2)?, signal_seconds, longest_seconds })
}

/// The view has the time of day of its server; only how long ago that was is of use to us.
pub(super) fn resource_row(row: &Row, now: Moment) -> Option<ResourceRow> {
    let ago = Duration::from_secs(u64::try_from(whole(row, 0)?).ok()?);
    let percent = |index| match row.get(index) {
        Value::Float(percent) => Some(percent),
        _ => None,
    };
    Some(ResourceRow {
        end: Moment::from_nanos(now.as_nanos().checked_sub(u64::try_from(ago.as_nanos()).ok()?)?),
        cpu_percent: percent(1),
        data_io_percent: percent(2),
        log_write_percent: percent(3),
        memory_percent: percent(4),
    })
}

/// The pattern of LIKE for a text as it is: a bracket would begin a set of characters.
pub(super) fn pattern_of(text: &str) -> String {
    text.replace('[', "[[]").replace('_', "[_]").replace('%', "[%]")
}

/// Pages that statements on the table had to read from files, as long as their plans are in the cache; `None` if there
/// is no such plan, or nobody may see it.
pub(super) fn table_misses(control: &mut Control, qualified: &str, abilities: Abilities) -> Result<Option<u64>> {
    if !abilities.has(Ability::SeePlans) {
        return Ok(None);
    }
    // Behind the name comes no character that could be a part of it.
    let pattern = format!("%{}[^0-9A-Za-z_]%", pattern_of(qualified));
    let rows = control.rows(sql::PLAN_READS, &[Value::Text(&pattern), Value::Text(qualified)])?;
    // Without a plan nothing was read, or nobody kept count (a server may keep no plan of what was run once).
    let pages = rows.first().filter(|row| whole(row, 0) > Some(0)).and_then(|row| whole(row, 1));
    Ok(pages.and_then(|pages| u64::try_from(pages).ok()))
}
