//! Charts of phases: what came of more sessions, higher rates or larger batches. A point is the mean of the repetitions,
//! its whisker goes from the least to the greatest of them.

use plimsoll_analysis::summary;
use plimsoll_measurement::{LatencyHistogramData, Phase, RunRecord};

use super::requests::{Tried, tried, varied};
use crate::model::format::{number, plain};
use crate::model::{Axis, Kind, Line, LineChart, Look, Mark, Picture, Spot};

/// More sessions than this times the fewest stand on a logarithmic axis.
const WIDE: f64 = 40.0;

/// More values than this have round ticks instead of their own.
const MOST_TICKS: usize = 12;

/// The charts of what was varied from phase to phase; none where nothing was.
pub fn charts(record: &RunRecord) -> Vec<Picture> {
    let phases = tried(record);
    let Some(varied) = varied(&phases) else { return Vec::new() };
    let charts = match varied {
        Tried::Rate => vec![answered(&phases), Some(latency(&phases)), backlog(&phases)],
        Tried::Batch => vec![Some(batches(&phases))],
        Tried::Sessions => vec![scale(&phases)],
    };
    charts.into_iter().flatten().collect()
}

/// One value of what was varied, and the phases of all repetitions that had it.
type Step<'a> = (f64, Vec<&'a Phase>);

/// The phases by a value of theirs, rising.
fn steps<'a>(phases: &[&'a Phase], value: impl Fn(&Phase) -> Option<f64>) -> Vec<Step<'a>> {
    let mut steps: Vec<Step<'a>> = Vec::new();
    for phase in phases {
        let Some(value) = value(phase).filter(|value| value.is_finite()) else { continue };
        match steps.iter_mut().find(|(known, _)| known.total_cmp(&value).is_eq()) {
            Some((_, same)) => same.push(phase),
            None => steps.push((value, vec![phase])),
        }
    }
    steps.sort_by(|one, other| one.0.total_cmp(&other.0));
    steps
}

/// Mean and range of what the phases of each step say; a step about which they say nothing has no point.
fn line(name: &str, look: Look, steps: &[Step<'_>], part: impl Fn(&Phase) -> Option<f64>) -> Line {
    let spot = |(x, phases): &Step<'_>| {
        let values: Vec<f64> = phases.iter().filter_map(|phase| part(phase)).filter(|v| v.is_finite()).collect();
        let range = summary::range(&values).filter(|_| values.len() > 1);
        let missed = phases.iter().any(|phase| phase.holds == Some(false));
        Some(Spot {
            x: *x,
            y: summary::mean(&values)?,
            range,
            label: plain(&phases[0].label),
            flags: if missed { vec!["goal-missed".to_owned()] } else { Vec::new() },
        })
    };
    Line { name: name.to_owned(), look, spots: steps.iter().filter_map(spot).collect() }
}

/// Ticks at the values themselves, where they are few.
fn own_ticks(steps: &[Step<'_>]) -> Vec<f64> {
    if steps.len() > MOST_TICKS { Vec::new() } else { steps.iter().map(|(value, _)| *value).collect() }
}

/// Answers a second over the number of sessions, and how they would grow with these.
fn scale(phases: &[&Phase]) -> Option<Picture> {
    let steps = steps(phases, |phase| Some(f64::from(phase.sessions)));
    let (fewest, most) = (steps.first()?.0, steps.last()?.0);
    let wide = most > WIDE * fewest;
    let measured = line("answered", Look::Measured(0), &steps, |phase| Some(phase.rate));
    let highest = measured.spots.iter().map(|spot| spot.range.map_or(spot.y, |(_, high)| high)).fold(0.0, f64::max);
    // The line of growth with the sessions ends where the chart does.
    let per_session = measured.spots.first().map(|spot| spot.y / spot.x).filter(|rate| !wide && *rate > 0.0);
    let growth = per_session.map(|rate| {
        let end = most.min(highest / rate);
        let at = |sessions: f64| Spot { x: sessions, y: sessions * rate, ..Spot::default() };
        Line { name: "growth with the sessions".to_owned(), look: Look::Guide, spots: vec![at(fewest), at(end)] }
    });
    let chart = LineChart {
        title: "Answers a second over the number of sessions".to_owned(),
        x: Axis::new("Sessions", if wide { Kind::Log } else { Kind::FromZero }).with_ticks(own_ticks(&steps)),
        y: Axis::new("Answers a second", Kind::FromZero),
        lines: std::iter::once(measured).chain(growth).collect(),
        mark: None,
    };
    Some(Picture::Lines(chart))
}

/// MB a minute over the size of batches.
fn batches(phases: &[&Phase]) -> Picture {
    let steps = steps(phases, |phase| phase.batch_rows.map(|rows| rows as f64));
    let has_volume = phases.iter().any(|phase| phase.mb_per_minute.is_some());
    let part = |phase: &Phase| if has_volume { phase.mb_per_minute } else { Some(phase.rate) };
    let unit = if has_volume { "MB/min" } else { "Batches a second" };
    let chart = LineChart {
        title: format!("{unit} over the size of batches"),
        x: Axis::new("Rows of a batch (logarithmic)", Kind::Log).with_ticks(own_ticks(&steps)),
        y: Axis::new(unit, Kind::FromZero),
        lines: vec![line(unit, Look::Measured(0), &steps, part)],
        mark: None,
    };
    Picture::Lines(chart)
}

fn by_rate<'a>(phases: &[&'a Phase]) -> Vec<Step<'a>> {
    steps(phases, |phase| phase.rate_asked)
}

/// A chart's title, and what the circles in it mean.
fn titled(title: &str, steps: &[Step<'_>]) -> String {
    let missed = steps.iter().flat_map(|(_, phases)| phases).any(|phase| phase.holds == Some(false));
    if missed { format!("{title} (circled: the goal was missed)") } else { title.to_owned() }
}

/// The highest rate at which all phases met the goal of a search, below the lowest at which one did not.
fn highest_that_holds(steps: &[Step<'_>]) -> Option<f64> {
    let holds = |(_, phases): &&Step<'_>| phases.iter().all(|phase| phase.holds == Some(true));
    steps.iter().take_while(holds).last().map(|(rate, _)| *rate)
}

fn mark(steps: &[Step<'_>]) -> Option<Mark> {
    let rate = highest_that_holds(steps)?;
    Some(Mark { x: rate, band: None, label: format!("{}/s holds", number(rate)?) })
}

/// Answers a second over the rate that was asked for.
fn answered(phases: &[&Phase]) -> Option<Picture> {
    let steps = by_rate(phases);
    let at = |rate: f64| Spot { x: rate, y: rate, ..Spot::default() };
    let (lowest, highest) = (steps.first()?.0, steps.last()?.0);
    let asked = Line { name: "asked".to_owned(), look: Look::Guide, spots: vec![at(lowest), at(highest)] };
    let chart = LineChart {
        title: titled("Answers a second over the rate asked for", &steps),
        x: Axis::new("Requests asked for, a second", Kind::FromZero),
        y: Axis::new("Answers a second", Kind::FromZero),
        lines: vec![asked, line("answered", Look::Measured(0), &steps, |phase| Some(phase.rate))],
        mark: mark(&steps),
    };
    Some(Picture::Lines(chart))
}

/// Response times over the rate that was asked for.
fn latency(phases: &[&Phase]) -> Picture {
    let steps = by_rate(phases);
    let ms = |times: &LatencyHistogramData, percent: f64| times.percentile_us(percent).map(|us| us / 1e3);
    let mut lines = vec![
        line("p99", Look::Member(1, 1), &steps, |phase| ms(&phase.times, 99.0)),
        line("p50", Look::Member(0, 0), &steps, |phase| ms(&phase.times, 50.0)),
    ];
    let real = |phase: &Phase| ms(phase.times_uncorrected.as_ref()?, 99.0);
    lines.push(line("p99, real start", Look::Member(2, 2), &steps, real));
    lines.retain(|line| !line.spots.is_empty());
    let chart = LineChart {
        title: titled("Response times over the rate asked for", &steps),
        x: Axis::new("Requests asked for, a second", Kind::FromZero),
        y: Axis::new("Milliseconds (logarithmic)", Kind::Log),
        lines,
        mark: mark(&steps),
    };
    Picture::Lines(chart)
}

/// Requests that were due and not begun at the end of a phase, over the rate; nothing if none were left.
fn backlog(phases: &[&Phase]) -> Option<Picture> {
    if phases.iter().all(|phase| phase.backlog.unwrap_or(0) == 0) {
        return None;
    }
    let steps = by_rate(phases);
    let chart = LineChart {
        title: "Requests that were due and not begun at the end of a phase".to_owned(),
        x: Axis::new("Requests asked for, a second", Kind::FromZero),
        y: Axis::new("Requests", Kind::FromZero),
        lines: vec![line("backlog", Look::Measured(0), &steps, |phase| phase.backlog.map(|count| count as f64))],
        mark: None,
    };
    Some(Picture::Lines(chart))
}
