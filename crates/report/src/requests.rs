//! What a record says about requests, as tables: kinds, phases, waits, files, and whether the client held them back.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_analysis::summary;
use plimsoll_measurement::units::format_seconds;
use plimsoll_measurement::{Phase, Repetition, RequestKind, RunRecord, TimesData};

use crate::grid::{Cell, Grid};
use crate::words::{bound, megabytes, number, plain, whole};

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
        *errors.entry(class.clone()).or_default() += count;
    }
    let uncorrected = || parts.iter().filter_map(|part| part.times_uncorrected.as_ref());
    RequestKind {
        kind: name.to_owned(),
        operations: parts.iter().map(|part| part.operations).sum(),
        rows_examined: parts.iter().map(|part| part.rows_examined).sum(),
        rows: parts.iter().map(|part| part.rows).sum(),
        content_bytes: parts.iter().map(|part| part.content_bytes).sum(),
        errors,
        drained: parts.iter().map(|part| part.drained).sum(),
        retries: parts.iter().map(|part| part.retries).sum(),
        times: TimesData::merged(parts.iter().map(|part| &part.times)),
        times_without_waits: parts.iter().any(|part| part.times_without_waits.is_some()).then(|| {
            TimesData::merged(parts.iter().map(|part| part.times_without_waits.as_ref().unwrap_or(&part.times)))
        }),
        times_uncorrected: (uncorrected().count() > 0).then(|| TimesData::merged(uncorrected())),
    }
}

/// A percentile in milliseconds; unknown where so few requests were made that none can be beyond it.
pub fn percentile_ms(times: &TimesData, percent: f64) -> Option<f64> {
    let beyond = times.count as f64 * (100.0 - percent) / 100.0;
    if times.count == 0 || (percent < 100.0 && beyond < 1.0 - 1e-9) {
        return None;
    }
    times.percentile_us(percent).map(|us| us / 1e3)
}

/// Columns that say nothing where nothing happened.
const EVENTS: [&str; 5] = ["Rows", "MB", "Retries", "Failed", "Rows examined"];

fn columns(grid: Grid) -> Grid {
    grid.text("Request")
        .number("Share, %")
        .number("Answered")
        .number("Rows examined")
        .number("Rows")
        .number("MB")
        .number("p50, ms")
        .number("p90")
        .number("p99")
        .number("p99.9")
        .number("p99.99")
        .number("Longest")
        .number("p99, real start")
        .number("p99, no retry waits")
        .number("Retries")
        .text("Failed")
}

fn cells(kind: &RequestKind, all: u64) -> Vec<Cell> {
    let ms = |percent: f64| Cell::from(percentile_ms(&kind.times, percent).and_then(number));
    let share = (all > 0).then(|| 100.0 * kind.operations as f64 / all as f64);
    let real = kind.times_uncorrected.as_ref().and_then(|times| percentile_ms(times, 99.0));
    let without = kind.times_without_waits.as_ref().and_then(|times| percentile_ms(times, 99.0));
    let classes: Vec<String> = kind.errors.iter().map(|(class, count)| format!("{} {count}", plain(class))).collect();
    vec![
        plain(&kind.kind).into(),
        share.map(|share| format!("{share:.1}")).into(),
        whole(kind.operations).into(),
        whole(kind.rows_examined).into(),
        whole(kind.rows).into(),
        megabytes(kind.content_bytes).into(),
        ms(50.0),
        ms(90.0),
        ms(99.0),
        ms(99.9),
        ms(99.99),
        ms(100.0),
        real.and_then(number).into(),
        without.and_then(number).into(),
        whole(kind.retries).into(),
        (if classes.is_empty() { "0".to_owned() } else { classes.join(", ") }).into(),
    ]
}

/// Rows: kinds of requests over all repetitions, and all of them together.
pub fn mix(record: &RunRecord) -> Option<Grid> {
    let kinds = by_kind(record);
    let mut grid = columns(Grid::default());
    let all: u64 = kinds.iter().map(|kind| kind.operations).sum();
    for kind in &kinds {
        grid.row(cells(kind, all));
    }
    if kinds.len() > 1 {
        grid.row(cells(&together("all", kinds.iter()), all));
    } else {
        grid.drop_column("Share, %");
    }
    if kinds.iter().all(|kind| kind.rows_examined == kind.rows) {
        grid.drop_column("Rows examined");
    }
    grid.drop_zeros(&EVENTS);
    grid.compact()
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
        let answered: u64 = repetition.requests.iter().map(|kind| kind.operations).sum();
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
pub fn by_repetition(record: &RunRecord) -> Option<Grid> {
    let mut grid = columns(Grid::default().text("Rep."));
    let with_requests = record.repetitions.iter().filter(|repetition| !repetition.requests.is_empty());
    if with_requests.clone().count() < 2 {
        return None;
    }
    for repetition in with_requests {
        let all = repetition.requests.iter().map(|kind| kind.operations).sum();
        for kind in &repetition.requests {
            grid.row(std::iter::once(plain(&repetition.label).into()).chain(cells(kind, all)).collect());
        }
    }
    grid.drop_zeros(&EVENTS);
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
pub fn phases(record: &RunRecord) -> Option<Grid> {
    let groups = alike(record);
    if groups.len() < 2 {
        return None;
    }
    let mut grid = Grid::default()
        .text("Phase")
        .number("Asked, 1/s")
        .number("Answered, 1/s")
        .text("Range")
        .number("MB/min")
        .number("p50, ms")
        .number("p99")
        .number("p99.9")
        .number("p99, real start")
        .number("Start lag p99")
        .number("Backlog")
        .number("Failed")
        .text("Holds");
    for group in &groups {
        let mean = |part: &dyn Fn(&Phase) -> Option<f64>| {
            let values: Vec<f64> = group.iter().filter_map(|phase| part(phase)).collect();
            Cell::from(summary::mean(&values).and_then(number))
        };
        let times = TimesData::merged(group.iter().map(|phase| &phase.times));
        let merged = |part: fn(&Phase) -> Option<&TimesData>| {
            let times = TimesData::merged(group.iter().filter_map(|phase| part(phase)));
            Cell::from(percentile_ms(&times, 99.0).and_then(number))
        };
        let ms = |percent: f64| Cell::from(percentile_ms(&times, percent).and_then(number));
        let rates: Vec<f64> = group.iter().map(|phase| phase.rate).collect();
        let range = summary::range(&rates).filter(|_| group.len() > 1);
        let range = range.and_then(|(low, high)| number(low).zip(number(high)));
        // A rate that was asked for and answered is what it is, whoever would have been the limit beyond it.
        let kept_up = group.iter().all(|phase| phase.rate_asked.is_some_and(|asked| phase.rate >= 0.99 * asked));
        let backlog: Option<u64> = group.iter().map(|phase| phase.backlog).max().flatten();
        grid.row(vec![
            plain(&group[0].label).into(),
            mean(&|phase| phase.rate_asked),
            summary::mean(&rates)
                .and_then(number)
                .map(|rate| format!("{}{rate}", if kept_up { "" } else { bound(record, "1/s") }))
                .into(),
            range.map(|(low, high)| format!("{low}–{high}")).into(),
            mean(&|phase| phase.mb_per_minute),
            ms(50.0),
            ms(99.0),
            ms(99.9),
            merged(|phase| phase.times_uncorrected.as_ref()),
            merged(|phase| phase.start_lag.as_ref()),
            backlog.map(whole).into(),
            whole(group.iter().map(|phase| phase.errors).sum()).into(),
            holds(group).into(),
        ]);
    }
    grid.drop_zeros(&EVENTS);
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
pub fn phases_by_repetition(record: &RunRecord) -> Option<Grid> {
    let with_phases: Vec<_> = record.repetitions.iter().filter(|repetition| repetition.phases.len() > 1).collect();
    if with_phases.len() < 2 {
        return None;
    }
    let mut grid = Grid::default()
        .text("Rep.")
        .text("Phase")
        .number("Time")
        .number("Sessions")
        .number("Asked, 1/s")
        .number("Answered, 1/s")
        .number("MB/min")
        .number("Answered")
        .number("p50, ms")
        .number("p99")
        .number("Backlog")
        .number("Failed")
        .text("Holds");
    for repetition in with_phases {
        for phase in &repetition.phases {
            let ms = |percent: f64| Cell::from(percentile_ms(&phase.times, percent).and_then(number));
            grid.row(vec![
                plain(&repetition.label).into(),
                plain(&phase.label).into(),
                format_seconds(phase.seconds).into(),
                phase.sessions.to_string().into(),
                phase.rate_asked.and_then(number).into(),
                number(phase.rate).into(),
                phase.mb_per_minute.and_then(number).into(),
                whole(phase.operations).into(),
                ms(50.0),
                ms(99.0),
                phase.backlog.map(whole).into(),
                whole(phase.errors).into(),
                holds(&[phase]).into(),
            ]);
        }
    }
    grid.drop_zeros(&EVENTS);
    grid.compact()
}

/// Rows: repetitions and what their session waited for, the longest first.
pub fn waits(record: &RunRecord) -> Option<Grid> {
    let mut grid = Grid::default()
        .text("Rep.")
        .text("Wait")
        .number("Waited")
        .number("Times")
        .number("Mean, ms")
        .number("Of the elapsed time, %");
    for repetition in &record.repetitions {
        for wait in &repetition.waits {
            let mean = wait.count.filter(|count| *count > 0).map(|count| wait.seconds / count as f64 * 1e3);
            grid.row(vec![
                plain(&repetition.label).into(),
                plain(&wait.wait).into(),
                format_seconds(wait.seconds).into(),
                wait.count.map(whole).into(),
                mean.and_then(number).into(),
                number(wait.elapsed_percent).into(),
            ]);
        }
    }
    grid.compact()
}

/// Rows: repetitions and files of the engine, what was read from and written to them.
pub fn files(record: &RunRecord) -> Option<Grid> {
    let mut grid = Grid::default()
        .text("Rep.")
        .text("File")
        .number_in("Reads", "Reads")
        .number_in("Reads", "MB read")
        .number_in("Reads", "Mean read, ms")
        .number_in("Writes", "Writes")
        .number_in("Writes", "MB written")
        .number_in("Writes", "Mean write, ms");
    for repetition in &record.repetitions {
        for file in &repetition.files {
            grid.row(vec![
                plain(&repetition.label).into(),
                plain(&file.file).into(),
                file.reads.map(whole).into(),
                file.read_bytes.and_then(megabytes).into(),
                file.read_latency_ms.and_then(number).into(),
                file.writes.map(whole).into(),
                file.write_bytes.and_then(megabytes).into(),
                file.write_latency_ms.and_then(number).into(),
            ]);
        }
    }
    grid.compact()
}

/// Rows: repetitions and files that have limits of their own: the busiest interval, and in how many the file was near its limits.
pub fn file_limits(record: &RunRecord) -> Option<Grid> {
    let mut grid = Grid::default()
        .text("Rep.")
        .text("File")
        .number("GB")
        .number_in("I/Os per s", "I/Os per s")
        .number_in("I/Os per s", "of")
        .number_in("I/Os per s", "at 90 %")
        .number_in("MB/s", "MB/s")
        .number_in("MB/s", "of")
        .number_in("MB/s", "at 90 %")
        .text("By");
    for repetition in &record.repetitions {
        for file in &repetition.files {
            let Some(used) = &file.limits else { continue };
            let near = |intervals: u64| format!("{intervals} of {}", used.intervals);
            grid.row(vec![
                plain(&repetition.label).into(),
                plain(&file.file).into(),
                used.size_bytes.and_then(|bytes| number(bytes as f64 / f64::from(1 << 30))).into(),
                used.highest_iops.and_then(number).into(),
                used.limit_iops.and_then(number).into(),
                near(used.intervals_near_iops).into(),
                used.highest_mb_per_second.and_then(number).into(),
                used.limit_mb_per_second.and_then(number).into(),
                near(used.intervals_near_mb_per_second).into(),
                plain(&used.source).into(),
            ]);
        }
    }
    grid.compact()
}
