//! A list of runs, as a table.

use plimsoll_measurement::RunRecord;

use super::words;
use crate::model::format::plain;
use crate::model::{Cell, Table, Value};

/// A run in a list of runs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunSummary {
    /// The run's identifier.
    pub run_id: String,
    /// Start, RFC 3339 in UTC.
    pub started_at: String,
    /// Name of the test.
    pub test: String,
    /// The target's URL without secrets.
    pub target: String,
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
            target: record.target.clone(),
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
    let mut table = Table::default()
        .text("Run")
        .text("Started (UTC)")
        .spare(20)
        .text("Test")
        .text("Target")
        .number("Headline", "")
        .text("Bottleneck")
        .spare(10)
        .text("State")
        .spare(if all_complete { 30 } else { 0 });
    for run in runs {
        // A list has room for the figure alone.
        let headline = run.headline.clone().map(|value| Value { low: None, high: None, ..value });
        table.row(vec![
            plain(&run.run_id).into(),
            Cell::time(&run.started_at),
            plain(&run.test).into(),
            plain(&run.target).into(),
            headline.into(),
            run.limit.as_deref().map(plain).into(),
            plain(&run.state).into(),
        ]);
    }
    (!table.rows.is_empty()).then_some(table)
}
