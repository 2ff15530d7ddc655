//! What samplers said at one time.

use plimsoll_measurement::{Files, Moment, Reading};

use crate::host::Snapshot;

/// What was said at one time; `None` where nobody was asked.
#[derive(Debug, Clone)]
pub(crate) struct Look {
    pub at: Moment,
    pub engine: Option<Result<Vec<Reading>, String>>,
    /// Files that have limits of their own.
    pub files: Option<Files>,
    pub host: Option<Snapshot>,
}
