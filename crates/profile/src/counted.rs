//! What was counted of waits, of files or of other counters in a time: sums by what they are called, those with most time, and the exact
//! rest.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::bucket::{self, Other, Sum};
use crate::measure::{Measure, Values};
use crate::slot::{Reason, Slot};
use crate::snapshot::Item;
use crate::status::Status;
use crate::views::Thing;

/// So many are listed of a time; the others are added up.
pub const LISTED: usize = 32;

/// What was counted of a source.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Counted {
    /// Those with most time.
    pub sums: BTreeMap<Thing, Sum>,
    /// The rest, exactly.
    pub other: Option<Other>,
}

/// What is known of that beside its sums.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AboutCounted {
    /// The time that the sums are of.
    pub covered_us: u64,
    /// All bits of what was summed.
    pub status: Status,
    /// What may be missing.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub unknown: BTreeSet<Reason>,
    /// Why it could not be read, the last time that it could not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absent: Option<String>,
}

/// Time of waits, or of reads, writes and syncs, in microseconds.
pub fn time_us(values: &Values) -> u64 {
    sum(values, [Measure::WaitUs, Measure::ReadUs, Measure::WriteUs, Measure::SyncUs])
}

/// Waits, or reads, writes and syncs; of another counter what it counted.
pub fn operations(values: &Values) -> u64 {
    sum(values, [Measure::Waits, Measure::Reads, Measure::Writes, Measure::Syncs]).max(sum(values, [Measure::Count]))
}

fn sum<const N: usize>(values: &Values, measures: [Measure; N]) -> u64 {
    measures.into_iter().filter_map(|measure| values.get(measure)).fold(0, u64::saturating_add)
}

impl Counted {
    /// The deltas of a slot, by what their items are called.
    pub fn of(slot: &Slot, things: &BTreeMap<Item, Thing>) -> Self {
        let mut counted = Self::default();
        for delta in &slot.deltas {
            if let Some(thing) = things.get(&delta.item) {
                bucket::add(&mut counted.sums, thing.clone(), &Sum::of(delta));
            }
        }
        counted.cut(LISTED);
        counted
    }

    /// Adds a later time. What is listed in one of them alone may be in the rest of the other, so that its sum is at least that.
    pub fn add(&mut self, more: &Self) {
        for (thing, sum) in &mut self.sums {
            sum.status |= Status::LOWER_BOUND.when(more.other.is_some() && !more.sums.contains_key(thing));
        }
        for (thing, sum) in &more.sums {
            let is_part = self.other.is_some() && !self.sums.contains_key(thing);
            let sum = Sum { status: sum.status | Status::LOWER_BOUND.when(is_part), ..*sum };
            bucket::add(&mut self.sums, thing.clone(), &sum);
        }
        bucket::add_rest(&mut self.other, more.other.as_ref());
    }

    /// Lists those with most time, and of those without with most operations; adds the others up.
    pub fn cut(&mut self, listed: usize) {
        if self.sums.len() <= listed {
            return;
        }
        let mut ranked: Vec<(Thing, Sum)> = std::mem::take(&mut self.sums).into_iter().collect();
        ranked.sort_by_key(|(_, sum)| std::cmp::Reverse((time_us(&sum.values), operations(&sum.values))));
        for (_, sum) in ranked.split_off(listed) {
            bucket::add_rest(&mut self.other, Some(&Other { sums: 1, sum }));
        }
        self.sums = ranked.into_iter().collect();
    }
}

impl AboutCounted {
    /// Of a slot.
    pub fn of(slot: &Slot) -> Self {
        let is_empty = slot.status.has(Status::BASELINE) && slot.deltas.is_empty();
        // What was set back counts nothing until it does something again.
        let status = slot.status | Status::LOWER_BOUND.when(!slot.unknown.is_empty());
        let status = slot.deltas.iter().fold(status, |status, delta| status | delta.status);
        Self {
            covered_us: slot.interval_us.filter(|_| !is_empty).unwrap_or(0),
            status,
            unknown: slot.unknown.iter().map(|unknown| unknown.reason).collect(),
            absent: None,
        }
    }

    /// Of one that could not be read.
    pub fn absent(why: String) -> Self {
        Self { absent: Some(why), ..Self::default() }
    }

    /// Adds a later time.
    pub fn add(&mut self, more: &Self) {
        self.covered_us = self.covered_us.saturating_add(more.covered_us);
        self.status |= more.status;
        self.unknown.extend(&more.unknown);
        if more.absent.is_some() {
            self.absent.clone_from(&more.absent);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(of: &[(&str, u64)]) -> Counted {
        let sum = |us| Sum {
            values: Values::of([(Measure::Waits, 1), (Measure::WaitUs, us)]),
            status: Status::EXACT,
            longest_us: None,
        };
        let sums = of.iter().map(|(name, us)| (Thing { name: (*name).to_owned(), ..Thing::default() }, sum(*us)));
        Counted { sums: sums.collect(), other: None }
    }

    #[test]
    fn what_is_not_listed_is_an_exact_rest_and_what_may_be_in_one_is_a_lower_bound() {
        let mut first = counted(&[("a", 5), ("b", 9), ("c", 7)]);
        first.cut(2);
        let names = |counted: &Counted| counted.sums.keys().map(|thing| thing.name.clone()).collect::<Vec<_>>();
        assert_eq!(
            (names(&first), first.other.unwrap().sum.values.get(Measure::WaitUs)),
            (vec!["b".to_owned(), "c".to_owned()], Some(5))
        );
        first.add(&counted(&[("a", 4), ("b", 1)]));
        let of = |name: &str| {
            let sum = first.sums.iter().find(|(thing, _)| thing.name == name).unwrap().1;
            (sum.values.get(Measure::WaitUs), sum.status)
        };
        assert_eq!(of("a"), (Some(4), Status::LOWER_BOUND), "the rest of the first may have had more of it");
        assert_eq!((of("b"), of("c")), ((Some(10), Status::EXACT), (Some(7), Status::EXACT)));
        let all = first.sums.values().chain(first.other.as_ref().map(|other| &other.sum));
        assert_eq!(all.map(|sum| time_us(&sum.values)).sum::<u64>(), 26, "nothing is lost");
    }

    #[test]
    fn a_time_that_could_not_be_read_covers_nothing_and_says_why() {
        let mut all = AboutCounted { covered_us: 5, ..AboutCounted::default() };
        all.add(&AboutCounted::absent("no answer".to_owned()));
        all.add(&AboutCounted { covered_us: 7, ..AboutCounted::default() });
        assert_eq!((all.covered_us, all.absent.as_deref()), (12, Some("no answer")));
    }
}
