//! An end for work that takes too long, from a thread beside it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use plimsoll_engine::Cancel;

/// After a cancellation work has this long to end before its line is broken.
const GRACE: Duration = Duration::from_secs(3);

/// Does work and ends it after `limit` of real time, as far as `cancel` can. True says that it had to.
pub(super) fn within<T>(limit: Duration, cancel: Option<Arc<dyn Cancel>>, work: impl FnOnce() -> T) -> (T, bool) {
    watched(limit, GRACE, cancel, work)
}

fn watched<T>(
    limit: Duration,
    grace: Duration,
    cancel: Option<Arc<dyn Cancel>>,
    work: impl FnOnce() -> T,
) -> (T, bool) {
    let Some(cancel) = cancel else { return (work(), false) };
    let too_long = AtomicBool::new(false);
    let (done, is_done) = channel::<()>();
    let outcome = thread::scope(|scope| {
        let too_long = &too_long;
        let watch = move || {
            // Nothing is ever sent: the sender goes when the work is done.
            let is_late = |time| matches!(is_done.recv_timeout(time), Err(RecvTimeoutError::Timeout));
            if is_late(limit) {
                too_long.store(true, Ordering::SeqCst);
                cancel.cancel();
                if is_late(grace) {
                    cancel.sever();
                }
            }
        };
        // Without a thread for it the work takes as long as it takes.
        let _ = thread::Builder::new().name("patience".to_owned()).spawn_scoped(scope, watch);
        let outcome = work();
        drop(done);
        outcome
    });
    (outcome, too_long.into_inner())
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::mpsc::{Sender, channel};

    use super::*;

    /// Says what it is asked for.
    struct Told(Mutex<Sender<&'static str>>);

    impl Cancel for Told {
        fn cancel(&self) {
            self.0.lock().unwrap().send("cancel").unwrap();
        }
        fn sever(&self) {
            self.0.lock().unwrap().send("sever").unwrap();
        }
    }

    #[test]
    fn work_that_does_not_end_is_cancelled_and_then_cut_off() {
        let (sender, told) = channel();
        let cancel: Arc<dyn Cancel> = Arc::new(Told(Mutex::new(sender)));
        let now = Duration::ZERO;
        let both = || [told.recv().unwrap(), told.recv().unwrap()];
        assert_eq!(watched(now, now, Some(Arc::clone(&cancel)), both), (["cancel", "sever"], true));
        assert_eq!(within(Duration::from_hours(1), Some(cancel), || 7), (7, false));
        assert!(told.try_recv().is_err(), "what ends in time is left alone");
        assert_eq!(within(now, None, || 7), (7, false));
    }
}
