//! What a record says, as tables: repetitions with their spread, proof of the cold start, resources, minutes, memory.

use std::collections::BTreeMap;

use plimsoll_analysis::summary;
use plimsoll_measurement::units::{MB, format_seconds, mb_per_minute};
use plimsoll_measurement::{Figure, Point, Repetition, RunRecord};

use super::words::{NOT_PUBLISHED, confidence_of, limit_in_a_cell, repetition_state, value};
use crate::model::format::{BYTES, moment, plain, title};
use crate::model::{Cell, Table};

/// The point's rate in MB per minute, where it moved data.
pub fn point_rate(point: &Point) -> Option<f64> {
    let rate = point.mb_per_minute.or_else(|| mb_per_minute(point.content_bytes?, point.seconds))?;
    rate.is_finite().then_some(rate)
}

/// Rates of a repetition's points in MB per minute.
pub struct Rates {
    /// Volume over time: the mean of the points' rates, weighted with their time.
    pub overall: f64,
    /// The slowest point.
    pub slowest: f64,
    /// The fastest point.
    pub fastest: f64,
    /// Sample standard deviation over mean, in percent; absent with fewer than two points.
    pub cv_percent: Option<f64>,
}

impl Rates {
    /// The rates of all points that have one; `None` if no time was measured.
    pub fn of(repetition: &Repetition) -> Option<Self> {
        let timed: Vec<(f64, f64)> =
            repetition.points.iter().filter_map(|point| Some((point_rate(point)?, point.seconds))).collect();
        let seconds: f64 = timed.iter().map(|(_, seconds)| seconds).sum();
        let rates: Vec<f64> = timed.iter().map(|(rate, _)| *rate).collect();
        let (slowest, fastest) = summary::range(&rates).filter(|_| seconds > 0.0)?;
        Some(Self {
            overall: timed.iter().map(|(rate, seconds)| rate * seconds).sum::<f64>() / seconds,
            slowest,
            fastest,
            cv_percent: summary::coefficient_of_variation_percent(&rates),
        })
    }
}

/// Sum over the points that know the value; `None` if no point does.
fn total(repetition: &Repetition, part: impl Fn(&Point) -> Option<u64>) -> Option<u64> {
    repetition.points.iter().filter_map(part).reduce(u64::saturating_add)
}

/// The same of times.
fn total_seconds(repetition: &Repetition, part: impl Fn(&Point) -> Option<f64>) -> Option<f64> {
    repetition.points.iter().filter_map(part).reduce(|one, other| one + other)
}

/// Rows: the repetitions. Rate, extremes and spread of each.
pub fn repetitions(record: &RunRecord) -> Option<Table> {
    let mut grid = Table::default()
        .text("Rep.")
        .number("Points", "")
        .scaled("Time", "s")
        .scaled("Content", BYTES)
        .number("Rate", "MB/min")
        .number("Slowest", "MB/min")
        .number("Fastest", "MB/min")
        .number("CV", "%")
        .page("STATISTICS.md")
        .text("State");
    for repetition in &record.repetitions {
        let rates = Rates::of(repetition);
        let seconds = total_seconds(repetition, |point| Some(point.seconds));
        grid.row(vec![
            plain(&repetition.label).into(),
            repetition.points.len().into(),
            seconds.into(),
            total(repetition, |point| point.content_bytes).into(),
            rates.as_ref().map(|rates| rates.overall).into(),
            rates.as_ref().map(|rates| rates.slowest).into(),
            rates.as_ref().map(|rates| rates.fastest).into(),
            rates.as_ref().and_then(|rates| rates.cv_percent).into(),
            repetition_state(repetition).into(),
        ]);
    }
    grid.compact()
}

/// What a figure should be where that was published, and how far it is off in percent.
pub fn expected(figure: &Figure) -> [Cell; 2] {
    match &figure.truth {
        Some(expected) if expected.published => {
            [Cell::quantity(expected.value, plain(&expected.unit)), expected.error_percent.into()]
        }
        Some(_) => [NOT_PUBLISHED.into(), Cell::default()],
        None => [Cell::default(), Cell::default()],
    }
}

/// The heading of figures with their intervals.
pub fn with_interval(figure: Option<&Figure>) -> String {
    format!("Value, {} interval", confidence_of(figure))
}

/// Rows: the headlines of several runs with what bound them and what they should be.
pub fn headlines<'a>(runs: impl IntoIterator<Item = (String, &'a RunRecord, &'a Figure)>) -> Option<Table> {
    let mut runs = runs.into_iter().peekable();
    let first = runs.peek().map(|(.., figure)| *figure);
    let mut grid = Table::default()
        .text("Run")
        .number(with_interval(first), first.map_or_else(String::new, |figure| plain(&figure.unit)))
        .number("Repetitions", "")
        .spare(15)
        .text("Bottleneck")
        .number("Expected", "")
        .number("Off by", "%")
        .signed();
    for (name, record, figure) in runs {
        let [expected, error] = expected(figure);
        grid.row(vec![
            name.into(),
            value(record, figure).into(),
            figure.repetitions.into(),
            limit_in_a_cell(record.verdict.limit.as_deref(), &record.verdict.also).into(),
            expected,
            error,
        ]);
    }
    grid.compact()
}

/// Rows: all figures of the run; `None` if the headline is the only one.
pub fn figures(record: &RunRecord) -> Option<Table> {
    if record.results.len() < 2 {
        return None;
    }
    let mut grid = Table::default()
        .text("Figure")
        .number(with_interval(record.results.first()), "")
        .number("Reps", "")
        .number("CV", "%")
        .page("STATISTICS.md")
        .number("Expected", "")
        .page("ACCURACY.md")
        .number("Off by", "%")
        .signed()
        .text("Note");
    for figure in &record.results {
        let [expected, error] = expected(figure);
        grid.row(vec![
            title(&figure.metric).into(),
            value(record, figure).into(),
            figure.repetitions.into(),
            figure.point_cv_percent.into(),
            expected,
            error,
            figure.note.as_deref().map(plain).into(),
        ]);
    }
    grid.compact()
}

/// Rows: the repetitions that started cold, how, and what proves it.
pub fn cold_starts(record: &RunRecord) -> Option<Table> {
    let mut grid = Table::default()
        .text("Rep.")
        .text("Made cold by")
        .number("Cache misses", "%")
        .number("Device reads", "%")
        .scaled("Settled", "s")
        .text("Proven");
    for repetition in &record.repetitions {
        let Some(cold) = &repetition.cold else { continue };
        let methods = plain(&cold.methods.join(", "));
        grid.row(vec![
            plain(&repetition.label).into(),
            (!methods.is_empty()).then_some(methods).into(),
            cold.engine_miss_percent.into(),
            cold.device_read_percent.into(),
            (cold.settle_seconds > 0.0).then_some(cold.settle_seconds).into(),
            (if cold.verified { "yes" } else { "no" }).into(),
        ]);
    }
    grid.compact()
}

/// Rows: the repetitions; what they moved and used. `None` where nothing but content is known.
pub fn resources(record: &RunRecord) -> Option<Table> {
    let mut grid = Table::default()
        .text("Rep.")
        .scaled("Content", BYTES)
        .scaled("Pages", BYTES)
        .scaled("Device", BYTES)
        .scaled("Log", BYTES)
        .number("CPU", "s")
        .number("Mean CPU", "%")
        .number("Flagged points", "");
    let any_flagged = record.repetitions.iter().flat_map(|r| &r.points).any(|point| !point.flags.is_empty());
    for repetition in &record.repetitions {
        let cpu: Vec<f64> = repetition.points.iter().filter_map(|point| point.cpu_percent).collect();
        let flagged = repetition.points.iter().filter(|point| !point.flags.is_empty()).count();
        grid.row(vec![
            plain(&repetition.label).into(),
            total(repetition, |point| point.content_bytes).into(),
            total(repetition, |point| point.page_bytes).into(),
            total(repetition, |point| point.device_bytes).into(),
            total(repetition, |point| point.log_bytes).into(),
            total_seconds(repetition, |point| point.cpu_seconds).into(),
            summary::mean(&cpu).into(),
            any_flagged.then_some(flagged).into(),
        ]);
    }
    grid.compact().filter(|grid| grid.columns.iter().any(|c| !["Rep.", "Content"].contains(&c.label.as_str())))
}

/// Rows: minutes, if there are several. Columns: MB per minute of each repetition.
pub fn minutes(record: &RunRecord) -> Option<Table> {
    let with_minutes: Vec<&Repetition> = record.repetitions.iter().filter(|r| !r.minutes.is_empty()).collect();
    let mut rates: BTreeMap<u32, Vec<Cell>> = BTreeMap::new();
    for (at, repetition) in with_minutes.iter().enumerate() {
        for minute in &repetition.minutes {
            let row = rates.entry(minute.minute).or_insert_with(|| vec![Cell::default(); with_minutes.len()]);
            row[at] = minute.mb_per_minute.into();
        }
    }
    // A single minute is the repetition itself.
    if rates.len() < 2 {
        return None;
    }
    let grid = Table::default().number("Minute", "");
    let mut grid = with_minutes.iter().fold(grid, |grid, one| grid.number(plain(&one.label), "MB/min"));
    for (minute, cells) in rates {
        grid.row(std::iter::once(minute.into()).chain(cells).collect());
    }
    grid.compact()
}

/// Rows: points. Columns: rate of each repetition; `None` without rates or with more than `most` points.
pub fn point_rates(record: &RunRecord, phase: Option<&str>, most: usize) -> Option<Table> {
    let mut rates: BTreeMap<u32, (Option<String>, Vec<Cell>)> = BTreeMap::new();
    for (at, repetition) in record.repetitions.iter().enumerate() {
        for point in repetition.points.iter().filter(|point| point.phase.as_deref() == phase) {
            let Some(rate) = point_rate(point) else { continue };
            let columns = record.repetitions.len();
            let (_, row) = rates
                .entry(point.index)
                .or_insert_with(|| (point.label.as_deref().map(plain), vec![Cell::default(); columns]));
            row[at] = Cell::from(rate).flagged(&point.flags);
        }
    }
    if rates.len() > most {
        return None;
    }
    let grid = Table::default().number("Point", "").text("What");
    let mut grid = record.repetitions.iter().fold(grid, |grid, one| grid.number(plain(&one.label), "MB/min"));
    for (index, (label, cells)) in rates {
        grid.row([Cell::from(index), label.into()].into_iter().chain(cells).collect());
    }
    grid.compact()
}

/// Cache misses in percent of the accesses of a memory point's counted pass.
pub fn miss_percent(point: &Point) -> Option<f64> {
    let accesses = point.accesses.filter(|accesses| *accesses > 0)?;
    Some(point.cache_miss_pages? as f64 / accesses as f64 * 100.0)
}

/// A memory point's working set in MB.
pub fn set_megabytes(point: &Point) -> Option<f64> {
    point.set_bytes.map(|bytes| bytes as f64 / MB as f64)
}

/// Rows: working sets of the memory test, for each repetition from small to large.
pub fn memory(record: &RunRecord) -> Option<Table> {
    let mut grid = Table::default()
        .text("Rep.")
        .number("Set", "MB")
        .number("Accesses", "")
        .spare(10)
        .number("Misses", "")
        .number("Misses", "%")
        .number("Passes", "")
        .number("Engine reports", "%");
    for repetition in &record.repetitions {
        let mut points: Vec<&Point> = repetition.points.iter().filter(|point| point.set_bytes.is_some()).collect();
        points.sort_by_key(|point| point.set_bytes);
        for point in points {
            grid.row(vec![
                plain(&repetition.label).into(),
                Cell::from(set_megabytes(point)).flagged(&point.flags),
                point.accesses.into(),
                point.cache_miss_pages.into(),
                miss_percent(point).into(),
                point.passes.into(),
                point.memory_percent.into(),
            ]);
        }
    }
    grid.compact()
}

/// Rows: names and values, as they stand.
pub fn pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, String)>) -> Option<Table> {
    let mut grid = Table::default().text("Name").text("Value");
    for (name, value) in pairs {
        grid.row(vec![plain(name).into(), plain(&value).into()]);
    }
    grid.compact()
}

/// The parameters as they were used; texts without their quotation marks.
pub fn parameters(record: &RunRecord) -> Option<Table> {
    pairs(record.parameters.iter().map(|(name, value)| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        (name.as_str(), text)
    }))
}

/// What the target states about itself.
pub fn environment(record: &RunRecord) -> Option<Table> {
    pairs(record.environment.iter().map(|(name, value)| (name.as_str(), value.clone())))
}

/// Where and with what the run was made.
pub fn origin(record: &RunRecord) -> Option<Table> {
    let host = &record.host;
    let seconds = |seconds: Option<f64>| seconds.map(format_seconds);
    let known = [
        ("Run", Some(record.run_id.clone())),
        ("Started", Some(moment(&record.started_at))),
        ("Ended", record.ended_at.as_deref().map(moment)),
        ("Campaign", record.campaign.clone()),
        (
            "Engine",
            Some(
                [Some(record.engine.as_str()), record.engine_version.as_deref()]
                    .into_iter()
                    .flatten()
                    .collect::<Vec<_>>()
                    .join(" "),
            ),
        ),
        ("Clock", Some(record.clock.clone())),
        ("Target fingerprint", record.target_fingerprint.clone()),
        ("Catalogue", record.catalog_edition.clone()),
        ("Plimsoll", Some(record.build.clone())),
        ("Definition", Some(record.definition.hash.clone())),
        ("Client", host.name.clone()),
        ("Client platform", Some(format!("{}, {} CPUs", host.platform, host.cpus))),
        ("Virtual time", seconds(record.virtual_seconds)),
        ("Real time", seconds(host.real_seconds)),
        ("Preparation", seconds(host.preparation_seconds)),
        ("Client CPU time", seconds(host.client_cpu_seconds)),
        ("Sampling", super::evidence::sampling(record)),
    ];
    pairs(known.into_iter().filter_map(|(name, value)| Some((name, value?))))
}
