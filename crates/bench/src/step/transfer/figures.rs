//! Figures of whole databases that were moved. Of several sizes the largest counts.

use plimsoll_measurement::{Metric, Point, units};

use crate::figures::series::{Series, overall};

/// Phase of the chunked write that an import is compared with.
pub(crate) const WRITE: &str = "import-write";

/// The points of the largest database, by repetition.
pub(crate) struct Largest<'a> {
    repetitions: Vec<Vec<&'a Point>>,
    volume_bytes: Option<u64>,
}

impl<'a> Largest<'a> {
    pub fn of(repetitions: &[Vec<&'a Point>]) -> Self {
        // Sizes rise.
        let volume_bytes = repetitions.iter().find_map(|points| points.last()?.volume_bytes);
        let own = |points: &Vec<&'a Point>| {
            points.iter().copied().filter(|point| point.volume_bytes == volume_bytes).collect()
        };
        Self { repetitions: repetitions.iter().map(own).collect(), volume_bytes }
    }

    pub fn of_repetitions(&self, value: impl Fn(&[&Point]) -> Option<f64>) -> Vec<f64> {
        self.repetitions.iter().filter_map(|points| value(points)).collect()
    }

    pub fn series(&self, metric: &'static str, unit: &'static str, values: Vec<f64>, note: Option<String>) -> Series {
        let size = self.volume_bytes.map(|bytes| format!("of {}", units::format_bytes(bytes)));
        let notes: Vec<String> = size.into_iter().chain(note).collect();
        Series { note: (!notes.is_empty()).then(|| notes.join("; ")), ..Series::new(metric, unit, values) }
    }

    /// Content a minute over all points of a stage; the content is that of the stage `moved`.
    pub fn rate(&self, metric: &'static str, name: &str, moved: &str) -> Series {
        let values = self.of_repetitions(|points| {
            let content = stage(points, moved).filter_map(|point| point.count(Metric::ContentBytes)).sum::<u64>();
            units::mb_per_minute(content, seconds(points, name)).filter(|rate| *rate > 0.0)
        });
        self.series(metric, "MB/min", values, None)
    }

    /// Content a minute of the chunks beside a move.
    pub fn written(&self, metric: &'static str) -> Series {
        let own = |point: &&&Point| point.phase.as_deref() == Some(WRITE);
        let values = self.of_repetitions(|points| overall(points.iter().filter(own).copied()));
        self.series(metric, "MB/min", values, None)
    }
}

pub(crate) fn stage<'a>(points: &'a [&'a Point], name: &'a str) -> impl Iterator<Item = &'a Point> {
    points.iter().copied().filter(move |point| point.stage.as_deref() == Some(name))
}

pub(crate) fn seconds(points: &[&Point], name: &str) -> f64 {
    stage(points, name).map(|point| point.seconds).sum()
}
