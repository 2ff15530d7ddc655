//! Stopping a run from outside: Ctrl-C keeps what was measured and cleans up; nothing waits for a long statement.

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use plimsoll_engine::{Cancel, Error, ErrorKind, Result};

/// So many sessions are cancelled at the same time.
const AT_ONCE: usize = 32;

/// A request to stop, shared by those that may ask for it and those that have to listen.
#[derive(Clone, Default)]
pub struct Interrupt(Arc<Inner>);

#[derive(Default)]
struct Inner {
    signal: AtomicI32,
    shielded: AtomicBool,
    severed: AtomicBool,
    unheard: AtomicBool,
    hurried: AtomicBool,
    silent: AtomicBool,
    running: Mutex<Vec<(u64, Arc<dyn Cancel>)>>,
    next: std::sync::atomic::AtomicU64,
}

/// Forgets a session's handle when the session ends.
pub struct CancelGuard {
    inner: Arc<Inner>,
    id: u64,
}

impl Drop for CancelGuard {
    fn drop(&mut self) {
        let mut running = self.inner.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.retain(|(id, _)| *id != self.id);
    }
}

impl Interrupt {
    /// Asks to stop because of this signal. Statements that run end by [`Interrupt::cancel_running`].
    pub fn trigger(&self, signal: i32) {
        self.0.signal.store(signal, Ordering::SeqCst);
    }

    /// Cancels every watched session's statement after [`Interrupt::trigger`], unless cleaning has begun. A statement that
    /// starts between the check and the cancelling would be missed, so call it again until [`Interrupt::is_shielded`].
    pub fn cancel_running(&self) {
        if self.signal().is_none() || self.is_shielded() {
            return;
        }
        // A server that doesn't answer holds up each of them for seconds.
        for some in self.running().chunks(AT_ONCE) {
            std::thread::scope(|scope| some.iter().for_each(|cancel| drop(scope.spawn(|| cancel.cancel()))));
            if some.iter().any(|cancel| cancel.is_unheard()) {
                self.0.unheard.store(true, Ordering::SeqCst);
                return self.sever_running();
            }
        }
    }

    /// Breaks the lines of all watched sessions, for a server that doesn't answer any more.
    pub fn sever_running(&self) {
        self.0.severed.store(true, Ordering::SeqCst);
        self.running().iter().for_each(|cancel| cancel.sever());
    }

    /// Nothing at the target is waited for any more: lines are broken, and what was made there is left to a later `clean`.
    pub fn hurry(&self) {
        self.0.hurried.store(true, Ordering::SeqCst);
        self.sever_running();
    }

    /// Settles whether anything can still be done at the target after an interrupt: not if it didn't hear of that, does not
    /// answer, or is not to be waited for.
    pub fn settle_silence(&self, answers: impl FnOnce() -> bool) -> bool {
        let is = |past: &AtomicBool| past.load(Ordering::SeqCst);
        let doubtful = self.signal().is_some() || is(&self.0.severed);
        let silent = doubtful && (is(&self.0.hurried) || is(&self.0.unheard) || !answers());
        self.0.silent.store(silent, Ordering::SeqCst);
        silent
    }

    /// What [`Interrupt::settle_silence`] came to.
    pub fn is_silent(&self) -> bool {
        self.0.silent.load(Ordering::SeqCst)
    }

    fn running(&self) -> Vec<Arc<dyn Cancel>> {
        let running = self.0.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.iter().map(|(_, cancel)| Arc::clone(cancel)).collect()
    }

    /// The signal that asked to stop.
    pub fn signal(&self) -> Option<i32> {
        match self.0.signal.load(Ordering::SeqCst) {
            0 => None,
            signal => Some(signal),
        }
    }

    /// An error after a request to stop.
    pub fn check(&self) -> Result<()> {
        match self.signal() {
            None => Ok(()),
            Some(_) => Err(Error::new(ErrorKind::Cancelled, "the run was interrupted")),
        }
    }

    /// From now on nothing is cancelled any more: cleaning up has begun. [`Interrupt::unshield`] ends it.
    pub fn shield(&self) {
        self.0.shielded.store(true, Ordering::SeqCst);
    }

    /// Cleaning is over; the next run can be interrupted again.
    pub fn unshield(&self) {
        for past in [&self.0.shielded, &self.0.severed, &self.0.unheard, &self.0.silent] {
            past.store(false, Ordering::SeqCst);
        }
    }

    /// True while cleaning goes on.
    pub fn is_shielded(&self) -> bool {
        self.0.shielded.load(Ordering::SeqCst)
    }

    /// Cancels this session's statements too, until the guard is dropped.
    pub fn watch(&self, cancel: Arc<dyn Cancel>) -> CancelGuard {
        let id = self.0.next.fetch_add(1, Ordering::SeqCst);
        self.0.running.lock().unwrap_or_else(PoisonError::into_inner).push((id, cancel));
        CancelGuard { inner: Arc::clone(&self.0), id }
    }
}
