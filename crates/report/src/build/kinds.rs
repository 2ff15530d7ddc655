//! Kinds of requests over all repetitions: what they count together, and percentiles by one definition wherever they stand.

use std::collections::BTreeMap;
use std::ops::Deref;

use plimsoll_analysis::DEFAULT_CONFIDENCE;
use plimsoll_analysis::interval::interval;
use plimsoll_measurement::{LatencyHistogramData, Repetition, RequestKind, RunRecord};

use super::order::grouped;

/// A kind of request, as what it came to in all repetitions together.
#[derive(Debug, Clone)]
pub struct Kind {
    all: RequestKind,
    /// In each complete repetition, or in each if none is.
    each: Vec<RequestKind>,
}

impl Deref for Kind {
    type Target = RequestKind;

    fn deref(&self) -> &RequestKind {
        &self.all
    }
}

impl Kind {
    /// The percentile of some of its times, in milliseconds: see [`mean_percentile_ms`].
    pub fn ms(&self, percent: f64, times: fn(&RequestKind) -> Option<&LatencyHistogramData>) -> Option<f64> {
        let each = self.each.iter().filter(|kind| kind.operations > 0 || kind.drained > 0);
        mean_percentile_ms(&each.map(times).collect::<Option<Vec<_>>>()?, percent)
    }
}

/// A percentile in milliseconds; unknown where too few requests are beyond it.
pub fn percentile_ms(times: &LatencyHistogramData, percent: f64) -> Option<f64> {
    times.percentile_us(percent).map(|us| us / 1e3)
}

/// The geometric mean of a percentile of several repetitions, in milliseconds, as the figures of a run have it; the longest of all is the
/// longest. Where too few requests of one of them are beyond it, that figure is absent, and this is the percentile of all together.
pub fn mean_percentile_ms(each: &[&LatencyHistogramData], percent: f64) -> Option<f64> {
    let of_each = || each.iter().map(|times| percentile_ms(times, percent)).collect::<Option<Vec<f64>>>();
    let of_all = || percentile_ms(&LatencyHistogramData::merged(each.iter().copied()), percent);
    match of_each().filter(|_| percent < 100.0) {
        Some(of_each) => interval(&of_each, DEFAULT_CONFIDENCE).map(|mean| mean.value),
        None => of_all(),
    }
}

/// What each kind of request came to over all repetitions, in order of appearance.
pub fn by_kind(record: &RunRecord) -> Vec<Kind> {
    let all = record.repetitions.iter().flat_map(|repetition| &repetition.requests);
    let kinds = grouped(all.map(|kind| (kind.kind.as_str(), kind)));
    let of = |(name, parts): (&str, Vec<&RequestKind>)| {
        let own = |repetition: &&Repetition| -> Option<RequestKind> {
            repetition.requests.iter().find(|kind| kind.kind == name).cloned()
        };
        let each = counted(record).iter().filter_map(own).collect();
        Kind { all: together(name, &parts), each }
    };
    kinds.into_iter().map(of).collect()
}

/// All kinds as one.
pub fn of_all(record: &RunRecord) -> Kind {
    let in_one = |repetition: &&Repetition| together("all", &repetition.requests.iter().collect::<Vec<_>>());
    let all: Vec<&RequestKind> = record.repetitions.iter().flat_map(|repetition| &repetition.requests).collect();
    Kind { all: together("all", &all), each: counted(record).iter().map(in_one).collect() }
}

/// Repetitions whose percentiles count, as those of figures do.
fn counted(record: &RunRecord) -> Vec<&Repetition> {
    let complete: Vec<&Repetition> = record.repetitions.iter().filter(|repetition| repetition.complete).collect();
    if complete.is_empty() { record.repetitions.iter().collect() } else { complete }
}

/// Several kinds, or one in several repetitions, as one.
fn together(name: &str, parts: &[&RequestKind]) -> RequestKind {
    let mut errors: BTreeMap<String, u64> = BTreeMap::new();
    for (class, count) in parts.iter().flat_map(|part| &part.errors) {
        let sum = errors.entry(class.clone()).or_default();
        *sum = sum.saturating_add(*count);
    }
    let sum = |part: fn(&RequestKind) -> u64| parts.iter().map(|kind| part(kind)).fold(0, u64::saturating_add);
    let uncorrected = || parts.iter().filter_map(|part| part.times_uncorrected.as_ref());
    RequestKind {
        kind: name.to_owned(),
        operations: sum(|kind| kind.operations),
        rows_examined: sum(|kind| kind.rows_examined),
        rows: sum(|kind| kind.rows),
        content_bytes: sum(|kind| kind.content_bytes),
        errors,
        drained: sum(|kind| kind.drained),
        retries: sum(|kind| kind.retries),
        times: LatencyHistogramData::merged(parts.iter().map(|part| &part.times)),
        times_without_waits: parts.iter().any(|part| part.times_without_waits.is_some()).then(|| {
            LatencyHistogramData::merged(
                parts.iter().map(|part| part.times_without_waits.as_ref().unwrap_or(&part.times)),
            )
        }),
        times_uncorrected: (uncorrected().count() > 0).then(|| LatencyHistogramData::merged(uncorrected())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_the_mean_of_the_repetitions() {
        let times = |us: f64, count: u64| LatencyHistogramData {
            count,
            sum_us: us * count as f64,
            relative_error_percent: 1.0,
            buckets: vec![(us, count)],
        };
        let of = |us: f64, complete: bool| Repetition {
            complete,
            requests: vec![RequestKind {
                kind: "update".to_owned(),
                operations: 2_000,
                times: times(us, 2_000),
                ..RequestKind::default()
            }],
            ..Repetition::default()
        };
        let mut record = RunRecord {
            repetitions: vec![of(1_000.0, true), of(4_000.0, true), of(9_000.0, false)],
            ..RunRecord::default()
        };
        let ms = |record: &RunRecord, percent: f64| by_kind(record)[0].ms(percent, |kind| Some(&kind.times));
        assert!((ms(&record, 99.0).unwrap() - 2.0).abs() < 1e-9, "sqrt(1 x 4); what was cut off does not count");
        assert_eq!(ms(&record, 100.0), Some(4.0));
        assert_eq!(by_kind(&record)[0].operations, 6_000);
        assert_eq!(of_all(&record).ms(99.0, |kind| Some(&kind.times)), ms(&record, 99.0));
        // Where one repetition has too few for the figure of the run, it is that of all together.
        record.repetitions[1].requests[0].times = times(4_000.0, 500);
        assert_eq!(ms(&record, 99.0), Some(4.0));
        record.repetitions[1].requests[0].times = times(4_000.0, 15);
        record.repetitions[0].requests[0].times = times(1_000.0, 15);
        assert_eq!(ms(&record, 99.0), None);
        record.repetitions.truncate(0);
        record.repetitions.push(of(9_000.0, false));
        assert_eq!(ms(&record, 99.0), Some(9.0));
    }
}
