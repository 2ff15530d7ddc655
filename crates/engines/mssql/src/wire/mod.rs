//! The line to a server: the only place that knows the driver. What is above it sees texts, values and rows, and faults by
//! the server's own error numbers; so it can also be driven by a script.

mod bulk;
mod cancel;
mod client;
mod fault;
mod guard;
mod login;
mod route;
mod shape;
mod sink;
#[cfg(test)]
mod tests;
mod values;

use std::sync::Arc;

use plimsoll_engine::server::bounds::Allowance;
use plimsoll_engine::{Answer, Cancel, ColumnType, Error, ErrorKind, Row, RowSource, RowSummary, Shape, Value};

pub(super) use client::Client;
pub(super) use login::{Auth, Encrypt, Endpoint, Login};

/// What a server, the line or the receiver of rows has against what was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fault {
    /// The server's errors in their order; there is at least one.
    Server(Vec<ServerError>),
    /// TLS could not be agreed on, or the certificate is not to be trusted.
    Tls(String),
    /// The line broke, or was never there.
    Closed(String),
    /// Not done within the time that was given.
    TimedOut,
    /// Cancelled by us.
    Cancelled,
    /// The driver is not content: a value or a message that it can't read.
    Driver(String),
    /// The receiver of rows, or their source, has had enough.
    Ours(Error),
    /// A log-in failed at the server (`host:port`) that the one asked for sent us on to.
    SentOn { to: String, fault: Box<Fault> },
}

/// What a line that we broke off ourselves is said to have come to.
pub(super) const SEVERED: &str = "it was broken off by us";

/// The driver's words for servers that send us on for ever.
pub(super) const TOO_FAR: &str = "more redirection tokens than expected";

impl Fault {
    /// The fault at the server that we were sent on to in the end.
    pub(super) fn at_last(&self) -> &Self {
        match self {
            Self::SentOn { fault, .. } => fault.at_last(),
            fault => fault,
        }
    }

    /// True if the other side, or something on the way, ended the connection.
    pub(super) fn is_cut(&self, is_dead: bool) -> bool {
        match self {
            Self::Closed(why) => why != SEVERED,
            Self::Tls(_) => true,
            Self::Driver(_) => is_dead,
            _ => false,
        }
    }
}

/// An error as the server states it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServerError {
    /// Its number, as in `sys.messages`.
    pub(super) number: u32,
    /// Tells apart places that use the same number.
    pub(super) state: u8,
    /// Its severity: from 20 on it ends the connection.
    pub(super) class: i32,
    /// The line of the statement that it is about, from 1, where the server says one.
    pub(super) line: Option<u32>,
    /// Its text in the server's language.
    pub(super) message: String,
}

/// Result of everything on the line.
pub(super) type Outcome<T> = Result<T, Fault>;

/// Receives the rows of a query one by one.
pub(super) type EachRow<'a> = &'a mut dyn FnMut(&mut Row) -> plimsoll_engine::error::Result<()>;

/// How rows are loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Loading {
    /// Takes a lock of the whole table, which lets the server log less where its recovery model allows that.
    pub(super) table_lock: bool,
    /// Rows of a transaction; 0 for all of them in one.
    pub(super) batch_rows: u32,
}

/// A connection. Statements with parameters are prepared once and kept.
pub(super) trait Wire: Send {
    /// Runs a text and hands over the rows of all its results, with columns of these types; gives the rows it changed.
    fn query(&mut self, sql: &str, parameters: &[Value<'_>], columns: &[ColumnType], each: EachRow<'_>)
    -> Outcome<u64>;

    /// Runs a text and counts what comes back. Without types, content is counted by those that the server states.
    fn ask(&mut self, sql: &str, parameters: &[Value<'_>], columns: Option<&[ColumnType]>) -> Outcome<Answer>;

    /// Runs a text and says what its first result looks like.
    fn shape(&mut self, sql: &str, parameters: &[Value<'_>]) -> Outcome<Shape>;

    /// Loads rows by the bulk protocol, in one transaction: all of them, or none on a fault, unless batches are asked for. The name is
    /// quoted.
    fn load(&mut self, table: &str, loading: Loading, rows: &mut dyn RowSource) -> Outcome<RowSummary>;

    /// A handle that cancels from another thread what is running.
    fn canceller(&self) -> Arc<dyn Cancel>;

    /// What is asked from now on has to be answered within so many seconds, or within what the target says for statements.
    fn hurry(&mut self, _seconds: Option<u32>) {}

    /// True once nothing can be asked any more. To be looked at after each fault.
    fn is_dead(&self) -> bool;

    /// The server (`host:port`) that a gateway sent us on to at the log-in, if one did.
    fn sent_on(&self) -> Option<&str> {
        None
    }

    /// Runs a text for its effect.
    fn run(&mut self, sql: &str) -> Outcome<u64> {
        self.query(sql, &[], &[], &mut |_| Ok(()))
    }

    /// The rows of a query, for those that are few.
    fn rows(&mut self, sql: &str, parameters: &[Value<'_>], columns: &[ColumnType]) -> Outcome<Vec<Row>> {
        let (mut rows, mut allowance) = (Vec::new(), Allowance::kept());
        self.query(sql, parameters, columns, &mut |row| {
            let taken = allowance.take_row(row.len() + 4, row.content_bytes() as usize);
            taken.map_err(|error| Error::new(ErrorKind::Statement, error.to_string()))?;
            rows.push(row.clone());
            Ok(())
        })?;
        Ok(rows)
    }
}
