//! Figures of a change of level: how long it took, and what the target did before and after.

use plimsoll_measurement::{Metric, Point, Repetition, units};

use crate::figures::series::{Series, overall, ratio};
use crate::step::write::SCAN;

/// Stages: the two changes, and the phases of the probes around the first.
pub(super) const CHANGE: &str = "level change";
pub(super) const CHANGE_BACK: &str = "level change back";
pub(super) const BEFORE: &str = "before";
pub(super) const AFTER: &str = "after";

/// How long a level took to be in effect, there and back, and what the target did before and after.
pub(super) fn level_change<'a>(repetitions: &[&'a Repetition], page_bytes: u64) -> Vec<Series> {
    let time = |metric, stage: &str| {
        let change =
            |repetition: &&'a Repetition| repetition.points.iter().find(|point| point.stage.as_deref() == Some(stage));
        let changes: Vec<&Point> = repetitions.iter().filter_map(change).collect();
        // Looks come one after another, the first when the change was asked for.
        let between = |point: &&Point| {
            let gaps = point.count(Metric::Operations)?.checked_sub(1).filter(|gaps| *gaps > 0)?;
            Some(point.seconds / gaps as f64)
        };
        let late_by = changes.iter().filter_map(between).fold(0.0, f64::max);
        let note = (late_by > 0.0)
            .then(|| format!("looked at every {}: up to that much earlier in effect", units::format_seconds(late_by)));
        let seconds = changes.iter().map(|point| point.seconds).collect();
        Series { note, late_by, ..Series::new(metric, "s", seconds) }
    };
    let rate = |metric, phase: &str, scans: bool| {
        let rate = |repetition: &&Repetition| {
            let own = |point: &&Point| {
                point.phase.as_deref() == Some(phase) && (point.stage.as_deref() == Some(SCAN)) == scans
            };
            overall(repetition.points.iter().filter(own))
        };
        Series::new(metric, "MB/min", repetitions.iter().filter_map(rate).collect())
    };
    let (before, mut after) = (rate("rate_before", BEFORE, false), rate("rate_after", AFTER, false));
    let (mut scan_before, mut scan_after) = (rate("scan_before", BEFORE, true), rate("scan_after", AFTER, true));
    for (after, before, what) in [(&mut after, &before, "chunked writes"), (&mut scan_after, &scan_before, "scans")] {
        after.note = ratio(&after.values, &before.values).map(|ratio| format!("{what}: {ratio:.2} times those before"));
    }
    for (scan, phase) in [(&mut scan_before, BEFORE), (&mut scan_after, AFTER)] {
        let from_outside = from_outside(repetitions, phase, page_bytes)
            .map(|percent| format!("{percent:.0} % of it from outside the engine's cache"));
        let notes: Vec<String> = scan.note.take().into_iter().chain(from_outside).collect();
        scan.note = (!notes.is_empty()).then(|| notes.join("; "));
    }
    vec![
        time("level_change_time", CHANGE),
        before,
        after,
        scan_before,
        scan_after,
        time("level_back_time", CHANGE_BACK),
    ]
}

/// How much of what the scans of a probe read was not in the engine's cache, percent: only that shows the devices.
fn from_outside(repetitions: &[&Repetition], phase: &str, page_bytes: u64) -> Option<f64> {
    let points = repetitions.iter().flat_map(|repetition| &repetition.points);
    let is_scan = |point: &&Point| point.stage.as_deref() == Some(SCAN);
    let scans = points.filter(|point| point.phase.as_deref() == Some(phase)).filter(is_scan);
    let of = |point: &Point| Some((point.count(Metric::CacheMissPages)? * page_bytes, point.count(Metric::PageBytes)?));
    let (missed, all) = scans.map(of).try_fold((0, 0), |sum, of| Some((sum.0 + of?.0, sum.1 + of?.1)))?;
    (all > 0).then(|| (100.0 * missed as f64 / all as f64).min(100.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(stage: &str, mb: u64, seconds: f64) -> Point {
        let content_bytes = (mb > 0).then_some(mb * units::MB);
        Point { stage: Some(stage.to_owned()), seconds, ..Point::default() }.with(Metric::ContentBytes, content_bytes)
    }

    #[test]
    fn a_level_change_is_proved_by_what_came_before_and_after() {
        let probe = |phase: &str, label: &str, seconds: f64| Point {
            phase: Some(phase.to_owned()),
            ..point(label, 60, seconds)
        };
        let points = vec![
            probe("before", "chunk 1", 60.0),
            probe("before", "scan", 30.0),
            point("level change", 0, 7.0).with(Metric::Operations, 8_u64),
            probe("after", "chunk 1", 30.0),
            probe("after", "scan", 20.0),
            point("level change back", 0, 8.0),
        ];
        let repetition = Repetition { points, ..Repetition::default() };
        let figures = level_change(&[&repetition], 8192);
        let values: Vec<f64> = figures.iter().map(|series| series.values[0]).collect();
        assert_eq!(values, [7.0, 60.0, 120.0, 120.0, 180.0, 8.0]);
        assert_eq!(figures[2].note.as_deref(), Some("chunked writes: 2.00 times those before"));
        let twice = level_change(&[&repetition, &repetition], 8192);
        let time = twice[0].figure().unwrap();
        let near = |value: Option<f64>, expected: f64| assert!((value.unwrap() - expected).abs() < 1e-9, "{time:?}");
        near(time.low, 6.0);
        near(time.high, 7.0);
        assert_eq!(time.note.as_deref(), Some("looked at every 1.0 s: up to that much earlier in effect"));
    }

    #[test]
    fn a_change_that_takes_no_time_is_a_figure_too() {
        let points = vec![point("level change", 0, 0.0).with(Metric::Operations, 1_u64)];
        let repetition = Repetition { points, ..Repetition::default() };
        let figure = level_change(&[&repetition], 8192)[0].figure().unwrap();
        assert_eq!((figure.value, figure.low, figure.high), (0.0, None, None));
    }
}
