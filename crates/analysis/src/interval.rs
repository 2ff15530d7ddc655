//! An estimate over repetitions with its interval of confidence.
//!
//! Method: geometric mean with a Student-t interval on the logarithms, transformed back. Rates and times are positive
//! and vary by factors, and three to ten repetitions are too few for resampling or for order statistics (a 95 %
//! interval of the median needs six). So a small-sample t is used. It assumes that the logarithms are independent and
//! about normal. Sources: Student, The probable error of a mean, Biometrika 6 (1908) 1-25; Bland and Altman,
//! Transformations, means, and confidence intervals, BMJ 312 (1996) 1079; for the geometric mean of benchmarks Fleming
//! and Wallace, How not to lie with statistics, Communications of the ACM 29 (1986) 218-221.
//!
//! Of two values the interval is their range: at 95 % it would be 13 times as wide, which says nothing to anybody. Student's t with one degree
//! of freedom is 1 at a confidence of 50 %, so that the range is the interval of that confidence, and the one formula gives it.

use crate::logs::{LogSample, t_quantile};
use crate::summary;

/// Confidence of the interval of two values, which is their range.
pub const OF_TWO: f64 = 0.5;

/// An estimate, in the unit of its values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Geometric mean of the repetitions.
    pub value: f64,
    /// Lower end of the interval; absent with a single repetition.
    pub low: Option<f64>,
    /// Upper end of the interval; absent with a single repetition.
    pub high: Option<f64>,
    /// Confidence that was asked for, between 0 and 1; that of two values is [`OF_TWO`].
    pub confidence: f64,
}

/// The estimate over `values`, one per repetition.
///
/// `None` for no values, for a value that is not positive and finite (it has no logarithm: the repetition did not
/// measure a rate or a time), and for a confidence outside of 0 to 1. A single value, and values so far apart that the
/// interval leaves the range of numbers, give an estimate without an interval.
pub fn interval(values: &[f64], confidence: f64) -> Option<Interval> {
    if !(confidence > 0.0 && confidence < 1.0) {
        return None;
    }
    let confidence = attainable(confidence, values);
    let sample = LogSample::of(values)?;
    let value = sample.first * sample.mean.exp();
    let ends = sample.variance.and_then(|variance| {
        let half = t_quantile(confidence, sample.count - 1.0)? * (variance / sample.count).sqrt();
        let ends = (sample.first * (sample.mean - half).exp(), sample.first * (sample.mean + half).exp());
        ends.1.is_finite().then_some(ends)
    });
    Some(Interval { value, low: ends.map(|ends| ends.0), high: ends.map(|ends| ends.1), confidence })
}

fn attainable(confidence: f64, values: &[f64]) -> f64 {
    if values.len() == 2 { confidence.min(OF_TWO) } else { confidence }
}

/// The same for values of which some are zero: they have no logarithm, so mean and interval are those of the plain
/// values, and the interval ends at zero. It is rougher, and a report that prints it has to say so.
///
/// `None` where [`interval`] would do, for a value that is negative or not finite, and where all are zero.
pub fn interval_with_zeros(values: &[f64], confidence: f64) -> Option<Interval> {
    let is_usable = values.iter().all(|value| value.is_finite() && *value >= 0.0);
    let zeros = values.iter().filter(|value| **value == 0.0).count();
    if !is_usable || zeros == 0 || zeros == values.len() {
        return None;
    }
    let count = values.len() as f64;
    let value = summary::mean(values)?;
    let error = summary::standard_deviation(values)? / count.sqrt();
    let confidence = attainable(confidence, values);
    let half = t_quantile(confidence, count - 1.0)? * error;
    Some(Interval { value, low: Some((value - half).max(0.0)), high: Some(value + half), confidence })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// By hand: ln 90, ln 100, ln 110 have mean 4.60184 and deviation 0.10040; 4.30265 x 0.10040 / sqrt 3 = 0.24941.
    #[test]
    fn a_small_sample_by_hand() {
        let result = interval(&[90.0, 100.0, 110.0], 0.95).unwrap();
        assert!((result.value - 99.666).abs() < 1e-3, "{result:?}");
        assert!((result.low.unwrap() - 77.66).abs() < 0.02, "{result:?}");
        assert!((result.high.unwrap() - 127.90).abs() < 0.03, "{result:?}");
    }

    #[test]
    fn what_was_measured_once_has_no_interval() {
        let once = interval(&[48.0], 0.95);
        assert_eq!(once, Some(Interval { value: 48.0, low: None, high: None, confidence: 0.95 }));
        assert_eq!(interval(&[], 0.95), None);
        assert_eq!(interval(&[48.0, 0.0], 0.95), None);
        assert_eq!(interval(&[48.0, -1.0], 0.95), None);
        assert_eq!(interval(&[48.0, f64::NAN], 0.95), None);
        assert_eq!(interval(&[48.0, 47.0], 1.0), None);
    }

    /// By hand: 0, 10, 14 have mean 8 and deviation 7.2111; 4.30265 x 7.2111 / sqrt 3 = 17.913.
    #[test]
    fn a_zero_among_positive_values_has_a_plain_interval() {
        assert_eq!(interval(&[0.0, 10.0, 14.0], 0.95), None);
        let plain = interval_with_zeros(&[0.0, 10.0, 14.0], 0.95).unwrap();
        assert_eq!((plain.value, plain.low), (8.0, Some(0.0)));
        assert!((plain.high.unwrap() - 25.913).abs() < 1e-2, "{plain:?}");
        for others in [&[1.0, 2.0][..], &[0.0, 0.0], &[0.0, -1.0], &[0.0, f64::NAN], &[]] {
            assert_eq!(interval_with_zeros(others, 0.95), None);
        }
    }

    #[test]
    fn two_values_have_their_range() {
        for values in [[570.0, 610.0], [1e-9, 1e9]] {
            let two = interval(&values, 0.95).unwrap();
            let are_near = |one: f64, other: f64| (one / other - 1.0).abs() < 1e-9;
            assert!(are_near(two.low.unwrap(), values[0]) && are_near(two.high.unwrap(), values[1]), "{two:?}");
            assert!(two.confidence <= OF_TWO, "{two:?}");
        }
        let plain = interval_with_zeros(&[0.0, 14.0], 0.95).unwrap();
        assert!(plain.low.unwrap().abs() < 1e-9 && (plain.high.unwrap() - 14.0).abs() < 1e-9, "{plain:?}");
        assert_eq!(interval(&[570.0, 590.0, 610.0], 0.95).map(|three| three.confidence), Some(0.95));
    }

    #[test]
    fn equal_values_are_given_back_exactly() {
        let same = interval(&[0.1, 0.1, 0.1], 0.95).unwrap();
        assert_eq!((same.low, same.value, same.high), (Some(0.1), 0.1, Some(0.1)));
    }

    #[test]
    fn an_interval_beyond_all_numbers_is_absent() {
        let wild = interval(&[1e-300, 1e300], 0.95).unwrap();
        assert_eq!((wild.low, wild.high), (None, None));
        assert!((wild.value - 1.0).abs() < 1e-9, "{wild:?}");
    }

    proptest! {
        #![proptest_config(crate::fixed_cases())]

        #[test]
        fn the_interval_contains_the_estimate(values in prop::collection::vec(1e-3_f64..1e6, 2..12)) {
            let result = interval(&values, 0.95).unwrap();
            prop_assert!(result.low.unwrap_or(0.0) <= result.value);
            prop_assert!(result.high.unwrap_or(f64::INFINITY) >= result.value);
            let (least, most) = summary::range(&values).unwrap();
            prop_assert!(result.value >= least * (1.0 - 1e-12) && result.value <= most * (1.0 + 1e-12));
        }

        #[test]
        fn more_confidence_is_wider_and_the_unit_does_not_matter(
            values in prop::collection::vec(1.0_f64..2.0, 3..8), unit in 1e-3_f64..1e3,
        ) {
            let narrow = interval(&values, 0.90).unwrap();
            let wide = interval(&values, 0.99).unwrap();
            prop_assert!(wide.low <= narrow.low && narrow.high <= wide.high);
            let scaled: Vec<f64> = values.iter().map(|value| value * unit).collect();
            let scaled = interval(&scaled, 0.90).unwrap();
            prop_assert!((scaled.high.unwrap() / narrow.high.unwrap() / unit - 1.0).abs() < 1e-9);
        }
    }
}
