//! What a series of evenly spaced points is worth as a sample. Neighbouring points resemble each other (a checkpoint
//! slows ten seconds in a row, not one), so n of them say less about the mean than n independent ones.
//!
//! Method: the variance of a mean of n points is multiplied by the factor that a first-order autoregression gives it. Its
//! coefficient is the first autocorrelation, freed of the bias that a short series gives it (Marriott and Pope, Bias in
//! the estimation of autocorrelations, Biometrika 41 (1954) 390-402). Where means of batches vary more than that model
//! explains, as with a slow component under white noise, their excess is added: batch means over doubling sizes (Conway,
//! Some tactical problems in digital simulation, Management Science 10 (1963) 47-61; Flegal and Jones, Batch means and
//! spectral variance estimators in Markov chain Monte Carlo, Annals of Statistics 38 (2010) 1034-1070). Batches alone
//! would need a hundred times the correlation's length; a run of a minute has less.

use crate::logs::t_quantile;
use crate::summary;

/// Fewer points say nothing of how they depend on each other.
pub const MINIMUM_POINTS: usize = 8;

/// Larger coefficients can't be told from a series without a mean at all.
pub(crate) const LARGEST_COEFFICIENT: f64 = 0.98;

/// Fewer batches have no variance worth the name.
const MINIMUM_BATCHES: usize = 16;

/// A series as a sample of its mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EffectiveSample {
    /// Independent points that would tell as much about the mean; at least 1, at most those of the series.
    pub effective_points: f64,
    /// Arithmetic mean, in the unit of the values.
    pub mean: f64,
    /// Standard error of the mean, in the unit of the values.
    pub standard_error: f64,
}

impl EffectiveSample {
    /// Interval of the mean by Student's t with as many degrees of freedom as there are effective points beside one (at
    /// least one). `None` for a confidence that isn't between 0 and 1.
    pub fn interval(&self, confidence: f64) -> Option<(f64, f64)> {
        let half = t_quantile(confidence, (self.effective_points - 1.0).max(1.0))? * self.standard_error;
        Some((self.mean - half, self.mean + half))
    }
}

/// The effective sample of a series without changes: `values` are evenly spaced in time and in its order.
///
/// Negative autocorrelation counts as none, so a series never counts for more than its points. `None` with fewer than
/// [`MINIMUM_POINTS`], and for values that are not finite. A constant series has an error of 0.
pub fn effective_sample(values: &[f64]) -> Option<EffectiveSample> {
    if values.len() < MINIMUM_POINTS {
        return None;
    }
    let mean = summary::mean(values)?;
    let count = values.len() as f64;
    let variance = summary::standard_deviation(values)?.powi(2);
    if variance == 0.0 {
        return Some(EffectiveSample { effective_points: count, mean, standard_error: 0.0 });
    }
    let coefficient = coefficient(values)?;
    let explained = variance_factor(coefficient, count);
    let factor = (explained * excess_of_batches(values, coefficient, variance)).min(count);
    // The mean follows the points, so their spread around it is too small by what the mean itself varies.
    let true_variance = variance * (count - 1.0) / (count - explained);
    let standard_error = (true_variance * factor / count).sqrt();
    Some(EffectiveSample { effective_points: count / factor, mean, standard_error })
}

/// Correlation of each point with the next one, freed of the bias of short series; from 0 to 0.98. `None` with fewer than
/// [`MINIMUM_POINTS`], for values that are not finite, and for a constant series.
pub fn coefficient(values: &[f64]) -> Option<f64> {
    if values.len() < MINIMUM_POINTS {
        return None;
    }
    let mean = summary::mean(values)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let products: f64 = values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    let count = values.len() as f64;
    let unbiased = (products / squares + 1.0 / count) / (1.0 - 4.0 / count);
    unbiased.is_finite().then(|| unbiased.clamp(0.0, LARGEST_COEFFICIENT))
}

/// By how much a first-order autoregression multiplies the variance of a mean of `count` points: 1 without correlation,
/// at most `count`.
pub(crate) fn variance_factor(coefficient: f64, count: f64) -> f64 {
    let rest = 1.0 - coefficient;
    let factor =
        (1.0 + coefficient) / rest - 2.0 * coefficient * (1.0 - coefficient.powf(count)) / (count * rest * rest);
    factor.clamp(1.0, count)
}

/// How much more the means of batches vary than the autoregression explains; 1 where the difference may be chance (less
/// than two standard errors of a variance).
fn excess_of_batches(values: &[f64], coefficient: f64, variance: f64) -> f64 {
    let sizes = std::iter::successors(Some(2_usize), |size| Some(size * 2));
    let mut largest: f64 = 1.0;
    for size in sizes.take_while(|size| values.len() / size >= MINIMUM_BATCHES) {
        let means: Vec<f64> = values.chunks_exact(size).filter_map(summary::mean).collect();
        let Some(spread) = summary::standard_deviation(&means) else { continue };
        let factor = spread.powi(2) * size as f64 / variance;
        let excess = factor / variance_factor(coefficient, size as f64);
        let chance = 2.0 * (2.0 / (means.len() - 1) as f64).sqrt();
        if excess > 1.0 + chance {
            largest = largest.max(excess);
        }
    }
    largest
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};

    /// Uniform noise through a first-order autoregression.
    fn series(points: usize, coefficient: f64, seed: u64) -> Vec<f64> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut last = 0.0;
        let steps = (0..points + 200).map(|_| {
            last = coefficient * last + random.next_u64() as f64 / u64::MAX as f64 - 0.5;
            last
        });
        steps.skip(200).collect()
    }

    /// Mean of four points with correlations 1/2, 1/4, 1/8: 1 + 2 (3/4 1/2 + 2/4 1/4 + 1/4 1/8) = 2.0625.
    #[test]
    fn the_factor_by_hand() {
        assert!((variance_factor(0.5, 4.0) - 2.0625).abs() < 1e-12);
        assert!((variance_factor(0.0, 60.0) - 1.0).abs() < 1e-12);
        assert!((variance_factor(0.9, 1e6) - 19.0).abs() < 1e-3);
    }

    #[test]
    fn autocorrelated_points_count_for_fewer() {
        let independent = effective_sample(&series(3600, 0.0, 1)).unwrap();
        assert!((3000.0..=3600.0).contains(&independent.effective_points), "{independent:?}");
        let sticky = effective_sample(&series(3600, 0.9, 1)).unwrap();
        // 3600 (1 - 0.9) / (1 + 0.9) = 189.
        assert!((120.0..280.0).contains(&sticky.effective_points), "{sticky:?}");
        assert!(coefficient(&series(60, 0.6, 3)).is_some_and(|c| (0.3..0.85).contains(&c)));
    }

    /// A slow component under white noise: its first autocorrelation is small, its mean is not to be trusted.
    #[test]
    fn batches_see_what_the_first_autocorrelation_hides() {
        let slow = series(3600, 0.99, 5);
        let noise = series(3600, 0.0, 6);
        let both: Vec<f64> = slow.iter().zip(&noise).map(|(slow, noise)| slow * 0.3 + noise * 3.0).collect();
        let sample = effective_sample(&both).unwrap();
        let alone = 3600.0 / variance_factor(coefficient(&both).unwrap(), 3600.0);
        assert!(sample.effective_points < alone / 3.0, "{sample:?} {alone}");
    }

    #[test]
    fn what_has_no_information_has_no_sample() {
        assert_eq!(effective_sample(&[1.0; 7]), None);
        assert_eq!(effective_sample(&[f64::NAN; 60]), None);
        assert_eq!(coefficient(&[5.0; 60]), None);
        let constant = effective_sample(&[5.0; 60]).unwrap();
        assert_eq!((constant.mean, constant.standard_error), (5.0, 0.0));
        assert_eq!(constant.interval(0.95), Some((5.0, 5.0)));
        assert_eq!(constant.interval(1.0), None);
    }

    proptest! {
        #![proptest_config(crate::fixed_cases())]

        #[test]
        fn a_sample_is_within_its_bounds(values in prop::collection::vec(-1e3_f64..1e3, 8..200)) {
            let sample = effective_sample(&values).unwrap();
            prop_assert!(sample.effective_points >= 1.0 && sample.effective_points <= values.len() as f64);
            prop_assert!(sample.standard_error.is_finite() && sample.standard_error >= 0.0);
            let (low, high) = sample.interval(0.95).unwrap();
            prop_assert!(low <= sample.mean && sample.mean <= high);
        }
    }
}
