//! The table of samples: a row for each metric and interval, so that they can be plotted and joined elsewhere.

use plimsoll_measurement::{RunRecord, SampleColumn, Samples};

use super::requests::table;
use crate::model::{Cell, Table};

/// Name of a column and what is in it: of these samples, this metric, in the interval from and to, with this value.
type Column = (&'static str, fn(&Samples, &SampleColumn, (f64, f64), Option<f64>) -> Cell);

const COLUMNS: &[Column] = &[
    ("phase", |samples, _, _, _| samples.phase.clone().into()),
    ("source", |_, column, _, _| column.source.clone().into()),
    ("metric", |_, column, _, _| column.metric.clone().into()),
    ("of", |_, column, _, _| column.of.clone().into()),
    ("unit", |_, column, _, _| column.unit.clone().into()),
    ("from_seconds", |_, _, (from, _), _| from.into()),
    ("to_seconds", |_, _, (_, to), _| to.into()),
    ("value", |_, _, _, value| value.into()),
    ("momentary", |_, column, _, _| column.momentary.to_string().into()),
];

/// A row for each interval of each metric of each repetition. A value that is not known is an empty cell.
pub fn samples(records: &[RunRecord]) -> Table {
    table(records, COLUMNS.iter().map(|(name, _)| *name), |_, repetition| {
        let mut rows = Vec::new();
        for samples in &repetition.samples {
            for column in &samples.columns {
                let values = samples.intervals().zip(&column.values);
                let row = |(interval, value): ((f64, f64), &Option<f64>)| {
                    COLUMNS.iter().map(|(_, part)| part(samples, column, interval, *value)).collect()
                };
                rows.extend(values.map(row));
            }
        }
        rows
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A field that is added to the record must not be forgotten here.
    #[test]
    fn every_field_of_a_column_has_one_here() {
        let schema = plimsoll_measurement::run::json_schema();
        let fields = schema["$defs"]["SampleColumn"]["properties"].as_object().unwrap();
        for field in fields.keys().filter(|field| *field != "values") {
            assert!(COLUMNS.iter().any(|(name, _)| name == field), "{field}");
        }
    }
}
