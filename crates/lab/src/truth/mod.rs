//! What a test on the lab should show, computed before it runs: from the limits of the hardware and from how SQLite
//! stores rows. Nothing here is fitted to what was measured, and nothing of the lab at work takes part, neither its
//! file system layer nor its buckets. Both know the specification, how far is read ahead and when a checkpoint begins.
//!
//! Left out: the draws of latency distributions (the mean counts), the free pages that a table dropped before leaves in
//! the file, and, under a neighbour, when it comes and goes (the mean over time counts, so a run has to be long).

mod basis;
mod commits;
mod device;
mod moves;
mod record;
mod rows;
mod scan;
mod steps;
mod tree;
mod write;

use plimsoll_engine::work::{TableData, Work};
use plimsoll_engine::{Expected, Result};
use plimsoll_hardware::{Role, Spec};
use plimsoll_measurement::units::{MB, mb_per_minute};

pub use device::Device;
pub use moves::level_change;

use basis::{basis, by_limit};

use crate::level::{Level, STEPS_PER_PAIR, STEPS_PER_SCANNED_ROW};

/// What `work` should show on a level at a scale of 1 to `scale`; `None` if nothing limits it, or if rows do not fit into
/// a page.
pub fn expect(level: &Level, scale: u64, work: Work<'_>) -> Result<Option<Expected>> {
    match work {
        Work::Scan(tables) => scan(level, tables, STEPS_PER_SCANNED_ROW),
        Work::Read(tables) => scan(level, tables, steps::STEPS_PER_READ_ROW),
        Work::Write { source, times, chunks } => write(level, source, times, chunks),
        Work::Join(rows) => Ok(join(level, rows)),
        Work::Memory => Ok(memory(level, scale)),
        Work::Commits(count) => Ok(commits(level, count)),
        Work::Import(tables) => moves::import(level, tables),
        Work::ImportLog(tables) => moves::import_log(level, tables),
        Work::Copy(tables) => moves::copy(level, tables),
        Work::Restore(tables) => moves::restore(level, tables),
        // What has to move is known by the server that makes it, which asks for `level_change`.
        Work::LevelChange(_) => Ok(None),
    }
}

/// Of tables whose rows take so many steps each.
fn scan(level: &Level, tables: Vec<TableData<'_>>, row_steps: f64) -> Result<Option<Expected>> {
    let spec = &level.spec;
    let mut shapes = Vec::with_capacity(tables.len());
    for table in tables {
        let Some(shape) = scan::shape(table, spec.page_bytes)? else { return Ok(None) };
        shapes.push(shape);
    }
    let time = scan::time(spec, &shapes, row_steps);
    let content: u64 = shapes.iter().map(|shape| shape.content_bytes).sum();
    let pages: u64 = shapes.iter().map(|shape| shape.pages).sum();
    let Some(value) = mb_per_minute(content, time.seconds) else { return Ok(None) };
    let device = Device::of(spec, Role::Data, pages * spec.page_bytes);
    let mib_a_second = (pages * spec.page_bytes) as f64 / time.bound_seconds / MB as f64;
    let reason = format!(
        "{pages} pages of {} bytes at {mib_a_second:.2} MB/s take {:.2} s, and {} pages of {:.1} ms that are waited for \
         one by one make it {:.2} s",
        spec.page_bytes,
        time.bound_seconds,
        time.waited,
        1e3 * device.read_latency(spec.page_bytes as f64),
        time.seconds
    );
    Ok(Some(by_limit(level, &device, "read_rate", value, (time.limit, true), reason)))
}

fn write(level: &Level, source: TableData<'_>, times: u64, chunks: u64) -> Result<Option<Expected>> {
    let spec = &level.spec;
    let Some(made) = write::chunks(source, times, chunks, spec.page_bytes)? else { return Ok(None) };
    let time = write::time(spec, &made);
    let Some(value) = mb_per_minute(made.content_bytes, time.seconds) else { return Ok(None) };
    let log = Device::of(spec, Role::Log, 0);
    let mut reason = format!(
        "{} bytes of log take {:.2} s, {chunks} commits {:.1} ms each and {} rows {:.2} s of CPU, {:.2} s in all",
        time.log_bytes,
        time.log_seconds,
        1e3 * log.write_latency(time.log_bytes / chunks as f64),
        made.rows,
        time.cpu_seconds,
        time.seconds
    );
    if time.limit == "data_io" {
        reason.push_str(", because checkpoints keep the log waiting");
    }
    Ok(Some(by_limit(level, &log, "write_rate", value, (time.limit, false), reason)))
}

fn commits(level: &Level, count: u64) -> Option<Expected> {
    let spec = &level.spec;
    let made = commits::commits(count, spec.page_bytes);
    let time = write::time(spec, &made);
    if commits::hidden_seconds(spec, count) > 0.01 * time.seconds {
        return None;
    }
    let log = Device::of(spec, Role::Log, 0);
    let reason = format!(
        "{count} commits of {:.3} ms each, {} bytes of log take {:.2} s, and the statements {:.2} s of CPU",
        1e3 * log.write_latency(time.log_bytes / count as f64),
        time.log_bytes,
        time.log_seconds,
        time.cpu_seconds
    );
    Some(by_limit(level, &log, "insert_time", time.seconds, (time.limit, false), reason))
}

fn join(level: &Level, rows: u64) -> Option<Expected> {
    let cpu = &level.spec.cpu;
    let step_ps = cpu.step_ps? as f64;
    let cores = cpu.cores.min(1.0);
    let statement_ps = cpu.statement_ps as f64 / (rows as f64 * rows as f64).max(1.0);
    let value = 1e6 * cores / (STEPS_PER_PAIR * step_ps + statement_ps);
    // With more than one core the first figure is that of the whole machine.
    let metric = if cpu.cores > 1.0 { "join_rate_single" } else { "join_rate" };
    let (basis, published) = basis(level, |level| &level.dtu);
    let reason = format!("{STEPS_PER_PAIR} steps of {:.2} ns for each pair of rows", step_ps / 1e3 / cores);
    Some(Expected { metric, value, basis, limit: "cpu", reason, published })
}

fn memory(level: &Level, scale: u64) -> Option<Expected> {
    let Spec { memory, page_bytes, .. } = level.spec;
    let bytes = memory?;
    let value = (bytes * scale) as f64 / MB as f64;
    let (basis, published) = match &level.published {
        None if level.disk.is_some() => ("assumed".to_owned(), false),
        _ => basis(level, |level| &level.memory_mb),
    };
    let reason = format!("a pool of {} pages of {page_bytes} bytes, times the scale of {scale}", bytes / page_bytes);
    Some(Expected { metric: "memory", value, basis, limit: "memory", reason, published })
}
