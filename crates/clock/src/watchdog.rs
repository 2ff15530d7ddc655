//! Sees from outside when a thread holds the turn of a virtual clock but waits for something that isn't the clock: then nothing
//! will ever move again. It looks in real time and only tells; the run is never influenced by it.

use std::fmt;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, OnceLock, Weak};
use std::thread::Builder;
use std::time::Duration;

use crate::virtual_clock::{Shared, Task};

/// How often the watchdog looks and how long it bears what it sees, in real time.
#[derive(Debug, Clone, Copy)]
pub struct Watch {
    /// Time between two looks.
    pub every: Duration,
    /// A stall is reported when this many looks in a row saw it.
    pub looks: u32,
}

/// Five seconds: longer than any lock of a library is held, shorter than a user waits.
impl Default for Watch {
    fn default() -> Self {
        Self { every: Duration::from_millis(250), looks: 20 }
    }
}

type OnStall = dyn Fn(&str) + Send + Sync;

/// Watches over one clock, from the first registration until the clock is dropped.
pub(crate) struct Watchdog {
    watch: Watch,
    on_stall: Arc<OnStall>,
    /// Its end tells the thread that the clock is gone; `None` if the thread can't be started.
    leash: OnceLock<Option<Sender<()>>>,
}

impl Watchdog {
    pub(crate) fn new(watch: Watch, on_stall: Box<OnStall>) -> Self {
        Self { watch, on_stall: Arc::from(on_stall), leash: OnceLock::new() }
    }

    /// To be called by a thread that registers; the first starts the watching.
    pub(crate) fn follow(&self, clock: &Arc<Shared>, task: &Task) {
        task.thread_id.get_or_init(system::thread_id);
        self.leash.get_or_init(|| {
            let (leash, held) = mpsc::channel();
            let (clock, watch, on_stall) = (Arc::downgrade(clock), self.watch, self.on_stall.clone());
            let look = move || {
                let mut sight = Sight::default();
                while held.recv_timeout(watch.every) == Err(RecvTimeoutError::Timeout) {
                    if let Some(name) = sight.look(&clock, watch.looks) {
                        on_stall(&format!(
                            "thread '{name}' holds the turn of the virtual clock but waits for something outside it"
                        ));
                        break;
                    }
                }
            };
            Builder::new().name("clock watchdog".to_owned()).spawn(look).is_ok().then_some(leash)
        });
    }
}

impl fmt::Debug for Watchdog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Watchdog({:?})", self.watch)
    }
}

/// What was seen so far.
#[derive(Default)]
struct Sight {
    turn: u64,
    stalled: u32,
}

impl Sight {
    /// Looks at the clock; gives the thread's name if its turn has stalled in so many looks in a row.
    fn look(&mut self, clock: &Weak<Shared>, looks: u32) -> Option<String> {
        let (turn, task) = clock.upgrade()?.with(|schedule| {
            let (turn, task) = schedule.turn();
            (turn, task.cloned())
        });
        let task = task?;
        // Who was called and hasn't come yet waits for a core.
        let waits = !task.turn.is_raised() && task.thread_id.get().is_some_and(|id| system::waits_on_futex(*id));
        (self.note(turn, waits) >= looks).then(|| task.name.clone())
    }

    /// How many looks in a row saw this turn, with its thread waiting.
    fn note(&mut self, turn: u64, waits: bool) -> u32 {
        let before = if turn == self.turn { self.stalled } else { 0 };
        self.turn = turn;
        self.stalled = if waits { before + 1 } else { 0 };
        self.stalled
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::fs;

    /// The number of the system call `futex`, which is behind locks, channels, joins and `park` alike (Linux, `syscall_64.tbl`
    /// and the generic `unistd.h`).
    const FUTEX: Option<&str> = if cfg!(target_arch = "x86_64") {
        Some("202")
    } else if cfg!(any(target_arch = "aarch64", target_arch = "riscv64", target_arch = "loongarch64")) {
        Some("98")
    } else {
        None
    };

    pub(super) fn thread_id() -> i32 {
        rustix::thread::gettid().as_raw_nonzero().get()
    }

    /// Whether a thread of this process sleeps in the system call `futex` (proc(5): `syscall` begins with its number, `stat`
    /// has the state after the name in brackets).
    pub(super) fn waits_on_futex(thread: i32) -> bool {
        let read = |what: &str| fs::read_to_string(format!("/proc/self/task/{thread}/{what}")).unwrap_or_default();
        let sleeps = || read("stat").rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('S'));
        FUTEX.is_some_and(|futex| read("syscall").split(' ').next() == Some(futex)) && sleeps()
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    pub(super) fn thread_id() -> i32 {
        0
    }

    pub(super) fn waits_on_futex(_thread: i32) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_unbroken_wait_within_one_turn_counts() {
        let mut sight = Sight::default();
        let seen = [(3, true), (3, true), (3, false), (3, true), (3, true), (4, true), (5, false), (5, true)];
        let stalled: Vec<u32> = seen.into_iter().map(|(turn, waits)| sight.note(turn, waits)).collect();
        assert_eq!(stalled, [1, 2, 0, 1, 2, 1, 0, 1]);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_thread_that_runs_waits_for_nothing() {
        assert!(!system::waits_on_futex(system::thread_id()));
        assert!(!system::waits_on_futex(-1));
    }
}
