//! SQLIO's histogram: whole percents of the operations, by the whole millisecond that each took. What it can't have come from.

/// A part was rounded to a whole percent by so much at most.
const ROUNDED: f64 = 0.5;

/// Between which percentages a part lies.
fn ends(part: f64) -> (f64, f64) {
    ((part - ROUNDED).max(0.0), part + ROUNDED)
}

/// True if parts of all operations can be rounded to these.
pub(super) fn is_whole(percent: &[f64]) -> bool {
    let (low, high) =
        percent.iter().map(|part| ends(*part)).fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    (low..=high).contains(&100.0)
}

/// The least mean that the operations can have, in milliseconds: each at the beginning of its part, and as many in the early parts as
/// rounding leaves room for.
pub(super) fn least_mean_ms(percent: &[f64]) -> f64 {
    let surely: f64 = percent.iter().map(|part| ends(*part).0).sum();
    let mut left = (100.0 - surely).max(0.0);
    let mut sum = 0.0;
    for (ms, part) in percent.iter().enumerate() {
        let (low, high) = ends(*part);
        let more = left.min(high - low);
        left -= more;
        sum += (low + more) * ms as f64;
    }
    sum / 100.0
}

/// Says of a part that it is not within the shortest and the longest time, both rounded to whole milliseconds as well.
pub(super) fn outside(percent: &[f64], min_ms: f64, max_ms: f64) -> Option<String> {
    let parts = || percent.iter().enumerate().filter(|(_, part)| **part > ROUNDED).map(|(ms, part)| (ms as f64, part));
    // A millisecond each way is the rounding of either.
    let early = parts().find(|(ms, _)| ms + 1.0 < min_ms);
    let late = parts().find(|(ms, _)| ms - 1.0 > max_ms);
    let early = early
        .map(|(ms, part)| format!("{part} % of the histogram are at {ms} ms, and the shortest time is {min_ms} ms"));
    early.or_else(|| {
        late.map(|(ms, part)| format!("{part} % of the histogram are at {ms} ms, and the longest time is {max_ms} ms"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_whole_percents_that_were_rounded() {
        // Forty parts of 2.5 % may all be rounded up or down, and eight that come to 110 % can't be.
        assert!(is_whole(&[2.0; 40]) && is_whole(&[3.0; 40]) && is_whole(&[100.0]) && is_whole(&[33.0; 3]));
        assert!(!is_whole(&[14.0, 14.0, 14.0, 14.0, 14.0, 14.0, 14.0, 12.0]) && !is_whole(&[99.0]));
    }

    #[test]
    fn the_least_mean_is_that_of_early_operations() {
        assert!((least_mean_ms(&[0.0, 0.0, 100.0]) - 1.99).abs() < 1e-9, "half a percent may be at 0 ms");
        assert!((least_mean_ms(&[100.0, 0.0]) - 0.0).abs() < 1e-9);
    }

    #[test]
    fn parts_lie_between_the_shortest_and_the_longest_time() {
        let percent = [0.0, 5.0, 90.0, 0.0, 0.0, 5.0];
        assert_eq!(outside(&percent, 2.0, 4.0), None, "both may be rounded");
        assert_eq!(
            outside(&percent, 3.0, 5.0).unwrap(),
            "5 % of the histogram are at 1 ms, and the shortest time is 3 ms"
        );
        assert_eq!(
            outside(&percent, 0.0, 3.0).unwrap(),
            "5 % of the histogram are at 5 ms, and the longest time is 3 ms"
        );
    }
}
