//! What a live view is made of: sums since they began, and the last slots one by one.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use plimsoll_measurement::counters::Values;

use super::super::collector::Told;
use super::super::limits;
use super::super::metrics::{METRICS, Metric};
use super::super::names::Texts;
use super::super::sums::{Key, Sum, Sums};

/// So many slots are kept one by one, the last ones. No terminal is wider.
const MOST_SLOTS: usize = 400;

/// Of each slot so many statements are kept of each metric, those with most of it.
const MOST_OF_METRIC: usize = 50;

/// What is kept of one slot.
#[derive(Debug, Clone)]
pub struct Piece {
    pub from_us: i64,
    pub to_us: i64,
    /// How much of it is known.
    pub covered_us: u64,
    /// Of all statements of clients, listed or not.
    pub all: Values,
    by_key: BTreeMap<Key, Values>,
    /// Whether some statements are not kept.
    is_cut: bool,
    /// Time of sessions by the class of what they waited for, and the time in which they were looked at.
    pub classes: BTreeMap<String, u64>,
    pub sampled_us: u64,
}

impl Piece {
    fn of(told: &Told<'_>) -> Self {
        let (slot, sums) = (told.slot, told.sums);
        let mut kept: BTreeSet<Key> = BTreeSet::new();
        let mut all = Values::default();
        for metric in METRICS {
            let most = sums.ranked_by(metric).into_iter().take(MOST_OF_METRIC);
            kept.extend(most.filter(|(_, sum)| sum.rank(metric) > Some(0)).map(|(key, _)| key));
            let clients = sums.by_query.iter().filter(|((_, is_nested), _)| !is_nested).map(|(_, sum)| *sum);
            let values = clients.chain(sums.rest.map(|(_, sum)| sum)).filter_map(|sum| sum.values.get(metric.measure));
            if let Some(sum) = values.reduce(u64::saturating_add) {
                all.set(metric.measure, sum);
            }
        }
        Self {
            from_us: slot.start_us,
            to_us: slot.end_us,
            covered_us: sums.covered_us,
            all,
            is_cut: kept.len() < sums.by_query.len() || sums.rest.is_some(),
            by_key: kept.into_iter().filter_map(|key| Some((key, sums.by_query.get(&key)?.values))).collect(),
            classes: limits::classes(sums).into_iter().map(|(class, us)| (class.to_owned(), us)).collect(),
            sampled_us: sums.about.sampled.map_or(0, |sampled| sampled.us),
        }
    }

    /// How much a statement has of a metric, or all have; `None` if that is not known. What did nothing in the slot has none.
    pub fn value(&self, key: Option<&Key>, metric: Metric) -> Option<u64> {
        let Some(key) = key else { return self.all.get(metric.measure) };
        match self.by_key.get(key) {
            Some(values) => values.get(metric.measure),
            None => (!self.is_cut).then_some(0),
        }
    }
}

/// Sums, slots and texts.
#[derive(Debug, Clone, Default)]
pub struct Data {
    pub sums: Sums,
    /// The number of slots that the sums are made of.
    pub slots: u64,
    /// Begin of the first of these and end of the last, by the server's clock.
    pub span_us: Option<(i64, i64)>,
    pub pieces: VecDeque<Piece>,
    pub texts: Texts,
    /// Moments that were marked.
    pub marks_us: Vec<i64>,
}

impl Data {
    /// Adds a slot.
    pub fn take(&mut self, told: &Told<'_>) {
        self.sums.add(told.sums);
        self.slots += 1;
        let from_us = self.span_us.map_or(told.slot.start_us, |(from_us, _)| from_us);
        self.span_us = Some((from_us, told.slot.end_us));
        if self.pieces.len() >= MOST_SLOTS {
            self.pieces.pop_front();
        }
        self.pieces.push_back(Piece::of(told));
        let blockers = told.sums.about.blockers.iter().filter_map(|blocker| blocker.item);
        let items = told.sums.by_query.keys().map(|(item, _)| *item).chain(blockers);
        for text in items.filter_map(|item| told.texts.get(&item)) {
            if self.texts.get(&text.item) != Some(text) {
                self.texts.insert(text.item, text.clone());
            }
        }
    }

    /// The same texts and nothing else: what is added from now on is all that there is.
    #[must_use]
    pub fn anew(&mut self) -> Self {
        Self { texts: std::mem::take(&mut self.texts), ..Self::default() }
    }

    /// Statements by a metric, the most first.
    pub fn ranked(&self, metric: Metric) -> Vec<(Key, Sum)> {
        self.sums.ranked_by(metric)
    }

    /// Whether any statement has any of it.
    pub fn has(&self, metric: Metric) -> bool {
        self.sums.by_query.values().any(|sum| sum.values.get(metric.measure) > Some(0))
    }
}
