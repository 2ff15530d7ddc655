//! Threads on a clock: started in order, ended with their results, and off the clock whatever becomes of them.

use std::any::Any;
use std::io;
use std::marker::PhantomData;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, Builder, JoinHandle};

use crate::{Clock, Departure, Ticket};

/// The calling thread is on the clock until this is dropped, be it by a panic.
#[derive(Debug)]
#[must_use = "dropped, it takes the thread off the clock"]
pub struct OnClock {
    clock: Arc<dyn Clock>,
    /// Belongs to one thread, which is the one that leaves.
    one_thread: PhantomData<*const ()>,
}

impl OnClock {
    fn register(clock: Arc<dyn Clock>, ticket: Ticket) -> Self {
        clock.register(ticket);
        Self { clock, one_thread: PhantomData }
    }
}

impl Drop for OnClock {
    fn drop(&mut self) {
        self.clock.leave();
    }
}

/// Puts the calling thread on the clock and waits for its turn.
pub fn enter(clock: &Arc<dyn Clock>, name: &str) -> OnClock {
    OnClock::register(clock.clone(), clock.ticket(name))
}

/// Runs every job in a thread of its own, all on the clock and started in order, and gives their results in order. A
/// job that panics, or that gets no thread, gives an `Err` with what it panicked with or the reason as a `String`. If one gets no
/// thread none is run, as others may wait for it.
///
/// The caller waits on the clock if it is on it, and outside otherwise. In virtual time no job starts before all are announced.
pub fn in_threads<T: Send, F: FnOnce() -> T + Send>(
    clock: &Arc<dyn Clock>,
    jobs: Vec<(String, F)>,
) -> Vec<thread::Result<T>> {
    in_threads_while(clock, jobs, || ())
}

/// The same, with something for the caller to do meanwhile, such as showing how far the others are.
pub fn in_threads_while<T: Send, F: FnOnce() -> T + Send>(
    clock: &Arc<dyn Clock>,
    jobs: Vec<(String, F)>,
    meanwhile: impl FnOnce(),
) -> Vec<thread::Result<T>> {
    // All tickets before the first thread, or an early thread would run ahead of those not yet announced.
    let announced: Vec<_> = jobs.into_iter().map(|(name, job)| (clock.ticket(&name), name, job)).collect();
    let gate = Gate::default();
    thread::scope(|scope| {
        let start = |(ticket, name, job): (Ticket, String, F)| {
            let (departure, gate) = (ticket.departure(), &gate);
            let work = move || {
                gate.passes().then(|| {
                    let _on_clock = OnClock::register(clock.clone(), ticket);
                    job()
                })
            };
            let thread = named(&name).spawn_scoped(scope, work);
            (departure, thread.map_err(|error| not_started(&name, &error)))
        };
        let started: Vec<_> = announced.into_iter().map(start).collect();
        let refused = started.iter().find_map(|(_, thread)| thread.as_ref().err()?.downcast_ref::<String>().cloned());
        gate.open(refused.is_none());
        if refused.is_none() {
            meanwhile();
        }
        let without = |refused: &Option<String>| Box::new(refused.clone().unwrap_or_default()) as Box<dyn Any + Send>;
        let finish = |(departure, thread): (Departure, thread::Result<thread::ScopedJoinHandle<'_, Option<T>>>)| {
            clock.await_departure(&departure);
            thread?.join()?.ok_or_else(|| without(&refused))
        };
        started.into_iter().map(finish).collect()
    })
}

/// Threads wait here until it is known whether all of them are there.
#[derive(Default)]
struct Gate(Mutex<Option<bool>>, Condvar);

impl Gate {
    fn open(&self, all: bool) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(all);
        self.1.notify_all();
    }

    fn passes(&self) -> bool {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match *open {
                Some(all) => return all,
                None => open = self.1.wait(open).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

/// Names are for people; the standard library panics at one that a C string can't hold.
fn named(name: &str) -> Builder {
    Builder::new().name(name.replace('\0', " "))
}

fn not_started(name: &str, error: &io::Error) -> Box<dyn Any + Send> {
    Box::new(format!("the thread '{name}' can't be started: {error}"))
}

/// A background thread on a clock. Dropped unjoined, it goes on by itself.
#[derive(Debug)]
pub struct Spawned {
    clock: Arc<dyn Clock>,
    departure: Departure,
    thread: JoinHandle<()>,
}

impl Spawned {
    /// Waits on the clock until the thread has left it, then joins it; a panic becomes an `Err`. The caller waits outside the
    /// clock if it isn't on it.
    pub fn join(self) -> thread::Result<()> {
        self.clock.await_departure(&self.departure);
        self.thread.join()
    }
}

/// Starts a background thread on the clock: it is announced now and runs when its turn comes.
pub fn spawn(clock: &Arc<dyn Clock>, name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<Spawned> {
    let ticket = clock.ticket(name);
    let departure = ticket.departure();
    let own = clock.clone();
    let on_clock = move || {
        let _on_clock = OnClock::register(own, ticket);
        work();
    };
    let thread = named(name).spawn(on_clock)?;
    Ok(Spawned { clock: clock.clone(), departure, thread })
}
