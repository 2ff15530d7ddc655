//! Which series a repetition has: the seconds of its requests, or the rates of its points.

use plimsoll_measurement::{Phase, Point, Repetition};

use crate::build::facts::point_rate;
use crate::build::order::distinct;

/// Seconds with fewer requests are taken together: what is counted by ones goes up and down by itself.
const LEAST_COUNT: f64 = 10.0;

/// A series with more gaps than this share is none.
const MOST_GAPS: f64 = 0.1;

/// Values that follow each other in time.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Series {
    pub repetition: String,
    pub phase: Option<String>,
    pub metric: &'static str,
    pub unit: &'static str,
    pub spots: Vec<Spot>,
}

/// A value and when it was measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spot {
    pub started_seconds: f64,
    pub seconds: f64,
    pub value: f64,
}

impl Series {
    pub fn values(&self) -> Vec<f64> {
        self.spots.iter().map(|spot| spot.value).collect()
    }

    /// When the value of this index began.
    pub fn starts_at(&self, index: usize) -> f64 {
        let end = || self.ends_before(self.spots.len());
        self.spots.get(index).map_or_else(end, |spot| spot.started_seconds)
    }

    /// When the value before this index ended.
    pub fn ends_before(&self, index: usize) -> f64 {
        let last = index.checked_sub(1).and_then(|last| self.spots.get(last));
        last.map_or(0.0, |spot| spot.started_seconds + spot.seconds)
    }
}

/// The series of a repetition: of requests each phase by the second, else each step by its points.
pub(super) fn of_repetition(repetition: &Repetition) -> Vec<Series> {
    if repetition.seconds.is_empty() { of_points(repetition) } else { of_seconds(repetition) }
}

fn of_seconds(repetition: &Repetition) -> Vec<Series> {
    // The last second is seldom a whole one.
    let whole = repetition.seconds.operations.len().saturating_sub(1);
    let phases: Vec<&Phase> = repetition.phases.iter().filter(|phase| phase.seconds > 0.0).collect();
    let series = |phase: Option<&Phase>, from: usize, to: usize| Series {
        repetition: repetition.label.clone(),
        phase: phase.filter(|_| phases.len() > 1).map(|phase| phase.label.clone()),
        metric: "",
        unit: "",
        spots: (from..to).map(|second| Spot { started_seconds: second as f64, seconds: 1.0, value: 0.0 }).collect(),
    };
    let spans: Vec<(Option<&Phase>, usize, usize)> = if phases.is_empty() {
        vec![(None, 0, whole)]
    } else {
        let span = |phase: &&Phase| {
            let (from, to) = (phase.started_seconds, phase.started_seconds + phase.seconds);
            // A second on the border of two phases belongs to neither.
            (from.ceil().max(0.0) as usize, (to.floor().max(0.0) as usize).min(whole))
        };
        phases.iter().map(|phase| (Some(*phase), span(phase).0, span(phase).1)).collect()
    };
    let measured = spans.into_iter().filter(|(_, from, to)| to > from).map(|(phase, from, to)| {
        let frame = series(phase, from, to);
        match phase {
            // A rate that was asked for says nothing of the target; its response times do.
            Some(phase) if phase.rate_asked.is_some() => latencies(frame, &repetition.seconds.latency_us_p50),
            Some(phase) if phase.batch_rows.is_some() => {
                let bytes = &repetition.seconds.content_bytes;
                let by_seconds = counts(frame, &repetition.seconds.operations, bytes)?;
                let mb_per_minute = 60.0 / plimsoll_measurement::units::MB as f64;
                let spots = by_seconds.spots.iter().map(|spot| Spot { value: spot.value * mb_per_minute, ..*spot });
                Some(Series { metric: "rate", unit: "MB/min", spots: spots.collect(), ..by_seconds })
            }
            _ => {
                let operations = &repetition.seconds.operations;
                let by_seconds = counts(frame, operations, operations)?;
                Some(Series { metric: "request_rate", unit: "1/s", ..by_seconds })
            }
        }
    });
    measured.flatten().collect()
}

/// Amounts a second, over as many seconds at a time as have enough requests on average. Seconds without an answer are zeros:
/// that is what happened in them.
fn counts(frame: Series, operations: &[u64], amounts: &[u64]) -> Option<Series> {
    let (first, seconds) = (frame.spots.first()?.started_seconds as usize, frame.spots.len());
    let own = operations.get(first..first.checked_add(seconds)?)?;
    let amounts = amounts.get(first..first + seconds)?;
    let mean = total(own) / seconds as f64;
    let width = if mean > 0.0 { (LEAST_COUNT / mean).ceil().max(1.0) as usize } else { return None };
    let spots = amounts.chunks_exact(width).enumerate().map(|(at, part)| Spot {
        started_seconds: (first + at * width) as f64,
        seconds: width as f64,
        value: total(part) / width as f64,
    });
    Some(Series { spots: spots.collect(), ..frame })
}

/// The sum as a figure: counts from a file may be larger than any counter.
fn total(counts: &[u64]) -> f64 {
    counts.iter().map(|count| *count as f64).sum()
}

/// Median response times by second; seconds without an answer are passed over, and with many of them there is no series.
fn latencies(frame: Series, p50_us: &[Option<f64>]) -> Option<Series> {
    let known = |spot: &Spot| {
        let value = p50_us.get(spot.started_seconds as usize).copied().flatten()? / 1e3;
        value.is_finite().then_some(Spot { value, ..*spot })
    };
    let spots: Vec<Spot> = frame.spots.iter().filter_map(known).collect();
    let gaps = frame.spots.len() - spots.len();
    (gaps as f64 <= MOST_GAPS * frame.spots.len() as f64).then_some(Series {
        metric: "latency_p50",
        unit: "ms",
        spots,
        ..frame
    })
}

fn of_points(repetition: &Repetition) -> Vec<Series> {
    let phases = distinct(repetition.points.iter().map(|point| point.phase.as_deref()));
    let series = |phase: Option<&str>| {
        let own = repetition.points.iter().filter(|point| point.phase.as_deref() == phase);
        let mut spots: Vec<Spot> = own.filter_map(spot).collect();
        spots.sort_by(|a, b| a.started_seconds.total_cmp(&b.started_seconds));
        if overlap(&spots) {
            // Several sessions at a time: what they did together stands in the minutes.
            spots = if phases.len() == 1 { by_minute(repetition) } else { Vec::new() };
        }
        Series {
            repetition: repetition.label.clone(),
            phase: phase.filter(|_| phases.len() > 1).map(str::to_owned),
            metric: "rate",
            unit: "MB/min",
            spots,
        }
    };
    phases.iter().copied().map(series).collect()
}

fn spot(point: &Point) -> Option<Spot> {
    let is_timed = point.started_seconds.is_finite() && point.seconds.is_finite() && point.seconds > 0.0;
    let value = point_rate(point).filter(|_| is_timed)?;
    Some(Spot { started_seconds: point.started_seconds, seconds: point.seconds, value })
}

/// True if a point begins before the one before it is half over; clocks may be a little off.
fn overlap(spots: &[Spot]) -> bool {
    spots.windows(2).any(|pair| pair[1].started_seconds < pair[0].started_seconds + pair[0].seconds / 2.0)
}

/// Minutes of which at least a half was measured.
fn by_minute(repetition: &Repetition) -> Vec<Spot> {
    let whole = repetition.minutes.iter().filter(|minute| minute.seconds >= 30.0);
    let spot = |minute: &plimsoll_measurement::Minute| Spot {
        started_seconds: f64::from(minute.minute) * 60.0,
        seconds: minute.seconds,
        value: minute.mb_per_minute,
    };
    whole.map(spot).filter(|spot| spot.value.is_finite()).collect()
}
