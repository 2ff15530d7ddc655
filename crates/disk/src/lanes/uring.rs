//! A ring: many operations under way on one thread.

use std::fs::File;
use std::time::Duration;

use plimsoll_clock::Clock;
use plimsoll_engine::{Error, ErrorKind};
use plimsoll_load::lane::{Completion, Lane};
use plimsoll_measurement::{Cell, Moment};

use super::{checked, kind, nothing_left, outcome};
use crate::buffer::Buffers;
use crate::offsets::{Draw, Next};
use crate::ring::Ring;
use crate::sync::Durable;

/// Of a batch of completions so many are handled before the kernel is told of the operations that follow them. With more of them the
/// device's queue runs dry while the batch is handled: at 32 random reads of 8 KiB under way, eight cost a tenth of the rate. Each call
/// costs CPU time, a tenth of an operation's.
const REFILL: usize = 2;

/// Of so many batches one is looked at for how late it was picked up: each look costs CPU time.
const BATCHES_BETWEEN_LOOKS: u32 = 8;

/// A thread's ring.
pub struct UringLane<'a> {
    clock: &'a dyn Clock,
    cell: &'a Cell,
    ring: Ring,
    draw: Draw,
    durable: Option<Durable>,
    /// What is done in each slot.
    under_way: Vec<Next>,
    /// Where the blocks of an operation go that writes several.
    offsets: Vec<u64>,
    /// Operations in a refill.
    refill: usize,
    /// When the batch ended that is being given out. Reading a clock costs a part of an operation, so a batch has one time.
    ended: Moment,
    /// Batches so far.
    batches: u32,
    /// How long the first of the batch may have lain there before it was picked up, where that was looked at.
    late: Option<Duration>,
}

impl<'a> UringLane<'a> {
    /// A lane of this cell with a slot for each buffer. It belongs to the thread that makes it.
    ///
    /// # Errors
    /// Those of the system, where it has no ring for us after all.
    pub fn new(clock: &'a dyn Clock, cell: &'a Cell, file: File, buffers: Buffers, draw: Draw) -> Result<Self, Error> {
        let ring = Ring::new(file, buffers, cell.writes_per_sync as usize).map_err(|error| failed(&error))?;
        let durable = Durable::of(cell.sync.known());
        let slots = ring.slots();
        let refill = REFILL.min(slots.div_ceil(2));
        let nothing = Next { offset: 0, writes: false };
        let (under_way, offsets, ended) = (vec![nothing; slots], Vec::new(), clock.now());
        let (batches, late) = (0, None);
        Ok(Self { clock, cell, ring, draw, durable, under_way, offsets, refill, ended, batches, late })
    }
}

impl Lane for UringLane<'_> {
    type Error = Error;

    fn slots(&self) -> usize {
        self.ring.slots()
    }

    fn submit(&mut self, slot: usize, _: Moment) -> Result<(), Error> {
        let next = self.draw.next();
        self.under_way[slot] = next;
        let told = if next.writes {
            self.offsets.clear();
            self.offsets.push(next.offset);
            self.offsets.extend((1..self.cell.writes_per_sync).map(|_| self.draw.next().offset));
            self.ring.write(slot, &self.offsets, self.durable)
        } else {
            self.ring.read(slot, next.offset)
        };
        told.map_err(|error| failed(&error))?;
        if self.ring.queued() >= self.refill {
            self.ring.submit().map_err(|error| failed(&error))?;
        }
        Ok(())
    }

    fn reap(&mut self, until: Moment) -> Result<Option<Completion>, Error> {
        let mut next = self.ring.next();
        if next.is_none() {
            let is_forever = until.as_nanos() == u64::MAX;
            let left = (!is_forever).then(|| until.since(self.clock.now()));
            self.batches = self.batches.wrapping_add(1);
            let looks = self.batches.is_multiple_of(BATCHES_BETWEEN_LOOKS);
            if looks {
                // What ended while the last batch was handled has waited for us, at most since that one was picked up.
                self.ring.wait(Some(Duration::ZERO)).map_err(|error| failed(&error))?;
                next = self.ring.next();
                let before = std::mem::replace(&mut self.ended, self.clock.now());
                self.late = Some(next.as_ref().map_or(Duration::ZERO, |_| self.ended.since(before)));
            }
            if next.is_none() {
                self.ring.wait(left).map_err(|error| failed(&error))?;
                self.ended = self.clock.now();
                next = self.ring.next();
            }
        }
        let Some(ended) = next else { return Ok(None) };
        let moved = usize::try_from(ended.result).map_err(|_| std::io::Error::from_raw_os_error(-ended.result));
        let done = self.under_way[ended.slot];
        let outcome = outcome(moved, self.cell)?;
        if !done.writes {
            checked(outcome, || self.ring.first_wrong(ended.slot, done.offset))?;
        }
        Ok(Some(Completion {
            slot: ended.slot,
            kind: kind(self.cell, done.writes),
            outcome,
            ended: self.ended,
            retries: 0,
            waited: Duration::ZERO,
            pickup_lag: self.late.take(),
        }))
    }

    fn nothing_left(&mut self, _: usize, _: u32) -> Error {
        nothing_left()
    }
}

fn failed(error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Statement, format!("io_uring failed: {error}"))
        .hint("--engine pool makes operations by threads that block")
}
