//! A thread's work: operation after operation in the slots of a lane, each when it is due, timed, and counted.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use plimsoll_clock::{Clock, cpu};
use plimsoll_measurement::Moment;

use crate::lane::{Completion, Lane, Outcome};
use crate::recorder::{Answered, Recorder};
use crate::schedule::Schedule;
use crate::think::{Pauses, Think};

/// After so many operations in a row that there was nothing to make of the work ends: in virtual time they take none.
const MOST_NOTHING_IN_A_ROW: u32 = 1000;

/// A session that pauses for long looks so often whether the work was stopped.
const LONGEST_SLEEP: Duration = Duration::from_millis(500);

/// What all workers of a phase share.
pub struct Shared<'a> {
    /// Time.
    pub clock: &'a dyn Clock,
    /// Intended starts; without one each operation begins when the last in its slot has completed.
    pub schedule: Option<&'a Schedule>,
    /// Pause between an answer and the next operation of a slot, without a schedule.
    pub think: Think,
    /// When the phase begins.
    pub start: Moment,
    /// When it ends.
    pub end: Moment,
    /// Recorders; a worker takes the one of its number.
    pub recorders: &'a [Mutex<Recorder>],
    /// How the workers are, altogether.
    pub state: State,
}

/// How the workers are, altogether.
#[derive(Debug, Default)]
pub struct State {
    working: AtomicU64,
    stopped: AtomicBool,
    /// When the last worker ended, in nanoseconds.
    ended: AtomicU64,
}

impl State {
    /// So many workers, which all work.
    pub fn of(workers: u64) -> Self {
        Self { working: AtomicU64::new(workers), ..Self::default() }
    }

    /// True as long as one of them works.
    pub fn is_working(&self) -> bool {
        self.working.load(Ordering::Relaxed) > 0
    }

    /// When the last worker so far ended.
    pub fn ended(&self) -> Moment {
        Moment::from_nanos(self.ended.load(Ordering::Relaxed))
    }

    /// No worker begins another operation.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// A worker that has no lane to work in ends before it began, and so does the work.
    pub fn no_lane(&self) {
        self.stop();
        self.working.fetch_sub(1, Ordering::Relaxed);
    }

    /// True after [`State::stop`].
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}

/// What a worker's thread needed for itself.
#[derive(Debug, Clone, Copy, Default)]
pub struct Needed {
    /// CPU time in seconds.
    pub cpu_seconds: f64,
    /// Time in which it waited for a CPU; `None` where the system does not tell.
    pub run_queue_seconds: Option<f64>,
    /// Operations that it made.
    pub requests: u64,
    /// Slots that it looked after.
    pub slots: u64,
}

/// An operation under way, and the pauses of its slot.
struct Slot {
    intended: Moment,
    started: Moment,
    /// True if the thread had slept until the intended start.
    slept: bool,
    pauses: Option<Pauses>,
}

/// Makes operations in a lane until the time is up; `first` is the number of its first slot among those of all lanes. What
/// fails is counted; only what ends the lane is an error.
pub fn work<L: Lane>(shared: &Shared<'_>, lane: &mut L, first: u64) -> (Result<(), L::Error>, Needed) {
    let mut needed = Needed::default();
    let (before, queue) = (cpu::thread_cpu_seconds(), cpu::thread_run_queue_seconds());
    shared.clock.sleep_until(shared.start);
    needed.slots = lane.slots() as u64;
    let outcome = run(shared, lane, first, &mut needed.requests);
    if outcome.is_err() {
        // What ends one lane ends the work.
        shared.state.stop();
    }
    shared.state.ended.fetch_max(shared.clock.now().as_nanos(), Ordering::Relaxed);
    shared.state.working.fetch_sub(1, Ordering::Relaxed);
    needed.cpu_seconds = cpu::thread_cpu_seconds() - before;
    let queue_after = cpu::thread_run_queue_seconds();
    needed.run_queue_seconds = queue.zip(queue_after).map(|(before, after)| (after - before).max(0.0));
    (outcome, needed)
}

fn run<L: Lane>(shared: &Shared<'_>, lane: &mut L, first: u64, requests: &mut u64) -> Result<(), L::Error> {
    let recorder = &shared.recorders[first as usize % shared.recorders.len()];
    let pauses = |slot: u64| shared.think.of(first + slot).filter(|_| shared.schedule.is_none());
    let slot = |number| Slot { intended: shared.start, started: shared.start, slept: false, pauses: pauses(number) };
    let mut slots: Vec<Slot> = (0..lane.slots() as u64).map(slot).collect();
    // Free slots by the moment from which they may be used; among several the first.
    let mut free: BinaryHeap<Reverse<(Moment, usize)>> = BinaryHeap::with_capacity(slots.len());
    free.extend((0..slots.len()).map(|slot| Reverse((shared.start, slot))));
    // Reading a clock costs more than recording: where one operation follows the other, the end of one is the next one's start.
    let follows = slots.len() == 1 && shared.schedule.is_none() && slots[0].pauses.is_none();
    let (mut known, mut claimed) = (None, None);
    let (mut under_way, mut is_over) = (0, false);
    let mut nothing_in_a_row = 0;
    // Slots that will be ready later, and whether the last that was waited for was a moment.
    let (mut later, mut woke): (Vec<(Moment, usize)>, bool) = (Vec::new(), false);
    loop {
        let mut until = Moment::from_nanos(u64::MAX);
        if !later.is_empty() {
            let now = shared.clock.now();
            free.extend(later.extract_if(.., |(from, _)| *from <= now).map(Reverse));
            until = later.iter().map(|(from, _)| *from).min().unwrap_or(until);
        }
        while let Some(Reverse((from, number))) = free.peek().copied().filter(|_| !is_over) {
            if let Some(from) = lane.ready(number)? {
                free.pop();
                later.push((from, number));
                until = until.min(from);
                continue;
            }
            let mut now = known.take().unwrap_or_else(|| shared.clock.now());
            let mut slept = false;
            let due = match shared.schedule {
                None => from.max(now),
                Some(schedule) => {
                    slept = woke && claimed.is_some();
                    if let Some(due) = claimed.take().or_else(|| schedule.next()) {
                        due
                    } else {
                        is_over = true;
                        break;
                    }
                }
            };
            if due > now {
                if under_way > 0 {
                    // Others may complete meanwhile.
                    claimed = shared.schedule.map(|_| due);
                    until = until.min(due);
                    break;
                }
                slept = true;
                now = sleep(shared, lane, due)?;
            }
            // A session that is late for the schedule still makes the operation; only the end of the time ends it.
            if now >= shared.end || shared.state.is_stopped() {
                shared.schedule.inspect(|schedule| schedule.give_up());
                is_over = true;
                break;
            }
            free.pop();
            let slot = &mut slots[number];
            // A pause makes no session late: what counts is the start.
            slot.intended = if shared.schedule.is_some() { due } else { now };
            (slot.started, slot.slept) = (now, slept);
            *requests += 1;
            under_way += 1;
            lane.check()?;
            lane.submit(number, due)?;
        }
        if under_way == 0 && is_over {
            return Ok(());
        }
        let completion = lane.reap(until)?;
        woke = completion.is_none();
        let Some(completion) = completion else { continue };
        under_way -= 1;
        let slot = &mut slots[completion.slot];
        record(recorder, slot, &completion);
        nothing_in_a_row = if completion.outcome == Outcome::Nothing { nothing_in_a_row + 1 } else { 0 };
        if nothing_in_a_row == MOST_NOTHING_IN_A_ROW {
            return Err(lane.nothing_left(completion.kind, nothing_in_a_row));
        }
        let answered = matches!(completion.outcome, Outcome::Answered(_));
        known = (follows && answered).then_some(completion.ended);
        let pause = slot.pauses.as_mut().map(Pauses::draw).unwrap_or_default();
        free.push(Reverse((completion.ended.after(pause), completion.slot)));
    }
}

/// Sleeps until something is due, the time is up, or the work is stopped, and says when that is.
fn sleep<L: Lane>(shared: &Shared<'_>, lane: &L, due: Moment) -> Result<Moment, L::Error> {
    let until = due.min(shared.end);
    loop {
        let now = shared.clock.now();
        if now >= until || shared.state.is_stopped() {
            return Ok(now);
        }
        lane.check()?;
        shared.clock.sleep_until(until.min(now.after(LONGEST_SLEEP)));
    }
}

fn record(recorder: &Mutex<Recorder>, slot: &Slot, completion: &Completion) {
    let Completion { kind, outcome, ended, retries, waited, pickup_lag, .. } = *completion;
    let Slot { intended, started, slept, .. } = *slot;
    let mut recorder = recorder.lock().unwrap_or_else(PoisonError::into_inner);
    if retries > 0 {
        recorder.retried(kind, retries);
    }
    if let Some(lag) = pickup_lag {
        recorder.picked_up(lag);
    }
    match outcome {
        Outcome::Answered(amount) => {
            recorder.answered(kind, &Answered { intended, started, ended, waited, slept, amount });
        }
        Outcome::Failed(class) => recorder.failed(kind, ended, class),
        Outcome::Nothing => {}
    }
}
