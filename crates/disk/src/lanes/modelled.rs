//! A modelled volume: all operations of a cell under way on one thread, each done when the model says so.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use plimsoll_clock::Clock;
use plimsoll_engine::{Error, ErrorKind};
use plimsoll_hardware::{Io, Kind};
use plimsoll_load::lane::{Completion, Lane};
use plimsoll_measurement::{Cell, Moment};

use super::{kind, nothing_left, outcome};
use crate::modelled::Volume;
use crate::offsets::Draw;

/// Operations of all threads of a cell. A write is durable when it is done, so all ways to sync cost the same.
pub struct ModelledLane<'a> {
    clock: &'a dyn Clock,
    cell: &'a Cell,
    volume: &'a Volume,
    /// Of each thread its own.
    draws: Vec<Draw>,
    /// When each operation is done, in which slot, and whether it writes.
    under_way: BinaryHeap<Reverse<(Moment, usize, bool)>>,
    /// Operations in a row that took no time.
    at_once: u32,
}

/// After so many operations in a row that took no time the work ends: time would stand still for ever.
const MOST_AT_ONCE: u32 = 1_000_000;

impl<'a> ModelledLane<'a> {
    /// A lane for all threads of this cell, each of which draws its operations itself.
    pub fn new(clock: &'a dyn Clock, cell: &'a Cell, volume: &'a Volume, draws: Vec<Draw>) -> Self {
        Self { clock, cell, volume, draws, under_way: BinaryHeap::new(), at_once: 0 }
    }
}

impl Lane for ModelledLane<'_> {
    type Error = Error;

    fn slots(&self) -> usize {
        self.draws.len() * self.cell.queue_depth as usize
    }

    fn submit(&mut self, slot: usize, _: Moment) -> Result<(), Error> {
        let draw = &mut self.draws[slot / self.cell.queue_depth as usize];
        let now = self.clock.now();
        let next = draw.next();
        let (kind, blocks) =
            if next.writes { (Kind::Write, self.cell.writes_per_sync.max(1)) } else { (Kind::Read, 1) };
        // The blocks of a write go to the device together; it is done when the last of them is.
        let mut done = self.volume.submit(now, Io { kind, offset: next.offset, bytes: self.cell.block_bytes }).at;
        for _ in 1..blocks {
            let io = Io { kind, offset: draw.next().offset, bytes: self.cell.block_bytes };
            done = done.max(self.volume.submit(now, io).at);
        }
        self.at_once = if done > now { 0 } else { self.at_once + 1 };
        if self.at_once == MOST_AT_ONCE {
            let message = "operations take no time on this hardware, so there is nothing to measure";
            return Err(Error::new(ErrorKind::Usage, message)
                .hint("give [data] limits or latencies of reads and of writes; docs/LAB.md shows more"));
        }
        self.under_way.push(Reverse((done, slot, next.writes)));
        Ok(())
    }

    fn reap(&mut self, until: Moment) -> Result<Option<Completion>, Error> {
        let Some(Reverse((ended, slot, writes))) = self.under_way.peek().copied().filter(|next| next.0.0 <= until)
        else {
            self.clock.sleep_until(until);
            return Ok(None);
        };
        self.under_way.pop();
        self.clock.sleep_until(ended);
        Ok(Some(Completion {
            slot,
            kind: kind(self.cell, writes),
            outcome: outcome(Ok(self.cell.operation_bytes() as usize), self.cell)?,
            ended,
            retries: 0,
            waited: Duration::ZERO,
            pickup_lag: None,
        }))
    }

    fn nothing_left(&mut self, _: usize, _: u32) -> Error {
        nothing_left()
    }
}
