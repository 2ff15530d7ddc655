//! What the server counts: cumulative since the target was opened.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::waits::Waits;

/// Texts of statements that are counted apart.
const MOST_STATEMENTS: usize = 5000;

/// Operations of one kind at a device.
#[derive(Debug, Clone, Copy, Default)]
pub struct Operations {
    pub count: u64,
    pub bytes: u64,
    /// Sum of the times from asking to done.
    pub stall: Duration,
}

impl Operations {
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
    pub log_writes: Operations,
    /// Pages that were not in the pool, or were read ahead.
    pub pages_read: u64,
    /// Pages that statements looked for in the pool, found or not.
    pub pages_looked_up: u64,
    /// Transactions that wrote and were committed.
    pub commits: u64,
    /// CPU time charged, in nanoseconds.
    pub cpu_nanos: u64,
    /// Time that sessions waited for their clients: no wait of the server's.
    pub client_wait: Duration,
    /// CPU time of the clients, in nanoseconds.
    pub client_cpu_nanos: u64,
    pub waits: Waits,
}

/// What a statement's text came to over all its executions.
#[derive(Debug, Clone, Copy, Default)]
pub struct StatementCounters {
    pub count: u64,
    /// Sum of the times from begin to end. On hardware without a CPU limit in real time computing counts as no time.
    pub time: Duration,
    pub longest: Duration,
    /// Pages that were read from a device for it.
    pub pages_read: u64,
}

/// Counters by the text of the statement.
#[derive(Debug, Clone, Default)]
pub struct Statements {
    numbers: BTreeMap<String, usize>,
    counters: Vec<StatementCounters>,
}

impl Statements {
    /// The number of a statement, by which it is counted from now on. `None` for one too many: statements without
    /// parameters differ in every value, so only a certain number of texts is told apart.
    pub fn number(&mut self, text: &str) -> Option<usize> {
        if let Some(number) = self.numbers.get(text) {
            return Some(*number);
        }
        if self.counters.len() >= MOST_STATEMENTS {
            return None;
        }
        self.numbers.insert(text.to_owned(), self.counters.len());
        self.counters.push(StatementCounters::default());
        Some(self.counters.len() - 1)
    }

    /// Counts an execution that took so long and read so many pages.
    pub fn count(&mut self, number: usize, time: Duration, pages_read: u64) {
        if let Some(counters) = self.counters.get_mut(number) {
            counters.count += 1;
            counters.time += time;
            counters.longest = counters.longest.max(time);
            counters.pages_read += pages_read;
        }
    }

    /// The texts in their order, with what was counted.
    pub fn iter(&self) -> impl Iterator<Item = (&String, &StatementCounters)> {
        self.numbers.iter().filter_map(|(text, number)| Some((text, self.counters.get(*number)?)))
    }
}
