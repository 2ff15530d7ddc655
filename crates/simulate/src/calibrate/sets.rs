//! Sets of parameters that a run allows: its blocks drawn anew, and what it does not say anywhere in its range.

use super::counted::Counted;
use super::demand::{Demand, Manner, derive, redrawn};
use super::evidence::{Block, Evidence, What};
use super::gather::{Gather, Seen};
use super::hardware::Hardware;
use crate::random::Stream;

/// Sets of parameters. Of so many the lowest and the highest enclose the next in nine of ten cases; the interval goes beyond them.
pub const SETS: u64 = 20;

/// A set of parameters that the run allows.
#[derive(Debug, Clone, PartialEq)]
pub struct Set {
    /// What a request demands.
    pub demand: Demand,
    /// Pages that a request looks for.
    pub lookups: Option<f64>,
    /// Where in its range lies what the run does not say, from 0 to 1.
    pub luck: f64,
    /// How much of the time that the model misses at the source it misses elsewhere: from none to twice as much.
    pub missing: f64,
    /// How often changed pages are written at another rate: from 0, as often for each request, to 1, as often in a second; in passes: as few as
    /// changes can leave that fall on all pages alike.
    pub gathers: f64,
    /// How much of the log's part of that goes with the time of a write: from none to all of it.
    pub of_log: f64,
    /// How much of the waits for locks goes with all else of a request: from none to all of it.
    pub of_locks: f64,
    /// Seed of the simulation.
    pub seed: u64,
    /// Seconds of a request on the source's hardware without waits for locks, once they were simulated.
    pub rest_s: Option<f64>,
}

impl Set {
    /// Seconds that a request waits for locks where it was simulated with so many of them.
    pub(super) fn locks_s(&self, taken_s: f64, counted: &Counted) -> f64 {
        let Some(rest_s) = self.rest_s.filter(|rest_s| *rest_s > 0.0) else { return taken_s };
        let times = (counted.response_s() - taken_s).max(0.0) / rest_s;
        self.demand.lock_s * (1.0 + self.of_locks * (times - 1.0))
    }

    /// Finds how the changes of a request meet, so that as many pages are written for it as were, or `aim` times as many. Where any meet few are on pages
    /// of their own, so more of the sets are near to none of these.
    pub(super) fn gather(&mut self, hardware: &Hardware, rate: f64, aim: f64) {
        let Demand { changes, writes, write_bytes, .. } = self.demand;
        let making = hardware.statements.making;
        let seen = Seen { changes, writes: aim * writes, write_bytes, rate, making };
        self.demand.gather = Gather::of(seen, hardware, (1.0 - self.gathers).powi(2));
    }
}

/// Sets of parameters: blocks of the run drawn anew, and what it does not say anywhere in its range.
pub(super) fn sets(evidence: &Evidence, hardware: &Hardware, manner: Manner) -> Vec<Set> {
    let one = |number: u64| {
        let mut random = Stream::new(number, 17);
        let block: Block = redrawn(&evidence.blocks, &mut random);
        // Evenly over the range, in no order.
        let place = |step: u64| ((number * step % SETS) as f64 + 0.5) / SETS as f64;
        let (luck, missing, gathers, of_log) = (place(7), 2.0 * place(13), place(11), place(1));
        // Who holds a lock mostly does what those do that wait for it, so more of the sets are near to all.
        let of_locks = 1.0 - place(3).powi(2);
        let mut demand = derive(&block, evidence, hardware, luck).demand;
        if manner.has_passes {
            // A commit leaves a page at least, and a statement that writes too.
            demand.changes = demand.writes.max(demand.commits).max(hardware.statements.writing);
        }
        let lookups = block.each(What::Lookups);
        let mut set =
            Set { demand, lookups, luck, missing, gathers, of_log, of_locks, seed: 1000 + number, rest_s: None };
        set.gather(hardware, block.rate(), 1.0);
        set
    };
    (0..SETS).map(one).collect()
}
