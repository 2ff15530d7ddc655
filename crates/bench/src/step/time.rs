//! Time of a run, and whoever may end it early.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_clock::Clock;
use plimsoll_engine::Result;

use crate::interrupt::Interrupt;

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
}
