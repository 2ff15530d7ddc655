//! One core for all threads on a clock: a hand-over is then a switch on that core and not a message to another, which takes
//! less than half the time. Where the system refuses or doesn't know it, threads run where they would have.

pub(super) use system::{Affinity, pin, present_core, restore};

#[cfg(target_os = "linux")]
mod system {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

    /// The cores that a thread may run on.
    pub type Affinity = CpuSet;

    pub fn present_core() -> usize {
        sched_getcpu()
    }

    /// Pins the calling thread to a core; gives what it was allowed before, if that can be told and so be restored.
    pub fn pin(core: usize) -> Option<Affinity> {
        let before = sched_getaffinity(None).ok()?;
        let mut one = CpuSet::new();
        if core < CpuSet::MAX_CPU {
            one.set(core);
            // A core that the thread may not use: it stays where it is.
            let _ = sched_setaffinity(None, &one);
        }
        Some(before)
    }

    /// Gives the calling thread back what it had.
    pub fn restore(before: &Affinity) {
        // Nothing to be done about a refusal: the thread stays on the one core.
        let _ = sched_setaffinity(None, before);
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    /// Nothing is known of cores here.
    pub type Affinity = ();

    pub fn present_core() -> usize {
        0
    }

    pub fn pin(_core: usize) -> Option<Affinity> {
        None
    }

    pub fn restore((): &Affinity) {}
}
