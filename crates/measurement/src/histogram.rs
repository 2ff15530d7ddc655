//! Histograms of times: HDR buckets with a relative error of at most one percent, merged exactly, and small enough for
//! every session to have its own.

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

/// The percentiles that are reported.
pub const PERCENTILES: [f64; 8] = [50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 99.99, 100.0];

/// How often which time was seen. Memory does not grow with the number of times.
#[derive(Debug, Clone)]
pub struct Times {
    buckets: Histogram<u64>,
    sum_nanos: u128,
}

impl Default for Times {
    fn default() -> Self {
        Self::new()
    }
}

impl Times {
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

    /// The time that `percent` of the times do not exceed, as the upper end of its bucket.
    pub fn percentile(&self, percent: f64) -> Option<Duration> {
        (self.count() > 0).then(|| Duration::from_nanos(self.buckets.value_at_percentile(percent)))
    }

    /// The histogram as a record keeps it.
    pub fn to_data(&self) -> TimesData {
        let us = |nanos: u64| nanos as f64 / 1e3;
        TimesData {
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
pub struct TimesData {
    /// Times counted.
    pub count: u64,
    /// Their exact sum.
    pub sum_us: f64,
    /// How far a bucket's end is from a time in it, at most.
    pub relative_error_percent: f64,
    /// Upper end of each bucket in microseconds, and how many times are in it.
    pub buckets: Vec<(f64, u64)>,
}

impl TimesData {
    /// All the times of several histograms together.
    pub fn merged<'a>(parts: impl Iterator<Item = &'a Self>) -> Self {
        let mut sum = Self { relative_error_percent: RELATIVE_ERROR_PERCENT, ..Self::default() };
        for part in parts {
            sum.count += part.count;
            sum.sum_us += part.sum_us;
            sum.buckets.extend(&part.buckets);
        }
        sum.buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
        sum.buckets.dedup_by(|next, kept| {
            let same = next.0.total_cmp(&kept.0).is_eq();
            if same {
                kept.1 += next.1;
            }
            same
        });
        sum
    }

    /// The time in microseconds that `percent` of the times do not exceed.
    pub fn percentile_us(&self, percent: f64) -> Option<f64> {
        let wanted = ((percent / 100.0 * self.count as f64).ceil() as u64).clamp(1, self.count.max(1));
        let mut seen = 0;
        self.buckets.iter().find_map(|(end, count)| {
            seen += count;
            (seen >= wanted).then_some(*end)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_percentile_is_within_its_error() {
        let mut times = Times::new();
        for us in 1..=10_000 {
            times.record(Duration::from_micros(us));
        }
        for percent in PERCENTILES {
            let exact = 100.0 * percent;
            let found = times.percentile(percent).unwrap().as_secs_f64() * 1e6;
            assert!((found / exact - 1.0).abs() <= 0.01, "{percent}: {found}");
            let kept = times.to_data().percentile_us(percent).unwrap();
            assert!((kept / exact - 1.0).abs() <= 0.01, "{percent}: {kept}");
        }
        assert_eq!(times.mean(), Some(Duration::from_nanos(5_000_500)));
    }

    #[test]
    fn nothing_is_lost_at_the_ends() {
        let mut times = Times::new();
        times.record(Duration::ZERO);
        times.record(Duration::MAX);
        assert_eq!(times.count(), 2);
        assert!(times.percentile(100.0).unwrap() >= LONGEST);
        assert_eq!((Times::new().mean(), Times::new().percentile(50.0)), (None, None));
    }

    proptest! {
        #[test]
        fn merging_parts_is_recording_all(nanos in prop::collection::vec(1_u64..10_u64.pow(12), 1..200), cut in 0_usize..200) {
            let record = |part: &[u64]| {
                let mut times = Times::new();
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
