//! What one request of a run demands of each resource, derived from what the run says, with what the run cannot say.

use super::evidence::{Block, Evidence, What};
use super::gather::Gather;
use super::hardware::{Hardware, Prices};
use crate::analytic::{Centre, mean_value_analysis};
use crate::random::Stream;

/// Fewer of something for each request than this is none.
const NONE: f64 = 1e-4;

/// From this part of requests that write on, all of them are taken to write: what they read, they read while they have the turn.
const ALL_WRITE: f64 = 0.95;

/// Waits may be counted twice where they overlap: by so much of the response time without a word about it.
const OVERLAP: f64 = 0.05;

/// Of the time from one request of a session to its next, less than this part is a matter of chance.
const CHANCE: f64 = 0.02;

/// From this part of the response time on other waits are worth a word.
const LARGE: f64 = 0.25;

/// From this use on a CPU is full.
const FULL: f64 = 0.85;

/// Steps in which a time is found by halves.
const HALVINGS: u32 = 30;

/// The most reads of a request that are under way at a time.
const MOST_PARALLEL: f64 = 64.0;

/// How commits get into the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogMode {
    /// Each commit is a write of its own; the next begins before it is done, and none is acknowledged before those ahead of it.
    Overlapping,
    /// So many writes are under way at most, each with all commits that wait.
    Together(u32),
}

/// What one request needs on average.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Demand {
    /// Statements.
    pub statements: f64,
    /// Steps of work of the CPU: of the engine's virtual machine, or nanoseconds where the CPU has no prices.
    pub steps: f64,
    /// Pages that are read from a device.
    pub pages: f64,
    /// Reads of a device.
    pub reads: f64,
    /// Bytes of a read.
    pub read_bytes: f64,
    /// Reads under way at a time.
    pub parallel: f64,
    /// Reads that a request which writes makes while it has the turn to write; they are among its reads.
    pub turn_reads: f64,
    /// Statements that it makes meanwhile, those of a transaction behind its beginning; they are among its statements.
    pub turn_statements: f64,
    /// Commits that write.
    pub commits: f64,
    /// Bytes of log of a commit.
    pub log_bytes: f64,
    /// Writes of data, made later.
    pub writes: f64,
    /// Changes that would be as many writes, if none met another in its page.
    pub changes: f64,
    /// How many of them meet.
    pub gather: Gather,
    /// Bytes of such a write.
    pub write_bytes: f64,
    /// Seconds of all other waits.
    pub other_s: f64,
    /// Of these, for locks that other sessions hold.
    pub lock_s: f64,
}

impl Demand {
    /// Statements of a request before it has the turn to write: of a transaction that takes it, the beginning alone.
    pub fn statements_before(&self, takes_turn: bool) -> f64 {
        let writing = self.commits.min(1.0);
        match (self.turn_statements > 0.0, takes_turn) {
            (false, _) => self.statements,
            (true, true) => 1.0,
            (true, false) if writing < 1.0 => {
                ((self.statements - writing * (1.0 + self.turn_statements)) / (1.0 - writing)).max(0.0)
            }
            (true, false) => 0.0,
        }
    }
}

/// How a server of this kind works, which a run does not show.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Manner {
    /// How commits get into the log.
    pub log: LogMode,
    /// Whether one session writes at a time.
    pub has_turn: bool,
    /// Whether changed pages are written in passes, which begin when the log has so many pages. Else they are written at once.
    pub has_passes: bool,
}

impl Manner {
    /// That of an engine.
    pub fn of(engine: &str) -> Self {
        let is_lab = engine == "lab";
        let log = match engine {
            "lab" => LogMode::Overlapping,
            // Documented: 32 blocks under way, and since 2012 112.
            "mssql" | "sqlserver" => LogMode::Together(32),
            _ => LogMode::Together(1),
        };
        let has_turn = is_lab || engine == "sqlite";
        Self { log, has_turn, has_passes: is_lab }
    }
}

/// Something that a run does not say.
#[derive(Debug, Clone, PartialEq)]
pub struct Unknown {
    /// What it is, and why it is not known.
    pub text: String,
}

/// A demand with what was noted on the way.
#[derive(Debug, Clone, PartialEq)]
pub struct Derived {
    /// The demand.
    pub demand: Demand,
    /// Bounds that bind, in words.
    pub bounds: Vec<String>,
    /// What is not known.
    pub unknown: Vec<Unknown>,
}

/// The demand that a time of a run shows. `luck` from 0 to 1 says where in its range something lies that the run does not say.
pub fn derive(block: &Block, evidence: &Evidence, hardware: &Hardware, luck: f64) -> Derived {
    let mut noted = Derived { demand: NOTHING, bounds: Vec::new(), unknown: Vec::new() };
    let each = |what| block.each(what).unwrap_or(0.0);
    let per = |sum: Option<f64>, count: f64| sum.map_or(0.0, |sum| if count > NONE { sum / count } else { 0.0 });
    let page_bytes = hardware.spec.page_bytes as f64;

    let pages = each(What::Misses);
    let reads = block.each(What::Reads).unwrap_or(pages);
    let read_bytes = per(block.each(What::ReadBytes), reads);
    let read_bytes = if read_bytes > 0.0 { read_bytes } else { page_bytes };
    let (stall, waited) = (each(What::ReadStall), each(What::ReadWait));
    let parallel = if reads > NONE && waited > 0.0 { (stall / waited).clamp(1.0, MOST_PARALLEL) } else { 1.0 };

    let log_writes = each(What::LogWrites);
    let has_log = log_writes > NONE || each(What::LogBytes) > 1.0;
    let commits = if has_log { block.each(What::Commits).unwrap_or(log_writes) } else { 0.0 };
    let log_bytes = per(block.each(What::LogBytes), commits);
    let writes = each(What::Writes);
    let of_data = (each(What::DeviceWriteBytes) - each(What::LogBytes)).max(0.0);
    let write_bytes = if writes > NONE && of_data > 0.0 { of_data / writes } else { page_bytes };

    let is_known = |all: &[What]| all.iter().any(|what| block.total(*what).is_some());
    for (all, what) in [
        (&[What::LogWrites, What::LogBytes][..], "how much a request writes to the log"),
        (&[What::Reads, What::Misses], "how much a request reads from storage"),
    ] {
        if !is_known(all) {
            noted.unknown.push(Unknown { text: format!("{what}: it is taken as nothing, so no limit of it counts") });
        }
    }
    let statement_s = hardware.spec.cpu.statement_ps as f64 / 1e12;
    let turn_reads = turn_reads(block, commits, (reads, waited), hardware.statements.in_turn * statement_s);
    let (statements, steps) = cpu(block, evidence, hardware, pages, luck, &mut noted);
    let other_s = match hardware.prices {
        Prices::Engine => other(block, evidence, hardware, &mut noted),
        Prices::Nanoseconds => elsewhere(block, evidence, hardware, luck, &mut noted),
    };
    let lock_s = each(What::LockWait).min(other_s);
    if let Some(response) = response_s(block, evidence) {
        noted.unknown.extend(long_waits(response, other_s, lock_s));
    }
    noted.demand = Demand {
        statements,
        steps,
        pages,
        reads,
        read_bytes: read_bytes.max(512.0),
        parallel,
        turn_reads,
        turn_statements: hardware.statements.in_turn,
        commits,
        log_bytes: log_bytes.max(1.0),
        writes,
        changes: writes,
        gather: Gather::NONE,
        write_bytes: write_bytes.max(512.0),
        other_s,
        lock_s,
    };
    noted
}

/// That nobody knows how long a request waits elsewhere for what is no device and no CPU.
fn long_waits(response_s: f64, other_s: f64, lock_s: f64) -> Option<Unknown> {
    let [of_locks, of_rest] = [lock_s, other_s - lock_s].map(|seconds| (100.0 * seconds / response_s, seconds * 1e3));
    let text = if of_locks.0 > 100.0 * LARGE {
        let (percent, ms) = of_locks;
        format!(
            "how long a request waits there for locks of other sessions, {ms:.3} ms and {percent:.0} % of its time in the run: it is taken from as long \
             as that to as much longer or shorter as all else of a request"
        )
    } else if of_rest.0 > 100.0 * LARGE {
        let (percent, ms) = of_rest;
        format!(
            "what a request waited for in {percent:.0} % of its time, {ms:.3} ms: it is taken to stay as long as it was"
        )
    } else {
        return None;
    };
    Some(Unknown { text })
}

const NOTHING: Demand = Demand {
    statements: 1.0,
    steps: 0.0,
    pages: 0.0,
    reads: 0.0,
    read_bytes: 4096.0,
    parallel: 1.0,
    turn_reads: 0.0,
    turn_statements: 0.0,
    commits: 0.0,
    log_bytes: 1.0,
    writes: 0.0,
    changes: 0.0,
    gather: Gather::NONE,
    write_bytes: 4096.0,
    other_s: 0.0,
    lock_s: 0.0,
};

/// Reads of a commit while it has the turn to write. Where all requests write that is all of them. Else it follows from how long was waited
/// for the turn: of a queue with one server and exponential times S, W = rate x S^2 / (1 - rate x S).
/// Of it `computed_s` are no reads.
fn turn_reads(block: &Block, commits: f64, (reads, waited): (f64, f64), computed_s: f64) -> f64 {
    if commits <= NONE || reads <= NONE {
        return 0.0;
    }
    if commits >= ALL_WRITE {
        return reads / commits;
    }
    let Some(turn_wait_s) = block.each(What::TurnWait).map(|wait| wait / commits) else { return 0.0 };
    let (rate, read_s) = (commits * block.rate(), waited / reads);
    let load = rate * turn_wait_s;
    let held_s = ((load * load + 4.0 * load).sqrt() - load) / (2.0 * rate);
    let read_for_s = (held_s - computed_s).max(0.0);
    if read_s > 0.0 { (read_for_s / read_s).min(reads / commits) } else { 0.0 }
}

/// Seconds of a request's response time, as far as it is known: of a closed loop, by its law.
pub(super) fn response_s(block: &Block, evidence: &Evidence) -> Option<f64> {
    let sessions = f64::from(evidence.load.sessions);
    evidence.load.asked_per_s().is_none().then(|| sessions / block.rate() - evidence.load.think_s())
}

/// Statements, and steps of work, from the CPU time of a request.
fn cpu(
    block: &Block,
    evidence: &Evidence,
    hardware: &Hardware,
    pages: f64,
    luck: f64,
    noted: &mut Derived,
) -> (f64, f64) {
    let spec = &hardware.spec;
    let by_client =
        spec.client.and_then(|client| Some(block.each(What::ClientCpu)? / (client.request_ps as f64 / 1e12)));
    let statements = by_client.unwrap_or(hardware.statements.each);
    let Some(cpu_s) = block.each(What::Cpu) else {
        let busy = known_waits(block, hardware).unwrap_or(0.0);
        let by_cores = spec.cpu.cores / block.rate();
        let most = response_s(block, evidence).map_or(by_cores, |response| (response - busy).clamp(0.0, by_cores));
        noted.unknown.push(Unknown {
            text: format!(
                "the CPU time of a request was not measured; by the response time it is at most {:.3} ms, and anything below is possible",
                most * 1e3
            ),
        });
        return (statements, most * luck * 1e9);
    };
    match hardware.prices {
        Prices::Nanoseconds => (statements, cpu_s * 1e9),
        Prices::Engine => {
            let (statement_s, page_s) = (spec.cpu.statement_ps as f64 / 1e12, spec.cpu.page_ps as f64 / 1e12);
            let Some(step_s) = spec.cpu.step_ps.map(|ps| ps as f64 / 1e12) else { return (statements, 0.0) };
            let rest = cpu_s - statements * statement_s - pages * page_s;
            if rest < -OVERLAP * cpu_s {
                noted.bounds.push(format!(
                    "statements and pages alone would take more CPU than the {:.3} ms of a request that were measured: no steps are left",
                    cpu_s * 1e3
                ));
            }
            (statements, rest.max(0.0) / step_s)
        }
    }
}

/// What a request waited for that the model has a place for, in seconds; absent where no wait is known.
fn known_waits(block: &Block, hardware: &Hardware) -> Option<f64> {
    let sum = |wait, stall| block.each(wait).or_else(|| block.each(stall));
    let mut known =
        vec![sum(What::ReadWait, What::ReadStall), sum(What::LogWait, What::LogStall), block.each(What::TurnWait)];
    known.push(block.each(What::CpuWait).or_else(|| block.each(What::Cpu)));
    if hardware.spec.client.is_some() {
        known.push(block.each(What::ClientWait));
    }
    known.into_iter().flatten().reduce(|a, b| a + b)
}

/// What is left of the response time.
fn other(block: &Block, evidence: &Evidence, hardware: &Hardware, noted: &mut Derived) -> f64 {
    let locks = block.each(What::LockWait).unwrap_or(0.0);
    let (Some(response), Some(known)) = (response_s(block, evidence), known_waits(block, hardware)) else {
        return locks;
    };
    let rest = response - known;
    if rest < -OVERLAP * response {
        noted.bounds.push(format!(
            "the waits of a request add up to {:.2} ms, more than its response time of {:.2} ms: other waits are taken as none",
            known * 1e3,
            response * 1e3
        ));
    }
    // Pauses are known on average only: a rest that is small beside the cycle is chance, and counting it where it is above 0 would add up.
    let cycle_s = response + evidence.load.think_s();
    if rest > CHANCE * cycle_s { rest } else { 0.0 }
}

/// What is left of the response time on a real server, where what sessions do is seen by looks: of one whose new request waits for a CPU
/// the server says that it waits for its client, and of one that lost its CPU in the middle of a read that it reads. So the time at the CPU is that
/// of the closed network which has the measured rate. On a CPU that is full the rate says little of the rest.
fn elsewhere(block: &Block, evidence: &Evidence, hardware: &Hardware, luck: f64, noted: &mut Derived) -> f64 {
    let (Some(response), Some(at_cpu)) = (response_s(block, evidence), at_cpu(block, evidence, hardware)) else {
        return other(block, evidence, hardware, noted);
    };
    let sum = |wait, stall| block.each(wait).or_else(|| block.each(stall)).unwrap_or(0.0);
    let waits = sum(What::ReadWait, What::ReadStall) + sum(What::LogWait, What::LogStall);
    let rest = (response - at_cpu - waits).max(0.0);
    let used = block.total(What::Cpu).map_or(0.0, |seconds| seconds / block.seconds / hardware.spec.cpu.cores);
    if used < FULL {
        return rest;
    }
    if rest > CHANCE * response {
        noted.unknown.push(Unknown {
            text: format!(
                "how long a request is elsewhere, as the CPU was used to {:.0} %: anything up to {:.3} ms is possible",
                100.0 * used.min(1.0),
                rest * 1e3
            ),
        });
    }
    luck * rest
}

/// Seconds of a request at the CPU with its queue, by the network of one station and a time elsewhere that has the measured rate. `None` where the
/// CPU time is not known.
fn at_cpu(block: &Block, evidence: &Evidence, hardware: &Hardware) -> Option<f64> {
    let (cpu_s, cores) = (block.each(What::Cpu)?, hardware.spec.cpu.cores);
    let servers = (cores as u32).max(1);
    let centre = [Centre { demand_s: cpu_s * f64::from(servers) / cores, servers }];
    let cycle_s = f64::from(evidence.load.sessions) / block.rate();
    let (mut low, mut high) = (0.0, cycle_s);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        let is_faster = mean_value_analysis(evidence.load.sessions, middle, &centre).rate > block.rate();
        (low, high) = if is_faster { (middle, high) } else { (low, middle) };
    }
    Some(cycle_s - low)
}

/// Blocks drawn with replacement, as many as there are.
pub fn redrawn(blocks: &[Block], random: &mut Stream) -> Block {
    let chosen: Vec<&Block> = (0..blocks.len()).filter_map(|_| blocks.get(below(random, blocks.len()))).collect();
    Block::together(&chosen)
}

fn below(random: &mut Stream, end: usize) -> usize {
    ((random.unit() * end as f64) as usize).min(end.saturating_sub(1))
}
