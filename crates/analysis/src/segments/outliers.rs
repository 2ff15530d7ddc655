//! Single points that are no part of a series: found by their distance from the median of their neighbourhood.
//!
//! Method: Hampel's identifier on a running median (Davies and Gather, The identification of multiple outliers, JASA 88
//! (1993) 782-792; Pearson, Outliers in process modeling and identification, IEEE Transactions on Control Systems
//! Technology 10 (2002) 55-63). Up to two points in a row are outliers, three are a level.

use crate::summary;

/// Standard deviations of normal noise in one median of its distances from the middle.
const NORMAL_PER_MEDIAN: f64 = 1.4826;

/// Points in a neighbourhood, in which three points of a level are the majority. At the ends it is as wide as elsewhere.
const WINDOW: usize = 5;

/// Distance beyond which a point is an outlier, in standard deviations of the noise from point to point.
const DEVIATIONS: f64 = 5.0;

/// Where more points than this are far off, they are not outliers but what the series is like.
const LARGEST_SHARE: f64 = 0.15;

/// The indices of outliers, and the series with their neighbourhood's median in their place. Deviations below
/// `resolution` are none.
pub(crate) fn replace(values: &[f64], resolution: f64) -> (Vec<usize>, Vec<f64>) {
    let window = WINDOW.min(values.len());
    let medians = (0..values.len()).filter_map(|index| {
        let from = index.saturating_sub(WINDOW / 2).min(values.len() - window);
        summary::median(&values[from..from + window])
    });
    let medians: Vec<f64> = medians.collect();
    let distances: Vec<f64> = values.iter().zip(&medians).map(|(value, median)| (value - median).abs()).collect();
    let limit = (DEVIATIONS * noise_variance(values).sqrt()).max(resolution);
    let far: Vec<usize> = (0..values.len()).filter(|index| distances[*index] > limit).collect();
    if far.len() as f64 > LARGEST_SHARE * values.len() as f64 {
        return (Vec::new(), values.to_vec());
    }
    let mut cleaned = values.to_vec();
    for index in &far {
        cleaned[*index] = medians[*index];
    }
    let far = far.into_iter().filter(|index| !goes_on(values, &mut cleaned, *index, limit)).collect();
    (far, cleaned)
}

/// Whether a point at an end lies on the line through the two next to it: a steep beginning is no outlier. Puts it back.
fn goes_on(values: &[f64], cleaned: &mut [f64], index: usize, limit: f64) -> bool {
    let next = match index {
        0 | 1 => [index + 1, index + 2],
        _ if index + 2 >= values.len() => [index - 1, index - 2],
        _ => return false,
    };
    let on_the_line = |series: &[f64]| (values[index] - (2.0 * series[next[0]] - series[next[1]])).abs() <= limit;
    let goes_on = on_the_line(values);
    if goes_on {
        cleaned[index] = values[index];
    }
    goes_on
}

/// Variance of the noise from point to point, from the median difference of neighbours, which a few outliers or changes
/// of level hardly disturb. It is the variance of the points if they are independent. 0 where most neighbours are
/// equal.
pub(crate) fn noise_variance(values: &[f64]) -> f64 {
    let steps: Vec<f64> = values.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    summary::median(&steps).map_or(0.0, |median| (median * NORMAL_PER_MEDIAN).powi(2) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_or_two_points_are_outliers_and_three_are_a_level() {
        let calm: Vec<f64> = (0..40).map(|index| 100.0 + f64::from(index * 7 % 5)).collect();
        for (width, outliers) in [(1, vec![20]), (2, vec![20, 21]), (3, vec![])] {
            let mut values = calm.clone();
            values[20..20 + width].fill(300.0);
            let (found, cleaned) = replace(&values, 1e-6);
            assert_eq!(found, outliers);
            assert_eq!(cleaned.iter().filter(|value| **value > 200.0).count(), width - outliers.len());
        }
        assert_eq!(replace(&calm, 1e-6), (vec![], calm));
    }

    #[test]
    fn ends_are_no_exception() {
        let calm: Vec<f64> = (0..40).map(|index| 100.0 + f64::from(index * 7 % 5)).collect();
        let mut values = calm.clone();
        (values[0], values[1], values[38], values[39]) = (10.0, 12.0, 300.0, 310.0);
        assert_eq!(replace(&values, 1e-6).0, [0, 1, 38, 39]);
    }

    #[test]
    fn a_steep_beginning_is_none() {
        let values: Vec<f64> = (0..60)
            .map(|index| 100.0 - 40.0 * (-f64::from(index) / 8.0).exp() + f64::from(index * 7 % 5) * 0.2)
            .collect();
        assert_eq!(replace(&values, 1e-6), (vec![], values));
    }

    #[test]
    fn what_is_often_far_off_is_the_series() {
        let values: Vec<f64> = (0..40).map(|index| if index % 5 == 0 { 300.0 } else { 100.0 }).collect();
        assert_eq!(replace(&values, 1e-6), (vec![], values));
    }

    #[test]
    fn changes_beneath_the_resolution_are_none() {
        let mut values = vec![100.0; 40];
        values[7] = 100.000_01;
        assert!(replace(&values, 1e-4).0.is_empty());
        assert_eq!(replace(&values, 1e-7).0, [7]);
    }
}
