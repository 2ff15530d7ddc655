//! From points to figures: a repetition gives one number per metric, the complete repetitions give it a spread.

use plimsoll_analysis::interval::interval;
use plimsoll_analysis::memory::{Memory, slope};
use plimsoll_analysis::{DEFAULT_CONFIDENCE, summary};
use plimsoll_measurement::{Figure, Point, Repetition, units};

use crate::step::{Step, memory};

/// The figures of a run, the headline of its first step first.
pub fn figures(steps: &[Step], repetitions: &[Repetition], page_bytes: u64) -> Vec<Figure> {
    let complete: Vec<&Repetition> = repetitions.iter().filter(|repetition| repetition.complete).collect();
    let of_step = |step: Step| -> Vec<Vec<&Point>> {
        let named = (steps.len() > 1).then(|| step.name());
        let own = |point: &&Point| named.is_none() || point.phase.as_deref() == named;
        complete.iter().map(|repetition| repetition.points.iter().filter(own).collect()).collect()
    };
    steps
        .iter()
        .flat_map(|step| {
            let points = of_step(*step);
            match step {
                Step::Scan => rate("read_rate", &points),
                Step::Write => rate("write_rate", &points),
                Step::Join => join(&points),
                Step::Memory => memory_figures(&points, page_bytes),
            }
        })
        .collect()
}

fn figure(metric: &str, unit: &str, values: &[f64]) -> Option<Figure> {
    let spread = interval(values, DEFAULT_CONFIDENCE)?;
    Some(Figure {
        metric: metric.to_owned(),
        value: spread.value,
        unit: unit.to_owned(),
        low: spread.low,
        high: spread.high,
        confidence: spread.confidence,
        repetitions: values.len() as u32,
        point_cv_percent: None,
        note: None,
    })
}

/// All content of a repetition over all its measured time, in MB per minute.
fn rate(metric: &str, repetitions: &[Vec<&Point>]) -> Vec<Figure> {
    let rates: Vec<f64> = repetitions
        .iter()
        .filter_map(|points| {
            let content = points.iter().filter_map(|point| point.content_bytes).sum();
            units::mb_per_minute(content, points.iter().map(|point| point.seconds).sum()).filter(|rate| *rate > 0.0)
        })
        .collect();
    let of_points: Vec<f64> = repetitions.iter().flatten().filter_map(|point| point.mb_per_minute).collect();
    let figure = figure(metric, "MB/min", &rates)
        .map(|figure| Figure { point_cv_percent: summary::coefficient_of_variation_percent(&of_points), ..figure });
    figure.into_iter().collect()
}

/// Millions of row pairs a second at the largest N that every repetition has: for the whole machine, then for one
/// session.
fn join(repetitions: &[Vec<&Point>]) -> Vec<Figure> {
    let most = repetitions.iter().flatten().filter_map(|point| point.sessions).max().unwrap_or(1);
    let mut kinds = vec![("join_rate", most)];
    if most > 1 {
        kinds.push(("join_rate_single", 1));
    }
    kinds
        .into_iter()
        .filter_map(|(metric, sessions)| {
            let own = |points: &Vec<&Point>| -> Vec<(u64, f64)> {
                let of_kind = points.iter().filter(|point| point.sessions == Some(sessions));
                of_kind.filter_map(|point| Some((point.join_rows?, point.seconds))).collect()
            };
            let timings: Vec<Vec<(u64, f64)>> = repetitions.iter().map(own).collect();
            let common = timings.iter().map(|rungs| rungs.iter().map(|(rows, _)| *rows).max()).min().flatten()?;
            let seconds = timings.iter().flatten().filter(|(rows, _)| *rows == common).map(|(_, seconds)| *seconds);
            let pairs = common as f64 * common as f64;
            let rates: Vec<f64> = seconds.filter(|seconds| *seconds > 0.0).map(|s| pairs / s / 1e6).collect();
            let note = format!("at N = {common}, {sessions} session{}", if sessions == 1 { "" } else { "s" });
            figure(metric, "Mpairs/s", &rates).map(|figure| Figure { note: Some(note), ..figure })
        })
        .collect()
}

/// Usable memory in MB by the knee of the misses, and by the slope of the engine's own percentage where it reports one.
fn memory_figures(repetitions: &[Vec<&Point>], page_bytes: u64) -> Vec<Figure> {
    let estimates: Vec<Memory> = repetitions.iter().filter_map(|points| memory::estimate(points, page_bytes)).collect();
    let mb = |bytes: u64| bytes as f64 / units::MB as f64;
    let found: Vec<f64> = estimates
        .iter()
        .filter_map(|estimate| match estimate {
            Memory::Found(knee) => Some(mb(knee.bytes)),
            _ => None,
        })
        .collect();
    let by_knee = if found.len() == estimates.len() {
        figure("memory", "MB", &found).map(|figure| Figure { note: Some("knee of the misses".to_owned()), ..figure })
    } else {
        bound(&estimates, mb)
    };
    let slopes: Vec<f64> = repetitions
        .iter()
        .filter_map(|points| {
            let reported = points.iter().filter_map(|point| Some((mb(point.set_bytes?), point.memory_percent?)));
            slope(&reported.collect::<Vec<_>>())
        })
        .collect();
    let by_slope = figure("memory_by_slope", "MB", &slopes)
        .map(|figure| Figure { note: Some("slope of the percentage that the engine reports".to_owned()), ..figure });
    by_knee.into_iter().chain(by_slope).collect()
}

/// Only a bound, because some repetition saw no knee.
fn bound(estimates: &[Memory], mb: impl Fn(u64) -> f64) -> Option<Figure> {
    let at_least =
        estimates.iter().filter_map(|e| if let Memory::AtLeast(bytes) = e { Some(mb(*bytes)) } else { None });
    let at_most = estimates.iter().filter_map(|e| if let Memory::AtMost(bytes) = e { Some(mb(*bytes)) } else { None });
    let (value, note) = match (at_least.reduce(f64::max), at_most.reduce(f64::min)) {
        (Some(least), _) => (least, "at least: every set fitted"),
        (None, Some(most)) => (most, "at most: no set fitted"),
        (None, None) => return None,
    };
    Some(Figure {
        metric: "memory".to_owned(),
        value,
        unit: "MB".to_owned(),
        low: None,
        high: None,
        confidence: DEFAULT_CONFIDENCE,
        repetitions: estimates.len() as u32,
        point_cv_percent: None,
        note: Some(note.to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repetition(label: &str, complete: bool, points: Vec<Point>) -> Repetition {
        Repetition { label: label.to_owned(), complete, started_seconds: 0.0, cold: None, points, minutes: Vec::new() }
    }

    fn chunk(mb: u64, seconds: f64) -> Point {
        let content = mb * units::MB;
        Point {
            seconds,
            content_bytes: Some(content),
            mb_per_minute: units::mb_per_minute(content, seconds),
            ..Point::default()
        }
    }

    #[test]
    fn a_rate_is_content_over_time_and_incomplete_repetitions_do_not_count() {
        let repetitions = vec![
            repetition("a", true, vec![chunk(100, 60.0), chunk(100, 180.0)]),
            repetition("b", true, vec![chunk(100, 120.0), chunk(100, 120.0)]),
            repetition("c", false, vec![chunk(100, 1.0)]),
        ];
        let figures = figures(&[Step::Write], &repetitions, 4096);
        assert_eq!(figures.len(), 1);
        assert!((figures[0].value - 50.0).abs() < 1e-9);
        assert_eq!(figures[0].repetitions, 2);
        assert!(figures[0].point_cv_percent.unwrap() > 0.0);
        assert!(
            super::figures(&[Step::Write], &repetitions[2..], 4096).is_empty(),
            "no complete repetition, no figure"
        );
    }

    #[test]
    fn the_join_rate_is_taken_at_the_largest_common_rung() {
        let rung = |rows: u64, sessions: u32, seconds: f64| Point {
            seconds,
            join_rows: Some(rows),
            sessions: Some(sessions),
            ..Point::default()
        };
        let repetitions = vec![
            repetition("a", true, vec![rung(1000, 2, 0.5), rung(1000, 1, 1.0), rung(2000, 2, 2.0)]),
            repetition("b", true, vec![rung(1000, 2, 0.5), rung(1000, 1, 1.0)]),
        ];
        let figures = figures(&[Step::Join], &repetitions, 4096);
        assert_eq!((figures[0].metric.as_str(), figures[0].value), ("join_rate", 2.0));
        assert_eq!((figures[1].metric.as_str(), figures[1].value), ("join_rate_single", 1.0));
    }

    #[test]
    fn memory_is_a_bound_when_no_set_missed() {
        let set = |mb: u64, misses: u64, percent: f64| Point {
            seconds: 1.0,
            set_bytes: Some(mb * units::MB),
            cache_miss_pages: Some(misses),
            memory_percent: Some(percent),
            ..Point::default()
        };
        let repetitions = vec![repetition("a", true, vec![set(8, 0, 8.0), set(16, 0, 16.0)])];
        let figures = figures(&[Step::Memory], &repetitions, 8192);
        assert_eq!((figures[0].value, figures[0].note.as_deref()), (16.0, Some("at least: every set fitted")));
        assert_eq!(figures[1].metric, "memory_by_slope");
        assert!((figures[1].value - 100.0).abs() < 1e-6);
    }
}
