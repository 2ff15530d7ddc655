//! Panels over time: what was delivered, how far resources were used, what sessions waited for and how long reads and
//! writes took, below each other, with the limit that bound above them.

use maud::{Markup, html};
use plimsoll_measurement::{Metric, Point, Repetition, RunRecord, SampleColumn, SampleGap, Samples, Segment};

use super::table;
use crate::chart::{Axis, Band, Gap, INK, Kind, NAMED_AT_MOST, Panel, Series, Shape, Strip};
use crate::evidence;
use crate::facts::point_rate;
use crate::sampled::{self, Use};
use crate::words::{self, percent, plain, title};

/// Courses are drawn in about so many pieces over the whole page at most, so that many repetitions stay readable by a browser.
const PIECES: usize = 40_000;

/// A course has about as many pieces as this at most, and at least the second.
const FINEST: usize = 200;
const COARSEST: usize = 50;

/// More reasons of gaps than this are not written below a panel.
const MOST_GAPS: usize = 4;

/// What is never more than this part of the largest could not be seen on top of it.
const LEAST_PART: f64 = 0.005;

/// The panels of a run: of the first repetition that was watched in the open, of the others folded.
pub fn panels(record: &RunRecord) -> Markup {
    let watched =
        record.repetitions.iter().filter(|repetition| repetition.samples.iter().any(|samples| !samples.is_empty()));
    let mut panels = watched.map(|repetition| (repetition, of_repetition(record, repetition)));
    let Some((_, first)) = panels.next() else { return Markup::default() };
    let others: Vec<(&Repetition, Markup)> = panels.collect();
    html! {
        (first)
        @for (repetition, panel) in others {
            details { summary { "The same of repetition " (plain(&repetition.label)) } (panel) }
        }
        (table::folded("What was sampled, in numbers", evidence::columns(record).as_ref()))
    }
}

fn of_repetition(record: &RunRecord, repetition: &Repetition) -> Markup {
    html! { @for samples in &repetition.samples { (of_step(record, repetition, samples)) } }
}

/// The panel of a step of a repetition, and behind a line that opens it all else that was sampled.
fn of_step(record: &RunRecord, repetition: &Repetition, samples: &Samples) -> Markup {
    let Some(span) = span(samples) else { return Markup::default() };
    let uses = sampled::utilisation(record, samples);
    let strips = [
        vec![delivered(repetition, samples, span)],
        used(samples, &uses),
        machine(samples, &uses),
        waited(samples),
        lasted(samples),
    ];
    let whose = whose(record, repetition, samples);
    let panel = |title: String, strips: Vec<Strip>| Panel {
        title,
        span,
        bands: bands(record, repetition, samples, span),
        bands_title: "Limit".to_owned(),
        strips,
        pieces: pieces(record),
    };
    let main = panel(format!("What was delivered, used and waited for{whose}"), strips.into_iter().flatten().collect());
    let rest = panel(format!("What else was sampled{whose}"), others(samples));
    html! {
        @if let Some(chart) = main.render() { (chart) (coarseness(samples, span, pieces(record))) (notes(samples, &uses)) }
        @if let Some(chart) = rest.render() { details { summary { "What else was sampled" (whose) } (chart) } }
    }
}

/// The time that the samples cover.
fn span(samples: &Samples) -> Option<(f64, f64)> {
    let ends = samples.intervals().filter(|(from, to)| from.is_finite() && to.is_finite() && to > from);
    ends.reduce(|(from, to), (other_from, other_to)| (from.min(other_from), to.max(other_to)))
}

/// Which of several: ` in repetition b, write`.
fn whose(record: &RunRecord, repetition: &Repetition, samples: &Samples) -> String {
    let of = if record.repetitions.len() > 1 {
        format!(" in repetition {}", plain(&repetition.label))
    } else {
        String::new()
    };
    samples.phase.as_deref().map_or_else(|| of.clone(), |phase| format!("{of}, {}", title(phase).to_lowercase()))
}

fn pieces(record: &RunRecord) -> usize {
    let all = record.repetitions.iter().flat_map(|repetition| &repetition.samples);
    let columns: usize = all.map(|samples| samples.columns.len()).sum();
    (PIECES / columns.max(1)).clamp(COARSEST, FINEST)
}

/// The verdicts of the repetition's segments. Where none has one of its own, that of the run holds for all of it.
fn bands(record: &RunRecord, repetition: &Repetition, samples: &Samples, span: (f64, f64)) -> Vec<Band> {
    let verdict = &record.verdict;
    if verdict.segments.is_empty() && words::verdict(verdict).is_some() {
        return vec![band(
            span,
            verdict.limit.as_deref(),
            &verdict.also,
            verdict.utilisation_percent,
            &verdict.evidence,
        )];
    }
    // A stretch may be of a phase of requests, which are all of one step.
    let of_step = |stretch: &&Segment| {
        stretch.repetition == repetition.label && (samples.phase.is_none() || stretch.phase == samples.phase)
    };
    let band = |stretch: &Segment| {
        let between = (stretch.from_seconds, stretch.to_seconds);
        band(between, stretch.limit.as_deref(), &stretch.also, stretch.utilisation_percent, &stretch.evidence)
    };
    verdict.segments.iter().filter(of_step).map(band).collect()
}

fn band((from, to): (f64, f64), limit: Option<&str>, also: &[String], used: Option<f64>, evidence: &[String]) -> Band {
    let name = words::limits(limit, also);
    let short = match limit {
        None => vec!["?".to_owned()],
        Some("none") => vec!["Nothing seen".to_owned(), "Nothing".to_owned()],
        limit => vec![words::limits(limit, &[])],
    };
    let said = words::limits_used(limit, also, used.filter(|_| limit.is_some()).and_then(percent));
    let said: Vec<String> = std::iter::once(said).chain(evidence.iter().map(|one| plain(one))).collect();
    let (tone, _) = limit.map_or((None, 0), sampled::look);
    Band { from, to, tone, about: said.join(". "), names: std::iter::once(name).chain(short).collect() }
}

fn strip(axis: Axis, series: Vec<Series>) -> Strip {
    Strip { axis, shape: Shape::Lines, mark: None, series, gaps: Vec::new() }
}

/// Unit of what is read from memory and, many times slower, from the device.
const ACCESSES: &str = "accesses a second";

/// What a point delivered a second or minute, and in which unit.
fn rate(point: &Point) -> Option<(f64, &'static str)> {
    let over_time = |amount: f64| (point.seconds > 0.0).then(|| amount / point.seconds);
    let moved = point_rate(point).map(|rate| (rate, "MB/min"));
    let joined = || Some((over_time(point.get(Metric::JoinRows)?.powi(2) / 1e6)?, "Mpairs/s"));
    let accessed = || Some((over_time(point.get(Metric::Accesses)?)?, ACCESSES));
    let answered = || Some((over_time(point.get(Metric::Operations)?)?, "answers a second"));
    moved.or_else(joined).or_else(accessed).or_else(answered)
}

/// What was delivered meanwhile: answers by the second where they are known, else each point over its time.
fn delivered(repetition: &Repetition, samples: &Samples, span: (f64, f64)) -> Strip {
    let seconds = &repetition.seconds.operations;
    let (unit, steps) = if seconds.is_empty() || samples.phase.is_some() {
        let of_step = |point: &&Point| samples.phase.is_none() || point.phase == samples.phase;
        let points = repetition.points.iter().filter(of_step).filter_map(|point| Some((point, rate(point)?)));
        let points: Vec<(&Point, (f64, &str))> = points.collect();
        let unit = points.first().map_or("", |(_, (_, unit))| *unit);
        let step = |(point, (rate, _)): &(&Point, (f64, &str))| {
            (point.started_seconds, point.started_seconds + point.seconds, *rate)
        };
        let mut steps: Vec<(f64, f64, f64)> =
            points.iter().filter(|(_, (_, other))| *other == unit).map(step).collect();
        steps.sort_by(|one, other| one.0.total_cmp(&other.0));
        (unit, steps)
    } else {
        // The last second may not be whole.
        let whole = &seconds[..seconds.len() - 1];
        let step = |(second, count): (usize, &u64)| (second as f64, second as f64 + 1.0, *count as f64);
        ("answers a second", whole.iter().enumerate().map(step).collect())
    };
    let inside = |(from, to, _): &(f64, f64, f64)| *to > span.0 && *from < span.1;
    let series =
        Series { name: unit.to_owned(), tone: INK, variant: 0, steps: steps.into_iter().filter(inside).collect() };
    let (title, kind) =
        if unit == ACCESSES { ("Delivered (logarithmic)", Kind::Log) } else { ("Delivered", Kind::FromZero) };
    strip(Axis::new(title, kind), vec![series])
}

/// Strips of so many lines that each has its name.
fn strips(axis: &Axis, mark: Option<f64>, shape: Shape, samples: &Samples, all: Vec<(&str, Series)>) -> Vec<Strip> {
    let mut all = all;
    all.retain(|(_, series)| series.summary().is_some());
    let strip = |part: &[(&str, Series)]| {
        let gaps = samples.gaps.iter().filter(|gap| part.iter().any(|(source, _)| *source == gap.source));
        let gap = |gap: &SampleGap| Gap {
            from: gap.from_seconds,
            to: gap.to_seconds,
            reason: format!("Not known: {}", plain(&gap.reason)),
        };
        let series = part.iter().map(|(_, series)| series.clone()).collect();
        Strip { axis: axis.clone(), shape, mark, series, gaps: gaps.map(gap).collect() }
    };
    let most = if shape == Shape::Stack { all.len().max(1) } else { NAMED_AT_MOST };
    all.chunks(most).map(strip).collect()
}

/// Whose a column is, and its course.
fn by_source(all: Vec<(&SampleColumn, Series)>) -> Vec<(&str, Series)> {
    all.into_iter().map(|(column, series)| (column.source.as_str(), series)).collect()
}

fn used(samples: &Samples, uses: &[Use]) -> Vec<Strip> {
    let all = uses.iter().map(|one| (one.source.as_str(), one.series.clone())).collect();
    strips(&Axis::new("Used, % of the ceiling", Kind::FromZero), Some(100.0), Shape::Lines, samples, all)
}

fn machine(samples: &Samples, uses: &[Use]) -> Vec<Strip> {
    let all = by_source(sampled::percentages(samples, uses));
    strips(&Axis::new("Other shares, %", Kind::FromZero), Some(100.0), Shape::Lines, samples, all)
}

/// Sessions by what they did or waited for. A reason that is seldom known would leave no time in which all are, and one that
/// hardly occurs could not be seen: they are no part of the stack, and stand among the numbers.
fn waited(samples: &Samples) -> Vec<Strip> {
    let mut all = by_source(sampled::sessions(samples));
    let known = |series: &Series| series.steps.iter().filter(|(.., value)| value.is_finite()).count();
    let most = all.iter().map(|(_, series)| known(series)).max().unwrap_or(0);
    all.retain(|(_, series)| known(series) * 2 > most);
    let highest = |series: &Series| series.summary().map_or(0.0, |(.., highest)| highest);
    let least = all.iter().map(|(_, series)| highest(series)).fold(0.0, f64::max) * LEAST_PART;
    all.retain(|(_, series)| highest(series) >= least);
    let axis = Axis::new("Sessions on the CPU, or waiting for", Kind::FromZero);
    strips(&axis, None, Shape::Stack, samples, all)
}

fn lasted(samples: &Samples) -> Vec<Strip> {
    let all = by_source(sampled::latencies(samples));
    strips(&Axis::new("Latency, ms (logarithmic)", Kind::Log), None, Shape::Lines, samples, all)
}

fn others(samples: &Samples) -> Vec<Strip> {
    let strips_of = |(unit, all): (&str, Vec<(&str, Series)>)| {
        strips(&Axis::new(plain(unit), Kind::FromZero), None, Shape::Lines, samples, all)
    };
    sampled::others(samples).into_iter().flat_map(strips_of).collect()
}

/// What a line is where it can't show every sample.
fn coarseness(samples: &Samples, (from, to): (f64, f64), pieces: usize) -> Markup {
    if samples.seconds.len() <= pieces {
        return Markup::default();
    }
    let length = words::quantity((to - from) / pieces as f64, "s");
    html! { p.quiet { "Lines are means of about " (length) "; the shade behind them goes from the lowest to the highest sample." } }
}

/// What 100 % of a use is, and who says so.
fn hundred(one: &Use) -> String {
    one.ceiling.as_ref().map_or_else(|| format!("by {}", one.said_by), |ceiling| format!("{ceiling} ({})", one.said_by))
}

/// What the lines are held against, and what was not known.
fn notes(samples: &Samples, uses: &[Use]) -> Markup {
    let shown: Vec<&Use> = uses.iter().filter(|one| one.series.summary().is_some()).collect();
    let gaps = samples.gaps.iter().take(MOST_GAPS);
    html! {
        @if !shown.is_empty() {
            p.quiet {
                "100 % is: "
                @for (at, one) in shown.iter().enumerate() { @if at > 0 { "; " } (one.series.name) " " (hundred(one)) } "."
            }
        }
        @for gap in gaps {
            p.quiet {
                "Hatched: " (plain(&gap.source)) " not known from " (evidence::moment_in(gap.from_seconds)) " to "
                (evidence::moment_in(gap.to_seconds)) ": " (plain(&gap.reason)) "."
            }
        }
        @if samples.gaps.len() > MOST_GAPS { p.quiet { "And " (words::count(samples.gaps.len() - MOST_GAPS, "gap")) " more." } }
    }
}
