//! What a clock hands out: a ticket to register with it, a handle to wake a thread, a handle to see that one has left.

use std::sync::Arc;

use crate::signal::Signal;
use crate::virtual_clock::{Shared, Voucher};

/// A place on a clock for a thread that is about to register with it. Dropped unused, it gives the place up.
#[derive(Debug, Default)]
#[must_use = "virtual time stands still until the ticket is used or dropped"]
pub struct Ticket(pub(crate) Option<Voucher>);

impl Ticket {
    /// A handle by which others wait until the ticket's thread has left the clock ([`Clock::await_departure`]).
    ///
    /// [`Clock::await_departure`]: crate::Clock::await_departure
    pub fn departure(&self) -> Departure {
        Departure(self.0.as_ref().map(|voucher| (voucher.clock.clone(), voucher.number)))
    }
}

/// Stands for the moment at which one thread leaves its virtual clock, by its number there.
#[derive(Debug, Clone)]
pub struct Departure(pub(crate) Option<(Arc<Shared>, u64)>);

/// Wakes one thread from [`Clock::park`](crate::Clock::park); may be used by any thread, as often as it likes.
#[derive(Debug, Clone)]
pub struct Waiter(pub(crate) Wakes);

#[derive(Debug, Clone)]
pub(crate) enum Wakes {
    Real(Arc<Signal>),
    Virtual { clock: Arc<Shared>, number: u64 },
}

impl Waiter {
    /// Lets the thread go on: in virtual time at the present moment, after the threads that wait for it already. If the
    /// thread is not parked, its next park returns at once; several wakes before that count as one. One that has left
    /// is not disturbed.
    pub fn wake(&self) {
        match &self.0 {
            Wakes::Real(permit) => permit.raise(),
            Wakes::Virtual { clock, number } => clock.with(|schedule| schedule.wake(*number)),
        }
    }
}
