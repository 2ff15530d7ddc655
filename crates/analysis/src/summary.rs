//! Plain descriptions of a list of values: median, mean, spread. No assumption about how the values are distributed.
//!
//! Every function gives `None` for an empty list and for one with a value that is not finite.

/// Arithmetic mean, in the unit of the values.
pub fn mean(values: &[f64]) -> Option<f64> {
    let values = usable(values)?;
    Some(values.iter().sum::<f64>() / values.len() as f64)
}

/// Median: the middle value, or the mean of the two in the middle.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = usable(values)?.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len().is_multiple_of(2) {
        Some(f64::midpoint(sorted[middle - 1], sorted[middle]))
    } else {
        Some(sorted[middle])
    }
}

/// Standard deviation of the sample (divisor n - 1). `None` with fewer than two values: one value has no spread.
pub fn standard_deviation(values: &[f64]) -> Option<f64> {
    let mean = mean(values)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (values.len() >= 2).then(|| (squares / (values.len() - 1) as f64).sqrt())
}

/// Coefficient of variation: standard deviation in percent of the mean. `None` unless the mean is positive.
pub fn coefficient_of_variation_percent(values: &[f64]) -> Option<f64> {
    let mean = mean(values).filter(|mean| *mean > 0.0)?;
    Some(standard_deviation(values)? / mean * 100.0)
}

/// Smallest and largest value.
pub fn range(values: &[f64]) -> Option<(f64, f64)> {
    let values = usable(values)?;
    Some(values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(*v), high.max(*v))))
}

fn usable(values: &[f64]) -> Option<&[f64]> {
    (!values.is_empty() && values.iter().all(|value| value.is_finite())).then_some(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_sample_is_described() {
        let values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
        assert_eq!(mean(&values), Some(5.0));
        assert_eq!(median(&values), Some(4.5));
        assert_eq!(median(&values[..7]), Some(4.0));
        assert_eq!(range(&values), Some((2.0, 9.0)));
        let deviation = standard_deviation(&values).unwrap();
        assert!((deviation - (32.0_f64 / 7.0).sqrt()).abs() < 1e-12, "{deviation}");
        let variation = coefficient_of_variation_percent(&values).unwrap();
        assert!((variation - deviation * 20.0).abs() < 1e-12, "{variation}");
    }

    #[test]
    fn what_is_not_known_is_absent() {
        assert_eq!((mean(&[]), median(&[]), range(&[])), (None, None, None));
        assert_eq!(mean(&[1.0, f64::NAN]), None);
        assert_eq!(median(&[f64::INFINITY]), None);
        assert_eq!(standard_deviation(&[3.0]), None);
        assert_eq!(coefficient_of_variation_percent(&[-1.0, 1.0]), None);
    }
}
