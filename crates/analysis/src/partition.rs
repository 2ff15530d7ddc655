//! Cuts a series into segments with a constant level each: which cuts are worth their price.
//!
//! Method: optimal partitioning (Jackson and others, An algorithm for optimal partitioning of data on an interval, IEEE
//! Signal Processing Letters 12 (2005) 105-108) of a cost that is a sum over segments. The noise is not known, so the
//! choice is by the logarithm of what squares are left, as with the Schwarz criterion (Yao, Estimating the number of
//! change-points via Schwarz' criterion, Statistics and Probability Letters 6 (1988) 181-189). The search is repeated
//! with the noise that the cuts so far leave. The price of a cut is that of a t-test at each possible place
//! (Bonferroni), so that it holds in short series as well.

use crate::logs::t_quantile;

/// Searches with a new estimate of the noise, at most.
const ROUNDS: usize = 6;

/// A choice of cuts.
#[derive(Debug, Clone)]
pub(crate) struct Cuts {
    /// Where segments begin, the first one (at 0) left out.
    pub(crate) starts: Vec<usize>,
    /// Sum of squares that the segments leave.
    pub(crate) squares: f64,
    /// Twice the negative logarithm of the likelihood, and the price of the cuts: less is better.
    pub(crate) criterion: f64,
}

/// What is searched, and by which measure.
pub(crate) struct Search<Cost: Fn(usize, usize) -> f64> {
    pub(crate) points: usize,
    /// Least points in a segment.
    pub(crate) minimum: usize,
    /// What a cut must gain in terms of the criterion.
    pub(crate) price: f64,
    /// Squares below this are beneath the resolution of the values.
    pub(crate) floor: f64,
    /// Squares that are left in the segment from..to by its own level.
    pub(crate) cost: Cost,
}

/// The price of a cut, such that noise pays it with a probability of `significance` at most. `None` where no cut is
/// possible.
pub(crate) fn price_of_cut(points: usize, minimum: usize, significance: f64) -> Option<f64> {
    let places = (points + 1).checked_sub(2 * minimum)?;
    price_of_test(points, significance / places as f64)
}

/// What one more coefficient must gain in terms of the criterion to be significant by a t-test.
pub(crate) fn price_of_test(points: usize, significance: f64) -> Option<f64> {
    let freedom = points.checked_sub(2).filter(|freedom| *freedom > 0)? as f64;
    let quantile = t_quantile(1.0 - significance, freedom)?;
    Some(points as f64 * (quantile * quantile / freedom).ln_1p())
}

impl<Cost: Fn(usize, usize) -> f64> Search<Cost> {
    /// The best cuts, none if that is best. `variance` is a first guess of the noise that should not be misled by cuts.
    pub(crate) fn best(&self, variance: f64) -> Cuts {
        let mut best = self.judged(Vec::new());
        let mut variance = variance.max(self.floor / self.points as f64);
        let mut last: Option<Vec<usize>> = None;
        for _ in 0..ROUNDS {
            let cuts = self.without_weak(self.judged(self.partition(self.price * variance)));
            if last.as_ref() == Some(&cuts.starts) {
                break;
            }
            let freedom = self.points.saturating_sub(cuts.starts.len() + 1).max(1);
            variance = (cuts.squares / freedom as f64).max(self.floor / self.points as f64);
            last = Some(cuts.starts.clone());
            if cuts.criterion < best.criterion {
                best = cuts;
            }
        }
        best
    }

    /// Cuts with the least sum of cost and `price` (in squares) for each.
    fn partition(&self, price: f64) -> Vec<usize> {
        let mut least = vec![f64::INFINITY; self.points + 1];
        let mut start_of = vec![0_usize; self.points + 1];
        least[0] = -price;
        for to in self.minimum..=self.points {
            for from in (0..=to - self.minimum).filter(|from| *from == 0 || *from >= self.minimum) {
                let sum = least[from] + (self.cost)(from, to) + price;
                if sum < least[to] {
                    (least[to], start_of[to]) = (sum, from);
                }
            }
        }
        let mut starts = Vec::new();
        let mut at = start_of[self.points];
        while at > 0 {
            starts.push(at);
            at = start_of[at];
        }
        starts.reverse();
        starts
    }

    /// Takes away cuts as long as that makes the choice better.
    fn without_weak(&self, mut cuts: Cuts) -> Cuts {
        loop {
            let fewer = (0..cuts.starts.len()).map(|left_out| {
                let mut starts = cuts.starts.clone();
                starts.remove(left_out);
                self.judged(starts)
            });
            match fewer.min_by(|a, b| a.criterion.total_cmp(&b.criterion)) {
                Some(better) if better.criterion < cuts.criterion => cuts = better,
                _ => return cuts,
            }
        }
    }

    fn judged(&self, starts: Vec<usize>) -> Cuts {
        let squares = segments(&starts, self.points).map(|(from, to)| (self.cost)(from, to)).sum::<f64>();
        let points = self.points as f64;
        let criterion = points * (squares.max(self.floor) / points).ln() + self.price * starts.len() as f64;
        Cuts { starts, squares, criterion }
    }
}

/// The segments between cuts, as from..to.
pub(crate) fn segments(starts: &[usize], points: usize) -> impl Iterator<Item = (usize, usize)> {
    let from = std::iter::once(0).chain(starts.iter().copied());
    let to = starts.iter().copied().chain(std::iter::once(points));
    from.zip(to)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn squares(values: &[f64]) -> f64 {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        values.iter().map(|value| (value - mean).powi(2)).sum()
    }

    fn cuts(values: &[f64]) -> Cuts {
        let price = price_of_cut(values.len(), 3, 0.01).unwrap();
        let cost = |from: usize, to: usize| squares(&values[from..to]);
        Search { points: values.len(), minimum: 3, price, floor: 1e-12, cost }.best(0.01)
    }

    #[test]
    fn levels_are_cut_apart() {
        let noise = [0.1, -0.1, 0.05, -0.05, 0.0, 0.1, -0.1, 0.02];
        let levels = [5.0, 9.0, 5.0].map(|level| noise.map(|noise| level + noise)).concat();
        assert_eq!(cuts(&levels).starts, [8, 16]);
        assert!(cuts(&noise.repeat(4)).starts.is_empty());
        // Two points are less than a segment.
        let short = [&noise[..], &[4.0, 4.1], &noise[..]].concat();
        assert!(cuts(&short).starts.iter().all(|start| *start >= 3), "{:?}", cuts(&short));
    }

    /// t = 2.1009 with 18 degrees of freedom encloses 95 %: 20 ln(1 + 4.4138 / 18) = 4.386.
    #[test]
    fn the_price_of_a_test_by_hand() {
        assert!((price_of_test(20, 0.05).unwrap() - 4.386).abs() < 2e-3);
        assert_eq!(price_of_cut(5, 3, 0.05), None);
        assert_eq!(price_of_test(2, 0.05), None);
        assert!(price_of_cut(60, 5, 0.05) > price_of_cut(60, 20, 0.05));
    }

    #[test]
    fn segments_lie_side_by_side() {
        assert_eq!(segments(&[3, 7], 9).collect::<Vec<_>>(), [(0, 3), (3, 7), (7, 9)]);
        assert_eq!(segments(&[], 9).collect::<Vec<_>>(), [(0, 9)]);
    }
}
