//! Two ranges of time held against each other, by query: what is new, what is gone, and of what changed which part was called more often
//! and which part became slower.
//!
//! Ranges are rarely of the same length, and seldom known to the same part. So figures are those of a second that is known, and both
//! coverages are given: a change may be one of coverage.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::bucket::{Bucket, Sum};
use crate::measure::Measure;
use crate::snapshot::{Item, Plan};
use crate::status::Status;

/// What a range is and how much of it is known.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Range {
    /// The time that its figures are of.
    pub covered_us: u64,
    /// Explained time in percent of the server's total, where that is known.
    pub coverage_percent: Option<f64>,
    /// All bits of its figures.
    pub status: Status,
    /// How many sums are not listed: a query that seems new or gone may be among them.
    pub unlisted: u64,
    /// The measure in a second, of everything, listed or not.
    pub per_second: Option<f64>,
}

/// How a query changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// It is in both ranges.
    Both,
    /// It is in the second range only.
    New,
    /// It is in the first range only.
    Gone,
}

/// The change of a query, in the measure's unit in a second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// The query.
    pub item: Item,
    /// Whether its callers have the same work once more.
    pub is_nested: bool,
    /// Whether it is in both ranges.
    pub kind: Kind,
    /// In the first range. `None` if the measure is not known for a part of it.
    pub before: Option<f64>,
    /// In the second range.
    pub after: Option<f64>,
    /// Executions in a second, in both.
    pub executions: (Option<f64>, Option<f64>),
    /// The part of the change that comes from more executions, at the cost of one before. `None` if one is not known.
    pub called_more: Option<f64>,
    /// The part that comes from the higher cost of one, at the executions of the second range.
    pub slower: Option<f64>,
    /// Plans of the second range that the first did not have, if both have some.
    pub new_plans: Vec<Plan>,
    /// How far both figures can be believed.
    pub status: Status,
}

impl Change {
    /// By how much it changed: what is absent in a range is zero there, and what is unknown is no change that can be told.
    pub fn difference(&self) -> Option<f64> {
        Some(self.after? - self.before?)
    }
}

/// Two ranges and what changed between them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// What is compared.
    pub measure: Measure,
    /// The first range.
    pub before: Range,
    /// The second range.
    pub after: Range,
    /// By query, the largest change first, whether up or down; then those whose change is not known.
    pub changes: Vec<Change>,
}

/// The sums of a query over a range, and its plans.
#[derive(Default)]
struct OfItem {
    sums: Vec<Sum>,
    plans: BTreeSet<Plan>,
}

impl OfItem {
    /// A measure in a second. Nothing was done where nothing is listed.
    fn per_second(&self, measure: Measure, covered_us: u64) -> Option<f64> {
        let mut values = self.sums.iter().map(|sum| sum.values.get(measure));
        let sum = values.try_fold(0_u64, |sum, value| Some(sum.saturating_add(value?)))?;
        rate(sum, covered_us)
    }

    fn status(&self) -> Status {
        self.sums.iter().fold(Status::EXACT, |all, sum| all | sum.status)
    }
}

fn rate(sum: u64, covered_us: u64) -> Option<f64> {
    (covered_us > 0).then(|| sum as f64 / (covered_us as f64 / 1e6))
}

fn range(buckets: &[Bucket], measure: Measure) -> Range {
    let covered_us = buckets.iter().fold(0_u64, |sum, bucket| sum.saturating_add(bucket.covered_us));
    let explained = buckets.iter().try_fold(0_u64, |sum, bucket| Some(sum.saturating_add(bucket.explained_us?)));
    let total = buckets.iter().try_fold(0_u64, |sum, bucket| Some(sum.saturating_add(bucket.total_us?)));
    let sum = buckets.iter().try_fold(0_u64, |sum, bucket| Some(sum.saturating_add(bucket.sum(measure)?)));
    Range {
        covered_us,
        coverage_percent: explained
            .zip(total)
            .filter(|_| !buckets.is_empty())
            .map(|(explained, total)| crate::coverage::percent(explained, total)),
        status: buckets.iter().fold(Status::EXACT, |all, bucket| all | bucket.status),
        unlisted: buckets.iter().filter_map(|bucket| bucket.other).map(|other| other.sums).sum(),
        per_second: sum.and_then(|sum| rate(sum, covered_us)),
    }
}

fn by_item(buckets: &[Bucket]) -> BTreeMap<(Item, bool), OfItem> {
    let mut items: BTreeMap<(Item, bool), OfItem> = BTreeMap::new();
    for (key, sum) in buckets.iter().flat_map(|bucket| &bucket.sums) {
        let of_item = items.entry((key.item, key.is_nested)).or_default();
        of_item.sums.push(*sum);
        of_item.plans.extend(key.plan);
    }
    items
}

/// Holds the buckets of two ranges against each other.
pub fn compare(before: &[Bucket], after: &[Bucket], measure: Measure) -> Comparison {
    let ranges = (range(before, measure), range(after, measure));
    let (olds, news) = (by_item(before), by_item(after));
    let items: BTreeSet<(Item, bool)> = olds.keys().chain(news.keys()).copied().collect();
    let nothing = OfItem::default();
    let change = |key: (Item, bool)| {
        let sides = (olds.get(&key), news.get(&key));
        let kind = match sides {
            (Some(_), Some(_)) => Kind::Both,
            (None, _) => Kind::New,
            (_, None) => Kind::Gone,
        };
        let (old, new) = (sides.0.unwrap_or(&nothing), sides.1.unwrap_or(&nothing));
        let of = |measure| (old.per_second(measure, ranges.0.covered_us), new.per_second(measure, ranges.1.covered_us));
        let ((before, after), executions) = (of(measure), of(Measure::Executions));
        let (called_more, slower) = split((before, after), executions).unzip();
        let is_told = !old.plans.is_empty();
        let new_plans = new.plans.difference(&old.plans).filter(|_| is_told).copied().collect();
        let status = old.status() | new.status();
        let (item, is_nested) = key;
        Change { item, is_nested, kind, before, after, executions, called_more, slower, new_plans, status }
    };
    let mut changes: Vec<Change> = items.into_iter().map(change).collect();
    let size = |change: &Change| change.difference().map_or(-1.0, f64::abs);
    changes.sort_by(|a, b| size(b).total_cmp(&size(a)).then((a.item, a.is_nested).cmp(&(b.item, b.is_nested))));
    Comparison { measure, before: ranges.0, after: ranges.1, changes }
}

/// The change of a rate as two parts that add up to it: more executions at the old cost of one, and the higher cost at the new executions.
/// A query that is new has no old cost, and one that is gone has no new one: all of the change is in the executions then.
fn split(rates: (Option<f64>, Option<f64>), executions: (Option<f64>, Option<f64>)) -> Option<(f64, f64)> {
    let (before, after) = (rates.0?, rates.1?);
    let (old, new) = (executions.0?, executions.1?);
    if old > 0.0 && new > 0.0 {
        let (old_cost, new_cost) = (before / old, after / new);
        Some(((new - old) * old_cost, new * (new_cost - old_cost)))
    } else {
        // Work without an execution is of one that ended in another range.
        ((before == 0.0) == (old == 0.0) && (after == 0.0) == (new == 0.0)).then_some((after - before, 0.0))
    }
}
