//! Looks at a phase once a second while it goes on. It keeps what a person sees of it, percentiles of each second, and
//! a point for every minute that is over, which is kept at once.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use plimsoll_measurement::event::{Second, repetition_head};
use plimsoll_measurement::{LatencyHistogram, Metric, Moment, Point, Repetition};

use crate::phases::Phase;
use crate::recorder::{Recorder, Sums};
use crate::schedule::{Rate, Schedule};

/// How often it looks.
pub const LOOK_EVERY: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_mins(1);
/// Looks after which what is there so far is kept, if a minute is not over.
const KEPT_EVERY: usize = 10;

/// A phase that is looked at.
pub struct Monitor<'a> {
    phase: &'a Phase,
    recorders: &'a [Mutex<Recorder>],
    schedule: Option<&'a Schedule>,
    /// Start of the repetition's first phase.
    repetition_start: Moment,
    start: Moment,
    last: Moment,
    seen: Sums,
    minute: Minute,
    /// Percentiles of each second so far, in microseconds: half of the times, and 99 of 100.
    pub percentiles: Vec<(Option<f64>, Option<f64>)>,
}

struct Minute {
    number: u32,
    start: Moment,
    sums: Sums,
    times: LatencyHistogram,
}

impl<'a> Monitor<'a> {
    /// A phase that begins at `start`.
    pub fn new(
        phase: &'a Phase,
        recorders: &'a [Mutex<Recorder>],
        schedule: Option<&'a Schedule>,
        (repetition_start, start): (Moment, Moment),
    ) -> Self {
        let minute = Minute { number: 1, start, sums: Sums::default(), times: LatencyHistogram::new() };
        let (last, seen, percentiles) = (start, Sums::default(), Vec::new());
        Self { phase, recorders, schedule, repetition_start, start, last, seen, minute, percentiles }
    }

    /// Data content of what was answered so far.
    pub fn content_bytes(&self) -> u64 {
        self.seen.amount.content_bytes
    }

    /// Looks, at the end of a second. The point is there when a minute is over, or `is_over` the whole phase.
    pub fn look(&mut self, now: Moment, is_over: bool) -> (Second, Option<Point>) {
        let (mut sums, mut recent) = (Sums::default(), LatencyHistogram::new());
        for recorder in self.recorders {
            let mut recorder = recorder.lock().unwrap_or_else(PoisonError::into_inner);
            sums = sums.plus(recorder.sums());
            recorder.take_recent(&mut recent);
        }
        let news = sums.since(self.seen);
        let us = |percent| recent.percentile(percent).map(microseconds);
        let passed = now.since(self.last).as_secs_f64();
        let second = (now.since(self.start).as_secs_f64().ceil() as usize).max(1);
        if self.percentiles.len() < second {
            self.percentiles.resize(second, (None, None));
            self.percentiles[second - 1] = (us(50.0), us(99.0));
        }
        let seen = Second {
            second: self.last.since(self.repetition_start).as_secs() as u32,
            phase: self.phase.label.clone().unwrap_or_default(),
            elapsed_seconds: now.since(self.start).as_secs_f64(),
            operations: news.answered,
            rows_examined: news.amount.rows_examined,
            rows: news.amount.rows,
            content_bytes: news.amount.content_bytes,
            errors: news.failed,
            errors_so_far: sums.failed,
            rate: if passed > 0.0 { news.answered as f64 / passed } else { 0.0 },
            latency_us_p50: us(50.0),
            latency_us_p99: us(99.0),
            backlog: self.schedule.map(|schedule| schedule.backlog(now)),
            ..Second::default()
        };
        (self.seen, self.last) = (sums, now);
        self.minute.times.merge(&recent);
        let minute_is_over = now.since(self.minute.start) >= MINUTE;
        let point = (minute_is_over || is_over).then(|| self.minute(now)).flatten();
        (seen, point)
    }

    /// True where what is there so far should be kept.
    pub fn is_to_be_kept(&self) -> bool {
        self.percentiles.len().is_multiple_of(KEPT_EVERY)
    }

    /// The repetition as it stands, with the requests of this phase, without what has events of its own.
    pub fn so_far(&self, kinds: &[String], repetition: &Repetition) -> Repetition {
        let mut sum =
            Recorder::new(self.repetition_start, Moment::from_nanos(u64::MAX), kinds, self.schedule.is_some());
        for recorder in self.recorders {
            sum.merge_answers(&recorder.lock().unwrap_or_else(PoisonError::into_inner));
        }
        Repetition { requests: sum.kinds(), ..repetition_head(repetition) }
    }

    /// The minute that is over, as a point; the next begins.
    fn minute(&mut self, now: Moment) -> Option<Point> {
        let lasted = now.since(self.minute.start);
        // What is left over behind the last minute is no minute.
        if lasted.is_zero() || (lasted < LOOK_EVERY && self.minute.number > 1) {
            return None;
        }
        let seconds = lasted.as_secs_f64();
        let sums = self.seen.since(self.minute.sums);
        let number = self.minute.number;
        let phase = self.phase.label.as_ref().map_or_else(String::new, |label| format!("{label}, "));
        let label = format!("{phase}minute {number}");
        let us = |percent| self.minute.times.percentile(percent).map(microseconds);
        let point = Point {
            label: Some(label),
            started_seconds: self.minute.start.since(self.repetition_start).as_secs_f64(),
            seconds,
            ..Point::default()
        }
        .with(Metric::Rows, sums.amount.rows)
        .with_content(sums.amount.content_bytes)
        .with(Metric::Operations, sums.answered)
        .with(Metric::Errors, sums.failed)
        .with(Metric::Sessions, self.phase.sessions)
        .with(Metric::AskedPerSecond, self.phase.rate.map(Rate::mean))
        .with(Metric::LatencyUsP50, us(50.0))
        .with(Metric::LatencyUsP99, us(99.0));
        self.minute = Minute { number: number + 1, start: now, sums: self.seen, times: LatencyHistogram::new() };
        Some(point)
    }
}

fn microseconds(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e3
}
