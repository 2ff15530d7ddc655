//! What the running statement of this thread has done and must wait for. A statement installs its [`Work`] when it
//! begins and takes it back at its end. File operations outside of a statement find none and cost nothing: opening a
//! file, reading the schema, loading data that a real service would restore.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use plimsoll_measurement::Moment;

use crate::locks::Lock;
use crate::pool::PageOf;
use crate::waits::Waits;
use crate::wal::Frame;

/// The account of a session's statements.
#[derive(Debug, Default)]
pub struct Work {
    /// Pages that were read from a device for the session, those read ahead included.
    pub pages_read: u64,
    /// Pages that were read, with their CPU time not charged yet.
    pub uncharged_pages: u64,
    /// Steps of the virtual machine that are charged already, of the running statement.
    pub charged_steps: u64,
    /// Steps of the running statement that are not charged yet.
    pub owed_steps: u64,
    /// Since when the session computes without having paid for it.
    pub computing_since: Moment,
    /// `pages_read` when the running statement began.
    pub pages_before: u64,
    pub log_bytes: u64,
    /// CPU time charged, in nanoseconds.
    pub cpu_nanos: u64,
    /// What the session may not report before this moment: log that is not yet durable.
    pub durable: Moment,
    /// How much of the wait for the log is the rate governor's.
    pub throttled_nanos: u64,
    /// Time that statements waited, by reason, without the running one.
    pub waits: Waits,
    /// Time that the running statement has waited.
    pub new_waits: Waits,
    /// True for the checkpointer: it copies what is in memory, in whatever version, and counts as no use of a page.
    pub copies: bool,
    /// True while the session may not wait because it holds up all writers: what it books is due at `due`.
    pub hurried: bool,
    /// When everything that was booked without waiting is done.
    pub due: Moment,
    /// Pages of a checkpoint that go to the device together: the first, and how many.
    pub run: Option<(u32, u32)>,
    /// Locks that the transaction has, in ascending order of their keys.
    pub locks: Vec<Lock>,
    /// True while the right to write is the session's.
    pub may_write: bool,
    pub cancelled: Arc<AtomicBool>,
}

thread_local! {
    static CURRENT: RefCell<Option<Box<Work>>> = const { RefCell::new(None) };
    static LAST_FRAME: Cell<Option<(u32, Frame)>> = const { Cell::new(None) };
    static PANIC: RefCell<Option<Box<dyn Any + Send>>> = const { RefCell::new(None) };
}

/// Charges this thread's file operations to `work` from now on.
pub fn install(work: Box<Work>) {
    CURRENT.with(|current| *current.borrow_mut() = Some(work));
}

/// Ends charging and gives the account back.
pub fn take() -> Option<Box<Work>> {
    CURRENT.with(|current| current.borrow_mut().take())
}

/// Calls `action` with the account of the running statement, if one runs.
pub fn with<T>(action: impl FnOnce(&mut Work) -> T) -> Option<T> {
    CURRENT.with(|current| current.borrow_mut().as_deref_mut().map(action))
}

/// Whether a statement runs.
pub fn is_on() -> bool {
    with(|_| ()).is_some()
}

/// Notes that a frame of a file's log was read: a checkpoint writes its page into the file next.
pub fn frame_read(file: u32, frame: Frame) {
    LAST_FRAME.set(Some((file, frame)));
}

/// The frame that a checkpoint now writes to the page; `None` if the last frame read was another.
pub fn frame_of(of: PageOf) -> Option<Frame> {
    LAST_FRAME.take().filter(|(file, frame)| *file == of.file && frame.page == of.page).map(|(_, frame)| frame)
}

/// Runs a callback that SQLite calls. A panic must not unwind through SQLite: it is kept and `None` returned, and
/// [`continue_panic`] goes on with it as soon as SQLite has returned.
pub fn guard<T>(callback: impl FnOnce() -> T) -> Option<T> {
    match catch_unwind(AssertUnwindSafe(callback)) {
        Ok(value) => Some(value),
        Err(payload) => {
            PANIC.with(|panic| {
                panic.borrow_mut().get_or_insert(payload);
            });
            None
        }
    }
}

/// Goes on with a panic that a callback had.
pub fn continue_panic() {
    if let Some(payload) = PANIC.with(|panic| panic.borrow_mut().take()) {
        resume_unwind(payload);
    }
}
