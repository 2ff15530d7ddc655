//! One thread waits, others let it go on: a flag over `std::thread::park`, which is one futex per thread and never spins.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Thread};

/// A remembered "go on" for one thread. Wake-ups of `std::thread::park` that came from elsewhere do not pass.
#[derive(Debug, Default)]
pub(crate) struct Signal {
    raised: AtomicBool,
    owner: OnceLock<Thread>,
}

impl Signal {
    /// Lets the owner go on, now or when it next waits. What this thread did before is visible to the owner after.
    ///
    /// No wake-up is lost while the owner is not known yet: both sides swap the flag, so one of the two comes second. If that is
    /// the owner, it finds the flag raised; if it is this thread, it has seen the owner's swap and so finds the owner set.
    pub(crate) fn raise(&self) {
        self.raised.swap(true, Ordering::AcqRel);
        if let Some(owner) = self.owner.get() {
            owner.unpark();
        }
    }

    /// Waits until raised and takes the flag down. The first to wait is the owner; nobody else may.
    pub(crate) fn wait(&self) {
        self.owner.get_or_init(thread::current);
        while !self.raised.swap(false, Ordering::AcqRel) {
            thread::park();
        }
    }

    /// Whether the owner was told to go on and hasn't yet taken note.
    pub(crate) fn is_raised(&self) -> bool {
        self.raised.load(Ordering::Acquire)
    }
}
