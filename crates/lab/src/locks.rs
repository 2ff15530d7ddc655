//! Locks by key, as row locks are. Sessions wait in order and without polling ([`FairLock`]).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use plimsoll_clock::Clock;

use crate::fair_lock::FairLock;

/// The locks of a target that somebody has or waits for.
#[derive(Debug, Clone, Default)]
pub struct Locks(Arc<Mutex<BTreeMap<i64, Arc<FairLock>>>>);

/// A lock that is given back when this is dropped.
#[derive(Debug)]
pub struct Lock {
    pub key: i64,
    queue: Arc<FairLock>,
    locks: Locks,
}

impl Locks {
    /// Waits until the lock is ours, and says how long.
    pub fn take(&self, key: i64, clock: &dyn Clock) -> (Lock, Duration) {
        let lock = Arc::clone(self.0.lock().entry(key).or_default());
        let waited = lock.take(clock);
        (Lock { key, queue: lock, locks: self.clone() }, waited)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        self.queue.release();
        let mut held = self.locks.0.lock();
        // Ours and the map's own: nobody has it or waits for it.
        if Arc::strong_count(&self.queue) == 2 {
            held.remove(&self.key);
        }
    }
}
