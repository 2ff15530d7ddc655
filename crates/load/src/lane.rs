//! A lane: so many slots that operations are submitted to and complete in. A session that blocks is a lane of one slot.
//! An event loop, a ring of I/Os and a modelled device are others, with many operations under way on one thread.

use std::ops::AddAssign;
use std::time::Duration;

use plimsoll_measurement::Moment;

/// What an operation that completed moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Amount {
    /// Rows that the target looked at for it, as far as the operation says.
    pub rows_examined: u64,
    /// Rows that came back or were changed.
    pub rows: u64,
    /// Their data content.
    pub content_bytes: u64,
}

impl AddAssign for Amount {
    fn add_assign(&mut self, more: Self) {
        self.rows_examined += more.rows_examined;
        self.rows += more.rows;
        self.content_bytes += more.content_bytes;
    }
}

impl Amount {
    /// What was added since an earlier look.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            rows_examined: self.rows_examined - earlier.rows_examined,
            rows: self.rows - earlier.rows,
            content_bytes: self.content_bytes - earlier.content_bytes,
        }
    }
}

/// How an operation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It was answered.
    Answered(Amount),
    /// There was nothing to make it of, such as a row to delete. It was not begun, so it counts nowhere.
    Nothing,
    /// It failed for good, with an error of this class.
    Failed(&'static str),
}

/// The end of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// Where it was submitted.
    pub slot: usize,
    /// What kind of operation it was, as a position among the lane's kinds.
    pub kind: usize,
    /// How it ended.
    pub outcome: Outcome,
    /// When it ended.
    pub ended: Moment,
    /// Attempts that were made again after an error that passes.
    pub retries: u32,
    /// How long it was waited between them.
    pub waited: Duration,
    /// How long the answer lay there before it was picked up; `None` where that was not measured for this one.
    pub pickup_lag: Option<Duration>,
}

/// Slots for operations, driven by one thread. A lane draws its operations itself, makes them again after errors that
/// pass, and brings back a slot that was lost. What becomes of times, rates and schedules is the
/// [`worker`](crate::worker)'s.
pub trait Lane {
    /// What ends the work.
    type Error;

    /// How many operations may be under way at a time.
    fn slots(&self) -> usize;

    /// Asked before each operation, and now and then while nothing is under way.
    ///
    /// # Errors
    /// If the work is to end now.
    fn check(&self) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Makes a slot ready for an operation, such as by connecting anew after a loss, however long that takes. A lane of many does
    /// not wait for one: it says when to ask for that slot again.
    ///
    /// # Errors
    /// What ends the work: the slot will not be ready again.
    fn ready(&mut self, _slot: usize) -> Result<Option<Moment>, Self::Error> {
        Ok(None)
    }

    /// Begins an operation in a slot that is ready and free, which was meant to start at `due`. It may block until the
    /// operation has completed.
    ///
    /// # Errors
    /// What ends the work. What fails for good but ends nothing is an [`Outcome`].
    fn submit(&mut self, slot: usize, due: Moment) -> Result<(), Self::Error>;

    /// Waits for the next operation that completes, until a moment at most. Its slot is free then.
    ///
    /// # Errors
    /// What ends the work.
    fn reap(&mut self, until: Moment) -> Result<Option<Completion>, Self::Error>;

    /// What the work ends with after so many operations in a row that there was nothing to make of, the last of this kind.
    fn nothing_left(&mut self, kind: usize, in_a_row: u32) -> Self::Error;
}
