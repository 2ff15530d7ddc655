//! Charts of how far a resource was used at each point, of minutes, and of moves by size: what the seeds drew beside their
//! rates.

use plimsoll_measurement::{Minute, Point, Repetition, RunRecord};

use super::families::labels;
use super::moved::{self, OfSize};
use super::order::grouped;
use super::{plots, sampled};
use crate::model::format::plain;
use crate::model::{Axis, Kind, Line, Look, Picture, Series, Spot};

/// Fewer points or minutes than this are no chart.
const FEW: usize = 3;

/// A point's use is known if that is for at least this part of its time.
const LEAST_KNOWN: f64 = 0.5;

/// How far a resource was used at each point, all repetitions overlaid: of all resources the one that was used most.
pub fn used_by_point(record: &RunRecord) -> Option<Picture> {
    let resource = most_used(record)?;
    let lines = plots::by_repetition(record, |repetition| spots(record, repetition, &resource));
    chart(&resource, record, lines, "in every repetition")
}

/// The same of several runs of one test, as means of their repetitions: a line for each run.
pub fn used_by_run(records: &[RunRecord]) -> Vec<Picture> {
    let tests = grouped(records.iter().map(|record| (&record.test, record)));
    tests.iter().filter(|(_, runs)| runs.len() > 1).filter_map(|(_, runs)| of_test(runs)).collect()
}

fn of_test(runs: &[&RunRecord]) -> Option<Picture> {
    let resource = runs.iter().find_map(|record| most_used(record))?;
    let means = |record: &RunRecord| -> Vec<Spot> {
        let all = record.repetitions.iter().flat_map(|repetition| spots(record, repetition, &resource));
        let mean = |(x, same): (u64, Vec<Spot>)| {
            let values: Vec<f64> = same.iter().map(|spot| spot.y).collect();
            plots::mean(f64::from_bits(x), &values, same[0].label.clone())
        };
        let points = grouped(all.map(|spot| (spot.x.to_bits(), spot)));
        let mut means: Vec<Spot> = points.into_iter().filter_map(mean).collect();
        means.sort_by(|one, other| one.x.total_cmp(&other.x));
        means
    };
    let names = labels(runs).into_iter();
    let line = |(at, (record, name)): (usize, (&&RunRecord, String))| Line {
        name,
        look: Look::Measured(at),
        spots: means(record),
    };
    let mut lines: Vec<Line> = runs.iter().zip(names).enumerate().map(line).collect();
    lines.retain(|line| line.spots.len() >= FEW);
    let first = runs.first().filter(|_| lines.len() > 1)?;
    chart(&resource, first, lines, &format!("of {}, means of the repetitions", plain(&first.test)))
}

fn chart(resource: &str, record: &RunRecord, lines: Vec<Line>, of: &str) -> Option<Picture> {
    if lines.iter().all(|line| line.spots.len() < FEW) {
        return None;
    }
    let step = plots::step(record, None);
    let title = format!("{resource}: how far it was used at each {} {of}", step.to_lowercase());
    let x = Axis::new(format!("{step}, counted from 0"), Kind::Index);
    Some(Picture::lines(title, x, Axis::new("% of the ceiling", Kind::FromZero), lines))
}

/// The name of the resource with the highest mean use over all repetitions.
fn most_used(record: &RunRecord) -> Option<String> {
    let all = record.repetitions.iter().flat_map(|repetition| &repetition.samples);
    let uses = all.flat_map(|samples| sampled::utilisation(record, samples));
    let means = uses.filter_map(|one| Some((one.series.summary()?.0, one.series.name)));
    means.max_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, name)| name)
}

/// The mean use during each point of a test of a single step.
fn spots(record: &RunRecord, repetition: &Repetition, resource: &str) -> Vec<Spot> {
    let single = |point: &&Point| point.phase.is_none() && repetition.seconds.is_empty();
    let all = repetition.samples.iter().flat_map(|samples| sampled::utilisation(record, samples));
    let series: Vec<Series> = all.map(|one| one.series).filter(|series| series.name == resource).collect();
    let spot = |point: &Point| {
        let y = series.iter().find_map(|series| mean_during(series, point))?;
        Some(Spot { x: f64::from(point.index), y, label: plots::label(point), ..Spot::default() })
    };
    repetition.points.iter().filter(single).filter_map(spot).collect()
}

/// The mean of a course while a point was measured; `None` where too little of that is known.
fn mean_during(series: &Series, point: &Point) -> Option<f64> {
    let (start, end) = (point.started_seconds, point.started_seconds + point.seconds);
    // The steps are in the order of time.
    let first = series.steps.partition_point(|(_, to, _)| *to <= start);
    let within = series.steps[first..].iter().take_while(|(from, ..)| *from < end);
    let mut sums = (0.0, 0.0);
    for (from, to, value) in within.filter(|(.., value)| value.is_finite()) {
        let seconds = to.min(end) - from.max(start);
        sums = (sums.0 + value * seconds, sums.1 + seconds);
    }
    (sums.1 > 0.0 && sums.1 >= LEAST_KNOWN * point.seconds).then(|| sums.0 / sums.1)
}

/// Rate of every minute, all repetitions overlaid; nothing of requests, because their points are minutes.
pub fn minutes(record: &RunRecord) -> Option<Picture> {
    let spot = |minute: &Minute| Spot {
        x: f64::from(minute.minute),
        y: minute.mb_per_minute,
        label: format!("minute {}", minute.minute),
        ..Spot::default()
    };
    let lines = plots::by_repetition(record, |repetition| {
        repetition.minutes.iter().filter(|_| repetition.requests.is_empty()).map(spot).collect()
    });
    if lines.iter().all(|line| line.spots.len() < FEW) {
        return None;
    }
    let (x, y) = (Axis::new("Minute, counted from 0", Kind::Index), Axis::new("MB/min", Kind::FromZero));
    Some(Picture::lines("Rate of each minute in every repetition", x, y, lines))
}

/// Time and rate of a move of whole databases over their size, a line for each stage.
pub fn moves(record: &RunRecord) -> Vec<Picture> {
    let all = moved::by_size(record);
    let rates = over_size(&all, "Rate of each stage over the size of the database", "MB/min", |one| &one.rates);
    let times = over_size(&all, "Time of each stage over the size of the database", "Seconds", |one| &one.seconds);
    vec![times, rates]
}

fn over_size(all: &[OfSize], title: &str, unit: &str, part: impl Fn(&OfSize) -> &Vec<f64>) -> Picture {
    let spot = |one: &OfSize| Some((one.stage.clone(), plots::mean(one.megabytes, part(one), one.size.clone())?));
    let line = |(at, (name, mut spots)): (usize, (String, Vec<Spot>))| {
        spots.sort_by(|one, other| one.x.total_cmp(&other.x));
        Line { name, look: Look::Measured(at), spots }
    };
    let mut lines: Vec<Line> = grouped(all.iter().filter_map(spot)).into_iter().enumerate().map(line).collect();
    lines.retain(|line| line.spots.len() > 1);
    let x = Axis::new("Content of the database, MB", Kind::FromZero);
    Picture::lines(title, x, Axis::new(unit, Kind::FromZero), lines)
}
