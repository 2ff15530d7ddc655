//! The same requests on modelled hardware: one match over the events of a server whose devices, CPU and client are those of a machine
//! description, booked as the lab books them.
//!
//! A request is made by its client, takes the CPU of its statements, gets the turn to write if there is one and it writes, reads what it
//! misses, writes its log while it computes, passes the turn on, waits for the log, and may wait for something else. Changed pages are
//! written later.

mod passes;

use std::collections::VecDeque;
use std::time::Duration;

use plimsoll_hardware::{CpuWork, DeviceId, Io, Kind, LARGEST_IO_BYTES, Machine, Role};
use plimsoll_measurement::Moment;

use super::counted::{CPU, Counted, DATA, ELSE, LOG, SLOTS};
use super::demand::{Demand, LogMode, Manner};
use super::gather::pages_of_pass;
use super::hardware::Hardware;
use super::load::Load;
use crate::events::{Events, Nanos, SECOND};
use crate::random::Stream;
use crate::scenario::{LogSpec, Source};
use crate::server::log::Log;

/// Bytes of a write of the log with all commits that wait, at most.
const BLOCK_BYTES: u64 = 60 * 1024;

/// How long is simulated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Span {
    /// Before anything counts.
    pub warm_up_s: f64,
    /// After that.
    pub seconds: f64,
}

#[derive(Debug, Clone, Copy)]
enum Event {
    Arrival,
    Thought(u32),
    Asked(u32),
    Begun(u32),
    Read(u32),
    Computed(u32),
    Durable(u32),
    Logged(u32),
    Waited(u32),
    Pass,
    PassDone,
    PassOver,
}

#[derive(Debug, Clone, Copy, Default)]
struct Session {
    began: Nanos,
    since: Nanos,
    reads: u32,
    turn_reads: u32,
    asked: u32,
    pages: u32,
    commits: bool,
    has_turn: bool,
    durable: Nanos,
}

struct Streams {
    pauses: Stream,
    work: Stream,
    reads: Stream,
    commits: Stream,
    places: Stream,
}

struct Server<'a> {
    demand: &'a Demand,
    manner: Manner,
    load: Load,
    hardware: &'a Hardware,
    machine: Machine,
    data: DeviceId,
    log_device: DeviceId,
    events: Events<Event>,
    streams: Streams,
    sessions: Vec<Session>,
    free: Vec<u32>,
    queue: VecDeque<Nanos>,
    is_turn_taken: bool,
    turn: VecDeque<u32>,
    log: Log,
    log_durable: Nanos,
    log_place: u64,
    /// Changes whose pages are to be written, writes of a pass that is under way, changes that it has taken, and when a pass begins.
    due_changes: f64,
    pass_writes: f64,
    is_pass: bool,
    passed: f64,
    pass_at: f64,
    last_write: Nanos,
    slot_ns: Nanos,
    start: Nanos,
    counts: Counted,
    woken: Vec<u32>,
}

/// More events than this are those of requests that take next to no time.
pub const MOST_EVENTS: u64 = 100_000_000;

/// Runs the requests on hardware.
pub fn replay(hardware: &Hardware, demand: &Demand, manner: Manner, load: Load, span: Span, seed: u64) -> Counted {
    let mut server = Server::new(hardware, demand, manner, load, seed);
    server.begin();
    let warm_up = (span.warm_up_s * SECOND as f64) as Nanos;
    server.slot_ns = ((span.seconds * SECOND as f64) as Nanos / SLOTS as u64).max(1);
    server.run_until(warm_up);
    let open = server.open_writes();
    server.counts = Counted::new(seed);
    server.start = warm_up;
    server.run_until(warm_up + server.slot_ns * SLOTS as u64);
    let (events, seconds) = (server.events.handled(), (server.slot_ns * SLOTS as u64) as f64 / SECOND as f64);
    let more = (server.open_writes() - open - 2.0 * demand.gather.written(server.pass_at)).max(0.0);
    let due = server.counts.requests() as f64 * demand.writes;
    let piled_up = if due > 0.0 { more / due } else { 0.0 };
    Counted { seconds, events, piled_up, ..server.counts }
}

impl<'a> Server<'a> {
    fn new(hardware: &'a Hardware, demand: &'a Demand, manner: Manner, load: Load, seed: u64) -> Self {
        let stream = |user| Stream::new(seed, user);
        let spec = &hardware.spec;
        let mut machine = Machine::new(spec, seed).unmetered();
        let data = machine.device(Role::Data);
        if let Some(bytes) = hardware.data_bytes {
            // A file that is too large for every tier keeps the limits of the largest.
            let _fits = machine.resize(Moment::default(), data, bytes as u64);
        }
        let in_flight = match manner.log {
            LogMode::Overlapping => u32::MAX,
            LogMode::Together(most) => most,
        };
        let commit_bytes = (demand.log_bytes.round() as u64).max(1);
        let pass_at = if manner.has_passes { pages_of_pass(spec) } else { 1.0 };
        Self {
            demand,
            manner,
            load,
            hardware,
            data,
            log_device: machine.device(Role::Log),
            machine,
            events: Events::default(),
            streams: Streams {
                pauses: stream(0),
                work: stream(1),
                reads: stream(2),
                commits: stream(3),
                places: stream(4),
            },
            sessions: vec![Session::default(); load.sessions as usize],
            free: Vec::new(),
            queue: VecDeque::new(),
            is_turn_taken: false,
            turn: VecDeque::new(),
            log: Log::new(LogSpec { writes_in_flight: in_flight, block_bytes: BLOCK_BYTES, commit_bytes }),
            log_durable: 0,
            log_place: 0,
            due_changes: 0.0,
            pass_writes: 0.0,
            is_pass: false,
            passed: 0.0,
            pass_at,
            last_write: 0,
            slot_ns: SECOND,
            start: 0,
            counts: Counted::new(seed),
            woken: Vec::new(),
        }
    }

    fn begin(&mut self) {
        match self.load.source {
            Source::Closed { .. } => {
                for session in 0..self.load.sessions {
                    self.start(session, 0);
                }
            }
            Source::Open { .. } => {
                self.free = (0..self.load.sessions).rev().collect();
                self.events.plan(0, Event::Arrival);
            }
        }
    }

    /// Where requests take no time at all the end never comes: so it is given up after some events.
    fn run_until(&mut self, end: Nanos) {
        while self.events.handled() < MOST_EVENTS
            && let Some(event) = self.events.next_before(end)
        {
            self.handle(event);
        }
    }

    fn pause(&mut self, mean_ns: f64) -> Nanos {
        if self.load.is_regular { mean_ns as Nanos } else { self.streams.pauses.exponential(mean_ns) }
    }

    fn handle(&mut self, event: Event) {
        let now = self.events.now();
        match event {
            Event::Arrival => {
                let Source::Open { per_s } = self.load.source else { return };
                let next = self.pause(SECOND as f64 / per_s);
                self.events.plan_in(next.max(1), Event::Arrival);
                match self.free.pop() {
                    Some(session) => self.start(session, now),
                    None => self.queue.push_back(now),
                }
            }
            Event::Thought(session) => self.start(session, now),
            Event::Asked(session) => {
                self.end_wait(session, ELSE);
                let Session { asked, has_turn, .. } = self.sessions[session as usize];
                let work = CpuWork { statements: u64::from(asked), ..CpuWork::default() };
                let done = self.compute(work, has_turn);
                self.wait(session, done, Event::Begun(session));
            }
            Event::Begun(session) => {
                self.end_wait(session, CPU);
                self.read(session);
            }
            Event::Read(session) => {
                self.end_wait(session, DATA);
                self.read(session);
            }
            Event::Computed(session) => {
                self.end_wait(session, CPU);
                self.computed(session);
            }
            Event::Durable(session) => {
                self.end_wait(session, LOG);
                self.wait_otherwise(session);
            }
            Event::Logged(block) => {
                let mut woken = std::mem::take(&mut self.woken);
                self.log.written(block, &mut woken);
                for session in woken.drain(..) {
                    self.end_wait(session, LOG);
                    self.wait_otherwise(session);
                }
                self.woken = woken;
                self.write_log();
            }
            Event::Waited(session) => {
                self.end_wait(session, ELSE);
                self.finish(session);
            }
            Event::Pass => self.pass(),
            Event::PassDone => self.pass_done(),
            Event::PassOver => self.pass_over(),
        }
    }

    fn start(&mut self, session: u32, came: Nanos) {
        let commits = self.streams.commits.around(self.demand.commits.min(1.0)) > 0;
        let in_turn = if self.manner.has_turn { self.demand.turn_reads } else { 0.0 };
        let apart = (self.demand.reads - in_turn * self.demand.commits.min(1.0)).max(0.0);
        let reads = self.streams.reads.around(apart);
        let turn_reads = if commits { self.streams.reads.around(in_turn) } else { 0 };
        // Pages come with reads, several with a large one.
        let each = if self.demand.reads > 0.0 { self.demand.pages / self.demand.reads } else { 0.0 };
        let pages = self.streams.work.around(f64::from(reads + turn_reads) * each);
        let now = self.events.now();
        let kept = Session { began: came, since: now, reads, turn_reads, pages, commits, ..Session::default() };
        self.sessions[session as usize] = kept;
        self.ask(session, self.demand.statements_before(commits && self.manner.has_turn));
    }

    /// The client makes so many statements, and the server takes them.
    fn ask(&mut self, session: u32, statements: f64) {
        let now = self.events.now();
        let asked = self.streams.work.around(statements);
        self.sessions[session as usize].asked = asked;
        let mut made = now;
        if let Some(client) = self.hardware.spec.client {
            for _ in 0..asked {
                made = self.machine.request(Moment::from_nanos(now)).as_nanos().max(made);
                self.counts.client_ns += client.request_ps as f64 / 1e3;
            }
        }
        self.wait(session, made, Event::Asked(session));
    }

    /// What is read before the turn is read; the turn is next for who writes.
    fn take_turn(&mut self, session: u32) {
        if self.is_turn_taken {
            self.sessions[session as usize].since = self.events.now();
            self.turn.push_back(session);
        } else {
            self.has_turn(session);
        }
    }

    fn has_turn(&mut self, session: u32) {
        self.is_turn_taken = true;
        let kept = &mut self.sessions[session as usize];
        kept.has_turn = true;
        kept.reads = std::mem::take(&mut kept.turn_reads);
        if self.demand.turn_statements > 0.0 {
            self.ask(session, self.demand.turn_statements);
        } else {
            self.read(session);
        }
    }

    fn pass_turn(&mut self, session: u32) {
        if !std::mem::take(&mut self.sessions[session as usize].has_turn) {
            return;
        }
        self.is_turn_taken = false;
        if let Some(next) = self.turn.pop_front() {
            self.end_wait(next, ELSE);
            self.has_turn(next);
        }
    }

    fn read(&mut self, session: u32) {
        let kept = self.sessions[session as usize];
        if kept.reads == 0 {
            if kept.commits && self.manner.has_turn && !kept.has_turn {
                self.take_turn(session);
            } else {
                self.work(session);
            }
            return;
        }
        let at_once = kept.reads.min(self.streams.reads.around(self.demand.parallel).max(1));
        self.sessions[session as usize].reads -= at_once;
        let bytes = (self.demand.read_bytes as u64).max(1);
        let done = (0..at_once).map(|_| self.io(0, Kind::Read, bytes)).max().unwrap_or(0);
        self.wait(session, done, Event::Read(session));
    }

    /// Its log is written while it computes.
    fn work(&mut self, session: u32) {
        let kept = self.sessions[session as usize];
        if kept.commits && self.manner.log == LogMode::Overlapping {
            let done = self.io(2, Kind::Write, self.demand.log_bytes.round() as u64);
            self.log_durable = self.log_durable.max(done);
            self.sessions[session as usize].durable = self.log_durable;
        }
        let steps = self.streams.work.around(self.demand.steps.min(1e9));
        let work = CpuWork { steps: u64::from(steps), pages: u64::from(kept.pages), ..CpuWork::default() };
        let done = self.compute(work, kept.has_turn);
        self.wait(session, done, Event::Computed(session));
    }

    fn computed(&mut self, session: u32) {
        let kept = self.sessions[session as usize];
        self.pass_turn(session);
        self.due_changes += self.demand.changes;
        self.begin_pass();
        match (kept.commits, self.manner.log) {
            (false, _) => self.wait_otherwise(session),
            (true, LogMode::Overlapping) => self.wait(session, kept.durable, Event::Durable(session)),
            (true, LogMode::Together(_)) => {
                self.sessions[session as usize].since = self.events.now();
                self.log.commit(session);
                self.write_log();
            }
        }
    }

    fn write_log(&mut self) {
        while let Some(write) = self.log.next_write() {
            let done = self.io(2, Kind::Write, write.bytes);
            self.events.plan(done, Event::Logged(write.block));
        }
    }

    fn wait_otherwise(&mut self, session: u32) {
        let span = (self.demand.other_s * SECOND as f64) as Nanos;
        let until = self.events.now() + span;
        self.wait(session, until, Event::Waited(session));
    }

    fn finish(&mut self, session: u32) {
        let now = self.events.now();
        let response = now - self.sessions[session as usize].began;
        let slot = (now.saturating_sub(self.start) / self.slot_ns) as usize;
        self.counts.answered[slot.min(SLOTS - 1)] += 1;
        self.counts.response_ns += u128::from(response);
        self.counts.times.record(Duration::from_nanos(response));
        match self.load.source {
            Source::Closed { think_ns } => {
                let pause = self.pause(think_ns);
                self.events.plan_in(pause, Event::Thought(session));
            }
            Source::Open { .. } => match self.queue.pop_front() {
                Some(came) => self.start(session, came),
                None => self.free.push(session),
            },
        }
    }

    fn wait(&mut self, session: u32, until: Nanos, event: Event) {
        self.sessions[session as usize].since = self.events.now();
        self.events.plan(until, event);
    }

    fn end_wait(&mut self, session: u32, what: usize) {
        self.counts.waits_ns[what] += u128::from(self.events.now() - self.sessions[session as usize].since);
    }

    fn compute(&mut self, work: CpuWork, goes_first: bool) -> Nanos {
        let now = Moment::from_nanos(self.events.now());
        self.counts.cpu_ns += self.hardware.spec.cpu.time_ps(work) as f64 / 1e3;
        if goes_first { self.machine.compute_first(now, work) } else { self.machine.compute(now, work) }.as_nanos()
    }

    /// Makes an I/O: a read of data (0), a write of data (1) or of the log (2).
    fn io(&mut self, what: usize, kind: Kind, bytes: u64) -> Nanos {
        let now = self.events.now();
        let (device, offset) = if what == 2 {
            self.log_place += bytes;
            (self.log_device, self.log_place - bytes)
        } else {
            let page = self.hardware.spec.page_bytes;
            let pages = (self.hardware.data_bytes.unwrap_or(1e9) / page as f64).max(1.0);
            (self.data, (self.streams.places.unit() * pages) as u64 * page)
        };
        let done = self.machine.submit(Moment::from_nanos(now), device, Io { kind, offset, bytes }).at.as_nanos();
        let count = &mut self.counts.io[what];
        count.count += 1;
        count.units += bytes.div_ceil(LARGEST_IO_BYTES).max(1);
        count.bytes += bytes;
        count.ns += u128::from(done - now);
        done
    }
}
