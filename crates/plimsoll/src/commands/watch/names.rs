//! What statements are called, and how their figures stand in JSON.

use std::collections::BTreeMap;

use plimsoll_engine::QueryText;
use plimsoll_measurement::counters::Item;
use plimsoll_measurement::foreign;
use plimsoll_profile::Status;
use plimsoll_report::model::format;
use serde_json::{Map, Value};

use super::metrics::METRICS;
use super::ranges;
use super::sums::{Sum, Sums};

/// So much of a text stands in a line or in a table.
pub const SHORT_TEXT: usize = 60;

/// The sum of statements that are not listed, in place of an id.
pub const OTHER: &str = "other";

/// Statements that stand in no procedure, where one is named.
pub const AD_HOC: &str = "ad hoc statements";

pub type Texts = BTreeMap<Item, QueryText>;

/// So much of a list of columns stands before its tables.
const LIST: usize = 15;

/// A moment, to the microsecond.
pub fn moment(us: i64) -> String {
    jiff::Timestamp::from_microsecond(us).map_or_else(|_| String::new(), |at| at.to_string())
}

/// The begin of a text on one line.
pub fn short(text: &str, most: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    // A name that a client chose may drive a terminal.
    let line = foreign::plain(&words.join(" "));
    let cut = |text: &str, most: usize| text.chars().take(most).collect::<String>();
    if line.chars().count() <= most {
        return line;
    }
    // Of a long list of columns the first ones say enough, and the tables more.
    match line.split_once(" FROM ") {
        Some((columns, tables))
            if columns.starts_with("SELECT ") && most >= 2 * LIST && columns.chars().count() > LIST =>
        {
            let tables = format!(" FROM {tables}");
            let rest = most - LIST - 1;
            let end = if tables.chars().count() > rest { "…" } else { "" };
            format!("{}…{}{end}", cut(columns, LIST), cut(&tables, rest))
        }
        _ => format!("{}…", cut(&line, most)),
    }
}

/// What a statement is called where there is little room.
pub fn name(item: Item, texts: &Texts, most: usize) -> String {
    let known = texts.get(&item).and_then(|text| text.text.as_deref());
    known.map_or_else(|| format!("statement {}", id(item)), |text| short(text, most))
}

/// Statements of the same text, each with the first one of it: tables that are made anew have other statements for the server.
pub fn same_text(texts: &Texts) -> BTreeMap<Item, Item> {
    let mut first: BTreeMap<&str, Item> = BTreeMap::new();
    let known = texts.values().filter_map(|text| Some((text.item, text.text.as_deref()?)));
    known.map(|(item, text)| (item, *first.entry(text).or_insert(item))).collect()
}

/// From when to when the slots of a range are: they count whole, so that a range that begins within one goes from the next one's begin on, and
/// one that ends within one to its end. What is asked for stands there if no slot is in it.
pub fn span(sums: &Sums, range: &std::ops::Range<i64>) -> String {
    let (from, to) = sums.span_us.unwrap_or((range.start, range.end));
    format!("{} to {}", ranges::shown(from), ranges::shown(to))
}

/// A statement's identity: 8 digits for the database and 16 for the server's number of it, hexadecimal.
pub fn id(item: Item) -> String {
    format!("{:024x}", item.0)
}

pub fn percent(share: Option<f64>) -> String {
    share.and_then(format::percent).unwrap_or_else(|| "?".to_owned())
}

/// What a row is beside its figures, and how far these can be believed.
pub fn status(status: Status, is_nested: bool, is_new: bool) -> String {
    let marks = [(is_new, "new"), (is_nested, "within another")];
    let mut words: Vec<String> = marks.iter().filter(|(is, _)| *is).map(|(_, word)| (*word).to_owned()).collect();
    // What is marked and nothing else is exact.
    if words.is_empty() || status != Status::EXACT {
        words.push(status.to_string());
    }
    words.join(", ")
}

/// Puts what is known.
pub fn put(object: &mut Map<String, Value>, name: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        object.insert(name.to_owned(), value.into());
    }
}

/// All figures of a statement that are known.
pub fn measures(object: &mut Map<String, Value>, sum: &Sum) {
    for metric in METRICS {
        put(object, metric.name, sum.values.get(metric.measure));
    }
    object.insert("status".to_owned(), sum.status.to_string().into());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_stand_before_a_status_and_in_place_of_exact() {
        assert_eq!(status(Status::EXACT, false, false), "exact");
        assert_eq!(
            (status(Status::EXACT, true, false), status(Status::EXACT, false, true)),
            ("within another".to_owned(), "new".to_owned())
        );
        assert_eq!(status(Status::GAP, true, true), "new, within another, gap");
    }

    #[test]
    fn a_long_text_is_cut_to_one_line() {
        assert_eq!(short("SELECT  1\n\tFROM   x", 40), "SELECT 1 FROM x");
        assert_eq!(short("SELECT äöü FROM x", 10), "SELECT äöü…");
        assert_eq!(
            short("SELECT RowId, Bit1, Bit2, Bit3, Bit4 FROM t1 WHERE x = $1", 40),
            "SELECT RowId, B… FROM t1 WHERE x = $1"
        );
        assert_eq!(
            short("SELECT RowId, Bit1, Bit2, Bit3, Bit4 FROM t1 WHERE x = $1", 30),
            "SELECT RowId, B… FROM t1 WHERE…"
        );
    }
}
