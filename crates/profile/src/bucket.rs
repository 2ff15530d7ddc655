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
    /// The sums ([`together`]).
    pub values: Values,
    /// How far they can be believed: all bits of what was summed.
    pub status: Status,
    /// The longest execution that is known.
    pub longest_us: Option<u64>,
}

/// What is summed apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Key {
    /// Whether callers' sums have the same work once more. It is listed and never added to them.
    pub is_nested: bool,
    /// The query.
    pub item: Item,
    /// Its plan, where the server says it.
    pub plan: Option<Plan>,
}

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
    /// Time that its deltas explain. `None` if it is not known for a part.
    pub explained_us: Option<u64>,
    /// The server's total. `None` if it is not known for a part.
    pub total_us: Option<u64>,
    /// By query and plan.
    #[serde(with = "listed")]
    pub sums: BTreeMap<Key, Sum>,
    /// The rest, exactly.
    pub other: Option<Other>,
    /// The rest of what callers' sums have once more.
    pub other_nested: Option<Other>,
}

impl Sum {
    pub(crate) fn of(delta: &Delta) -> Self {
        Self { values: delta.values, status: delta.status, longest_us: delta.longest_us }
    }

    #[must_use]
    pub(crate) fn plus(self, other: &Self) -> Self {
        let (values, status) = together((self.values, self.status), (other.values, other.status));
        Self { values, status, longest_us: self.longest_us.max(other.longest_us) }
    }
}

/// Two sums in one. A measure of which a part is unknown is unknown. But where one of them was not counted at all, and only seen by looks at
/// sessions, what was counted of the other one is at least that of both.
pub fn together((one, status): (Values, Status), (other, also): (Values, Status)) -> (Values, Status) {
    let (mut all, status) = (one.plus(&other), status | also);
    let is_counted = |values: &Values| values.get(Measure::Executions).is_some();
    let counted = match (is_counted(&one), is_counted(&other)) {
        (true, false) => one,
        (false, true) => other,
        _ => return (all, status),
    };
    for (measure, value) in counted.iter() {
        if all.get(measure).is_none() {
            all.set(measure, value);
        }
    }
    (all, status | Status::LOWER_BOUND)
}

/// A sum of which a part is unknown is unknown.
fn both(all: Option<u64>, more: Option<u64>) -> Option<u64> {
    Some(all?.saturating_add(more?))
}

/// Adds another rest to one.
pub(crate) fn add_rest(all: &mut Option<Other>, more: Option<&Other>) {
    let Some(more) = more else { return };
    let both = |all: Other| Other { sums: all.sums + more.sums, sum: all.sum.plus(&more.sum) };
    *all = Some(all.map_or(*more, both));
}

/// Adds where there may be nothing yet.
pub(crate) fn add<K: Ord>(sums: &mut BTreeMap<K, Sum>, key: K, sum: &Sum) {
    sums.entry(key).and_modify(|all| *all = all.plus(sum)).or_insert(*sum);
}

impl Bucket {
    /// A slot, summed by query and plan. `start_us` is its planned start, so that reads that are a little late don't move it.
    pub fn of(slot: &Slot, start_us: i64, length_us: u64) -> Self {
        let is_empty = slot.status.has(Status::BASELINE) && slot.deltas.is_empty();
        let mut sums = BTreeMap::new();
        for delta in &slot.deltas {
            let &Delta { is_nested, item, plan, .. } = delta;
            add(&mut sums, Key { is_nested, item, plan }, &Sum::of(delta));
        }
        Self {
            start_us,
            length_us,
            covered_us: slot.interval_us.filter(|_| !is_empty).unwrap_or(0),
            status: slot.status,
            explained_us: slot.coverage.explained_us,
            total_us: slot.coverage.total_us,
            sums,
            other: None,
            other_nested: None,
        }
    }

    /// Explained time in percent of the server's total.
    pub fn coverage_percent(&self) -> Option<f64> {
        Some(crate::coverage::percent(self.explained_us?, self.total_us?))
    }

    /// The sum of a measure over everything, listed or not. `None` if it is unknown for a part.
    pub fn sum(&self, measure: Measure) -> Option<u64> {
        let listed = self.sums.iter().filter(|(key, _)| !key.is_nested).map(|(_, sum)| sum);
        let mut all = listed.chain(self.other.iter().map(|other| &other.sum));
        all.try_fold(0_u64, |total, sum| Some(total.saturating_add(sum.values.get(measure)?)))
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
        self.list_only(|key, _| listed.contains(key));
    }

    /// Lists only those of which this is true, and adds the others up.
    pub fn list_only(&mut self, is_listed: impl Fn(&Key, &Sum) -> bool) {
        for (key, sum) in std::mem::take(&mut self.sums) {
            if is_listed(&key, &sum) {
                self.sums.insert(key, sum);
            } else {
                let other = if key.is_nested { &mut self.other_nested } else { &mut self.other };
                add_rest(other, Some(&Other { sums: 1, sum }));
            }
        }
    }

    fn add(&mut self, finer: &Self) {
        self.covered_us = self.covered_us.saturating_add(finer.covered_us);
        self.status |= finer.status;
        // A point to start from has no time that could be explained.
        if finer.covered_us > 0 || !finer.sums.is_empty() {
            self.explained_us = both(self.explained_us, finer.explained_us);
            self.total_us = both(self.total_us, finer.total_us);
        }
        for (key, sum) in &finer.sums {
            add(&mut self.sums, *key, sum);
        }
        add_rest(&mut self.other, finer.other.as_ref());
        add_rest(&mut self.other_nested, finer.other_nested.as_ref());
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
        explained_us: Some(0),
        total_us: Some(0),
        sums: BTreeMap::new(),
        other: None,
        other_nested: None,
    };
    for part in parts {
        all.add(part);
    }
    for (key, sum) in &mut all.sums {
        let is_cut = |part: &&&Bucket| if key.is_nested { part.other_nested.is_some() } else { part.other.is_some() };
        let is_less = parts.iter().filter(is_cut).any(|part| !part.sums.contains_key(key));
        sum.status |= Status::LOWER_BOUND.when(is_less);
    }
    all.cut(top);
    all
}

/// A map whose keys are no texts, as a list of pairs.
mod listed {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serializer};

    use super::{Key, Sum};

    pub fn serialize<S: Serializer>(sums: &BTreeMap<Key, Sum>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(sums)
    }

    pub fn deserialize<'d, D: Deserializer<'d>>(deserializer: D) -> Result<BTreeMap<Key, Sum>, D::Error> {
        Ok(Vec::<(Key, Sum)>::deserialize(deserializer)?.into_iter().collect())
    }
}
