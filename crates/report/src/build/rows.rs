//! Rows for scripts: one for each measured point, or second, kind, phase and so on of requests, or sampled value. Columns have the names of
//! the record.

mod requests;
mod samples;

use plimsoll_measurement::vocabulary::Vocabulary as _;
use plimsoll_measurement::{Metric, Point, Repetition, RunRecord};

use crate::model::{Cell, Table};

/// What a column is read from.
type Part = fn(&RunRecord, &Repetition, &Point) -> Cell;

/// The first columns of points in order; names are those of the JSON record. A column for every metric of points follows.
const FIRST: &[(&str, Part)] = &[
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
    ("cell", |_, _, point| point.cell.as_ref().map(ToString::to_string).into()),
];

/// Makes a table of all that the repetitions of the runs have of a kind.
type Rows = fn(&[RunRecord]) -> Table;

/// What rows can be, by name: what they are, and the table.
pub const ROWS: [(&str, &str, Rows); 8] = [
    ("points", "Measured points: tables, chunks, rungs, minutes", points),
    ("seconds", "Seconds of requests", requests::seconds),
    ("requests", "Kinds of requests, with their percentiles", requests::kinds),
    ("phases", "Phases of requests: rates, sessions, sizes of batches", requests::phases),
    ("histograms", "Buckets of latency histograms", requests::histograms),
    ("waits", "Waits of sessions, by type", requests::waits),
    ("files", "Reads and writes of the engine's files", requests::files),
    ("samples", "Samples of the engine and the machine, one per second", samples::samples),
];

fn points(records: &[RunRecord]) -> Table {
    let metrics = || Metric::ALL.iter();
    let names = |columns: &'static [(&str, Part)]| columns.iter().map(|(name, _)| *name);
    let names = names(FIRST).chain(metrics().map(|metric| metric.name())).chain(names(LAST));
    requests::table(records, names, |run, repetition| {
        let row = |point: &Point| {
            let cells = |columns: &'static [(&str, Part)]| columns.iter().map(|(_, part)| part(run, repetition, point));
            let values = metrics().map(|metric| point.get(*metric).into());
            cells(FIRST).chain(values).chain(cells(LAST)).collect()
        };
        repetition.points.iter().map(row).collect()
    })
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
