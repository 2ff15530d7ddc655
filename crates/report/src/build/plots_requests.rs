//! Charts of requests over time (how many, how fast, how many failed) and their response times as a distribution.

use std::collections::BTreeSet;

use plimsoll_measurement::{LatencyHistogramData, RunRecord};

use super::kinds::by_kind;
use super::plots::by_repetition;
use crate::model::format::{number, plain};
use crate::model::{Axis, Kind, Line, Look, Picture, Spot};

/// A chart over time has about so many points of a repetition at most.
const MOST_POINTS: usize = 400;

/// Lengths of a part of the time that people are used to, in seconds.
const LENGTHS: [usize; 10] = [1, 2, 5, 10, 15, 20, 30, 60, 120, 300];

/// Runs that are longer have an axis in minutes.
const LONGEST_IN_SECONDS: usize = 300;

/// More lines of kinds of requests are drawn as one kind.
const MOST_KIND_LINES: usize = 6;

/// More lines of errors are drawn as one for each class.
const MOST_ERROR_LINES: usize = 6;

/// How the time of the longest repetition is divided for a chart.
#[derive(Clone, Copy)]
struct Timeline {
    /// Seconds that make one point.
    width: usize,
    in_minutes: bool,
}

impl Timeline {
    fn of(record: &RunRecord) -> Option<Self> {
        let longest = record.repetitions.iter().map(|repetition| repetition.seconds.operations.len()).max()?;
        let least = longest.div_ceil(MOST_POINTS);
        let width = LENGTHS.into_iter().find(|length| *length >= least).unwrap_or(least);
        Some(Self { width, in_minutes: longest > LONGEST_IN_SECONDS })
    }

    fn axis(self) -> Axis {
        Axis::new(if self.in_minutes { "Time, min" } else { "Time, s" }, Kind::Elapsed)
    }

    /// A point for the part that begins at this second, at its middle.
    fn spot(self, second: usize, y: f64) -> Spot {
        let middle = second as f64 + self.width as f64 / 2.0;
        let (minute, rest) = (second / 60, second % 60);
        let label = if self.in_minutes { format!("at {minute}:{rest:02} min") } else { format!("second {second}") };
        Spot { x: if self.in_minutes { middle / 60.0 } else { middle }, y, label, ..Spot::default() }
    }

    /// Counts of seconds as counts a second of each whole part.
    fn rates(self, counts: &[u64]) -> Vec<Spot> {
        let parts = counts.chunks_exact(self.width).enumerate();
        let rate = |part: &[u64]| part.iter().map(|count| *count as f64).sum::<f64>() / self.width as f64;
        parts.map(|(at, part)| self.spot(at * self.width, rate(part))).collect()
    }

    /// Values of seconds, those of a part made one; a gap where no second of it has a value.
    fn values(self, values: &[Option<f64>], one_of: impl Fn(&[f64]) -> f64) -> Vec<Spot> {
        let part = |(at, part): (usize, &[Option<f64>])| {
            let known: Vec<f64> = part.iter().copied().flatten().filter(|value| value.is_finite()).collect();
            self.spot(at * self.width, if known.is_empty() { f64::NAN } else { one_of(&known) })
        };
        values.chunks(self.width).enumerate().map(part).collect()
    }
}

/// A column of microseconds for people, without the last second.
fn milliseconds(column: &[Option<f64>]) -> Vec<Option<f64>> {
    whole(column).iter().map(|us| us.map(|us| us / 1e3)).collect()
}

/// The seconds of a repetition that are whole: the last may not be.
fn whole<T>(column: &[T]) -> &[T] {
    &column[..column.len().saturating_sub(1)]
}

/// A line needs no repetition in its name where there is one.
const fn is_single(record: &RunRecord) -> bool {
    record.repetitions.len() == 1
}

const fn in_every(record: &RunRecord) -> &'static str {
    if is_single(record) { "" } else { " in every repetition" }
}

/// Requests a second over the time, all repetitions overlaid.
pub fn rate(record: &RunRecord) -> Option<Picture> {
    let time = Timeline::of(record)?;
    let mean = if time.width > 1 { format!(", means of {} s", time.width) } else { String::new() };
    over_time(
        format!("Requests a second{}{mean}", in_every(record)),
        time,
        Axis::new("Requests a second", Kind::FromZero),
        by_repetition(record, |repetition| time.rates(whole(&repetition.seconds.operations))),
    )
}

/// The median and the 99th percentile of each second's response times over the time, all repetitions overlaid.
pub fn latency(record: &RunRecord) -> Option<Picture> {
    let time = Timeline::of(record)?;
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let worst = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
    let mut lines = Vec::new();
    for (at, repetition) in record.repetitions.iter().enumerate() {
        let seconds = &repetition.seconds;
        let label = if is_single(record) { String::new() } else { format!(", {}", plain(&repetition.label)) };
        let high = time.values(&milliseconds(&seconds.latency_us_p99), worst);
        let half = time.values(&milliseconds(&seconds.latency_us_p50), mean);
        lines.push(Line { name: format!("p99{label}"), look: Look::Member(1, at), spots: high });
        lines.push(Line { name: format!("p50{label}"), look: Look::Member(0, at), spots: half });
    }
    let how = match time.width {
        1 => String::new(),
        width => format!("; of {width} s each, the mean p50 and the worst p99"),
    };
    over_time(
        format!("Response times by second{}{how}", in_every(record)),
        time,
        Axis::new("Milliseconds (logarithmic)", Kind::Log),
        lines,
    )
}

/// Failed requests a second over the time, by class and repetition; nothing if none failed.
pub fn errors(record: &RunRecord) -> Option<Picture> {
    let time = Timeline::of(record)?;
    let classes: BTreeSet<&String> = record.repetitions.iter().flat_map(|r| r.seconds.errors_by_class.keys()).collect();
    let mut lines: Vec<Line> = Vec::new();
    for (family, class) in classes.iter().enumerate() {
        for (member, repetition) in record.repetitions.iter().enumerate() {
            let Some(counts) = repetition.seconds.errors_by_class.get(*class) else { continue };
            if counts.iter().all(|count| *count == 0) {
                continue;
            }
            // Seconds after the last error of a class had none.
            let mut counts = counts.clone();
            counts.resize(counts.len().max(repetition.seconds.operations.len()).next_multiple_of(time.width), 0);
            let name = format!("{}, {}", plain(class), plain(&repetition.label));
            lines.push(Line { name, look: Look::Member(family, member), spots: time.rates(&counts) });
        }
    }
    let title = if lines.len() > MOST_ERROR_LINES {
        lines = summed(record, &classes, time);
        "Failed requests a second, by class over all repetitions"
    } else {
        "Failed requests a second, by class and repetition"
    };
    over_time(title.to_owned(), time, Axis::new("Failed requests a second", Kind::FromZero), lines)
}

/// A line for each class of errors, over all repetitions.
fn summed(record: &RunRecord, classes: &BTreeSet<&String>, time: Timeline) -> Vec<Line> {
    let longest = record.repetitions.iter().map(|repetition| repetition.seconds.operations.len()).max().unwrap_or(0);
    let line = |(family, class): (usize, &&String)| {
        let of_class = || record.repetitions.iter().filter_map(|r| r.seconds.errors_by_class.get(*class));
        let counts_in = |second: usize| of_class().filter_map(move |counts| counts.get(second).copied());
        let sum = |second: usize| counts_in(second).fold(0, u64::saturating_add);
        let counts: Vec<u64> = (0..longest.next_multiple_of(time.width)).map(sum).collect();
        Line { name: plain(class), look: Look::Measured(family), spots: time.rates(&counts) }
    };
    classes.iter().enumerate().map(line).collect()
}

/// A chart over time; nothing where no line has two points, for a point has no course.
fn over_time(title: String, time: Timeline, y: Axis, mut lines: Vec<Line>) -> Option<Picture> {
    let known = |line: &Line| line.spots.iter().filter(|spot| spot.y.is_finite()).count();
    lines.retain(|line| known(line) > 0);
    if lines.iter().all(|line| known(line) < 2) {
        return None;
    }
    Some(Picture::lines(title, time.axis(), y, lines))
}

/// Response times as a distribution over all repetitions: how long so many percent of the requests took at most. By kind
/// if these are few, and from the intended and the real start where the two are known.
pub fn distribution(record: &RunRecord) -> Picture {
    let kinds = by_kind(record);
    let with_real = kinds.iter().filter(|kind| kind.times_uncorrected.is_some()).count();
    let few = kinds.len() + with_real <= MOST_KIND_LINES;
    let mut lines = Vec::new();
    let mut draw = |name: &str, family: usize, times: &LatencyHistogramData, real: Option<&LatencyHistogramData>| {
        let start = if real.is_some() { ", intended start" } else { "" };
        lines.push(Line { name: format!("{name}{start}"), look: Look::Member(family, 0), spots: curve(times) });
        if let Some(real) = real {
            let name = format!("{name}, real start");
            lines.push(Line { name, look: Look::Member(family, 1), spots: curve(real) });
        }
    };
    if few {
        for (family, kind) in kinds.iter().enumerate() {
            draw(&plain(&kind.kind), family, &kind.times, kind.times_uncorrected.as_ref());
        }
    } else {
        let times = LatencyHistogramData::merged(kinds.iter().map(|kind| &kind.times));
        let real = (with_real > 0)
            .then(|| LatencyHistogramData::merged(kinds.iter().filter_map(|kind| kind.times_uncorrected.as_ref())));
        draw("all kinds", 0, &times, real.as_ref());
    }
    lines.retain(|line| line.spots.len() > 1);
    let title = "Response times as a distribution: what so many percent of the requests did not exceed";
    let x = Axis::new("Percent of the requests", Kind::Tail);
    Picture::lines(title, x, Axis::new("Milliseconds (logarithmic)", Kind::Log), lines)
}

/// The times by the share of requests that did not exceed them, as one in how many did.
fn curve(times: &LatencyHistogramData) -> Vec<Spot> {
    let mut seen: u64 = 0;
    let mut spots = Vec::new();
    for (end_us, count) in &times.buckets {
        // The longest has none beyond it: it stands where one of all would be.
        let beyond = times.count.saturating_sub(seen).max(1);
        let of_all = times.count as f64 / beyond as f64;
        let percent = number(100.0 - 100.0 / of_all).unwrap_or_default();
        let label = format!("{percent} %");
        spots.push(Spot { x: of_all, y: end_us / 1e3, label, ..Spot::default() });
        seen = count.saturating_add(seen);
    }
    if let Some((end_us, _)) = times.buckets.last() {
        let label = "longest".to_owned();
        spots.push(Spot { x: times.count as f64, y: end_us / 1e3, label, ..Spot::default() });
    }
    spots
}
