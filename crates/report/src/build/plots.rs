//! Which charts a run has: rates of its points, the CPU ladder, misses against the working set.

use std::collections::BTreeSet;

use plimsoll_analysis::consistency::{DEFAULT_WINDOW, rolling_average};
use plimsoll_analysis::summary;
use plimsoll_measurement::{CpuRow, CpuTable, Point, Repetition, RunRecord};

use super::facts::{miss_percent, point_rate, set_megabytes};
use super::order::distinct;
use super::words::value;
use crate::model::format::{self, plain, title};
use crate::model::{Axis, Kind, Line, LineChart, Look, Mark, Picture, Spot};

/// The phases of the test in order; one without a name for tests of a single step.
pub fn phases(record: &RunRecord) -> Vec<Option<&str>> {
    let points = record.repetitions.iter().flat_map(|repetition| &repetition.points);
    distinct(points.map(|point| point.phase.as_deref()))
}

/// Fewer minutes of requests than this are no chart.
const FEW_MINUTES: usize = 3;

fn is_write(record: &RunRecord, phase: Option<&str>) -> bool {
    record.test == "write-chunk" || phase == Some("write")
}

/// What a point is.
pub fn step(record: &RunRecord, phase: Option<&str>) -> &'static str {
    match record.test.as_str() {
        _ if is_write(record, phase) => "Chunk",
        "read-scan" | "read-scan-weak" => "Table",
        _ if record.repetitions.iter().any(|repetition| !repetition.seconds.is_empty()) => "Minute",
        _ => "Point",
    }
}

/// Rate of every point, all repetitions overlaid; for chunked writes with their rolling average.
pub fn rates(record: &RunRecord, phase: Option<&str>) -> Option<Picture> {
    let (writes, step) = (is_write(record, phase), step(record, phase));
    let mut lines = Vec::new();
    for (at, repetition) in record.repetitions.iter().enumerate() {
        let spots = spots(repetition, |point| {
            (point.phase.as_deref() == phase).then_some((f64::from(point.index), point_rate(point)?))
        });
        let smooth = writes && spots.len() > DEFAULT_WINDOW;
        let look = if smooth { Look::Behind(at) } else { Look::Measured(at) };
        let average = smooth.then(|| smoothed(&spots, repetition, at));
        lines.push(Line { name: plain(&repetition.label), look, spots });
        lines.extend(average);
    }
    // The smoothed lines come last, so that they lie above the points.
    lines.sort_by_key(|line| matches!(line.look, Look::Smooth(_)));
    lines.retain(|line| !line.spots.is_empty());
    // Requests have a chart by the second; their minutes are worth one where there are several of one phase.
    let has_requests = record.repetitions.iter().any(|repetition| !repetition.requests.is_empty());
    let has_phases = record.repetitions.iter().any(|repetition| repetition.phases.len() > 1);
    if has_requests && (has_phases || lines.iter().all(|line| line.spots.len() < FEW_MINUTES)) {
        return None;
    }
    let what = phase.map_or_else(|| "Rate".to_owned(), |phase| format!("{}: rate", title(phase)));
    let title = format!("{what} of each {} in every repetition", step.to_lowercase());
    let x = Axis::new(format!("{step}, counted from 0"), Kind::Index);
    Some(Picture::lines(title, x, Axis::new("MB/min", Kind::FromZero), lines))
}

/// A line for each repetition.
pub fn by_repetition(record: &RunRecord, spots: impl Fn(&Repetition) -> Vec<Spot>) -> Vec<Line> {
    let line = |(at, repetition): (usize, &Repetition)| Line {
        name: plain(&repetition.label),
        look: Look::Measured(at),
        spots: spots(repetition),
    };
    record.repetitions.iter().enumerate().map(line).collect()
}

fn smoothed(spots: &[Spot], repetition: &Repetition, at: usize) -> Line {
    let values: Vec<f64> = spots.iter().map(|spot| spot.y).collect();
    let averages = rolling_average(&values, DEFAULT_WINDOW);
    let spots = spots.iter().zip(averages).map(|(spot, y)| Spot { x: spot.x, y, ..Spot::default() }).collect();
    let name = format!("{}, mean of {DEFAULT_WINDOW}", plain(&repetition.label));
    Line { name, look: Look::Smooth(at), spots }
}

/// Points of a repetition that have a place, from left to right.
fn spots(repetition: &Repetition, place: impl Fn(&Point) -> Option<(f64, f64)>) -> Vec<Spot> {
    let spot = |point: &Point| {
        let (x, y) = place(point)?;
        Some(Spot { x, y, label: label(point), flags: point.flags.clone(), range: None })
    };
    let mut spots: Vec<Spot> = repetition.points.iter().filter_map(spot).filter(|spot| spot.y.is_finite()).collect();
    spots.sort_by(|one, other| one.x.total_cmp(&other.x));
    spots
}

/// A spot at the mean of these values, with their range; `None` without any.
pub fn mean(x: f64, values: &[f64], label: String) -> Option<Spot> {
    let range = summary::range(values).filter(|_| values.len() > 1);
    Some(Spot { x, y: summary::mean(values)?, range, label, flags: Vec::new() })
}

/// What a point is called.
pub fn label(point: &Point) -> String {
    point.label.as_deref().map_or_else(|| format!("point {}", point.index), plain)
}

/// Time against N, both logarithmic: a line for each number of sessions, and how the square of N would go on.
pub fn ladder(cpu: &CpuTable) -> Picture {
    let sessions: BTreeSet<u32> = cpu.rows.iter().map(|row| row.sessions).collect();
    let mut lines = Vec::new();
    for (at, count) in sessions.into_iter().enumerate() {
        let mut rows: Vec<_> = cpu.rows.iter().filter(|row| row.sessions == count && row.seconds > 0.0).collect();
        rows.sort_by_key(|row| row.join_rows);
        let spot = |row: &&CpuRow| Spot {
            x: row.join_rows as f64,
            y: row.seconds,
            label: format!("N {}", row.join_rows),
            flags: row.flags.clone(),
            range: None,
        };
        let spots = rows.iter().map(spot).collect();
        lines.push(Line { name: format::count(count as usize, "session"), look: Look::Measured(at), spots });
    }
    lines.extend(square(cpu));
    let (x, y) = (Axis::new("Rows N on each side", Kind::Log), Axis::new("Seconds (median)", Kind::Log));
    Picture::lines("Time of the join against N, both axes logarithmic", x, y, lines)
}

/// How the square of N would go on, through the longest rung without a flag of the smallest number of sessions.
fn square(cpu: &CpuTable) -> Option<Line> {
    let fewest = cpu.rows.iter().map(|row| row.sessions).min()?;
    let sound = |row: &&CpuRow| row.sessions == fewest && row.flags.is_empty() && row.seconds > 0.0;
    let through = cpu.rows.iter().filter(sound).max_by_key(|row| row.join_rows)?;
    let rungs = || cpu.rows.iter().map(|row| row.join_rows).filter(|rows| *rows > 0);
    let (smallest, largest) = (rungs().min()?, rungs().max()?);
    if smallest == largest {
        return None;
    }
    let at = |rows: u64| Spot {
        x: rows as f64,
        y: through.seconds * (rows as f64 / through.join_rows as f64).powi(2),
        ..Spot::default()
    };
    let spots = vec![at(smallest), at(largest)];
    Some(Line { name: "growth with N²".to_owned(), look: Look::Guide, spots })
}

/// Misses against the working set, with the memory that was found marked.
pub fn memory(record: &RunRecord) -> Option<Picture> {
    let place = |point: &Point| Some((set_megabytes(point)?, miss_percent(point)?));
    let mut lines = by_repetition(record, |repetition| spots(repetition, place));
    lines.retain(|line| !line.spots.is_empty());
    if lines.is_empty() {
        return None;
    }
    let found = record.results.iter().chain(&record.result).find(|f| f.metric == "memory" && f.unit == "MB");
    // The sets are those that were read; the figure is of full volumes.
    let scale = record.parameters.get("scale").and_then(serde_json::Value::as_f64).unwrap_or(1.0);
    let mark = found.filter(|figure| figure.value > 0.0).map(|figure| Mark {
        x: figure.value / scale,
        band: figure.low.zip(figure.high).map(|(low, high)| (low / scale, high / scale)),
        label: format!("Memory {}", format::value(&value(record, figure))),
    });
    let chart = LineChart {
        title: "Cache misses against the size of the working set".to_owned(),
        x: Axis::new("Working set, MB (logarithmic)", Kind::Log),
        y: Axis::new("Misses, % of the set", Kind::FromZero),
        lines,
        mark,
    };
    Some(Picture::Lines(chart))
}
