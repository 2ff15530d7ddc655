//! The virtual clocks that the calling thread is on: almost always none or one.

use std::cell::RefCell;
use std::sync::Arc;

use super::affinity::{self, Affinity};
use super::schedule::Seat;
use super::shared::Shared;

thread_local! {
    static BOARDED: RefCell<Boarded> = RefCell::default();
}

#[derive(Default)]
struct Boarded {
    seats: Vec<(Arc<Shared>, Arc<Seat>)>,
    /// Where the thread ran before it boarded the first.
    affinity: Option<Affinity>,
}

/// A thread that ends without having left does so now.
impl Drop for Boarded {
    fn drop(&mut self) {
        for (clock, seat) in self.seats.drain(..) {
            clock.depart(seat.number);
        }
    }
}

/// The calling thread's seat on a clock.
pub(super) fn seat_on(clock: &Arc<Shared>) -> Option<Arc<Seat>> {
    let find = |boarded: &RefCell<Boarded>| {
        let boarded = boarded.borrow();
        boarded.seats.iter().find(|(other, _)| Arc::ptr_eq(other, clock)).map(|(_, seat)| seat.clone())
    };
    // A thread that is ending has none any more.
    BOARDED.try_with(find).ok().flatten()
}

/// Notes the calling thread's seat and pins it to a core.
pub(super) fn add(clock: Arc<Shared>, seat: Arc<Seat>, core: usize) {
    BOARDED.with_borrow_mut(|boarded| {
        let before = affinity::pin(core);
        if boarded.seats.is_empty() {
            boarded.affinity = before;
        }
        boarded.seats.push((clock, seat));
    });
}

/// Forgets the calling thread's seat on a clock and gives it; after the last, the thread may run where it did before.
pub(super) fn remove(clock: &Arc<Shared>) -> Option<Arc<Seat>> {
    let take = |boarded: &RefCell<Boarded>| {
        let mut boarded = boarded.borrow_mut();
        let at = boarded.seats.iter().position(|(other, _)| Arc::ptr_eq(other, clock))?;
        let (_, seat) = boarded.seats.remove(at);
        if boarded.seats.is_empty()
            && let Some(before) = boarded.affinity.take()
        {
            affinity::restore(&before);
        }
        Some(seat)
    };
    BOARDED.try_with(take).ok().flatten()
}
