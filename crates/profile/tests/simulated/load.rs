//! Sessions that execute statements on a simulated server, and what happens to both.

use plimsoll_profile::ledger::{Active, Sample};
use plimsoll_profile::measure::{Measure, Values};
use plimsoll_profile::snapshot::Item;

use super::random::Random;
use super::server::{KINDS, Log, S, Server};

/// What a session does.
#[derive(Debug, Clone, Copy)]
enum Doing {
    Nothing {
        until: i64,
    },
    /// `clock_us` is the start as the server wrote it down.
    Statement {
        text: usize,
        start: i64,
        clock_us: i64,
        until: i64,
    },
}

/// A time in which a statement ran, by the true time.
#[derive(Debug, Clone, Copy)]
pub struct Ran {
    /// Its session, and its start as the server wrote it down.
    pub session: u64,
    pub clock_us: i64,
    pub start: i64,
    pub end: i64,
    /// Its place in the log of executions, if it was counted.
    pub execution: Option<usize>,
}

/// How often things happen to a server, in a thousand slots.
#[derive(Debug, Clone, Copy)]
pub struct Fate {
    pub restart: i64,
    pub failover: i64,
    pub reset: i64,
    pub renew: i64,
    pub pressure: i64,
    pub kill: i64,
    pub clock: i64,
    pub timing: i64,
}

/// The sessions, the server they work on, and the true time.
pub struct World {
    pub random: Random,
    pub server: Server,
    pub log: Log,
    pub now: i64,
    pub ran: Vec<Ran>,
    /// Whether anybody has read this server.
    pub is_watched: bool,
    sessions: Vec<Doing>,
    /// Mean time of each text's executions.
    texts: Vec<f64>,
    nodes: u64,
    fate: Fate,
}

impl World {
    /// A world made from a seed.
    pub fn of(seed: u64) -> Self {
        let mut random = Random::of(seed);
        let kind = &KINDS[(seed % 4) as usize];
        let texts: Vec<f64> = (0..random.between(8, 60))
            .map(|_| match random.between(0, 40) {
                // One in many takes minutes.
                0 => 120.0 * S as f64,
                1..=4 => 3.0 * S as f64,
                _ => (random.part() * 5.0).exp() * 6_000.0,
            })
            .collect();
        // One in three has too little room.
        let capacity = if random.in_thousand(333) { texts.len() * 3 / 4 + 2 } else { 10_000 };
        // Four in ten histories are calm, and a few are wild.
        let times = match random.between(0, 100) {
            0..40 => 0,
            40..92 => 1,
            _ => 6,
        };
        let often = |thousandths: i64| times * thousandths;
        let fate = Fate {
            restart: often(10),
            failover: often(5),
            reset: often(12),
            renew: often(80),
            pressure: often(30),
            kill: often(60),
            clock: 20,
            timing: 10,
        };
        let sessions = vec![Doing::Nothing { until: 0 }; random.between(2, 7) as usize];
        let offset = random.between(-3600 * S, 3600 * S);
        let server = Server::new(kind, 1, 0, offset, capacity);
        let (log, ran) = (Log::default(), Vec::new());
        Self { random, server, log, now: 0, ran, is_watched: false, sessions, texts, nodes: 1, fate }
    }

    /// Lets time pass up to a moment.
    pub fn run_to(&mut self, to: i64) {
        loop {
            let until = |doing: &Doing| match *doing {
                Doing::Nothing { until } | Doing::Statement { until, .. } => until,
            };
            let (place, at) =
                self.sessions.iter().map(until).enumerate().min_by_key(|(_, at)| *at).expect("there are sessions");
            if at > to {
                break;
            }
            self.sessions[place] = match self.sessions[place] {
                Doing::Nothing { .. } => self.begin(at),
                Doing::Statement { text, start, clock_us, .. } => self.end(place, (text, start, clock_us), at),
            };
        }
        self.now = to;
    }

    fn begin(&mut self, at: i64) -> Doing {
        // Few texts are most of the work.
        let part = self.random.part();
        let text = ((part * part) * self.texts.len() as f64) as usize;
        let until = at + self.random.exponential(self.texts[text]);
        Doing::Statement { text, start: at, clock_us: at + self.server.offset, until }
    }

    fn end(&mut self, place: usize, (text, start, clock_us): (usize, i64, i64), at: i64) -> Doing {
        let execution = Some(self.log.executions.len());
        self.ran.push(Ran { session: place as u64, clock_us, start, end: at, execution });
        let values = self.values((at - start) as u64);
        self.server.count(&mut self.log, text, at, values, true);
        Doing::Nothing { until: at + self.random.exponential(0.6 * S as f64) }
    }

    fn values(&mut self, elapsed: u64) -> Values {
        let waited = (elapsed as f64 * self.random.part() * 0.5) as u64;
        let few = self.random.between(0, 4) as u64;
        Values::of([
            (Measure::Executions, 1),
            (Measure::ElapsedUs, elapsed),
            (Measure::CpuUs, elapsed - waited),
            (Measure::IoReadUs, waited),
            (Measure::Rows, few),
            (Measure::LogicalReadPages, few * self.random.between(0, 50) as u64),
        ])
    }

    fn kill(&mut self, place: usize) {
        if let Doing::Statement { text, start, clock_us, .. } = self.sessions[place] {
            self.ran.push(Ran { session: place as u64, clock_us, start, end: self.now, execution: None });
            self.server.kill(&mut self.log, text, self.now, (self.now - start) as u64);
            self.sessions[place] = Doing::Nothing { until: self.now + S };
        }
    }

    fn kill_all(&mut self, back: i64) {
        for place in 0..self.sessions.len() {
            self.kill(place);
            self.sessions[place] = Doing::Nothing { until: back };
        }
    }

    /// What may happen once in a slot.
    pub fn befall(&mut self) {
        let fate = self.fate;
        if self.random.in_thousand(fate.kill) {
            let place = self.random.between(0, self.sessions.len() as i64) as usize;
            self.kill(place);
        }
        if self.random.in_thousand(fate.restart) {
            let back = self.now + self.random.between(S, 20 * S);
            self.kill_all(back);
            self.run_to(back - 1);
            let (is_clean, is_upgrade) = (self.random.in_thousand(700), self.random.in_thousand(200));
            self.server.restart(&mut self.log, self.now, is_clean, is_upgrade);
        }
        if self.random.in_thousand(fate.failover) {
            self.fail_over();
        }
        if self.random.in_thousand(fate.reset) {
            self.server.reset(&mut self.log, self.now);
        }
        if self.random.in_thousand(fate.renew) {
            self.server.renew_one(&mut self.log, &mut self.random, self.now);
        }
        if self.random.in_thousand(fate.pressure) {
            self.server.drop_some(&mut self.log, &mut self.random, self.now);
        }
        // A clock that was set back before anybody looked leaves rows of the future, which nobody can tell from new ones.
        if self.random.in_thousand(fate.clock) && self.is_watched {
            let step = self.random.between(2 * S, 3600 * S);
            let step = if self.random.in_thousand(500) { step } else { -step };
            self.server.offset += step;
            // Some go back at once.
            if self.random.in_thousand(250) {
                let back = self.now + self.random.between(1, 5 * S);
                self.run_to(back);
                self.server.offset -= step;
            }
        }
        if self.random.in_thousand(fate.timing) {
            self.server.has_io_times = !self.server.has_io_times;
        }
    }

    /// What a server survives less well than its collector: it is another one from now on.
    pub fn strike(&mut self) {
        match self.random.between(0, 3) {
            0 => self.fail_over(),
            1 => self.server.reset(&mut self.log, self.now),
            _ => {
                self.kill_all(self.now + S);
                self.server.restart(&mut self.log, self.now, false, false);
            }
        }
    }

    /// Another node takes over, with counters of its own past and a clock of its own.
    fn fail_over(&mut self) {
        self.kill_all(self.now + 2 * S);
        self.nodes += 1;
        let offset = self.server.offset + self.random.between(-2 * S, 2 * S);
        let age = self.random.between(10 * S, 4000 * S);
        let mut other = Server::new(self.server.kind, self.nodes, self.now - age, offset, self.server.capacity);
        for text in 0..self.texts.len() {
            if self.random.in_thousand(700) {
                let elapsed = self.random.exponential(self.texts[text]) as u64;
                let values = self.values(elapsed);
                other.count(&mut self.log, text, self.now - age / 2, values, false);
            }
        }
        self.server = other;
        self.is_watched = false;
        self.log.disturbed.push(self.now);
    }

    /// What a sample of active sessions shows now.
    pub fn sample(&self, spacing_us: Option<u64>) -> Sample {
        let active = self.sessions.iter().enumerate().filter_map(|(place, doing)| match *doing {
            Doing::Statement { text, clock_us, .. } => {
                let (session, item) = (place as u64, Some(Item(text as u128)));
                Some(Active { session, start_us: clock_us, item, may_be_counted: false })
            }
            Doing::Nothing { .. } => None,
        });
        Sample { at_us: self.now + self.server.offset, spacing_us, active: active.collect() }
    }

    /// 0 for a time in which something was dropped, reset or killed, else 1, and 2 if all rows were read as well.
    pub fn class(&self, start: i64, end: i64, is_whole: bool) -> usize {
        let is_calm = !self.log.disturbed.iter().any(|at| (start..=end).contains(at));
        usize::from(is_calm) + usize::from(is_calm && is_whole)
    }

    /// Statements under way.
    pub fn running(&self) -> impl Iterator<Item = Ran> {
        self.sessions.iter().enumerate().filter_map(|(place, doing)| match *doing {
            Doing::Statement { start, clock_us, .. } => {
                Some(Ran { session: place as u64, clock_us, start, end: self.now, execution: None })
            }
            Doing::Nothing { .. } => None,
        })
    }
}
