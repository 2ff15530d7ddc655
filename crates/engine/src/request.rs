//! Requests: short statements that are made again and again, by sessions that are lean and cheap enough for the client not
//! to be what is measured. Data is loaded and looked after by a [`Session`]; a [`Requester`] only asks.

use std::sync::Arc;

use plimsoll_measurement::{Reading, Views};

use crate::database::{Cancel, RowSource, Session};
use crate::error::Result;
use crate::table::{ColumnType, Table};
use crate::value::{RowSummary, Value};

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

/// A session that makes requests, one after the other.
pub trait Requester: Send {
    /// Makes a request and reads its whole answer. The statement is prepared at the first time.
    fn ask(&mut self, statement: &Statement, parameters: &[Value<'_>]) -> Result<Answer>;

    /// Loads rows by the engine's fast path in one transaction, as a request: on modelled hardware it is charged.
    fn load(&mut self, table: &Table, rows: &mut dyn RowSource) -> Result<RowSummary>;

    /// A handle that cancels the running request from another thread.
    fn canceller(&self) -> Arc<dyn Cancel>;

    /// What went over the connection; `None` where there is none, or it is not counted.
    fn traffic(&self) -> Option<Traffic> {
        None
    }

    /// Counters of this session, as [`Sampler::sample`](crate::Sampler::sample) has them; empty where it keeps none.
    fn sample(&mut self) -> Result<Vec<Reading>> {
        Ok(Vec::new())
    }

    /// What this session shows about itself, such as what it waited for; empty where it shows nothing.
    fn views(&mut self) -> Result<Views> {
        Ok(Views::default())
    }
}

/// An ordinary session as a requester.
pub struct BySession(pub Box<dyn Session>);

impl Requester for BySession {
    fn ask(&mut self, statement: &Statement, parameters: &[Value<'_>]) -> Result<Answer> {
        self.0.ask(statement, parameters)
    }

    fn load(&mut self, table: &Table, rows: &mut dyn RowSource) -> Result<RowSummary> {
        self.0.load_batch(table, rows)
    }

    fn canceller(&self) -> Arc<dyn Cancel> {
        self.0.canceller()
    }

    fn sample(&mut self) -> Result<Vec<Reading>> {
        self.0.sample()
    }

    fn views(&mut self) -> Result<Views> {
        self.0.views()
    }
}
