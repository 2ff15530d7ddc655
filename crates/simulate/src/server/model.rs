//! The model at work: one match over the events of a server.
//!
//! A request takes CPU, then the reads that miss the buffer pool one after another, changes its pages, commits, and may wait for something
//! else. Closed loop: the session then thinks and asks again. Open loop: requests come at random at a rate, and those that find no free
//! session queue for one.

use std::collections::VecDeque;

use plimsoll_hardware::{Io, Kind, LARGEST_IO_BYTES, Machine};
use plimsoll_measurement::Moment;

use super::counts::{Counts, Wait};
use super::log::Log;
use super::pool::{Change, Pool};
use super::replication::Replication;
use crate::events::{Events, Nanos, SECOND};
use crate::random::Stream;
use crate::scenario::{Scenario, Source};
use crate::station::Station;

/// Slots of the measured time: enough for a judgement on their course, and each long enough for several bursts of the writer.
const SLOTS: u64 = 40;

#[derive(Debug, Clone, Copy)]
enum Event {
    /// A request comes from outside.
    Arrival,
    /// A session has thought.
    Thought(u32),
    /// A session has used its CPU.
    Computed(u32),
    /// A page is there.
    Read(u32),
    /// The log has written a block.
    Logged(u32),
    /// The writer has written pages.
    Written(u32),
    /// The other waits of a session are over.
    Waited(u32),
}

#[derive(Debug, Clone, Copy, Default)]
struct Session {
    /// When its request came.
    began: Nanos,
    /// Since when it waits.
    since: Nanos,
    reads: u32,
    changes: u32,
}

struct Streams {
    arrivals: Stream,
    cpu: Stream,
    reads: Stream,
    pages: Stream,
    other: Stream,
}

struct Server<'a> {
    scenario: &'a Scenario,
    events: Events<Event>,
    machine: Machine,
    cpu: Station<u32>,
    pool: Option<Pool>,
    log: Log,
    sessions: Vec<Session>,
    free: Vec<u32>,
    /// When requests came that have no session yet.
    queue: VecDeque<Nanos>,
    present: u64,
    present_since: Nanos,
    streams: Streams,
    counts: Counts,
    /// Sessions that go on, kept to spare allocations.
    woken: Vec<u32>,
}

/// So many events are handled between two questions whether to stop: some milliseconds.
const EVENTS_BETWEEN: u32 = 1 << 16;

/// Runs a scenario with one seed.
pub fn simulate(scenario: &Scenario, seed: u64) -> Replication {
    let mut server = Server::new(scenario, seed);
    server.replicate(seed, || false).unwrap_or_else(|Stopped| unreachable!("nobody stops it"))
}

/// Runs a scenario with one seed unless it is stopped meanwhile: then there is none.
pub fn simulate_until(scenario: &Scenario, seed: u64, is_stopped: impl Fn() -> bool) -> Option<Replication> {
    Server::new(scenario, seed).replicate(seed, is_stopped).ok()
}

/// Somebody wants no result any more.
struct Stopped;

impl<'a> Server<'a> {
    fn new(scenario: &'a Scenario, seed: u64) -> Self {
        let stream = |user| Stream::new(seed, user);
        let files = scenario.storage.data.len();
        let mut pages = stream(3);
        Self {
            scenario,
            events: Events::default(),
            machine: Machine::new(&scenario.storage.spec, seed).unmetered(),
            cpu: Station::new(scenario.cores),
            pool: (scenario.request.changes > 0.0).then(|| Pool::new(scenario.pool, files, &mut pages)),
            log: Log::new(scenario.log),
            sessions: vec![Session::default(); scenario.sessions as usize],
            free: Vec::new(),
            queue: VecDeque::new(),
            present: 0,
            present_since: 0,
            streams: Streams { arrivals: stream(0), cpu: stream(1), reads: stream(2), pages, other: stream(4) },
            counts: Counts::new(files + 1),
            woken: Vec::new(),
        }
    }

    fn begin(&mut self) {
        match self.scenario.source {
            Source::Closed { think_ns } => {
                for session in 0..self.scenario.sessions {
                    let thought = self.streams.arrivals.exponential(think_ns);
                    self.events.plan(thought, Event::Thought(session));
                }
            }
            Source::Open { per_s } => {
                self.free = (0..self.scenario.sessions).rev().collect();
                let first = self.streams.arrivals.exponential(SECOND as f64 / per_s);
                self.events.plan(first, Event::Arrival);
            }
        }
    }

    fn replicate(&mut self, seed: u64, is_stopped: impl Fn() -> bool) -> Result<Replication, Stopped> {
        self.begin();
        let run = &self.scenario.run;
        self.run_until(run.warm_up_ns, &is_stopped)?;
        self.take_counts();
        let mut slots = Vec::new();
        for slot in 1..=SLOTS {
            self.run_until(run.warm_up_ns + run.duration_ns * slot / SLOTS, &is_stopped)?;
            slots.push(self.take_counts());
        }
        let slot_s = run.duration_ns as f64 / SLOTS as f64 / SECOND as f64;
        Ok(Replication::of(self.scenario, seed, &slots, slot_s, self.events.handled()))
    }

    fn run_until(&mut self, end: Nanos, is_stopped: &impl Fn() -> bool) -> Result<(), Stopped> {
        loop {
            for _ in 0..EVENTS_BETWEEN {
                let Some(event) = self.events.next_before(end) else { return Ok(()) };
                self.handle(event);
            }
            if is_stopped() {
                return Err(Stopped);
            }
        }
    }

    /// What was counted since the last time.
    fn take_counts(&mut self) -> Counts {
        let now = self.events.now();
        self.counts.cpu_ns = self.cpu.busy_ns(now);
        self.cpu.restart(now);
        self.count_present(now, 0);
        let empty = Counts::new(self.counts.files.len());
        std::mem::replace(&mut self.counts, empty)
    }

    fn handle(&mut self, event: Event) {
        let now = self.events.now();
        match event {
            Event::Arrival => {
                let Source::Open { per_s } = self.scenario.source else { return };
                let next = self.streams.arrivals.exponential(SECOND as f64 / per_s);
                self.events.plan_in(next, Event::Arrival);
                self.count_present(now, 1);
                match self.free.pop() {
                    Some(session) => self.start(session, now),
                    None => self.queue.push_back(now),
                }
            }
            Event::Thought(session) => {
                self.count_present(now, 1);
                self.start(session, now);
            }
            Event::Computed(session) => {
                if let Some((next, waited)) = self.cpu.depart(now) {
                    self.counts.wait(Wait::Cpu, waited);
                    self.compute(next);
                }
                self.read(session);
            }
            Event::Read(session) => {
                self.end_wait(session, Wait::Page);
                self.read(session);
            }
            Event::Written(slot) => {
                let mut woken = std::mem::take(&mut self.woken);
                if let Some(pool) = &mut self.pool {
                    pool.written(slot, &mut woken);
                }
                for session in woken.drain(..) {
                    self.end_wait(session, Wait::Page);
                    self.change(session);
                }
                self.woken = woken;
                self.write_pages();
            }
            Event::Logged(block) => {
                let mut woken = std::mem::take(&mut self.woken);
                self.log.written(block, &mut woken);
                for session in woken.drain(..) {
                    self.end_wait(session, Wait::Log);
                    self.wait_otherwise(session);
                }
                self.woken = woken;
                self.write_log();
            }
            Event::Waited(session) => {
                self.end_wait(session, Wait::Other);
                self.finish(session);
            }
        }
    }

    fn start(&mut self, session: u32, came: Nanos) {
        let request = &self.scenario.request;
        let (reads, changes) = (self.streams.reads.around(request.reads), self.streams.pages.around(request.changes));
        self.sessions[session as usize] = Session { began: came, since: came, reads, changes };
        if self.cpu.arrive(self.events.now(), session) {
            self.compute(session);
        }
    }

    fn compute(&mut self, session: u32) {
        let span = self.streams.cpu.exponential(self.scenario.request.cpu_ns);
        self.events.plan_in(span, Event::Computed(session));
    }

    fn read(&mut self, session: u32) {
        let kept = &mut self.sessions[session as usize];
        if kept.reads == 0 {
            self.change(session);
            return;
        }
        kept.reads -= 1;
        kept.since = self.events.now();
        let files = self.scenario.storage.data.len();
        let file = ((self.streams.reads.unit() * files as f64) as usize).min(files - 1);
        let done = self.io(file, Kind::Read, self.scenario.request.read_bytes);
        self.events.plan(done, Event::Read(session));
    }

    fn change(&mut self, session: u32) {
        while self.sessions[session as usize].changes > 0 {
            let Some(pool) = &mut self.pool else { break };
            let page = pool.draw(&mut self.streams.pages);
            let kept = &mut self.sessions[session as usize];
            kept.changes -= 1;
            if pool.change(page, session) == Change::Blocked {
                kept.since = self.events.now();
                return;
            }
        }
        self.write_pages();
        self.sessions[session as usize].since = self.events.now();
        self.log.commit(session);
        self.write_log();
    }

    fn write_pages(&mut self) {
        while let Some(write) = self.pool.as_mut().and_then(Pool::next_write) {
            let bytes = u64::from(write.pages) * self.scenario.pool.page_bytes;
            let done = self.io(write.file, Kind::Write, bytes);
            self.events.plan(done, Event::Written(write.slot));
        }
    }

    fn write_log(&mut self) {
        let log = self.scenario.storage.data.len();
        while let Some(write) = self.log.next_write() {
            let done = self.io(log, Kind::Write, write.bytes);
            self.events.plan(done, Event::Logged(write.block));
        }
    }

    fn wait_otherwise(&mut self, session: u32) {
        if self.scenario.request.other_ns == 0.0 {
            self.finish(session);
            return;
        }
        self.sessions[session as usize].since = self.events.now();
        let span = self.streams.other.exponential(self.scenario.request.other_ns);
        self.events.plan_in(span, Event::Waited(session));
    }

    fn finish(&mut self, session: u32) {
        let now = self.events.now();
        let response = now - self.sessions[session as usize].began;
        self.counts.requests += 1;
        self.counts.response_ns += u128::from(response);
        self.counts.times.record(std::time::Duration::from_nanos(response));
        self.count_present(now, -1);
        match self.scenario.source {
            Source::Closed { think_ns } => {
                let thought = self.streams.arrivals.exponential(think_ns);
                self.events.plan_in(thought, Event::Thought(session));
            }
            Source::Open { .. } => match self.queue.pop_front() {
                Some(came) => self.start(session, came),
                None => self.free.push(session),
            },
        }
    }

    fn end_wait(&mut self, session: u32, wait: Wait) {
        self.counts.wait(wait, self.events.now() - self.sessions[session as usize].since);
    }

    fn count_present(&mut self, now: Nanos, change: i64) {
        self.counts.present_ns += u128::from(now - self.present_since) * u128::from(self.present);
        self.present_since = now;
        self.present = self.present.saturating_add_signed(change);
    }

    /// Issues an I/O; when it is done.
    fn io(&mut self, file: usize, kind: Kind, bytes: u64) -> Nanos {
        let storage = &self.scenario.storage;
        let at = storage.data.get(file).unwrap_or(&storage.log);
        let now = self.events.now();
        // Only a striped volume looks at the address: pages lie anywhere on it, the log goes round a part of it.
        let offset =
            if at.is_striped { (self.streams.reads.unit() * at.bytes as f64) as u64 / bytes * bytes } else { 0 };
        let done = self.machine.submit(Moment::from_nanos(now), at.device, Io { kind, offset, bytes });
        let done = done.at.as_nanos();
        self.counts.io(file, kind, bytes, bytes.div_ceil(LARGEST_IO_BYTES), done - now);
        done
    }
}
