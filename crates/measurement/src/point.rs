//! A measured step of a repetition: what it was, when, and the metrics that were measured of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cell::Cell;
use crate::metric::{Metric, Metrics, Value};
use crate::units;

/// One measured step: a table, a chunk, a ladder rung, a working set. Which metrics it has depends on the test.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// Position within the repetition, from 0.
    pub index: u32,
    /// Name of the step within a test of several: `write`, `memory`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// What was measured, for people: the table, the chunk, the rung.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The stage that it is of, in tests that have several: `tables`, `indexes`, `level change`, `scan`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
    /// Volume of the database that it is of, where several are moved one after another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume_bytes: Option<u64>,
    /// What was done to the test file, at a point of a disk test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell: Option<Cell>,
    /// Start of the point, seconds after the repetition's start.
    pub started_seconds: f64,
    /// Time the point took.
    pub seconds: f64,
    /// What was measured, by metric; the table of metrics is published in `docs/METRICS.md`. Unknown ones are absent.
    pub metrics: Metrics,
    /// Reasons to read the point with care: `source-read`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
}

impl Point {
    /// The value of a metric, if it is known.
    pub fn get(&self, metric: Metric) -> Option<f64> {
        self.metrics.get(metric)
    }

    /// The value of a metric that counts, if it is known.
    pub fn count(&self, metric: Metric) -> Option<u64> {
        self.metrics.count(metric)
    }

    /// The point with a value of a metric, without one where that is unknown.
    #[must_use]
    pub fn with(mut self, metric: Metric, value: impl Into<Value>) -> Self {
        self.metrics.set(metric, value);
        self
    }

    /// The point of something that moved so much data content, with its rate.
    #[must_use]
    pub fn with_content(self, bytes: u64) -> Self {
        let rate = units::mb_per_minute(bytes, self.seconds);
        self.with(Metric::ContentBytes, bytes).with(Metric::MbPerMinute, rate)
    }

    /// When it was over, seconds after the repetition's start.
    pub fn ended_seconds(&self) -> f64 {
        self.started_seconds + self.seconds
    }
}

/// A minute of a repetition, made from its points; a point over several minutes is spread evenly.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Minute {
    /// Minute of the repetition, from 0.
    pub minute: u32,
    /// Measured seconds within the minute (less than 60 in the last, or with pauses).
    pub seconds: f64,
    /// Data content moved in the minute.
    pub content_bytes: u64,
    /// Rate over the measured seconds.
    pub mb_per_minute: f64,
}
