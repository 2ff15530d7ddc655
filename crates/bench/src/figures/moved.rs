//! Figures of whole databases that were moved, and of levels that changed. Of several sizes the largest counts.

use plimsoll_engine::transfer::{COPY, INDEXES, RESTORE, START, TABLES};
use plimsoll_measurement::{Metric, Point, Repetition, units};

use super::{LOG_WAITS, Series};
use crate::step::{level, moves, write};

/// Where waits for the log take this part of the time at least, the log was the limit.
const MOSTLY_PERCENT: f64 = 50.0;

/// How fast rows were loaded, what that says of the log, how fast the same server writes chunks, and how much longer than the
/// rows the indexes took. A dump has a time but no figure: the first reads a database that has just been written, later ones
/// read what is in memory.
pub(super) fn import(points: &[Vec<&Point>], repetitions: &[&Repetition]) -> Vec<Series> {
    let of_size = Largest::of(points);
    let rates = of_size.rate("import_rate", TABLES, TABLES);
    let write = of_size.written("write_rate");
    let indexes = of_size.of_repetitions(|points| {
        let (tables, indexes) = (seconds(points, TABLES), seconds(points, INDEXES));
        (tables > 0.0 && indexes > 0.0).then(|| 100.0 * indexes / tables)
    });
    let indexes = of_size.series("index_time", "%", indexes, Some("time for indexes, of that for rows".to_owned()));
    let limit = log_rate_limit(&of_size, &rates.values, repetitions);
    let write = Series { note: compared(&rates.values, &write.values).or(write.note), ..write };
    vec![rates, limit, write, indexes]
}

/// How fast the server copied.
pub(super) fn copy(points: &[Vec<&Point>]) -> Vec<Series> {
    vec![Largest::of(points).rate("copy_rate", COPY, COPY)]
}

/// How fast pages came back, how fast they were backed up, and how long a server took to start on them.
pub(super) fn restore(points: &[Vec<&Point>]) -> Vec<Series> {
    let of_size = Largest::of(points);
    let starts = of_size.of_repetitions(|points| Some(seconds(points, START)).filter(|seconds| *seconds > 0.0));
    vec![
        of_size.rate("restore_rate", RESTORE, RESTORE),
        of_size.rate("backup_rate", moves::BACKUP, RESTORE),
        of_size.series("start_time", "s", starts, Some("until a server answers on what was restored".to_owned())),
    ]
}

/// How long a level took to be in effect, there and back, and what the target did before and after.
pub(super) fn level_change<'a>(repetitions: &[&'a Repetition], page_bytes: u64) -> Vec<Series> {
    let time = |metric, label: &str| {
        let change =
            |repetition: &&'a Repetition| repetition.points.iter().find(|point| point.label.as_deref() == Some(label));
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
                point.phase.as_deref() == Some(phase) && (point.label.as_deref() == Some(write::SCAN)) == scans
            };
            overall(repetition.points.iter().filter(own))
        };
        Series::new(metric, "MB/min", repetitions.iter().filter_map(rate).collect())
    };
    let (before, mut after) = (rate("rate_before", level::BEFORE, false), rate("rate_after", level::AFTER, false));
    let (mut scan_before, mut scan_after) =
        (rate("scan_before", level::BEFORE, true), rate("scan_after", level::AFTER, true));
    for (after, before, what) in [(&mut after, &before, "chunked writes"), (&mut scan_after, &scan_before, "scans")] {
        after.note = ratio(&after.values, &before.values).map(|ratio| format!("{what}: {ratio:.2} times those before"));
    }
    for (scan, phase) in [(&mut scan_before, level::BEFORE), (&mut scan_after, level::AFTER)] {
        let from_outside = from_outside(repetitions, phase, page_bytes)
            .map(|percent| format!("{percent:.0} % of it from outside the engine's cache"));
        let notes: Vec<String> = scan.note.take().into_iter().chain(from_outside).collect();
        scan.note = (!notes.is_empty()).then(|| notes.join("; "));
    }
    vec![
        time("level_change_time", level::CHANGE),
        before,
        after,
        scan_before,
        scan_after,
        time("level_back_time", level::CHANGE_BACK),
    ]
}

/// How much of what the scans of a probe read was not in the engine's cache, percent: only that shows the devices.
fn from_outside(repetitions: &[&Repetition], phase: &str, page_bytes: u64) -> Option<f64> {
    let points = repetitions.iter().flat_map(|repetition| &repetition.points);
    let is_scan = |point: &&Point| point.label.as_deref() == Some(write::SCAN);
    let scans = points.filter(|point| point.phase.as_deref() == Some(phase)).filter(is_scan);
    let of = |point: &Point| Some((point.count(Metric::CacheMissPages)? * page_bytes, point.count(Metric::PageBytes)?));
    let (missed, all) = scans.map(of).try_fold((0, 0), |sum, of| Some((sum.0 + of?.0, sum.1 + of?.1)))?;
    (all > 0).then(|| (100.0 * missed as f64 / all as f64).min(100.0))
}

/// The rate at which the log takes content, by the import (reference, 2.14). Without a sight of waits for the log it is a bound:
/// something else may have been slower.
fn log_rate_limit(of_size: &Largest<'_, '_>, rates: &[f64], repetitions: &[&Repetition]) -> Series {
    let waited = |repetition: &&Repetition| -> f64 {
        let waits = repetition.waits.iter().filter(|wait| wait.wait.starts_with(LOG_WAITS));
        waits.map(|wait| wait.elapsed_percent).sum()
    };
    let waits = repetitions.iter().map(waited).reduce(f64::min).unwrap_or(0.0);
    let content =
        |points: &[&Point]| stage(points, TABLES).filter_map(|point| point.count(Metric::ContentBytes)).sum::<u64>();
    let log = |points: &[&Point]| stage(points, TABLES).map(|point| point.count(Metric::LogBytes)).sum::<Option<u64>>();
    let logged = of_size.of_repetitions(|points| Some(log(points)? as f64 / content(points).max(1) as f64));
    let own = match (mean(&logged), mean(rates)) {
        (Some(times), Some(rate)) => format!(
            "{times:.2} bytes of log for each of content, so the log itself took {} MB/min",
            units::format_significant(rate * times)
        ),
        _ => "the log's own rate is about 10 % higher".to_owned(),
    };
    let bound = waits < MOSTLY_PERCENT;
    let inferred = if bound {
        "at least, inferred from the import: nothing shows that the log was its limit".to_owned()
    } else {
        format!("inferred from the import, which waited {waits:.0} % of its time for the log")
    };
    let note = format!("{inferred}; {own}");
    let most = rates.iter().copied().reduce(f64::max);
    let values = if bound { most.into_iter().collect() } else { rates.to_vec() };
    Series { bound, repetitions: rates.len() as u32, ..of_size.series("log_rate_limit", "MB/min", values, Some(note)) }
}

/// An import beside the chunked write on the same server.
fn compared(imports: &[f64], writes: &[f64]) -> Option<String> {
    Some(format!("chunks right after the import, which is {:.2} times as fast", ratio(imports, writes)?))
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn ratio(one: &[f64], other: &[f64]) -> Option<f64> {
    mean(one).zip(mean(other).filter(|other| *other > 0.0)).map(|(one, other)| one / other)
}

/// The points of the largest database, by repetition.
struct Largest<'a, 'b> {
    repetitions: Vec<Vec<&'b Point>>,
    size: Option<&'a str>,
}

impl<'b> Largest<'b, 'b> {
    fn of(repetitions: &[Vec<&'b Point>]) -> Self {
        // Sizes rise.
        let size = repetitions.iter().find_map(|points| split(points.last()?).0);
        let own = |points: &Vec<&'b Point>| points.iter().copied().filter(|point| split(point).0 == size).collect();
        Self { repetitions: repetitions.iter().map(own).collect(), size }
    }

    fn of_repetitions(&self, value: impl Fn(&[&Point]) -> Option<f64>) -> Vec<f64> {
        self.repetitions.iter().filter_map(|points| value(points)).collect()
    }

    fn series(&self, metric: &'static str, unit: &'static str, values: Vec<f64>, note: Option<String>) -> Series {
        let size = self.size.map(|size| format!("of {size}"));
        let notes: Vec<String> = size.into_iter().chain(note).collect();
        Series { note: (!notes.is_empty()).then(|| notes.join("; ")), ..Series::new(metric, unit, values) }
    }

    /// Content a minute over all points of a stage; the content is that of the stage `moved`.
    fn rate(&self, metric: &'static str, name: &str, moved: &str) -> Series {
        let values = self.of_repetitions(|points| {
            let content = stage(points, moved).filter_map(|point| point.count(Metric::ContentBytes)).sum::<u64>();
            units::mb_per_minute(content, seconds(points, name)).filter(|rate| *rate > 0.0)
        });
        self.series(metric, "MB/min", values, None)
    }

    /// Content a minute of the chunks beside a move.
    fn written(&self, metric: &'static str) -> Series {
        let own = |point: &&&Point| point.phase.as_deref() == Some(moves::WRITE);
        let values = self.of_repetitions(|points| overall(points.iter().filter(own).copied()));
        self.series(metric, "MB/min", values, None)
    }
}

/// All content over all time.
fn overall<'a>(points: impl Iterator<Item = &'a Point> + Clone) -> Option<f64> {
    let content = points.clone().filter_map(|point| point.count(Metric::ContentBytes)).sum();
    units::mb_per_minute(content, points.map(|point| point.seconds).sum()).filter(|rate| *rate > 0.0)
}

/// The size in a point's label, if there are several, and the rest of it.
fn split(point: &Point) -> (Option<&str>, &str) {
    let label = point.label.as_deref().unwrap_or_default();
    label.split_once(moves::AFTER_SIZE).map_or((None, label), |(size, rest)| (Some(size), rest))
}

/// The points of a stage, which bear its name, and its minutes.
fn stage<'a>(points: &'a [&'a Point], name: &'a str) -> impl Iterator<Item = &'a Point> {
    points.iter().copied().filter(move |point| {
        let rest = split(point).1.strip_prefix(name);
        point.phase.as_deref() != Some(moves::WRITE)
            && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(','))
    })
}

fn seconds(points: &[&Point], name: &str) -> f64 {
    stage(points, name).map(|point| point.seconds).sum()
}

#[cfg(test)]
mod tests {
    use plimsoll_measurement::WaitDelta;

    use super::*;

    fn point(label: &str, mb: u64, seconds: f64) -> Point {
        let content_bytes = (mb > 0).then_some(mb * units::MB);
        Point { label: Some(label.to_owned()), seconds, ..Point::default() }.with(Metric::ContentBytes, content_bytes)
    }

    fn value(series: &[Series], metric: &str) -> f64 {
        series.iter().find(|series| series.metric == metric).unwrap().values[0]
    }

    /// Reference, 3.2: imports at 21.8 MB/min, restores at 150.
    #[test]
    fn rates_are_of_the_largest_size_and_of_the_stage_that_moves() {
        let chunk = Point { phase: Some(moves::WRITE.to_owned()), ..point("2.0 GB: chunk 1", 25, 60.0) };
        let logged = point("2.0 GB: tables", 218, 600.0).with(Metric::LogBytes, 240 * units::MB);
        let points = [
            point("1.0 GB: tables", 50, 60.0),
            point("2.0 GB: dump", 0, 60.0),
            logged,
            point("2.0 GB: indexes", 0, 300.0),
            chunk,
        ];
        let wait = WaitDelta { wait: "log_rate".to_owned(), seconds: 594.0, count: None, elapsed_percent: 99.0 };
        let made = |waits: Vec<WaitDelta>| {
            let repetition = Repetition { points: points.to_vec(), waits, ..Repetition::default() };
            import(&[repetition.points.iter().collect()], &[&repetition])
        };
        let figures = made(vec![wait]);
        let near = |metric: &str, expected: f64| assert!((value(&figures, metric) - expected).abs() < 1e-9, "{metric}");
        near("import_rate", 21.8);
        near("log_rate_limit", 21.8);
        near("write_rate", 25.0);
        near("index_time", 50.0);
        let limit = &figures[1];
        assert!(!limit.bound && limit.note.as_deref().unwrap().contains("99 % of its time"), "{limit:?}");
        assert!(limit.note.as_deref().unwrap().contains("1.10 bytes of log"), "{limit:?}");
        let unseen = &made(Vec::new())[1];
        assert!(unseen.bound && unseen.note.as_deref().unwrap().contains("at least"), "{unseen:?}");
        let points =
            [point("backup", 36, 6.0), point("restore, minute 1", 150, 60.0), point("restore, minute 2", 150, 60.0)];
        let figures = restore(&[points.iter().collect()]);
        assert!((value(&figures, "restore_rate") - 150.0).abs() < 1e-9);
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
            point("level change", 0, 7.0).with(Metric::Operations, 8),
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
        let points = vec![point("level change", 0, 0.0).with(Metric::Operations, 1)];
        let repetition = Repetition { points, ..Repetition::default() };
        let figure = level_change(&[&repetition], 8192)[0].figure().unwrap();
        assert_eq!((figure.value, figure.low, figure.high), (0.0, None, None));
    }
}
