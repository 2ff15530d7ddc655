//! What operations came to: histograms and counts by kind, and a row for every second. Several recorders share the work of
//! many sessions and are merged exactly; memory grows with the time of a phase, never with its requests.

use std::collections::BTreeMap;
use std::time::Duration;

use plimsoll_measurement::{LatencyHistogram, Moment, RequestKind, Seconds, Stall};

use crate::lane::Amount;
use crate::stall::Slots;

/// A request that was answered.
#[derive(Debug, Clone, Copy)]
pub struct Answered {
    /// When it was meant to start; when it started, where there is no schedule.
    pub intended: Moment,
    /// When it started.
    pub started: Moment,
    /// When its last row was there.
    pub ended: Moment,
    /// How long it was waited before attempts that were made again, which is part of its time.
    pub waited: Duration,
    /// True if the session had slept until the intended start, so that a late start is the client's fault.
    pub slept: bool,
    /// What it came to.
    pub amount: Amount,
}

#[derive(Debug, Clone, Default)]
struct OfKind {
    name: String,
    times: AllTimes,
    /// Of these so many were answered after the end.
    drained: u64,
    amount: Amount,
    errors: BTreeMap<&'static str, u64>,
    retries: u64,
}

/// How late requests started.
#[derive(Debug, Clone, Default)]
pub struct Lag {
    /// All of them.
    pub all: LatencyHistogram,
    /// Those of sessions that had slept.
    pub slept: LatencyHistogram,
}

/// Response times.
#[derive(Debug, Clone, Default)]
pub struct AllTimes {
    /// From the intended start, as a user sees them.
    pub times: LatencyHistogram,
    /// The same without the waits between attempts; only where there was one.
    pub without_waits: Option<LatencyHistogram>,
    /// From the real start; only beside a schedule.
    pub uncorrected: Option<LatencyHistogram>,
}

impl AllTimes {
    fn new(scheduled: bool) -> Self {
        Self { uncorrected: scheduled.then(LatencyHistogram::new), ..Self::default() }
    }

    /// Times without waits, where any are told apart from now on: up to now both were the same.
    fn split(&mut self) -> &mut LatencyHistogram {
        self.without_waits.get_or_insert_with(|| self.times.clone())
    }

    fn merge(&mut self, other: &Self) {
        if self.without_waits.is_some() || other.without_waits.is_some() {
            self.split().merge(other.without_waits.as_ref().unwrap_or(&other.times));
        }
        self.times.merge(&other.times);
        if let (Some(sum), Some(more)) = (&mut self.uncorrected, &other.uncorrected) {
            sum.merge(more);
        }
    }
}

/// Records requests.
#[derive(Debug, Clone, Default)]
pub struct Recorder {
    start: Moment,
    /// What ended before was to warm up.
    counted_from: Moment,
    end: Moment,
    kinds: Vec<OfKind>,
    seconds: Seconds,
    slots: Slots,
    /// Times since they were taken; see [`Recorder::take_recent`].
    recent: LatencyHistogram,
    /// How late requests started; only beside a schedule.
    pub lag: Option<Box<Lag>>,
    /// How late answers were picked up, where that was measured.
    pub pickup: Option<Box<LatencyHistogram>>,
}

impl Recorder {
    /// A recorder of these kinds from a moment on. What is answered at `end` or later is neither rate nor row nor second: its time
    /// counts alone, which is known. `scheduled` says that requests have intended starts.
    pub fn new(start: Moment, end: Moment, kinds: &[String], scheduled: bool) -> Self {
        let times = AllTimes::new(scheduled);
        let of_kind = |name: &String| OfKind { name: name.clone(), times: times.clone(), ..OfKind::default() };
        let kinds = kinds.iter().map(of_kind).collect();
        Self { start, end, kinds, lag: scheduled.then(Box::default), ..Self::default() }
    }

    /// The same, but what ends before this moment counts nowhere: it is there to warm up, and passes into what counts without a
    /// pause. Seconds are still those since the start.
    #[must_use]
    pub fn counting_from(self, moment: Moment) -> Self {
        Self { counted_from: moment, ..self }
    }

    /// Counts an answered request of the kind at `index`, in the second in which it ended.
    pub fn answered(&mut self, index: usize, answer: &Answered) {
        if answer.ended < self.counted_from {
            return;
        }
        let kind = &mut self.kinds[index];
        let time = answer.ended.since(answer.intended);
        if !answer.waited.is_zero() || kind.times.without_waits.is_some() {
            kind.times.split().record(time.saturating_sub(answer.waited));
        }
        kind.times.times.record(time);
        if let (Some(uncorrected), Some(lag)) = (&mut kind.times.uncorrected, &mut self.lag) {
            uncorrected.record(answer.ended.since(answer.started));
            let late = answer.started.since(answer.intended);
            lag.all.record(late);
            if answer.slept {
                lag.slept.record(late);
            }
        }
        if answer.ended >= self.end {
            kind.drained += 1;
            return;
        }
        self.recent.record(time);
        let made = answer.amount;
        kind.amount += made;
        self.seconds.answered(second(self.start, answer.ended), made.rows_examined, made.rows, made.content_bytes);
        self.slots.answered(u64::try_from(answer.ended.since(self.start).as_nanos()).unwrap_or(u64::MAX));
    }

    /// Counts a request that failed for good.
    pub fn failed(&mut self, index: usize, now: Moment, class: &'static str) {
        if now < self.counted_from {
            return;
        }
        *self.kinds[index].errors.entry(class).or_default() += 1;
        if now < self.end {
            self.seconds.failed(second(self.start, now), class);
        }
    }

    /// Counts attempts that were made again.
    pub fn retried(&mut self, index: usize, attempts: u32) {
        self.kinds[index].retries += u64::from(attempts);
    }

    /// An answer lay there so long before it was picked up.
    pub fn picked_up(&mut self, lag: Duration) {
        self.pickup.get_or_insert_default().record(lag);
    }

    /// Adds the times since the last call to `sum`.
    pub fn take_recent(&mut self, sum: &mut LatencyHistogram) {
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
        if let Some(more) = &other.pickup {
            self.pickup.get_or_insert_default().merge(more);
        }
        self.slots.merge(&other.slots);
    }

    /// Counts its requests and seconds alone, which takes no longer for a long run.
    pub fn merge_answers(&mut self, other: &Self) {
        for (kind, more) in self.kinds.iter_mut().zip(&other.kinds) {
            kind.times.merge(&more.times);
            kind.drained += more.drained;
            kind.amount += more.amount;
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
        (seconds.latency_us_p50, seconds.latency_us_p99) = (of(true), of(false));
        seconds
    }

    /// Times between two moments, in seconds after the start, in which no session was answered although one waited. Beside a
    /// schedule `due` says how many requests were due up to a second.
    pub fn stalls(&self, from_seconds: f64, to_seconds: f64, due: Option<&dyn Fn(f64) -> f64>) -> Vec<Stall> {
        self.slots.stalls(from_seconds, to_seconds, due)
    }

    /// The sums so far.
    pub fn sums(&self) -> Sums {
        let mut sums = Sums::default();
        for kind in &self.kinds {
            sums.answered += kind.times.times.count() - kind.drained;
            sums.drained += kind.drained;
            sums.failed += kind.errors.values().sum::<u64>();
            sums.amount += kind.amount;
        }
        sums
    }

    /// Response times of all kinds.
    pub fn times(&self) -> AllTimes {
        let mut sum = AllTimes::new(self.lag.is_some());
        self.kinds.iter().for_each(|kind| sum.merge(&kind.times));
        sum
    }

    /// The kinds as a record keeps them.
    pub fn kinds(&self) -> Vec<RequestKind> {
        let kind = |kind: &OfKind| RequestKind {
            kind: kind.name.clone(),
            operations: kind.times.times.count() - kind.drained,
            drained: kind.drained,
            rows_examined: kind.amount.rows_examined,
            rows: kind.amount.rows,
            content_bytes: kind.amount.content_bytes,
            errors: kind.errors.iter().map(|(class, count)| ((*class).to_owned(), *count)).collect(),
            retries: kind.retries,
            times: kind.times.times.to_data(),
            times_without_waits: kind.times.without_waits.as_ref().map(LatencyHistogram::to_data),
            times_uncorrected: kind.times.uncorrected.as_ref().map(LatencyHistogram::to_data),
        };
        self.kinds.iter().map(kind).collect()
    }
}

/// Sums over all kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sums {
    /// Requests that were answered before the end.
    pub answered: u64,
    /// Requests that were answered after it.
    pub drained: u64,
    /// Failed requests.
    pub failed: u64,
    /// What those moved that were answered before the end.
    pub amount: Amount,
}

impl Sums {
    /// What was added since an earlier look.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            answered: self.answered - earlier.answered,
            drained: self.drained - earlier.drained,
            failed: self.failed - earlier.failed,
            amount: self.amount.since(earlier.amount),
        }
    }

    /// The sums of two recorders.
    #[must_use]
    pub fn plus(mut self, other: Self) -> Self {
        self.answered += other.answered;
        self.drained += other.drained;
        self.failed += other.failed;
        self.amount += other.amount;
        self
    }

    /// Failed requests in percent of all.
    pub fn failed_percent(self) -> f64 {
        100.0 * self.failed as f64 / (self.answered + self.drained + self.failed).max(1) as f64
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
            ended: at(ended),
            waited: Duration::ZERO,
            slept: intended == started,
            amount: Amount { rows_examined: 10, rows: 2, content_bytes: 820 },
        };
        let new = || Recorder::new(at(0), at(60_000), &["insert".to_owned(), "update".to_owned()], true);
        let (mut one, mut two) = (new(), new());
        one.answered(0, &answer(100, 400, 410));
        two.answered(1, &answer(2000, 2000, 2001));
        two.failed(1, at(1500), "busy");
        two.retried(1, 1);
        let mut recent = LatencyHistogram::new();
        two.take_recent(&mut recent);
        assert_eq!(recent.count(), 1);
        two.take_recent(&mut recent);
        assert_eq!(recent.count(), 1, "each is taken once");
        one.merge(&two);
        let kinds = one.kinds();
        assert_eq!((kinds[0].operations, kinds[1].operations), (1, 1));
        let amount = Amount { rows_examined: 20, rows: 4, content_bytes: 1640 };
        let sums = Sums { answered: 2, drained: 0, failed: 1, amount };
        assert_eq!(one.sums(), sums);
        // The schedule's time counts; the other is kept beside it.
        let us = |times: &plimsoll_measurement::LatencyHistogramData| times.sum_us / times.count as f64;
        assert!((us(&kinds[0].times) / 310_000.0 - 1.0).abs() < 0.01);
        assert!((us(kinds[0].times_uncorrected.as_ref().unwrap()) / 10_000.0 - 1.0).abs() < 0.01);
        assert_eq!((kinds[1].errors["busy"], kinds[1].retries), (1, 1));
        assert_eq!(one.seconds(&[]).operations, [1, 0, 1]);
        assert_eq!(one.seconds(&[]).errors, [0, 1, 0]);
        assert_eq!(one.seconds(&[]).errors_by_class["busy"], [0, 1]);
        // A session that was busy until after the intended start is no delay of the client.
        let lag = one.lag.as_ref().unwrap();
        assert_eq!((lag.all.count(), lag.slept.count()), (2, 1));
        assert!(lag.slept.percentile(100.0).unwrap() < Duration::from_micros(1));
        assert_eq!((one.times().times.count(), one.times().uncorrected.unwrap().count()), (2, 2));
    }

    #[test]
    fn what_is_answered_after_the_end_is_a_time_and_nothing_else() {
        let at = |ms: u64| Moment::from_nanos(ms * 1_000_000);
        let mut recorder = Recorder::new(at(0), at(10_000), &["load".to_owned()], false);
        for (started, ended) in [(0, 4000), (4000, 9999), (9999, 19_000)] {
            let amount = Amount { rows_examined: 5, rows: 5, content_bytes: 100 };
            let (intended, started, ended) = (at(started), at(started), at(ended));
            let waited = Duration::ZERO;
            recorder.answered(0, &Answered { intended, started, ended, waited, slept: false, amount });
        }
        recorder.failed(0, at(15_000), "busy");
        let kind = recorder.kinds().remove(0);
        assert_eq!((kind.operations, kind.drained, kind.rows, kind.times.count), (2, 1, 10, 3));
        assert_eq!(kind.errors["busy"], 1);
        let seconds = recorder.seconds(&[]);
        assert_eq!((seconds.operations.len(), seconds.errors.iter().sum::<u64>()), (10, 0));
        assert_eq!(
            recorder.stalls(0.0, 10.0, None),
            [],
            "the last answer was on time: nobody waits for those behind the end"
        );
        let mut recent = LatencyHistogram::new();
        recorder.take_recent(&mut recent);
        assert_eq!(recent.count(), 2);
    }

    #[test]
    fn what_ends_while_it_warms_up_counts_nowhere() {
        let at = |ms: u64| Moment::from_nanos(ms * 1_000_000);
        let mut recorder = Recorder::new(at(0), at(10_000), &["read".to_owned()], false).counting_from(at(2000));
        for (started, ended) in [(0, 1999), (1990, 2000), (2000, 2500)] {
            let amount = Amount { rows_examined: 0, rows: 0, content_bytes: 8192 };
            let (intended, started, ended) = (at(started), at(started), at(ended));
            let waited = Duration::ZERO;
            recorder.answered(0, &Answered { intended, started, ended, waited, slept: false, amount });
        }
        recorder.failed(0, at(1000), "device");
        let sums = recorder.sums();
        assert_eq!((sums.answered, sums.failed, sums.amount.content_bytes), (2, 0, 2 * 8192));
        assert_eq!(recorder.seconds(&[]).operations, [0, 0, 2], "seconds are those since the start");
    }

    #[test]
    fn a_wait_between_attempts_is_part_of_the_time_and_stands_beside_it() {
        let at = |ms: u64| Moment::from_nanos(ms * 1_000_000);
        let answer = |waited: u64| Answered {
            intended: at(0),
            started: at(0),
            ended: at(2 + waited),
            waited: Duration::from_millis(waited),
            slept: false,
            amount: Amount::default(),
        };
        let new = || Recorder::new(at(0), at(60_000), &["update".to_owned()], true);
        let (mut calm, mut contended) = (new(), new());
        (0..30).for_each(|_| calm.answered(0, &answer(0)));
        assert_eq!(calm.kinds()[0].times_without_waits, None);
        (0..10).for_each(|_| contended.answered(0, &answer(0)));
        (0..60).for_each(|_| contended.answered(0, &answer(155)));
        calm.merge(&contended);
        let kind = calm.kinds().remove(0);
        let ms =
            |times: &plimsoll_measurement::LatencyHistogramData| (times.percentile_us(50.0).unwrap() / 1e3).round();
        let without = kind.times_without_waits.unwrap();
        assert_eq!((kind.times.count, without.count), (100, 100));
        assert_eq!((ms(&kind.times), ms(&without)), (157.0, 2.0));
        assert!((ms(&kind.times_uncorrected.unwrap()) - 157.0).abs() < 1e-9);
        let all = calm.times();
        assert_eq!((all.times.to_data(), all.without_waits.unwrap().to_data()), (kind.times, without));
    }
}
