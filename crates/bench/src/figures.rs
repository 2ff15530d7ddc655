//! From points to figures: a repetition gives one number per metric, the complete repetitions give it a spread.

mod moved;

use std::collections::BTreeSet;

use plimsoll_analysis::interval::{Interval, interval, interval_with_zeros};
use plimsoll_analysis::ladder::LOW_CPU_PERCENT;
use plimsoll_analysis::memory::{Memory, slope};
use plimsoll_analysis::{DEFAULT_CONFIDENCE, summary};
use plimsoll_measurement::histogram::TooFew;
use plimsoll_measurement::{Figure, LatencyHistogramData, Metric, Phase, Point, Repetition, RunRecord, units};

use crate::definition::Definition;
use crate::step::{Step, memory};

/// What the repetitions of a run say about one metric: a value each.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Name of the metric.
    pub metric: &'static str,
    /// Unit of the values.
    pub unit: &'static str,
    /// One value per complete repetition.
    pub values: Vec<f64>,
    /// Complete repetitions behind the values.
    pub repetitions: u32,
    /// Coefficient of variation over all points, in percent.
    pub point_cv_percent: Option<f64>,
    /// How the values came about, where that isn't plain.
    pub note: Option<String>,
    /// Why the values should not be compared with others.
    pub doubt: Option<String>,
    /// True if the values bound the figure on one side only: then there is no interval, and `values` has one bound.
    pub bound: bool,
    /// By how much each value may be too high, because nobody looked in between.
    pub late_by: f64,
    /// Why there is no value, where the reason is known.
    pub absent: Option<String>,
}

/// The values behind the figures of a run, by repetition, the headline of its first step first. Only complete repetitions count.
/// A series without values has the reason why.
pub fn series(steps: &[Step], repetitions: &[Repetition], target: Measured) -> Vec<Series> {
    let complete: Vec<&Repetition> = repetitions.iter().filter(|repetition| repetition.complete).collect();
    let of_step = |step: Step| -> Vec<Vec<&Point>> {
        let named = (steps.len() > 1).then(|| step.name());
        let own = |point: &&Point| named.is_none() || point.phase.as_deref() == named;
        complete.iter().map(|repetition| repetition.points.iter().filter(own).collect()).collect()
    };
    let of_steps = steps.iter().flat_map(|step| {
        let points = of_step(*step);
        match step {
            Step::Scan => vec![read_rate(&points)],
            Step::Write => vec![rate("write_rate", &points)],
            Step::Join => join(&points),
            Step::Memory => memory_series(&points, target),
            Step::Requests => requests(&complete),
            Step::Commits => commits(&complete),
            Step::Import => moved::import(&points, &complete),
            Step::Copy => moved::copy(&points),
            Step::Restore => moved::restore(&points),
            Step::LevelChange => moved::level_change(&complete, target.page_bytes),
        }
    });
    of_steps.filter(|series| !series.values.is_empty() || series.absent.is_some()).collect()
}

/// What has to be known of a target to make figures of points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measured {
    /// Size of its pages.
    pub page_bytes: u64,
    /// What its volumes are divided by; figures are of full ones.
    pub scale: u64,
}

/// The values behind the figures of a stored run. Empty if its definition can't be read by this release.
pub fn series_of(record: &RunRecord) -> Vec<Series> {
    let definition = Definition::parse("stored definition", &record.definition.text);
    let fact = |name: &str| record.parameters.get(name).and_then(serde_json::Value::as_u64).filter(|fact| *fact > 0);
    match (definition, fact("page_bytes")) {
        (Ok(definition), Some(page_bytes)) => {
            let target = Measured { page_bytes, scale: fact("scale").unwrap_or(1) };
            let mut all = series(&definition.steps, &record.repetitions, target);
            doubt_client(&mut all, record);
            all
        }
        _ => Vec::new(),
    }
}

/// A client that was the limit makes the rates of requests lower bounds. In virtual time it never is.
pub(crate) fn doubt_client(all: &mut [Series], record: &RunRecord) {
    if record.host.client.as_ref().is_none_or(|client| client.verdict != "was-the-limit") {
        return;
    }
    for series in all.iter_mut().filter(|series| matches!(series.metric, "request_rate" | "content_rate")) {
        let doubt = "at least: our own client was the limit".to_owned();
        series.note = Some(series.note.take().map_or(doubt.clone(), |note| format!("{doubt}; {note}")));
        series.doubt = Some(doubt);
    }
}

impl Series {
    fn new(metric: &'static str, unit: &'static str, values: Vec<f64>) -> Self {
        let repetitions = values.len() as u32;
        Self {
            metric,
            unit,
            values,
            repetitions,
            point_cv_percent: None,
            note: None,
            doubt: None,
            bound: false,
            late_by: 0.0,
            absent: None,
        }
    }

    /// A volume that was measured on a target whose volumes are divided by `scale`, as it is on a full one.
    fn at_full_volume(mut self, scale: u64) -> Self {
        if scale > 1 {
            self.values.iter_mut().for_each(|value| *value *= scale as f64);
            self.note = Some(format!("{}, measured at scale 1/{scale}", self.note.unwrap_or_default()));
        }
        self
    }

    /// The figure with its interval.
    pub fn figure(&self) -> Option<Figure> {
        let at_once = !self.values.is_empty() && self.values.iter().all(|value| *value == 0.0);
        let mut note = self.note.clone();
        let spread = match interval(&self.values, DEFAULT_CONFIDENCE) {
            // Nothing has a logarithm, but is what was measured.
            None if at_once => Interval { value: 0.0, low: None, high: None, confidence: DEFAULT_CONFIDENCE },
            None => {
                let of_zeros = "a repetition came to zero: mean and interval of plain values";
                note = Some(note.map_or(of_zeros.to_owned(), |note| format!("{of_zeros}; {note}")));
                interval_with_zeros(&self.values, DEFAULT_CONFIDENCE)?
            }
            Some(spread) => spread,
        };
        Some(Figure {
            metric: self.metric.to_owned(),
            value: steady(spread.value),
            unit: self.unit.to_owned(),
            low: spread.low.map(|low| steady((low - self.late_by).max(0.0))),
            high: spread.high.map(steady),
            confidence: spread.confidence,
            repetitions: self.repetitions,
            point_cv_percent: self.point_cv_percent,
            note,
            values: self.values.iter().map(|value| steady(*value)).collect(),
            expected: None,
        })
    }
}

/// A number with twelve digits. Logarithms differ in the last bits from one platform's library to the next, and a run in
/// virtual time must not.
pub(crate) fn steady(value: f64) -> f64 {
    format!("{value:.11e}").parse().unwrap_or(value)
}

/// Requests a second, their content a minute, and percentiles of the response times over all kinds. Of several phases the
/// one with the highest rate counts, of a search the highest rate of each repetition that held in all its tries.
fn requests(repetitions: &[&Repetition]) -> Vec<Series> {
    let searched = repetitions.iter().any(|repetition| repetition.phases.iter().any(|phase| phase.holds.is_some()));
    let batches = repetitions.iter().any(|repetition| repetition.phases.iter().any(|phase| phase.batch_rows.is_some()));
    let best = if searched { None } else { best_phase(repetitions, batches) };
    let chosen: Vec<&Phase> = repetitions
        .iter()
        .filter_map(|repetition| {
            if let Some(place) = best {
                repetition.phases.get(place).filter(|phase| phase.operations + phase.drained > 0)
            } else {
                let held = repetition.phases.iter().filter(|phase| phase.operations > 0 && held(repetition, phase));
                held.max_by(|a, b| a.rate.total_cmp(&b.rate))
            }
        })
        .collect();
    let label = best.and_then(|place| repetitions.iter().find_map(|repetition| repetition.phases.get(place)));
    let label = label.map(|phase| &phase.label);
    let several = repetitions.iter().any(|repetition| repetition.phases.len() > 1);
    let note = match label {
        Some(label) if several => Some(format!(
            "at {label}, {}",
            if batches { "with the most MB a minute" } else { "with the most requests a second" }
        )),
        None if searched => Some("at the highest rate that met the goal".to_owned()),
        _ => None,
    };
    let of = |metric: &'static str, unit: &'static str, value: &dyn Fn(&Phase) -> Option<f64>| Series {
        note: note.clone(),
        ..Series::new(metric, unit, chosen.iter().filter_map(|phase| value(phase)).collect())
    };
    let percentile = |metric: &'static str, percent: f64| Series {
        note: note.clone(),
        ..percentile_ms(metric, percent, chosen.iter().map(|phase| phase.times.percentile(percent)))
    };
    let points = repetitions.iter().flat_map(|repetition| &repetition.points);
    let of_points: Vec<f64> = points.filter(|_| !several).filter_map(rate_of_point).collect();
    let rate = Series {
        point_cv_percent: summary::coefficient_of_variation_percent(&of_points),
        ..of("request_rate", "1/s", &|phase| Some(phase.rate))
    };
    vec![
        rate,
        percentile("latency_p50", 50.0),
        percentile("latency_p99", 99.0),
        percentile("latency_p99.9", 99.9),
        of("content_rate", "MB/min", &|phase| phase.mb_per_minute.filter(|rate| *rate > 0.0)),
    ]
}

/// A percentile of each repetition; absent, with the reason, unless all have times enough for it.
fn percentile_ms(metric: &'static str, percent: f64, each: impl Iterator<Item = Result<f64, TooFew>>) -> Series {
    match each.collect::<Result<Vec<f64>, TooFew>>() {
        Ok(values) => Series::new(metric, "ms", values.into_iter().map(|us| us / 1e3).collect()),
        Err(few) => {
            Series { absent: Some(TooFew { percent, ..few }.to_string()), ..Series::new(metric, "ms", Vec::new()) }
        }
    }
}

/// True if a search found that a rate holds, in all its tries.
fn held(repetition: &Repetition, phase: &Phase) -> bool {
    let same = |other: &&Phase| other.rate_asked.map(f64::to_bits) == phase.rate_asked.map(f64::to_bits);
    repetition.phases.iter().filter(same).all(|other| other.holds == Some(true))
}

/// Percentiles of the response times over all kinds of requests.
fn latencies(repetitions: &[&Repetition]) -> [Series; 3] {
    [("latency_p50", 50.0), ("latency_p99", 99.0), ("latency_p99.9", 99.9)].map(|(metric, percent)| {
        let all =
            |repetition: &&Repetition| LatencyHistogramData::merged(repetition.requests.iter().map(|kind| &kind.times));
        percentile_ms(metric, percent, repetitions.iter().map(|repetition| all(repetition).percentile(percent)))
    })
}

/// Time of all inserts and of each, and how much of it was waited for the log.
fn commits(repetitions: &[&Repetition]) -> Vec<Series> {
    let seconds = |repetition: &&Repetition| repetition.points.iter().map(|point| point.seconds).sum::<f64>();
    let each = |repetition: &&Repetition| {
        let inserted = repetition.points.iter().filter_map(|point| point.count(Metric::Operations)).sum();
        each_ms(seconds(repetition), inserted)
    };
    let share = |repetition: &&Repetition| {
        let of_log = repetition.waits.iter().filter(|wait| wait.wait.starts_with(LOG_WAITS));
        (!repetition.waits.is_empty()).then(|| of_log.map(|wait| wait.elapsed_percent).sum())
    };
    let figures = [
        Series::new("insert_time", "s", repetitions.iter().map(seconds).collect()),
        Series::new("insert_latency", "ms", repetitions.iter().map(each).collect()),
        Series::new("log_wait_share", "%", repetitions.iter().filter_map(share).collect()),
    ];
    figures.into_iter().chain(latencies(repetitions)).collect()
}

/// What waits for the log are called.
const LOG_WAITS: &str = "log_";

/// Milliseconds for each of so many, which took so long in all.
pub(crate) fn each_ms(seconds: f64, count: u64) -> f64 {
    1e3 * seconds / count.max(1) as f64
}

fn rate_of_point(point: &Point) -> Option<f64> {
    Some(point.count(Metric::Operations)? as f64 / point.seconds).filter(|_| point.seconds > 0.0)
}

/// The place of the phase whose rate is highest, of batches the one that loads most, by the mean over the repetitions that have
/// it. All repetitions try the same phases in the same order.
fn best_phase(repetitions: &[&Repetition], batches: bool) -> Option<usize> {
    let places = repetitions.iter().map(|repetition| repetition.phases.len()).max()?;
    let rate = |phase: &Phase| if batches { phase.mb_per_minute.unwrap_or(0.0) } else { phase.rate };
    let mean = |place: usize| {
        let rates = repetitions.iter().filter_map(|repetition| repetition.phases.get(place)).map(rate);
        summary::mean(&rates.collect::<Vec<f64>>()).unwrap_or(0.0)
    };
    (0..places).max_by(|a, b| mean(*a).total_cmp(&mean(*b)))
}

/// The same, where several sessions read at a time: over the time from the first beginning to the last end.
fn read_rate(repetitions: &[Vec<&Point>]) -> Series {
    let several = |points: &Vec<&Point>| {
        points.iter().any(|point| point.count(Metric::Sessions).is_some_and(|sessions| sessions > 1))
    };
    if !repetitions.iter().any(several) {
        return rate("read_rate", repetitions);
    }
    let rates = repetitions.iter().filter_map(|points| {
        let begun = points.iter().map(|point| point.started_seconds).reduce(f64::min)?;
        let ended = points.iter().map(|point| point.started_seconds + point.seconds).reduce(f64::max)?;
        let content = points.iter().filter_map(|point| point.count(Metric::ContentBytes)).sum();
        units::mb_per_minute(content, ended - begun).filter(|rate| *rate > 0.0)
    });
    Series::new("read_rate", "MB/min", rates.collect())
}

/// All content of a repetition over all its measured time, in MB per minute.
fn rate(metric: &'static str, repetitions: &[Vec<&Point>]) -> Series {
    let rates = repetitions.iter().filter_map(|points| {
        let content = points.iter().filter_map(|point| point.count(Metric::ContentBytes)).sum();
        units::mb_per_minute(content, points.iter().map(|point| point.seconds).sum()).filter(|rate| *rate > 0.0)
    });
    let of_points: Vec<f64> = repetitions.iter().flatten().filter_map(|point| point.get(Metric::MbPerMinute)).collect();
    Series {
        point_cv_percent: summary::coefficient_of_variation_percent(&of_points),
        ..Series::new(metric, "MB/min", rates.collect())
    }
}

/// Millions of row pairs a second at the largest N that every repetition has: for the whole machine, then for one
/// session.
fn join(repetitions: &[Vec<&Point>]) -> Vec<Series> {
    let kinds = join_kinds(repetitions);
    kinds
        .iter()
        .filter_map(|(metric, sessions)| {
            join_at(repetitions, metric, *sessions, *rungs(repetitions, *sessions).last()?)
        })
        .collect()
}

/// Name and sessions of the ladders that were climbed.
fn join_kinds(repetitions: &[Vec<&Point>]) -> Vec<(&'static str, u64)> {
    let most = repetitions.iter().flatten().filter_map(|point| point.count(Metric::Sessions)).max().unwrap_or(1);
    let kinds = [("join_rate", most), ("join_rate_single", 1)];
    kinds.into_iter().take(if most > 1 { 2 } else { 1 }).collect()
}

/// The rungs that every repetition has, rising.
fn rungs(repetitions: &[Vec<&Point>], sessions: u64) -> Vec<u64> {
    let of = |points: &Vec<&Point>| -> BTreeSet<u64> {
        points
            .iter()
            .filter(|point| point.count(Metric::Sessions) == Some(sessions))
            .filter_map(|point| point.count(Metric::JoinRows))
            .collect()
    };
    let common = repetitions.iter().map(of).reduce(|a, b| a.intersection(&b).copied().collect());
    common.unwrap_or_default().into_iter().collect()
}

fn join_at(repetitions: &[Vec<&Point>], metric: &'static str, sessions: u64, rung: u64) -> Option<Series> {
    let at = |point: &&&Point| {
        point.count(Metric::Sessions) == Some(sessions) && point.count(Metric::JoinRows) == Some(rung)
    };
    let points: Vec<&Point> = repetitions.iter().flatten().filter(at).copied().collect();
    let pairs = rung as f64 * rung as f64;
    let seconds = points.iter().map(|point| point.seconds).filter(|seconds| *seconds > 0.0);
    let rates: Vec<f64> = seconds.map(|seconds| pairs / seconds / 1e6).collect();
    let idle = points
        .iter()
        .filter(|point| point.get(Metric::CpuPercent).is_some_and(|percent| percent < LOW_CPU_PERCENT))
        .count();
    let doubt =
        (2 * idle > points.len()).then(|| "the CPUs were not fully used: something else bound the join".to_owned());
    let mut note = format!("at N = {rung}, {sessions} session{}", if sessions == 1 { "" } else { "s" });
    if let Some(doubt) = &doubt {
        note = format!("{note}; {doubt}");
    }
    (!rates.is_empty()).then(|| Series { note: Some(note), doubt, ..Series::new(metric, "Mpairs/s", rates) })
}

/// The N at which the repetitions' join rate is taken, if they were joins.
pub(crate) fn join_rung(repetitions: &[Repetition]) -> Option<u64> {
    let points = complete(repetitions);
    let (_, sessions) = *join_kinds(&points).first()?;
    rungs(&points, sessions).last().copied()
}

/// The join rates of two runs at the largest N that both have, whole machine against whole machine: work grows with the
/// square of N, so only equal N compare.
pub fn joins_at_common_rungs(a: &RunRecord, b: &RunRecord) -> Vec<(Series, Series)> {
    let (a, b) = (complete(&a.repetitions), complete(&b.repetitions));
    let (ours, theirs) = (join_kinds(&a), join_kinds(&b));
    let pairs = ours.iter().filter_map(|(metric, sessions)| {
        let (_, others) = theirs.iter().find(|(name, _)| name == metric)?;
        let shared = rungs(&b, *others);
        let rung = *rungs(&a, *sessions).iter().rev().find(|rung| shared.contains(rung))?;
        Some((join_at(&a, metric, *sessions, rung)?, join_at(&b, metric, *others, rung)?))
    });
    pairs.collect()
}

fn complete(repetitions: &[Repetition]) -> Vec<Vec<&Point>> {
    repetitions
        .iter()
        .filter(|repetition| repetition.complete)
        .map(|repetition| repetition.points.iter().collect())
        .collect()
}

/// Usable memory in MB by the knee of the misses, and by the slope of the engine's own percentage where it reports one.
fn memory_series(repetitions: &[Vec<&Point>], target: Measured) -> Vec<Series> {
    let estimates: Vec<Memory> =
        repetitions.iter().filter_map(|points| memory::estimate(points, target.page_bytes)).collect();
    let mb = |bytes: u64| bytes as f64 / units::MB as f64;
    let slopes = repetitions.iter().filter_map(|points| {
        let reported = points
            .iter()
            .filter_map(|point| Some((mb(point.count(Metric::SetBytes)?), point.get(Metric::MemoryPercent)?)));
        slope(&reported.collect::<Vec<_>>())
    });
    let slopes = Series {
        note: Some("slope of the percentage that the engine reports".to_owned()),
        ..Series::new("memory_by_slope", "MB", slopes.collect())
    };
    [by_knee(&estimates), slopes].into_iter().map(|series| series.at_full_volume(target.scale)).collect()
}

/// A knee from every repetition, or only a bound where some repetition saw none.
fn by_knee(estimates: &[Memory]) -> Series {
    let mb = |bytes: u64| bytes as f64 / units::MB as f64;
    let (mut found, mut least, mut most, mut disturbed) = (Vec::new(), None, None, false);
    for estimate in estimates {
        match estimate {
            Memory::Found(knee) => {
                found.push(mb(knee.bytes));
                disturbed |= !knee.clean_below;
            }
            Memory::AtLeast(bytes) => least = least.max(Some(*bytes)),
            Memory::AtMost(bytes) => most = Some(most.map_or(*bytes, |most: u64| most.min(*bytes))),
        }
    }
    let (values, note) = match (least, most) {
        (None, None) if disturbed => (found, "knee of the misses; some sets below it missed pages too"),
        (None, None) => (found, "knee of the misses"),
        (Some(bytes), _) => (vec![mb(bytes)], "at least: every set fitted"),
        (None, Some(bytes)) => (vec![mb(bytes)], "at most: no set fitted"),
    };
    let bound = least.or(most).is_some();
    let repetitions = estimates.len() as u32;
    Series { note: Some(note.to_owned()), bound, repetitions, ..Series::new("memory", "MB", values) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TARGET: Measured = Measured { page_bytes: 8192, scale: 1 };

    fn figures(steps: &[Step], repetitions: &[Repetition], target: Measured) -> Vec<Figure> {
        series(steps, repetitions, target).iter().filter_map(Series::figure).collect()
    }

    fn repetition(label: &str, complete: bool, points: Vec<Point>) -> Repetition {
        Repetition { label: label.to_owned(), complete, started_seconds: 0.0, points, ..Repetition::default() }
    }

    fn chunk(mb: u64, seconds: f64) -> Point {
        let content = mb * units::MB;
        Point { seconds, ..Point::default() }
            .with(Metric::ContentBytes, content)
            .with(Metric::MbPerMinute, units::mb_per_minute(content, seconds))
    }

    #[test]
    fn a_rate_is_content_over_time_and_incomplete_repetitions_do_not_count() {
        let repetitions = vec![
            repetition("a", true, vec![chunk(100, 60.0), chunk(100, 180.0)]),
            repetition("b", true, vec![chunk(100, 120.0), chunk(100, 120.0)]),
            repetition("c", false, vec![chunk(100, 1.0)]),
        ];
        let made = figures(&[Step::Write], &repetitions, TARGET);
        assert_eq!(made.len(), 1);
        assert!((made[0].value - 50.0).abs() < 1e-9);
        assert_eq!(made[0].repetitions, 2);
        assert!(made[0].point_cv_percent.unwrap() > 0.0);
        assert!(figures(&[Step::Write], &repetitions[2..], TARGET).is_empty(), "no complete repetition, no figure");
    }

    #[test]
    fn of_a_search_the_highest_rate_that_held_in_all_its_tries_counts() {
        let phase = |rate: f64, holds: bool| Phase {
            label: format!("{rate}/s"),
            rate_asked: Some(rate),
            operations: 1,
            rate,
            holds: Some(holds),
            ..Phase::default()
        };
        let mut searched = repetition("a", true, Vec::new());
        searched.phases = vec![phase(100.0, true), phase(200.0, false), phase(200.0, true), phase(400.0, false)];
        let found = figures(&[Step::Requests], &[searched], TARGET);
        assert_eq!((found[0].metric.as_str(), found[0].value), ("request_rate", 100.0), "{found:?}");
    }

    fn times(count: u64) -> LatencyHistogramData {
        LatencyHistogramData { count, sum_us: 0.0, relative_error_percent: 1.0, buckets: vec![(1000.0, count)] }
    }

    #[test]
    fn a_percentile_with_too_few_times_is_absent_with_the_reason() {
        let mut one = repetition("a", true, Vec::new());
        one.phases = vec![Phase { operations: 7302, rate: 365.1, times: times(7302), ..Phase::default() }];
        let made = series(&[Step::Requests], &[one], TARGET);
        let of = |metric: &str| made.iter().find(|series| series.metric == metric).unwrap();
        assert_eq!((of("latency_p99").values.as_slice(), &of("latency_p99").absent), (&[1.0][..], &None));
        let reason = "p99.9 needs 10000 response times, 10 of them beyond it; there are 7302";
        assert_eq!(of("latency_p99.9").absent.as_deref(), Some(reason));
        assert!(of("latency_p99.9").figure().is_none());
    }

    #[test]
    fn phases_with_the_same_label_are_not_added_together() {
        let phase = |sessions: u32, rate: f64| Phase {
            label: format!("{sessions} sessions"),
            sessions,
            operations: 1,
            rate,
            ..Phase::default()
        };
        let mut one = repetition("a", true, Vec::new());
        one.phases = vec![phase(4, 100.0), phase(4, 110.0), phase(8, 150.0)];
        let made = figures(&[Step::Requests], &[one], TARGET);
        assert_eq!((made[0].metric.as_str(), made[0].value), ("request_rate", 150.0), "{made:?}");
        assert!(made[0].note.as_ref().unwrap().starts_with("at 8 sessions"), "{made:?}");
    }

    #[test]
    fn a_zero_among_positive_values_leaves_an_interval_that_says_so() {
        let figure = Series::new("request_rate", "1/s", vec![0.0, 10.0, 14.0]).figure().unwrap();
        assert_eq!((figure.value, figure.low), (8.0, Some(0.0)));
        assert!(figure.high.unwrap() > 20.0 && figure.note.unwrap().contains("a repetition came to zero"));
        let nothing = Series::new("request_rate", "1/s", vec![0.0, 0.0]).figure().unwrap();
        assert_eq!((nothing.value, nothing.low), (0.0, None));
    }

    #[test]
    fn the_join_rate_is_taken_at_the_largest_common_rung() {
        let rung = |rows: u64, sessions: u32, seconds: f64| {
            Point { seconds, ..Point::default() }.with(Metric::JoinRows, rows).with(Metric::Sessions, sessions)
        };
        let repetitions = vec![
            repetition("a", true, vec![rung(1000, 2, 0.5), rung(1000, 1, 1.0), rung(2000, 2, 2.0)]),
            repetition("b", true, vec![rung(1000, 2, 0.5), rung(1000, 1, 1.0)]),
        ];
        let made = figures(&[Step::Join], &repetitions, TARGET);
        assert_eq!((made[0].metric.as_str(), made[0].value), ("join_rate", 2.0));
        assert_eq!((made[1].metric.as_str(), made[1].value), ("join_rate_single", 1.0));
    }

    #[test]
    fn memory_is_a_bound_when_no_set_missed() {
        let set = |mb: u64, misses: u64, percent: f64| {
            Point { seconds: 1.0, ..Point::default() }
                .with(Metric::SetBytes, mb * units::MB)
                .with(Metric::CacheMissPages, misses)
                .with(Metric::MemoryPercent, percent)
        };
        let repetitions = vec![repetition("a", true, vec![set(8, 0, 8.0), set(16, 0, 16.0)])];
        let made = figures(&[Step::Memory], &repetitions, TARGET);
        assert_eq!((made[0].value, made[0].note.as_deref()), (16.0, Some("at least: every set fitted")));
        assert_eq!(made[1].metric, "memory_by_slope");
        assert!((made[1].value - 100.0).abs() < 1e-6);
        let full = figures(&[Step::Memory], &repetitions, Measured { scale: 64, ..TARGET });
        assert!((full[0].value - 1024.0).abs() < 1e-9);
        assert_eq!(full[0].note.as_deref(), Some("at least: every set fitted, measured at scale 1/64"));
    }
}
