//! The machine's own time.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use plimsoll_measurement::Moment;

use crate::handles::Wakes;
use crate::signal::Signal;
use crate::{Clock, Departure, Ticket, Waiter};

thread_local! {
    /// The calling thread's own permit; real time is one, so all real clocks share it.
    static PERMIT: Arc<Signal> = Arc::default();

    /// Made when a thread first waits for a moment. From then on the system wakes it as promptly as it can, and not up
    /// to 50 us later, by which it saves itself wake-ups.
    static PROMPT: () = wake_promptly();
}

#[cfg(target_os = "linux")]
fn wake_promptly() {
    // Where that is refused, requests on a schedule begin a little later, and say so themselves.
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
}

#[cfg(not(target_os = "linux"))]
fn wake_promptly() {}

/// The machine's own time: monotonic, with the calendar time of its start. Threads run as the system lets them, so
/// registering and leaving do nothing. A thread has one permit to pass [`park`](Clock::park), whichever real clock it asks.
#[derive(Debug)]
pub struct RealClock {
    start: Instant,
    epoch_nanos: i128,
}

impl RealClock {
    /// A clock with the present moment as its epoch.
    #[expect(clippy::new_without_default, reason = "reading the wall clock is nothing to do by default")]
    pub fn new() -> Self {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        Self { start: Instant::now(), epoch_nanos: since_1970.as_nanos() as i128 }
    }
}

impl Clock for RealClock {
    fn now(&self) -> Moment {
        Moment::from_nanos(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    fn sleep_until(&self, moment: Moment) {
        let wait = moment.since(self.now());
        if !wait.is_zero() {
            PROMPT.with(|()| ());
            std::thread::sleep(wait);
        }
    }

    fn timestamp(&self, moment: Moment) -> Timestamp {
        let nanos = self.epoch_nanos + i128::from(moment.as_nanos());
        Timestamp::from_nanosecond(nanos).unwrap_or(Timestamp::MAX)
    }

    fn kind(&self) -> &'static str {
        "real"
    }

    fn ticket(&self, _name: &str) -> Ticket {
        Ticket::default()
    }

    fn register(&self, ticket: Ticket) {
        assert!(ticket.0.is_none(), "a ticket of a virtual clock was shown to a real one");
    }

    fn leave(&self) {}

    fn waiter(&self) -> Waiter {
        Waiter(Wakes::Real(PERMIT.with(Arc::clone)))
    }

    fn park(&self) {
        PERMIT.with(|permit| permit.wait());
    }

    fn await_departure(&self, _departure: &Departure) {}
}

/// True if this machine's clock tells a date that identifiers and records can have: from 1970 on, and with four digits.
pub fn machine_has_a_date() -> bool {
    has_a_date(SystemTime::now())
}

fn has_a_date(now: SystemTime) -> bool {
    // A little less than that, as leap days come on top.
    const LAST: Duration = Duration::from_hours(24 * 365 * (9999 - 1970));
    now.duration_since(UNIX_EPOCH).is_ok_and(|since| since < LAST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::windowed;

    #[test]
    fn the_past_needs_no_waiting_and_time_moves_on() {
        let clock = RealClock::new();
        let start = clock.now();
        clock.sleep_until(Moment::default());
        let ((), window) = windowed(&clock, || clock.sleep(Duration::from_millis(1)));
        assert!(window.start >= start && window.end.since(window.start) >= Duration::from_millis(1));
        let day = clock.timestamp(start.after(Duration::from_hours(24)));
        assert_eq!(day.as_second() - clock.timestamp(start).as_second(), 86_400);
    }

    #[test]
    fn a_clock_that_no_record_can_tell_has_no_date() {
        let second = Duration::from_secs(1);
        assert!(machine_has_a_date() && has_a_date(UNIX_EPOCH) && !has_a_date(UNIX_EPOCH - second));
        assert!(!has_a_date(UNIX_EPOCH + Duration::from_hours(24 * 366 * (9999 - 1970))));
    }
}
