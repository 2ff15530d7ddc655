//! What requests came to: histograms and counts by kind, and a row for every second. Several recorders share the work of
//! many sessions and are merged exactly; memory grows with the time of a phase, never with its requests.

use std::collections::BTreeMap;
use std::time::Duration;

use plimsoll_engine::ErrorKind;
use plimsoll_measurement::{Moment, RequestKind, Seconds, Silence, Times};

use super::request::Made;
use super::silence::Slots;

/// A request that was answered.
#[derive(Debug, Clone, Copy)]
pub struct Answered {
    /// When it was meant to start; when it started, where there is no schedule.
    pub intended: Moment,
    /// When it started.
    pub started: Moment,
    /// When its last row was there.
    pub ended: Moment,
    /// How long it was waited before attempts that were made again; no part of its time.
    pub backed_off: Duration,
    /// True if the session had slept until the intended start, so that a late start is the client's fault.
    pub slept: bool,
    /// What it came to.
    pub made: Made,
}

#[derive(Debug, Clone)]
struct OfKind {
    name: String,
    times: Times,
    /// From the real start; only where requests have a schedule.
    uncorrected: Option<Times>,
    rows_examined: u64,
    rows: u64,
    content_bytes: u64,
    errors: BTreeMap<&'static str, u64>,
    retries: u64,
}

/// How late requests started.
#[derive(Debug, Clone, Default)]
pub struct Lag {
    /// All of them.
    pub all: Times,
    /// Those of sessions that had slept.
    pub slept: Times,
}

/// Records requests.
#[derive(Debug, Clone)]
pub struct Recorder {
    start: Moment,
    kinds: Vec<OfKind>,
    seconds: Seconds,
    slots: Slots,
    /// Times since somebody took them; see [`Recorder::take_recent`].
    recent: Times,
    /// Only beside a schedule.
    lag: Option<Box<Lag>>,
}

impl Recorder {
    /// A recorder of these kinds from a moment on; `scheduled` says that requests have intended starts.
    pub fn new(start: Moment, kinds: &[String], scheduled: bool) -> Self {
        let of_kind = |name: &String| OfKind {
            name: name.clone(),
            times: Times::new(),
            uncorrected: scheduled.then(Times::new),
            rows_examined: 0,
            rows: 0,
            content_bytes: 0,
            errors: BTreeMap::new(),
            retries: 0,
        };
        Self {
            start,
            kinds: kinds.iter().map(of_kind).collect(),
            seconds: Seconds::default(),
            slots: Slots::default(),
            recent: Times::new(),
            lag: scheduled.then(Box::default),
        }
    }

    /// Counts an answered request of the kind at `index`, in the second in which it ended.
    pub fn answered(&mut self, index: usize, answer: &Answered) {
        let kind = &mut self.kinds[index];
        let time = answer.ended.since(answer.intended).saturating_sub(answer.backed_off);
        kind.times.record(time);
        self.recent.record(time);
        if let (Some(uncorrected), Some(lag)) = (&mut kind.uncorrected, &mut self.lag) {
            uncorrected.record(answer.ended.since(answer.started).saturating_sub(answer.backed_off));
            let late = answer.started.since(answer.intended);
            lag.all.record(late);
            if answer.slept {
                lag.slept.record(late);
            }
        }
        let made = answer.made;
        kind.rows_examined += made.rows_examined;
        kind.rows += made.rows;
        kind.content_bytes += made.content_bytes;
        self.seconds.answered(second(self.start, answer.ended), made.rows_examined, made.rows, made.content_bytes);
        self.slots.answered(u64::try_from(answer.ended.since(self.start).as_nanos()).unwrap_or(u64::MAX));
    }

    /// Counts a request that failed for good.
    pub fn failed(&mut self, index: usize, now: Moment, class: ErrorKind) {
        *self.kinds[index].errors.entry(class.name()).or_default() += 1;
        self.seconds.failed(second(self.start, now), class.name());
    }

    /// Counts an attempt that is made again.
    pub fn retried(&mut self, index: usize) {
        self.kinds[index].retries += 1;
    }

    /// Adds the times since the last call to `sum`.
    pub fn take_recent(&mut self, sum: &mut Times) {
        sum.merge(&self.recent);
        self.recent.clear();
    }

    /// Counts what another counted.
    pub fn merge(&mut self, other: &Self) {
        self.merge_answers(other);
        if let (Some(sum), Some(more)) = (&mut self.lag, &other.lag) {
            sum.all.merge(&more.all);
            sum.slept.merge(&more.slept);
        }
        self.slots.merge(&other.slots);
    }

    /// Counts its requests and seconds alone, which takes no longer for a long run.
    pub fn merge_answers(&mut self, other: &Self) {
        for (kind, more) in self.kinds.iter_mut().zip(&other.kinds) {
            kind.times.merge(&more.times);
            if let (Some(sum), Some(more)) = (&mut kind.uncorrected, &more.uncorrected) {
                sum.merge(more);
            }
            kind.rows_examined += more.rows_examined;
            kind.rows += more.rows;
            kind.content_bytes += more.content_bytes;
            kind.retries += more.retries;
            for (class, count) in &more.errors {
                *kind.errors.entry(class).or_default() += count;
            }
        }
        self.seconds.merge(&other.seconds);
    }

    /// The seconds so far with their percentiles, which reach as far as the counts do.
    pub fn seconds(&self, percentiles: &[(Option<f64>, Option<f64>)]) -> Seconds {
        let mut seconds = self.seconds.clone();
        let of = |half: bool| {
            let all = (0..seconds.operations.len()).map(|second| percentiles.get(second).copied().unwrap_or_default());
            all.map(|(p50, p99)| if half { p50 } else { p99 }).collect()
        };
        (seconds.latency_ms_p50, seconds.latency_ms_p99) = (of(true), of(false));
        seconds
    }

    /// Times between two moments, in seconds after the start, in which nobody was answered.
    pub fn silences(&self, from_seconds: f64, to_seconds: f64) -> Vec<Silence> {
        self.slots.silences(from_seconds, to_seconds)
    }

    /// How late requests started; only beside a schedule.
    pub fn lag(&self) -> Option<&Lag> {
        self.lag.as_deref()
    }

    /// The sums so far.
    pub fn sums(&self) -> Sums {
        let mut sums = Sums::default();
        for kind in &self.kinds {
            sums.answered += kind.times.count();
            sums.failed += kind.errors.values().sum::<u64>();
            sums.rows_examined += kind.rows_examined;
            sums.rows += kind.rows;
            sums.content_bytes += kind.content_bytes;
        }
        sums
    }

    /// Response times of all kinds: corrected, and uncorrected beside a schedule.
    pub fn times(&self) -> (Times, Option<Times>) {
        let mut times = Times::new();
        let mut uncorrected = self.lag.is_some().then(Times::new);
        for kind in &self.kinds {
            times.merge(&kind.times);
            if let (Some(sum), Some(more)) = (&mut uncorrected, &kind.uncorrected) {
                sum.merge(more);
            }
        }
        (times, uncorrected)
    }

    /// The kinds as a record keeps them.
    pub fn kinds(&self) -> Vec<RequestKind> {
        let kind = |kind: &OfKind| RequestKind {
            kind: kind.name.clone(),
            operations: kind.times.count(),
            rows_examined: kind.rows_examined,
            rows: kind.rows,
            content_bytes: kind.content_bytes,
            errors: kind.errors.iter().map(|(class, count)| ((*class).to_owned(), *count)).collect(),
            retries: kind.retries,
            times: kind.times.to_data(),
            times_uncorrected: kind.uncorrected.as_ref().map(Times::to_data),
        };
        self.kinds.iter().map(kind).collect()
    }
}

/// Sums over all kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sums {
    /// Answered requests.
    pub answered: u64,
    /// Failed requests.
    pub failed: u64,
    /// Rows that the target had to look at, as far as requests say.
    pub rows_examined: u64,
    /// Rows that came back or were changed.
    pub rows: u64,
    /// Their data content.
    pub content_bytes: u64,
}

impl Sums {
    /// What was added since an earlier look.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            answered: self.answered - earlier.answered,
            failed: self.failed - earlier.failed,
            rows_examined: self.rows_examined - earlier.rows_examined,
            rows: self.rows - earlier.rows,
            content_bytes: self.content_bytes - earlier.content_bytes,
        }
    }

    /// The sums of two recorders.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            answered: self.answered + other.answered,
            failed: self.failed + other.failed,
            rows_examined: self.rows_examined + other.rows_examined,
            rows: self.rows + other.rows,
            content_bytes: self.content_bytes + other.content_bytes,
        }
    }

    /// Failed requests in percent of all.
    pub fn failed_percent(self) -> f64 {
        100.0 * self.failed as f64 / (self.answered + self.failed).max(1) as f64
    }
}

fn second(start: Moment, moment: Moment) -> usize {
    moment.since(start).as_secs() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_make_up_the_whole() {
        let at = |ms: u64| Moment::from_nanos(ms * 1_000_000);
        let answer = |intended: u64, started: u64, ended: u64| Answered {
            intended: at(intended),
            started: at(started),
            ended: at(ended + 1000),
            backed_off: Duration::from_secs(1),
            slept: intended == started,
            made: Made { rows_examined: 10, rows: 2, content_bytes: 820 },
        };
        let new = || Recorder::new(at(0), &["insert".to_owned(), "update".to_owned()], true);
        let (mut one, mut two) = (new(), new());
        one.answered(0, &answer(100, 400, 410));
        two.answered(1, &answer(2000, 2000, 2001));
        two.failed(1, at(1500), ErrorKind::Busy);
        two.retried(1);
        let mut recent = Times::new();
        two.take_recent(&mut recent);
        assert_eq!(recent.count(), 1);
        two.take_recent(&mut recent);
        assert_eq!(recent.count(), 1, "each is taken once");
        one.merge(&two);
        let kinds = one.kinds();
        assert_eq!((kinds[0].operations, kinds[1].operations), (1, 1));
        assert_eq!(one.sums(), Sums { answered: 2, failed: 1, rows_examined: 20, rows: 4, content_bytes: 1640 });
        // The schedule's time counts; the other is kept beside it.
        let us = |times: &plimsoll_measurement::TimesData| times.percentile_us(50.0).unwrap();
        assert!((us(&kinds[0].times) / 310_000.0 - 1.0).abs() < 0.01);
        assert!((us(kinds[0].times_uncorrected.as_ref().unwrap()) / 10_000.0 - 1.0).abs() < 0.01);
        assert_eq!((kinds[1].errors["busy"], kinds[1].retries), (1, 1));
        assert_eq!(one.seconds(&[]).operations, [0, 1, 0, 1]);
        assert_eq!(one.seconds(&[]).errors, [0, 1, 0, 0]);
        assert_eq!(one.seconds(&[]).errors_by_class["busy"], [0, 1]);
        // Who was busy until after the intended start is not the client's delay.
        let lag = one.lag().unwrap();
        assert_eq!((lag.all.count(), lag.slept.count()), (2, 1));
        assert!(lag.slept.percentile(100.0).unwrap() < Duration::from_micros(1));
        assert_eq!((one.times().0.count(), one.times().1.unwrap().count()), (2, 2));
    }
}
