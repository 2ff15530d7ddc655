//! Figures of a run: each repetition gives one number per metric, the complete repetitions give it a spread.

use plimsoll_analysis::interval::{Interval, interval, interval_with_zeros};
use plimsoll_analysis::{DEFAULT_CONFIDENCE, summary};
use plimsoll_measurement::histogram::TooFew;
use plimsoll_measurement::{Figure, LatencyHistogramData, Metric, Point, Repetition, WaitDelta, units};

/// The part of the elapsed time that was waited for the log, in percent; `None` if nobody says what the waits are for.
pub(crate) fn log_wait_percent(waits: &[WaitDelta]) -> Option<f64> {
    let of_log =
        |wait: &WaitDelta| Some(if wait.class.as_ref()?.known()?.is_log() { wait.elapsed_percent } else { 0.0 });
    let all: Option<f64> = waits.iter().map(of_log).sum();
    all.filter(|_| !waits.is_empty())
}

/// What a step measured, to make figures of.
#[derive(Debug, Clone)]
pub struct Measured<'a> {
    /// The complete repetitions.
    pub repetitions: Vec<&'a Repetition>,
    /// The step's points of each.
    pub points: Vec<Vec<&'a Point>>,
    /// Size of the target's pages.
    pub page_bytes: u64,
    /// What the target's volumes are divided by; figures are of full ones.
    pub scale: u64,
}

/// What the repetitions of a run say about one metric: a value each.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Series {
    /// Name of the metric.
    pub metric: String,
    /// Unit of the values.
    pub unit: String,
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
    /// By how much each value may be too high, as it was not looked at in between.
    pub late_by: f64,
    /// Why there is no value, where the reason is known.
    pub absent: Option<String>,
}

impl Series {
    /// One value for each complete repetition.
    pub fn new(metric: impl Into<String>, unit: impl Into<String>, values: Vec<f64>) -> Self {
        let (metric, unit, repetitions) = (metric.into(), unit.into(), values.len() as u32);
        Self { metric, unit, values, repetitions, ..Self::default() }
    }

    /// A volume as it is on a full target, measured on one with volumes divided by `scale`.
    #[must_use]
    pub(crate) fn at_full_volume(mut self, scale: u64) -> Self {
        if scale > 1 {
            self.values.iter_mut().for_each(|value| *value *= scale as f64);
            self.note = Some(format!("{}, measured at scale 1/{scale}", self.note.unwrap_or_default()));
        }
        self
    }

    /// What a run's record has of it, where the step that it comes from isn't known.
    pub(crate) fn of_figure(figure: &Figure) -> Self {
        Self {
            repetitions: figure.repetitions,
            point_cv_percent: figure.point_cv_percent,
            note: figure.note.clone(),
            ..Self::new(&*figure.metric, &*figure.unit, figure.values.clone())
        }
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
            metric: self.metric.clone(),
            value: steady(spread.value),
            unit: self.unit.clone(),
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

/// All content over all time, in MB per minute.
pub(crate) fn overall<'a>(points: impl Iterator<Item = &'a Point> + Clone) -> Option<f64> {
    let content = points.clone().filter_map(|point| point.count(Metric::ContentBytes)).sum();
    units::mb_per_minute(content, points.map(|point| point.seconds).sum()).filter(|rate| *rate > 0.0)
}

/// All content of a repetition over all its measured time, in MB per minute.
pub fn rate(metric: &'static str, repetitions: &[Vec<&Point>]) -> Series {
    let rates = repetitions.iter().filter_map(|points| overall(points.iter().copied()));
    let of_points: Vec<f64> = repetitions.iter().flatten().filter_map(|point| point.get(Metric::MbPerMinute)).collect();
    Series {
        point_cv_percent: summary::coefficient_of_variation_percent(&of_points),
        ..Series::new(metric, "MB/min", rates.collect())
    }
}

/// A percentile of each repetition; absent, with the reason, unless all have times enough for it.
pub fn percentile_ms(metric: &'static str, percent: f64, each: impl Iterator<Item = Result<f64, TooFew>>) -> Series {
    match each.collect::<Result<Vec<f64>, TooFew>>() {
        Ok(values) => Series::new(metric, "ms", values.into_iter().map(|us| us / 1e3).collect()),
        Err(few) => {
            Series { absent: Some(TooFew { percent, ..few }.to_string()), ..Series::new(metric, "ms", Vec::new()) }
        }
    }
}

/// Percentiles of the response times over all kinds of requests.
pub fn latencies(repetitions: &[&Repetition]) -> [Series; 3] {
    [("latency_p50", 50.0), ("latency_p99", 99.0), ("latency_p99.9", 99.9)].map(|(metric, percent)| {
        let all =
            |repetition: &&Repetition| LatencyHistogramData::merged(repetition.requests.iter().map(|kind| &kind.times));
        percentile_ms(metric, percent, repetitions.iter().map(|repetition| all(repetition).percentile(percent)))
    })
}

pub(crate) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// How many times the mean of others the mean of some values is.
pub(crate) fn ratio(one: &[f64], other: &[f64]) -> Option<f64> {
    mean(one).zip(mean(other).filter(|other| *other > 0.0)).map(|(one, other)| one / other)
}

#[cfg(test)]
mod tests {
    use plimsoll_measurement::WaitClass;

    use super::*;

    #[test]
    fn waits_for_the_log_are_known_by_their_class() {
        let wait = |class: Option<WaitClass>, elapsed_percent| WaitDelta {
            class: class.map(Into::into),
            elapsed_percent,
            ..WaitDelta::default()
        };
        let all = [
            wait(Some(WaitClass::LogWrite), 60.0),
            wait(Some(WaitClass::LogRateGovernor), 30.0),
            wait(Some(WaitClass::Lock), 5.0),
        ];
        assert_eq!((log_wait_percent(&all), log_wait_percent(&all[2..])), (Some(90.0), Some(0.0)));
        assert_eq!((log_wait_percent(&[]), log_wait_percent(&[wait(None, 9.0)])), (None, None));
    }

    #[test]
    fn a_zero_among_positive_values_leaves_an_interval_that_says_so() {
        let figure = Series::new("request_rate", "1/s", vec![0.0, 10.0, 14.0]).figure().unwrap();
        assert_eq!((figure.value, figure.low), (8.0, Some(0.0)));
        assert!(figure.high.unwrap() > 20.0 && figure.note.unwrap().contains("a repetition came to zero"));
        let nothing = Series::new("request_rate", "1/s", vec![0.0, 0.0]).figure().unwrap();
        assert_eq!((nothing.value, nothing.low), (0.0, None));
    }
}
