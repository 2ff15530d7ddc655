//! Trying again what a server refuses for a while.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use plimsoll_clock::Clock;
use plimsoll_engine::{Check, Error, Result};

/// Pauses before each new try. Microsoft advises five seconds at first, then always twice as many; and a serverless database takes
/// about a minute to wake (azure/azure-sql/database/troubleshoot-common-errors-issues and serverless-tier-overview).
const PAUSES: [Duration; 4] =
    [Duration::from_secs(5), Duration::from_secs(10), Duration::from_secs(20), Duration::from_secs(40)];
/// How often it is looked during a pause whether the wait is to end.
const LOOK_EVERY: Duration = Duration::from_millis(200);

#[derive(Clone)]
pub(super) struct Patience {
    pub(super) clock: Arc<dyn Clock>,
    /// Ends a pause.
    pub(super) check: Check,
    /// False where the caller tries again by itself.
    pub(super) is_there: bool,
    /// Set when all pauses were of no use, until something works: what is tried meanwhile, such as to clean up, does not wait as
    /// long once more.
    pub(super) is_over: Arc<AtomicBool>,
}

impl Patience {
    /// Does something, and again after a pause as long as its error passes by itself, is one of these, and not too much time has gone.
    pub(super) fn again<T>(&self, these: fn(&Error) -> bool, mut work: impl FnMut() -> Result<T>) -> Result<T> {
        let mut pauses = PAUSES.iter();
        loop {
            let error = match work() {
                Err(error) if self.is_there && these(&error) => error,
                Err(error) => return Err(error),
                Ok(done) => {
                    self.is_over.store(false, Ordering::Relaxed);
                    return Ok(done);
                }
            };
            let Some(least) = error.retry_after.filter(|_| !self.is_over.load(Ordering::Relaxed)) else {
                return Err(error);
            };
            let Some(pause) = pauses.next() else {
                self.is_over.store(true, Ordering::Relaxed);
                return Err(error);
            };
            tracing::info!(%error, "trying again after a pause");
            let end = self.clock.now().after(least.max(*pause));
            while self.clock.now() < end {
                self.check.ask()?;
                self.clock.sleep_until(end.min(self.clock.now().after(LOOK_EVERY)));
            }
        }
    }
}
