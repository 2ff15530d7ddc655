//! Virtual time: a cooperative scheduler over threads of the operating system.
//!
//! Exactly one thread on the clock runs; it has the *turn*. When it waits, the turn goes to the thread that waits for
//! the earliest moment (among equals: the one that was queued first), and the clock jumps there. So hours of a test
//! with many sessions pass as fast as their work can be done, and in the same order each time.

mod affinity;
mod registered;
mod schedule;
mod shared;

use std::sync::Arc;

use jiff::Timestamp;
use plimsoll_measurement::Moment;

use crate::handles::Wakes;
use crate::watchdog::Watchdog;
use crate::{Clock, Departure, Ticket, Waiter, Watch};
pub(crate) use schedule::Task;
pub(crate) use shared::{Shared, Voucher};

/// A clock that jumps from event to event. Its epoch is fixed, so timestamps are the same in every run.
///
/// `now`, `timestamp` and [`Waiter::wake`] may be called by any thread; a thread that waits must be on the clock.
#[derive(Debug)]
pub struct VirtualClock {
    shared: Arc<Shared>,
    watchdog: Option<Watchdog>,
}

impl VirtualClock {
    /// The calendar time of moment 0: 2015-01-31T00:00:00Z.
    pub const EPOCH: Timestamp = Timestamp::constant(1_422_662_400, 0);

    /// A clock at moment 0 with nobody on it.
    pub fn new() -> Self {
        Self { shared: Arc::default(), watchdog: None }
    }

    /// The same with a watchdog, which calls `on_stall` once, from a thread of its own. It passes a sentence that names
    /// the thread that has had the turn for seconds while it waits for something outside the clock. Linux only;
    /// elsewhere it sees nothing.
    pub fn with_watchdog(on_stall: Box<dyn Fn(&str) + Send + Sync>) -> Self {
        Self::with_watch(Watch::default(), on_stall)
    }

    /// The same with a watchdog that looks more or less often.
    pub fn with_watch(watch: Watch, on_stall: Box<dyn Fn(&str) + Send + Sync>) -> Self {
        Self { shared: Arc::default(), watchdog: Some(Watchdog::new(watch, on_stall)) }
    }

    #[track_caller]
    fn own_task(&self, wish: &str) -> Arc<Task> {
        let task = registered::task_on(&self.shared);
        task.unwrap_or_else(|| panic!("a thread that is not on the virtual clock wants to {wish}"))
    }
}

impl Default for VirtualClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> Moment {
        self.shared.now()
    }

    fn sleep_until(&self, moment: Moment) {
        let task = self.own_task("sleep");
        // Time stands still while the thread has the turn.
        if moment >= self.now() {
            self.shared.yield_turn(&task, |schedule| schedule.sleep_until(moment, task.number));
        }
    }

    fn timestamp(&self, moment: Moment) -> Timestamp {
        let nanos = Self::EPOCH.as_nanosecond() + i128::from(moment.as_nanos());
        Timestamp::from_nanosecond(nanos).unwrap_or(Timestamp::MAX)
    }

    fn kind(&self) -> &'static str {
        "virtual"
    }

    fn ticket(&self, name: &str) -> Ticket {
        Ticket(Some(Voucher::draw(&self.shared, name)))
    }

    fn register(&self, ticket: Ticket) {
        let voucher = ticket.0.filter(|voucher| Arc::ptr_eq(&voucher.clock, &self.shared));
        let voucher = voucher.expect("a ticket of another clock was shown to a virtual one");
        let present = registered::task_on(&self.shared);
        assert!(
            present.is_none(),
            "thread '{}' is on the clock already",
            present.map(|task| task.name.clone()).unwrap_or_default()
        );
        let Some(task) = voucher.take() else { return };
        if let Some(watchdog) = &self.watchdog {
            // Before the thread is pinned, or the watchdog would be too.
            watchdog.follow(&self.shared, &task);
        }
        let core = *self.shared.core.get_or_init(affinity::present_core);
        registered::add(self.shared.clone(), task.clone(), core);
        task.turn.wait();
    }

    fn leave(&self) {
        if let Some(task) = registered::remove(&self.shared) {
            self.shared.depart(task.number);
        }
    }

    fn waiter(&self) -> Waiter {
        Waiter(Wakes::Virtual { clock: self.shared.clone(), number: self.own_task("be woken").number })
    }

    fn park(&self) {
        let task = self.own_task("park");
        self.shared.rely_on_others(&task, |schedule| schedule.park(task.number));
    }

    fn await_departure(&self, departure: &Departure) {
        let Some((clock, of)) = &departure.0 else { return };
        assert!(Arc::ptr_eq(clock, &self.shared), "a departure from another clock was awaited on a virtual one");
        let Some(task) = registered::task_on(&self.shared) else { return };
        self.shared.rely_on_others(&task, |schedule| schedule.await_departure(*of, task.number));
    }
}
