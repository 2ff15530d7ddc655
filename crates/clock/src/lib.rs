//! Time as a parameter: whoever measures asks a [`Clock`], so that a test may run in real or in virtual time.

use std::fmt::Debug;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use plimsoll_measurement::{Moment, Window};

/// A source of time. Moments of one clock must not be compared with those of another.
pub trait Clock: Debug + Send + Sync {
    /// The present moment; never goes backwards.
    fn now(&self) -> Moment;

    /// Waits until `moment` has come.
    fn sleep_until(&self, moment: Moment);

    /// The calendar time of a moment, in UTC.
    fn timestamp(&self, moment: Moment) -> Timestamp;

    /// `real` or `virtual`, as the run record says it.
    fn kind(&self) -> &'static str;

    /// Waits for this long.
    fn sleep(&self, wait: Duration) {
        self.sleep_until(self.now().after(wait));
    }
}

/// Runs `work` and says in which window it ran.
pub fn windowed<T>(clock: &dyn Clock, work: impl FnOnce() -> T) -> (T, Window) {
    let start = clock.now();
    let value = work();
    (value, Window { start, end: clock.now() })
}

/// The machine's own time: monotonic, with the calendar time of its start.
#[derive(Debug)]
pub struct RealClock {
    start: Instant,
    epoch_nanos: i128,
}

impl RealClock {
    /// A clock whose epoch is now.
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
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
