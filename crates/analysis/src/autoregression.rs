//! Levels and lines under noise in which each point follows a part of the one before it.
//!
//! Method: generalised least squares for a first-order autoregression: each value less the coefficient times the one
//! before, the first one of a stretch weighted instead (Prais and Winsten, Trend estimators and serial correlation,
//! Cowles Commission discussion paper 383, 1954). Segments are taken as independent stretches with one coefficient and
//! one noise, which keeps their cost a sum. The idea of cutting a whitened series is from Chakar and others, A robust
//! approach for estimating change-points in the mean of an AR(1) process, Bernoulli 23 (2017) 1408-1447.

use crate::segments::outliers;

/// Coefficients that are tried.
pub(crate) const COEFFICIENTS: [f64; 12] = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.87, 0.92, 0.96];

/// A series under a given coefficient.
pub(crate) struct Whitened<'a> {
    values: &'a [f64],
    coefficient: f64,
    /// Sums of the whitened values before an index, and of their squares.
    sums: Vec<f64>,
    squares: Vec<f64>,
}

impl<'a> Whitened<'a> {
    /// `values` should be centred, so that sums of squares keep their digits.
    pub(crate) fn of(values: &'a [f64], coefficient: f64) -> Self {
        let (mut sums, mut squares) = (vec![0.0; values.len() + 1], vec![0.0; values.len() + 1]);
        for index in 1..values.len() {
            let whitened = values[index] - coefficient * values[index - 1];
            sums[index + 1] = sums[index] + whitened;
            squares[index + 1] = squares[index] + whitened * whitened;
        }
        Self { values, coefficient, sums, squares }
    }

    /// How many points there are.
    pub(crate) fn points(&self) -> usize {
        self.values.len()
    }

    /// What a stretch adds to twice the negative logarithm of the likelihood beside its squares.
    pub(crate) fn cost_of_stretch(&self) -> f64 {
        -(1.0 - self.coefficient * self.coefficient).ln()
    }

    /// The level of the stretch from..to.
    pub(crate) fn level(&self, from: usize, to: usize) -> f64 {
        self.product(from, to) / self.weight(to - from)
    }

    /// Squares of the noise that the stretch from..to leaves around its level.
    pub(crate) fn cost(&self, from: usize, to: usize) -> f64 {
        let first = self.first_weight() * self.values[from] * self.values[from];
        let all = first + self.squares[to] - self.squares[from + 1];
        (all - self.product(from, to).powi(2) / self.weight(to - from)).max(0.0)
    }

    /// The variance of the noise over this is the variance of a level from `points` points.
    pub(crate) fn weight(&self, points: usize) -> f64 {
        self.first_weight() + (points - 1) as f64 * (1.0 - self.coefficient).powi(2)
    }

    /// Squares of the noise that are left if the whole series, with the noise going on, has another level from `start` on
    /// (which is not 0). Unlike two stretches it knows that the step is within a point.
    pub(crate) fn cost_of_step(&self, start: usize) -> f64 {
        let (points, rest) = (self.values.len(), 1.0 - self.coefficient);
        let after = (points - start - 1) as f64;
        let (ones, value) = (self.weight(points), self.product(0, points));
        let cross = rest + after * rest * rest;
        let own = 1.0 + after * rest * rest;
        let product = self.sums[start + 1] - self.sums[start] + rest * (self.sums[points] - self.sums[start + 1]);
        let free = own - cross * cross / ones;
        let gain = (product - cross * value / ones).powi(2) / free;
        (self.cost(0, points) - gain).max(0.0)
    }

    /// The variance of the noise, from differences of neighbours, which a few changes of level don't disturb. 0 where most
    /// of them are equal.
    pub(crate) fn robust_variance(&self) -> f64 {
        let whitened: Vec<f64> = self.sums.windows(2).skip(1).map(|pair| pair[1] - pair[0]).collect();
        outliers::noise_variance(&whitened)
    }

    fn first_weight(&self) -> f64 {
        1.0 - self.coefficient * self.coefficient
    }

    fn product(&self, from: usize, to: usize) -> f64 {
        let rest = self.sums[to] - self.sums[from + 1];
        self.first_weight() * self.values[from] + (1.0 - self.coefficient) * rest
    }
}

/// A level and a multiple of a regressor, fitted under a given coefficient.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line {
    pub(crate) coefficient: f64,
    pub(crate) level: f64,
    pub(crate) slope: f64,
    /// Squares of the noise that are left.
    pub(crate) squares: f64,
    /// The variance of the slope over that of the noise.
    pub(crate) slope_weight: f64,
    /// Logarithm of the determinant of the two regressors.
    determinant_log: f64,
}

impl Line {
    /// `None` where the regressor doesn't vary.
    pub(crate) fn of(values: &[f64], regressor: &[f64], coefficient: f64) -> Option<Self> {
        let first_root = (1.0 - coefficient * coefficient).sqrt();
        let whitened = |of: &[f64], index: usize| match index {
            0 => of[0] * first_root,
            _ => of[index] - coefficient * of[index - 1],
        };
        let [mut ones, mut cross, mut own, mut value, mut product, mut squares] = [0.0; 6];
        for index in 0..values.len() {
            let one = if index == 0 { first_root } else { 1.0 - coefficient };
            let (x, y) = (whitened(regressor, index), whitened(values, index));
            ones += one * one;
            cross += one * x;
            own += x * x;
            value += one * y;
            product += x * y;
            squares += y * y;
        }
        let determinant = ones * own - cross * cross;
        if determinant <= 1e-9 * ones * own {
            return None;
        }
        let slope = (ones * product - cross * value) / determinant;
        let level = (own * value - cross * product) / determinant;
        let left = squares - level * value - slope * product;
        let slope_weight = ones / determinant;
        Some(Self {
            coefficient,
            level,
            slope,
            squares: left.max(0.0),
            slope_weight,
            determinant_log: determinant.ln(),
        })
    }

    /// Twice the negative logarithm of the likelihood, but for a constant.
    pub(crate) fn criterion(&self, points: usize, floor: f64) -> f64 {
        let points = points as f64;
        points * (self.squares.max(floor) / points).ln() - (1.0 - self.coefficient.powi(2)).ln()
    }

    /// The same for the likelihood of what the two regressors leave over, by which a coefficient isn't drawn towards 0
    /// (Cheang and Reinsel, Bias reduction of autoregressive estimates in time series regression model through restricted
    /// maximum likelihood, JASA 95 (2000) 1173-1184).
    pub(crate) fn restricted_criterion(&self, points: usize, floor: f64) -> f64 {
        let points = points as f64;
        (points - 2.0) * self.squares.max(floor).ln() + self.determinant_log - (1.0 - self.coefficient.powi(2)).ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1, 3, 2 at 1/2: whitened 5/2 and 1/2, first weight 3/4; weight 5/4, product 3/4 + 3/2 = 9/4, level 9/5;
    /// squares 3/4 + 25/4 + 1/4 - 81/20 = 16/5.
    #[test]
    fn a_level_by_hand() {
        let series = Whitened::of(&[1.0, 3.0, 2.0], 0.5);
        assert!((series.level(0, 3) - 1.8).abs() < 1e-12);
        assert!((series.cost(0, 3) - 3.2).abs() < 1e-12);
        assert!((series.weight(3) - 1.25).abs() < 1e-12);
        // A stretch of its own: 3, 2 with weight 1, product 9/4 + 1/4, squares 27/4 + 1/4 - 25/4.
        assert!((series.level(1, 3) - 2.5).abs() < 1e-12);
        assert!((series.cost(1, 3) - 0.75).abs() < 1e-12);
    }

    #[test]
    fn a_step_is_a_line_on_a_step() {
        let values = [1.0, -2.0, 0.5, 3.0, 4.5, 3.5, 5.0, 2.5];
        for coefficient in COEFFICIENTS {
            let series = Whitened::of(&values, coefficient);
            for start in 1..values.len() {
                let step: Vec<f64> = (0..values.len()).map(|index| f64::from(index >= start)).collect();
                let line = Line::of(&values, &step, coefficient).unwrap();
                assert!((line.squares - series.cost_of_step(start)).abs() < 1e-9, "{coefficient} {start}");
            }
        }
    }

    #[test]
    fn a_line_is_found_under_any_coefficient() {
        let times: Vec<f64> = (0..20).map(f64::from).collect();
        let values: Vec<f64> = times.iter().map(|time| 3.0 - 0.5 * time).collect();
        for coefficient in COEFFICIENTS {
            let line = Line::of(&values, &times, coefficient).unwrap();
            assert!((line.slope + 0.5).abs() < 1e-9 && (line.level - 3.0).abs() < 1e-9, "{line:?}");
            assert!(line.squares < 1e-9);
        }
        assert!(Line::of(&values, &[1.0; 20], 0.3).is_none());
    }
}
