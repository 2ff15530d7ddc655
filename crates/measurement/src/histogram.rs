//! Histograms of times: HDR buckets with a relative error of at most one percent, merged exactly, and small enough for
//! every session to have its own.

use std::fmt;
use std::time::Duration;

use hdrhistogram::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Significant decimal digits of a bucket, which makes for the relative error.
const DIGITS: u8 = 2;

/// What a bucket's digits make of a value at most, in percent.
pub const RELATIVE_ERROR_PERCENT: f64 = 1.0;

/// The longest time that is told apart; what is longer counts as this.
pub const LONGEST: Duration = Duration::from_hours(1);

/// So many times must be longer than a percentile for it to say more than how the longest happened to be.
pub const LEAST_BEYOND: u64 = 10;

/// Too few times for a percentile.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TooFew {
    /// The percentile that was asked for.
    pub percent: f64,
    /// Times that there are.
    pub count: u64,
    /// Times that it needs.
    pub needed: u64,
}

impl fmt::Display for TooFew {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { percent, count, needed } = self;
        write!(f, "p{percent} needs {needed} response times, {LEAST_BEYOND} of them beyond it; there are {count}")
    }
}

/// How many times a percentile needs; one is enough for the longest, which is no percentile.
pub fn needed(percent: f64) -> u64 {
    let beyond = 1.0 - percent / 100.0;
    // What 99.9 % leave is not exactly a thousandth.
    if percent < 100.0 { (LEAST_BEYOND as f64 / beyond - 1e-6).ceil() as u64 } else { 1 }
}

/// Whether so many times are enough for a percentile.
///
/// # Errors
/// If fewer than [`LEAST_BEYOND`] are beyond it.
pub fn enough(count: u64, percent: f64) -> Result<(), TooFew> {
    let needed = needed(percent);
    if count >= needed { Ok(()) } else { Err(TooFew { percent, count, needed }) }
}

/// How often which time was seen. Memory does not grow with the number of times.
#[derive(Debug, Clone)]
pub struct LatencyHistogram {
    buckets: Histogram<u64>,
    sum_nanos: u128,
}

impl Default for LatencyHistogram {
    fn default() -> Self {
        Self::new()
    }
}

impl LatencyHistogram {
    /// An empty histogram.
    pub fn new() -> Self {
        let longest = LONGEST.as_nanos() as u64;
        let buckets = Histogram::new_with_bounds(1, longest, DIGITS).expect("the bounds are constant and valid");
        Self { buckets, sum_nanos: 0 }
    }

    /// Counts a time.
    pub fn record(&mut self, time: Duration) {
        let nanos = time.as_nanos();
        self.buckets.saturating_record(u64::try_from(nanos).unwrap_or(u64::MAX).max(1));
        self.sum_nanos += nanos;
    }

    /// Counts all that another counted.
    pub fn merge(&mut self, other: &Self) {
        self.buckets.add(&other.buckets).expect("both have the same bounds");
        self.sum_nanos += other.sum_nanos;
    }

    /// Forgets what was counted and keeps the memory.
    pub fn clear(&mut self) {
        self.buckets.reset();
        self.sum_nanos = 0;
    }

    /// How many times were counted.
    pub fn count(&self) -> u64 {
        self.buckets.len()
    }

    /// How many times are longer, as far as buckets tell them apart.
    pub fn count_above(&self, time: Duration) -> u64 {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX).clamp(1, self.buckets.high());
        self.count() - self.buckets.count_between(0, nanos)
    }

    /// The exact mean.
    pub fn mean(&self) -> Option<Duration> {
        let count = u128::from(self.count());
        (count > 0).then(|| Duration::from_nanos(u64::try_from(self.sum_nanos / count).unwrap_or(u64::MAX)))
    }

    /// The time that `percent` of the times do not exceed, as the upper end of its bucket; 100 is the longest. `None` if fewer than
    /// [`LEAST_BEYOND`] are beyond it.
    pub fn percentile(&self, percent: f64) -> Option<Duration> {
        enough(self.count(), percent).ok().map(|()| Duration::from_nanos(self.buckets.value_at_percentile(percent)))
    }

    /// The histogram as a record keeps it.
    pub fn to_data(&self) -> LatencyHistogramData {
        let us = |nanos: u64| nanos as f64 / 1e3;
        LatencyHistogramData {
            count: self.count(),
            sum_us: self.sum_nanos as f64 / 1e3,
            relative_error_percent: RELATIVE_ERROR_PERCENT,
            buckets: self
                .buckets
                .iter_recorded()
                .map(|step| (us(step.value_iterated_to()), step.count_since_last_iteration()))
                .collect(),
        }
    }
}

/// A histogram as a record keeps it: the buckets that were hit.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct LatencyHistogramData {
    /// Times counted.
    pub count: u64,
    /// Their exact sum.
    pub sum_us: f64,
    /// How far a bucket's end is from a time in it, at most.
    pub relative_error_percent: f64,
    /// Upper end of each bucket in microseconds, and how many times are in it.
    pub buckets: Vec<(f64, u64)>,
}

impl LatencyHistogramData {
    /// All the times of several histograms together.
    pub fn merged<'a>(parts: impl Iterator<Item = &'a Self>) -> Self {
        let mut sum = Self { relative_error_percent: RELATIVE_ERROR_PERCENT, ..Self::default() };
        for part in parts {
            sum.count = sum.count.saturating_add(part.count);
            sum.sum_us += part.sum_us;
            sum.buckets.extend(&part.buckets);
        }
        sum.buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
        sum.buckets.dedup_by(|next, kept| {
            let same = next.0.total_cmp(&kept.0).is_eq();
            if same {
                kept.1 = kept.1.saturating_add(next.1);
            }
            same
        });
        sum
    }

    /// The time in microseconds that `percent` of the times do not exceed; 100 is the longest.
    ///
    /// # Errors
    /// If fewer than [`LEAST_BEYOND`] are beyond it.
    pub fn percentile(&self, percent: f64) -> Result<f64, TooFew> {
        enough(self.count, percent)?;
        let wanted = ((percent / 100.0 * self.count as f64).ceil() as u64).clamp(1, self.count.max(1));
        let mut seen: u64 = 0;
        let found = self.buckets.iter().find_map(|(end, count)| {
            seen = seen.saturating_add(*count);
            (seen >= wanted).then_some(*end)
        });
        found.ok_or(TooFew { percent, count: seen, needed: wanted })
    }

    /// The same where the reason for its absence is of no interest.
    pub fn percentile_us(&self, percent: f64) -> Option<f64> {
        self.percentile(percent).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_percentile_is_within_its_error() {
        let mut times = LatencyHistogram::new();
        for us in 1..=100_000 {
            times.record(Duration::from_micros(us));
        }
        for percent in [50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 99.99, 100.0] {
            let exact = 1000.0 * percent;
            let found = times.percentile(percent).unwrap().as_secs_f64() * 1e6;
            assert!((found / exact - 1.0).abs() <= 0.01, "{percent}: {found}");
            let kept = times.to_data().percentile_us(percent).unwrap();
            assert!((kept / exact - 1.0).abs() <= 0.01, "{percent}: {kept}");
        }
        assert_eq!(times.mean(), Some(Duration::from_nanos(50_000_500)));
    }

    #[test]
    fn a_percentile_needs_ten_times_beyond_it() {
        for (percent, needed) in [(50.0, 20), (90.0, 100), (99.0, 1000), (99.9, 10_000), (100.0, 1)] {
            let mut times = LatencyHistogram::new();
            (0..needed - 1).for_each(|_| times.record(Duration::from_millis(1)));
            assert_eq!((times.percentile(percent), times.to_data().percentile_us(percent)), (None, None), "{percent}");
            let reason = times.to_data().percentile(percent).unwrap_err();
            assert_eq!(reason, TooFew { percent, count: needed - 1, needed });
            times.record(Duration::from_millis(1));
            assert!(
                times.percentile(percent).is_some() && times.to_data().percentile_us(percent).is_some(),
                "{percent}"
            );
        }
        let reason = TooFew { percent: 99.9, count: 7302, needed: 10_000 }.to_string();
        assert_eq!(reason, "p99.9 needs 10000 response times, 10 of them beyond it; there are 7302");
    }

    #[test]
    fn nothing_is_lost_at_the_ends() {
        let mut times = LatencyHistogram::new();
        times.record(Duration::ZERO);
        times.record(Duration::MAX);
        assert_eq!(times.count(), 2);
        assert!(times.percentile(100.0).unwrap() >= LONGEST);
        assert_eq!((LatencyHistogram::new().mean(), LatencyHistogram::new().percentile(50.0)), (None, None));
    }

    proptest! {
        #[test]
        fn merging_parts_is_recording_all(nanos in prop::collection::vec(1_u64..10_u64.pow(12), 1..200), cut in 0_usize..200) {
            let record = |part: &[u64]| {
                let mut times = LatencyHistogram::new();
                for nanos in part {
                    times.record(Duration::from_nanos(*nanos));
                }
                times
            };
            let (first, second) = nanos.split_at(cut.min(nanos.len()));
            let mut merged = record(first);
            merged.merge(&record(second));
            prop_assert_eq!(merged.to_data(), record(&nanos).to_data());
        }
    }
}
