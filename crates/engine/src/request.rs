//! Requests: short statements that are made again and again, by sessions that are lean and cheap enough for the client not
//! to be what is measured. Data is made and looked after by a [`Session`](crate::Session); a [`Requester`] only asks.

use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::error::{Error, ErrorKind, Result};
use crate::table::{ColumnType, Table};
use crate::telemetry::Sampler;
use crate::value::{Row, RowSummary, Value};

/// What the requests of a session may reach beside the run's own place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RequestAccess {
    /// The user's own tables as well, by their names: a name that is not found in our place is looked up where the user's
    /// sessions look it up.
    pub existing: bool,
    /// Those may be written to. Otherwise a session that reaches them is read-only, by the server's own setting.
    pub writes: bool,
}

impl RequestAccess {
    /// Our own place only.
    pub const OWN: Self = Self { existing: false, writes: false };

    /// An error if tables are to be reached that an engine has none of.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`].
    pub fn refuse_existing(self, engine: &str) -> Result<()> {
        if !self.existing {
            return Ok(());
        }
        let message = format!("the engine '{engine}' has no existing tables to make requests of");
        Err(Error::new(ErrorKind::Unsupported, message)
            .hint("leave out 'existing = true' and make the tables under [setup]"))
    }

    /// True if the session must not write anything.
    pub const fn read_only(self) -> bool {
        self.existing && !self.writes
    }
}

/// A statement that is made again and again. Sessions keep what they prepare for it by its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// Its number among the statements of a test, dense from 0.
    pub number: u32,
    /// Its text, with the engine's placeholders.
    pub sql: String,
    /// The types of the columns that it returns; `None` where they are not known: then values come as texts, and their
    /// content is counted by the types that the engine states.
    pub columns: Option<Vec<ColumnType>>,
}

/// What a request came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Answer {
    /// Rows that came back, or were changed where none came back.
    pub rows: u64,
    /// Data content of the rows that came back.
    pub content_bytes: u64,
}

/// Bytes that went over a connection since it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    /// To the server.
    pub sent_bytes: u64,
    /// From it.
    pub received_bytes: u64,
}

/// A session that makes requests, one after the other, and tells its own counters if it keeps any.
pub trait Requester: Sampler {
    /// Makes a request and reads its whole answer. The statement is prepared at the first time.
    fn ask(&mut self, statement: &Statement, parameters: &[Value<'_>]) -> Result<Answer>;

    /// The same without waiting for the answer: pending until it is there. Then it is asked again, with the same, once
    /// [`Requester::descriptor`] has something to read, or once it wakes its caller. A session without a descriptor waits.
    ///
    /// # Errors
    /// As [`Requester::ask`].
    fn poll_ask(
        &mut self,
        _context: &mut Context<'_>,
        statement: &Statement,
        parameters: &[Value<'_>],
    ) -> Poll<Result<Answer>> {
        Poll::Ready(self.ask(statement, parameters))
    }

    /// Where answers come in, for one thread to wait for those of many sessions; `None` if a session has to wait by itself.
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Loads rows as a request, by the engine's fast path: beside other sessions and as durable as any transaction, and on modelled
    /// hardware it is charged.
    fn load_batch(&mut self, table: &Table, rows: &mut dyn RowSource) -> Result<RowSummary>;

    /// A handle that cancels the running statement from another thread.
    fn canceller(&self) -> Arc<dyn Cancel>;

    /// What went over the connection; `None` where there is none, or it is not counted.
    fn traffic(&self) -> Option<Traffic> {
        None
    }
}

/// Where the rows of a load come from.
pub trait RowSource {
    /// Fills the next row; false at the end. An error aborts the load.
    fn next(&mut self, row: &mut Row) -> Result<bool>;
}

/// Cancels a statement from another thread. Doing so twice, or when nothing runs, does no harm.
pub trait Cancel: Send + Sync {
    /// Asks the engine to stop what the session is doing.
    fn cancel(&self);

    /// Breaks the session's line from our side, for a server that doesn't even hear [`Cancel::cancel`] any more. A thread that waits
    /// for its answer gets [`ErrorKind::Lost`]. A session that works in our own process is
    /// cancelled.
    fn sever(&self) {}

    /// After an interrupt its server is waited for so much longer, whatever it is asked for, and with nothing left not at all.
    fn hurry(&self, left: Duration) {
        if left.is_zero() {
            self.sever();
        }
    }

    /// True if the engine did not hear [`Cancel::cancel`] in time.
    fn is_unheard(&self) -> bool {
        false
    }
}
