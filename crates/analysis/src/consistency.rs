//! How steady a run was: the rolling average of its points, and its points spread over minutes.
//!
//! Reference: the views of sections 2.9 and 2.10; the window is A17 (ten chunks of 100 MB, so about 1 GB).

use std::collections::BTreeMap;

use plimsoll_measurement::units::mb_per_minute;
use plimsoll_measurement::{Metric, Minute, Point};

/// Points in a rolling average where nothing else is asked for.
pub const DEFAULT_WINDOW: usize = 10;

const NANOS_PER_SECOND: f64 = 1e9;
const NANOS_PER_MINUTE: u64 = 60_000_000_000;

/// Arithmetic mean of each value and the `window - 1` before it, one per value; the first ones have fewer before them.
/// Smooths a volatile series for the eye. A window of 0 counts as 1.
pub fn rolling_average(values: &[f64], window: usize) -> Vec<f64> {
    let window = window.max(1);
    let mean = |end: usize| {
        let part = &values[(end + 1).saturating_sub(window)..=end];
        part.iter().sum::<f64>() / part.len() as f64
    };
    (0..values.len()).map(mean).collect()
}

/// Spreads the content of points evenly over the seconds they took and adds it up by minutes of the repetition.
///
/// Gaps between points are not measured time: `seconds` of a minute are those in which a point was under way (once
/// where points overlap), and the rate is over those. A minute without any is absent. Points with unknown content, and
/// points that took no time, have no rate and are left out. The minutes' bytes add up to those of the points exactly.
pub fn minutes(points: &[Point]) -> Vec<Minute> {
    let mut spans: Vec<Span> = points.iter().filter_map(Span::of).collect();
    spans.sort_by_key(|span| span.start);

    let mut rows: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    let mut measured_to = 0;
    for span in &spans {
        for (minute, start, end) in split_at_minutes(span.start, span.end) {
            let (nanos, bytes) = rows.entry(minute).or_default();
            *nanos += end.saturating_sub(start.max(measured_to));
            *bytes += span.content_until(end) - span.content_until(start);
        }
        measured_to = measured_to.max(span.end);
    }
    rows.into_iter().filter_map(|(minute, (nanos, bytes))| row(minute, nanos, bytes)).collect()
}

fn row(minute: u64, nanos: u64, content_bytes: u64) -> Option<Minute> {
    let seconds = nanos as f64 / NANOS_PER_SECOND;
    let mb_per_minute = mb_per_minute(content_bytes, seconds)?;
    Some(Minute { minute: u32::try_from(minute).ok()?, seconds, content_bytes, mb_per_minute })
}

/// A point in whole nanoseconds of the repetition, so that sums are exact.
struct Span {
    start: u64,
    end: u64,
    content_bytes: u64,
}

impl Span {
    fn of(point: &Point) -> Option<Self> {
        let nanos = |seconds: f64| (seconds * NANOS_PER_SECOND).round() as u64;
        let (start, end) = (nanos(point.started_seconds), nanos(point.started_seconds + point.seconds));
        let finite = point.started_seconds.is_finite() && point.seconds.is_finite();
        (finite && end > start).then_some(Self { start, end, content_bytes: point.count(Metric::ContentBytes)? })
    }

    /// Content moved from the start of the point until `moment`, which lies within it.
    fn content_until(&self, moment: u64) -> u64 {
        let share = u128::from(self.content_bytes) * u128::from(moment - self.start);
        (share / u128::from(self.end - self.start)) as u64
    }
}

/// The parts of a span by the minute they fall into: minute, start, end.
fn split_at_minutes(start: u64, end: u64) -> impl Iterator<Item = (u64, u64, u64)> {
    (start / NANOS_PER_MINUTE..=(end - 1) / NANOS_PER_MINUTE).map(move |minute| {
        let from = minute * NANOS_PER_MINUTE;
        (minute, start.max(from), end.min(from.saturating_add(NANOS_PER_MINUTE)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_measurement::units::MB;
    use proptest::prelude::*;

    fn point(started_seconds: f64, seconds: f64, content_mb: u64) -> Point {
        Point { started_seconds, seconds, ..Point::default() }.with(Metric::ContentBytes, content_mb * MB)
    }

    fn minute(minute: u32, seconds: f64, content_mb: u64, mb_per_minute: f64) -> Minute {
        Minute { minute, seconds, content_bytes: content_mb * MB, mb_per_minute }
    }

    #[test]
    fn the_average_rolls() {
        assert_eq!(rolling_average(&[1.0, 2.0, 3.0, 10.0], 2), [1.0, 1.5, 2.5, 6.5]);
        assert_eq!(rolling_average(&[1.0, 2.0, 3.0], 10), [1.0, 1.5, 2.0]);
        assert_eq!(rolling_average(&[1.0, 2.0], 0), [1.0, 2.0]);
        assert!(rolling_average(&[], 10).is_empty());
    }

    #[test]
    fn a_point_over_several_minutes_is_spread() {
        let rows = minutes(&[point(30.0, 120.0, 120)]);
        assert_eq!(rows, [minute(0, 30.0, 30, 60.0), minute(1, 60.0, 60, 60.0), minute(2, 30.0, 30, 60.0)]);
    }

    #[test]
    fn pauses_are_not_measured_time() {
        let rows = minutes(&[point(0.0, 15.0, 30), point(45.0, 15.0, 30), point(180.0, 60.0, 30)]);
        assert_eq!(rows, [minute(0, 30.0, 60, 120.0), minute(3, 60.0, 30, 30.0)]);
    }

    #[test]
    fn overlapping_points_share_their_seconds() {
        let rows = minutes(&[point(10.0, 30.0, 10), point(0.0, 30.0, 10), point(5.0, 5.0, 10)]);
        assert_eq!(rows, [minute(0, 40.0, 30, 45.0)]);
    }

    #[test]
    fn points_without_content_or_time_are_left_out() {
        let unknown = point(0.0, 60.0, 0).with(Metric::ContentBytes, None::<u64>);
        assert!(minutes(&[unknown, point(0.0, 0.0, 5), point(f64::NAN, 1.0, 5), point(0.0, -1.0, 5)]).is_empty());
        assert_eq!(minutes(&[point(0.0, 60.0, 0)]), [minute(0, 60.0, 0, 0.0)]);
    }

    proptest! {
        #![proptest_config(crate::fixed_cases())]

        #[test]
        fn minutes_conserve_content_and_time(steps in prop::collection::vec((0.0_f64..90.0, 0.001_f64..200.0, 0_u64..1 << 50), 0..20)) {
            let mut now = 0.0;
            let points: Vec<Point> = steps.iter().map(|(pause, seconds, content)| {
                let started_seconds = now + pause;
                now = started_seconds + seconds;
                Point { started_seconds, seconds: *seconds, ..Point::default() }.with(Metric::ContentBytes, *content)
            }).collect();
            let rows = minutes(&points);
            let content: u64 = steps.iter().map(|step| step.2).sum();
            prop_assert_eq!(rows.iter().map(|row| row.content_bytes).sum::<u64>(), content);
            let seconds: f64 = steps.iter().map(|step| step.1).sum();
            prop_assert!((rows.iter().map(|row| row.seconds).sum::<f64>() - seconds).abs() < 1e-6);
            prop_assert!(rows.iter().all(|row| row.seconds > 0.0 && row.seconds <= 60.0));
        }

        #[test]
        fn the_rolling_average_stays_within_its_window(values in prop::collection::vec(-1e6_f64..1e6, 1..50), window in 1_usize..15) {
            let averages = rolling_average(&values, window);
            prop_assert_eq!(averages.len(), values.len());
            for (end, average) in averages.iter().enumerate() {
                let part = &values[(end + 1).saturating_sub(window)..=end];
                let (low, high) = crate::summary::range(part).unwrap();
                prop_assert!(*average >= low - 1e-6 && *average <= high + 1e-6);
            }
        }
    }
}
