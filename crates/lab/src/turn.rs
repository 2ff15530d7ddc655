//! The right to write. SQLite has one writer at a time; sessions of the lab queue for it here, in order and without
//! polling, before SQLite takes a snapshot: a writer that waited inside SQLite's lock methods would hold a stale one.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use plimsoll_clock::{Clock, Waiter};

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

    /// Waits until the turn is ours. Who asked first has it first.
    pub fn take(&self, clock: &dyn Clock) {
        let granted = {
            let mut queue = self.queue();
            if !queue.taken {
                queue.taken = true;
                return;
            }
            let granted = Arc::new(AtomicBool::new(false));
            queue.waiting.push_back((Arc::clone(&granted), clock.waiter()));
            granted
        };
        while !granted.load(Ordering::Acquire) {
            clock.park();
        }
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
