//! Which signal the program was sent, once it listens for them.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use plimsoll_measurement::exit;

/// After a signal a server is waited for so long in all, whatever is still to be done there: stopping, giving back, removing. And so long is
/// waited for whoever does not read what is said then.
pub const PATIENCE: Duration = Duration::from_secs(5);

static LISTENS: AtomicBool = AtomicBool::new(false);
static FIRST: OnceLock<(Instant, i32)> = OnceLock::new();
static AGAIN: AtomicBool = AtomicBool::new(false);

/// From now on signals do not end the program by themselves.
pub fn begin() {
    LISTENS.store(true, Ordering::SeqCst);
}

/// True if signals are listened for, so that they do not end the program by themselves.
pub fn listens() -> bool {
    LISTENS.load(Ordering::SeqCst)
}

/// Notes a signal. The first one counts, and after another one nobody is waited for.
pub fn note(signal: i32) {
    if FIRST.set((Instant::now(), signal)).is_err() {
        AGAIN.store(true, Ordering::SeqCst);
    }
}

/// True if the first signal came, and this began, so long ago that readers are not waited for any more, or if there was another signal.
pub fn is_past_patience(since: Instant) -> bool {
    AGAIN.load(Ordering::SeqCst) || FIRST.get().is_some_and(|(at, _)| at.max(&since).elapsed() >= PATIENCE)
}

/// The exit code by the first signal; `None` if there was none.
pub fn exit_code() -> Option<u8> {
    FIRST.get().map(|(_, signal)| exit::of_signal(*signal))
}
