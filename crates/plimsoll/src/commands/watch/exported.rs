//! `plimsoll watch export`: a row for each statement and slot, as they are kept, or a definition of what was watched.

use plimsoll_measurement::counters::Measure;
use plimsoll_measurement::exit;
use plimsoll_profile::Record;
use plimsoll_report::csv;
use plimsoll_report::model::{Cell, Column, Table, text};
use serde_json::{Map, Value};

use super::metrics::METRICS;
use super::names::{self, moment, put};
use super::ranges;
use super::stored::Kept;
use super::sums::{Key, Sum, Sums};
use super::workload;
use crate::args::WatchExport;
use crate::commands::report::write;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::settings::Settings;

pub fn export(options: &WatchExport, settings: &Settings, printer: &Printer) -> Result<u8, Failure> {
    let kept = Kept::open(options.target.as_deref(), &options.source, settings, printer)?;
    let of = |text: &Option<String>, missing| text.as_deref().map_or(Ok(missing), |text| kept.moment(text));
    let range = ranges::checked(of(&options.from, kept.whole.start)?..of(&options.to, kept.whole.end)?, "the range")?;
    if let Some(path) = &options.workload {
        workload::export(&kept, &range, path, printer)?;
        return Ok(exit::DONE);
    }
    let mut rows = Vec::new();
    kept.records(&range, |record| {
        let sums = Sums::of_record(&record);
        for (key, sum) in sums.statements() {
            let line = Line { kept: &kept, record: &record, sums: &sums, key, sum };
            if options.json {
                printer.json(&Value::from(line.json()).to_string());
            } else {
                rows.push(line.cells());
            }
        }
    })?;
    if let Some(path) = &options.csv {
        let table = Table { title: String::new(), columns: columns(), rows };
        write(path, &csv::text(&table), printer)?;
    }
    Ok(exit::DONE)
}

/// A statement in a slot.
struct Line<'l> {
    kept: &'l Kept,
    record: &'l Record,
    sums: &'l Sums,
    key: Option<Key>,
    sum: Sum,
}

fn columns() -> Vec<Column> {
    let first = ["slot_start", "slot_end", "seconds", "slot_status", "coverage_percent", "id", "database", "nested"];
    let metrics = METRICS.map(|metric| metric.name);
    first.into_iter().chain(metrics).chain(["status", "text"]).chain(LAST).map(text).collect()
}

/// What makes the same of a file as of the store, beside what people read: behind all others, so that a column's place never changes.
const LAST: [&str; 8] = ["cpu_us", "object", "sums", "slots", "explained_us", "total_us", "own_us", "server"];

impl Line<'_> {
    fn text(&self) -> Option<&plimsoll_engine::QueryText> {
        self.key.and_then(|(item, _)| self.kept.texts.get(&item))
    }

    fn cells(&self) -> Vec<Cell> {
        let Self { record, sums, .. } = self;
        let mut cells: Vec<Cell> = vec![
            Cell::time(&moment(record.bucket.start_us)),
            Cell::time(&moment(record.about.end_us)),
            Cell::from(record.bucket.covered_us as f64 / 1e6),
            sums.status.to_string().into(),
            sums.coverage_percent().into(),
            self.key.map_or_else(|| names::OTHER.to_owned(), |(item, _)| names::id(item)).into(),
            self.text().and_then(|text| text.database.clone()).into(),
            self.key.is_some_and(|(_, is_nested)| is_nested).to_string().into(),
        ];
        cells.extend(METRICS.map(|metric| Cell::from(self.sum.values.get(metric.measure))));
        cells.push(self.sum.status.to_string().into());
        cells.push(self.text().and_then(|text| text.text.clone()).into());
        cells.extend(self.last().map(|value| match value {
            Value::Null => Cell::default(),
            Value::String(text) => text.into(),
            value => value.as_u64().into(),
        }));
        cells
    }

    /// The last columns; null where something is not known.
    fn last(&self) -> [Value; LAST.len()] {
        let about = &self.record.about;
        let object = self.text().and_then(|text| text.object.as_deref());
        let object = object.map(|name| if name.is_empty() { names::AD_HOC } else { name });
        let sums = self.sums.rest.filter(|_| self.key.is_none()).map(|(sums, _)| sums);
        [
            self.sum.values.get(Measure::CpuUs).into(),
            object.into(),
            sums.into(),
            about.slots.into(),
            self.record.bucket.explained_us.into(),
            self.record.bucket.total_us.into(),
            about.own_us.into(),
            self.kept.watched.target.as_str().into(),
        ]
    }

    fn json(&self) -> Map<String, Value> {
        let Self { record, sums, .. } = self;
        let mut object = Map::new();
        object.insert("slot_start".to_owned(), moment(record.bucket.start_us).into());
        object.insert("slot_end".to_owned(), moment(record.about.end_us).into());
        object.insert("seconds".to_owned(), (record.bucket.covered_us as f64 / 1e6).into());
        object.insert("slot_status".to_owned(), sums.status.to_string().into());
        put(&mut object, "coverage_percent", sums.coverage_percent());
        let id = self.key.map_or_else(|| names::OTHER.to_owned(), |(item, _)| names::id(item));
        object.insert("id".to_owned(), id.into());
        put(&mut object, "database", self.text().and_then(|text| text.database.clone()));
        put(&mut object, "text", self.text().and_then(|text| text.text.clone()));
        object.insert("nested".to_owned(), self.key.is_some_and(|(_, is_nested)| is_nested).into());
        names::measures(&mut object, &self.sum);
        for (name, value) in LAST.into_iter().zip(self.last()) {
            put(&mut object, name, Some(value).filter(|value| !value.is_null()));
        }
        object
    }
}
