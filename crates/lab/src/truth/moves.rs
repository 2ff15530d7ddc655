//! Whole databases. An import is chunks of rows from the client, in the log like any other. Pages that are copied or
//! restored go past the log. A copy is read from the data device and written to it at once. A restore comes by what the
//! service moves databases with. Where the service has nothing for that, it goes to the data device.

use plimsoll_engine::work::TableData;
use plimsoll_engine::{Expected, Result};
use plimsoll_hardware::{Kind, LARGEST_IO_BYTES, Role};
use plimsoll_measurement::units::{MB, mb_per_minute};

use super::basis::{basis, basis_of_limit, by_limit, on_device};
use super::device::{Counts, Device, Load};
use super::rows::each;
use super::steps::inserted_row;
use super::tree::Tree;
use super::write::{self, Chunks};
use crate::level::Level;
use crate::transfer::IMPORT_ROWS;

/// The transactions of an import; `None` if rows do not fit into a page.
fn transactions(tables: Vec<TableData<'_>>, page_bytes: u64) -> Result<Option<Chunks>> {
    let (mut made, mut steps, mut fits) = (Chunks::default(), 0, true);
    for table_data in tables {
        let per_row = inserted_row(&table_data.table);
        let (mut tree, mut rows) = (Tree::new(page_bytes), 0);
        each(table_data, |key, payload, content| {
            fits &= tree.append(key, payload);
            rows += 1;
            made.content_bytes += content;
            if rows % IMPORT_ROWS == 0 {
                made.add(&mut tree);
            }
        })?;
        if rows % IMPORT_ROWS > 0 {
            made.add(&mut tree);
        }
        made.pages += tree.pages();
        made.rows += rows;
        steps += rows * per_row;
    }
    made.steps_per_row = steps.div_ceil(made.rows.max(1));
    Ok(fits.then_some(made))
}

pub fn import(level: &Level, tables: Vec<TableData<'_>>) -> Result<Option<Expected>> {
    let spec = &level.spec;
    let Some(made) = transactions(tables, spec.page_bytes)? else { return Ok(None) };
    if made.frames.is_empty() {
        return Ok(None);
    }
    let time = write::time(spec, &made);
    let Some(value) = mb_per_minute(made.content_bytes, time.seconds) else { return Ok(None) };
    let log = Device::of(spec, Role::Log, 0);
    let mut reason = format!(
        "{} rows in {} bytes of log take {:.2} s there, {} commits {:.1} ms each and {:.2} s of CPU, {:.2} s in all",
        made.rows,
        time.log_bytes,
        time.log_seconds,
        made.frames.len(),
        1e3 * log.write_latency(time.log_bytes / made.frames.len() as f64),
        time.cpu_seconds,
        time.seconds
    );
    if time.limit == "data_io" {
        reason.push_str(", because checkpoints keep the log waiting");
    }
    Ok(Some(by_limit(level, &log, "import_rate", value, (time.limit, false), reason)))
}

/// How fast the log takes the rows of an import while nothing else holds them back.
pub fn import_log(level: &Level, tables: Vec<TableData<'_>>) -> Result<Option<Expected>> {
    let Some(made) = transactions(tables, level.spec.page_bytes)? else { return Ok(None) };
    let time = write::time(&level.spec, &made);
    let Some(value) = mb_per_minute(made.content_bytes, time.log_seconds) else { return Ok(None) };
    let reason =
        format!("{} bytes of log for {} of content take {:.2} s", time.log_bytes, made.content_bytes, time.log_seconds);
    let log = Device::of(&level.spec, Role::Log, 0);
    Ok(Some(by_limit(level, &log, "log_rate_limit", value, ("log_write", false), reason)))
}

/// Content and pages of a database; `None` if rows do not fit into a page.
fn size(tables: Vec<TableData<'_>>, page_bytes: u64) -> Result<Option<(u64, u64)>> {
    // The first page of the file says what is in it.
    let (mut all_content, mut pages, mut fits) = (0, 1, true);
    for table_data in tables {
        let mut tree = Tree::new(page_bytes);
        each(table_data, |key, payload, content| {
            fits &= tree.append(key, payload);
            all_content += content;
        })?;
        pages += tree.pages();
    }
    Ok(fits.then_some((all_content, pages)))
}

/// Pages on their way past the log.
fn pages_of(kind: Kind, bytes: u64) -> Load {
    Load { kind, bytes: bytes as f64, io_bytes: of_one(bytes) }
}

/// Bytes of each I/O that moves so many.
fn of_one(bytes: u64) -> f64 {
    LARGEST_IO_BYTES.min(bytes) as f64
}

/// That a service moves databases through the data device of a level is assumed, whatever is known of that device.
fn basis_by_devices(level: &Level, limit: &str) -> String {
    if level.published.is_some() { "assumed".to_owned() } else { basis_of_limit(level, limit, false).0 }
}

pub fn copy(level: &Level, tables: Vec<TableData<'_>>) -> Result<Option<Expected>> {
    let spec = &level.spec;
    let Some((content, pages)) = size(tables, spec.page_bytes)? else { return Ok(None) };
    let bytes = pages * spec.page_bytes;
    let data = Device::of(spec, Role::Data, bytes);
    let span = data.span(&[Kind::Read, Kind::Write].map(|kind| pages_of(kind, bytes)));
    // Reads go on while the first is under way; the last write is waited for.
    let seconds = span.seconds() + data.write_latency(of_one(bytes));
    let Some(value) = mb_per_minute(content, seconds) else { return Ok(None) };
    let limit = match span.counts() {
        _ if span.seconds() < seconds / 2.0 => "latency",
        Counts::Bytes => "data_io",
        Counts::Ios => "data_iops",
    };
    let basis = basis_by_devices(level, limit);
    let reason = format!(
        "{pages} pages of {} bytes are read from the data device and written to it in {:.2} s, {seconds:.2} s with the \
         latency of the last",
        spec.page_bytes,
        span.seconds()
    );
    let expected = Expected { metric: "copy_rate", value, basis, limit, reason, published: false };
    Ok(Some(on_device(&data, expected)))
}

pub fn restore(level: &Level, tables: Vec<TableData<'_>>) -> Result<Option<Expected>> {
    let spec = &level.spec;
    let Some((content, pages)) = size(tables, spec.page_bytes)? else { return Ok(None) };
    let bytes = pages * spec.page_bytes;
    let device = Device::of(spec, Role::Movement, bytes);
    let span = device.span(&[pages_of(Kind::Write, bytes)]);
    let seconds = span.seconds() + device.write_latency(of_one(bytes));
    let Some(value) = mb_per_minute(content, seconds) else { return Ok(None) };
    let by_service = spec.is_apart(Role::Movement);
    let limit = match span.counts() {
        _ if span.seconds() < seconds / 2.0 => "latency",
        _ if by_service => "movement",
        Counts::Bytes => "data_io",
        Counts::Ios => "data_iops",
    };
    let (basis, published) = match limit {
        "movement" => basis(level, |level| level.movement_rate.as_ref().unwrap_or(&level.read_rate)),
        _ => (basis_by_devices(level, limit), false),
    };
    let what = if by_service { "the service moves" } else { "the data device takes" };
    let reason = format!(
        "{what} {pages} pages of {} bytes at {:.2} MB/min in {seconds:.2} s",
        spec.page_bytes,
        bytes as f64 / MB as f64 / seconds * 60.0
    );
    let expected = Expected { metric: "restore_rate", value, basis, limit, reason, published };
    Ok(Some(on_device(&device, expected)))
}

/// The time for changes to levels, each of which had so many bytes to move, on average over them; `None` if there were none.
pub fn level_change(from: &Level, changes: &[(&Level, u64)]) -> Option<Expected> {
    let (to, _) = changes.first()?;
    let count = changes.len() as f64;
    let seconds = changes.iter().map(|(to, bytes)| change_seconds(from, to, *bytes)).sum::<f64>() / count;
    let bytes = changes.iter().map(|(_, bytes)| *bytes).sum::<u64>() as f64 / count;
    let by_service = from.spec.is_apart(Role::Movement);
    let (limit, (basis, published)) = match by_service {
        _ if bytes <= 0.0 => ("movement", ("printed".to_owned(), false)),
        true => ("movement", basis(from, |level| level.movement_rate.as_ref().unwrap_or(&level.read_rate))),
        false => ("data_io", (basis_by_devices(from, "data_io"), false)),
    };
    let reason = if bytes <= 0.0 {
        format!("no data moves for {}, so it is in effect at once", to.name)
    } else {
        let by = if by_service { "the service moves" } else { "the data devices of both levels move" };
        format!("{by} {:.2} MB of database in {seconds:.2} s", bytes / MB as f64)
    };
    Some(Expected { metric: "level_change_time", value: seconds, basis, limit, reason, published })
}

fn change_seconds(from: &Level, to: &Level, bytes: u64) -> f64 {
    if bytes == 0 {
        return 0.0;
    }
    let load = |kind| [pages_of(kind, bytes)];
    if from.spec.is_apart(Role::Movement) {
        let device = Device::of(&from.spec, Role::Movement, bytes);
        return device.span(&load(Kind::Write)).seconds() + device.write_latency(of_one(bytes));
    }
    let (source, target) = (Device::of(&from.spec, Role::Data, bytes), Device::of(&to.spec, Role::Data, bytes));
    let reads = source.span(&load(Kind::Read)).seconds() + source.read_latency(of_one(bytes));
    reads.max(target.span(&load(Kind::Write)).seconds() + target.write_latency(of_one(bytes)))
}
