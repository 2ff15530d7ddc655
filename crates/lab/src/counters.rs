//! What the server counts: cumulative since the target was opened.

use std::time::Duration;

use crate::waits::Waits;

/// Operations of one kind at a device.
#[derive(Debug, Clone, Copy, Default)]
pub struct Operations {
    /// How many.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Sum of the times from asking to done.
    pub stall: Duration,
}

impl Operations {
    /// Counts one.
    pub fn add(&mut self, bytes: u64, stall: Duration) {
        self.count += 1;
        self.bytes += bytes;
        self.stall += stall;
    }
}

/// What all sessions and the checkpointer did.
#[derive(Debug, Clone, Default)]
pub struct Counters {
    /// Reads of database files and of temporary ones.
    pub data_reads: Operations,
    /// Writes of database files and of temporary ones.
    pub data_writes: Operations,
    /// Writes of logs.
    pub log_writes: Operations,
    /// Pages that were not in the pool, or were read ahead.
    pub pages_read: u64,
    /// CPU time charged, in nanoseconds.
    pub cpu_nanos: u64,
    /// Waits of all sessions.
    pub waits: Waits,
}

/// What a statement's text came to over all its executions.
#[derive(Debug, Clone, Copy, Default)]
pub struct StatementCounters {
    /// Executions.
    pub count: u64,
    /// Sum of the times from begin to end.
    pub time: Duration,
    /// Longest time.
    pub longest: Duration,
    /// Pages that were read from a device for it.
    pub pages_read: u64,
}
