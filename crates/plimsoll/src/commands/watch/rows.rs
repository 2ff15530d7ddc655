//! What the rows of `plimsoll watch show` are: statements, plans, objects, databases, texts, or the whole server, each with its sum.

use std::collections::BTreeMap;

use plimsoll_measurement::counters::{Item, Plan};
use plimsoll_report::model::{Cell, Column, text};
use serde_json::{Map, Value};

use super::filters::Filters;
use super::metrics::Metric;
use super::names::{self, SHORT_TEXT, put};
use super::news::{News, Since};
use super::plans::{self, Plans};
use super::stored::Kept;
use super::sums::{Sum, Sums};
use crate::args::By;
use crate::failure::Failure;

/// A row: what it is called, a single statement and its plan if it is of one, whether its work is that of another, since when it is new, and its
/// sum.
#[derive(Debug, Clone)]
pub struct Row {
    pub name: String,
    pub item: Option<Item>,
    pub plan: Option<Plan>,
    pub is_nested: bool,
    pub since: Option<Since>,
    pub sum: Sum,
}

/// What a row is of: its name, a single statement and its plan, and whether its work is that of another.
type Group = (String, Option<Item>, Option<Plan>, bool);

/// An error where the server tells nothing of what rows should be.
fn check(by: By, kept: &Kept, plans: &Plans) -> Result<(), Failure> {
    let lacks = |what: &str, how: &str| {
        let target = &kept.watched.target;
        if kept.is_reopened() {
            return Err(Failure::usage(format!("what was read of {target} has no {what}"))
                .hint("rows are by statement: '--by query' shows them; what SQL Server tells beside is in the store"));
        }
        Err(Failure::usage(format!("what was watched of {target} then has no {what}"))
            .hint(format!("SQL Server alone {how}; '--by query' shows statements")))
    };
    match by {
        By::Plan if plans.sums.is_empty() => lacks("plans", "counts statements by plan"),
        By::Object if kept.texts.values().all(|text| text.object.is_none()) => {
            lacks("objects", "says in which procedure a statement stands")
        }
        _ => Ok(()),
    }
}

/// All rows, those with most of a metric first.
///
/// # Errors
/// If the server does not tell what they should be.
pub fn rows(
    by: By,
    kept: &Kept,
    (sums, plans): (&Sums, &Plans),
    (filters, sort): (&Filters, Metric),
    news: &News,
) -> Result<Vec<Row>, Failure> {
    check(by, kept, plans)?;
    let mut groups: BTreeMap<Group, Sum> = BTreeMap::new();
    let mut since: BTreeMap<String, Since> = BTreeMap::new();
    let listed: Vec<_> = match by {
        By::Plan => {
            let met = plans.sums.iter().filter(|(_, sum)| filters.are_met(sum));
            met.map(|((item, is_nested, plan), sum)| (*item, *is_nested, *plan, *sum)).collect()
        }
        _ => filters
            .of_listed(sums.ranked())
            .into_iter()
            .map(|((item, nested), sum)| (item, nested, None, sum))
            .collect(),
    };
    for (item, is_nested, plan, sum) in listed {
        let known = kept.texts.get(&item);
        let statement = || names::name(item, &kept.texts, SHORT_TEXT);
        let (name, one) = match by {
            By::Query | By::Plan => (statement(), Some(item)),
            By::Database => {
                (known.and_then(|text| text.database.clone()).unwrap_or_else(|| "database unknown".to_owned()), None)
            }
            By::Object => {
                let object = known.and_then(|text| text.object.as_deref());
                let name = object.map_or("object unknown", |name| if name.is_empty() { names::AD_HOC } else { name });
                (name.to_owned(), None)
            }
            By::Text => {
                (known.and_then(|text| text.text.clone()).unwrap_or_else(|| names::name(item, &kept.texts, 0)), None)
            }
            // Waits, files and counters are of the whole server, and have no rows here.
            By::Instance | By::Wait | By::File | By::Counter => (kept.watched.target.clone(), None),
        };
        // What runs within another one is listed as that alone: its time is in that of its caller.
        if is_nested && one.is_none() && by != By::Text {
            continue;
        }
        if let Some(new) = news.since(item).filter(|_| by == By::Text) {
            since.insert(name.clone(), new);
        }
        Sum::add(&mut groups, (name, one, plan, is_nested), sum);
    }
    let row = |((name, item, plan, is_nested), sum): (Group, Sum)| {
        let since = item.map_or_else(|| since.get(&name).copied(), |item| news.since(item));
        Row { name, item, plan, is_nested, since, sum }
    };
    let mut rows: Vec<Row> = groups.into_iter().map(row).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.sum.rank(sort)));
    Ok(rows)
}

/// The columns that say what a row is.
pub fn columns(by: By) -> Vec<Column> {
    let name = match by {
        By::Query | By::Text | By::Plan => "Statement",
        By::Object => "Procedure or function",
        By::Database => "Database",
        By::Instance | By::Wait | By::File | By::Counter => "Server",
    };
    let plan = (by == By::Plan).then(|| text("Plan"));
    std::iter::once(text(name)).chain(plan).collect()
}

impl Row {
    /// Its name on one line, with its plan if it is of one.
    pub fn label(&self) -> String {
        let plan = self.plan.map_or_else(String::new, |plan| format!("{} ", plans::name(plan)));
        format!("{plan}{}", names::short(&self.name, SHORT_TEXT))
    }

    /// The cells of these columns.
    pub fn cells(&self, by: By) -> Vec<Cell> {
        let plan = (by == By::Plan).then(|| self.plan.map(plans::name).into());
        std::iter::once(names::short(&self.name, SHORT_TEXT - 15).into()).chain(plan).collect()
    }

    /// What it is, in JSON.
    pub fn json(&self, by: By, kept: &Kept) -> Map<String, Value> {
        let mut object = Map::new();
        let known = self.item.and_then(|item| kept.texts.get(&item));
        match (self.item, by) {
            (Some(item), _) => {
                object.insert("id".to_owned(), names::id(item).into());
                put(&mut object, "plan", self.plan.map(plans::name));
                put(&mut object, "text", known.and_then(|text| text.text.clone()));
                put(&mut object, "database", known.and_then(|text| text.database.clone()));
                put(&mut object, "object", known.and_then(|text| text.object.clone()).filter(|name| !name.is_empty()));
            }
            (None, By::Text) => drop(object.insert("text".to_owned(), self.name.as_str().into())),
            (None, By::Database) => drop(object.insert("database".to_owned(), self.name.as_str().into())),
            (None, By::Object) => drop(object.insert("object".to_owned(), self.name.as_str().into())),
            (None, _) => {}
        }
        put(&mut object, "new", self.since.map(Since::name));
        put(&mut object, "week_before", self.since.filter(|since| since.ran_week_before()).map(|_| true));
        if self.is_nested {
            object.insert("nested".to_owned(), true.into());
        }
        object
    }
}
