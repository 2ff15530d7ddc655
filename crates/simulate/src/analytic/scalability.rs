//! The universal scalability law: how a rate grows with sessions, as two coefficients.

/// A law that misses its points by less is near them.
const NEAR_PERCENT: f64 = 2.0;

/// X(N) = λ N / (1 + σ (N - 1) + κ N (N - 1)) (Gunther, Guerrilla capacity planning, 2007).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scalability {
    /// Rate of one session, a second.
    pub one_per_s: f64,
    /// Contention σ: the share of work that only one session can do at a time.
    pub contention: f64,
    /// Coherence κ: what each pair of sessions costs.
    pub coherence: f64,
}

impl Scalability {
    /// The law through pairs of sessions and rate, by least squares of N / X with relative weights: in 1/λ, σ/λ and κ/λ it is linear.
    /// Coefficients below zero have no meaning, so one that comes out below zero is zero. `None` with fewer than three numbers of
    /// sessions, and for values that are not above zero.
    pub fn fit(points: &[(f64, f64)]) -> Option<Self> {
        let mut numbers: Vec<f64> = points.iter().map(|(sessions, _)| *sessions).collect();
        numbers.sort_by(f64::total_cmp);
        numbers.dedup();
        let usable = points.iter().all(|(n, x)| *n > 0.0 && *x > 0.0 && n.is_finite() && x.is_finite());
        if numbers.len() < 3 || !usable {
            return None;
        }
        // With all terms first, then without what came out below zero.
        for terms in [[true, true, true], [true, true, false], [true, false, true], [true, false, false]] {
            let found = least_squares(points, terms)?;
            if found[0] > 0.0 && found[1] >= 0.0 && found[2] >= 0.0 {
                let one_per_s = 1.0 / found[0];
                return Some(Self { one_per_s, contention: found[1] * one_per_s, coherence: found[2] * one_per_s });
            }
        }
        None
    }

    /// The rate with so many sessions, a second.
    pub fn rate(&self, sessions: f64) -> f64 {
        let others = sessions - 1.0;
        self.one_per_s * sessions / (1.0 + self.contention * others + self.coherence * sessions * others)
    }

    /// The largest part by which the law misses one of these points, in percent.
    pub fn misses_percent(&self, points: &[(f64, f64)]) -> f64 {
        points.iter().map(|(sessions, rate)| 100.0 * (self.rate(*sessions) / rate - 1.0).abs()).fold(0.0, f64::max)
    }

    /// The number of sessions at which these points turn: where the law has its highest rate, if it is near all of them and a point beyond lies
    /// lower than the highest by more than the law misses. A rate that levels off has such a law as well, and no turn.
    pub fn turn(&self, points: &[(f64, f64)]) -> Option<f64> {
        let (best, missed) = (self.best_sessions()?, self.misses_percent(points));
        let highest = points.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
        let fallen = highest * (1.0 - missed / 100.0);
        let falls = points.iter().any(|(sessions, rate)| *sessions > best && *rate < fallen);
        (missed <= NEAR_PERCENT && falls).then_some(best)
    }

    /// The number of sessions with the highest rate; `None` where more sessions always give more.
    pub fn best_sessions(&self) -> Option<f64> {
        (self.coherence > 0.0).then(|| ((1.0 - self.contention).max(0.0) / self.coherence).sqrt().max(1.0))
    }
}

/// Coefficients of 1, N - 1 and N (N - 1) for N / X; those that are left out are zero.
fn least_squares(points: &[(f64, f64)], terms: [bool; 3]) -> Option<[f64; 3]> {
    let (mut matrix, mut right) = ([[0.0; 3]; 3], [0.0; 3]);
    for (n, x) in points {
        let y = n / x;
        let row = [1.0, n - 1.0, n * (n - 1.0)].map(|value| value / y);
        for i in 0..3 {
            right[i] += row[i];
            for j in 0..3 {
                matrix[i][j] += row[i] * row[j];
            }
        }
    }
    for (i, is_in) in terms.iter().enumerate() {
        if !is_in {
            (0..3).for_each(|j| (matrix[i][j], matrix[j][i]) = (0.0, 0.0));
            (matrix[i][i], right[i]) = (1.0, 0.0);
        }
    }
    solve(matrix, right)
}

/// Gaussian elimination with pivots.
fn solve(mut matrix: [[f64; 3]; 3], mut right: [f64; 3]) -> Option<[f64; 3]> {
    for at in 0..3 {
        let pivot = (at..3).max_by(|a, b| matrix[*a][at].abs().total_cmp(&matrix[*b][at].abs()))?;
        matrix.swap(at, pivot);
        right.swap(at, pivot);
        if matrix[at][at].abs() < 1e-300 {
            return None;
        }
        for below in at + 1..3 {
            let factor = matrix[below][at] / matrix[at][at];
            let row = matrix[at];
            for (value, above) in matrix[below].iter_mut().zip(row) {
                *value -= factor * above;
            }
            right[below] -= factor * right[at];
        }
    }
    for at in (0..3).rev() {
        let known: f64 = (at + 1..3).map(|column| matrix[at][column] * right[column]).sum();
        right[at] = (right[at] - known) / matrix[at][at];
    }
    Some(right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_law_is_found_again() {
        let law = Scalability { one_per_s: 120.0, contention: 0.03, coherence: 0.0004 };
        let points: Vec<(f64, f64)> = [1.0, 4.0, 16.0, 64.0, 128.0].map(|n| (n, law.rate(n))).to_vec();
        let found = Scalability::fit(&points).unwrap();
        assert!((found.one_per_s / 120.0 - 1.0).abs() < 1e-6, "{found:?}");
        assert!((found.contention - 0.03).abs() < 1e-6 && (found.coherence - 0.0004).abs() < 1e-8, "{found:?}");
        assert!((found.best_sessions().unwrap() - (0.97_f64 / 0.0004).sqrt()).abs() < 0.1);
    }

    #[test]
    fn a_rate_that_levels_off_has_no_turn() {
        // Mean value analysis of 1 ms at one CPU and 10 ms of pauses: the rate never falls.
        let level = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0].map(|n: f64| {
            let centre = [crate::analytic::Centre { demand_s: 0.001, servers: 1 }];
            (n, crate::analytic::mean_value_analysis(n as u32, 0.01, &centre).rate)
        });
        let law = Scalability::fit(&level).unwrap();
        assert!(law.best_sessions().is_some_and(|best| best < 32.0), "{law:?}");
        assert_eq!(law.turn(&level), None);
        let law = Scalability { one_per_s: 120.0, contention: 0.03, coherence: 0.004 };
        let turns = [1.0, 4.0, 16.0, 64.0].map(|n| (n, law.rate(n)));
        assert!(law.turn(&turns).is_some_and(|turn| (15.0..16.0).contains(&turn)), "{:?}", law.turn(&turns));
        assert_eq!(law.turn(&turns[..3]), None, "nothing lies behind it");
    }

    #[test]
    fn coefficients_are_never_below_zero_and_too_little_is_no_law() {
        // Faster than linear: no contention can explain that.
        let found = Scalability::fit(&[(1.0, 10.0), (2.0, 21.0), (4.0, 44.0), (8.0, 90.0)]).unwrap();
        assert!(found.contention >= 0.0 && found.coherence >= 0.0, "{found:?}");
        assert_eq!(found.best_sessions(), None);
        assert_eq!(Scalability::fit(&[(1.0, 10.0), (2.0, 19.0), (2.0, 18.0)]), None);
        assert_eq!(Scalability::fit(&[(1.0, 10.0), (2.0, 0.0), (3.0, 18.0)]), None);
    }
}
