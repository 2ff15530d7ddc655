//! Reads the TOML of a suite, and says what is wrong in it with its line.

use std::time::Duration;

use plimsoll_bench::parameters::hint;
use plimsoll_load::schedule::Arrivals;
use plimsoll_measurement::vocabulary::Vocabulary;
use plimsoll_measurement::{Access, Cell, Offsets, Operation, SyncMode, units};
use serde::Deserialize;
use toml::Spanned;

use crate::plan::{CellPlan, Suite};
use crate::sweep::{CLASS, Sweep};

/// Threads and slots beyond these are none.
const MOST_THREADS: u32 = 1024;
/// A sweep goes so far unless it says otherwise.
const USUAL_THREADS: u32 = 64;
const USUAL_DEPTH: u32 = 512;
const MOST_UNDER_WAY: u32 = 32_768;
const MOST_BLOCK: u64 = 64 << 20;
/// Cells of a suite at most.
const MOST_CELLS: usize = 400;
const LONGEST: Duration = Duration::from_hours(24);
/// The warm-up of a suite may be repeated so often.
const MOST_TIMES: u32 = 100;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SuiteText {
    name: Spanned<String>,
    title: String,
    #[serde(default)]
    about: String,
    repetitions: Option<Spanned<u32>>,
    file: Spanned<String>,
    #[serde(default = "yes")]
    shrinks: bool,
    warm_up_times: Option<Spanned<u32>>,
    #[serde(default)]
    warm_up: Vec<Spanned<CellText>>,
    #[serde(default)]
    every: CellText,
    sweep: Option<Spanned<SweepText>>,
    cell: Vec<Spanned<CellText>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SweepText {
    most_threads: Option<u32>,
    most_queue_depth: Option<u32>,
}

/// The keys of a cell; what is absent is as `[every]` has it.
#[derive(Deserialize, Clone, Default)]
#[serde(deny_unknown_fields)]
struct CellText {
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
    rate: Option<f64>,
    arrivals: Option<String>,
}

const fn yes() -> bool {
    true
}

pub(super) fn suite(file: &str, text: &str) -> Result<Suite, String> {
    let at = |start: usize, problem: &str| {
        let line = 1 + text.get(..start.min(text.len())).unwrap_or_default().matches('\n').count();
        format!("{file}:{line}: {problem}")
    };
    let read: SuiteText =
        toml::from_str(text).map_err(|error| at(error.span().map_or(0, |span| span.start), error.message()))?;
    let wrong = |spanned: std::ops::Range<usize>, problem: &str| at(spanned.start, problem);
    let name = read.name.get_ref().clone();
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-') {
        return Err(wrong(read.name.span(), "'name' has lower-case letters, digits and hyphens only"));
    }
    let file_bytes = units::parse_bytes(read.file.get_ref())
        .map_err(|error| wrong(read.file.span(), &format!("file = {}: {error}", read.file.get_ref())))?;
    let within = |value: &Option<Spanned<u32>>, name: &str, usual: u32, most: u32| match value {
        None => Ok(usual),
        Some(value) if (1..=most).contains(value.get_ref()) => Ok(*value.get_ref()),
        Some(value) => Err(wrong(value.span(), &format!("'{name}' must be a whole number from 1 to {most}"))),
    };
    let repetitions = within(&read.repetitions, "repetitions", 3, 26)?;
    let times = within(&read.warm_up_times, "warm_up_times", 1, MOST_TIMES)?;
    let plans = |texts: &[Spanned<CellText>]| -> Result<Vec<CellPlan>, String> {
        let plan = |text: &Spanned<CellText>| {
            plan(&text.get_ref().over(&read.every)).map_err(|problem| wrong(text.span(), &problem))
        };
        texts.iter().map(plan).collect()
    };
    let (cells, once) = (plans(&read.cell)?, plans(&read.warm_up)?);
    if cells.is_empty() || cells.len() > MOST_CELLS {
        return Err(at(0, &format!("a suite has 1 to {MOST_CELLS} tables [[cell]]")));
    }
    let limits = (1, MOST_THREADS);
    let sweep = |text: &Spanned<SweepText>| -> Result<Sweep, String> {
        let SweepText { most_threads, most_queue_depth } = text.get_ref();
        let most_threads = count("most_threads", *most_threads, USUAL_THREADS, limits);
        let most_queue_depth = count("most_queue_depth", *most_queue_depth, USUAL_DEPTH, limits);
        let sweep =
            most_threads.and_then(|most_threads| Ok(Sweep { most_threads, most_queue_depth: most_queue_depth? }));
        sweep.map_err(|problem| wrong(text.span(), &problem))
    };
    let sweep = read.sweep.as_ref().map(sweep).transpose()?;
    let mut cells = cells;
    if sweep.is_some() {
        let [only] = cells.as_mut_slice() else { return Err(at(0, "a suite with [sweep] has one table [[cell]]")) };
        CLASS.clone_into(&mut only.cell.label);
    } else if let Some((cell, _)) = read.cell.iter().zip(&cells).find(|(_, plan)| plan.cell.label == CLASS) {
        return Err(wrong(cell.span(), &format!("the class '{CLASS}' is that of a suite with [sweep]")));
    }
    Ok(Suite {
        name,
        sweep,
        title: read.title,
        about: read.about.trim().to_owned(),
        repetitions,
        file_bytes,
        shrinks: read.shrinks,
        warm_up: (0..times).flat_map(|_| once.clone()).collect(),
        cells,
        text: text.to_owned(),
    })
}

impl CellText {
    /// What it says itself, and for the rest what `usual` says.
    fn over(&self, usual: &Self) -> Self {
        let (own, usual) = (self.clone(), usual.clone());
        Self {
            label: own.label.or(usual.label),
            operation: own.operation.or(usual.operation),
            read_percent: own.read_percent.or(usual.read_percent),
            access: own.access.or(usual.access),
            offsets: own.offsets.or(usual.offsets),
            sync: own.sync.or(usual.sync),
            block: own.block.or(usual.block),
            threads: own.threads.or(usual.threads),
            queue_depth: own.queue_depth.or(usual.queue_depth),
            duration: own.duration.or(usual.duration),
            warm_up: own.warm_up.or(usual.warm_up),
            rate: own.rate.or(usual.rate),
            arrivals: own.arrivals.or(usual.arrivals),
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

fn count(key: &str, value: Option<u32>, usual: u32, (least, most): (u32, u32)) -> Result<u32, String> {
    let value = value.unwrap_or(usual);
    let is_within = (least..=most).contains(&value);
    if is_within { Ok(value) } else { Err(format!("{key} = {value}: it must lie between {least} and {most}")) }
}

fn plan(text: &CellText) -> Result<CellPlan, String> {
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
        Operation::Read => 100,
        Operation::Write => 0,
        Operation::Mixed => count("read_percent", text.read_percent, 70, (1, 99))?,
    };
    if operation == Operation::Read && sync != SyncMode::None {
        return Err(format!("sync = '{}': reads have nothing to make durable", sync.name()));
    }
    let threads = count("threads", text.threads, 1, (1, MOST_THREADS))?;
    let queue_depth = count("queue_depth", text.queue_depth, 1, (1, MOST_THREADS))?;
    if threads * queue_depth > MOST_UNDER_WAY {
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
    };
    cell.label = text.label.clone().unwrap_or_else(|| cell.work());
    let warm_up = time("warm_up", text.warm_up.as_deref(), Duration::ZERO)?;
    Ok(CellPlan { cell, duration, warm_up, rate_per_s, arrivals })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "name = 'mine'\ntitle = 'Mine'\nfile = '1GiB'\n[every]\nthreads = 2\n[[cell]]\noperation = 'read'\nblock = \
                        '8KiB'\n";

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let cases = [
            (
                "operation = 'read'",
                "operation = 'raed'",
                "my.toml:6: operation = 'raed': it must be one of read, write, mixed",
            ),
            ("block = '8KiB'", "block = '0'", "my.toml:6: block = '0': it must lie between 1 byte and 64 MiB"),
            ("block = '8KiB'", "blocks = '8KiB'", "my.toml:8: unknown field `blocks`"),
            ("block = '8KiB'", "", "my.toml:6: a cell needs 'block'"),
            ("file = '1GiB'", "file = 'much'", "my.toml:3: file = much: "),
            ("threads = 2", "threads = 0", "my.toml:6: threads = 0: it must lie between 1 and 1024"),
            ("name = 'mine'", "name = 'My Own'", "my.toml:1: 'name' has lower-case letters"),
            ("[[cell]]", "[[cell]]\nsync = 'fsync'", "my.toml:6: sync = 'fsync': reads have nothing to make durable"),
            ("[[cell]]", "[[cell]]\nlabel = 'sweep'", "my.toml:6: the class 'sweep' is that of a suite with [sweep]"),
            ("[[cell]]", "[sweep]\nmost_threads = 0\n[[cell]]", "my.toml:6: most_threads = 0: it must lie between"),
            ("[[cell]]", "[[cell]]\nrate = 0", "my.toml:6: 'rate' must be a number"),
            ("title = 'Mine'", "title = 'Mine'\nrepetitions = 27", "my.toml:3: 'repetitions' must be a whole number"),
            ("[[cell]]", "[[cell", "my.toml:6: "),
        ];
        for (from, to, expected) in cases {
            let problem = suite("my.toml", &GOOD.replace(from, to)).unwrap_err();
            assert!(problem.starts_with(expected), "{problem}\nexpected {expected}");
        }
    }

    #[test]
    fn a_cell_takes_from_every_what_it_does_not_say() {
        let plan = suite("my.toml", GOOD).unwrap().cells.remove(0);
        assert_eq!((plan.cell.threads, plan.cell.queue_depth, plan.cell.read_percent), (2, 1, 100));
        assert_eq!((plan.cell.label.as_str(), plan.warm_up), ("random read 8 KiB", Duration::ZERO));
        let sequential = suite("my.toml", &format!("{GOOD}access = 'sequential'\nthreads = 4\nrate = 50\n")).unwrap();
        let plan = &sequential.cells[0];
        assert_eq!((plan.cell.threads, plan.rate_per_s), (4, Some(50.0)));
        assert_eq!((plan.cell.offsets.as_str(), plan.key().as_str()), ("own", "sequential_read_8k_t4_q1_at_50"));
    }
}
