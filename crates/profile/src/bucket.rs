//! Sums over time: slots summed by query and plan, and minutes rolled up to quarters of an hour and hours.
//!
//! Fifteen minutes, because every time zone's offset is a multiple of them, so that days of any zone add up.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::measure::{Measure, Values};
use crate::slot::{Delta, Slot};
use crate::snapshot::{Item, Plan};
use crate::status::Status;

/// The lengths of buckets, each a multiple of the one before.
pub const TIERS_US: [u64; 3] = [60_000_000, 15 * 60_000_000, 60 * 60_000_000];

/// What a query did with a plan.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Sum {
    /// The sums. A measure of which a part is unknown is unknown.
    pub values: Values,
    /// How far they can be believed: all bits of what was summed.
    pub status: Status,
    /// The longest execution that is known.
    pub longest_us: Option<u64>,
}

/// What is summed apart: a query, and its plan where the server says it.
pub type Key = (Item, Option<Plan>);

/// The sum of what is not listed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Other {
    /// How many sums it is made of. One query counts again in each bucket that was cut.
    pub sums: u64,
    /// Of all of them.
    pub sum: Sum,
}

/// What happened in a time of fixed length.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bucket {
    /// When it begins: the slot's planned start.
    pub start_us: i64,
    /// How long it is.
    pub length_us: u64,
    /// The time that its figures are of. It is shorter where nothing is known, and longer for a slot after a gap.
    pub covered_us: u64,
    /// All bits of its slots.
    pub status: Status,
    /// Time that its deltas explain.
    pub explained_us: u64,
    /// The server's total. `None` if it is not known for a part.
    pub total_us: Option<u64>,
    /// By query and plan.
    pub sums: BTreeMap<Key, Sum>,
    /// The rest, exactly.
    pub other: Option<Other>,
}

impl Sum {
    fn of(delta: &Delta) -> Self {
        Self { values: delta.values, status: delta.status, longest_us: delta.longest_us }
    }

    #[must_use]
    fn plus(self, other: &Self) -> Self {
        Self {
            values: self.values.plus(&other.values),
            status: self.status | other.status,
            longest_us: self.longest_us.max(other.longest_us),
        }
    }
}

/// Adds where there may be nothing yet.
fn add<K: Ord>(sums: &mut BTreeMap<K, Sum>, key: K, sum: &Sum) {
    sums.entry(key).and_modify(|all| *all = all.plus(sum)).or_insert(*sum);
}

impl Bucket {
    /// A slot, summed by query and plan. `start_us` is its planned start, so that reads that are a little late don't move it.
    pub fn of(slot: &Slot, start_us: i64, length_us: u64) -> Self {
        let mut sums = BTreeMap::new();
        for delta in &slot.deltas {
            add(&mut sums, (delta.item, delta.plan), &Sum::of(delta));
        }
        Self {
            start_us,
            length_us,
            covered_us: if slot.status.has(Status::BASELINE) { 0 } else { slot.interval_us.unwrap_or(0) },
            status: slot.status,
            explained_us: slot.coverage.explained_us,
            total_us: slot.coverage.total_us,
            sums,
            other: None,
        }
    }

    /// Explained time in percent of the server's total.
    pub fn coverage_percent(&self) -> Option<f64> {
        self.total_us.map(|total| crate::coverage::percent(self.explained_us, total))
    }

    /// The sum of a measure over everything, listed or not. `None` if it is unknown for a part.
    pub fn sum(&self, measure: Measure) -> Option<u64> {
        let all = self.sums.values().chain(self.other.iter().map(|other| &other.sum));
        all.map(|sum| sum.values.get(measure)).try_fold(0_u64, |sum, value| Some(sum.saturating_add(value?)))
    }

    /// Lists only those that are among the `top` of some measure, and adds the others up.
    pub fn cut(&mut self, top: usize) {
        let mut listed = BTreeSet::new();
        for measure in Measure::ALL {
            let of_measure =
                |(key, sum): (&Key, &Sum)| Some((sum.values.get(measure).filter(|value| *value > 0)?, *key));
            let mut ranked: Vec<(u64, Key)> = self.sums.iter().filter_map(of_measure).collect();
            ranked.sort_by_key(|(value, key)| (std::cmp::Reverse(*value), *key));
            listed.extend(ranked.into_iter().take(top).map(|(_, key)| key));
        }
        let (kept, rest) = std::mem::take(&mut self.sums).into_iter().partition(|(key, _)| listed.contains(key));
        self.sums = kept;
        for sum in BTreeMap::into_values(rest) {
            self.add_other(&Other { sums: 1, sum });
        }
    }

    fn add_other(&mut self, more: &Other) {
        self.other = Some(match self.other {
            Some(all) => Other { sums: all.sums + more.sums, sum: all.sum.plus(&more.sum) },
            None => *more,
        });
    }

    fn add(&mut self, finer: &Self) {
        self.covered_us = self.covered_us.saturating_add(finer.covered_us);
        self.status |= finer.status;
        self.explained_us = self.explained_us.saturating_add(finer.explained_us);
        self.total_us = self.total_us.zip(finer.total_us).map(|(all, more)| all.saturating_add(more));
        for (key, sum) in &finer.sums {
            add(&mut self.sums, *key, sum);
        }
        if let Some(other) = &finer.other {
            self.add_other(other);
        }
    }
}

/// Sums buckets up to longer ones, in order of time, each with the `top` of every measure and the exact rest. A query that is missing in a
/// finer bucket that was cut may be in its rest, so that what is listed of it is at least that.
pub fn roll_up(finer: &[Bucket], length_us: u64, top: usize) -> Vec<Bucket> {
    let mut groups: BTreeMap<i64, Vec<&Bucket>> = BTreeMap::new();
    for bucket in finer {
        let length = i64::try_from(length_us.max(1)).unwrap_or(i64::MAX);
        groups.entry(bucket.start_us.div_euclid(length).saturating_mul(length)).or_default().push(bucket);
    }
    groups.into_iter().map(|(start_us, parts)| rolled_up(start_us, length_us, &parts, top)).collect()
}

fn rolled_up(start_us: i64, length_us: u64, parts: &[&Bucket], top: usize) -> Bucket {
    let mut all = Bucket {
        start_us,
        length_us,
        covered_us: 0,
        status: Status::EXACT,
        explained_us: 0,
        total_us: Some(0),
        sums: BTreeMap::new(),
        other: None,
    };
    for part in parts {
        all.add(part);
    }
    let cut: Vec<&&Bucket> = parts.iter().filter(|part| part.other.is_some()).collect();
    for (key, sum) in &mut all.sums {
        sum.status |= Status::LOWER_BOUND.when(cut.iter().any(|part| !part.sums.contains_key(key)));
    }
    all.cut(top);
    all
}
