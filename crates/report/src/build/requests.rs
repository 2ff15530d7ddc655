//! What a record says about requests, as tables: kinds, phases, waits, files, and whether the client held them back.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_analysis::summary;
use plimsoll_measurement::units::MB;
use plimsoll_measurement::{Phase, Repetition, RequestKind, RunRecord, TimesData};

use super::words::bound;
use crate::model::format::{number, plain};
use crate::model::{Cell, Table, Value};

/// What was varied from phase to phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tried {
    /// Requests a second.
    Rate,
    /// Rows of a batch.
    Batch,
    /// Number of sessions.
    Sessions,
}

/// The phases of all repetitions.
pub fn tried(record: &RunRecord) -> Vec<&Phase> {
    record.repetitions.iter().flat_map(|repetition| &repetition.phases).collect()
}

/// What was varied; `None` if all phases were alike.
pub fn varied(phases: &[&Phase]) -> Option<Tried> {
    let differs = |value: fn(&Phase) -> Option<u64>| {
        phases.iter().filter_map(|phase| value(phase)).collect::<BTreeSet<_>>().len() > 1
    };
    if differs(|phase| phase.rate_asked.map(f64::to_bits)) {
        Some(Tried::Rate)
    } else if differs(|phase| phase.batch_rows) {
        Some(Tried::Batch)
    } else {
        differs(|phase| Some(phase.sessions.into())).then_some(Tried::Sessions)
    }
}

/// What each kind of request came to over all repetitions, in order of appearance.
pub fn by_kind(record: &RunRecord) -> Vec<RequestKind> {
    let mut names: Vec<&str> = Vec::new();
    for kind in record.repetitions.iter().flat_map(|repetition| &repetition.requests) {
        if !names.contains(&kind.kind.as_str()) {
            names.push(&kind.kind);
        }
    }
    let all = || record.repetitions.iter().flat_map(|repetition| &repetition.requests);
    names.into_iter().map(|name| together(name, all().filter(move |kind| kind.kind == name))).collect()
}

/// Several kinds, or one in several repetitions, as one.
fn together<'a>(name: &str, parts: impl Iterator<Item = &'a RequestKind>) -> RequestKind {
    let parts: Vec<&RequestKind> = parts.collect();
    let mut errors: BTreeMap<String, u64> = BTreeMap::new();
    for (class, count) in parts.iter().flat_map(|part| &part.errors) {
        let sum = errors.entry(class.clone()).or_default();
        *sum = sum.saturating_add(*count);
    }
    let sum = |part: fn(&RequestKind) -> u64| parts.iter().map(|kind| part(kind)).fold(0, u64::saturating_add);
    let uncorrected = || parts.iter().filter_map(|part| part.times_uncorrected.as_ref());
    RequestKind {
        kind: name.to_owned(),
        operations: sum(|kind| kind.operations),
        rows_examined: sum(|kind| kind.rows_examined),
        rows: sum(|kind| kind.rows),
        content_bytes: sum(|kind| kind.content_bytes),
        errors,
        retries: sum(|kind| kind.retries),
        times: TimesData::merged(parts.iter().map(|part| &part.times)),
        times_uncorrected: (uncorrected().count() > 0).then(|| TimesData::merged(uncorrected())),
    }
}

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / MB as f64
}

/// A percentile in milliseconds; unknown where so few requests were made that none can be beyond it.
pub fn percentile_ms(times: &TimesData, percent: f64) -> Option<f64> {
    let beyond = times.count as f64 * (100.0 - percent) / 100.0;
    if times.count == 0 || (percent < 100.0 && beyond < 1.0 - 1e-9) {
        return None;
    }
    times.percentile_us(percent).map(|us| us / 1e3)
}

/// Columns of kinds of requests. Most of them say nothing where nothing happened.
fn columns(grid: Table) -> Table {
    grid.text("Request")
        .number("Share", "%")
        .number("Answered", "")
        .number("Rows examined", "")
        .unless_zero()
        .spare(8)
        .number("Rows", "")
        .unless_zero()
        .spare(3)
        .number("Content", "MB")
        .unless_zero()
        .spare(2)
        .number("p50", "ms")
        .page("STATISTICS.md")
        .number("p90", "ms")
        .spare(4)
        .number("p99", "ms")
        .number("p99.9", "ms")
        .spare(1)
        .number("p99.99", "ms")
        .spare(5)
        .number("Longest", "ms")
        .number("p99, real start", "ms")
        .number("Retries", "")
        .unless_zero()
        .text("Failed")
        .unless_zero()
}

/// The cells of a kind; `all` is absent where a share would say nothing, as are examined rows where they are those that were found.
fn cells(kind: &RequestKind, all: Option<u64>, examined: bool) -> Vec<Cell> {
    let ms = |percent: f64| Cell::from(percentile_ms(&kind.times, percent));
    let share = all.filter(|all| *all > 0).map(|all| 100.0 * kind.operations as f64 / all as f64);
    let real = kind.times_uncorrected.as_ref().and_then(|times| percentile_ms(times, 99.0));
    let classes: Vec<String> = kind.errors.iter().map(|(class, count)| format!("{} {count}", plain(class))).collect();
    vec![
        plain(&kind.kind).into(),
        share.into(),
        kind.operations.into(),
        examined.then_some(kind.rows_examined).into(),
        kind.rows.into(),
        megabytes(kind.content_bytes).into(),
        ms(50.0),
        ms(90.0),
        ms(99.0),
        ms(99.9),
        ms(99.99),
        ms(100.0),
        real.into(),
        kind.retries.into(),
        (if classes.is_empty() { "0".to_owned() } else { classes.join(", ") }).into(),
    ]
}

/// Rows: kinds of requests over all repetitions, and all of them together.
pub fn mix(record: &RunRecord) -> Option<Table> {
    let kinds = by_kind(record);
    let mut grid = columns(Table::default());
    let together = (kinds.len() > 1).then(|| together("all", kinds.iter()));
    let all = together.as_ref().map(|all| all.operations);
    let examined = kinds.iter().any(|kind| kind.rows_examined != kind.rows);
    for kind in kinds.iter().chain(&together) {
        grid.row(cells(kind, all, examined));
    }
    grid.compact()
}

/// Requests of all kinds that were answered.
fn answered(repetition: &Repetition) -> u64 {
    repetition.requests.iter().map(|kind| kind.operations).fold(0, u64::saturating_add)
}

/// How exact the percentiles are, for below the table of kinds.
pub fn exactness(record: &RunRecord) -> Option<String> {
    let kinds = record.repetitions.iter().flat_map(|repetition| &repetition.requests);
    let error = kinds.map(|kind| kind.times.relative_error_percent).reduce(f64::max)?;
    let real = record.repetitions.iter().flat_map(|r| &r.requests).any(|kind| kind.times_uncorrected.is_some());
    let from = if real {
        " Response times count from the start that the schedule intended; from the real start they leave out how long \
         requests waited for their turn."
    } else {
        ""
    };
    let of_one_phase = |repetition: &Repetition| {
        let answered = answered(repetition);
        repetition.phases.iter().any(|phase| phase.holds == Some(true) && phase.operations == answered)
    };
    let which = if record.repetitions.iter().any(of_one_phase) {
        ", of each the requests at the highest rate that met the goal in all its tries"
    } else {
        ""
    };
    Some(format!(
        "All repetitions together{which}. Percentiles come from histograms and are exact to {} %; one is left out where no \
         request can be beyond it.{from}",
        number(error)?.trim_end_matches('0').trim_end_matches('.')
    ))
}

/// Rows: repetitions and kinds; `None` with a single repetition, which the table of kinds shows.
pub fn by_repetition(record: &RunRecord) -> Option<Table> {
    let mut grid = columns(Table::default().text("Rep."));
    let with_requests = record.repetitions.iter().filter(|repetition| !repetition.requests.is_empty());
    if with_requests.clone().count() < 2 {
        return None;
    }
    for repetition in with_requests {
        let all = answered(repetition);
        for kind in &repetition.requests {
            grid.row(std::iter::once(plain(&repetition.label).into()).chain(cells(kind, Some(all), true)).collect());
        }
    }
    grid.compact()
}

/// Phases of the same label in all repetitions, in order of appearance.
fn alike(record: &RunRecord) -> Vec<Vec<&Phase>> {
    let mut groups: Vec<Vec<&Phase>> = Vec::new();
    for phase in tried(record) {
        match groups.iter_mut().find(|group| group[0].label == phase.label) {
            Some(group) => group.push(phase),
            None => groups.push(vec![phase]),
        }
    }
    groups
}

/// Rows: what was tried, over all repetitions; `None` where there was nothing to choose.
pub fn phases(record: &RunRecord) -> Option<Table> {
    let groups = alike(record);
    if groups.len() < 2 {
        return None;
    }
    let repeated = groups.iter().any(|group| group.len() > 1);
    let mut grid = Table::default()
        .text("Phase")
        .number("Asked", "1/s")
        .number(if repeated { "Answered (range)" } else { "Answered" }, "1/s")
        .number("Content", "MB/min")
        .number("p50", "ms")
        .page("STATISTICS.md")
        .number("p99", "ms")
        .number("p99.9", "ms")
        .spare(1)
        .number("p99, real start", "ms")
        .spare(1)
        .number("Start lag p99", "ms")
        .spare(6)
        .number("Backlog", "")
        .number("Failed", "")
        .unless_zero()
        .text("Goal met");
    for group in &groups {
        let mean = |part: &dyn Fn(&Phase) -> Option<f64>| {
            let values: Vec<f64> = group.iter().filter_map(|phase| part(phase)).collect();
            Cell::from(summary::mean(&values))
        };
        let times = TimesData::merged(group.iter().map(|phase| &phase.times));
        let merged = |part: fn(&Phase) -> Option<&TimesData>| {
            let times = TimesData::merged(group.iter().filter_map(|phase| part(phase)));
            Cell::from(percentile_ms(&times, 99.0))
        };
        let ms = |percent: f64| Cell::from(percentile_ms(&times, percent));
        let rates: Vec<f64> = group.iter().map(|phase| phase.rate).collect();
        let range = summary::range(&rates).filter(|_| group.len() > 1);
        // A rate that was asked for and answered is what it is, whoever would have been the limit beyond it.
        let kept_up = group.iter().all(|phase| phase.rate_asked.is_some_and(|asked| phase.rate >= 0.99 * asked));
        let rate = |value: f64| Value {
            value,
            unit: "1/s".to_owned(),
            low: range.map(|(low, _)| low),
            high: range.map(|(_, high)| high),
            bound: if kept_up { None } else { bound(record, "1/s") },
        };
        let backlog: Option<u64> = group.iter().map(|phase| phase.backlog).max().flatten();
        grid.row(vec![
            plain(&group[0].label).into(),
            mean(&|phase| phase.rate_asked),
            summary::mean(&rates).map(rate).into(),
            mean(&|phase| phase.mb_per_minute),
            ms(50.0),
            ms(99.0),
            ms(99.9),
            merged(|phase| phase.times_uncorrected.as_ref()),
            merged(|phase| phase.start_lag.as_ref()),
            backlog.into(),
            group.iter().map(|phase| phase.errors).fold(0, u64::saturating_add).into(),
            holds(group).into(),
        ]);
    }
    grid.compact()
}

/// In how many repetitions the goal was met.
fn holds(group: &[&Phase]) -> Option<String> {
    let known: Vec<bool> = group.iter().filter_map(|phase| phase.holds).collect();
    let met = known.iter().filter(|holds| **holds).count();
    Some(match (met, known.len()) {
        (_, 0) => return None,
        (met, all) if met == all => "yes".to_owned(),
        (0, _) => "no".to_owned(),
        (met, all) => format!("{met} of {all}"),
    })
}

/// Rows: repetitions and phases; `None` with a single repetition.
pub fn phases_by_repetition(record: &RunRecord) -> Option<Table> {
    let with_phases: Vec<_> = record.repetitions.iter().filter(|repetition| repetition.phases.len() > 1).collect();
    if with_phases.len() < 2 {
        return None;
    }
    let mut grid = Table::default()
        .text("Rep.")
        .text("Phase")
        .scaled("Time", "s")
        .number("Sessions", "")
        .number("Asked", "1/s")
        .number("Answered", "1/s")
        .number("Content", "MB/min")
        .number("Answered", "")
        .number("p50", "ms")
        .number("p99", "ms")
        .number("Backlog", "")
        .number("Failed", "")
        .unless_zero()
        .text("Goal met");
    for repetition in with_phases {
        for phase in &repetition.phases {
            let ms = |percent: f64| Cell::from(percentile_ms(&phase.times, percent));
            grid.row(vec![
                plain(&repetition.label).into(),
                plain(&phase.label).into(),
                phase.seconds.into(),
                phase.sessions.into(),
                phase.rate_asked.into(),
                phase.rate.into(),
                phase.mb_per_minute.into(),
                phase.operations.into(),
                ms(50.0),
                ms(99.0),
                phase.backlog.into(),
                phase.errors.into(),
                holds(&[phase]).into(),
            ]);
        }
    }
    grid.compact()
}

/// Rows: repetitions and what their session waited for, the longest first.
pub fn waits(record: &RunRecord) -> Option<Table> {
    let mut grid = Table::default()
        .text("Rep.")
        .text("Wait")
        .scaled("Waited", "s")
        .number("Times", "")
        .number("Mean", "ms")
        .number("Of the elapsed time", "%");
    for repetition in &record.repetitions {
        for wait in &repetition.waits {
            let mean = wait.count.filter(|count| *count > 0).map(|count| wait.seconds / count as f64 * 1e3);
            grid.row(vec![
                plain(&repetition.label).into(),
                plain(&wait.wait).into(),
                wait.seconds.into(),
                wait.count.into(),
                mean.into(),
                wait.elapsed_percent.into(),
            ]);
        }
    }
    grid.compact()
}

/// Rows: repetitions and files of the engine, what was read from and written to them.
pub fn files(record: &RunRecord) -> Option<Table> {
    let mut grid = Table::default()
        .text("Rep.")
        .text("File")
        .number("Reads", "")
        .within("Reads")
        .number("Read", "MB")
        .within("Reads")
        .number("Mean read", "ms")
        .within("Reads")
        .number("Writes", "")
        .within("Writes")
        .number("Written", "MB")
        .within("Writes")
        .number("Mean write", "ms")
        .within("Writes");
    for repetition in &record.repetitions {
        for file in &repetition.files {
            grid.row(vec![
                plain(&repetition.label).into(),
                plain(&file.file).into(),
                file.reads.into(),
                file.read_bytes.map(megabytes).into(),
                file.read_latency_ms.into(),
                file.writes.into(),
                file.write_bytes.map(megabytes).into(),
                file.write_latency_ms.into(),
            ]);
        }
    }
    grid.compact()
}

/// Rows: repetitions and files that have limits of their own: the busiest interval, and in how many the file was near its limits.
pub fn file_limits(record: &RunRecord) -> Option<Table> {
    let mut grid = Table::default()
        .text("Rep.")
        .text("File")
        .number("Size", "GB")
        .number("Highest IOPS", "1/s")
        .within("I/Os a second")
        .number("Limit", "1/s")
        .within("I/Os a second")
        .number("Intervals at 90 %", "")
        .within("I/Os a second")
        .number("Highest rate", "MB/s")
        .within("MB a second")
        .number("Limit", "MB/s")
        .within("MB a second")
        .number("Intervals at 90 %", "")
        .within("MB a second")
        .text("Who says so")
        .spare(13);
    for repetition in &record.repetitions {
        for file in &repetition.files {
            let Some(used) = &file.limits else { continue };
            let near = |intervals: u64| format!("{intervals} of {}", used.intervals);
            grid.row(vec![
                plain(&repetition.label).into(),
                plain(&file.file).into(),
                used.size_bytes.map(|bytes| bytes as f64 / f64::from(1 << 30)).into(),
                used.highest_iops.into(),
                used.limit_iops.into(),
                near(used.intervals_near_iops).into(),
                used.highest_mb_per_second.into(),
                used.limit_mb_per_second.into(),
                near(used.intervals_near_mb_per_second).into(),
                plain(&used.source).into(),
            ]);
        }
    }
    grid.compact()
}
