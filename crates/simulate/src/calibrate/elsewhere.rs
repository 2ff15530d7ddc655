//! What of a request is another on other hardware without being measured there, and what of that nobody knows.

use plimsoll_hardware::{Role, Spec};

use super::counted::Counted;
use super::demand::Demand;
use super::evidence::What;
use super::hardware::Hardware;
use super::memory::{Hits, hits_in};
use super::predict::{Calibrated, PILED_UP, piled_up};
use super::sets::Set;
use super::usage::{OVERFULL, burst_on, largest_use};

/// From this part of a request's time on what the model misses is worth a word.
const LARGE_MISSING: f64 = 0.25;

/// From this change of a request's writes on it is worth a word.
const LARGE_CHANGE: f64 = 0.1;

/// Shares of lookups that differ by less are the same.
const SAME_HITS: f64 = 0.001;

impl Calibrated {
    /// The demand of a set where memory is another.
    pub(super) fn on_memory(&self, set: &Set, spec: &Spec) -> Demand {
        let own = &self.hardware.spec;
        if spec.memory == own.memory {
            return set.demand;
        }
        let (pages, reads) = (set.demand.pages, set.demand.reads);
        let lookups = set.lookups.filter(|lookups| *lookups > 0.0).unwrap_or(pages);
        if lookups <= 0.0 {
            return set.demand;
        }
        let Hits { low, high } = self.hits(1.0 - pages / lookups, spec);
        let missed = lookups * between(1.0 - low, 1.0 - high, set.luck);
        let reads_of_page = if pages > 0.0 { reads / pages } else { 1.0 };
        let more = if pages > 0.0 { missed / pages } else { 1.0 };
        let turn_reads = set.demand.turn_reads * more;
        Demand { pages: missed, reads: missed * reads_of_page, turn_reads, ..set.demand }
    }

    /// Whether it is known how many pages are found in the memory of some hardware.
    pub(super) fn is_exact(&self, spec: &Spec) -> bool {
        let Set { lookups, demand, .. } = &self.sets[0];
        let lookups = lookups.filter(|lookups| *lookups > 0.0).unwrap_or(demand.pages);
        let Hits { low, high } = self.hits(1.0 - demand.pages / lookups.max(f64::MIN_POSITIVE), spec);
        high - low < SAME_HITS
    }

    fn hits(&self, hits: f64, spec: &Spec) -> Hits {
        let bytes = |memory: Option<u64>| memory.map(|bytes| bytes as f64);
        hits_in(hits, bytes(self.hardware.spec.memory), bytes(spec.memory), self.hardware.data_bytes, self.all_alike)
    }

    /// That it is not known how often changed pages are written there.
    fn writes_on(&self, counted: &[Counted]) -> Option<String> {
        let writes = counted.iter().map(|one| one.io[1].count as f64 / one.requests().max(1) as f64);
        let (low, high) = writes.fold((f64::MAX, 0.0), |(low, high), one| (one.min(low), one.max(high)));
        let is_wide = high > (1.0 + LARGE_CHANGE) * low && self.derived.demand.writes > 0.0;
        is_wide
            .then(|| format!("how often changed pages are written at that rate: {low:.2} to {high:.2} times a request"))
    }

    pub(super) fn unknown_on(&self, target: &Hardware, counted: &[Counted]) -> Vec<String> {
        let mut unknown: Vec<String> = self.derived.unknown.iter().map(|one| one.text.clone()).collect();
        unknown.extend(self.log_rest.unknown_on(target, self.measured()));
        let response_s = f64::from(self.evidence.load.sessions) / self.measured() - self.evidence.load.think_s();
        if self.missing_s > LARGE_MISSING * response_s {
            unknown.push(format!(
                "what {:.3} ms of a request are, {:.0} % of its time, that the model misses at the source: it is taken from none of it to twice as \
                 much",
                self.missing_s * 1e3,
                100.0 * self.missing_s / response_s
            ));
        }
        unknown.extend(burst_on(target, counted));
        let is_behind = |one: &Counted| largest_use(target, one) > OVERFULL;
        if !target.bursts() && (piled_up(counted) > PILED_UP || counted.iter().any(is_behind)) {
            let text = "how evenly it answers: more pages are changed there than its disk writes, so that commits wait for checkpoints";
            unknown.push(text.to_owned());
        }
        if self.writes_data_alone() && target.limits(Role::Data).iter().any(|limit| limit.credit.is_none()) {
            let text = "what a faster device of the data brings: it has checkpoints alone, and faster ones come more often and gather fewer changes, which lowered the \
                        rate by up to 8 % on the lab";
            unknown.push(text.to_owned());
        }
        let block = self.evidence.whole();
        let pages = self.derived.demand.pages;
        unknown.extend(self.writes_on(counted));
        if target.spec.memory != self.hardware.spec.memory {
            let lookups = block.each(What::Lookups).filter(|lookups| *lookups > 0.0);
            let Hits { low, high } = self.hits(lookups.map_or(0.0, |lookups| 1.0 - pages / lookups), &target.spec);
            if lookups.is_some() && high - low >= SAME_HITS {
                unknown.push(format!(
                    "how many pages are found in another memory: from {:.1} to {:.1} % of the lookups",
                    100.0 * low,
                    100.0 * high
                ));
            }
        }
        unknown
    }
}

/// A place between two shares of lookups that miss, by their logarithms: a rate that waits for them goes by factors. Less than a small part of the most
/// is as little.
fn between(most: f64, least: f64, luck: f64) -> f64 {
    let least = least.max(most * LEAST_OF_MOST);
    if most > 0.0 { most * (least / most).powf(luck) } else { 0.0 }
}

/// That part.
const LEAST_OF_MOST: f64 = 0.03;
