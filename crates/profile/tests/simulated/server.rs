//! A simulated server: it counts statements in rows as the real ones do, and keeps a log of what was truly done.

use std::collections::BTreeMap;

use plimsoll_profile::measure::{Measure, Values};
use plimsoll_profile::snapshot::{Edge, Evictions, Item, Row, RowId, Server as Stamps, Total};

use super::random::Random;

/// A second.
pub const S: i64 = 1_000_000;

/// What kind of server it is.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "kinds differ in these")]
pub struct Kind {
    pub name: &'static str,
    /// Rows say when they were created.
    pub has_stamps: bool,
    /// A row that is created anew has another identity.
    pub is_keyed_by_creation: bool,
    pub evictions: Told,
    /// Counters outlive a clean restart.
    pub outlives_restart: bool,
    /// The start is computed from uptime, in whole seconds, and moves with the clock.
    pub derives_start: bool,
    /// A reset of the counters leaves a stamp.
    pub stamps_resets: bool,
}

/// What the server says about rows that it drops.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Told {
    Never,
    Counted,
    Nothing,
}

/// The kinds: a plan cache, `pg_stat_statements` with and without `stats_since`, and digests of the performance schema.
pub const KINDS: [Kind; 4] = [
    Kind {
        name: "plan cache",
        has_stamps: true,
        is_keyed_by_creation: true,
        evictions: Told::Nothing,
        outlives_restart: false,
        derives_start: false,
        stamps_resets: false,
    },
    Kind {
        name: "statements with stamps",
        has_stamps: true,
        is_keyed_by_creation: false,
        evictions: Told::Counted,
        outlives_restart: true,
        derives_start: false,
        stamps_resets: true,
    },
    Kind {
        name: "statements without stamps",
        has_stamps: false,
        is_keyed_by_creation: false,
        evictions: Told::Counted,
        outlives_restart: true,
        derives_start: false,
        stamps_resets: true,
    },
    Kind {
        name: "digests",
        has_stamps: true,
        is_keyed_by_creation: false,
        evictions: Told::Never,
        outlives_restart: false,
        derives_start: true,
        stamps_resets: false,
    },
];

/// One execution that the server counted in a row.
#[derive(Debug, Clone, Copy)]
pub struct Execution {
    pub text: usize,
    pub life: usize,
    /// When it ended, by the true time.
    pub at: i64,
    pub values: Values,
    /// Whether it was done on the server that is watched while it was.
    pub is_ours: bool,
}

/// A row from its creation to its end.
#[derive(Debug, Clone)]
pub struct Life {
    pub row: RowId,
    /// Places of its executions in the log, in order of time.
    pub executions: Vec<usize>,
}

/// What was truly done.
#[derive(Debug, Default)]
pub struct Log {
    pub executions: Vec<Execution>,
    pub lives: Vec<Life>,
    /// Elapsed time of statements that were killed: text, true time, time.
    pub killed: Vec<(usize, i64, u64)>,
    /// True times at which rows were dropped, counters reset, statements killed, servers changed.
    pub disturbed: Vec<i64>,
}

/// A row that is there now.
#[derive(Debug, Clone)]
struct Entry {
    life: usize,
    created_us: i64,
    values: Values,
    longest_us: u64,
}

/// A server.
#[derive(Debug)]
pub struct Server {
    pub kind: &'static Kind,
    pub stamps: Stamps,
    /// By the true time.
    started: i64,
    reset_us: i64,
    evicted: u64,
    total: Total,
    /// The server's clock, less the true time.
    pub offset: i64,
    pub capacity: usize,
    /// Whether times of reads are measured.
    pub has_io_times: bool,
    entries: BTreeMap<usize, Entry>,
}

impl Server {
    pub fn new(kind: &'static Kind, number: u64, now: i64, offset: i64, capacity: usize) -> Self {
        let clock = now + offset;
        let stamps = Stamps { identity: format!("node{number}"), version: "1".to_owned(), started_us: clock };
        let total = Total { us: 0, began_us: Some(clock) };
        let (reset_us, entries) = (clock, BTreeMap::new());
        Self { kind, stamps, started: now, reset_us, evicted: 0, total, offset, capacity, has_io_times: true, entries }
    }

    /// What is read at an end of a read.
    pub fn edge(&self, now: i64) -> Edge {
        let clock_us = now + self.offset;
        let uptime = (now - self.started) / S * S;
        let started_us = if self.kind.derives_start { clock_us - uptime } else { self.stamps.started_us };
        let reset_us = if self.kind.stamps_resets { self.reset_us } else { started_us };
        let evictions = match self.kind.evictions {
            Told::Never => Evictions::Never,
            Told::Counted => Evictions::Counted(self.evicted),
            Told::Nothing => Evictions::Untold,
        };
        let server = Stamps { started_us, ..self.stamps.clone() };
        let (are_stamps_derived, total) = (self.kind.derives_start, Some(self.total));
        Edge { clock_us, server, reset_us: Some(reset_us), are_stamps_derived, evictions, total }
    }

    /// Rows of a part of the texts, with their lives.
    pub fn rows(&self, log: &Log, of: impl Fn(usize) -> bool) -> Vec<(Row, usize)> {
        let row = |(text, entry): (&usize, &Entry)| {
            let mut values = entry.values;
            if !self.has_io_times {
                let known = values.iter().filter(|(measure, _)| *measure != Measure::IoReadUs);
                values = Values::of(known);
            }
            let created_us = self.kind.has_stamps.then_some(entry.created_us);
            let (id, item) = (log.lives[entry.life].row, Item(*text as u128));
            let longest_us = Some(entry.longest_us);
            (Row { id, item, plan: None, created_us, values, longest_us, is_nested: false }, entry.life)
        };
        self.entries.iter().filter(|(text, _)| of(**text)).map(row).collect()
    }

    /// A statement ended, and is counted.
    pub fn count(&mut self, log: &mut Log, text: usize, at: i64, mut values: Values, is_ours: bool) {
        let elapsed = values.get(Measure::ElapsedUs).unwrap();
        self.total.us += elapsed;
        if !self.has_io_times {
            values.set(Measure::IoReadUs, 0);
        }
        if !self.entries.contains_key(&text) {
            self.make_room(log, at);
            let life = log.lives.len();
            // An old row's number lies far below.
            let creation = if self.kind.is_keyed_by_creation { life as u128 + 1 } else { 0 };
            log.lives.push(Life { row: RowId(creation << 64 | text as u128), executions: Vec::new() });
            let zero = Values::of(values.iter().map(|(measure, _)| (measure, 0)));
            let created_us = at + self.offset;
            self.entries.insert(text, Entry { life, created_us, values: zero, longest_us: 0 });
        }
        let entry = self.entries.get_mut(&text).unwrap();
        entry.values = entry.values.plus(&values);
        entry.longest_us = entry.longest_us.max(elapsed);
        log.lives[entry.life].executions.push(log.executions.len());
        log.executions.push(Execution { text, life: entry.life, at, values, is_ours });
    }

    /// A statement ended and is in no row.
    pub fn kill(&mut self, log: &mut Log, text: usize, at: i64, elapsed: u64) {
        self.total.us += elapsed;
        log.killed.push((text, at, elapsed));
        log.disturbed.push(at);
    }

    /// Drops rows if there are too many: those with the fewest executions.
    fn make_room(&mut self, log: &mut Log, at: i64) {
        if self.kind.evictions == Told::Never || self.entries.len() < self.capacity {
            return;
        }
        let mut by_use: Vec<(u64, usize)> =
            self.entries.iter().map(|(text, entry)| (entry.values.get(Measure::Executions).unwrap(), *text)).collect();
        by_use.sort_unstable();
        for (_, text) in by_use.into_iter().take(self.capacity / 20 + 1) {
            self.entries.remove(&text);
        }
        self.evicted += 1;
        log.disturbed.push(at);
    }

    /// Drops random rows, as under pressure.
    pub fn drop_some(&mut self, log: &mut Log, random: &mut Random, at: i64) {
        if self.kind.evictions != Told::Never {
            self.entries.retain(|_, _| !random.in_thousand(300));
            self.evicted += 1;
            log.disturbed.push(at);
        }
    }

    /// A recompiled plan, or a reset of one statement. The latter of a row that nobody has seen leaves no trace, so an old one is taken.
    pub fn renew_one(&mut self, log: &mut Log, random: &mut Random, at: i64) {
        let is_old = |entry: &Entry| {
            let first = log.lives[entry.life].executions.first();
            first.is_some_and(|place| self.kind.is_keyed_by_creation || log.executions[*place].at < at - 240 * S)
        };
        let texts: Vec<usize> = self.entries.iter().filter(|(_, entry)| is_old(entry)).map(|(text, _)| *text).collect();
        if self.kind.has_stamps && self.kind.evictions != Told::Never && !texts.is_empty() {
            self.entries.remove(&texts[random.between(0, texts.len() as i64) as usize]);
            log.disturbed.push(at);
        }
    }

    pub fn reset(&mut self, log: &mut Log, at: i64) {
        self.entries.clear();
        (self.reset_us, self.evicted) = (at + self.offset, 0);
        log.disturbed.push(at);
    }

    /// Starts again. Counters outlive it if it went down cleanly and keeps them.
    pub fn restart(&mut self, log: &mut Log, at: i64, is_clean: bool, is_upgrade: bool) {
        if !(self.kind.outlives_restart && is_clean && !is_upgrade) {
            self.reset(log, at);
            self.total = Total { us: 0, began_us: Some(at + self.offset) };
        }
        if is_upgrade {
            self.stamps.version.push('1');
        }
        (self.started, self.stamps.started_us) = (at, at + self.offset);
        log.disturbed.push(at);
    }
}
