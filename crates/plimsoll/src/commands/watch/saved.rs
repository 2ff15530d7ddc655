//! What of a slot is saved in tables of the user's own database: a row for each statement, as `watch export` writes it, and texts by their
//! hash.

use std::collections::BTreeMap;

use plimsoll_engine::{Row, Value};
use plimsoll_measurement::counters::Measure;
use xxhash_rust::xxh3::xxh3_128;

use super::collector::Told;
use super::metrics::METRICS;
use super::names;

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
            let id = key.map_or_else(|| names::OTHER.to_owned(), |(item, _)| names::id(item));
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
            let unlisted = sums.rest.filter(|_| key.is_none()).map(|(count, _)| count);
            let (explained_us, total_us) = sums.explained.unzip();
            for whole in [unlisted, explained_us, total_us, Some(sums.own_us())] {
                row.push(whole.and_then(|value| i64::try_from(value).ok()).map_or(Value::Null, Value::BigInt));
            }
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
