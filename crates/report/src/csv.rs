//! CSV by RFC 4180: one row per measured point, or second, kind, phase and so on of requests, or sampled value, ready for a spreadsheet or a
//! data frame. Unknown values are empty cells.

mod requests;
mod samples;

use plimsoll_measurement::{Metric, Point, Repetition, RunRecord};

/// What a column is read from.
type Part = fn(&RunRecord, &Repetition, &Point) -> String;

/// The first columns in order; names are those of the JSON record. A column for every metric of points follows.
const FIRST: &[(&str, Part)] = &[
    ("run_id", |run, _, _| run.run_id.clone()),
    ("test", |run, _, _| run.test.clone()),
    ("target", |run, _, _| run.target.clone()),
    ("repetition", |_, repetition, _| repetition.label.clone()),
    ("index", |_, _, point| point.index.to_string()),
    ("label", |_, _, point| point.label.clone().unwrap_or_default()),
    ("phase", |_, _, point| point.phase.clone().unwrap_or_default()),
    ("complete", |_, repetition, _| repetition.complete.to_string()),
    ("started_seconds", |_, _, point| real(Some(point.started_seconds))),
    ("seconds", |_, _, point| real(Some(point.seconds))),
];

/// The columns behind those of the metrics.
const LAST: &[(&str, Part)] = &[
    ("result", |run, _, _| real(run.result.as_ref().map(|figure| figure.value))),
    ("result_unit", |run, _, _| run.result.as_ref().map(|figure| figure.unit.clone()).unwrap_or_default()),
    ("expected", |run, _, _| real(run.expected.as_ref().map(|truth| truth.value))),
    ("expected_published", |run, _, _| whole(run.expected.as_ref().map(|truth| truth.published))),
    ("expected_error_percent", |run, _, _| real(run.expected.as_ref().and_then(|truth| truth.error_percent))),
    ("flags", |_, _, point| point.flags.join(" ")),
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

/// All rows of the kind, of all repetitions of the runs, below one line of column names. Lines end with CR LF.
pub fn table(records: &[RunRecord], rows: Rows) -> String {
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

/// All points of all repetitions of the runs, below one line of column names. Lines end with CR LF.
pub fn points(records: &[RunRecord]) -> String {
    let names = |columns: &'static [(&str, Part)]| columns.iter().map(|(name, _)| *name);
    let metrics = Metric::OF_POINTS.iter().map(|metric| metric.name());
    let mut text = line(names(FIRST).chain(metrics).chain(names(LAST)).map(str::to_owned));
    for record in records {
        for repetition in &record.repetitions {
            for point in &repetition.points {
                let cells =
                    |columns: &'static [(&str, Part)]| columns.iter().map(|(_, part)| part(record, repetition, point));
                let metrics = Metric::OF_POINTS.iter().map(|metric| real(point.get(*metric)));
                text += &line(cells(FIRST).chain(metrics).chain(cells(LAST)));
            }
        }
    }
    text
}

fn line(cells: impl Iterator<Item = String>) -> String {
    let cells: Vec<String> = cells.map(quoted).collect();
    cells.join(",") + "\r\n"
}

/// A cell with a comma, a quotation mark or an end of line is put in quotation marks, and those within are doubled.
fn quoted(cell: String) -> String {
    if cell.contains([',', '"', '\r', '\n']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell }
}

fn whole(value: Option<impl ToString>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

fn real(value: Option<f64>) -> String {
    whole(value.filter(|value| value.is_finite()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_only_where_they_must() {
        assert_eq!(quoted("a b".into()), "a b");
        assert_eq!(quoted("a,\"b\"\r\n".into()), "\"a,\"\"b\"\"\r\n\"");
    }

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
