//! What a record says, as tables: repetitions with their spread, proof of the cold start, resources, minutes, memory.

use plimsoll_analysis::summary;
use plimsoll_measurement::run::ColdStart;
use plimsoll_measurement::units::{MB, mb_per_minute};
use plimsoll_measurement::{Figure, Metric, Point, Repetition, RunRecord};

use super::order::distinct;
use super::words::{NOT_PUBLISHED, interval_of, limit_in_a_cell, repetition_state, value};
use crate::model::format::seconds as format_seconds;
use crate::model::format::{BYTES, moment, plain, title};
use crate::model::{Cell, Table, number, scaled, text};

/// The point's rate in MB per minute, where it moved data.
pub fn point_rate(point: &Point) -> Option<f64> {
    let rate =
        point.get(Metric::MbPerMinute).or_else(|| mb_per_minute(point.count(Metric::ContentBytes)?, point.seconds))?;
    rate.is_finite().then_some(rate)
}

/// Rates of a repetition's points in MB per minute: volume over time, the slowest, the fastest, and the coefficient of
/// variation in percent.
type Rates = [Option<f64>; 4];

/// The rates of all points that have one; nothing if no time was measured.
fn rates(repetition: &Repetition) -> Rates {
    let timed = repetition.points.iter().filter_map(|point| Some((point_rate(point)?, point.seconds)));
    let (rates, seconds): (Vec<f64>, Vec<f64>) = timed.unzip();
    let time: f64 = seconds.iter().sum();
    let Some((slowest, fastest)) = summary::range(&rates).filter(|_| time > 0.0) else { return Rates::default() };
    let volume: f64 = rates.iter().zip(&seconds).map(|(rate, seconds)| rate * seconds).sum();
    [Some(volume / time), Some(slowest), Some(fastest), summary::coefficient_of_variation_percent(&rates)]
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
    let part = |at: usize| move |(_, rates): &(&Repetition, Rates)| rates[at].into();
    Table::of(
        record.repetitions.iter().map(|repetition| (repetition, rates(repetition))),
        &[
            (text("Rep."), &|(one, _)| plain(&one.label).into()),
            (number("Points", ""), &|(one, _)| one.points.len().into()),
            (scaled("Time", "s"), &|(one, _)| total_seconds(one, |point| Some(point.seconds)).into()),
            (scaled("Content", BYTES), &|(one, _)| total(one, |point| point.count(Metric::ContentBytes)).into()),
            (number("Rate", "MB/min"), &part(0)),
            (number("Slowest", "MB/min"), &part(1)),
            (number("Fastest", "MB/min"), &part(2)),
            (number("CV", "%").page("STATISTICS.md"), &part(3)),
            (text("State"), &|(one, _)| repetition_state(one).into()),
        ],
    )
}

/// What a figure should be where that was published.
pub fn expected(figure: &Figure) -> Cell {
    match &figure.expected {
        Some(expected) if expected.published => Cell::quantity(expected.value, plain(&expected.unit)),
        Some(_) => NOT_PUBLISHED.into(),
        None => Cell::default(),
    }
}

/// How far a figure is off what was published, in percent.
pub fn off_by(figure: &Figure) -> Cell {
    figure.expected.as_ref().filter(|expected| expected.published).and_then(|expected| expected.error_percent).into()
}

/// The heading of figures with their intervals, or ranges.
pub fn with_interval<'a>(figures: impl IntoIterator<Item = &'a Figure>) -> String {
    let mut ends = distinct(figures.into_iter().map(|figure| interval_of(Some(figure))));
    if ends.is_empty() {
        ends.push(interval_of(None));
    }
    format!("Value, {}", ends.join(" or "))
}

/// Rows: the headlines of several runs of one unit with what bound them and what they should be.
pub fn headlines<'a>(runs: impl IntoIterator<Item = (String, &'a RunRecord, &'a Figure)>) -> Option<Table> {
    let runs: Vec<_> = runs.into_iter().collect();
    let first = runs.first().map(|(.., figure)| *figure);
    let heading = number(
        with_interval(runs.iter().map(|(.., figure)| *figure)),
        first.map_or_else(String::new, |figure| plain(&figure.unit)),
    );
    Table::of(
        runs,
        &[
            (text("Run"), &|(name, ..)| name.as_str().into()),
            (heading, &|(_, record, figure)| value(record, figure).into()),
            (number("Repetitions", "").spare(15), &|(.., figure)| figure.repetitions.into()),
            (text("Bottleneck"), &|(_, record, _)| bottleneck(record)),
            (number("Expected", ""), &|(.., figure)| expected(figure)),
            (number("Off by", "%").signed(), &|(.., figure)| off_by(figure)),
        ],
    )
}

/// What bound a run, in a cell.
pub fn bottleneck(record: &RunRecord) -> Cell {
    limit_in_a_cell(record.verdict.limit.as_deref(), &record.verdict.also).into()
}

/// Rows: all figures of the run; `None` if the headline is the only one.
pub fn figures(record: &RunRecord) -> Option<Table> {
    Table::of(
        record.results.iter().filter(|_| record.results.len() > 1),
        &[
            (text("Figure"), &|figure| title(&figure.metric).into()),
            (number(with_interval(&record.results), ""), &|figure| value(record, figure).into()),
            (number("Reps", ""), &|figure| figure.repetitions.into()),
            (number("CV", "%").page("STATISTICS.md"), &|figure| figure.point_cv_percent.into()),
            (number("Expected", "").page("ACCURACY.md"), &|figure| expected(figure)),
            (number("Off by", "%").signed(), &|figure| off_by(figure)),
            (text("Note"), &|figure| figure.note.as_deref().map(plain).into()),
        ],
    )
}

/// Rows: the repetitions that started cold, how, and what proves it.
pub fn cold_starts(record: &RunRecord) -> Option<Table> {
    let all = record.repetitions.iter().filter_map(|repetition| Some((repetition, repetition.cold.as_ref()?)));
    let methods = |cold: &ColdStart| Some(plain(&cold.methods.join(", "))).filter(|methods| !methods.is_empty());
    Table::of(
        all,
        &[
            (text("Rep."), &|(one, _)| plain(&one.label).into()),
            (text("Made cold by"), &|(_, cold)| methods(cold).into()),
            (number("Memory in use before", "%"), &|(_, cold)| cold.memory_percent_before.into()),
            (number("Cache misses", "%"), &|(_, cold)| cold.engine_miss_percent.into()),
            (number("Device reads", "%"), &|(_, cold)| cold.device_read_percent.into()),
            (scaled("Settled", "s").unless_zero(), &|(_, cold)| cold.settle_seconds.into()),
            (text("Proven"), &|(_, cold)| (if cold.verified { "yes" } else { "no" }).into()),
        ],
    )
}

/// Rows: the repetitions; what they moved and used. `None` where nothing but content is known.
pub fn resources(record: &RunRecord) -> Option<Table> {
    let points = || record.repetitions.iter().flat_map(|repetition| &repetition.points);
    let flagged = |one: &Repetition| one.points.iter().filter(|point| !point.flags.is_empty()).count();
    let is_more = |point: &Point| {
        let amounts = [point.count(Metric::PageBytes), point.count(Metric::DeviceBytes), point.count(Metric::LogBytes)];
        amounts.iter().any(Option::is_some)
            || point.get(Metric::CpuSeconds).or(point.get(Metric::CpuPercent)).is_some()
            || !point.flags.is_empty()
    };
    let cpu =
        |one: &Repetition| one.points.iter().filter_map(|point| point.get(Metric::CpuPercent)).collect::<Vec<f64>>();
    Table::of(
        record.repetitions.iter().filter(|_| points().any(is_more)),
        &[
            (text("Rep."), &|one| plain(&one.label).into()),
            (scaled("Content", BYTES), &|one| total(one, |point| point.count(Metric::ContentBytes)).into()),
            (scaled("Pages", BYTES), &|one| total(one, |point| point.count(Metric::PageBytes)).into()),
            (scaled("Device", BYTES), &|one| total(one, |point| point.count(Metric::DeviceBytes)).into()),
            (scaled("Log", BYTES), &|one| total(one, |point| point.count(Metric::LogBytes)).into()),
            (number("CPU", "s"), &|one| total_seconds(one, |point| point.get(Metric::CpuSeconds)).into()),
            (number("Mean CPU", "%"), &|one| summary::mean(&cpu(one)).into()),
            (number("Flagged points", "").unless_zero(), &|one| flagged(one).into()),
        ],
    )
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
pub fn memory(record: &RunRecord) -> Option<Table> {
    let sorted = |repetition: &'_ Repetition| {
        let mut points: Vec<Point> =
            repetition.points.iter().filter(|point| point.count(Metric::SetBytes).is_some()).cloned().collect();
        points.sort_by_key(|point| point.count(Metric::SetBytes));
        points
    };
    let all = record.repetitions.iter().flat_map(|one| sorted(one).into_iter().map(move |point| (one, point)));
    Table::of(
        all,
        &[
            (text("Rep."), &|(one, _)| plain(&one.label).into()),
            (number("Set", "MB"), &|(_, point)| Cell::from(set_megabytes(point)).flagged(&point.flags)),
            (number("Accesses", "").spare(10), &|(_, point)| point.count(Metric::Accesses).into()),
            (number("Misses", ""), &|(_, point)| point.count(Metric::CacheMissPages).into()),
            (number("Misses", "%"), &|(_, point)| miss_percent(point).into()),
            (number("Passes", ""), &|(_, point)| point.count(Metric::Passes).into()),
            (number("Engine reports", "%"), &|(_, point)| point.get(Metric::MemoryPercent).into()),
        ],
    )
}

/// Rows: names and values, as they stand.
fn pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, String)>) -> Option<Table> {
    Table::of(
        pairs,
        &[(text("Name"), &|(name, _)| plain(name).into()), (text("Value"), &|(_, value)| plain(value).into())],
    )
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
    let version = record.engine_version.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
    let engine = format!("{}{version}", record.engine);
    let seconds = |seconds: Option<f64>| seconds.map(format_seconds);
    let known = [
        ("Run", Some(record.run_id.clone())),
        ("Started", Some(moment(&record.started_at))),
        ("Ended", record.ended_at.as_deref().map(moment)),
        ("Campaign", record.campaign.clone()),
        ("Label", record.label.clone()),
        ("Engine", Some(engine.trim_end().to_owned())),
        ("Clock", Some(record.clock.clone())),
        ("Target fingerprint", record.target_fingerprint.clone()),
        ("Catalogue", record.catalog_edition.clone()),
        ("Plimsoll", Some(record.build.clone())),
        ("Definition", Some(record.definition.hash.clone())),
        ("Client", host.name.clone()),
        // What was imported ran on a machine that nobody knows.
        ("Client platform", (host.cpus > 0).then(|| format!("{}, {} CPUs", host.platform, host.cpus))),
        ("Virtual time", seconds(record.virtual_seconds)),
        ("Real time", seconds(host.real_seconds)),
        ("Preparation", seconds(host.preparation_seconds)),
        ("Client CPU time", seconds(host.client_cpu_seconds)),
        ("Sampling", super::evidence::sampling(record)),
    ];
    pairs(known.into_iter().filter_map(|(name, value)| Some((name, value?))))
}
