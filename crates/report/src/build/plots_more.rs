//! Charts of how far a resource was used at each point, of minutes, and of moves by size: what the seeds drew beside their
//! rates.

use plimsoll_analysis::summary;
use plimsoll_measurement::{Point, Repetition, RunRecord};

use super::families::labels;
use super::moved::{self, OfSize};
use super::plots;
use super::sampled;
use crate::model::format::plain;
use crate::model::{Axis, Kind, Line, LineChart, Look, Picture, Series, Spot};

/// Fewer points or minutes than this are no chart.
const FEW: usize = 3;

/// A point's use is known if that is for at least this part of its time.
const LEAST_KNOWN: f64 = 0.5;

/// How far a resource was used at each point, all repetitions overlaid: of all resources the one that was used most.
pub fn used_by_point(record: &RunRecord) -> Option<Picture> {
    let resource = most_used(record)?;
    let line = |(at, repetition): (usize, &Repetition)| Line {
        name: plain(&repetition.label),
        look: Look::Measured(at),
        spots: spots(record, repetition, &resource),
    };
    chart(&resource, record, record.repetitions.iter().enumerate().map(line).collect(), "in every repetition")
}

/// The same of several runs of one test, as means of their repetitions: a line for each run.
pub fn used_by_run(records: &[RunRecord]) -> Vec<Picture> {
    let mut tests: Vec<&str> = records.iter().map(|record| record.test.as_str()).collect();
    tests.dedup();
    let mut done: Vec<&str> = Vec::new();
    let mut charts = Vec::new();
    for test in tests {
        let runs: Vec<&RunRecord> = records.iter().filter(|record| record.test == test).collect();
        if done.contains(&test) || runs.len() < 2 {
            continue;
        }
        done.push(test);
        charts.extend(of_test(&runs));
    }
    charts
}

fn of_test(runs: &[&RunRecord]) -> Option<Picture> {
    let resource = runs.iter().find_map(|record| most_used(record))?;
    let mean = |record: &RunRecord| -> Vec<Spot> {
        let all: Vec<Vec<Spot>> =
            record.repetitions.iter().map(|repetition| spots(record, repetition, &resource)).collect();
        let mut indices: Vec<f64> = all.iter().flatten().map(|spot| spot.x).collect();
        indices.sort_by(f64::total_cmp);
        indices.dedup();
        let at = |x: f64| {
            let same: Vec<&Spot> = all.iter().flatten().filter(|spot| spot.x.total_cmp(&x).is_eq()).collect();
            let values: Vec<f64> = same.iter().map(|spot| spot.y).collect();
            let range = summary::range(&values).filter(|_| values.len() > 1);
            Some(Spot { x, y: summary::mean(&values)?, range, label: same.first()?.label.clone(), flags: Vec::new() })
        };
        indices.into_iter().filter_map(at).collect()
    };
    let names = labels(runs).into_iter();
    let line = |(at, (record, name)): (usize, (&&RunRecord, String))| Line {
        name,
        look: Look::Measured(at),
        spots: mean(record),
    };
    let mut lines: Vec<Line> = runs.iter().zip(names).enumerate().map(line).collect();
    lines.retain(|line| line.spots.len() >= FEW);
    let first = runs.first().filter(|_| lines.len() > 1)?;
    chart(&resource, first, lines, &format!("of {}, means of the repetitions", plain(&first.test)))
}

fn chart(resource: &str, record: &RunRecord, mut lines: Vec<Line>, of: &str) -> Option<Picture> {
    lines.retain(|line| !line.spots.is_empty());
    if lines.iter().all(|line| line.spots.len() < FEW) {
        return None;
    }
    let step = plots::step(record, None);
    let chart = LineChart {
        title: format!("{resource}: how far it was used at each {} {of}", step.to_lowercase()),
        x: Axis::new(format!("{step}, counted from 0"), Kind::Index),
        y: Axis::new("% of the ceiling", Kind::FromZero),
        lines,
        mark: None,
    };
    Some(Picture::Lines(chart))
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
        let label = point.label.as_deref().map_or_else(|| format!("point {}", point.index), plain);
        Some(Spot { x: f64::from(point.index), y, label, ..Spot::default() })
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
    let line = |(at, repetition): (usize, &Repetition)| {
        let spot = |minute: &plimsoll_measurement::Minute| Spot {
            x: f64::from(minute.minute),
            y: minute.mb_per_minute,
            label: format!("minute {}", minute.minute),
            ..Spot::default()
        };
        let spots = repetition.minutes.iter().filter(|_| repetition.requests.is_empty()).map(spot).collect();
        Line { name: plain(&repetition.label), look: Look::Measured(at), spots }
    };
    let mut lines: Vec<Line> = record.repetitions.iter().enumerate().map(line).collect();
    lines.retain(|line| !line.spots.is_empty());
    if lines.iter().all(|line| line.spots.len() < FEW) {
        return None;
    }
    let chart = LineChart {
        title: "Rate of each minute in every repetition".to_owned(),
        x: Axis::new("Minute, counted from 0", Kind::Index),
        y: Axis::new("MB/min", Kind::FromZero),
        lines,
        mark: None,
    };
    Some(Picture::Lines(chart))
}

/// Time and rate of a move of whole databases over their size, a line for each stage.
pub fn moves(record: &RunRecord) -> Vec<Picture> {
    let all = moved::by_size(record);
    let rates = over_size(&all, "Rate of each stage over the size of the database", "MB/min", |one| &one.rates);
    let times = over_size(&all, "Time of each stage over the size of the database", "Seconds", |one| &one.seconds);
    vec![times, rates]
}

fn over_size(all: &[OfSize], title: &str, unit: &str, part: impl Fn(&OfSize) -> &Vec<f64>) -> Picture {
    let mut lines: Vec<Line> = Vec::new();
    for one in all {
        let values = part(one);
        let Some(y) = summary::mean(values) else { continue };
        let range = summary::range(values).filter(|_| values.len() > 1);
        let spot = Spot { x: one.megabytes, y, range, label: one.size.clone(), flags: Vec::new() };
        match lines.iter_mut().find(|line| line.name == one.stage) {
            Some(line) => line.spots.push(spot),
            None => lines.push(Line { name: one.stage.clone(), look: Look::Measured(lines.len()), spots: vec![spot] }),
        }
    }
    for line in &mut lines {
        line.spots.sort_by(|one, other| one.x.total_cmp(&other.x));
    }
    lines.retain(|line| line.spots.len() > 1);
    let chart = LineChart {
        title: title.to_owned(),
        x: Axis::new("Content of the database, MB", Kind::FromZero),
        y: Axis::new(unit, Kind::FromZero),
        lines,
        mark: None,
    };
    Picture::Lines(chart)
}
