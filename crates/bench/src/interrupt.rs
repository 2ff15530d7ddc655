//! Stopping a run from outside: Ctrl-C keeps what was measured and cleans up; nothing waits for a long statement.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

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
    silent: AtomicBool,
    hurried: AtomicBool,
    over: AtomicBool,
    holds: AtomicUsize,
    owed: Mutex<Option<String>>,
    running: Mutex<Vec<(u64, Arc<dyn Cancel>)>>,
    next: std::sync::atomic::AtomicU64,
}

/// Forgets a session's handle when the session ends.
pub struct CancelGuard {
    inner: Arc<Inner>,
    id: u64,
}

/// What goes on is not to be cut short by [`Interrupt::hurry`] before this falls.
pub struct Hold(Arc<Inner>);

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.holds.fetch_sub(1, Ordering::SeqCst);
    }
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
            std::thread::scope(|scope| {
                for cancel in some {
                    // Without a thread for it one is told after the other.
                    if std::thread::Builder::new().spawn_scoped(scope, || cancel.cancel()).is_err() {
                        cancel.cancel();
                    }
                }
            });
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

    /// All that is still done at the target may take so long together: ending requests, giving back, removing. With nothing left
    /// lines are broken and no more are made, and what is there is left to a later `clean`. To be called again as time goes.
    pub fn hurry(&self, left: Duration) {
        if left.is_zero() {
            self.0.over.store(true, Ordering::SeqCst);
            self.0.severed.store(true, Ordering::SeqCst);
        }
        self.running().iter().for_each(|cancel| cancel.hurry(left));
    }

    /// Nothing is waited for any more, be it a server or not: what was made is left to a later `clean`.
    pub fn give_up(&self) {
        self.0.hurried.store(true, Ordering::SeqCst);
        self.hurry(Duration::ZERO);
    }

    /// True once there is no time left to wait for a server.
    pub fn is_over(&self) -> bool {
        self.0.over.load(Ordering::SeqCst)
    }

    /// What must not be left half done begins: until the hold falls, the time that is left does not pass.
    #[must_use]
    pub fn hold(&self) -> Hold {
        self.0.holds.fetch_add(1, Ordering::SeqCst);
        Hold(Arc::clone(&self.0))
    }

    /// True while something holds.
    pub fn is_held(&self) -> bool {
        self.0.holds.load(Ordering::SeqCst) > 0
    }

    /// What has to be said, and by which command it is removed, if the program ends before what it makes is removed.
    pub fn owe(&self, words: Option<String>) {
        *self.0.owed.lock().unwrap_or_else(PoisonError::into_inner) = words;
    }

    /// What [`Interrupt::owe`] was told last.
    pub fn owed(&self) -> Option<String> {
        self.0.owed.lock().unwrap_or_else(PoisonError::into_inner).clone()
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

    /// What [`Interrupt::settle_silence`] came to, unless nothing is waited for any more since.
    pub fn is_silent(&self) -> bool {
        self.0.silent.load(Ordering::SeqCst) || self.0.hurried.load(Ordering::SeqCst)
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

    /// From now on nothing is cancelled any more: cleaning up has begun, and has what is left of the time. [`Interrupt::unshield`] ends it.
    pub fn shield(&self) {
        self.0.shielded.store(true, Ordering::SeqCst);
    }

    /// Cleaning is over; the next run can be interrupted again.
    pub fn unshield(&self) {
        let Inner { shielded, severed, unheard, silent, over, .. } = &*self.0;
        for past in [shielded, severed, unheard, silent, over] {
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
        let late = Arc::clone(&cancel);
        self.0.running.lock().unwrap_or_else(PoisonError::into_inner).push((id, cancel));
        if self.is_over() {
            late.hurry(Duration::ZERO);
        }
        CancelGuard { inner: Arc::clone(&self.0), id }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Told(Mutex<Vec<Duration>>);

    impl Cancel for Told {
        fn cancel(&self) {}

        fn hurry(&self, left: Duration) {
            self.0.lock().unwrap().push(left);
        }
    }

    #[test]
    fn cleaning_has_the_time_that_is_left_and_no_more() {
        let interrupt = Interrupt::default();
        let (early, late) = (Arc::new(Told::default()), Arc::new(Told::default()));
        let _early = interrupt.watch(Arc::<Told>::clone(&early));
        interrupt.trigger(2);
        interrupt.hurry(Duration::from_secs(5));
        assert!(!interrupt.settle_silence(|| true) && !interrupt.is_silent());
        interrupt.shield();
        interrupt.hurry(Duration::ZERO);
        // What has no lines that were broken is still there.
        assert!(interrupt.is_over() && !interrupt.settle_silence(|| true) && interrupt.settle_silence(|| false));
        // Who comes too late is told at once.
        let _late = interrupt.watch(Arc::<Told>::clone(&late));
        assert_eq!(*early.0.lock().unwrap(), [Duration::from_secs(5), Duration::ZERO]);
        assert_eq!(*late.0.lock().unwrap(), [Duration::ZERO]);
    }

    #[test]
    fn who_gives_up_waits_for_nothing() {
        let interrupt = Interrupt::default();
        interrupt.trigger(2);
        assert!(!interrupt.settle_silence(|| true));
        interrupt.give_up();
        assert!(interrupt.is_over() && interrupt.is_silent() && interrupt.settle_silence(|| true));
    }

    #[test]
    fn what_holds_is_known_until_the_last_hold_falls() {
        let interrupt = Interrupt::default();
        let holds = [interrupt.hold(), interrupt.hold()];
        for hold in holds {
            assert!(interrupt.is_held());
            drop(hold);
        }
        assert!(!interrupt.is_held());
    }
}
