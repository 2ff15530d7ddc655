//! What requests came to: histograms and counts by kind, and a row for every second. Several recorders share the work of
//! many sessions and are merged exactly; memory grows with the time of a repetition, never with its requests.

use std::collections::BTreeMap;
use std::time::Duration;

use plimsoll_engine::ErrorKind;
use plimsoll_measurement::{Moment, RequestKind, Seconds, Times};

/// A request that was answered.
#[derive(Debug, Clone, Copy)]
pub struct Answered {
    /// When it was meant to start; when it started, where there is no schedule.
    pub intended: Moment,
    /// When it started.
    pub started: Moment,
    /// When its last row was there.
    pub ended: Moment,
    /// Rows that the target looked at for it, as far as the request says.
    pub rows_examined: u64,
    /// Rows that came back or were changed.
    pub rows: u64,
    /// Their data content.
    pub content_bytes: u64,
}

#[derive(Debug, Clone)]
struct OfKind {
    name: &'static str,
    times: Times,
    /// From the real start; only where requests have a schedule.
    uncorrected: Option<Times>,
    rows_examined: u64,
    rows: u64,
    content_bytes: u64,
    errors: BTreeMap<&'static str, u64>,
    retries: u64,
}

/// Records requests.
#[derive(Debug, Clone)]
pub struct Recorder {
    start: Moment,
    kinds: Vec<OfKind>,
    seconds: Seconds,
}

impl Recorder {
    /// A recorder of these kinds from a moment on; `scheduled` says that requests have intended starts.
    pub fn new(start: Moment, kinds: &[&'static str], scheduled: bool) -> Self {
        let of_kind = |name: &&'static str| OfKind {
            name,
            times: Times::new(),
            uncorrected: scheduled.then(Times::new),
            rows_examined: 0,
            rows: 0,
            content_bytes: 0,
            errors: BTreeMap::new(),
            retries: 0,
        };
        Self { start, kinds: kinds.iter().map(of_kind).collect(), seconds: Seconds::default() }
    }

    /// Counts an answered request of the kind at `index`, in the second in which it ended.
    pub fn answered(&mut self, index: usize, answer: &Answered) {
        let kind = &mut self.kinds[index];
        kind.times.record(answer.ended.since(answer.intended));
        if let Some(uncorrected) = &mut kind.uncorrected {
            uncorrected.record(answer.ended.since(answer.started));
        }
        kind.rows_examined += answer.rows_examined;
        kind.rows += answer.rows;
        kind.content_bytes += answer.content_bytes;
        let row = self.seconds.at(second(self.start, answer.ended));
        *row.0 += 1;
        *row.1 += answer.rows;
        *row.2 += answer.content_bytes;
    }

    /// Counts a request that failed for good.
    pub fn failed(&mut self, index: usize, now: Moment, class: ErrorKind) {
        *self.kinds[index].errors.entry(class.name()).or_default() += 1;
        *self.seconds.at(second(self.start, now)).3 += 1;
    }

    /// Counts an attempt that is made again.
    pub fn retried(&mut self, index: usize) {
        self.kinds[index].retries += 1;
    }

    /// Counts what another counted.
    pub fn merge(&mut self, other: &Self) {
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

    /// The seconds so far.
    pub fn seconds(&self) -> &Seconds {
        &self.seconds
    }

    /// Answered and failed requests so far.
    pub fn counts(&self) -> (u64, u64) {
        let answered = self.kinds.iter().map(|kind| kind.times.count()).sum();
        let failed = self.kinds.iter().flat_map(|kind| kind.errors.values()).sum();
        (answered, failed)
    }

    /// The kinds as a record keeps them.
    pub fn kinds(&self) -> Vec<RequestKind> {
        let kind = |kind: &OfKind| RequestKind {
            kind: kind.name.to_owned(),
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

fn second(start: Moment, moment: Moment) -> usize {
    (moment.since(start).as_nanos() / Duration::from_secs(1).as_nanos()) as usize
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
            rows_examined: 10,
            rows: 2,
            content_bytes: 820,
        };
        let new = || Recorder::new(at(0), &["insert", "update"], true);
        let (mut one, mut two) = (new(), new());
        one.answered(0, &answer(100, 400, 410));
        two.answered(1, &answer(2000, 2000, 2001));
        two.failed(1, at(1500), ErrorKind::Busy);
        two.retried(1);
        one.merge(&two);
        let kinds = one.kinds();
        assert_eq!((kinds[0].operations, kinds[1].operations, one.counts()), (1, 1, (2, 1)));
        // The schedule's time counts; the other is kept beside it.
        let us = |times: &plimsoll_measurement::TimesData| times.percentile_us(50.0).unwrap();
        assert!((us(&kinds[0].times) / 310_000.0 - 1.0).abs() < 0.01);
        assert!((us(kinds[0].times_uncorrected.as_ref().unwrap()) / 10_000.0 - 1.0).abs() < 0.01);
        assert_eq!((kinds[1].errors["busy"], kinds[1].retries), (1, 1));
        assert_eq!(one.seconds().operations, [1, 0, 1]);
        assert_eq!(one.seconds().errors, [0, 1, 0]);
    }
}
