//! The generic cell rate algorithm (ITU-T I.371, annex A), virtual scheduling: one time instead of tokens that drip.
//!
//! A plain bucket keeps the time at which everything booked so far is through; `n` units booked at `now` move it to
//! `max(now, that time) + n / rate`, and that is when they are through. With credit `C` the booked work may run ahead:
//! units are through at the first time `e` with `booked <= C + (what the rate let through since the credit was full)`.
//!
//! Work is counted in thousandths of a unit times picoseconds, so that `rate x time` and `units x 10^15` are both
//! integers. Nothing is rounded from one booking to the next, and `n` bookings of `b` bytes are through at exactly `n b
//! / rate`. The rate may change with time; a booking over a change is spread over both sides exactly.
//!
//! Left out: priorities and reordering. A booking cannot be taken back.

use crate::neighbour::Timeline;
use crate::time::Ps;

/// One unit as work: 1000 thousandths times 10^12 picoseconds a second.
const UNIT: u128 = 1_000_000_000_000_000;

#[derive(Debug, Clone)]
pub(crate) struct Bucket {
    timeline: Timeline,
    /// Work that may run ahead.
    credit: u128,
    /// Work booked and not yet let through, seen from `at`; beyond the credit only by less than a picosecond's worth.
    used: u128,
    /// The time of this state. May lie in the future: the bucket is busy until then.
    at: Ps,
}

impl Bucket {
    /// A bucket with full credit, given in units; without credit it is a plain rate.
    pub(crate) fn new(timeline: Timeline, credit: u64) -> Self {
        Self { timeline, credit: u128::from(credit) * UNIT, used: 0, at: 0 }
    }

    /// Books `units` at `now`; when the last of them is through. Never before `now`.
    pub(crate) fn book(&mut self, now: Ps, units: u64) -> Ps {
        self.let_through(now);
        self.used += u128::from(units) * UNIT;
        while self.used > self.credit {
            let (rate, until) = self.timeline.at(self.at);
            let rate = u128::from(rate);
            let over = self.used - self.credit;
            let (wait, left) = (over / rate, until - self.at);
            if wait < left {
                self.at += wait;
                self.used -= wait * rate;
                break;
            }
            self.at = until;
            if until == Ps::MAX {
                // The end of time: nothing more will ever be through.
                self.used = self.credit;
                break;
            }
            self.used -= left * rate;
        }
        self.end()
    }

    /// When all that was booked is through and the next booking's transfer can start; `now` if that is over.
    pub(crate) fn free_at(&self, now: Ps) -> Ps {
        self.end().max(now)
    }

    /// What `units` take at the present rate without credit.
    pub(crate) fn cost(&self, units: u64) -> Ps {
        u128::from(units) * UNIT / u128::from(self.timeline.rate())
    }

    /// Starts at `now` instead of time 0, with full credit.
    pub(crate) fn skip_to(&mut self, now: Ps) {
        self.let_through(now);
    }

    /// The backlog of another bucket, as if it had been booked here.
    pub(crate) fn take_over(&mut self, other: &Self) {
        self.at = self.at.max(other.end());
        self.used = other.used.min(self.credit);
        self.timeline.at(self.at);
    }

    fn end(&self) -> Ps {
        self.at.saturating_add(Ps::from(self.used > self.credit))
    }

    /// Moves on to `now`, if that is later, letting booked work through.
    fn let_through(&mut self, now: Ps) {
        while self.at < now {
            let (rate, until) = self.timeline.at(self.at);
            let to = now.min(until);
            self.used = self.used.saturating_sub((to - self.at).saturating_mul(u128::from(rate)));
            self.at = to;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::PS_PER_SECOND;
    use crate::{Neighbour, Rate};
    use proptest::prelude::*;
    use std::time::Duration;

    fn timeline(units: f64) -> Timeline {
        Timeline::new(Rate::per_second(units).unwrap(), None, 0)
    }

    #[test]
    fn a_million_bookings_are_through_at_n_b_over_rate_exactly() {
        // 838,860.8 and 7 divide nothing evenly, so any rounding on the way would show.
        for (rate, bytes) in [(838_860.8, 4_096_u64), (7.0, 1), (3e9, 65_537)] {
            let mut bucket = Bucket::new(timeline(rate), 0);
            let milli = u128::from(Rate::per_second(rate).unwrap().as_milli());
            for n in 1..=1_000_000_u128 {
                assert_eq!(bucket.book(0, bytes), (n * u128::from(bytes) * UNIT).div_ceil(milli));
            }
        }
    }

    #[test]
    fn an_idle_bucket_saves_nothing() {
        let mut bucket = Bucket::new(timeline(10.0), 0);
        assert_eq!(bucket.book(0, 10), PS_PER_SECOND);
        assert_eq!(bucket.book(100 * PS_PER_SECOND, 10), 101 * PS_PER_SECOND);
        assert_eq!(bucket.free_at(0), 101 * PS_PER_SECOND);
    }

    #[test]
    fn credit_goes_first_then_the_rate_and_it_comes_back() {
        // 10 units a second and a credit of 100.
        let mut bucket = Bucket::new(timeline(10.0), 100);
        assert_eq!(bucket.book(0, 100), 0);
        assert_eq!(bucket.book(0, 10), PS_PER_SECOND);
        // Four seconds without use save 40 units.
        assert_eq!(bucket.book(5 * PS_PER_SECOND, 50), 6 * PS_PER_SECOND);
        // No more than the credit is ever saved.
        assert_eq!(bucket.book(1_000 * PS_PER_SECOND, 110), 1_001 * PS_PER_SECOND);
    }

    /// The integral of the rate over the timeline, segment by segment.
    fn work(neighbour: &Neighbour, rate: f64, until: Ps) -> u128 {
        let mut timeline = Timeline::new(Rate::per_second(rate).unwrap(), Some(neighbour), 9);
        let (mut at, mut work) = (0, 0);
        while at < until {
            let (rate, end) = timeline.at(at);
            work += (end.min(until) - at) * u128::from(rate);
            at = end;
        }
        work
    }

    #[test]
    fn bookings_over_a_switch_are_spread_over_both_rates() {
        let neighbour = Neighbour::TwoState { rates: [0.25, 1.0], dwell: [Duration::from_secs(1); 2] };
        let mut bucket = Bucket::new(Timeline::new(Rate::per_second(997.0).unwrap(), Some(&neighbour), 9), 0);
        for n in 1..=5_000_u128 {
            let end = bucket.book(0, 13);
            let need = n * 13 * UNIT;
            assert!(work(&neighbour, 997.0, end) >= need && work(&neighbour, 997.0, end - 1) < need, "booking {n}");
        }
    }

    #[test]
    fn credit_comes_back_at_the_rates_there_were() {
        let neighbour = Neighbour::TwoState { rates: [0.25, 1.0], dwell: [Duration::from_secs(1); 2] };
        let mut bucket = Bucket::new(Timeline::new(Rate::per_second(100.0).unwrap(), Some(&neighbour), 9), 1_000_000);
        assert_eq!(bucket.book(0, 1_000_000), 0);
        // An hour at both rates saves what they let through, and not a unit more can be had at once.
        let hour = 3_600 * PS_PER_SECOND;
        let saved = u64::try_from(work(&neighbour, 100.0, hour) / UNIT).unwrap();
        assert!((100_000..350_000).contains(&saved), "{saved}");
        assert_eq!(bucket.book(hour, saved), hour);
        assert!(bucket.book(hour, 2) > hour);
    }

    proptest! {
        /// No prefix of the bookings exceeds credit + rate x time, and nothing is through before it was asked for.
        #[test]
        fn never_faster_than_the_limit(
            bookings in prop::collection::vec((0_u64..3_000_000_000, 0_u64..100_000), 1..200),
            milli in 1_u64..1_000_000_000_000,
            credit in 0_u64..200_000,
        ) {
            let rate = Rate::from_milli(milli).unwrap();
            let mut bucket = Bucket::new(Timeline::new(rate, None, 0), credit);
            let (mut now, mut units) = (0, 0_u128);
            for (wait, count) in bookings {
                now += Ps::from(wait) * 1000;
                units += u128::from(count);
                let end = bucket.book(now, count);
                prop_assert!(end >= now);
                prop_assert!(units * UNIT <= u128::from(credit) * UNIT + end * u128::from(milli));
            }
        }

        #[test]
        fn the_largest_numbers_neither_panic_nor_go_backwards(
            bookings in prop::collection::vec(any::<u64>(), 1..50),
            milli in 1_u64..1 << 60,
            credit in any::<u64>(),
        ) {
            let mut bucket = Bucket::new(Timeline::new(Rate::from_milli(milli).unwrap(), None, 0), credit);
            let mut last = 0;
            for units in bookings {
                let end = bucket.book(Ps::from(units), units);
                prop_assert!(end >= last);
                last = end;
            }
        }
    }
}
