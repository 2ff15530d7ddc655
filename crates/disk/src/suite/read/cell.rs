//! The keys of a cell, and the cell that they mean.

use std::time::Duration;

use plimsoll_bench::parameters::hint;
use plimsoll_load::schedule::Arrivals;
use plimsoll_measurement::vocabulary::Vocabulary;
use plimsoll_measurement::{Access, Cell, Offsets, Operation, SyncMode, units};
use serde::Deserialize;
use toml::Spanned;

use crate::plan::{CellPlan, Share};

/// Threads and slots beyond these are none.
pub const MOST_THREADS: u32 = 1024;
const MOST_UNDER_WAY: u32 = 32_768;
/// Bytes of an operation.
const MOST_BLOCK: u64 = 64 << 20;
const LONGEST: Duration = Duration::from_hours(24);

/// The keys of a cell; what is absent is as `[every]` has it.
#[derive(Deserialize, Clone, Default)]
#[serde(deny_unknown_fields)]
pub struct CellText {
    label: Option<String>,
    operation: Option<String>,
    read_percent: Option<u32>,
    access: Option<String>,
    offsets: Option<String>,
    sync: Option<String>,
    block: Option<String>,
    threads: Option<u32>,
    queue_depth: Option<u32>,
    duration: Option<String>,
    warm_up: Option<String>,
    writes_per_sync: Option<u32>,
    rate: Option<f64>,
    rate_percent: Option<f64>,
    rate_of: Option<String>,
    arrivals: Option<String>,
    #[serde(default)]
    pub beside: Vec<Spanned<CellText>>,
}

impl CellText {
    /// What it says itself, and for the rest what `usual` says.
    pub fn over(&self, usual: &Self) -> Self {
        let (own, usual) = (self.clone(), usual.clone());
        let operation = own.operation.or(usual.operation);
        // Only those cells have a share of reads that have both.
        let usual_percent = usual.read_percent.filter(|_| operation.as_deref() == Some(Operation::Mixed.name()));
        Self {
            label: own.label.or(usual.label),
            operation,
            read_percent: own.read_percent.or(usual_percent),
            access: own.access.or(usual.access),
            offsets: own.offsets.or(usual.offsets),
            sync: own.sync.or(usual.sync),
            block: own.block.or(usual.block),
            threads: own.threads.or(usual.threads),
            queue_depth: own.queue_depth.or(usual.queue_depth),
            duration: own.duration.or(usual.duration),
            warm_up: own.warm_up.or(usual.warm_up),
            writes_per_sync: own.writes_per_sync.or(usual.writes_per_sync),
            rate: own.rate.or(usual.rate),
            rate_percent: own.rate_percent.or(usual.rate_percent),
            rate_of: own.rate_of.or(usual.rate_of),
            arrivals: own.arrivals.or(usual.arrivals),
            beside: own.beside,
        }
    }
}

fn word<T: Vocabulary>(key: &str, text: Option<&str>, usual: T) -> Result<T, String> {
    let Some(text) = text else { return Ok(usual) };
    let names: Vec<&str> = T::ALL.iter().map(|one| one.name()).collect();
    T::named(text).ok_or_else(|| format!("{key} = '{text}': it must be one of {}", names.join(", ")))
}

fn time(key: &str, text: Option<&str>, usual: Duration) -> Result<Duration, String> {
    let Some(text) = text else { return Ok(usual) };
    let time = units::parse_duration(text).map_err(|error| format!("{key} = '{text}': {error}"))?;
    if time > LONGEST { Err(format!("{key} = '{text}': it must be a day at most")) } else { Ok(time) }
}

pub fn count(key: &str, value: Option<u32>, usual: u32, (least, most): (u32, u32)) -> Result<u32, String> {
    let value = value.unwrap_or(usual);
    let is_within = (least..=most).contains(&value);
    if is_within { Ok(value) } else { Err(format!("{key} = {value}: it must lie between {least} and {most}")) }
}

pub fn plan(text: &CellText) -> Result<CellPlan, String> {
    let operation = text.operation.as_deref().ok_or("a cell needs 'operation': read, write or mixed")?;
    let operation = word("operation", Some(operation), Operation::Read)?;
    let access = word("access", text.access.as_deref(), Access::Random)?;
    // Sequential threads on one position would read ahead for each other (A26).
    let usual = if access == Access::Random { Offsets::Shared } else { Offsets::Own };
    let offsets = word("offsets", text.offsets.as_deref(), usual)?;
    let sync = word("sync", text.sync.as_deref(), SyncMode::None)?;
    let block = text.block.as_deref().ok_or("a cell needs 'block', such as block = \"8KiB\"")?;
    let block_bytes = units::parse_bytes(block).map_err(|error| format!("block = '{block}': {error}"))?;
    if block_bytes == 0 || block_bytes > MOST_BLOCK {
        return Err(format!("block = '{block}': it must lie between 1 byte and 64 MiB"));
    }
    let read_percent = match operation {
        Operation::Read | Operation::Write if text.read_percent.is_some() => {
            return Err("read_percent is a share of operation = 'mixed'".to_owned());
        }
        Operation::Read => 100,
        Operation::Write => 0,
        Operation::Mixed => count("read_percent", text.read_percent, 70, (1, 99))?,
    };
    if operation == Operation::Read && sync != SyncMode::None {
        return Err(format!("sync = '{}': reads have nothing to make durable", sync.name()));
    }
    let writes_per_sync = count("writes_per_sync", text.writes_per_sync, 1, (1, MOST_THREADS))?;
    let has_sync = !matches!(sync, SyncMode::None | SyncMode::ODsync) && operation == Operation::Write;
    if writes_per_sync > 1 && !has_sync {
        return Err(format!(
            "writes_per_sync = {writes_per_sync}: it needs writes with a sync after them: fdatasync, fsync or sync_file_range"
        ));
    }
    if u64::from(writes_per_sync) * block_bytes > MOST_BLOCK {
        return Err(format!("writes_per_sync = {writes_per_sync}: an operation must write 64 MiB at most"));
    }
    let threads = count("threads", text.threads, 1, (1, MOST_THREADS))?;
    let queue_depth = count("queue_depth", text.queue_depth, 1, (1, MOST_THREADS))?;
    if threads * queue_depth * writes_per_sync > MOST_UNDER_WAY {
        return Err(format!("{threads} threads x {queue_depth} are more than {MOST_UNDER_WAY} operations under way"));
    }
    let duration = time("duration", text.duration.as_deref(), Duration::from_secs(10))?;
    if duration < Duration::from_millis(10) {
        return Err("'duration' must be 10 ms or more".to_owned());
    }
    let rate_per_s = text.rate.filter(|rate| rate.is_finite() && *rate > 0.0);
    if rate_per_s.is_none() && text.rate.is_some() {
        return Err("'rate' must be a number of operations a second above 0".to_owned());
    }
    let share = match (text.rate_percent, &text.rate_of) {
        (None, None) => None,
        (Some(percent), Some(of)) if percent.is_finite() && percent > 0.0 && text.rate.is_none() => {
            Some(Share { percent, of: of.clone() })
        }
        _ => {
            return Err(
                "'rate_percent' and 'rate_of' belong together: a number above 0 and a label, without 'rate'".to_owned()
            );
        }
    };
    let arrivals = match text.arrivals.as_deref() {
        None | Some("constant") => Arrivals::Constant,
        Some("poisson") => Arrivals::Poisson,
        Some(other) => {
            return Err(format!("unknown arrivals '{other}', {}", hint(other, &["constant", "poisson"], "")));
        }
    };
    let mut cell = Cell {
        label: String::new(),
        operation: operation.into(),
        read_percent,
        access: access.into(),
        offsets: offsets.into(),
        sync: sync.into(),
        block_bytes,
        threads,
        queue_depth,
        writes_per_sync,
        beside: None,
    };
    cell.label = text.label.clone().unwrap_or_else(|| cell.work());
    let warm_up = time("warm_up", text.warm_up.as_deref(), Duration::ZERO)?;
    Ok(CellPlan { cell, duration, warm_up, rate_per_s, arrivals, share, beside: Vec::new() })
}

/// What runs beside a cell, by its own keys alone. Its times are the cell's.
pub fn beside(text: &CellText, main: &CellPlan) -> Result<CellPlan, String> {
    if text.duration.is_some() || text.warm_up.is_some() || !text.beside.is_empty() {
        return Err("'duration', 'warm_up' and 'beside' are those of the cell beside which this runs".to_owned());
    }
    let plan = plan(text)?;
    let cell = Cell { beside: Some(main.cell.label.clone()), ..plan.cell };
    Ok(CellPlan { cell, duration: main.duration, warm_up: main.warm_up, ..plan })
}

/// A label by which a rate is asked for, and that none of the cells before has, or that several have, with what is wrong.
pub fn wrong_label<'a>(plan: &'a CellPlan, before: &[CellPlan]) -> Option<(&'a str, &'static str)> {
    let asked = plan.members().filter_map(|plan| Some(plan.share.as_ref()?.of.as_str()));
    asked.into_iter().find_map(|label| match before.iter().filter(|known| known.cell.label == label).count() {
        0 => Some((label, "no cell before this one has this label")),
        1 => None,
        _ => Some((label, "several cells before this one have this label: give each its own")),
    })
}
