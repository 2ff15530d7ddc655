//! Runs in a list: what is asked for, what is shown of each, and the columns that have it.

use std::path::Path;

use plimsoll_measurement::{Basis, Figure, RunRecord};
use rusqlite::types::Type;
use rusqlite::{Connection, Row, params};
use serde::Serialize;

use crate::{LATEST, SHORTEST_PREFIX, StoreError};

/// Runs that an error names to help along.
const RUNS_NAMED: u32 = 5;

/// Which runs are wanted; a field that is absent lets all through.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Name of the test.
    pub test: Option<String>,
    /// The target's URL as the record has it, or its fingerprint.
    pub target: Option<String>,
    /// Name of the campaign.
    pub campaign: Option<String>,
    /// What its user calls it.
    pub label: Option<String>,
    /// At most so many.
    pub limit: Option<u32>,
    /// Those older than this run: the last one of the page before.
    pub after: Option<String>,
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
    /// Identifies the server and database, whatever URL they were reached by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_fingerprint: Option<String>,
    /// Whether it was measured, or comes from a model or another tool.
    pub basis: Basis,
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
    /// What its user calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
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
            target_fingerprint: run.target_fingerprint,
            basis: run.basis,
            engine: run.engine,
            started_at: run.started_at,
            ended_at: run.ended_at,
            campaign: run.campaign,
            label: run.label,
            client_verdict: run.host.client.filter(|_| run.clock != "virtual").map(|client| client.verdict),
            error_kind: run.error.map(|error| error.kind),
            limit: run.verdict.limit,
            also: run.verdict.also,
            result: run.result,
        }
    }
}

/// Writes the columns of a run.
pub(crate) fn write(connection: &Connection, path: &Path, record: RunRecord) -> Result<(), StoreError> {
    let run = RunSummary::from(record);
    let json = |value: serde_json::Result<String>| {
        value.map_err(|source| StoreError::Document { kind: "finished".to_owned(), run_id: run.run_id.clone(), source })
    };
    let figure = json(serde_json::to_string(&run.result))?;
    let also = json(serde_json::to_string(&run.also))?;
    let sql =
        "INSERT OR REPLACE INTO run (run_id, test, target, target_fingerprint, campaign, engine, started_at, ended_at,
            complete, error_kind, client_verdict, bottleneck, also, figure, basis, label)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)";
    let row = params![
        run.run_id,
        run.test,
        run.target,
        run.target_fingerprint,
        run.campaign,
        run.engine,
        run.started_at,
        run.ended_at,
        run.complete,
        run.error_kind,
        run.client_verdict,
        run.limit,
        also,
        figure,
        run.basis.name(),
        run.label,
    ];
    let written = connection.prepare_cached(sql).and_then(|mut statement| statement.execute(row));
    written.map(drop).map_err(StoreError::sqlite(path))
}

/// The runs that a filter lets through, the newest first.
pub(crate) fn page(connection: &Connection, path: &Path, filter: &Filter) -> Result<Vec<RunSummary>, StoreError> {
    let sql =
        "SELECT run_id, test, target, target_fingerprint, campaign, engine, started_at, ended_at, complete, error_kind,
            client_verdict, bottleneck, also, figure, basis, label FROM run
        WHERE (?1 IS NULL OR test = ?1) AND (?2 IS NULL OR target = ?2 OR target_fingerprint = ?2)
          AND (?3 IS NULL OR campaign = ?3) AND (?4 IS NULL OR run_id < ?4) AND (?6 IS NULL OR label = ?6)
        ORDER BY run_id DESC LIMIT ?5";
    let query = || -> rusqlite::Result<Result<Vec<RunSummary>, StoreError>> {
        let Filter { test, target, campaign, label, limit, after } = filter;
        // SQLite takes a negative limit for none.
        let limit = limit.map_or(-1, i64::from);
        let mut statement = connection.prepare_cached(sql)?;
        let mut rows = statement.query(params![test, target, campaign, after, limit, label])?;
        let mut runs = Vec::new();
        while let Some(row) = rows.next()? {
            match summary(row)? {
                Ok(run) => runs.push(run),
                Err(error) => return Ok(Err(error)),
            }
        }
        Ok(Ok(runs))
    };
    query().map_err(StoreError::sqlite(path))?
}

fn summary(row: &Row<'_>) -> rusqlite::Result<Result<RunSummary, StoreError>> {
    let json = |column: usize| -> rusqlite::Result<Option<&str>> { Ok(row.get_ref(column)?.as_str_or_null()?) };
    let run_id: String = row.get(0)?;
    let refused = |source| StoreError::Document { kind: "finished".to_owned(), run_id: run_id.clone(), source };
    let also = json(12)?.map_or(Ok(Vec::new()), serde_json::from_str).map_err(refused);
    let result = json(13)?.map_or(Ok(None), serde_json::from_str).map_err(refused);
    let (also, result) = match (also, result) {
        (Ok(also), Ok(result)) => (also, result),
        (Err(error), _) | (_, Err(error)) => return Ok(Err(error)),
    };
    Ok(Ok(RunSummary {
        test: row.get(1)?,
        target: row.get(2)?,
        target_fingerprint: row.get(3)?,
        basis: basis(row)?,
        campaign: row.get(4)?,
        label: row.get(15)?,
        engine: row.get(5)?,
        started_at: row.get(6)?,
        ended_at: row.get(7)?,
        complete: row.get(8)?,
        error_kind: row.get(9)?,
        client_verdict: row.get(10)?,
        limit: row.get(11)?,
        also,
        result,
        run_id,
    }))
}

fn basis(row: &Row<'_>) -> rusqlite::Result<Basis> {
    let name: String = row.get(14)?;
    Basis::of(&name).ok_or_else(|| rusqlite::Error::InvalidColumnType(14, name, Type::Text))
}

/// True for a run that has ended.
pub(crate) fn has_ended(connection: &Connection, path: &Path, run_id: &str) -> Result<bool, StoreError> {
    exists(connection, "SELECT 1 FROM run WHERE run_id = ?1 AND ended_at IS NOT NULL", run_id)
        .map_err(StoreError::sqlite(path))
}

fn exists(connection: &Connection, sql: &str, run_id: &str) -> rusqlite::Result<bool> {
    connection.prepare_cached(sql)?.exists([run_id])
}

/// The id that is meant by an id, by a label, by the beginning of an id, or by [`LATEST`].
pub(crate) fn resolve(connection: &Connection, path: &Path, wanted: &str) -> Result<String, StoreError> {
    let failed = StoreError::sqlite(path);
    let newest = |prefix: &str| newest_with(connection, prefix).map_err(&failed);
    let unknown = || -> Result<String, StoreError> {
        Err(StoreError::UnknownRun { wanted: wanted.to_owned(), newest: newest("")? })
    };
    if wanted == LATEST {
        return newest("")?.into_iter().next().map_or_else(unknown, Ok);
    }
    if exists(connection, "SELECT 1 FROM run WHERE run_id = ?1", wanted).map_err(&failed)? {
        return Ok(wanted.to_owned());
    }
    if let Some(labelled) = newest_called(connection, wanted).map_err(&failed)? {
        return Ok(labelled);
    }
    if wanted.chars().count() < SHORTEST_PREFIX {
        return Err(StoreError::PrefixTooShort { wanted: wanted.to_owned() });
    }
    match newest(wanted)?.as_slice() {
        [] => unknown(),
        [only] => Ok(only.clone()),
        several => Err(StoreError::AmbiguousRun { wanted: wanted.to_owned(), matching: several.to_vec() }),
    }
}

/// The newest run with this label, which is kept without blanks around it.
fn newest_called(connection: &Connection, label: &str) -> rusqlite::Result<Option<String>> {
    let sql = "SELECT max(run_id) FROM run WHERE label = ?1";
    connection.prepare_cached(sql)?.query_row([label.trim()], |row| row.get(0))
}

/// The newest runs with an id that begins like this.
fn newest_with(connection: &Connection, prefix: &str) -> rusqlite::Result<Vec<String>> {
    let sql = "SELECT run_id FROM run WHERE substr(run_id, 1, length(?1)) = ?1 ORDER BY run_id DESC LIMIT ?2";
    connection.prepare_cached(sql)?.query_map(params![prefix, RUNS_NAMED], |row| row.get(0))?.collect()
}
