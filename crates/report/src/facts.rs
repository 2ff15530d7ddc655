//! What a record says, as tables: repetitions with their spread, proof of the cold start, resources, minutes, memory.

use std::collections::BTreeMap;

use plimsoll_analysis::summary;
use plimsoll_measurement::units::{MB, format_bytes, format_seconds, mb_per_minute};
use plimsoll_measurement::{Figure, Metric, Point, Repetition, RunRecord};

use crate::grid::{Cell, Grid};
use crate::words::{
    NOT_PUBLISHED, bound, interval, limit_in_a_cell, megabytes, number, plain, repetition_state, title,
};

/// The point's rate in MB per minute, where it moved data.
pub fn point_rate(point: &Point) -> Option<f64> {
    let rate =
        point.get(Metric::MbPerMinute).or_else(|| mb_per_minute(point.count(Metric::ContentBytes)?, point.seconds))?;
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
fn total<T: std::iter::Sum>(repetition: &Repetition, part: impl Fn(&Point) -> Option<T>) -> Option<T> {
    let known: Vec<T> = repetition.points.iter().filter_map(part).collect();
    (!known.is_empty()).then(|| known.into_iter().sum())
}

/// Rows: the repetitions. Rate, extremes and spread of each.
pub fn repetitions(record: &RunRecord) -> Option<Grid> {
    let mut grid = Grid::default()
        .text("Rep.")
        .number("Points")
        .number("Time")
        .number("Content")
        .number("MB/min")
        .number("Slowest")
        .number("Fastest")
        .number("CV, %")
        .text("State");
    for repetition in &record.repetitions {
        let rates = Rates::of(repetition);
        let seconds: Option<f64> = total(repetition, |point| Some(point.seconds));
        grid.row(vec![
            plain(&repetition.label).into(),
            repetition.points.len().to_string().into(),
            seconds.map(format_seconds).into(),
            total(repetition, |point| point.count(Metric::ContentBytes)).map(format_bytes).into(),
            rates.as_ref().and_then(|rates| number(rates.overall)).into(),
            rates.as_ref().and_then(|rates| number(rates.slowest)).into(),
            rates.as_ref().and_then(|rates| number(rates.fastest)).into(),
            rates.as_ref().and_then(|rates| number(rates.cv_percent?)).into(),
            repetition_state(repetition).into(),
        ]);
    }
    grid.compact()
}

/// What a figure should be where that was published, and how far it is off in percent.
pub fn truth(figure: &Figure) -> [Cell; 2] {
    match &figure.expected {
        Some(truth) if truth.published => {
            [number(truth.value).into(), truth.error_percent.map(|error| format!("{error:+.2}")).into()]
        }
        Some(_) => [NOT_PUBLISHED.into(), Cell::default()],
        None => [Cell::default(), Cell::default()],
    }
}

/// A figure's value without its unit.
fn bounded(record: &RunRecord, figure: &Figure) -> Cell {
    number(figure.value).map(|value| format!("{}{value}", bound(record, &figure.unit))).into()
}

/// Rows: the headlines of several runs with what bound them and what they should be.
pub fn headlines<'a>(runs: impl IntoIterator<Item = (String, &'a RunRecord, &'a Figure)>) -> Option<Grid> {
    let mut grid = Grid::default()
        .text("Run")
        .number("Value")
        .text("Unit")
        .text("Interval")
        .text("Limit")
        .number("Truth")
        .number("Error, %");
    for (name, record, figure) in runs {
        let [truth, error] = truth(figure);
        grid.row(vec![
            name.into(),
            bounded(record, figure),
            plain(&figure.unit).into(),
            interval(figure).into(),
            limit_in_a_cell(record.verdict.limit.as_deref(), &record.verdict.also).into(),
            truth,
            error,
        ]);
    }
    grid.compact()
}

/// Rows: all figures of the run; `None` if the headline is the only one.
pub fn figures(record: &RunRecord) -> Option<Grid> {
    if record.results.len() < 2 {
        return None;
    }
    let mut grid = Grid::default()
        .text("Figure")
        .number("Value")
        .text("Unit")
        .text("Interval")
        .number("Reps")
        .number("CV, %")
        .number("Truth")
        .number("Error, %")
        .text("Note");
    for figure in &record.results {
        let [truth, error] = truth(figure);
        grid.row(vec![
            title(&figure.metric).into(),
            bounded(record, figure),
            plain(&figure.unit).into(),
            interval(figure).into(),
            figure.repetitions.to_string().into(),
            figure.point_cv_percent.and_then(number).into(),
            truth,
            error,
            figure.note.as_deref().map(plain).into(),
        ]);
    }
    grid.compact()
}

/// Rows: the repetitions that started cold, how, and what proves it.
pub fn cold_starts(record: &RunRecord) -> Option<Grid> {
    let mut grid = Grid::default()
        .text("Rep.")
        .text("Made cold by")
        .number("Cache misses, %")
        .number("Device reads, %")
        .number("Settled")
        .text("Proven");
    for repetition in &record.repetitions {
        let Some(cold) = &repetition.cold else { continue };
        let methods = plain(&cold.methods.join(", "));
        grid.row(vec![
            plain(&repetition.label).into(),
            (!methods.is_empty()).then_some(methods).into(),
            cold.engine_miss_percent.and_then(number).into(),
            cold.device_read_percent.and_then(number).into(),
            (cold.settle_seconds > 0.0).then(|| format_seconds(cold.settle_seconds)).into(),
            (if cold.verified { "yes" } else { "no" }).into(),
        ]);
    }
    grid.compact()
}

/// Rows: the repetitions; what they moved and used. `None` where nothing but content is known.
pub fn resources(record: &RunRecord) -> Option<Grid> {
    let mut grid = Grid::default()
        .text("Rep.")
        .number("Content")
        .number("Pages")
        .number("Device")
        .number("Log")
        .number("CPU, s")
        .number("CPU, % (mean)")
        .number("Flagged points");
    let any_flagged = record.repetitions.iter().flat_map(|r| &r.points).any(|point| !point.flags.is_empty());
    for repetition in &record.repetitions {
        let cpu: Vec<f64> = repetition.points.iter().filter_map(|point| point.get(Metric::CpuPercent)).collect();
        let flagged = repetition.points.iter().filter(|point| !point.flags.is_empty()).count();
        grid.row(vec![
            plain(&repetition.label).into(),
            total(repetition, |point| point.count(Metric::ContentBytes)).map(format_bytes).into(),
            total(repetition, |point| point.count(Metric::PageBytes)).map(format_bytes).into(),
            total(repetition, |point| point.count(Metric::DeviceBytes)).map(format_bytes).into(),
            total(repetition, |point| point.count(Metric::LogBytes)).map(format_bytes).into(),
            total(repetition, |point| point.get(Metric::CpuSeconds)).and_then(number).into(),
            summary::mean(&cpu).and_then(number).into(),
            any_flagged.then(|| flagged.to_string()).into(),
        ]);
    }
    grid.compact().filter(|grid| grid.columns.iter().any(|c| !["Rep.", "Content"].contains(&c.title.as_str())))
}

/// Rows: minutes, if there are several. Columns: MB per minute of each repetition.
pub fn minutes(record: &RunRecord) -> Option<Grid> {
    let with_minutes: Vec<&Repetition> = record.repetitions.iter().filter(|r| !r.minutes.is_empty()).collect();
    let mut rates: BTreeMap<u32, Vec<Cell>> = BTreeMap::new();
    for (at, repetition) in with_minutes.iter().enumerate() {
        for minute in &repetition.minutes {
            let row = rates.entry(minute.minute).or_insert_with(|| vec![Cell::default(); with_minutes.len()]);
            row[at] = number(minute.mb_per_minute).into();
        }
    }
    // A single minute is the repetition itself.
    if rates.len() < 2 {
        return None;
    }
    let mut grid = Grid::default().number("Minute");
    for repetition in &with_minutes {
        grid = grid.number(format!("{}, MB/min", plain(&repetition.label)));
    }
    for (minute, cells) in rates {
        grid.row(std::iter::once(minute.to_string().into()).chain(cells).collect());
    }
    grid.compact()
}

/// Rows: points. Columns: rate of each repetition; `None` without rates or with more than `most` points.
pub fn point_rates(record: &RunRecord, phase: Option<&str>, most: usize) -> Option<Grid> {
    let mut rates: BTreeMap<u32, (Option<String>, Vec<Cell>)> = BTreeMap::new();
    for (at, repetition) in record.repetitions.iter().enumerate() {
        for point in repetition.points.iter().filter(|point| point.phase.as_deref() == phase) {
            let Some(rate) = point_rate(point) else { continue };
            let columns = record.repetitions.len();
            let (_, row) = rates
                .entry(point.index)
                .or_insert_with(|| (point.label.as_deref().map(plain), vec![Cell::default(); columns]));
            row[at] = Cell { text: number(rate), flags: point.flags.clone() };
        }
    }
    if rates.len() > most {
        return None;
    }
    let mut grid = Grid::default().number("Point").text("What");
    for repetition in &record.repetitions {
        grid = grid.number(format!("{}, MB/min", plain(&repetition.label)));
    }
    for (index, (label, cells)) in rates {
        grid.row([Cell::from(index.to_string()), label.into()].into_iter().chain(cells).collect());
    }
    grid.compact()
}

/// Cache misses in percent of the accesses of a memory point's counted pass.
pub fn miss_percent(point: &Point) -> Option<f64> {
    let accesses = point.count(Metric::Accesses).filter(|accesses| *accesses > 0)?;
    Some(point.count(Metric::CacheMissPages)? as f64 / accesses as f64 * 100.0)
}

/// A memory point's working set in MB.
pub fn set_megabytes(point: &Point) -> Option<f64> {
    point.count(Metric::SetBytes).map(|bytes| bytes as f64 / MB as f64)
}

/// Rows: working sets of the memory test, for each repetition from small to large.
pub fn memory(record: &RunRecord) -> Option<Grid> {
    let mut grid = Grid::default()
        .text("Rep.")
        .number("Set, MB")
        .number("Accesses")
        .number("Misses")
        .number("Misses, %")
        .number("Passes")
        .number("Engine reports, %");
    for repetition in &record.repetitions {
        let mut points: Vec<&Point> =
            repetition.points.iter().filter(|point| point.count(Metric::SetBytes).is_some()).collect();
        points.sort_by_key(|point| point.count(Metric::SetBytes));
        for point in points {
            grid.row(vec![
                plain(&repetition.label).into(),
                Cell { text: point.count(Metric::SetBytes).and_then(megabytes), flags: point.flags.clone() },
                point.count(Metric::Accesses).and_then(|n| number(n as f64)).into(),
                point.count(Metric::CacheMissPages).and_then(|n| number(n as f64)).into(),
                miss_percent(point).and_then(number).into(),
                point.count(Metric::Passes).map(|n| n.to_string()).into(),
                point.get(Metric::MemoryPercent).and_then(number).into(),
            ]);
        }
    }
    grid.compact()
}

/// Rows: names and values, as they stand.
pub fn pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, String)>) -> Option<Grid> {
    let mut grid = Grid::default().text("Name").text("Value");
    for (name, value) in pairs {
        grid.row(vec![plain(name).into(), plain(&value).into()]);
    }
    grid.compact()
}

/// The parameters as they were used; texts without their quotation marks.
pub fn parameters(record: &RunRecord) -> Option<Grid> {
    pairs(record.parameters.iter().map(|(name, value)| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        (name.as_str(), text)
    }))
}

/// What the target states about itself.
pub fn environment(record: &RunRecord) -> Option<Grid> {
    pairs(record.environment.iter().map(|(name, value)| (name.as_str(), value.clone())))
}

/// Where and with what the run was made.
pub fn origin(record: &RunRecord) -> Option<Grid> {
    let host = &record.host;
    let seconds = |seconds: Option<f64>| seconds.map(format_seconds);
    let known = [
        ("Run", Some(record.run_id.clone())),
        ("Started", Some(crate::words::moment(&record.started_at))),
        ("Ended", record.ended_at.as_deref().map(crate::words::moment)),
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
        ("Sampling", crate::evidence::sampling(record)),
    ];
    pairs(known.into_iter().filter_map(|(name, value)| Some((name, value?))))
}
