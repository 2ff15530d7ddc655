//! What runs between completions: active sessions, seen again and again, and a ledger that lets nothing count twice.
//!
//! Counters of statements grow when a statement ends. One of five minutes is in no counter for five minutes, and then in one slot. Samples
//! of active sessions show it meanwhile. The ledger keeps for each execution (a session and its statement's start) the time already shown
//! while it ran. When the execution ends, only the rest is added. So there are two views of the same time, with the same sum in the end:
//! by completion (when the server counted it) and by activity (when it ran).
//!
//! The collector takes a sample right before each read and one right after it, then it calls [`Ledger::close`]. So what the read counted is
//! known to have ended, and little time is between what was shown and what was counted.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use crate::measure::Measure;
use crate::slot::Slot;
use crate::snapshot::Item;
use crate::status::Status;

/// A session that executes a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Active {
    /// The session, by a number that is not used again soon.
    pub session: u64,
    /// When its statement began, by the server's clock.
    pub start_us: i64,
    /// The query. `None` if the server does not say it.
    pub item: Option<Item>,
    /// Whether the server may have counted it though its session is still at work on it, as in its commit.
    #[serde(default)]
    pub may_be_counted: bool,
}

/// All sessions that execute something at one time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// The server's clock.
    pub at_us: i64,
    /// The measured time since the sample before: what this one stands for. `None` for the first.
    pub spacing_us: Option<u64>,
    /// The sessions.
    pub active: Vec<Active>,
}

/// When the server counts an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counting {
    /// When its session is done with it.
    AtItsEnd,
    /// Perhaps before, by the last sample that had it.
    MaybeBefore,
    /// It is one of those that were counted before.
    Before,
}

/// What is known of one execution while it is not accounted for.
#[derive(Debug, Clone, Copy)]
struct Flight {
    item: Option<Item>,
    /// Time that it ran before samples were taken, and that is in no slot.
    before_us: u64,
    /// Time shown so far.
    shown_us: u64,
    /// When it was last seen.
    seen_us: i64,
    /// Whether the server counts it when its session is done with it, or has done so before.
    counting: Counting,
    /// Whether the last sample did not have it.
    is_ended: bool,
    /// Whether it was known to have ended when a slot was closed, and was left to the next one.
    is_late: bool,
}

/// Executions that are under way, or have ended and are in no counter yet. It is not stored: to one that is made anew, what runs already is
/// known to have run before.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    flights: HashMap<(u64, i64), Flight>,
    /// Time shown since the last slot was closed.
    shown_us: BTreeMap<Item, u64>,
    unattributed_us: u64,
    /// When samples were taken since the last slot was closed, and the last one before.
    sampled_us: Vec<i64>,
}

/// The time of a query in a slot, in two views.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Activity {
    /// Elapsed time of the executions that the server counted in the slot. `None` if it does not count it.
    pub completed_us: Option<u64>,
    /// Of that, what had not been shown while they ran.
    pub remainder_us: u64,
    /// Time in which executions were seen to run in the slot. It is measured from sample to sample, so an estimate.
    pub in_flight_us: u64,
    /// Time shown in this slot or before, of executions that ended and that the server counted nowhere: killed, failed or evicted.
    pub ended_unseen_us: u64,
    /// Of the completed time, what was shown while it ran, here or in earlier slots.
    pub shown_us: u64,
    /// Of the completed time, what ran before samples were taken: it belongs to no slot.
    pub before_us: u64,
}

impl Activity {
    /// Time by activity: when it ran.
    pub const fn by_activity_us(&self) -> u64 {
        self.remainder_us + self.in_flight_us
    }
}

/// What was active in a slot.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Closed {
    /// By query.
    pub items: BTreeMap<Item, Activity>,
    /// Time of sessions whose query the server does not say. It may be in the counters of some query as well, so that it is in no sum.
    pub unattributed_us: u64,
}

impl Closed {
    /// Time of all queries by activity. Held against a total that grows while statements run, it is their coverage.
    pub fn by_activity_us(&self) -> u64 {
        self.items.values().map(Activity::by_activity_us).sum()
    }

    /// Time of all executions that ended and that the server counted nowhere.
    pub fn ended_unseen_us(&self) -> u64 {
        self.items.values().map(|activity| activity.ended_unseen_us).sum()
    }
}

impl Ledger {
    /// Takes a sample. An execution that was there before was active all the time since; a new one since its start.
    pub fn sample(&mut self, sample: &Sample) {
        self.sampled_us.push(sample.at_us);
        for flight in self.flights.values_mut() {
            flight.is_ended = true;
        }
        for active in &sample.active {
            let ran_us = u64::try_from(sample.at_us.saturating_sub(active.start_us)).unwrap_or(0);
            let spacing_us = sample.spacing_us.unwrap_or(0);
            let flight = self.flights.entry((active.session, active.start_us)).or_insert_with(|| Flight {
                item: active.item,
                before_us: if sample.spacing_us.is_none() { ran_us } else { 0 },
                shown_us: 0,
                seen_us: sample.at_us,
                counting: Counting::AtItsEnd,
                is_ended: false,
                is_late: false,
            });
            (flight.is_ended, flight.seen_us) = (false, sample.at_us);
            if flight.counting != Counting::Before {
                flight.counting = if active.may_be_counted { Counting::MaybeBefore } else { Counting::AtItsEnd };
            }
            // By a clock that was set back a statement may begin after it is seen; then it counts from sample to sample.
            let unshown_us = ran_us.saturating_sub(flight.before_us + flight.shown_us);
            let shown_us = if active.start_us > sample.at_us { spacing_us } else { spacing_us.min(unshown_us) };
            flight.shown_us += shown_us;
            match flight.item {
                Some(item) => *self.shown_us.entry(item).or_default() += shown_us,
                None => self.unattributed_us += shown_us,
            }
        }
        self.flights.retain(|_, flight| flight.item.is_some() || !flight.is_ended);
    }

    /// Executions that are under way, or that have ended and may still be counted.
    pub fn open(&self) -> usize {
        self.flights.len()
    }

    /// Time shown of these.
    pub fn open_us(&self) -> u64 {
        self.flights.values().filter(|flight| flight.item.is_some()).map(|flight| flight.shown_us).sum()
    }

    /// Settles a slot of queries: executions that ended are matched with what the server counted. `read_start_us` is when the read began.
    pub fn close(&mut self, slot: &Slot, read_start_us: i64) -> Closed {
        let mut closed = Closed { unattributed_us: std::mem::take(&mut self.unattributed_us), ..Closed::default() };
        for (item, shown_us) in std::mem::take(&mut self.shown_us) {
            closed.items.entry(item).or_default().in_flight_us = shown_us;
        }
        let mut counted = counted(slot);
        let mut settled = Vec::new();
        // Whoever was active in the last sample before the read may have ended behind the read.
        let earlier = self.sampled_us.iter().rev().skip(1).copied();
        let before_us = earlier.filter(|at_us| *at_us <= read_start_us).max();
        let seen_from_us = before_us.unwrap_or(read_start_us);
        self.sampled_us.drain(..self.sampled_us.len().saturating_sub(1));
        for (key, flight) in self.ended() {
            let Some(item) = flight.item else { continue };
            let is_found = flight.counting == Counting::Before
                || counted.get_mut(&item).is_some_and(|counted| counted.take(&flight));
            // It may have ended after its row was read, and a read that did not return all rows may have left it out.
            let may_come = !flight.is_late && flight.seen_us >= seen_from_us
                || slot.status.has(Status::PARTIAL) && !counted.contains_key(&item);
            // With the server's counters all hope is gone.
            let is_lost = slot.event.is_some() || !may_come;
            if is_found || is_lost {
                settled.push(key);
            } else if let Some(flight) = self.flights.get_mut(&key) {
                flight.is_late = true;
            }
            if !is_found && is_lost {
                closed.items.entry(item).or_default().ended_unseen_us += flight.shown_us;
            }
        }
        for key in settled {
            self.flights.remove(&key);
        }
        // Those that commit still when the slot ends are counted in it. If they aren't, they write the log before their end.
        let may_be = |flight: &&mut Flight| !flight.is_ended && flight.counting == Counting::MaybeBefore;
        for flight in self.flights.values_mut().filter(may_be) {
            let counted = flight.item.and_then(|item| counted.get_mut(&item));
            if counted.is_some_and(|counted| counted.take(flight)) {
                flight.counting = Counting::Before;
            }
        }
        for (item, counted) in counted {
            let activity = closed.items.entry(item).or_default();
            activity.completed_us = counted.elapsed_us;
            (activity.shown_us, activity.before_us) = (counted.shown_us, counted.before_us);
            activity.remainder_us = counted.elapsed_us.unwrap_or(0) - counted.shown_us - counted.before_us;
        }
        closed
    }

    /// Executions that ended, the longest first: it is the hardest to match by chance.
    fn ended(&self) -> Vec<((u64, i64), Flight)> {
        let mut ended: Vec<_> =
            self.flights.iter().filter(|(_, flight)| flight.is_ended).map(|(key, flight)| (*key, *flight)).collect();
        ended.sort_by_key(|(key, flight)| (std::cmp::Reverse(flight.ran_us()), *key));
        ended
    }
}

impl Flight {
    /// It ran at least so long.
    const fn ran_us(&self) -> u64 {
        self.before_us + self.shown_us
    }
}

/// What the server counted of a query in a slot, and what of it is matched.
#[derive(Default)]
struct Counted {
    elapsed_us: Option<u64>,
    /// Executions and time that no execution of the ledger has taken.
    executions: Option<u64>,
    left_us: u64,
    /// No execution took longer. `None` if the server does not say it.
    longest_us: Option<u64>,
    /// Time of matched executions that was shown already, and that was before all samples.
    shown_us: u64,
    before_us: u64,
}

impl Counted {
    /// Matches an execution, if it can be one of those that the server counted. One that was seen in its commit took less than it was seen for.
    fn take(&mut self, flight: &Flight) -> bool {
        let ran_us = flight.ran_us();
        let is_shorter = ran_us <= self.left_us && self.longest_us.is_none_or(|longest| ran_us <= longest);
        let is_possible = self.executions != Some(0) && (is_shorter || flight.counting == Counting::MaybeBefore);
        if is_possible {
            self.executions = self.executions.map(|executions| executions - 1);
            let most_us = if is_shorter { ran_us } else { self.left_us.min(self.longest_us.unwrap_or(u64::MAX)) };
            let before_us = flight.before_us.min(most_us);
            let shown_us = flight.shown_us.min(most_us - before_us);
            self.left_us -= before_us + shown_us;
            self.shown_us += shown_us;
            self.before_us += before_us;
        }
        is_possible
    }
}

/// What the server counted, by query. What a caller's row has counted as well is left out, since a session is seen with the caller's query.
fn counted(slot: &Slot) -> BTreeMap<Item, Counted> {
    let mut all: BTreeMap<Item, Counted> = BTreeMap::new();
    for delta in slot.deltas.iter().filter(|delta| !delta.is_nested) {
        let of = |measure| delta.values.get(measure);
        let (elapsed_us, executions) = (of(Measure::ElapsedUs), of(Measure::Executions));
        let longest_us = delta.longest_at_most_us;
        let fresh = || Counted { elapsed_us: Some(0), executions: Some(0), longest_us: Some(0), ..Counted::default() };
        let counted = all.entry(delta.item).or_insert_with(fresh);
        counted.elapsed_us = counted.elapsed_us.zip(elapsed_us).map(|(sum, us)| sum.saturating_add(us));
        counted.executions = counted.executions.zip(executions).map(|(sum, more)| sum.saturating_add(more));
        counted.longest_us = counted.longest_us.zip(longest_us).map(|(longest, us)| longest.max(us));
        counted.left_us = counted.elapsed_us.unwrap_or(0);
    }
    all
}
