//! Cancelling from another thread: to cancel when nothing runs does no harm to what comes next.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

use mssql_tds::core::CancelHandle;
use plimsoll_engine::database::Cancel;

use super::guard::Guard;

/// How long a server may take to confirm that it has stopped; after that the connection is given up.
pub(super) const SETTLE_SECONDS: u32 = 5;

/// What stands between the threads that cancel and the one that runs.
#[derive(Debug, Default)]
pub(super) struct Canceller(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Kept from statement to statement until it has been used: one that was cancelled stays so.
    handle: Option<Arc<CancelHandle>>,
    is_running: bool,
    is_cancelled: bool,
    /// Once and for ever: nobody waits for this connection any more.
    is_severed: bool,
    /// Wakes the thread that waits.
    waker: Option<Waker>,
}

/// Why something on the line was not waited for any longer. The connection is of no use then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Abandoned {
    /// Somebody broke the line from our side.
    Severed,
    /// It was cancelled, and did not end.
    Cancelled,
    /// Its time was over, and it did not end.
    TimedOut,
    /// It would have taken too much memory.
    TooMuch,
    /// The driver could not read it.
    Unreadable,
}

impl Canceller {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A statement begins; this handle cancels it.
    pub(super) fn begin(&self) -> Arc<CancelHandle> {
        let mut state = self.state();
        if state.is_cancelled {
            state.handle = None;
        }
        (state.is_running, state.is_cancelled) = (true, false);
        Arc::clone(state.handle.get_or_insert_with(|| {
            let mut handle = CancelHandle::new();
            handle.set_cancel_timeout_secs(SETTLE_SECONDS);
            Arc::new(handle)
        }))
    }

    /// The statement has ended; true if somebody cancelled it.
    pub(super) fn end(&self) -> bool {
        let mut state = self.state();
        (state.is_running, state.waker) = (false, None);
        state.is_cancelled
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.state().is_cancelled
    }

    pub(super) fn is_severed(&self) -> bool {
        self.state().is_severed
    }

    /// Waits for something on the line, but not for ever. It waits until somebody severs the line, or some seconds
    /// after it was cancelled or its time (0: as long as it takes) was over. The driver gives up by itself where it
    /// waits for an answer; where it can't send it doesn't.
    /// Nor does it wait for what would take too much memory.
    pub(super) async fn patiently<T>(&self, timeout_s: u32, work: impl Future<Output = T>) -> Result<T, Abandoned> {
        self.waiting(timeout_s, work, Some(Guard::default())).await
    }

    /// The same for what guards itself.
    pub(super) async fn patiently_unguarded<T>(
        &self,
        timeout_s: u32,
        work: impl Future<Output = T>,
    ) -> Result<T, Abandoned> {
        self.waiting(timeout_s, work, None).await
    }

    async fn waiting<T>(
        &self,
        timeout_s: u32,
        work: impl Future<Output = T>,
        mut guard: Option<Guard>,
    ) -> Result<T, Abandoned> {
        let mut work = pin!(work);
        let settle = Duration::from_secs(SETTLE_SECONDS.into());
        let timer = |patience| Box::pin(tokio::time::sleep(patience));
        let mut deadline = (timeout_s > 0).then(|| timer(settle + Duration::from_secs(timeout_s.into())));
        let mut settling = None;
        poll_fn(move |context| {
            if let Poll::Ready(done) = work.as_mut().poll(context) {
                return Poll::Ready(Ok(done));
            }
            if guard.as_mut().is_some_and(Guard::is_too_much) {
                return Poll::Ready(Err(Abandoned::TooMuch));
            }
            let mut state = self.state();
            match &mut state.waker {
                Some(waker) => waker.clone_from(context.waker()),
                none => *none = Some(context.waker().clone()),
            }
            if state.is_severed {
                return Poll::Ready(Err(Abandoned::Severed));
            }
            if state.is_cancelled && settling.is_none() {
                settling = Some(timer(settle));
            }
            drop(state);
            for (timer, why) in [(&mut settling, Abandoned::Cancelled), (&mut deadline, Abandoned::TimedOut)] {
                if timer.as_mut().is_some_and(|timer| timer.as_mut().poll(context).is_ready()) {
                    return Poll::Ready(Err(why));
                }
            }
            Poll::Pending
        })
        .await
    }
}

impl Cancel for Canceller {
    fn cancel(&self) {
        let mut state = self.state();
        if let (true, Some(handle)) = (state.is_running, state.handle.clone()) {
            state.is_cancelled = true;
            let waker = state.waker.clone();
            drop(state);
            handle.cancel();
            waker.inspect(Waker::wake_by_ref);
        }
    }

    /// The thread that works on the connection, now or later, learns that it is broken, and closes it.
    fn sever(&self) {
        let mut state = self.state();
        state.is_severed = true;
        let waker = state.waker.clone();
        drop(state);
        waker.inspect(Waker::wake_by_ref);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_runs_is_cancelled() {
        let canceller = Canceller::default();
        canceller.cancel();
        let first = canceller.begin();
        assert!(!canceller.is_cancelled());
        canceller.cancel();
        assert!(canceller.end());
        canceller.cancel();
        let second = canceller.begin();
        assert!(!Arc::ptr_eq(&first, &second) && !canceller.is_cancelled());
        assert!(!canceller.end());
        assert!(Arc::ptr_eq(&second, &canceller.begin()));
    }
}
