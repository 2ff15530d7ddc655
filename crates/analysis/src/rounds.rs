//! When rounds of the same work have reached a steady state, by the rule of the Storage Networking Industry Association (its definition of
//! steady state in the Solid State Storage Performance Test Specification): over a window of five rounds the values lie within 20 % of
//! their mean, and the line that fits them best moves by no more than 10 % of it.

/// Rounds that are looked at together.
pub const WINDOW: usize = 5;

/// How far apart the highest and the lowest value may lie, as a part of the mean.
const MOST_RANGE: f64 = 0.20;
/// How far the fitted line may move over the window, as a part of the mean.
const MOST_SLOPE: f64 = 0.10;

/// Whether the last rounds are steady; with fewer than [`WINDOW`] nobody knows, so they are not.
pub fn is_steady(values: &[f64]) -> bool {
    let Some(window) = values.len().checked_sub(WINDOW).map(|from| &values[from..]) else { return false };
    let mean = window.iter().sum::<f64>() / WINDOW as f64;
    if !(mean > 0.0 && mean.is_finite()) {
        return false;
    }
    let (low, high) =
        window.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(*value), high.max(*value)));
    // Positions around their middle, so that the slope is the sum of products over the sum of squares.
    let middle = (WINDOW - 1) as f64 / 2.0;
    let place = |at: usize| at as f64 - middle;
    let products: f64 = window.iter().enumerate().map(|(at, value)| place(at) * value).sum();
    let squares: f64 = (0..WINDOW).map(|at| place(at).powi(2)).sum();
    let moved = (products / squares).abs() * (WINDOW - 1) as f64;
    high - low <= MOST_RANGE * mean && moved <= MOST_SLOPE * mean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_of_the_rule_are_kept_to_the_digit() {
        // A range of 20 % of the mean of 100, in an order that has no slope.
        assert!(is_steady(&[90.0, 110.0, 100.0, 110.0, 90.0]));
        assert!(!is_steady(&[89.0, 111.0, 100.0, 111.0, 89.0]));
        // A line that moves by 10 %.
        assert!(is_steady(&[95.0, 97.5, 100.0, 102.5, 105.0]));
        assert!(!is_steady(&[94.0, 97.0, 100.0, 103.0, 106.0]));
        assert!(!is_steady(&[100.0; 4]) && !is_steady(&[0.0; 5]) && !is_steady(&[f64::NAN; 5]));
    }

    /// Fifty series that fall from a fresh device's rate to a steady one, each at another speed, to another level, with noise of its own.
    #[test]
    fn of_fifty_series_each_is_steady_where_its_fall_has_ended() {
        for seed in 0..50_u64 {
            let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
            let mut random = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) as f64 / f64::from(1_u32 << 31)
            };
            let (level, fresh) = (1_000.0 + 9_000.0 * random(), 2.0 + 8.0 * random());
            let (rounds, noise) = (1.0 + 5.0 * random(), 0.03 * random());
            let at = |round: usize| 1.0 + (fresh - 1.0) * (-(round as f64) / rounds).exp();
            let values: Vec<f64> =
                (0..40).map(|round| level * at(round) * (1.0 + noise * (2.0 * random() - 1.0))).collect();
            let found = (WINDOW..=values.len()).find(|rounds| is_steady(&values[..*rounds])).unwrap();
            // Over a window the slowest falls come down by half of what is left, and the rule lets them fall by a tenth, noise apart. So the
            // window begins within 40 % of the level, and it ends not long after the fall has.
            let begun = at(found - WINDOW);
            let ended = (0..40).find(|round| at(*round) <= 1.02).unwrap();
            assert!(begun <= 1.4 && found <= ended + WINDOW + 1, "{seed}: {found} rounds, {begun}, {ended}");
        }
    }
}
