//! What the driver may take of our memory for one thing that a server says. The driver keeps notices, errors and large values whole,
//! and it can't be told to stop. So it is watched from outside while it waits: it works in the thread that waits for it, and comes
//! back after some packets at the latest.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::panic::{self, AssertUnwindSafe};
use std::pin::pin;
use std::sync::Once;
use std::task::Poll;

use mssql_tds::core::TdsResult;
use mssql_tds::error::Error as DriverError;
use plimsoll_engine::process::resident_bytes;

/// Bytes by which we may grow meanwhile...
const MOST_GROWTH: u64 = 64 << 20;
/// ... once we have more than this.
const ALWAYS_ALLOWED: u64 = 128 << 20;
/// What is usual comes in fewer turns; from then on it is looked at our size every so many turns.
const TURNS: u32 = 4;

/// What is said of an answer that was too much.
pub(super) const TOO_MUCH: &str = "what the server says would take more memory than we give it";

/// Looks at what we take while something is waited for.
#[derive(Debug, Default)]
pub(super) struct Guard {
    turns: u32,
    before: Option<u64>,
}

impl Guard {
    /// One more turn; true if it is too much.
    pub(super) fn is_too_much(&mut self) -> bool {
        self.turns += 1;
        self.turns.is_multiple_of(TURNS) && self.has_grown(resident_bytes())
    }

    fn has_grown(&mut self, now: Option<u64>) -> bool {
        let Some(now) = now else { return false };
        let before = *self.before.get_or_insert(now);
        now > ALWAYS_ALLOWED && now.saturating_sub(before) > MOST_GROWTH
    }
}

/// Waits for something of the driver's, and no longer when it takes too much.
pub(super) async fn guarded<T>(work: impl Future<Output = TdsResult<T>>) -> TdsResult<T> {
    let (mut work, mut guard) = (pin!(work), Guard::default());
    poll_fn(move |context| {
        if let Poll::Ready(done) = work.as_mut().poll(context) {
            return Poll::Ready(done);
        }
        if guard.is_too_much() {
            return Poll::Ready(Err(DriverError::ConnectionClosed(TOO_MUCH.to_owned())));
        }
        Poll::Pending
    })
    .await
}

thread_local! {
    /// True while the driver works in this thread, and its panics are nobody's concern.
    static CONTAINED: Cell<bool> = const { Cell::new(false) };
}

/// Of a panic that is contained, nothing is printed.
static HOOK: Once = Once::new();

/// What is said of a message at which the driver panics.
pub(super) const UNREADABLE: &str = "the driver can't read what the server says";

/// Lets the driver work. There are messages at which it panics (0.3.0: a packet that is shorter than its own header): the connection is
/// then of no use, and the program goes on. `None` after a panic.
pub(super) fn contained<T>(work: impl FnOnce() -> T) -> Option<T> {
    HOOK.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if !CONTAINED.get() {
                usual(panic);
            }
        }));
    });
    let before = CONTAINED.replace(true);
    let done = panic::catch_unwind(AssertUnwindSafe(work));
    CONTAINED.set(before);
    done.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_of_the_driver_is_no_panic_of_ours() {
        assert_eq!(contained(|| 7), Some(7));
        assert_eq!(contained(|| panic!("as the driver does")), None::<u8>);
        assert!(!CONTAINED.get());
    }

    #[test]
    fn growth_counts_and_size_does_not() {
        let mut guard = Guard::default();
        assert!(!guard.has_grown(Some(1 << 30)) && !guard.has_grown(Some((1 << 30) + MOST_GROWTH)));
        assert!(guard.has_grown(Some((1 << 30) + MOST_GROWTH + 1)));
        let mut small = Guard::default();
        assert!(!small.has_grown(Some(1 << 20)) && !small.has_grown(Some(ALWAYS_ALLOWED)) && !small.has_grown(None));
    }
}
