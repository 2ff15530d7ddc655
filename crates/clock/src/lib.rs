//! Time as a parameter: whoever measures asks a [`Clock`], so that a test may run in real or in virtual time.
//!
//! In virtual time the threads of a test take turns: exactly one of those *on the clock* runs, and when it waits, the
//! clock jumps to whoever is next ([`VirtualClock`]). Hence a rule for all code that may run there. A thread on the
//! clock waits for another by the clock alone ([`Clock::park`], [`in_threads`], [`Spawned::join`]), never by a lock
//! that is held over a wait, a channel or a join. File I/O is fine and takes no virtual time. On the [`RealClock`] the
//! same calls are what they seem.

pub mod cpu;
mod handles;
mod real;
mod signal;
mod threads;
mod virtual_clock;
mod watchdog;

use std::fmt::Debug;
use std::time::Duration;

use jiff::Timestamp;
use plimsoll_measurement::{Moment, Window};

pub use handles::{Departure, Ticket, Waiter};
pub use real::{RealClock, machine_has_a_date};
pub use threads::{OnClock, Spawned, enter, in_threads, in_threads_while, spawn};
pub use virtual_clock::VirtualClock;
pub use watchdog::Watch;

/// A source of time. Moments of one clock must not be compared with those of another.
pub trait Clock: Debug + Send + Sync {
    /// The present moment; never goes backwards.
    fn now(&self) -> Moment;

    /// Waits until `moment` has come; returns at once if it has passed.
    ///
    /// # Panics
    /// In virtual time, if the calling thread is not on the clock.
    fn sleep_until(&self, moment: Moment);

    /// The calendar time of a moment, in UTC.
    fn timestamp(&self, moment: Moment) -> Timestamp;

    /// `real` or `virtual`, as the run record says it.
    fn kind(&self) -> &'static str;

    /// Waits for this long. In virtual time, waiting for no time at all lets the threads that wait for the present
    /// moment go first.
    fn sleep(&self, wait: Duration) {
        self.sleep_until(self.now().after(wait));
    }

    /// Announces a thread: from now on it counts as waiting for the present moment, in the order of the tickets, and
    /// virtual time stands still until it has registered. A ticket that is dropped instead gives its place up.
    fn ticket(&self, name: &str) -> Ticket;

    /// Puts the calling thread on the clock: waits for its turn. In virtual time it is pinned to one core from then on, as
    /// all threads on the clock are, and so is every thread that it starts meanwhile.
    ///
    /// # Panics
    /// If the ticket is another clock's, or if the thread is on this virtual clock already.
    fn register(&self, ticket: Ticket);

    /// Takes the calling thread off the clock and hands the turn on. Does nothing to a thread that is not on it.
    fn leave(&self);

    /// A handle by which another thread wakes the calling one from [`park`](Self::park).
    ///
    /// # Panics
    /// In virtual time, if the calling thread is not on the clock.
    fn waiter(&self) -> Waiter;

    /// Waits until woken through a [`Waiter`], which takes no time of itself. A wake that came before is remembered, once.
    ///
    /// # Panics
    /// In virtual time, if the calling thread is not on the clock, or if no thread that could wake it is left to run.
    /// Then all parked threads panic in turn, with a message that names them.
    fn park(&self);

    /// Waits on the clock until a thread has left it, or its ticket was dropped. In real time, and for a thread that is not on the
    /// clock, this returns at once; joining the thread is then the way to wait.
    fn await_departure(&self, departure: &Departure);
}

/// Runs `work` and says in which window it ran.
pub fn windowed<T>(clock: &dyn Clock, work: impl FnOnce() -> T) -> (T, Window) {
    let start = clock.now();
    let value = work();
    (value, Window { start, end: clock.now() })
}
