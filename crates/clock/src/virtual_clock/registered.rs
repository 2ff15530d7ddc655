//! The virtual clocks that the calling thread is on: almost always none or one.

use std::cell::RefCell;
use std::sync::Arc;

use super::affinity::{self, Affinity};
use super::schedule::Task;
use super::shared::Shared;

thread_local! {
    static REGISTERED: RefCell<Registered> = RefCell::default();
}

#[derive(Default)]
struct Registered {
    tasks: Vec<(Arc<Shared>, Arc<Task>)>,
    /// Where the thread ran before it registered with the first.
    affinity: Option<Affinity>,
}

/// A thread that ends without having left does so now.
impl Drop for Registered {
    fn drop(&mut self) {
        for (clock, task) in self.tasks.drain(..) {
            clock.depart(task.number);
        }
    }
}

/// The calling thread's task on a clock.
pub(super) fn task_on(clock: &Arc<Shared>) -> Option<Arc<Task>> {
    let find = |registered: &RefCell<Registered>| {
        let registered = registered.borrow();
        registered.tasks.iter().find(|(other, _)| Arc::ptr_eq(other, clock)).map(|(_, task)| task.clone())
    };
    // A thread that is ending has none any more.
    REGISTERED.try_with(find).ok().flatten()
}

/// Notes the calling thread's task and pins it to a core.
pub(super) fn add(clock: Arc<Shared>, task: Arc<Task>, core: usize) {
    REGISTERED.with_borrow_mut(|registered| {
        let before = affinity::pin(core);
        if registered.tasks.is_empty() {
            registered.affinity = before;
        }
        registered.tasks.push((clock, task));
    });
}

/// Forgets the calling thread's task on a clock and gives it; after the last, the thread may run where it did before.
pub(super) fn remove(clock: &Arc<Shared>) -> Option<Arc<Task>> {
    let take = |registered: &RefCell<Registered>| {
        let mut registered = registered.borrow_mut();
        let at = registered.tasks.iter().position(|(other, _)| Arc::ptr_eq(other, clock))?;
        let (_, task) = registered.tasks.remove(at);
        if registered.tasks.is_empty()
            && let Some(before) = registered.affinity.take()
        {
            affinity::restore(&before);
        }
        Some(task)
    };
    REGISTERED.try_with(take).ok().flatten()
}
