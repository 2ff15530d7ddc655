//! Time of a run, and requests to end it early.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_clock::Clock;
use plimsoll_engine::Result;

use crate::interrupt::Interrupt;

/// Looks until something stands still, at most, and the time between them.
const MOST_LOOKS: u32 = 10;
const LOOK_PAUSE: Duration = Duration::from_millis(200);

/// The clock of a run, and requests to stop.
#[derive(Clone, Copy)]
pub struct Time<'a> {
    /// Time.
    pub clock: &'a Arc<dyn Clock>,
    /// Requests to stop.
    pub interrupt: &'a Interrupt,
    /// How long to wait between provisioning and measuring.
    pub settle: Duration,
}

impl Time<'_> {
    /// True if seconds take no time.
    pub fn is_virtual(&self) -> bool {
        self.clock.kind() == "virtual"
    }

    /// Waits, in steps, so that an interrupt ends it.
    pub fn wait(&self, wait: Duration) -> Result<()> {
        let end = self.clock.now().after(wait);
        while self.clock.now() < end {
            self.interrupt.check()?;
            let step = end.since(self.clock.now()).min(Duration::from_millis(200));
            self.clock.sleep(step);
        }
        Ok(())
    }

    /// Looks until two looks in a row see the same: a server's statistics of sessions that have ended may come late.
    pub(crate) fn until_still<T: PartialEq>(&self, mut look: impl FnMut() -> Result<T>) -> Result<T> {
        let mut last = look()?;
        for _ in 0..MOST_LOOKS {
            self.wait(LOOK_PAUSE)?;
            let now = look()?;
            if now == last {
                break;
            }
            last = now;
        }
        Ok(last)
    }
}
