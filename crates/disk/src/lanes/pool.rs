//! Threads that block: a lane of one slot, whose operation is over when it was submitted. So many operations under way are so many
//! threads, each with a lane.

use std::fs::File;
use std::sync::Arc;

use plimsoll_clock::Clock;
use plimsoll_engine::Error;
use plimsoll_load::lane::{Completion, Lane};
use plimsoll_measurement::{Cell, Moment};
use rustix::io::{pread, pwrite};
use std::time::Duration;

use super::{checked, kind, nothing_left, outcome};
use crate::buffer::Buffers;
use crate::offsets::Draw;
use crate::sync::Durable;

/// A thread that blocks.
pub struct PoolLane<'a> {
    clock: &'a dyn Clock,
    cell: &'a Cell,
    file: Arc<File>,
    buffers: Buffers,
    draw: Draw,
    durable: Option<Durable>,
    /// Where the blocks of a write go.
    offsets: Vec<u64>,
    completed: Option<Completion>,
}

impl<'a> PoolLane<'a> {
    /// A lane of this cell, with a buffer of its own.
    pub fn new(clock: &'a dyn Clock, cell: &'a Cell, file: Arc<File>, buffers: Buffers, draw: Draw) -> Self {
        let durable = Durable::of(cell.sync.known());
        Self { clock, cell, file, buffers, draw, durable, offsets: Vec::new(), completed: None }
    }

    /// Writes the blocks of an operation one after the other, the first at this offset, and makes them durable.
    fn write(&mut self, first: u64) -> std::io::Result<usize> {
        self.offsets.clear();
        self.offsets.push(first);
        self.offsets.extend((1..self.cell.writes_per_sync).map(|_| self.draw.next().offset));
        let blocks = self.buffers.fresh(0, &self.offsets).chunks(self.cell.block_bytes as usize);
        let mut written = 0;
        for (block, offset) in blocks.zip(&self.offsets) {
            written += pwrite(&self.file, block, *offset)?;
        }
        self.durable.map_or(Ok(()), |durable| durable.sync(&self.file))?;
        Ok(written)
    }
}

impl Lane for PoolLane<'_> {
    type Error = Error;

    fn slots(&self) -> usize {
        1
    }

    fn submit(&mut self, slot: usize, _: Moment) -> Result<(), Error> {
        let next = self.draw.next();
        let moved = if next.writes {
            self.write(next.offset)
        } else {
            pread(&self.file, self.buffers.slot(0), next.offset).map_err(Into::into)
        };
        let outcome = outcome(moved, self.cell)?;
        let ended = self.clock.now();
        if !next.writes {
            checked(outcome, || self.buffers.first_wrong(0, next.offset))?;
        }
        self.completed = Some(Completion {
            slot,
            kind: kind(self.cell, next.writes),
            outcome,
            ended,
            retries: 0,
            waited: Duration::ZERO,
            pickup_lag: None,
        });
        Ok(())
    }

    fn reap(&mut self, _: Moment) -> Result<Option<Completion>, Error> {
        Ok(self.completed.take())
    }

    fn nothing_left(&mut self, _: usize, _: u32) -> Error {
        nothing_left()
    }
}
