//! What of a slot is saved in tables of the user's own database: a row for each statement, as `watch export` writes it, and texts by their
//! hash.

use std::collections::BTreeMap;

use plimsoll_engine::{Error, Row, SavedColumn, SavedTable, SavedType, Value};
use plimsoll_measurement::counters::Measure;
use xxhash_rust::xxh3::xxh3_128;

use super::collector::Told;
use super::metrics::METRICS;
use super::names;

/// What the name of the table of texts has behind that of the other one.
const TEXTS: &str = "_texts";

/// Servers take 63 bytes.
const LONGEST_NAME: usize = 63 - TEXTS.len();

/// The first four are the key: a statement's number has that of its database in it.
const FIRST: [SavedColumn; 10] = [
    column("session_id", SavedType::Word),
    column("slot_start_us", SavedType::Whole),
    column("id", SavedType::Word),
    column("nested", SavedType::Flag),
    column("slot_end_us", SavedType::Whole),
    column("seconds", SavedType::Float),
    column("slot_status", SavedType::Word),
    column("coverage_percent", SavedType::Float),
    column("server", SavedType::Text),
    column("database", SavedType::Text),
];
const KEY: usize = 4;
/// Behind the metrics that `watch export` has.
const LAST: [SavedColumn; 3] =
    [column("cpu_us", SavedType::Whole), column("status", SavedType::Word), column("text_id", SavedType::Word)];
const OF_TEXTS: [SavedColumn; 2] = [column("text_id", SavedType::Word), column("text", SavedType::Text)];

const fn column(name: &'static str, kind: SavedType) -> SavedColumn {
    SavedColumn { name, kind }
}

/// The two tables.
#[derive(Debug)]
pub struct Tables {
    pub rows: SavedTable,
    pub texts: SavedTable,
}

impl Tables {
    /// By the name that the user gave.
    pub fn named(text: &str) -> Result<Self, Error> {
        let (schema, name) = SavedTable::parse(text, LONGEST_NAME)?;
        let metrics = METRICS.map(|metric| column(metric.name, SavedType::Whole));
        let columns = FIRST.into_iter().chain(metrics).chain(LAST).collect();
        let texts =
            SavedTable { schema: schema.clone(), name: format!("{name}{TEXTS}"), columns: OF_TEXTS.to_vec(), key: 1 };
        Ok(Self { rows: SavedTable { schema, name, columns, key: KEY }, texts })
    }
}

/// What is saved of a slot.
#[derive(Debug)]
pub struct SavedSlot {
    pub rows: Vec<Row>,
    /// The texts of its statements by their hash.
    pub texts: BTreeMap<String, String>,
}

impl SavedSlot {
    /// Of a slot of this watching of a server.
    pub fn of(told: &Told<'_>, session: &str, server: &str) -> Self {
        let (slot, sums) = (told.slot, told.sums);
        let status = sums.status.to_string();
        let mut saved = Self { rows: Vec::new(), texts: BTreeMap::new() };
        for (key, sum) in sums.statements() {
            let known = key.and_then(|(item, _)| told.texts.get(&item));
            let text = known.and_then(|known| known.text.as_deref());
            let text_id = text.map(|text| format!("{:032x}", xxh3_128(text.as_bytes())));
            let id = key.map_or_else(|| "other".to_owned(), |(item, _)| names::id(item));
            let own_status = sum.status.to_string();
            let mut row = Row::default();
            row.push(Value::Text(session));
            row.push(Value::BigInt(slot.start_us));
            row.push(Value::Text(&id));
            row.push(Value::Bit(key.is_some_and(|(_, is_nested)| is_nested)));
            row.push(Value::BigInt(slot.end_us));
            row.push(Value::Float(sums.covered_us as f64 / 1e6));
            row.push(Value::Text(&status));
            row.push(sums.coverage_percent().map_or(Value::Null, Value::Float));
            row.push(Value::Text(server));
            row.push(word(known.and_then(|known| known.database.as_deref())));
            for measure in METRICS.map(|metric| metric.measure).into_iter().chain([Measure::CpuUs]) {
                let whole = sum.values.get(measure).and_then(|value| i64::try_from(value).ok());
                row.push(whole.map_or(Value::Null, Value::BigInt));
            }
            row.push(Value::Text(&own_status));
            row.push(word(text_id.as_deref()));
            saved.rows.push(row);
            // PostgreSQL has no text with such a sign.
            saved.texts.extend(text_id.zip(text.map(|text| text.replace('\0', "\u{fffd}"))));
        }
        saved
    }
}

fn word(text: Option<&str>) -> Value<'_> {
    text.map_or(Value::Null, Value::Text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Who has such a table goes on with it: part of the contract between versions.
    #[test]
    fn the_columns_never_change() {
        let tables = Tables::named("own.watched").unwrap();
        let names: Vec<&str> = tables.rows.columns.iter().map(|column| column.name).collect();
        assert_eq!(
            names.join(" "),
            "session_id slot_start_us id nested slot_end_us seconds slot_status coverage_percent server database executions \
             elapsed_us active_us sampled_us unseen_us rows reads writes cache_lookups temp_pages log_bytes io_read_us io_write_us \
             cpu_us status text_id"
        );
        assert_eq!((tables.rows.shown().as_str(), tables.texts.shown().as_str()), ("own.watched", "own.watched_texts"));
        assert!(Tables::named(&"w".repeat(57)).is_ok() && Tables::named(&"w".repeat(58)).is_err());
    }
}
