//! Series that flip between two levels, as a database does that others share a disk with.
//!
//! Method: the values are split where the two parts vary least in themselves (Otsu, A threshold selection method from
//! gray-level histograms, IEEE Transactions on Systems, Man, and Cybernetics 9 (1979) 62-66). They are two levels if
//! the parts are far apart, hardly a point is between them, and the series goes to and fro. Once there is a step, there
//! and back may be a disturbance. A slow series passes through the middle, a mixture of noises has no gap.

use crate::summary;

/// Distance of the levels in standard deviations within them.
const SEPARATION: f64 = 5.0;

/// Share of points in the middle third between the levels that may have been caught in a flip.
const BETWEEN: f64 = 0.1;

/// Flips that make a series one of two levels: each level is left and come back to.
const SWITCHES: usize = 3;

/// Least share of the points at each level; what is rarer is a disturbance.
const LEAST_SHARE: f64 = 0.1;

/// Stays shorter than this are part of what is around them.
const SHORTEST_STAY: usize = 2;

/// A series that flips.
#[derive(Debug, Clone, PartialEq)]
pub struct TwoLevels {
    /// The lower level.
    pub low: Level,
    /// The higher level.
    pub high: Level,
    /// Flips from one to the other.
    pub switches: usize,
    /// True if the first stay is at the higher level; stays of the two levels follow each other in turn.
    pub starts_high: bool,
}

/// One of two levels.
#[derive(Debug, Clone, PartialEq)]
pub struct Level {
    /// Arithmetic mean of its points, in the unit of the series.
    pub mean: f64,
    /// Share of the points that are at this level, between 0 and 1.
    pub share: f64,
    /// Lengths of its stays in points, in order. A stay that begins or ends with the series may have been longer.
    pub dwells: Vec<usize>,
}

/// The two levels of a series without outliers; `None` where it has not two or doesn't flip.
pub(super) fn two_levels(values: &[f64], resolution: f64) -> Option<TwoLevels> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let split = best_split(&sorted)?;
    let (low, high) = sorted.split_at(split);
    let (low_mean, high_mean) = (summary::mean(low)?, summary::mean(high)?);
    let gap = high_mean - low_mean;
    let squares = |part: &[f64], mean: f64| part.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    let within = (squares(low, low_mean) + squares(high, high_mean)) / (values.len() - 2) as f64;
    let between = values.iter().filter(|value| ((*value - low_mean) / gap - 0.5).abs() < 1.0 / 6.0).count();
    if gap <= SEPARATION * within.sqrt().max(resolution) || between as f64 > BETWEEN * values.len() as f64 {
        return None;
    }
    let stays = stays(values, low_mean, gap);
    let switches = stays.len() - 1;
    let level = |mean: f64, is_high: bool| {
        let own = stays.iter().filter(|stay| stay.is_high == is_high);
        let dwells: Vec<usize> = own.map(|stay| stay.to - stay.from).collect();
        let share = dwells.iter().sum::<usize>() as f64 / values.len() as f64;
        Level { mean, share, dwells }
    };
    let (low, high) = (level(low_mean, false), level(high_mean, true));
    let both = low.share.min(high.share) >= LEAST_SHARE;
    (both && switches >= SWITCHES).then(|| TwoLevels { low, high, switches, starts_high: stays[0].is_high })
}

/// How many of the sorted values belong to the lower part. `None` if all are equal or there are too few.
fn best_split(sorted: &[f64]) -> Option<usize> {
    let total: f64 = sorted.iter().sum();
    let count = sorted.len() as f64;
    let mut below = 0.0;
    let mut best = None;
    for split in 1..sorted.len() {
        below += sorted[split - 1];
        let low = split as f64;
        // The weighted square of the distance between the means: largest where the parts vary least.
        let distance = below / low - (total - below) / (count - low);
        let score = low * (count - low) * distance * distance;
        if sorted[split] > sorted[split - 1] && best.is_none_or(|(most, _)| score > most) {
            best = Some((score, split));
        }
    }
    best.map(|(_, split)| split)
}

/// A stretch on one side of the middle.
struct Stay {
    from: usize,
    to: usize,
    is_high: bool,
}

/// Stays in order; the short ones are given to what was before them, at the beginning to what comes after. A stay ends
/// where the series is in the other level's third, so that noise on the way from one to the other is no flip.
fn stays(values: &[f64], low: f64, gap: f64) -> Vec<Stay> {
    let mut is_high = values[0] > low + gap / 2.0;
    let sides = values.iter().map(|value| {
        let height = (value - low) / gap;
        is_high = if is_high { height > 1.0 / 3.0 } else { height > 2.0 / 3.0 };
        is_high
    });
    let sides: Vec<bool> = sides.collect();
    let mut stays: Vec<Stay> = Vec::new();
    let mut from = 0;
    for run in sides.chunk_by(|a, b| a == b) {
        let (to, is_high) = (from + run.len(), run[0]);
        match stays.last_mut() {
            Some(last) if run.len() < SHORTEST_STAY || last.is_high == is_high => last.to = to,
            Some(last) if last.to - last.from < SHORTEST_STAY => (last.to, last.is_high) = (to, is_high),
            _ => stays.push(Stay { from, to, is_high }),
        }
        from = to;
    }
    stays
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(stays: &[(usize, f64)]) -> Vec<f64> {
        let values = stays.iter().flat_map(|(points, level)| vec![*level; *points]);
        values.enumerate().map(|(index, level)| level + (index % 3) as f64).collect()
    }

    #[test]
    fn levels_shares_and_stays_are_found() {
        let values = pattern(&[(12, 200.0), (6, 500.0), (9, 200.0), (3, 500.0)]);
        let found = two_levels(&values, 1e-6).unwrap();
        assert_eq!(
            (found.starts_high, found.low.dwells, found.high.dwells, found.switches),
            (false, vec![12, 9], vec![6, 3], 3)
        );
        assert!((found.low.share - 0.7).abs() < 1e-12 && (found.high.share - 0.3).abs() < 1e-12);
        assert!((found.low.mean - 201.0).abs() < 0.2 && (found.high.mean - 501.0).abs() < 0.2);
    }

    #[test]
    fn a_step_a_disturbance_and_a_slope_are_not_two_levels() {
        assert_eq!(two_levels(&pattern(&[(20, 200.0), (20, 500.0)]), 1e-6), None);
        assert_eq!(two_levels(&pattern(&[(20, 200.0), (20, 500.0), (20, 200.0)]), 1e-6), None);
        let wave: Vec<f64> = (0..60).map(|index| (f64::from(index) / 5.0).sin()).collect();
        assert_eq!(two_levels(&wave, 1e-6), None);
        assert_eq!(two_levels(&[1.0; 40], 1e-6), None);
    }

    #[test]
    fn noise_on_the_way_is_no_flip() {
        let way = (0..40).map(|index| 200.0 + 300.0 * (f64::from(index) / 40.0) + 40.0 * f64::from(index % 5 - 2));
        let values: Vec<f64> = vec![200.0; 100].into_iter().chain(way).chain(vec![500.0; 200]).collect();
        assert_eq!(stays(&values, 200.0, 300.0).len(), 2);
    }

    #[test]
    fn single_points_are_no_stay() {
        let values = pattern(&[(1, 500.0), (12, 200.0), (6, 500.0), (1, 200.0), (6, 500.0), (9, 200.0), (4, 500.0)]);
        let found = two_levels(&values, 1e-6).unwrap();
        assert_eq!((found.starts_high, found.low.dwells, found.high.dwells), (false, vec![13, 9], vec![13, 4]));
    }
}
