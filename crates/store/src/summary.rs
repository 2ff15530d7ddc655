//! Runs in a list: what is asked for, and what is shown of each.

use plimsoll_measurement::{Figure, RunRecord};
use serde::Serialize;

/// Which runs are wanted; a field that is absent lets all through.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Name of the test.
    pub test: Option<String>,
    /// The target's URL as the record has it, or its fingerprint.
    pub target: Option<String>,
    /// Name of the campaign.
    pub campaign: Option<String>,
    /// At most so many.
    pub limit: Option<u32>,
}

/// A run in a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunSummary {
    /// The run's id.
    pub run_id: String,
    /// Name of the test.
    pub test: String,
    /// The target's URL without secrets.
    pub target: String,
    /// Kind of the database.
    pub engine: String,
    /// Start of the run, RFC 3339 in UTC.
    pub started_at: String,
    /// End of the run; absent while it goes on and after it was killed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
    /// The campaign this run belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub campaign: Option<String>,
    /// True if the run ended by itself with all its repetitions complete.
    pub complete: bool,
    /// Class of the error that ended the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_kind: Option<String>,
    /// Whether the client held the requests back, in real time: `free`, `near-its-limit`, `was-the-limit`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_verdict: Option<String>,
    /// What bound it, `none` if nothing did; absent without enough evidence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
    /// Limits that bound together with it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    /// The headline figure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Figure>,
}

impl From<RunRecord> for RunSummary {
    fn from(run: RunRecord) -> Self {
        Self {
            complete: run.is_complete(),
            run_id: run.run_id,
            test: run.test,
            target: run.target,
            engine: run.engine,
            started_at: run.started_at,
            ended_at: run.ended_at,
            campaign: run.campaign,
            client_verdict: run.host.client.filter(|_| run.clock != "virtual").map(|client| client.verdict),
            error_kind: run.error.map(|error| error.kind),
            limit: run.verdict.limit,
            also: run.verdict.also,
            result: run.result,
        }
    }
}
