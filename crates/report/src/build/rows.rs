//! Rows for scripts: one for each measured point, or second, kind, phase and so on of requests, or sampled value. Columns have the names of
//! the record.

mod requests;
mod samples;

use plimsoll_measurement::{Point, Repetition, RunRecord};

use crate::model::{Cell, Table, text};

/// What a column is read from.
type Part = fn(&RunRecord, &Repetition, &Point) -> Cell;

/// The columns in order; names are those of the JSON record.
const COLUMNS: &[(&str, Part)] = &[
    ("run_id", |run, _, _| run.run_id.clone().into()),
    ("test", |run, _, _| run.test.clone().into()),
    ("target", |run, _, _| run.target.clone().into()),
    ("repetition", |_, repetition, _| repetition.label.clone().into()),
    ("index", |_, _, point| point.index.into()),
    ("label", |_, _, point| point.label.clone().into()),
    ("phase", |_, _, point| point.phase.clone().into()),
    ("complete", |_, repetition, _| repetition.complete.to_string().into()),
    ("started_seconds", |_, _, point| point.started_seconds.into()),
    ("seconds", |_, _, point| point.seconds.into()),
    ("rows", |_, _, point| point.rows.into()),
    ("content_bytes", |_, _, point| point.content_bytes.into()),
    ("mb_per_minute", |_, _, point| point.mb_per_minute.into()),
    ("page_bytes", |_, _, point| point.page_bytes.into()),
    ("device_bytes", |_, _, point| point.device_bytes.into()),
    ("cache_miss_pages", |_, _, point| point.cache_miss_pages.into()),
    ("log_bytes", |_, _, point| point.log_bytes.into()),
    ("source_miss_pages", |_, _, point| point.source_miss_pages.into()),
    ("cpu_seconds", |_, _, point| point.cpu_seconds.into()),
    ("cpu_percent", |_, _, point| point.cpu_percent.into()),
    ("join_rows", |_, _, point| point.join_rows.into()),
    ("matches", |_, _, point| point.matches.into()),
    ("sessions", |_, _, point| point.sessions.into()),
    ("set_bytes", |_, _, point| point.set_bytes.into()),
    ("accesses", |_, _, point| point.accesses.into()),
    ("passes", |_, _, point| point.passes.into()),
    ("operations", |_, _, point| point.operations.into()),
    ("errors", |_, _, point| point.errors.into()),
    ("rate_asked", |_, _, point| point.rate_asked.into()),
    ("latency_ms_p50", |_, _, point| point.latency_ms_p50.into()),
    ("latency_ms_p99", |_, _, point| point.latency_ms_p99.into()),
    ("memory_percent", |_, _, point| point.memory_percent.into()),
    ("result", |run, _, _| run.result.as_ref().map(|figure| figure.value).into()),
    ("result_unit", |run, _, _| run.result.as_ref().map(|figure| figure.unit.clone()).into()),
    ("truth", |run, _, _| run.truth.as_ref().map(|truth| truth.value).into()),
    ("truth_published", |run, _, _| run.truth.as_ref().map(|truth| truth.published.to_string()).into()),
    ("truth_error_percent", |run, _, _| run.truth.as_ref().and_then(|truth| truth.error_percent).into()),
    ("flags", |_, _, point| point.flags.join(" ").into()),
];

/// What the rows are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rows {
    /// Measured points.
    Points,
    /// Seconds of requests.
    Seconds,
    /// Kinds of requests, with their percentiles.
    Requests,
    /// Phases of requests: rates, sessions, sizes of batches.
    Phases,
    /// Buckets of the histograms of requests and phases.
    Histograms,
    /// What sessions waited for.
    Waits,
    /// What was read from and written to files of the engine.
    Files,
    /// What the engine and the machine said of themselves: a value of one metric in one interval.
    Samples,
}

/// All rows of the kind, of all repetitions of the runs.
pub fn rows(records: &[RunRecord], rows: Rows) -> Table {
    match rows {
        Rows::Points => points(records),
        Rows::Seconds => requests::seconds(records),
        Rows::Requests => requests::kinds(records),
        Rows::Phases => requests::phases(records),
        Rows::Histograms => requests::histograms(records),
        Rows::Waits => requests::waits(records),
        Rows::Files => requests::files(records),
        Rows::Samples => samples::samples(records),
    }
}

fn points(records: &[RunRecord]) -> Table {
    let mut table = Table::with(COLUMNS.iter().map(|(name, _)| text(*name)));
    for record in records {
        for repetition in &record.repetitions {
            let row = |point: &Point| COLUMNS.iter().map(|(_, part)| part(record, repetition, point)).collect();
            repetition.points.iter().for_each(|point| table.row(row(point)));
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A field that is added to the record must not be forgotten here.
    #[test]
    fn every_field_of_a_point_has_a_column() {
        let schema = plimsoll_measurement::run::json_schema();
        let fields = schema["$defs"]["Point"]["properties"].as_object().unwrap();
        assert!(fields.len() > 20);
        for field in fields.keys() {
            assert!(COLUMNS.iter().any(|(name, _)| name == field), "{field}");
        }
    }
}
