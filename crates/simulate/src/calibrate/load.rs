//! How requests come to a server: by whom, and how often.

use plimsoll_measurement::{Phase, RunRecord};
use serde_json::Value;

use crate::scenario::Source;

/// How requests come.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Load {
    /// Sessions; in an open loop the most that work at a time.
    pub sessions: u32,
    /// Where requests come from.
    pub source: Source,
    /// True where pauses, or the times between requests, are all the same.
    pub is_regular: bool,
}

impl Load {
    /// That of a phase of a run.
    pub(super) fn of(record: &RunRecord, phase: &Phase) -> Self {
        let think_s = record.parameters.get("think").and_then(Value::as_f64).unwrap_or(0.0);
        let source = match phase.rate_asked {
            Some(per_s) if per_s > 0.0 => Source::Open { per_s },
            _ => Source::Closed { think_ns: think_s.max(0.0) * 1e9 },
        };
        let is_poisson = record.parameters.get("arrivals").and_then(Value::as_str) == Some("poisson");
        Self { sessions: phase.sessions.max(1), source, is_regular: !is_poisson }
    }

    /// Requests a second that are asked for; absent in a closed loop.
    pub const fn asked_per_s(&self) -> Option<f64> {
        match self.source {
            Source::Open { per_s } => Some(per_s),
            Source::Closed { .. } => None,
        }
    }

    /// Seconds that a session pauses after each answer; 0 in an open loop.
    pub fn think_s(&self) -> f64 {
        match self.source {
            Source::Open { .. } => 0.0,
            Source::Closed { think_ns } => think_ns / 1e9,
        }
    }

    /// The most requests a second that can be answered of those that are asked for: by chance more come, if they come at random.
    pub fn most_per_s(&self) -> Option<f64> {
        self.asked_per_s().map(|asked| asked * if self.is_regular { 1.005 } else { 1.05 })
    }

    /// The same with a rate so many times as high; sessions that wait for their answers stay as they are.
    #[must_use]
    pub fn quickened(self, times: f64) -> Self {
        match self.source {
            Source::Open { per_s } => Self { source: Source::Open { per_s: per_s * times }, ..self },
            Source::Closed { .. } => self,
        }
    }
}
