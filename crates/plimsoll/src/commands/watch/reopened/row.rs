//! Rows that were exported or saved, each of a statement in a slot, and the slots that they make up.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_engine::QueryText;
use plimsoll_measurement::counters::{Item, Measure, Values};
use plimsoll_profile::bucket::{Bucket, Key, Other, Sum};
use plimsoll_profile::{About, Record, Status};

use super::super::metrics::METRICS;
use super::super::names::{AD_HOC, OTHER};

/// What stands in a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Field {
    Text(String),
    Whole(i128),
    Float(f64),
    Flag(bool),
}

/// The columns of a row by their names; `None` for what is not there.
pub trait Fields {
    fn field(&self, name: &str) -> Option<Field>;
}

/// A statement in a slot.
#[derive(Debug, Clone, PartialEq)]
pub struct SavedRow {
    pub slot: SavedSlotHead,
    /// `None` for the sum of those that are not listed.
    pub item: Option<Item>,
    pub is_nested: bool,
    pub values: Values,
    pub status: Status,
    /// Of the sum of those that are not listed: how many sums it is made of.
    pub sums: Option<u64>,
    pub database: Option<String>,
    pub text: Option<String>,
    pub object: Option<String>,
}

/// What all rows of a slot say of it.
#[derive(Debug, Clone, PartialEq)]
pub struct SavedSlotHead {
    /// The watching, and the server, where rows name them.
    pub session: Option<String>,
    pub server: Option<String>,
    pub start_us: i64,
    pub end_us: i64,
    pub covered_us: u64,
    pub status: Status,
    /// What coverage is made of.
    pub explained_us: Option<u64>,
    pub total_us: Option<u64>,
    pub own_us: u64,
    /// So many slots are rolled up in it; a table has each apart.
    pub slots: Option<u64>,
}

/// Text in a column, if there is some.
fn word(fields: &dyn Fields, name: &str) -> Option<String> {
    match fields.field(name)? {
        Field::Text(text) => Some(text).filter(|text| !text.is_empty()),
        Field::Whole(number) => Some(number.to_string()),
        Field::Float(number) => Some(number.to_string()),
        Field::Flag(flag) => Some(flag.to_string()),
    }
}

fn wrong(name: &str, what: &str, found: &str) -> String {
    format!("{name} is no {what}: '{}'", found.chars().take(40).collect::<String>())
}

fn needed<T>(name: &str, found: Option<T>) -> Result<T, String> {
    found.ok_or_else(|| format!("{name} is missing"))
}

fn whole(fields: &dyn Fields, name: &str) -> Result<Option<u64>, String> {
    let number = match fields.field(name) {
        Some(Field::Whole(number)) => u64::try_from(number).ok().ok_or(number.to_string()),
        _ => match word(fields, name) {
            None => return Ok(None),
            Some(text) => text.parse().map_err(|_| text),
        },
    };
    number.map(Some).map_err(|found| wrong(name, "whole number", &found))
}

fn float(fields: &dyn Fields, name: &str, most: f64) -> Result<Option<f64>, String> {
    let number = match fields.field(name) {
        Some(Field::Float(number)) => number,
        _ => match word(fields, name) {
            None => return Ok(None),
            Some(text) => text.parse().map_err(|_| wrong(name, "number", &text))?,
        },
    };
    if (0.0..=most).contains(&number) { Ok(Some(number)) } else { Err(wrong(name, "such number", &number.to_string())) }
}

fn status(fields: &dyn Fields, name: &str) -> Result<Status, String> {
    let words = needed(name, word(fields, name))?;
    Status::of_words(&words).ok_or_else(|| wrong(name, "status", &words))
}

/// A moment, which tables have in microseconds, and files as a time.
fn moment(fields: &dyn Fields, name: &str) -> Result<i64, String> {
    if let Some(Field::Whole(us)) = fields.field(&format!("{name}_us")) {
        return i64::try_from(us).map_err(|_| wrong(name, "time", &us.to_string()));
    }
    let text = needed(name, word(fields, name))?;
    let at: jiff::Timestamp = text.parse().map_err(|_| wrong(name, "time", &text))?;
    Ok(at.as_microsecond())
}

fn item(fields: &dyn Fields) -> Result<Option<Item>, String> {
    let id = needed("id", word(fields, "id"))?;
    if id == OTHER {
        return Ok(None);
    }
    let is_hexadecimal = id.len() <= 32 && id.bytes().all(|digit| digit.is_ascii_hexdigit());
    let number = u128::from_str_radix(&id, 16).ok().filter(|_| is_hexadecimal);
    number.map(|number| Some(Item(number))).ok_or_else(|| wrong("id", "statement", &id))
}

fn flag(fields: &dyn Fields, name: &str) -> Result<bool, String> {
    if let Some(Field::Flag(flag)) = fields.field(name) {
        return Ok(flag);
    }
    let text = needed(name, word(fields, name))?;
    text.to_lowercase().parse().map_err(|_| wrong(name, "'true' or 'false'", &text))
}

impl SavedRow {
    /// From its columns.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn of(fields: &dyn Fields) -> Result<Self, String> {
        let (start_us, end_us) = (moment(fields, "slot_start")?, moment(fields, "slot_end")?);
        if end_us < start_us {
            return Err("slot_end is before slot_start".to_owned());
        }
        // A slot after a gap of years is the longest.
        let seconds = needed("seconds", float(fields, "seconds", 1e10)?)?;
        let slot = SavedSlotHead {
            session: word(fields, "session_id"),
            server: word(fields, "server"),
            start_us,
            end_us,
            covered_us: (seconds * 1e6).round() as u64,
            status: status(fields, "slot_status")?,
            explained_us: whole(fields, "explained_us")?,
            total_us: whole(fields, "total_us")?,
            own_us: needed("own_us", whole(fields, "own_us")?)?,
            slots: whole(fields, "slots")?,
        };
        let mut values = Values::default();
        let metrics = METRICS.into_iter().map(|metric| (metric.name, metric.measure));
        for (name, measure) in metrics.chain([(Measure::CpuUs.name(), Measure::CpuUs)]) {
            if let Some(value) = whole(fields, name)? {
                values.set(measure, value);
            }
        }
        let object = word(fields, "object").map(|name| if name == AD_HOC { String::new() } else { name });
        Ok(Self {
            slot,
            item: item(fields)?,
            is_nested: flag(fields, "nested")?,
            values,
            status: status(fields, "status")?,
            sums: whole(fields, "sums")?,
            database: word(fields, "database"),
            text: word(fields, "text"),
            object,
        })
    }

    /// What it says of its statement's text.
    pub fn known(&self) -> Option<QueryText> {
        let (database, text, object) = (self.database.clone(), self.text.clone(), self.object.clone());
        self.item.map(|item| QueryText { item, database, text, object })
    }
}

/// Makes records of rows that stand together.
pub struct Slots<'s> {
    each: &'s mut dyn FnMut(Record),
    current: Option<(SavedSlotHead, Record)>,
    /// Slots that were there.
    seen: BTreeSet<(Option<String>, Option<String>, i64)>,
}

impl<'s> Slots<'s> {
    pub fn of(each: &'s mut dyn FnMut(Record)) -> Self {
        Self { each, current: None, seen: BTreeSet::new() }
    }

    /// The next row.
    ///
    /// # Errors
    /// If it can't stand where it does.
    pub fn take(&mut self, row: &SavedRow) -> Result<(), String> {
        let is_same = |head: &SavedSlotHead| {
            (head.start_us, &head.session, &head.server) == (row.slot.start_us, &row.slot.session, &row.slot.server)
        };
        match &self.current {
            Some((head, _)) if is_same(head) && *head != row.slot => {
                return Err("rows of one slot say different things of it".to_owned());
            }
            Some((head, _)) if is_same(head) => {}
            _ => {
                self.end();
                let key = (row.slot.session.clone(), row.slot.server.clone(), row.slot.start_us);
                if !self.seen.insert(key) {
                    return Err("a slot stands there twice, or its rows do not stand together".to_owned());
                }
                self.current = Some((row.slot.clone(), begun(&row.slot)));
            }
        }
        let Some((_, record)) = &mut self.current else { return Ok(()) };
        let sum = Sum { values: row.values, status: row.status, longest_us: None };
        let is_new = match row.item {
            // A slot in which nothing ended has a row without figures.
            None if row.values == Values::default() => true,
            None => record.bucket.other.replace(Other { sums: row.sums.unwrap_or(1), sum }).is_none(),
            Some(item) => record.bucket.sums.insert(Key { is_nested: row.is_nested, item, plan: None }, sum).is_none(),
        };
        if is_new { Ok(()) } else { Err("a statement stands twice in a slot".to_owned()) }
    }

    /// No more rows come.
    pub fn end(&mut self) {
        if let Some((_, record)) = self.current.take() {
            (self.each)(record);
        }
    }
}

/// A slot without statements.
fn begun(head: &SavedSlotHead) -> Record {
    let bucket = Bucket {
        start_us: head.start_us,
        length_us: head.end_us.abs_diff(head.start_us),
        covered_us: head.covered_us,
        status: head.status,
        explained_us: head.explained_us,
        total_us: head.total_us,
        sums: BTreeMap::new(),
        other: None,
        other_nested: None,
    };
    let about = About { end_us: head.end_us, slots: head.slots.unwrap_or(1), own_us: head.own_us, ..About::default() };
    Record { bucket, about, waits: BTreeMap::new(), counted: BTreeMap::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Named(BTreeMap<&'static str, &'static str>);

    impl Fields for Named {
        fn field(&self, name: &str) -> Option<Field> {
            self.0.get(name).map(|text| Field::Text((*text).to_owned()))
        }
    }

    fn named(changed: &[(&'static str, &'static str)]) -> Result<SavedRow, String> {
        let all = [
            ("slot_start", "2026-03-01T14:00:00Z"),
            ("slot_end", "2026-03-01T14:00:10.5Z"),
            ("seconds", "10.5"),
            ("slot_status", "exact"),
            ("explained_us", "3000"),
            ("total_us", "6000"),
            ("own_us", "0"),
            ("id", "00000000000000000000000a"),
            ("nested", "false"),
            ("executions", "4"),
            ("elapsed_us", "3000"),
            ("status", "gap+partial"),
        ];
        SavedRow::of(&Named(all.into_iter().chain(changed.iter().copied()).collect()))
    }

    #[test]
    fn a_row_is_read_and_what_is_damaged_is_said() {
        let row = named(&[("text", "SELECT 1"), ("rows", "")]).unwrap();
        assert_eq!((row.item, row.status), (Some(Item(10)), Status::GAP | Status::PARTIAL));
        assert_eq!((row.slot.covered_us, row.values.get(Measure::Rows)), (10_500_000, None));
        for (name, text, said) in [
            ("slot_start", "soon", "slot_start is no time: 'soon'"),
            ("slot_end", "2026-03-01T13:00:00Z", "slot_end is before slot_start"),
            ("seconds", "", "seconds is missing"),
            ("seconds", "-1", "seconds is no such number: '-1'"),
            ("own_us", "", "own_us is missing"),
            ("slot_status", "good", "slot_status is no status: 'good'"),
            ("executions", "1.5", "executions is no whole number: '1.5'"),
            ("nested", "maybe", "nested is no 'true' or 'false': 'maybe'"),
            ("id", "+a", "id is no statement: '+a'"),
        ] {
            assert_eq!(named(&[(name, text)]).unwrap_err(), said);
        }
    }

    fn slots(rows: &[SavedRow]) -> Result<Vec<Record>, String> {
        let mut all = Vec::new();
        let mut each = |record| all.push(record);
        let mut slots = Slots::of(&mut each);
        rows.iter().try_for_each(|row| slots.take(row))?;
        slots.end();
        Ok(all)
    }

    #[test]
    fn rows_of_a_slot_stand_together_and_once() {
        let (one, two) = (named(&[]).unwrap(), named(&[("id", "b")]).unwrap());
        let later = named(&[("slot_start", "2026-03-01T14:00:10.5Z"), ("slot_end", "2026-03-01T14:00:21Z")]).unwrap();
        let all = slots(&[one.clone(), two.clone(), later.clone()]).unwrap();
        assert_eq!((all.len(), all[0].bucket.sums.len()), (2, 2));
        assert_eq!((all[0].bucket.explained_us, all[0].bucket.total_us), (Some(3_000), Some(6_000)));
        assert!(slots(&[one.clone(), later, two]).unwrap_err().contains("twice"));
        assert!(slots(&[one.clone(), one.clone()]).unwrap_err().contains("a statement stands twice"));
        let other = named(&[("id", "b"), ("seconds", "9")]).unwrap();
        assert!(slots(&[one, other]).unwrap_err().contains("different things"));
    }

    #[test]
    fn what_is_not_listed_is_a_sum_and_a_slot_without_figures_is_empty() {
        let idle = [("id", OTHER), ("executions", ""), ("elapsed_us", ""), ("own_us", "7"), ("slots", "6")];
        let all = slots(&[named(&idle).unwrap()]).unwrap();
        assert_eq!((all[0].bucket.other, all[0].about.own_us, all[0].about.slots), (None, 7, 6));
        let all = slots(&[named(&[("id", OTHER), ("sums", "9"), ("total_us", "")]).unwrap()]).unwrap();
        assert_eq!((all[0].bucket.other.map(|other| other.sums), all[0].bucket.total_us), (Some(9), None));
    }
}
