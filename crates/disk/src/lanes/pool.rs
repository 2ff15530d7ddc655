//! Threads that block: a lane of one slot, whose operation is over when it was submitted. So many operations under way are so many
//! threads, each with a lane.

use std::fs::File;
use std::sync::Arc;

use plimsoll_clock::Clock;
use plimsoll_engine::Error;
use plimsoll_load::lane::{Completion, Lane};
use plimsoll_measurement::{Cell, Moment, SyncMode};
use rustix::fs::{fdatasync, fsync};
use rustix::io::{pread, pwrite};
use std::time::Duration;

use super::{kind, nothing_left, outcome};
use crate::buffer::Buffers;
use crate::offsets::Draw;

/// A thread that blocks.
pub struct PoolLane<'a> {
    clock: &'a dyn Clock,
    cell: &'a Cell,
    file: Arc<File>,
    buffers: Buffers,
    draw: Draw,
    completed: Option<Completion>,
}

impl<'a> PoolLane<'a> {
    /// A lane of this cell, with a buffer of its own.
    pub fn new(clock: &'a dyn Clock, cell: &'a Cell, file: Arc<File>, buffers: Buffers, draw: Draw) -> Self {
        Self { clock, cell, file, buffers, draw, completed: None }
    }

    fn write(&mut self, offset: u64) -> std::io::Result<usize> {
        let written = pwrite(&self.file, self.buffers.fresh(0), offset)?;
        match self.cell.sync.known() {
            Some(SyncMode::Fdatasync) => fdatasync(&self.file)?,
            Some(SyncMode::Fsync) => fsync(&self.file)?,
            _ => {}
        }
        Ok(written)
    }
}

impl Lane for PoolLane<'_> {
    type Error = Error;

    fn slots(&self) -> usize {
        1
    }

    fn ready(&mut self, _: usize) -> Result<(), Error> {
        Ok(())
    }

    fn submit(&mut self, slot: usize, _: Moment) -> Result<(), Error> {
        let next = self.draw.next();
        let moved = if next.writes {
            self.write(next.offset)
        } else {
            pread(&self.file, self.buffers.slot(0), next.offset).map_err(Into::into)
        };
        let outcome = outcome(moved, self.cell.block_bytes)?;
        self.completed = Some(Completion {
            slot,
            kind: kind(self.cell, next.writes),
            outcome,
            ended: self.clock.now(),
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
