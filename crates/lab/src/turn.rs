//! The right to write. SQLite has one writer at a time; sessions of the lab queue for it here, in order and without
//! polling, before SQLite takes a snapshot: a writer that waited inside SQLite's lock methods would hold a stale one.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use plimsoll_clock::{Clock, Waiter};

/// A turn that is passed on when this is dropped.
#[derive(Debug)]
#[must_use = "dropped, it passes the turn on"]
pub struct Held<'a>(&'a Turn);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.pass();
    }
}

/// A place in the queue. Whoever panics there, as nobody is left to run, must not be given the turn.
struct Place<'a> {
    turn: &'a Turn,
    granted: Arc<AtomicBool>,
    /// True when the turn has come.
    is_left: bool,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if self.is_left {
            return;
        }
        let mut queue = self.turn.queue();
        queue.waiting.retain(|(granted, _)| !Arc::ptr_eq(granted, &self.granted));
        drop(queue);
        if self.granted.load(Ordering::Acquire) {
            self.turn.pass();
        }
    }
}

/// The turn of one database file.
#[derive(Debug, Default)]
pub struct Turn {
    queue: Mutex<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    taken: bool,
    waiting: VecDeque<(Arc<AtomicBool>, Waiter)>,
}

impl Turn {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the turn is ours, and says how long. Who asked first has it first.
    pub fn take(&self, clock: &dyn Clock) -> Duration {
        let mut place = {
            let mut queue = self.queue();
            if !queue.taken {
                queue.taken = true;
                return Duration::ZERO;
            }
            let granted = Arc::new(AtomicBool::new(false));
            queue.waiting.push_back((Arc::clone(&granted), clock.waiter()));
            Place { turn: self, granted, is_left: false }
        };
        let start = clock.now();
        while !place.granted.load(Ordering::Acquire) {
            clock.park();
        }
        place.is_left = true;
        clock.now().since(start)
    }

    /// Waits until the turn is ours and passes it on when that is dropped, be it by a panic.
    pub fn hold(&self, clock: &dyn Clock) -> Held<'_> {
        self.take(clock);
        Held(self)
    }

    /// Passes the turn on.
    pub fn pass(&self) {
        let mut queue = self.queue();
        match queue.waiting.pop_front() {
            Some((granted, waiter)) => {
                granted.store(true, Ordering::Release);
                drop(queue);
                waiter.wake();
            }
            None => queue.taken = false,
        }
    }
}
