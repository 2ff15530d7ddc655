//! A station: equal servers with one queue, first come, first served. The CPU of the server model is one.
//!
//! It counts what the operational laws are about: the time its servers are busy (utilisation law, U = X S / c) and the customers in it
//! (Little's law, L = X W), each integrated exactly.

use std::collections::VecDeque;

use crate::events::Nanos;

/// A station with customers of type `C`.
#[derive(Debug, Clone)]
pub struct Station<C> {
    servers: u32,
    busy: u32,
    queue: VecDeque<(C, Nanos)>,
    since: Nanos,
    busy_ns: u128,
    present_ns: u128,
}

impl<C: Copy> Station<C> {
    /// An empty one.
    pub const fn new(servers: u32) -> Self {
        Self { servers, busy: 0, queue: VecDeque::new(), since: 0, busy_ns: 0, present_ns: 0 }
    }

    /// A customer comes. True if a server takes it at once; else it waits.
    pub fn arrive(&mut self, now: Nanos, customer: C) -> bool {
        self.pass(now);
        if self.busy < self.servers {
            self.busy += 1;
            return true;
        }
        self.queue.push_back((customer, now));
        false
    }

    /// A server is done. The customer that it takes next, with the time for which that one waited.
    pub fn depart(&mut self, now: Nanos) -> Option<(C, Nanos)> {
        self.pass(now);
        let next = self.queue.pop_front();
        if next.is_none() {
            self.busy -= 1;
        }
        next.map(|(customer, came)| (customer, now - came))
    }

    /// Forgets what was counted before `now`.
    pub fn restart(&mut self, now: Nanos) {
        self.pass(now);
        (self.busy_ns, self.present_ns) = (0, 0);
    }

    /// Server time that was used since the start of counting, in nanoseconds: at most servers x time.
    pub fn busy_ns(&mut self, now: Nanos) -> u128 {
        self.pass(now);
        self.busy_ns
    }

    /// Customers in the station, integrated over time, in nanoseconds.
    pub fn present_ns(&mut self, now: Nanos) -> u128 {
        self.pass(now);
        self.present_ns
    }

    fn pass(&mut self, now: Nanos) {
        let span = u128::from(now - self.since);
        self.busy_ns += span * u128::from(self.busy);
        self.present_ns += span * (u128::from(self.busy) + self.queue.len() as u128);
        self.since = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: two servers, three customers at 0, the first leaves at 10, the others at 20 and 30.
    #[test]
    fn what_is_counted_by_hand() {
        let mut station = Station::new(2);
        assert!(station.arrive(0, 'a') && station.arrive(0, 'b') && !station.arrive(0, 'c'));
        assert_eq!(station.depart(10), Some(('c', 10)));
        assert_eq!(station.depart(20), None);
        assert_eq!(station.depart(30), None);
        // Busy: 2 x 20 + 1 x 10; present: 3 x 10 + 2 x 10 + 1 x 10.
        assert_eq!((station.busy_ns(40), station.present_ns(40)), (50, 60));
        station.restart(40);
        assert_eq!((station.busy_ns(50), station.present_ns(50)), (0, 0));
    }
}
