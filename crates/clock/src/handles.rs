//! What a clock hands out: a ticket to register with it, a handle to wake a thread, a handle to see that one has left.

use std::fmt;
use std::sync::Arc;

use crate::signal::Signal;
use crate::virtual_clock::{Shared, Voucher};

/// A place on a clock for a thread that is about to register with it. Dropped unused, it gives the place up.
#[derive(Default)]
#[must_use = "virtual time stands still until the ticket is used or dropped"]
pub struct Ticket(Option<Voucher>);

impl Ticket {
    pub(crate) fn to_virtual(voucher: Voucher) -> Self {
        Self(Some(voucher))
    }

    pub(crate) fn is_real(&self) -> bool {
        self.0.is_none()
    }

    /// What a virtual clock made of it.
    pub(crate) fn into_voucher(self) -> Option<Voucher> {
        self.0
    }

    /// A handle by which others wait until the ticket's thread has left the clock ([`Clock::await_departure`]).
    ///
    /// [`Clock::await_departure`]: crate::Clock::await_departure
    pub fn departure(&self) -> Departure {
        Departure(self.0.as_ref().map(|voucher| (voucher.clock().clone(), voucher.number())))
    }
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            None => f.write_str("Ticket(real)"),
            Some(voucher) => write!(f, "Ticket(virtual, {})", voucher.number()),
        }
    }
}

/// Stands for the moment at which one thread leaves its clock.
#[derive(Clone)]
pub struct Departure(Option<(Arc<Shared>, u64)>);

impl Departure {
    /// The thread's virtual clock, and its number there.
    pub(crate) fn on_virtual(&self) -> Option<(&Arc<Shared>, u64)> {
        self.0.as_ref().map(|(clock, number)| (clock, *number))
    }
}

impl fmt::Debug for Departure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => f.write_str("Departure(real)"),
            Some((_, number)) => write!(f, "Departure(virtual, {number})"),
        }
    }
}

/// Wakes one thread from [`Clock::park`](crate::Clock::park); may be used by any thread, as often as it likes.
#[derive(Clone)]
pub struct Waiter(Wakes);

#[derive(Clone)]
enum Wakes {
    Real(Arc<Signal>),
    Virtual { clock: Arc<Shared>, number: u64 },
}

impl Waiter {
    pub(crate) fn real(permit: Arc<Signal>) -> Self {
        Self(Wakes::Real(permit))
    }

    pub(crate) fn on_virtual(clock: Arc<Shared>, number: u64) -> Self {
        Self(Wakes::Virtual { clock, number })
    }

    /// Lets the thread go on: in virtual time at the present moment, after the threads that wait for it already. If the
    /// thread is not parked, its next park returns at once; several wakes before that count as one. One that has left
    /// is not disturbed.
    pub fn wake(&self) {
        match &self.0 {
            Wakes::Real(permit) => permit.raise(),
            Wakes::Virtual { clock, number } => clock.wake(*number),
        }
    }
}

impl fmt::Debug for Waiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Wakes::Real(_) => f.write_str("Waiter(real)"),
            Wakes::Virtual { number, .. } => write!(f, "Waiter(virtual, {number})"),
        }
    }
}
