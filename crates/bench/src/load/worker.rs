//! A session's work: request after request, when it is due, timed, and counted. A session that loses the server comes back
//! as soon as it answers again: a gap in the series, not the end of it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use plimsoll_clock::Clock;
use plimsoll_engine::{Error, ErrorKind, Requester, Result, process};
use plimsoll_measurement::Moment;

use super::request::{Maker, Workload};
use crate::interrupt::{Interrupt, Watched};
use plimsoll_load::lane::Amount;
use plimsoll_load::recorder::{Answered, Recorder};
use plimsoll_load::schedule::Schedule;
use plimsoll_load::think::Think;

/// How often a request is tried again after an error that passes, and how long is waited before the first time; the
/// wait doubles.
const MOST_RETRIES: u32 = 5;
const FIRST_BACK_OFF: Duration = Duration::from_millis(5);

/// How long a session that lost the server waits between two attempts to come back, at first and at most.
const FIRST_RECONNECT: Duration = Duration::from_millis(50);
const LAST_RECONNECT: Duration = Duration::from_secs(1);

/// So many failures without an answer of any session end the work: what they say will not pass.
const MOST_FAILURES_IN_A_ROW: u64 = 1000;

/// What all sessions of a phase share.
pub struct Shared<'a> {
    /// Time.
    pub clock: &'a dyn Clock,
    /// Requests to stop.
    pub interrupt: &'a Interrupt,
    /// What is asked.
    pub workload: &'a dyn Workload,
    /// Makes a session anew.
    pub connect: &'a (dyn Fn() -> Result<(Box<dyn Requester>, Watched)> + Sync),
    /// Intended starts; without one each request begins when the last is answered.
    pub schedule: Option<&'a Schedule>,
    /// Pause between an answer and the next request, without a schedule.
    pub think: Think,
    /// When the phase begins.
    pub start: Moment,
    /// When it ends.
    pub end: Moment,
    /// Recorders; a session takes the one of its number.
    pub recorders: &'a [Mutex<Recorder>],
    /// How the sessions are, altogether.
    pub state: State,
}

/// How the sessions are, altogether.
#[derive(Debug, Default)]
pub struct State {
    working: AtomicU64,
    lost: AtomicU64,
    losses: AtomicU64,
    /// Losses after which the lease was taken again.
    renewed: AtomicU64,
    failures_in_a_row: AtomicU64,
    stopped: AtomicBool,
    /// When the last session ended, in nanoseconds.
    ended: AtomicU64,
}

impl State {
    /// So many sessions, which all work.
    pub fn of(sessions: u64) -> Self {
        Self { working: AtomicU64::new(sessions), ..Self::default() }
    }

    /// True as long as one of them works.
    pub fn is_working(&self) -> bool {
        self.working.load(Ordering::Relaxed) > 0
    }

    /// Sessions that have lost the server at the moment.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// How often a session lost it.
    pub fn losses(&self) -> u64 {
        self.losses.load(Ordering::Relaxed)
    }

    /// After so many losses the lease is ours again, and those who came back may go on.
    pub fn renewed(&self, losses: u64) {
        self.renewed.store(losses, Ordering::Relaxed);
    }

    /// When the last session so far ended.
    pub fn ended(&self) -> Moment {
        Moment::from_nanos(self.ended.load(Ordering::Relaxed))
    }

    /// No session begins another request.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }
}

/// A session, which may be replaced by a new one.
pub struct Slot {
    /// The session; `None` after it was lost and before there is a new one.
    pub requester: Option<Box<dyn Requester>>,
    /// Lets an interrupt cancel it.
    pub watched: Option<Watched>,
}

impl Slot {
    /// A session that was just made.
    pub fn new((requester, watched): (Box<dyn Requester>, Watched)) -> Self {
        Self { requester: Some(requester), watched: Some(watched) }
    }
}

/// What a session's thread needed for itself.
#[derive(Debug, Clone, Copy, Default)]
pub struct Needed {
    /// CPU time in seconds.
    pub cpu_seconds: f64,
    /// Time in which it waited for a CPU; `None` where the system does not tell.
    pub run_queue_seconds: Option<f64>,
    /// Requests that it made.
    pub requests: u64,
}

/// Makes requests until the time is up. What fails is counted; only what ends the session is an error.
pub fn work(shared: &Shared<'_>, slot: &mut Slot, number: u64, label: u64) -> (Result<()>, Needed) {
    let mut needed = Needed::default();
    let (cpu, queue) = (process::thread_cpu_seconds(), process::thread_run_queue_seconds());
    let mut maker = shared.workload.maker(number, label);
    shared.clock.sleep_until(shared.start);
    let outcome = run(shared, maker.as_mut(), slot, number, &mut needed.requests);
    if outcome.is_err() {
        // What ends one session ends the work.
        shared.state.stop();
    }
    shared.state.ended.fetch_max(shared.clock.now().as_nanos(), Ordering::Relaxed);
    shared.state.working.fetch_sub(1, Ordering::Relaxed);
    needed.cpu_seconds = process::thread_cpu_seconds() - cpu;
    let queue_after = process::thread_run_queue_seconds();
    needed.run_queue_seconds = queue.zip(queue_after).map(|(before, after)| (after - before).max(0.0));
    (outcome, needed)
}

fn run(shared: &Shared<'_>, maker: &mut dyn Maker, slot: &mut Slot, number: u64, requests: &mut u64) -> Result<()> {
    let recorder = &shared.recorders[number as usize % shared.recorders.len()];
    // Reading a clock costs more than recording: where one request follows the other, the end of one is the next one's start.
    let mut last_end = None;
    let mut pauses = shared.think.of(number).filter(|_| shared.schedule.is_none());
    loop {
        let mut started = last_end.take().unwrap_or_else(|| shared.clock.now());
        let (mut intended, mut slept) = (started, false);
        if let Some(schedule) = shared.schedule {
            let Some(next) = schedule.next() else { return Ok(()) };
            intended = next;
            if intended > started {
                slept = true;
                shared.clock.sleep_until(intended);
                started = shared.clock.now();
            }
        }
        shared.interrupt.check()?;
        // Who is late for the schedule still makes the request; only the end of the time ends it.
        if started >= shared.end || shared.state.stopped.load(Ordering::Relaxed) {
            shared.schedule.inspect(|schedule| schedule.give_up());
            return Ok(());
        }
        let Some(requester) = &mut slot.requester else {
            come_back(shared, slot)?;
            shared.schedule.inspect(|schedule| schedule.give_up());
            continue;
        };
        let kind = maker.draw();
        *requests += 1;
        let (answer, backed_off) = patiently(shared, maker, kind, requester.as_mut(), recorder);
        let ended = shared.clock.now();
        match answer {
            Ok(Some(made)) => {
                last_end = shared.schedule.is_none().then_some(ended);
                locked(recorder)
                    .answered(kind, &Answered { intended, started, ended, backed_off, slept, amount: made });
                if shared.state.failures_in_a_row.load(Ordering::Relaxed) > 0 {
                    shared.state.failures_in_a_row.store(0, Ordering::Relaxed);
                }
            }
            Ok(None) => {}
            Err(error) => {
                locked(recorder).failed(kind, ended, error.kind.name());
                failed(shared, &error, slot)?;
            }
        }
        if let Some(pauses) = &mut pauses {
            shared.clock.sleep(pauses.draw());
            last_end = None;
        }
    }
}

fn locked(recorder: &Mutex<Recorder>) -> std::sync::MutexGuard<'_, Recorder> {
    recorder.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What becomes of the session after a request that failed for good: an error if it is its end.
fn failed(shared: &Shared<'_>, error: &Error, slot: &mut Slot) -> Result<()> {
    shared.interrupt.check()?;
    match error.kind {
        ErrorKind::Internal | ErrorKind::Usage | ErrorKind::Cancelled | ErrorKind::DiskFull => {
            return Err(error.clone());
        }
        ErrorKind::Lost => {
            // The new session has no use for what the old one's end may still hold up.
            (slot.requester, slot.watched) = (None, None);
            come_back(shared, slot)?;
            return Ok(());
        }
        _ => {}
    }
    let in_a_row = shared.state.failures_in_a_row.fetch_add(1, Ordering::Relaxed) + 1;
    if in_a_row < MOST_FAILURES_IN_A_ROW {
        return Ok(());
    }
    // In the midst of a run this is no longer a question of what was asked for.
    let message = format!("{in_a_row} requests in a row failed, the last with: {}", error.message);
    let hint = error.hint.clone().unwrap_or_else(|| {
        "see what the last error says of the target or of the definition, then run the test again".to_owned()
    });
    Err(Error::new(ErrorKind::Statement, message).hint(hint))
}

/// Connects again, and again until the phase ends. Nobody writes before the lease is ours again.
fn come_back(shared: &Shared<'_>, slot: &mut Slot) -> Result<()> {
    let loss = shared.state.losses.fetch_add(1, Ordering::Relaxed) + 1;
    shared.state.lost.fetch_add(1, Ordering::Relaxed);
    let mut wait = FIRST_RECONNECT;
    let outcome = loop {
        if let Err(interrupted) = shared.interrupt.check() {
            break Err(interrupted);
        }
        match (shared.connect)() {
            Ok(session) => {
                *slot = Slot::new(session);
                break Ok(());
            }
            Err(error) if shared.clock.now().after(wait) >= shared.end => {
                let message = format!("the server was lost and did not come back before the end: {}", error.message);
                break Err(
                    Error::new(ErrorKind::Lost, message).hint("see why the server ended, then run the test again")
                );
            }
            Err(_) => {
                shared.clock.sleep(wait);
                wait = (wait * 2).min(LAST_RECONNECT);
            }
        }
    };
    let may_go_on = || {
        shared.state.renewed.load(Ordering::Relaxed) >= loss
            || shared.state.stopped.load(Ordering::Relaxed)
            || shared.interrupt.check().is_err()
            || shared.clock.now() >= shared.end
    };
    while outcome.is_ok() && !may_go_on() {
        shared.clock.sleep(FIRST_RECONNECT);
    }
    shared.state.lost.fetch_sub(1, Ordering::Relaxed);
    outcome
}

/// Makes a request, and again after errors that pass; the waits in between are no part of its time.
fn patiently(
    shared: &Shared<'_>,
    maker: &mut dyn Maker,
    kind: usize,
    requester: &mut dyn Requester,
    recorder: &Mutex<Recorder>,
) -> (Result<Option<Amount>>, Duration) {
    let (mut back_off, mut backed_off) = (FIRST_BACK_OFF, Duration::ZERO);
    for _ in 0..MOST_RETRIES {
        match maker.make(kind, requester) {
            Err(error) if error.kind == ErrorKind::Busy => {
                locked(recorder).retried(kind);
                shared.clock.sleep(back_off);
                backed_off += back_off;
                back_off *= 2;
            }
            answer => return (answer, backed_off),
        }
    }
    (maker.make(kind, requester), backed_off)
}
