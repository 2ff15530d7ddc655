//! Panels over time, below each other. They show what was delivered, how far resources were used, what sessions waited
//! for and how long reads and writes took, with the limit that bound above them.

use plimsoll_measurement::{Metric, Point, Repetition, RunRecord, SampleColumn, SampleGap, Samples, Segment};

use super::facts::point_rate;
use super::sampled::{self, Use};
use super::words;
use crate::model::format::{self, count, plain, quantity, seconds, title};
use crate::model::{Axis, Band, Column, Gap, INK, Kind, Panel, Picture, Series, Shape, Strip};

/// Courses are drawn in about so many pieces over the whole page at most, so that many repetitions stay readable by a browser.
const PIECES: usize = 40_000;

/// A course has about as many pieces as this at most, and at least the second.
const FINEST: usize = 120;
const COARSEST: usize = 50;

/// So many lines of a strip can have their names beside them.
const NAMED_AT_MOST: usize = 9;

/// More reasons of gaps than this are not written below a panel.
const MOST_GAPS: usize = 4;

/// What is never more than this part of the largest could not be seen on top of it.
const LEAST_PART: f64 = 0.005;

/// The panels of a run, of each step of each repetition that was watched: what was delivered, used and waited for.
pub fn panels(record: &RunRecord) -> Vec<Picture> {
    let part = |repetition: &Repetition, samples: &Samples, span: (f64, f64)| {
        let uses = sampled::utilisation(record, samples);
        let used = uses.iter().map(|one| (one.source.as_str(), one.series.clone())).collect();
        let shares = |title, all| strips(&Axis::new(title, Kind::FromZero), Some(100.0), Shape::Lines, samples, all);
        let latency = Axis::new("Latency, ms (logarithmic)", Kind::Log);
        let strips = [
            vec![delivered(repetition, samples, span)],
            shares("Used, % of the ceiling", used),
            shares("Other shares, %", by_source(sampled::percentages(samples, &uses))),
            waited(samples),
            strips(&latency, None, Shape::Lines, samples, by_source(sampled::latencies(samples))),
        ];
        let mut notes: Vec<String> = coarseness(samples, span, pieces(record)).into_iter().collect();
        notes.extend(hundreds(&uses));
        notes.extend(hatched(samples));
        ("What was delivered, used and waited for", strips.into_iter().flatten().collect(), notes)
    };
    of_all(record, part)
}

/// All else that was sampled.
pub fn rest(record: &RunRecord) -> Vec<Picture> {
    of_all(record, |_, samples, _| ("What else was sampled", others(samples), Vec::new()))
}

type Content = (&'static str, Vec<Strip>, Vec<String>);

fn of_all(record: &RunRecord, content: impl Fn(&Repetition, &Samples, (f64, f64)) -> Content) -> Vec<Picture> {
    let all = record.repetitions.iter().flat_map(|one| one.samples.iter().map(move |samples| (one, samples)));
    let panel = |(repetition, samples): (&Repetition, &Samples)| {
        let span = span(samples)?;
        let (title, strips, notes) = content(repetition, samples, span);
        Some(Picture::Strips(Panel {
            title: format!("{title}{}", whose(record, repetition, samples)),
            span,
            bands: bands(record, repetition, samples, span),
            bands_title: "Bottleneck".to_owned(),
            strips,
            pieces: pieces(record),
            notes,
        }))
    };
    all.filter_map(panel).collect()
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

/// The verdicts of the repetition's segmentes. Where none has one of its own, that of the run holds for all of it.
fn bands(record: &RunRecord, repetition: &Repetition, samples: &Samples, span: (f64, f64)) -> Vec<Band> {
    let verdict = &record.verdict;
    if verdict.segments.is_empty() && words::bottleneck(verdict).is_some() {
        let used = verdict.utilisation_percent;
        return vec![band(span, verdict.limit.as_deref(), &verdict.also, used, &verdict.evidence)];
    }
    // A segment may be of a phase of requests, which are all of one step.
    let of_step = |segment: &&Segment| {
        segment.repetition == repetition.label && (samples.phase.is_none() || segment.phase == samples.phase)
    };
    let band = |segment: &Segment| {
        let between = (segment.from_seconds, segment.to_seconds);
        band(between, segment.limit.as_deref(), &segment.also, segment.utilisation_percent, &segment.evidence)
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
    let said = words::limits_used(limit, also, used.filter(|_| limit.is_some()).and_then(words::used));
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

/// The owner of a column, and its course.
fn by_source(all: Vec<(&SampleColumn, Series)>) -> Vec<(&str, Series)> {
    all.into_iter().map(|(column, series)| (column.source.as_str(), series)).collect()
}

/// Sessions by what they did or waited for. A reason that is seldom known would leave no time in which all are, and one
/// that hardly occurs could not be seen. They are no part of the stack, and stand among the numbers.
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

fn others(samples: &Samples) -> Vec<Strip> {
    let strips_of = |(unit, all): (&str, Vec<(&str, Series)>)| {
        strips(&Axis::new(plain(unit), Kind::FromZero), None, Shape::Lines, samples, all)
    };
    sampled::others(samples).into_iter().flat_map(strips_of).collect()
}

/// What a line is where it can't show every sample.
fn coarseness(samples: &Samples, (from, to): (f64, f64), pieces: usize) -> Option<String> {
    let length = quantity((to - from) / pieces as f64, "s");
    (samples.seconds.len() > pieces).then(|| {
        format!("Lines are means of about {length}; the shade behind them goes from the lowest to the highest sample.")
    })
}

/// What 100 % of each use is, and from which source.
fn hundreds(uses: &[Use]) -> Option<String> {
    let hundred = |one: &Use| match &one.ceiling {
        Some(ceiling) => format!("{} {} ({})", one.series.name, format::cell(ceiling, &Column::default()), one.said_by),
        None => format!("{} by {}", one.series.name, one.said_by),
    };
    let shown: Vec<String> = uses.iter().filter(|one| one.series.summary().is_some()).map(hundred).collect();
    (!shown.is_empty()).then(|| format!("100 % is: {}.", shown.join("; ")))
}

/// What was not known, and when.
fn hatched(samples: &Samples) -> Vec<String> {
    let gap = |gap: &SampleGap| {
        let (from, to) = (seconds(gap.from_seconds), seconds(gap.to_seconds));
        format!("Hatched: {} not known from {from} to {to}: {}.", plain(&gap.source), plain(&gap.reason))
    };
    let more = samples.gaps.len().saturating_sub(MOST_GAPS);
    let more = (more > 0).then(|| format!("And {} more.", count(more, "gap")));
    samples.gaps.iter().take(MOST_GAPS).map(gap).chain(more).collect()
}
