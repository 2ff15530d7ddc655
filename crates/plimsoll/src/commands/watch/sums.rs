//! What statements did, summed over one slot or over many.

use std::collections::{BTreeMap, BTreeSet};

use super::metrics::{BY_COMPLETION, BY_SAMPLES, Metric};
use plimsoll_measurement::counters::{Item, Measure, Values};
use plimsoll_profile::bucket::{self, together};
use plimsoll_profile::{About, Reason, Record, Status};

/// From this part of the time on, what statements count of themselves says what costs most.
const EXPLAINED_PERCENT: f64 = 80.0;

/// So many sessions have to be seen for a share of them to be worth a name: a half of them is right to a third of itself then. One is seen a second.
const ENOUGH_SAMPLES: u64 = 10;
const SAMPLE_US: u64 = 1_000_000;

/// What the server counts of active time and what looks saw differ by more than chance from so many standard errors of the looks and this factor
/// on, with so many looks: servers count a statement's time when it ends, or their sessions tell it late.
const APART: (f64, f64, u64) = (3.0, 1.5, 4);

/// From this part of the time on, a change of a statement is worth a word.
const NOTICEABLE_PERCENT: f64 = 1.0;

/// What is summed apart: a statement, and whether its caller's time has the same work once more.
pub type Key = (Item, bool);

/// What one statement did.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sum {
    /// The sums ([`together`]).
    pub values: Values,
    /// All bits of what was summed, except that a statement that is new and was counted from its beginning is exact.
    pub status: Status,
}

impl Sum {
    /// Of what is kept.
    pub const fn of(kept: &bucket::Sum) -> Self {
        Self { values: kept.values, status: known(kept.status) }
    }

    /// Time from start to end of each execution, in microseconds.
    pub fn elapsed_us(&self) -> u64 {
        self.values.get(Measure::ElapsedUs).unwrap_or(0)
    }

    /// What it is ranked by. Time counts also if the server has counted it nowhere.
    pub fn rank(&self, metric: Metric) -> Option<u64> {
        let value = self.values.get(metric.measure);
        let unseen = self.values.get(Measure::UnseenUs).filter(|us| metric == BY_COMPLETION && *us > 0);
        [value, unseen].into_iter().flatten().reduce(u64::saturating_add)
    }

    /// Both together.
    #[must_use]
    pub fn plus(&self, more: &Self) -> Self {
        let (values, status) = together((self.values, self.status), (more.values, more.status));
        Self { values, status }
    }

    /// Adds to what stands under a key.
    pub fn add<K: Ord>(sums: &mut BTreeMap<K, Self>, key: K, more: Self) {
        sums.entry(key).and_modify(|one| *one = one.plus(&more)).or_insert(more);
    }
}

/// What happened in a time.
#[derive(Debug, Clone, Default)]
pub struct Sums {
    /// How long it was, in microseconds, as far as it was read.
    pub covered_us: u64,
    /// From the begin of its first slot to the end of its last one, in microseconds since 1970.
    pub span_us: Option<(i64, i64)>,
    /// By statement, without ours.
    pub by_query: BTreeMap<Key, Sum>,
    /// What the slots say of themselves.
    pub status: Status,
    /// Time that statements explain and the server's own total, in microseconds, of slots that have both.
    pub explained: Option<(u64, u64)>,
    /// What may be missing.
    pub unknown: BTreeSet<&'static str>,
    /// Statements that are not listed: how many sums it is made of, and theirs.
    pub rest: Option<(u64, Sum)>,
    /// What else is known.
    pub about: About,
    /// Time of active sessions by statement and by what they waited for, in microseconds.
    pub waits: BTreeMap<(Option<Item>, String), u64>,
}

/// Words for what may be missing; `None` for what coverage says already.
pub const fn words(reason: Reason) -> Option<&'static str> {
    Some(match reason {
        Reason::First | Reason::Unexplained => return None,
        Reason::Failover => "another server answered",
        Reason::Upgrade => "another version",
        Reason::Restart => "a restart",
        Reason::Reset => "a reset",
        Reason::Eviction => "statements were dropped",
        Reason::Partial => "not all could be read",
        Reason::FirstSight => "a statement of unknown age",
        Reason::Ended => "a statement's counts ended",
        Reason::Contradiction => "counts got less",
        Reason::Duplicate => "a row came twice",
    })
}

/// Where work was lost, what is left is at least what is told of the slot.
fn lost(unknown: &BTreeSet<Reason>) -> Status {
    let is_lost = |reason: &Reason| matches!(reason, Reason::Eviction | Reason::Ended | Reason::Duplicate);
    if unknown.iter().any(is_lost) { Status::LOWER_BOUND } else { Status::EXACT }
}

/// New is exact, as long as nothing else is said.
const fn known(status: Status) -> Status {
    Status::from_bits(status.bits() & !Status::CREDITED.bits())
}

impl Sums {
    /// Of one record.
    pub fn of_record(record: &Record) -> Self {
        let Record { bucket, about, waits, .. } = record;
        let mut sums = Self {
            covered_us: bucket.covered_us,
            span_us: Some((bucket.start_us, about.end_us.max(bucket.start_us))),
            status: bucket.status | lost(&about.unknown),
            explained: bucket.explained_us.zip(bucket.total_us),
            unknown: about.unknown.iter().filter_map(|reason| words(*reason)).collect(),
            about: about.clone(),
            waits: waits.clone(),
            ..Self::default()
        };
        for (key, sum) in &bucket.sums {
            let sum = Sum::of(sum);
            sums.status |= sum.status;
            Sum::add(&mut sums.by_query, (key.item, key.is_nested), sum);
        }
        sums.rest = bucket.other.map(|other| (other.sums, Sum::of(&other.sum)));
        sums
    }

    /// Adds a later time.
    pub fn add(&mut self, more: &Self) {
        self.covered_us = self.covered_us.saturating_add(more.covered_us);
        self.span_us = match (self.span_us, more.span_us) {
            (Some((from, to)), Some((begin, end))) => Some((from.min(begin), to.max(end))),
            (one, other) => one.or(other),
        };
        self.status |= more.status;
        self.explained = match (self.explained, more.explained) {
            (Some((one, two)), Some((more, total))) => Some((one.saturating_add(more), two.saturating_add(total))),
            (one, other) => one.or(other),
        };
        self.unknown.extend(&more.unknown);
        more.by_query.iter().for_each(|(key, sum)| Sum::add(&mut self.by_query, *key, *sum));
        self.rest = match (self.rest, more.rest) {
            (Some((count, all)), Some((more, sum))) => Some((count.saturating_add(more), all.plus(&sum))),
            (all, more) => all.or(more),
        };
        self.about.add(&more.about);
        for (wait, us) in &more.waits {
            let sum = self.waits.entry(wait.clone()).or_default();
            *sum = sum.saturating_add(*us);
        }
    }

    /// Leaves out what was not meant; the rest is not known to be.
    pub fn keep_only(&mut self, is_meant: impl Fn(Item) -> bool) {
        self.by_query.retain(|(item, _), _| is_meant(*item));
        self.waits.retain(|(item, _), _| item.is_none_or(&is_meant));
    }

    /// The same with statements that count as one as one: each as the one that is named for it.
    #[must_use]
    pub fn as_one(&self, named: &BTreeMap<Item, Item>) -> Self {
        let of = |item: &Item| *named.get(item).unwrap_or(item);
        let mut all = Self { by_query: BTreeMap::new(), waits: BTreeMap::new(), ..self.clone() };
        self.by_query
            .iter()
            .for_each(|((item, is_nested), sum)| Sum::add(&mut all.by_query, (of(item), *is_nested), *sum));
        for ((item, wait), us) in &self.waits {
            let sum = all.waits.entry((item.as_ref().map(of), wait.clone())).or_default();
            *sum = sum.saturating_add(*us);
        }
        all
    }

    /// The sum of all statements of clients, listed or not.
    pub fn all(&self) -> Sum {
        let listed = self.by_query.iter().filter(|((_, is_nested), _)| !is_nested).map(|(_, sum)| *sum);
        let all = listed.chain(self.rest.map(|(_, sum)| sum));
        all.reduce(|all, more| all.plus(&more)).unwrap_or(Sum { values: Values::default(), status: Status::EXACT })
    }

    /// Time of our own statements, in microseconds.
    pub const fn own_us(&self) -> u64 {
        self.about.own_us
    }

    /// Time of statements of clients, without ours, in microseconds.
    pub fn elapsed_us(&self) -> u64 {
        let clients = self.by_query.iter().filter(|((_, is_nested), _)| !is_nested).map(|(_, sum)| *sum);
        clients.chain(self.rest.map(|(_, sum)| sum)).fold(0, |all, sum| all.saturating_add(sum.elapsed_us()))
    }

    /// Time of the database: the server's own total, or more if statements explain more, without that of ours; in microseconds.
    pub fn database_us(&self) -> u64 {
        let total = self.explained.map_or(0, |(_, total)| total.saturating_sub(self.own_us()));
        total.max(self.elapsed_us())
    }

    /// Sessions that were active on average; `None` if the time is not known. In a slot in which a long statement goes on, or ends, that is what
    /// looks saw.
    pub fn active_sessions(&self) -> Option<f64> {
        let counted = (self.covered_us > 0).then(|| self.database_us() as f64 / self.covered_us as f64)?;
        Some(self.seen_apart(counted).unwrap_or(counted))
    }

    /// Sessions that looks saw active on average, where these are far from what the server has counted.
    fn seen_apart(&self, counted: f64) -> Option<f64> {
        let (errors, factor, looks) = APART;
        let sampled = self.about.sampled.filter(|sampled| sampled.samples >= looks && sampled.us > 0)?;
        let seen = self.seen_us() as f64 / sampled.us as f64;
        let (low, high) = (counted.min(seen), counted.max(seen));
        // Of so many that were seen in all looks together by chance (Poisson).
        let least = errors * (high / sampled.samples as f64).sqrt();
        (high - low > least && high > factor * low).then_some(seen)
    }

    /// The share of the database time that statements explain, in percent up to 100. Of a slot of which the server tells the time late it is
    /// that of the time that looks saw.
    pub fn coverage_percent(&self) -> Option<f64> {
        let (explained, total) = self.explained?;
        let counted = self.database_us() as f64 / self.covered_us.max(1) as f64;
        let seen = self.seen_apart(counted).map_or(0, |seen| (seen * self.covered_us as f64) as u64);
        Some(plimsoll_profile::coverage::percent(explained, total.max(seen)))
    }

    /// What part of the database time is so much, in percent.
    pub fn share_percent(&self, us: u64) -> Option<f64> {
        let all = self.database_us();
        (all > 0).then(|| 100.0 * us as f64 / all as f64)
    }

    /// What part of the time a statement has, by the metric that statements are ranked by, in percent; `None` if that is not worth a word.
    pub fn noticeable(&self) -> impl Fn(&Sum) -> Option<f64> + use<> {
        let metric = self.best_metric();
        let all = if metric == BY_COMPLETION { self.database_us() } else { self.seen_us() };
        move |sum| {
            let percent = 100.0 * sum.values.get(metric.measure)? as f64 / all.max(1) as f64;
            Some(percent).filter(|percent| *percent >= NOTICEABLE_PERCENT)
        }
    }

    /// Time of sessions that looks at them saw at work, in microseconds; where nothing is kept of waits, at statements that are known.
    pub fn seen_us(&self) -> u64 {
        if self.waits.is_empty() {
            return self.named_us();
        }
        self.waits.values().fold(0, |sum: u64, us| sum.saturating_add(*us))
    }

    /// The same at statements that are known.
    fn named_us(&self) -> u64 {
        self.all().values.get(Measure::SampledUs).unwrap_or(0)
    }

    /// The metric that says most of what cost most. Where what statements count of themselves explains little of the time, as with commits
    /// that wait for the log, samples say more, if enough of them found sessions at work on statements that are known.
    pub fn best_metric(&self) -> Metric {
        let is_explained = self.coverage_percent().is_some_and(|percent| percent >= EXPLAINED_PERCENT);
        if !is_explained && self.named_us() / SAMPLE_US >= ENOUGH_SAMPLES { BY_SAMPLES } else { BY_COMPLETION }
    }

    /// Statements by a metric, the most first.
    pub fn ranked_by(&self, metric: Metric) -> Vec<(Key, Sum)> {
        let mut ranked = self.ranked();
        ranked.sort_by_key(|(_, sum)| std::cmp::Reverse(sum.rank(metric)));
        ranked
    }

    /// Statements of clients beyond the first so many of a list, with those that are not listed: how many, and their sum.
    pub fn others(&self, ranked: &[(Key, Sum)], listed: usize) -> Option<(u64, Sum)> {
        let more = ranked.iter().skip(listed).filter(|((_, is_nested), _)| !is_nested).map(|(_, sum)| (1, *sum));
        more.chain(self.rest).reduce(|(count, all), (more, sum)| (count + more, all.plus(&sum)))
    }

    /// Statements by time, the most first.
    pub fn ranked(&self) -> Vec<(Key, Sum)> {
        let mut ranked: Vec<(Key, Sum)> = self.by_query.iter().map(|(key, sum)| (*key, *sum)).collect();
        ranked.sort_by_key(|(key, sum)| (std::cmp::Reverse(sum.rank(BY_COMPLETION)), *key));
        ranked
    }

    /// Statements by time, and the rest without a key. A slot in which none ended has one of these too: that it is known says something.
    pub fn statements(&self) -> Vec<(Option<Key>, Sum)> {
        let listed = self.ranked().into_iter().map(|(key, sum)| (Some(key), sum));
        let mut all: Vec<_> = listed.chain(self.rest.map(|(_, sum)| (None, sum))).collect();
        if all.is_empty() {
            let sum = self.all();
            all.push((None, Sum { status: sum.status | self.status, ..sum }));
        }
        all
    }

    /// How the figures can be believed, with what may be missing.
    pub fn status_words(&self) -> String {
        let unknown: Vec<&str> = self.unknown.iter().copied().collect();
        let status = self.status.to_string();
        if unknown.is_empty() { status } else { format!("{status} ({})", unknown.join(", ")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_profile::{Coverage, Delta, RowId, Sampled, Slot, Source, Unknown};

    fn slot(deltas: &[(u128, bool, u64)], total_us: Option<u64>) -> Slot {
        let delta = |(item, is_nested, elapsed): &(u128, bool, u64)| Delta {
            row: RowId(*item),
            item: Item(*item),
            plan: None,
            since_us: 0,
            interval_us: Some(1_000),
            values: Values::of([(Measure::Executions, 2), (Measure::ElapsedUs, *elapsed)]),
            status: Status::CREDITED,
            longest_us: None,
            longest_at_most_us: None,
            is_nested: *is_nested,
        };
        let explained = deltas.iter().filter(|delta| !delta.1).map(|delta| delta.2).sum();
        Slot {
            source: Source::Queries,
            epoch: 1,
            event: None,
            start_us: 0,
            end_us: 1_000,
            interval_us: Some(1_000),
            clock_step_us: None,
            status: Status::EXACT,
            deltas: deltas.iter().map(delta).collect(),
            unknown: vec![Unknown { reason: Reason::Eviction, row: None, from_us: 0, to_us: 1_000 }],
            evictions: Some(0),
            coverage: Coverage {
                of: Measure::ElapsedUs,
                explained_us: Some(explained),
                late_us: 0,
                total_us,
                total_range_us: None,
            },
        }
    }

    #[test]
    fn no_time_counts_twice_and_ours_is_apart() {
        let own = [Item(9)];
        let of = |slot: &Slot| Sums::of_record(&Record::of(slot, &own, 1_000));
        let mut all = of(&slot(&[(1, false, 600), (2, true, 500), (3, false, 200), (9, false, 100)], Some(1_100)));
        assert_eq!((all.elapsed_us(), all.own_us(), all.database_us()), (800, 100, 1_000));
        assert_eq!((all.active_sessions(), all.share_percent(600)), (Some(1.0), Some(60.0)));
        assert!((all.coverage_percent().unwrap() - 81.818).abs() < 0.01);
        let order: Vec<u128> = all.ranked().iter().map(|((item, _), _)| item.0).collect();
        assert_eq!(order, [1, 2, 3]);
        assert_eq!(all.status_words(), "lower_bound (statements were dropped)");
        // Without a total, what statements explain is all that is known.
        all.add(&of(&slot(&[(3, false, 700)], None)));
        assert_eq!(
            (all.elapsed_us(), all.covered_us, all.by_query[&(Item(3), false)].elapsed_us()),
            (1_500, 2_000, 900)
        );
        assert_eq!(all.explained, Some((900, 1_100)));
        assert_eq!(all.database_us(), 1_500);
    }

    #[test]
    fn one_session_that_hangs_is_active_before_the_server_counts_it() {
        let of = |looks: u64, seen: u64| {
            let mut all = Sums { covered_us: 10_000_000, explained: Some((0, 0)), ..Sums::default() };
            all.about.sampled = Some(Sampled { samples: looks, us: 10_000_000, ..Sampled::default() });
            all.waits.insert((None, "PgSleep".to_owned()), seen);
            all.active_sessions()
        };
        assert_eq!(of(10, 9_900_000), Some(0.99));
        assert_eq!(of(10, 2_000_000), Some(0.0));
    }

    #[test]
    fn nothing_is_shown_of_a_slot_that_only_begins() {
        let mut first = slot(&[], None);
        first.status = Status::BASELINE;
        let sums = Sums::of_record(&Record::of(&first, &[], 1_000));
        assert_eq!((sums.covered_us, sums.active_sessions(), sums.share_percent(5)), (0, None, None));
    }
}
