//! Changed pages are written behind the requests: at once, or as the lab's checkpoints do it, in passes over all that were changed.

use super::super::gather::{LITTLE, LONGEST};
use super::{Event, Kind, Nanos, Server};

/// How far ahead of the device a pass books its writes.
const AHEAD: Nanos = 10_000_000;

impl Server<'_> {
    /// Writes of data that are due and not begun.
    pub(super) fn open_writes(&self) -> f64 {
        self.demand.gather.written(self.due_changes) + self.pass_writes
    }

    /// The pages of all changes since the last time are to be written now.
    fn collect(&mut self) {
        self.pass_writes += self.demand.gather.written(self.due_changes);
        self.passed += self.due_changes;
        self.due_changes = 0.0;
    }

    pub(super) fn begin_pass(&mut self) {
        if !self.is_pass && self.due_changes >= self.pass_at {
            self.is_pass = true;
            self.passed = 0.0;
            self.next_pass();
        }
    }

    fn next_pass(&mut self) {
        self.collect();
        self.events.plan_in(0, Event::Pass);
    }

    /// Writes until the device has enough to do. A part of a write is left for the next pass.
    pub(super) fn pass(&mut self) {
        let now = self.events.now();
        while self.pass_writes >= 1.0 {
            self.write_page();
            if self.last_write > now + AHEAD {
                self.events.plan(self.last_write - AHEAD, Event::Pass);
                return;
            }
        }
        self.events.plan(self.last_write.max(now), Event::PassDone);
    }

    fn write_page(&mut self) {
        self.pass_writes -= 1.0;
        self.last_write = self.io(1, Kind::Write, self.demand.write_bytes as u64).max(self.last_write);
    }

    /// What came meanwhile is little, or the log must not grow any more: then all goes at once, and no later commit is durable before the last. Else
    /// another pass follows.
    pub(super) fn pass_done(&mut self) {
        let came_little = self.due_changes <= (LITTLE * self.pass_at).max(1.0);
        if self.manner.has_passes && !came_little && self.passed + self.due_changes < LONGEST * self.pass_at {
            self.next_pass();
            return;
        }
        if self.manner.has_passes {
            self.collect();
            while self.pass_writes >= 1.0 {
                self.write_page();
            }
            self.log_durable = self.log_durable.max(self.last_write);
        }
        self.events.plan(self.last_write.max(self.events.now()), Event::PassOver);
    }

    pub(super) fn pass_over(&mut self) {
        self.is_pass = false;
        self.begin_pass();
    }
}
