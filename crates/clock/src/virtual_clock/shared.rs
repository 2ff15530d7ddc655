//! What the clock, its tickets, its waiters and its threads share: the schedule under one lock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use plimsoll_measurement::Moment;

use super::schedule::{Schedule, Task};

/// The schedule, and the present moment beside it for whoever only wants to know the time.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    now: AtomicU64,
    schedule: Mutex<Schedule>,
    /// The core that the first thread registered on.
    pub(super) core: OnceLock<usize>,
}

impl Shared {
    pub(super) fn now(&self) -> Moment {
        Moment::from_nanos(self.now.load(Ordering::Acquire))
    }

    /// Nobody waits or is called under the lock: on one core the called thread would run straight into it.
    pub(crate) fn with<T>(&self, act: impl FnOnce(&mut Schedule) -> T) -> T {
        let mut schedule = self.schedule.lock().unwrap_or_else(PoisonError::into_inner);
        let result = act(&mut schedule);
        self.now.store(schedule.now.as_nanos(), Ordering::Release);
        result
    }

    /// A change of the schedule by a thread with the turn; if it moves the turn, the thread waits until it comes back.
    pub(super) fn yield_turn(&self, task: &Task, act: impl FnOnce(&mut Schedule) -> Option<Arc<Task>>) {
        if let Some(next) = self.with(act) {
            next.turn.raise();
            task.turn.wait();
        }
    }

    /// The same by a thread that waits for others, which may all be gone.
    ///
    /// # Panics
    /// If no thread is left that could have called this one.
    pub(super) fn rely_on_others(&self, task: &Task, act: impl FnOnce(&mut Schedule) -> Option<Arc<Task>>) {
        self.yield_turn(task, act);
        let abandoned = self.with(|schedule| schedule.abandoned(task.number));
        assert!(abandoned.is_none(), "{}", abandoned.unwrap_or_default());
    }

    /// A thread leaves, or its ticket is given up.
    pub(super) fn depart(&self, number: u64) {
        if let Some(next) = self.with(|schedule| schedule.depart(number)) {
            next.turn.raise();
        }
    }
}

/// What a ticket holds: a task that is queued for, until it is taken or the voucher is dropped.
#[derive(Debug)]
pub(crate) struct Voucher {
    pub(crate) clock: Arc<Shared>,
    task: Option<Arc<Task>>,
    pub(crate) number: u64,
}

impl Voucher {
    /// Queues a new thread for the present moment; if nobody has the turn, it is that thread's.
    pub(super) fn draw(clock: &Arc<Shared>, name: &str) -> Self {
        let (task, next) = clock.with(|schedule| schedule.announce(name));
        if let Some(next) = next {
            next.turn.raise();
        }
        Self { clock: clock.clone(), number: task.number, task: Some(task) }
    }

    /// Takes the task. Its thread must also leave it.
    pub(super) fn take(mut self) -> Option<Arc<Task>> {
        self.task.take()
    }
}

impl Drop for Voucher {
    fn drop(&mut self) {
        if let Some(task) = self.task.take() {
            self.clock.depart(task.number);
        }
    }
}
