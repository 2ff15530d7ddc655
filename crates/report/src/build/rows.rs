//! Rows for scripts: one for each measured point, or second, kind, phase and so on of requests, or sampled value. Columns have the names of
//! the record.

mod requests;
mod samples;

use plimsoll_measurement::vocabulary::Vocabulary as _;
use plimsoll_measurement::{Metric, Point, Repetition, RunRecord};

use crate::model::{Cell, Table, text};

/// What a column is read from.
type Part = fn(&RunRecord, &Repetition, &Point) -> Cell;

/// The first columns in order; names are those of the JSON record. A column for every metric of points follows.
const FIRST: &[(&str, Part)] = &[
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
];

/// The columns behind those of the metrics.
const LAST: &[(&str, Part)] = &[
    ("result", |run, _, _| run.result.as_ref().map(|figure| figure.value).into()),
    ("result_unit", |run, _, _| run.result.as_ref().map(|figure| figure.unit.clone()).into()),
    ("expected", |run, _, _| run.expected.as_ref().map(|expected| expected.value).into()),
    ("expected_published", |run, _, _| run.expected.as_ref().map(|expected| expected.published.to_string()).into()),
    ("expected_error_percent", |run, _, _| run.expected.as_ref().and_then(|expected| expected.error_percent).into()),
    ("flags", |_, _, point| point.flags.join(" ").into()),
    ("stage", |_, _, point| point.stage.clone().into()),
    ("volume_bytes", |_, _, point| point.volume_bytes.into()),
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
    let names = |columns: &'static [(&str, Part)]| columns.iter().map(|(name, _)| *name);
    let metrics = || Metric::ALL.iter();
    let mut table = Table::with(names(FIRST).chain(metrics().map(|metric| metric.name())).chain(names(LAST)).map(text));
    for record in records {
        for repetition in &record.repetitions {
            for point in &repetition.points {
                let cells =
                    |columns: &'static [(&str, Part)]| columns.iter().map(|(_, part)| part(record, repetition, point));
                let values = metrics().map(|metric| point.get(*metric).into());
                table.row(cells(FIRST).chain(values).chain(cells(LAST)).collect());
            }
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
        for field in fields.keys().filter(|field| *field != "metrics") {
            assert!(FIRST.iter().chain(LAST).any(|(name, _)| name == field), "{field}");
        }
    }
}
