//! A lock that is granted in the order in which it was asked for, without polling. One is the writer lock: SQLite has one writer at a
//! time, and sessions of the lab queue here before SQLite takes a snapshot. A writer that waited inside SQLite would hold a stale one.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use plimsoll_clock::{Clock, Waiter};

#[derive(Debug)]
#[must_use = "dropped, it releases the lock"]
pub struct Guard<'a>(&'a FairLock);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.0.release();
    }
}

/// A place in the queue. A thread that panics there, because no thread is left to run, must not be given the lock.
struct Waiting<'a> {
    lock: &'a FairLock,
    granted: Arc<AtomicBool>,
    /// True when the lock was granted.
    is_left: bool,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if self.is_left {
            return;
        }
        let mut queue = self.lock.queue.lock();
        queue.waiting.retain(|(granted, _)| !Arc::ptr_eq(granted, &self.granted));
        drop(queue);
        if self.granted.load(Ordering::Acquire) {
            self.lock.release();
        }
    }
}

#[derive(Debug, Default)]
pub struct FairLock {
    queue: Mutex<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    taken: bool,
    waiting: VecDeque<(Arc<AtomicBool>, Waiter)>,
}

impl FairLock {
    /// Waits until the lock is ours, and returns how long that took. The first to ask is the first to get it.
    pub fn take(&self, clock: &dyn Clock) -> Duration {
        let mut waiting = {
            let mut queue = self.queue.lock();
            if !queue.taken {
                queue.taken = true;
                return Duration::ZERO;
            }
            let granted = Arc::new(AtomicBool::new(false));
            queue.waiting.push_back((Arc::clone(&granted), clock.waiter()));
            Waiting { lock: self, granted, is_left: false }
        };
        let start = clock.now();
        while !waiting.granted.load(Ordering::Acquire) {
            clock.park();
        }
        waiting.is_left = true;
        clock.now().since(start)
    }

    /// Waits until the lock is ours. The guard releases it when it is dropped, also by a panic.
    pub fn hold(&self, clock: &dyn Clock) -> Guard<'_> {
        self.take(clock);
        Guard(self)
    }

    /// Gives the lock to the next in the queue.
    pub fn release(&self) {
        let mut queue = self.queue.lock();
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
