//! Moves of whole databases, as tables: the time of their stages, and their rates by size.

use plimsoll_measurement::units::{MB, mb_per_minute};
use plimsoll_measurement::{Metric, Point, Repetition, RunRecord};

use super::order::distinct;
use crate::model::format::plain;
use crate::model::{Table, number, scaled, text};

/// Figures by which a move of a whole database is known.
const MOVED: [&str; 3] = ["import_rate", "copy_rate", "restore_rate"];

/// The size in a label of a move of several databases, if there are several, and the stage without its minute.
fn stage(point: &Point) -> Option<(&str, &str)> {
    // What is written beside a move is none of its stages.
    let label = point.label.as_deref().filter(|_| point.phase.as_deref().is_none_or(|phase| phase != BESIDE))?;
    let (size, rest) = label.split_once(": ").unwrap_or(("", label));
    Some((size, rest.split(',').next().unwrap_or(rest)))
}

/// Phase of chunks that are written beside a move.
const BESIDE: &str = "import-write";

fn moved(record: &RunRecord) -> impl Iterator<Item = (&str, &str)> {
    let is_move = record.results.iter().any(|figure| MOVED.contains(&figure.metric.as_str()));
    record.repetitions.iter().filter(move |_| is_move).flat_map(|repetition| &repetition.points).filter_map(stage)
}

/// Seconds and content of a stage of one size in a repetition.
fn stage_of(repetition: &Repetition, of: (&str, &str)) -> Option<(f64, u64)> {
    let points = repetition.points.iter().filter(|point| stage(point) == Some(of));
    let sums = points.map(|point| (point.seconds, point.count(Metric::ContentBytes).unwrap_or(0)));
    sums.reduce(both)
}

/// Seconds and bytes of two parts.
fn both(one: (f64, u64), other: (f64, u64)) -> (f64, u64) {
    (one.0 + other.0, one.1.saturating_add(other.1))
}

/// Rows: repetitions of a move of a whole database, for each size, with the time of each of its stages. Nothing for other
/// tests.
pub fn stages(record: &RunRecord) -> Option<Table> {
    let (sizes, names) = (distinct(moved(record).map(|(size, _)| size)), distinct(moved(record).map(|(_, name)| name)));
    let columns = names.iter().map(|name| scaled(plain(name), "s"));
    let mut grid = Table::with([text("Rep."), text("Size")].into_iter().chain(columns));
    for (repetition, size) in record.repetitions.iter().flat_map(|one| sizes.iter().map(move |size| (one, size))) {
        let times = names.iter().map(|name| stage_of(repetition, (size, name)).map(|(seconds, _)| seconds).into());
        let size = (!size.is_empty()).then(|| plain(size)).into();
        grid.row([plain(&repetition.label).into(), size].into_iter().chain(times).collect());
    }
    grid.compact()
}

/// A stage of the move of databases of one size, in every complete repetition.
pub struct OfSize {
    /// The stage.
    pub stage: String,
    /// The size as it is called.
    pub size: String,
    /// Content that was moved.
    pub megabytes: f64,
    /// How long it took each time.
    pub seconds: Vec<f64>,
    /// How much a minute each time.
    pub rates: Vec<f64>,
}

/// The stages that moved content, for each size, where there were several sizes.
pub fn by_size(record: &RunRecord) -> Vec<OfSize> {
    let sizes = distinct(moved(record).map(|(size, _)| size).filter(|size| !size.is_empty()));
    let names = distinct(moved(record).map(|(_, name)| name));
    let of = |(name, size): (&str, &str)| {
        let complete = record.repetitions.iter().filter(|repetition| repetition.complete);
        let moves: Vec<(f64, u64)> = complete.filter_map(|repetition| stage_of(repetition, (size, name))).collect();
        let content = moves.iter().map(|(_, content)| *content).max().filter(|content| *content > 0)?;
        Some(OfSize {
            stage: plain(name),
            size: plain(size),
            megabytes: content as f64 / MB as f64,
            seconds: moves.iter().map(|(seconds, _)| *seconds).collect(),
            rates: moves.iter().filter_map(|(seconds, content)| mb_per_minute(*content, *seconds)).collect(),
        })
    };
    if sizes.len() < 2 {
        return Vec::new();
    }
    names.iter().flat_map(|name| sizes.iter().map(|size| (*name, *size))).filter_map(of).collect()
}

/// Rows: sizes of databases that were moved one after another, with the mean rate of each stage that moved content. Nothing
/// where there was one size.
pub fn sizes(record: &RunRecord) -> Option<Table> {
    let sizes = distinct(moved(record).map(|(size, _)| size).filter(|size| !size.is_empty()));
    let rate = |size: &str, name: &str| {
        let complete = record.repetitions.iter().filter(|repetition| repetition.complete);
        let sums = complete.filter_map(|repetition| stage_of(repetition, (size, name)));
        let (seconds, content) = sums.reduce(both)?;
        mb_per_minute(content, seconds).filter(|rate| *rate > 0.0)
    };
    let names = distinct(moved(record).map(|(_, name)| name));
    let names: Vec<&str> =
        names.into_iter().filter(|name| sizes.iter().any(|size| rate(size, name).is_some())).collect();
    let columns = names.iter().map(|name| number(plain(name), "MB/min"));
    let mut grid = Table::with(std::iter::once(text("Size")).chain(columns));
    for size in &sizes {
        let rates = names.iter().map(|name| rate(size, name).into());
        grid.row(std::iter::once(plain(size).into()).chain(rates).collect());
    }
    grid.compact()
}
