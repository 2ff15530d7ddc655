//! Looks at a phase while it goes on, once a second: what a person sees of it, percentiles of each second, and a point for
//! every minute that is over, which is kept at once.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use plimsoll_measurement::event::{Second, repetition_head};
use plimsoll_measurement::{Moment, Point, Repetition, Times, units};

use super::phases::Phase;
use super::recorder::{Recorder, Sums};
use super::schedule::Schedule;
use super::worker::{Shared, State};

/// How often it looks.
pub const LOOK_EVERY: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_mins(1);
/// Looks after which what is there so far is kept, if a minute is not over.
const KEPT_EVERY: usize = 10;

/// A phase that is looked at.
pub struct Watch<'a> {
    phase: &'a Phase,
    recorders: &'a [Mutex<Recorder>],
    schedule: Option<&'a Schedule>,
    state: &'a State,
    /// Start of the repetition's first phase.
    repetition_start: Moment,
    start: Moment,
    last: Moment,
    seen: Sums,
    minute: Minute,
    /// Percentiles of each second so far, in milliseconds: half of the times, and 99 of 100.
    pub percentiles: Vec<(Option<f64>, Option<f64>)>,
}

/// A minute that is not over yet.
struct Minute {
    number: u32,
    start: Moment,
    sums: Sums,
    times: Times,
}

impl<'a> Watch<'a> {
    /// A phase that begins at `start`.
    pub fn new(
        phase: &'a Phase,
        recorders: &'a [Mutex<Recorder>],
        schedule: Option<&'a Schedule>,
        state: &'a State,
        (repetition_start, start): (Moment, Moment),
    ) -> Self {
        let minute = Minute { number: 1, start, sums: Sums::default(), times: Times::new() };
        let (last, seen, percentiles) = (start, Sums::default(), Vec::new());
        Self { phase, recorders, schedule, state, repetition_start, start, last, seen, minute, percentiles }
    }

    /// Data content of what was answered so far.
    pub fn content_bytes(&self) -> u64 {
        self.seen.content_bytes
    }

    /// Looks, at the end of a second. The point is there when a minute is over, or `is_over` the whole phase.
    pub fn look(&mut self, now: Moment, is_over: bool) -> (Second, Option<Point>) {
        let (mut sums, mut recent) = (Sums::default(), Times::new());
        for recorder in self.recorders {
            let mut recorder = recorder.lock().unwrap_or_else(PoisonError::into_inner);
            sums = sums.plus(recorder.sums());
            recorder.take_recent(&mut recent);
        }
        let news = sums.since(self.seen);
        let ms = |percent| recent.percentile(percent).map(milliseconds);
        let passed = now.since(self.last).as_secs_f64();
        let second = (now.since(self.start).as_secs_f64().ceil() as usize).max(1);
        if self.percentiles.len() < second {
            self.percentiles.resize(second, (None, None));
            self.percentiles[second - 1] = (ms(50.0), ms(99.0));
        }
        let seen = Second {
            second: self.last.since(self.repetition_start).as_secs() as u32,
            phase: if self.phase.label == "all" { String::new() } else { self.phase.label.clone() },
            elapsed_seconds: now.since(self.start).as_secs_f64(),
            operations: news.answered,
            rows_examined: news.rows_examined,
            rows: news.rows,
            content_bytes: news.content_bytes,
            errors: news.failed,
            errors_so_far: sums.failed,
            rate: if passed > 0.0 { news.answered as f64 / passed } else { 0.0 },
            latency_ms_p50: ms(50.0),
            latency_ms_p99: ms(99.0),
            backlog: self.schedule.map(|schedule| schedule.backlog(now)),
            lost_sessions: self.state.lost(),
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
    pub fn so_far(&self, shared: &Shared<'_>, repetition: &Repetition) -> Repetition {
        let mut sum = Recorder::new(self.repetition_start, &shared.workload.kinds(), self.schedule.is_some());
        for recorder in self.recorders {
            sum.merge_answers(&recorder.lock().unwrap_or_else(PoisonError::into_inner));
        }
        Repetition { requests: sum.kinds(), ..repetition_head(repetition) }
    }

    /// The minute that is over, as a point; the next begins.
    fn minute(&mut self, now: Moment) -> Option<Point> {
        let seconds = now.since(self.minute.start).as_secs_f64();
        if seconds <= 0.0 {
            return None;
        }
        let sums = self.seen.since(self.minute.sums);
        let number = self.minute.number;
        let label = if self.phase.label == "all" {
            format!("minute {number}")
        } else {
            format!("{}, minute {number}", self.phase.label)
        };
        let ms = |percent| self.minute.times.percentile(percent).map(milliseconds);
        let point = Point {
            label: Some(label),
            started_seconds: self.minute.start.since(self.repetition_start).as_secs_f64(),
            seconds,
            rows: Some(sums.rows),
            content_bytes: Some(sums.content_bytes),
            mb_per_minute: units::mb_per_minute(sums.content_bytes, seconds),
            operations: Some(sums.answered),
            errors: Some(sums.failed),
            sessions: Some(self.phase.sessions as u32),
            rate_asked: self.phase.rate.map(super::schedule::Rate::mean),
            latency_ms_p50: ms(50.0),
            latency_ms_p99: ms(99.0),
            ..Point::default()
        };
        self.minute = Minute { number: number + 1, start: now, sums: self.seen, times: Times::new() };
        Some(point)
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e6
}
