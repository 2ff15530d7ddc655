//! What samplers said at one time.

use plimsoll_measurement::{Files, Moment, Reading};

use crate::host::Snapshot;

/// What was said at one time; `None` where nobody was asked.
#[derive(Debug, Clone)]
pub(crate) struct Look {
    pub at: Moment,
    pub engine: Option<Result<Vec<Reading>, String>>,
    /// What sessions of ours waited for, by the engine's names: on average since the last look.
    pub seen: Vec<(String, f64)>,
    /// Files that have limits of their own.
    pub files: Option<Files>,
    pub host: Option<Snapshot>,
}

/// What was seen at a moment.
#[derive(Debug, Clone)]
pub(crate) struct Glance {
    pub at: Moment,
    /// What sessions did; empty where the engine did not answer.
    pub readings: Vec<Reading>,
    /// Waits of ours by the engine's names.
    pub seen: Vec<(String, f64)>,
    /// Whether the server was stopped, where that can be seen.
    pub stopped: Option<bool>,
}
