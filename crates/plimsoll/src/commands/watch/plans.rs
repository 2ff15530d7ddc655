//! What statements did by each of their plans, and statements whose plan changed, with the cost of an execution before and after. Servers that do not
//! tell plans have none of it.

use std::collections::BTreeMap;

use plimsoll_measurement::counters::{Item, Measure, Plan, Values};
use plimsoll_profile::Record;
use plimsoll_report::model::{Cell, Table, format, number, scaled, text};
use serde_json::{Value, json};

use super::names::{self, SHORT_TEXT, Texts};
use super::ranges::shown;
use super::sums::{Sum, Sums};

/// A statement that goes to and fro between plans more often than so has none that changed.
const MOST_PERIODS: usize = 4;

/// What looks at sessions say is known of a statement, and not of its plans.
const NOT_BY_PLAN: [Measure; 3] = [Measure::ActiveUs, Measure::UnseenUs, Measure::SampledUs];

/// What executions by a plan came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    pub plan: Plan,
    executions: u64,
    elapsed_us: u64,
}

/// A time in which a statement was executed more often by this plan than by others.
#[derive(Debug, Clone, Copy)]
struct Period {
    from_us: i64,
    cost: Cost,
}

/// A statement whose plan changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Changed {
    pub item: Item,
    /// When, by the begin of the first slot with the new plan; `None` between two ranges.
    at_us: Option<i64>,
    before: Cost,
    after: Cost,
}

/// By statement, whether its time is in that of a caller, and by plan; `None` where the server does not say it.
type Key = (Item, bool, Option<Plan>);

/// What is known of plans in a time.
#[derive(Debug, Clone, Default)]
pub struct Plans {
    pub sums: BTreeMap<Key, Sum>,
    periods: BTreeMap<Item, Vec<Period>>,
}

/// A plan as SQL Server shows it.
pub fn name(plan: Plan) -> String {
    format!("0x{:016X}", plan.0)
}

impl Cost {
    fn plus(self, more: Self) -> Self {
        Self {
            executions: self.executions.saturating_add(more.executions),
            elapsed_us: self.elapsed_us.saturating_add(more.elapsed_us),
            ..self
        }
    }

    /// Of an execution, in microseconds.
    fn mean_us(self) -> f64 {
        self.elapsed_us as f64 / self.executions.max(1) as f64
    }

    fn mean(self) -> String {
        format::seconds(self.mean_us() / 1e6)
    }
}

/// The one with more executions; of as many that of the earlier plan.
fn more_often(one: Cost, other: Cost) -> Cost {
    if other.executions > one.executions { other } else { one }
}

impl Changed {
    /// By how much time the executions since then differ from what they would have taken before.
    fn weight_us(&self) -> f64 {
        (self.after.mean_us() - self.before.mean_us()).abs() * self.after.executions as f64
    }

    /// In JSON.
    pub fn json(&self, texts: &Texts) -> Value {
        let side = |cost: Cost| json!({"plan": name(cost.plan), "executions": cost.executions, "elapsed_us": cost.elapsed_us, "mean_us": cost.mean_us()});
        let mut object = json!({"id": names::id(self.item), "before": side(self.before), "after": side(self.after)});
        if let Some(text) = texts.get(&self.item).and_then(|known| known.text.as_deref()) {
            object["text"] = text.into();
        }
        if let Some(at_us) = self.at_us {
            object["at"] = shown(at_us).into();
        }
        object
    }
}

/// Those whose plan made most of a difference first.
fn ranked(mut changes: Vec<Changed>) -> Vec<Changed> {
    changes.sort_by(|one, other| other.weight_us().total_cmp(&one.weight_us()).then(one.item.cmp(&other.item)));
    changes
}

/// The change that made most of a difference, in a sentence, and how many more there are.
pub fn sentence(changes: &[Changed], texts: &Texts) -> Option<String> {
    let Changed { item, at_us, before, after } = changes.first()?;
    let at = at_us.map_or_else(String::new, |us| format!(" at {}", shown(us)));
    let more = match changes.len() - 1 {
        0 => String::new(),
        1 => " That of one more statement changed as well.".to_owned(),
        more => format!(" Those of {more} more statements changed as well."),
    };
    let name = names::name(*item, texts, SHORT_TEXT);
    Some(format!(
        "The plan of '{name}' changed{at}: an execution took {} on average before, and {} after.{more}",
        before.mean(),
        after.mean()
    ))
}

/// The changes as a table.
pub fn table(changes: &[Changed], texts: &Texts, top: usize) -> Option<Table> {
    let mean = |cost: Cost| Cell::quantity(cost.mean_us() / 1e6, "s");
    Table::of(
        changes.iter().take(top),
        &[
            (text("Statement"), &|change| names::name(change.item, texts, SHORT_TEXT - 20).into()),
            (text("Changed"), &|change| change.at_us.map(|us| Cell::time(&shown(us))).into()),
            (scaled("Each before", "s"), &|change| mean(change.before)),
            (scaled("Each after", "s"), &|change| mean(change.after)),
            (number("Calls before", "").spare(1), &|change| change.before.executions.into()),
            (number("Calls after", "").spare(1), &|change| change.after.executions.into()),
            (text("Plan before").spare(3), &|change| name(change.before.plan).into()),
            (text("Plan after").spare(2), &|change| name(change.after.plan).into()),
        ],
    )
}

/// Whether a statement's part of the time is worth a word.
fn noticeable(sums: &Sums) -> impl Fn(&Item) -> bool {
    let noticeable = sums.noticeable();
    move |item| sums.by_query.get(&(*item, false)).is_some_and(|sum| noticeable(sum).is_some())
}

impl Plans {
    /// Adds a later record.
    pub fn add(&mut self, record: &Record) {
        let kept = &record.bucket.sums;
        if kept.keys().all(|key| key.plan.is_none()) {
            return;
        }
        let mut used: BTreeMap<Item, Cost> = BTreeMap::new();
        for (key, one) in kept {
            let mut sum = Sum::of(one);
            sum.values = Values::of(sum.values.iter().filter(|(measure, _)| !NOT_BY_PLAN.contains(measure)));
            let executions = sum.values.get(Measure::Executions).unwrap_or(0);
            // A statement that runs on has completed nothing, by whatever plan.
            if key.plan.is_none() && executions == 0 {
                continue;
            }
            Sum::add(&mut self.sums, (key.item, key.is_nested, key.plan), sum);
            if let Some(plan) = key.plan.filter(|_| executions > 0 && !key.is_nested) {
                let cost = Cost { plan, executions, elapsed_us: sum.elapsed_us() };
                used.entry(key.item).and_modify(|most| *most = more_often(*most, cost)).or_insert(cost);
            }
        }
        for (item, cost) in used {
            let from_us = record.bucket.start_us;
            let periods = self.periods.entry(item).or_default();
            match periods.last_mut().filter(|last| last.cost.plan == cost.plan && last.from_us <= from_us) {
                Some(last) => last.cost = last.cost.plus(cost),
                None => periods.push(Period { from_us, cost }),
            }
        }
    }

    /// Leaves out what was not meant.
    pub fn keep_only(&mut self, is_meant: impl Fn(Item) -> bool) {
        self.sums.retain(|(item, ..), _| is_meant(*item));
        self.periods.retain(|item, _| is_meant(*item));
    }

    /// Statements whose plan changed, each with its last change.
    pub fn changes(&self, sums: &Sums) -> Vec<Changed> {
        let is_noticeable = noticeable(sums);
        let last = |(item, periods): (&Item, &Vec<Period>)| {
            let mut sorted = periods.clone();
            // Slots of different length are read one length after the other.
            sorted.sort_by_key(|period| period.from_us);
            let mut merged: Vec<Period> = Vec::new();
            for period in sorted {
                match merged.last_mut().filter(|last| last.cost.plan == period.cost.plan) {
                    Some(last) => last.cost = last.cost.plus(period.cost),
                    None => merged.push(period),
                }
            }
            let [.., before, after] = &merged[..] else { return None };
            let (at_us, before, after) = (Some(after.from_us), before.cost, after.cost);
            (merged.len() <= MOST_PERIODS).then_some(Changed { item: *item, at_us, before, after })
        };
        ranked(self.periods.iter().filter(|(item, _)| is_noticeable(item)).filter_map(last).collect())
    }

    /// The plan by which each statement was executed most often, of statements that count as one as the one that is named for it.
    fn most_used(&self, named: &BTreeMap<Item, Item>) -> BTreeMap<Item, Cost> {
        let mut costs: BTreeMap<(Item, Plan), Cost> = BTreeMap::new();
        for ((item, is_nested, plan), sum) in &self.sums {
            let Some(plan) = plan.filter(|_| !is_nested) else { continue };
            let executions = sum.values.get(Measure::Executions).unwrap_or(0);
            let cost = Cost { plan, executions, elapsed_us: sum.elapsed_us() };
            let item = *named.get(item).unwrap_or(item);
            costs.entry((item, plan)).and_modify(|all| *all = all.plus(cost)).or_insert(cost);
        }
        let mut most: BTreeMap<Item, Cost> = BTreeMap::new();
        for ((item, _), cost) in costs.into_iter().filter(|(_, cost)| cost.executions > 0) {
            most.entry(item).and_modify(|one| *one = more_often(*one, cost)).or_insert(cost);
        }
        most
    }

    /// Statements that were executed most often by another plan in a later range, of whose sums these are.
    pub fn changes_to(&self, later: &Self, named: &BTreeMap<Item, Item>, sums: &Sums) -> Vec<Changed> {
        let is_noticeable = noticeable(sums);
        let (old, new) = (self.most_used(named), later.most_used(named));
        let changed = |(item, after): (Item, Cost)| {
            let before = *old.get(&item).filter(|before| before.plan != after.plan)?;
            is_noticeable(&item).then_some(Changed { item, at_us: None, before, after })
        };
        ranked(new.into_iter().filter_map(changed).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_profile::bucket::{self, Bucket, Key};
    use plimsoll_profile::{About, Status};

    /// A slot in which statements were executed so often by a plan, with so much time.
    fn record(at: i64, done: &[(u128, u64, u64, u64)]) -> Record {
        let sum = |executions, us| bucket::Sum {
            values: Values::of([(Measure::Executions, executions), (Measure::ElapsedUs, us), (Measure::SampledUs, 99)]),
            status: Status::EXACT,
            longest_us: None,
        };
        let key = |item, plan: u64| Key { is_nested: false, item: Item(item), plan: (plan > 0).then_some(Plan(plan)) };
        let sums = done.iter().map(|(item, plan, executions, us)| (key(*item, *plan), sum(*executions, *us)));
        let bucket = Bucket {
            start_us: at * 60_000_000,
            length_us: 60_000_000,
            covered_us: 60_000_000,
            status: Status::EXACT,
            explained_us: None,
            total_us: None,
            sums: sums.collect(),
            other: None,
            other_nested: None,
        };
        let about = About { end_us: (at + 1) * 60_000_000, ..About::default() };
        Record { bucket, about, waits: BTreeMap::new(), counted: BTreeMap::new() }
    }

    fn summed(records: &[Record]) -> (Sums, Plans) {
        let (mut sums, mut plans) = (Sums::default(), Plans::default());
        for record in records {
            sums.add(&Sums::of_record(record));
            plans.add(record);
        }
        (sums, plans)
    }

    #[test]
    fn a_plan_that_took_the_place_of_another_is_told_with_both_costs() {
        let records = [
            record(0, &[(1, 7, 10, 1_000), (2, 5, 1, 90_000)]),
            record(1, &[(1, 7, 20, 2_000), (2, 5, 1, 90_000)]),
            // In the slot of the change some executions are still by the old one.
            record(2, &[(1, 7, 2, 200), (1, 8, 30, 90_000), (2, 5, 1, 90_000)]),
            record(3, &[(1, 8, 10, 30_000)]),
        ];
        let (sums, plans) = summed(&records);
        let [change] = plans.changes(&sums)[..] else { panic!("{plans:?}") };
        assert_eq!(
            (change.item, change.at_us, change.before.plan, change.after.plan),
            (Item(1), Some(120_000_000), Plan(7), Plan(8))
        );
        assert_eq!((change.before.mean_us(), change.after.mean_us(), change.after.executions), (100.0, 3_000.0, 40));
        let said = sentence(&[change], &Texts::new()).unwrap();
        assert!(
            said.contains(
                "changed at 1970-01-01T00:02:00Z: an execution took 100 us on average before, and 3 ms after."
            ),
            "{said}"
        );
        assert!(sentence(&[change, change, change], &Texts::new()).unwrap().contains("Those of 2 more statements"));
        assert_eq!(plans.sums.len(), 3);
        assert!(plans.sums.values().all(|sum| sum.values.get(Measure::SampledUs).is_none()), "not known by plan");
        // Slots of other lengths are read before those that are earlier.
        let (sums, plans) = summed(&[records[2].clone(), records[3].clone(), records[0].clone(), records[1].clone()]);
        assert_eq!(plans.changes(&sums), [change]);
    }

    #[test]
    fn plans_that_take_turns_and_statements_of_no_weight_did_not_change() {
        let turns: Vec<Record> = (0..6).map(|at| record(at, &[(1, 7 + (at % 2).unsigned_abs(), 5, 500)])).collect();
        let (sums, plans) = summed(&turns);
        assert_eq!(plans.changes(&sums), []);
        let (sums, plans) =
            summed(&[record(0, &[(1, 7, 1, 10), (2, 5, 1, 90_000)]), record(1, &[(1, 8, 1, 10), (2, 5, 1, 90_000)])]);
        assert_eq!(plans.changes(&sums), []);
        let (sums, plans) = summed(&[record(0, &[(1, 0, 4, 10)])]);
        assert!(plans.sums.is_empty() && plans.changes(&sums).is_empty(), "a server that tells no plans");
    }

    #[test]
    fn two_ranges_have_the_plans_that_were_used_most() {
        let (_, old) = summed(&[record(0, &[(1, 7, 10, 1_000), (1, 8, 2, 9_000)]), record(1, &[(3, 5, 1, 10)])]);
        let (sums, new) = summed(&[record(5, &[(1, 8, 10, 40_000), (1, 7, 9, 900)]), record(6, &[(3, 5, 1, 10)])]);
        let [change] = old.changes_to(&new, &BTreeMap::new(), &sums)[..] else { panic!("{old:?} {new:?}") };
        assert_eq!((change.item, change.at_us), (Item(1), None));
        assert_eq!((change.before.mean_us(), change.after.mean_us()), (100.0, 4_000.0));
        // Statements of the same text are one.
        let named = BTreeMap::from([(Item(3), Item(1))]);
        assert_eq!(old.changes_to(&new, &named, &sums).len(), 1);
    }
}
