//! Which statements are shown (`--where K=V`) or kept (`--only K=V`), each of which leaves some out.

use std::collections::BTreeMap;

use plimsoll_engine::QueryText;
use plimsoll_measurement::counters::Item;
use plimsoll_profile::Record;

use super::metrics::{self, Metric};
use super::names::id;
use super::sums::{Key, Sum};
use crate::failure::Failure;

/// What a statement has to be.
#[derive(Debug, Clone, PartialEq)]
enum Filter {
    Database(String),
    /// A part of its text, in letters of any case.
    Text(String),
    /// The begin of its id.
    Query(String),
    AtLeast(Metric, u64),
}

/// All that was typed: a statement has to be all of it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Filters(Vec<Filter>);

impl Filters {
    /// Reads what was typed behind an option.
    ///
    /// # Errors
    /// If something is no filter.
    pub fn parse(option: &str, texts: &[String]) -> Result<Self, Failure> {
        texts.iter().map(|text| parse(option, text)).collect::<Result<_, _>>().map(Self)
    }

    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a statement is one of those, whatever it counted.
    pub fn takes(&self, item: Item, texts: &BTreeMap<Item, QueryText>) -> bool {
        let text = texts.get(&item);
        self.0.iter().all(|filter| match filter {
            Filter::Database(name) => text.is_some_and(|text| text.database.as_ref() == Some(name)),
            Filter::Text(part) => text.is_some_and(|text| {
                text.text.as_ref().is_some_and(|text| text.to_lowercase().contains(&part.to_lowercase()))
            }),
            Filter::Query(begin) => id(item).contains(begin.as_str()),
            Filter::AtLeast(..) => true,
        })
    }

    /// Whether what a statement counted is enough. What is not known is not.
    pub fn are_met(&self, sum: &Sum) -> bool {
        self.0.iter().all(|filter| match filter {
            Filter::AtLeast(metric, least) => sum.values.get(metric.measure).is_some_and(|value| value >= *least),
            _ => true,
        })
    }

    /// Leaves out of a slot what is none of those: it is in the sum of the others, and what it waited for is nobody's.
    pub fn leave_out(&self, record: &mut Record, texts: &BTreeMap<Item, QueryText>) {
        if self.is_empty() {
            return;
        }
        record.bucket.list_only(|key, sum| {
            let sum = Sum { values: sum.values, status: sum.status };
            self.takes(key.item, texts) && self.are_met(&sum)
        });
        for ((item, wait), us) in std::mem::take(&mut record.waits) {
            let item = item.filter(|item| record.bucket.sums.keys().any(|key| key.item == *item));
            *record.waits.entry((item, wait)).or_default() += us;
        }
    }

    /// Statements of a list that are met.
    pub fn of_listed(&self, listed: Vec<(Key, Sum)>) -> Vec<(Key, Sum)> {
        listed.into_iter().filter(|(_, sum)| self.are_met(sum)).collect()
    }
}

fn parse(option: &str, text: &str) -> Result<Filter, Failure> {
    let wrong = |message: String| {
        let known = metrics::names();
        Failure::usage(message)
            .hint(format!("database=NAME, text=PART, query=ID, or METRIC>=N, with one of {known} in place of METRIC"))
    };
    if let Some((name, least)) = text.split_once(">=") {
        let metric = metrics::by_name(name).ok_or_else(|| wrong(format!("{option} {text}: no metric is '{name}'")))?;
        let least = least.parse().map_err(|_| wrong(format!("{option} {text}: '{least}' is no whole number")))?;
        return Ok(Filter::AtLeast(metric, least));
    }
    let (key, value) = text.split_once('=').ok_or_else(|| wrong(format!("{option} {text} has no value")))?;
    match key {
        "database" => Ok(Filter::Database(value.to_owned())),
        "text" => Ok(Filter::Text(value.to_owned())),
        "query" => Ok(Filter::Query(value.to_lowercase())),
        _ => Err(wrong(format!("{option} {text}: nothing is filtered by '{key}'"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_measurement::counters::{Measure, Values};
    use plimsoll_profile::Status;

    #[test]
    fn a_statement_is_all_that_was_typed() {
        let text = QueryText {
            item: Item(5),
            database: Some("sales".to_owned()),
            text: Some("SELECT x".to_owned()),
            object: None,
        };
        let texts = BTreeMap::from([(Item(5), text)]);
        let of = |filters: &[&str]| {
            let texts: Vec<String> = filters.iter().map(|text| (*text).to_owned()).collect();
            Filters::parse("--where", &texts).unwrap()
        };
        assert!(of(&["database=sales", "text=SELECT X", "query=05"]).takes(Item(5), &texts));
        assert!(!of(&["database=other"]).takes(Item(5), &texts) && !of(&["text=y"]).takes(Item(5), &texts));
        let sum = Sum { values: Values::of([(Measure::Rows, 7)]), status: Status::EXACT };
        assert!(of(&["rows>=7"]).are_met(&sum) && !of(&["rows>=8"]).are_met(&sum));
        assert!(!of(&["executions>=0"]).are_met(&sum), "what is not known is not enough");
        for text in ["colour=red", "rows>=many", "speed>=1", "database"] {
            assert!(Filters::parse("--where", &[text.to_owned()]).is_err(), "{text}");
        }
    }
}
