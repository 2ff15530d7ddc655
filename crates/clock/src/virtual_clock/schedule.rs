//! The threads on the clock, the one that has the turn, and the next one. Data only: waiting and waking are the
//! clock's.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::mem;
use std::sync::{Arc, OnceLock};

use plimsoll_measurement::Moment;

use crate::signal::Signal;

/// A thread's place on the clock, from its ticket until it leaves.
#[derive(Debug)]
pub(crate) struct Task {
    /// Unique on its clock and never used again.
    pub(crate) number: u64,
    pub(crate) name: String,
    /// Raised when it is the thread's turn.
    pub(crate) turn: Signal,
    /// The thread's number for the operating system, once it has registered, where the watchdog can use it.
    pub(crate) thread_id: OnceLock<i32>,
}

/// What a thread waits for. One that runs counts as waiting for its moment, which has come.
#[derive(Debug, PartialEq, Eq)]
enum Awaits {
    Moment,
    Wake,
    Departure,
}

#[derive(Debug)]
struct Place {
    task: Arc<Task>,
    awaits: Awaits,
    /// A wake that came while the thread was not parked.
    permit: bool,
    /// Threads that wait until this one has left.
    followers: Vec<u64>,
    /// Why nobody can wake the thread any more.
    abandoned: Option<Arc<str>>,
}

/// The threads on one clock. Exactly one has the turn unless there is none that could.
///
/// Methods that move the turn return the thread to call. Order is by moment, then by when a thread was queued, so equal
/// calls in equal order give equal turns.
#[derive(Debug, Default)]
pub(crate) struct Schedule {
    pub(super) now: Moment,
    /// Moment, order of queueing, number.
    queue: BinaryHeap<Reverse<(Moment, u64, u64)>>,
    queued: u64,
    /// By number, which is the order of the tickets.
    places: BTreeMap<u64, Place>,
    issued: u64,
    turn: Option<Arc<Task>>,
    turns: u64,
}

impl Schedule {
    /// The thread that has the turn, and how many turns or jumps there were before: a thread that has not moved on has
    /// the same number.
    pub(crate) fn turn(&self) -> (u64, Option<&Arc<Task>>) {
        (self.turns, self.turn.as_ref())
    }

    /// A new thread, queued for the present moment.
    pub(crate) fn announce(&mut self, name: &str) -> (Arc<Task>, Option<Arc<Task>>) {
        let number = self.issued;
        self.issued += 1;
        let task =
            Arc::new(Task { number, name: name.to_owned(), turn: Signal::default(), thread_id: OnceLock::new() });
        let place =
            Place { task: task.clone(), awaits: Awaits::Moment, permit: false, followers: Vec::new(), abandoned: None };
        self.places.insert(number, place);
        self.enqueue(self.now, number);
        let next = if self.turn.is_none() { self.pass_on() } else { None };
        (task, next)
    }

    /// The thread with the turn waits for `moment`, which is not in the past. `None`: nobody precedes, so it has come.
    pub(crate) fn sleep_until(&mut self, moment: Moment, number: u64) -> Option<Arc<Task>> {
        let own = (moment, self.queued, number);
        let first = self.queue.peek_mut().filter(|first| first.0.0 <= moment);
        // In place of the first: one sift through the heap instead of two.
        if let Some(Reverse((at, _, next))) = first.map(|mut first| mem::replace(&mut *first, Reverse(own))) {
            self.queued += 1;
            return self.give_turn(at, next);
        }
        self.now = moment;
        self.turns += 1;
        None
    }

    /// The thread with the turn waits for a wake. `None`: there was one before.
    pub(crate) fn park(&mut self, number: u64) -> Option<Arc<Task>> {
        let place = self.places.get_mut(&number)?;
        if mem::take(&mut place.permit) {
            return None;
        }
        place.awaits = Awaits::Wake;
        self.pass_on()
    }

    /// Queues a parked thread for the present moment; one that isn't parked will find a permit.
    pub(crate) fn wake(&mut self, number: u64) {
        // One that is not on the clock any more needs no waking.
        let Some(place) = self.places.get_mut(&number) else { return };
        if place.awaits == Awaits::Wake {
            self.enqueue(self.now, number);
        } else {
            place.permit = true;
        }
    }

    /// The thread with the turn waits until another has left. `None`: it has.
    pub(crate) fn await_departure(&mut self, of: u64, number: u64) -> Option<Arc<Task>> {
        self.places.get_mut(&of)?.followers.push(number);
        self.places.get_mut(&number)?.awaits = Awaits::Departure;
        self.pass_on()
    }

    /// A thread leaves, whether it has the turn or has not even registered.
    pub(crate) fn depart(&mut self, number: u64) -> Option<Arc<Task>> {
        let place = self.places.remove(&number)?;
        for follower in place.followers {
            if self.places.get(&follower).is_some_and(|place| place.awaits == Awaits::Departure) {
                self.enqueue(self.now, follower);
            }
        }
        if self.turn.as_ref().is_some_and(|task| task.number == number) {
            return self.pass_on();
        }
        self.queue.retain(|Reverse((_, _, queued))| *queued != number);
        None
    }

    /// Why the thread was called although nobody woke it, told once.
    pub(crate) fn abandoned(&mut self, number: u64) -> Option<Arc<str>> {
        self.places.get_mut(&number)?.abandoned.take()
    }

    fn enqueue(&mut self, moment: Moment, number: u64) {
        if let Some(place) = self.places.get_mut(&number) {
            place.awaits = Awaits::Moment;
        }
        self.queue.push(Reverse((moment, self.queued, number)));
        self.queued += 1;
    }

    /// Takes the turn from whoever has it and gives it to the first in the queue.
    fn pass_on(&mut self) -> Option<Arc<Task>> {
        self.turn = None;
        if self.queue.is_empty() {
            self.abandon();
        }
        let Reverse((moment, _, number)) = self.queue.pop()?;
        self.give_turn(moment, number)
    }

    fn give_turn(&mut self, moment: Moment, number: u64) -> Option<Arc<Task>> {
        self.now = moment;
        self.turns += 1;
        self.turn = self.places.get(&number).map(|place| place.task.clone());
        self.turn.clone()
    }

    /// Nobody is queued, so nobody will ever wake the parked: they are called one after the other to hear it. A thread
    /// that waits for a departure goes on when these have left, unless only such threads remain and wait for each
    /// other.
    fn abandon(&mut self) {
        let waiting = |waits: &Awaits| {
            let places = self.places.values().filter(|place| place.awaits == *waits);
            places.map(|place| place.task.clone()).collect::<Vec<_>>()
        };
        let mut parked = waiting(&Awaits::Wake);
        if parked.is_empty() {
            parked = waiting(&Awaits::Departure);
        }
        let names: Vec<String> = parked.iter().map(|task| format!("'{}'", task.name)).collect();
        let reason: Arc<str> = format!("nobody is left to run on the clock: parked are {}", names.join(", ")).into();
        for task in parked {
            self.enqueue(self.now, task.number);
            if let Some(place) = self.places.get_mut(&task.number) {
                place.abandoned = Some(reason.clone());
            }
        }
    }
}
