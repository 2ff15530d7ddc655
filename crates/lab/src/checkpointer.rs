//! The checkpointer as sessions know it: they ask for a checkpoint, and one of them ends it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use plimsoll_clock::{Spawned, Waiter};

/// Frames of log at which a checkpoint begins, as SQLite's own `wal_autocheckpoint`.
const FRAMES: usize = 1000;

/// Fewest frames, however small the pool.
const FEWEST_FRAMES: usize = 64;

#[derive(Debug, Default)]
pub struct Orders {
    pub wanted: AtomicBool,
    pub stop: AtomicBool,
    /// Wakes the thread, once it runs.
    pub waiter: Mutex<Option<Waiter>>,
}

#[derive(Debug)]
pub struct Checkpointer {
    pub orders: Arc<Orders>,
    pub thread: Spawned,
}

/// How many frames may be in the log before a checkpoint begins. The log has to stay well below the pool, or its pages
/// would have to be read again to be copied.
pub fn threshold(pool_pages: Option<usize>) -> usize {
    pool_pages.map_or(FRAMES, |pages| (pages / 4).clamp(FEWEST_FRAMES, FRAMES))
}

/// Whether the next pass is the one that holds the writers up. It is if little came meanwhile, or so much that the log
/// must not grow any more, as on a data device that is slower than the log.
pub const fn is_last(begins_at: u64, came: u64, in_log: u64) -> bool {
    came <= begins_at / 8 || in_log >= 4 * begins_at
}

impl Checkpointer {
    pub fn request(&self) {
        if !self.orders.wanted.swap(true, Ordering::AcqRel) {
            self.orders.wake();
        }
    }

    /// Ends the thread and waits for it.
    pub fn stop(self) {
        self.orders.stop.store(true, Ordering::Release);
        self.orders.wake();
        // A panic in there has been reported where it happened; the log stays as it is.
        let _ = self.thread.join();
    }
}

impl Orders {
    fn wake(&self) {
        if let Some(waiter) = &*self.waiter.lock() {
            waiter.wake();
        }
    }
}
