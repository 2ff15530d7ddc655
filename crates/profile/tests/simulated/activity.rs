//! Holds the ledger's two views against when statements truly ran.

use std::collections::{HashMap, HashSet};

use plimsoll_profile::ledger::Activity;
use plimsoll_profile::{Ledger, Slot};

use super::Reading;
use super::load::World;
use super::server::S;

/// A read, by true times.
#[derive(Debug, Clone, Copy)]
struct Read {
    start: i64,
    end: i64,
    is_complete: bool,
}

/// The state of one history's check of activity.
#[derive(Default)]
pub struct ActivityCheck {
    ledger: Ledger,
    /// True time of the last sample.
    sampled: Option<i64>,
    /// True times of the last samples that had a statement, by session and start.
    last_seen: HashMap<(u64, i64), i64>,
    /// Slots: the reads at their ends, and time by activity.
    slots: Vec<(Read, Read, u64)>,
    closed: Option<Read>,
    /// Sums over the ledger's life: in flight, shown of what completed, ended unseen.
    sums: [u64; 3],
    pub ended_unseen_us: u64,
}

impl ActivityCheck {
    /// Lets time pass, with a sample each second.
    pub fn run_to(&mut self, world: &mut World, to: i64) {
        while world.now < to {
            world.run_to(to.min((world.now / S + 1) * S));
            // Some samples fail.
            if !world.random.in_thousand(20) {
                self.sample(world);
            }
        }
    }

    pub fn sample(&mut self, world: &World) {
        let spacing_us = self.sampled.map(|sampled| (world.now - sampled) as u64);
        let sample = world.sample(spacing_us);
        for active in &sample.active {
            self.last_seen.insert((active.session, active.start_us), world.now);
        }
        self.ledger.sample(&sample);
        self.sampled = Some(world.now);
    }

    /// The collector was started again.
    pub fn forget(&mut self) {
        (self.ledger, self.sampled, self.closed, self.sums) = (Ledger::default(), None, None, [0; 3]);
    }

    /// Settles a slot; a sample was just taken.
    pub fn close(&mut self, slot: &Slot, reading: &Reading) {
        let closed = self.ledger.close(slot, reading.snapshot.start.clock_us);
        for activity in closed.items.values() {
            let &Activity { completed_us, remainder_us, in_flight_us, ended_unseen_us, shown_us, before_us } = activity;
            assert_eq!(completed_us.unwrap_or(0), remainder_us + shown_us + before_us);
            for (sum, more) in self.sums.iter_mut().zip([in_flight_us, shown_us, ended_unseen_us]) {
                *sum += more;
            }
        }
        self.ended_unseen_us += closed.ended_unseen_us();
        // Whatever was shown was completed, ended unseen, or is open.
        let [in_flight, shown, ended_unseen] = self.sums;
        assert_eq!(in_flight, shown + ended_unseen + self.ledger.open_us());
        let &Reading { start, end, ref snapshot, .. } = reading;
        let read = Read { start, end, is_complete: snapshot.is_complete };
        if let Some(before) = self.closed.replace(read) {
            self.slots.push((before, read, closed.by_activity_us()));
        }
    }

    /// Slots by their class, and those in which time by activity is what can be known of it, within 2 % and within what ran while the slot's
    /// two reads were under way: a statement that ended after its row was read counts in the next slot.
    pub fn near(&self, world: &World, counted: &HashSet<usize>) -> ([u64; 3], [u64; 3]) {
        let (mut slots, mut near) = ([0; 3], [0; 3]);
        // Of a statement that is in no delta, the time can be known in which samples saw it.
        let known = world.ran.iter().copied().chain(world.running()).filter_map(|ran| {
            let is_counted = ran.execution.is_some_and(|place| counted.contains(&place));
            let seen = self.last_seen.get(&(ran.session, ran.clock_us)).copied();
            Some((ran.start, if is_counted { ran.end } else { seen? }))
        });
        let known: Vec<(i64, i64)> = known.collect();
        let active = |start: i64, end: i64| -> f64 {
            known.iter().map(|ran| (ran.1.min(end) - ran.0.max(start)).max(0) as f64).sum()
        };
        for (before, now, by_activity) in &self.slots {
            let total = active(before.end, now.end);
            let tolerance = 0.02 * total + active(before.start, before.end) + active(now.start, now.end);
            let is_near = (*by_activity as f64 - total).abs() <= tolerance;
            for at in 0..=world.class(before.start, now.end, before.is_complete && now.is_complete) {
                slots[at] += 1;
                near[at] += u64::from(is_near);
            }
        }
        (slots, near)
    }

    /// Time in which statements were seen to run that are in no delta, in truth.
    pub fn truly_unseen_us(&self, world: &World, counted: &HashSet<usize>) -> u64 {
        let lost = world.ran.iter().filter(|ran| ran.execution.is_none_or(|place| !counted.contains(&place)));
        let seen = lost.filter_map(|ran| Some(self.last_seen.get(&(ran.session, ran.clock_us))? - ran.start));
        seen.map(|us| us.max(0) as u64).sum()
    }
}
