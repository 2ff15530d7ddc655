//! Cancelling from another thread: whoever cancels when nothing runs does no harm to what comes next.

use std::sync::{Arc, Mutex, PoisonError};

use mssql_tds::core::CancelHandle;

use crate::database::Cancel;

/// How long a server may take to confirm that it has stopped; after that the connection is given up.
pub(super) const SETTLE_SECONDS: u32 = 5;

/// What stands between those who cancel and the one who runs.
#[derive(Debug, Default)]
pub(super) struct Canceller(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Kept from statement to statement until it has been used: one that was cancelled stays so.
    handle: Option<Arc<CancelHandle>>,
    is_running: bool,
    is_cancelled: bool,
}

impl Canceller {
    /// A statement begins; this handle cancels it.
    pub(super) fn begin(&self) -> Arc<CancelHandle> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
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
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.is_running = false;
        state.is_cancelled
    }

    /// True if somebody has cancelled what runs.
    pub(super) fn is_cancelled(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_cancelled
    }
}

impl Cancel for Canceller {
    fn cancel(&self) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let (true, Some(handle)) = (state.is_running, state.handle.clone()) {
            state.is_cancelled = true;
            drop(state);
            handle.cancel();
        }
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
