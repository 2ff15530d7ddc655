//! Samples of positive values on the logarithmic scale. There a factor is a distance, and a normal distribution is a
//! fair assumption for rates and times. Also the quantile of Student's t that their intervals are made of.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Mean and variance of the logarithms of a sample, counted from the logarithm of its first value, so that equal values
/// give exactly that value back.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogSample {
    pub(crate) first: f64,
    pub(crate) mean: f64,
    /// Variance of the logarithms (divisor n - 1); absent for a single value.
    pub(crate) variance: Option<f64>,
    pub(crate) count: f64,
}

impl LogSample {
    /// `None` for no values, and where one of them is not a positive finite number.
    pub(crate) fn of(values: &[f64]) -> Option<Self> {
        let first = *values.first()?;
        if !values.iter().all(|value| value.is_finite() && *value > 0.0) {
            return None;
        }
        let logs: Vec<f64> = values.iter().map(|value| value.ln() - first.ln()).collect();
        let count = logs.len() as f64;
        let mean = logs.iter().sum::<f64>() / count;
        let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
        let variance = (logs.len() >= 2).then(|| squares / (count - 1.0));
        Some(Self { first, mean, variance, count })
    }
}

/// The quantile of Student's t that encloses `confidence` (between 0 and 1) on both sides. `None` outside of the domain.
pub(crate) fn t_quantile(confidence: f64, degrees_of_freedom: f64) -> Option<f64> {
    if !(confidence > 0.0 && confidence < 1.0) {
        return None;
    }
    let quantile = StudentsT::new(0.0, 1.0, degrees_of_freedom).ok()?.inverse_cdf(0.5 + confidence / 2.0);
    quantile.is_finite().then_some(quantile)
}

/// The probability that Student's t exceeds `value`.
pub(crate) fn t_above(value: f64, degrees_of_freedom: f64) -> Option<f64> {
    let above = StudentsT::new(0.0, 1.0, degrees_of_freedom).ok()?.sf(value);
    above.is_finite().then_some(above)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Table of the two-sided 95 % and 99 % quantiles, as in every textbook.
    #[test]
    fn quantiles_agree_with_the_table() {
        for (confidence, freedom, expected) in [
            (0.95, 1.0, 12.706),
            (0.95, 2.0, 4.303),
            (0.95, 4.0, 2.776),
            (0.95, 9.0, 2.262),
            (0.95, 120.0, 1.980),
            (0.99, 2.0, 9.925),
        ] {
            let quantile = t_quantile(confidence, freedom).unwrap();
            assert!((quantile - expected).abs() < 6e-4, "{confidence} {freedom}: {quantile}");
        }
        assert_eq!(t_quantile(1.0, 5.0), None);
        assert_eq!(t_quantile(0.95, 0.0), None);
        assert_eq!(t_quantile(f64::NAN, 5.0), None);
    }
}
