//! The event loop: what is due next, in a total order of time and sequence.
//!
//! A binary heap of the standard library holds the events. Two events of the same nanosecond come in the order in which they were
//! planned, so a run does not depend on how the heap is built. Radix and calendar queues win only with ten thousand events pending;
//! a server with a thousand sessions has fewer.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// A time since the start of a simulation, in nanoseconds.
pub type Nanos = u64;

/// Nanoseconds in a second.
pub const SECOND: Nanos = 1_000_000_000;

#[derive(Debug, Clone, Copy)]
struct Planned<E> {
    /// Time above, sequence below: one comparison decides.
    key: u128,
    event: E,
}

impl<E> PartialEq for Planned<E> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl<E> Eq for Planned<E> {}

impl<E> PartialOrd for Planned<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The heap gives the largest first, and the earliest is wanted.
impl<E> Ord for Planned<E> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.key.cmp(&self.key)
    }
}

/// Events that are planned, and the time up to which they were handled.
#[derive(Debug, Clone)]
pub struct Events<E> {
    planned: BinaryHeap<Planned<E>>,
    now: Nanos,
    sequence: u64,
    handled: u64,
}

impl<E> Default for Events<E> {
    fn default() -> Self {
        Self { planned: BinaryHeap::new(), now: 0, sequence: 0, handled: 0 }
    }
}

impl<E: Copy> Events<E> {
    /// The time of the event that was taken last.
    pub const fn now(&self) -> Nanos {
        self.now
    }

    /// How many events were taken.
    pub const fn handled(&self) -> u64 {
        self.handled
    }

    /// Plans an event. One in the past is due at once.
    pub fn plan(&mut self, at: Nanos, event: E) {
        let at = at.max(self.now);
        self.planned.push(Planned { key: u128::from(at) << 64 | u128::from(self.sequence), event });
        self.sequence += 1;
    }

    /// Plans an event so much later than now.
    pub fn plan_in(&mut self, wait: Nanos, event: E) {
        self.plan(self.now.saturating_add(wait), event);
    }

    /// Takes the next event that is due before `end`; `None` where there is none, and then it is `end`.
    pub fn next_before(&mut self, end: Nanos) -> Option<E> {
        let at = self.planned.peek().map(|first| (first.key >> 64) as Nanos).filter(|at| *at < end);
        let Some(at) = at else {
            self.now = self.now.max(end);
            return None;
        };
        self.now = at;
        self.handled += 1;
        self.planned.pop().map(|first| first.event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The order must not depend on the heap: a sorted list is the plainest queue there is.
    #[test]
    fn a_sorted_list_gives_the_same_events_in_the_same_order() {
        let mut events = Events::default();
        let mut list: Vec<(Nanos, u64, u32)> = Vec::new();
        let mut state = 7_u64;
        for number in 0..5_000_u32 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // Few different times, so that many events fall on the same one.
            let at = events.now() + (state >> 60);
            events.plan(at, number);
            list.push((at, u64::from(number), number));
            if number % 3 == 0 {
                list.sort_unstable();
                assert_eq!(events.next_before(Nanos::MAX), Some(list.remove(0).2));
            }
        }
        list.sort_unstable();
        for (at, _, number) in list {
            assert_eq!((events.next_before(Nanos::MAX), events.now()), (Some(number), at));
        }
        assert_eq!(events.handled(), 5_000);
    }

    #[test]
    fn time_ends_where_it_is_told_and_never_goes_back() {
        let mut events = Events::default();
        events.plan(10, 'a');
        assert_eq!((events.next_before(10), events.now()), (None, 10));
        events.plan(3, 'b');
        assert_eq!((events.next_before(11), events.now()), (Some('a'), 10));
        assert_eq!((events.next_before(11), events.now()), (Some('b'), 10));
    }
}
