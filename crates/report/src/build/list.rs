//! A list of runs, as a table.

use plimsoll_measurement::{Basis, RunRecord};

use super::words;
use crate::model::format::{marked_basis, plain};
use crate::model::{Cell, Table, Value, number, text};

/// A run in a list of runs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunSummary {
    /// The run's identifier.
    pub run_id: String,
    /// Start, RFC 3339 in UTC.
    pub started_at: String,
    /// Name of the test.
    pub test: String,
    /// Whether it was measured.
    pub basis: Basis,
    /// The target's URL without secrets.
    pub target: String,
    /// What its user calls it.
    pub label: Option<String>,
    /// The headline figure; absent if nothing complete was measured.
    pub headline: Option<Value>,
    /// What bound it; absent without enough evidence.
    pub limit: Option<String>,
    /// How the run ended.
    pub state: String,
}

impl From<&RunRecord> for RunSummary {
    fn from(record: &RunRecord) -> Self {
        Self {
            run_id: record.run_id.clone(),
            started_at: record.started_at.clone(),
            test: record.test.clone(),
            basis: record.basis,
            target: record.target.clone(),
            label: record.label.clone(),
            headline: record.result.as_ref().map(|figure| words::value(record, figure)),
            limit: words::limit_in_a_cell(record.verdict.limit.as_deref(), &record.verdict.also),
            state: words::state(record),
        }
    }
}

/// Rows: the runs; `None` without any.
pub fn list(runs: &[RunSummary]) -> Option<Table> {
    // That all came to their end is the least that there is to say.
    let all_complete = runs.iter().all(|run| run.state == words::COMPLETE);
    // A list has room for the figure alone.
    let headline = |run: &RunSummary| run.headline.clone().map(|value| Value { low: None, high: None, ..value });
    Table::of(
        runs,
        &[
            (text("Run"), &|run| plain(&run.run_id).into()),
            (text("Started (UTC)").spare(20), &|run| Cell::time(&run.started_at)),
            (text("Test"), &|run| plain(&format!("{}{}", run.test, marked_basis(run.basis))).into()),
            (text("Label"), &|run| run.label.as_deref().map(plain).into()),
            (text("Target"), &|run| plain(&run.target).into()),
            (number("Headline", ""), &|run| headline(run).into()),
            (text("Bottleneck").spare(10), &|run| run.limit.as_deref().map(plain).into()),
            (text("State").spare(if all_complete { 30 } else { 0 }), &|run| plain(&run.state).into()),
        ],
    )
}
