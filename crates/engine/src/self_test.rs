//! A self-test: the statements of an engine, sent once each to a server that somebody has, to see which of them work there and
//! answer as documented. What is sent, and what is said of it, is the caller's; a driver only sends and reads.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::request::Cancel;
use crate::statements::{AnswerColumn, Entry, Statements};
use crate::value::Value;

/// What a server's answer looked like. It has no values of the server's, which are its owner's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shape {
    /// The columns of the first result: their names as the server gives them, and their types in its words (`bigint`, `nvarchar`),
    /// without lengths.
    pub columns: Vec<AnswerColumn>,
    /// Rows of it.
    pub rows: u64,
    /// For each column, whether a value in it was not NULL.
    pub filled: Vec<bool>,
}

/// What a server has against a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The server's own number or code: `208`, `42P01`. Empty where it gave none, as at a time-out of ours.
    pub code: String,
    /// The line or the place in the text that the server names.
    pub at: Option<u32>,
    /// The class, the sentence and the hint that a run would have given for it.
    pub error: Error,
}

/// True for codes of errors with a text that the owner of the server has written, as triggers and functions raise them: `P0001` of
/// PostgreSQL, 1644 of MySQL and MariaDB, numbers from 50000 on of SQL Server.
pub fn is_of_owner(code: &str) -> bool {
    matches!(code, "P0001" | "1644") || code.parse().is_ok_and(|number: u32| number >= 50_000)
}

/// A connection for a self-test.
pub trait SelfTest: Send {
    /// What there is to be sent.
    fn statements(&self) -> &'static Statements;

    /// Which of the statements' [editions](Entry::editions) the server is; `None` for one that none is known of, such as another
    /// maker's server.
    fn edition(&self) -> Option<&str>;

    /// Names that the server or the user has, as in databases, hosts and log-ins: a report has none of them.
    fn names(&self) -> Vec<String>;

    /// Words in place of those that examples have, by their gaps: what depends on the server.
    fn words(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// A handle that cancels the running statement from another thread, for one that takes too long and for an interrupt. Without
    /// one neither can end it.
    fn canceller(&self) -> Option<Arc<dyn Cancel>> {
        None
    }

    /// Whether the server has no such thing as a statement of its edition reads: an extension, which is there or not. Such a one is not
    /// sent.
    fn lacks(&self, entry: &Entry) -> bool {
        let _ = entry;
        false
    }

    /// Sends a text, which is that statement with its gaps filled, with values for its parameters. The outer error is one after
    /// which nothing more can be sent; a statement that was cancelled is refused.
    ///
    /// # Errors
    /// If the connection was lost.
    fn send(&mut self, entry: &Entry, sql: &str, values: &[Value<'_>]) -> Result<std::result::Result<Shape, Refused>>;
}
