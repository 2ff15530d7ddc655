//! The link of a session to its server: the line, what cancels on it, and what came of an exchange or of a log-in.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::canceller::Canceller;
use super::errors::{ANOTHER_SERVER, another_protocol, lost, sentence, too_slow, unreachable};
use super::stream::Stream;
use super::tls::NO_TLS;
use crate::error::{Error, ErrorKind, Result};
use crate::request::{Cancel, Traffic};

/// How long a server may take to hear that we go.
const FAREWELL: Duration = Duration::from_secs(1);

/// Why an exchange came to nothing.
#[derive(Debug)]
pub enum Failed<S> {
    /// The line broke, and stays broken.
    Wire(io::Error),
    /// The server refused; the connection works on.
    Server(S),
    /// The receiver of the rows had enough; the rest of the answer is still to come.
    Receiver(Error),
    /// A fault of ours, or of the source of the rows; the connection works on.
    Ours(Error),
}

impl<S> From<io::Error> for Failed<S> {
    fn from(error: io::Error) -> Self {
        Self::Wire(error)
    }
}

/// Why a log-in failed.
#[derive(Debug)]
pub enum Refused {
    /// The line broke.
    Wire(io::Error),
    /// The server refused, or we did.
    Error(Error),
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Self {
        Self::Wire(error)
    }
}

impl Refused {
    /// Of a handshake that failed: `unsafe_line` makes an error of its cause, unless only its time was over.
    pub fn of_tls(error: io::Error, unsafe_line: impl FnOnce(&str) -> Error) -> Self {
        if error.kind() == io::ErrorKind::TimedOut {
            return Self::Wire(error);
        }
        let of_tls = error.get_ref().and_then(|error| error.downcast_ref());
        match of_tls.map_or_else(|| error.to_string(), plimsoll_tls::sentence) {
            why if why == NO_TLS => Self::Wire(io::Error::new(io::ErrorKind::InvalidData, why)),
            why => Self::Error(unsafe_line(&why)),
        }
    }

    /// For callers that only ask whether the server hears.
    pub fn into_io(self) -> io::Error {
        match self {
            Self::Wire(error) => error,
            Self::Error(error) => io::Error::other(error.message),
        }
    }

    /// For callers that wanted a connection to such a server at this address within this time.
    pub fn into_error(self, address: &str, server: &str, patience: Duration) -> Error {
        let error = match self {
            Self::Wire(error) => error,
            Self::Error(error) => return error,
        };
        match error.kind() {
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => too_slow(address, patience.as_secs()),
            io::ErrorKind::InvalidData => {
                let mut other = another_protocol(address, server);
                other.message = format!("{}: {error}", other.message);
                other
            }
            // It took what we said for nonsense.
            io::ErrorKind::ConnectionReset | io::ErrorKind::UnexpectedEof => {
                unreachable(address, &error.to_string()).hint(ANOTHER_SERVER)
            }
            _ => unreachable(address, &error.to_string()),
        }
    }
}

/// A line on which a driver speaks its server's protocol.
pub trait Line {
    /// The bytes beneath.
    fn stream(&self) -> &Stream;

    /// Tells the server that we go.
    fn leave(&mut self) -> io::Result<()>;
}

/// A line after the log-in.
pub struct Link<L: Line> {
    /// The line itself.
    pub line: L,
    /// Cancels its statements.
    pub canceller: Arc<Canceller>,
    /// Why there is no line any more.
    lost: Option<Error>,
}

impl<L: Line> Link<L> {
    /// By this line.
    pub fn new(line: L, canceller: Canceller) -> Self {
        Self { line, canceller: Arc::new(canceller), lost: None }
    }

    /// Cancels its statements from another thread.
    pub fn cancel(&self) -> Arc<dyn Cancel> {
        Arc::clone(&self.canceller) as Arc<dyn Cancel>
    }

    /// From now on answers may take so long, or as long as they take: a server that is frozen must not hold up callers
    /// that can do without it.
    pub fn set_timeout(&self, timeout: Option<Duration>) {
        // A line that is gone needs no hurry.
        let _ = self.line.stream().socket().set_timeout(timeout);
    }

    /// What is asked from now on has to be answered within so long, until [`Link::lift_end`].
    pub fn end_within(&self, patience: Duration) {
        self.line.stream().socket().end_within(patience);
    }

    /// What was said by [`Link::end_within`] holds no more.
    pub fn lift_end(&self) {
        // As above.
        let _ = self.line.stream().socket().lift_end();
    }

    /// What went over it.
    pub fn traffic(&self) -> Traffic {
        self.line.stream().socket().traffic()
    }

    /// An error if the line is gone.
    pub fn alive(&self) -> Result<()> {
        self.lost.as_ref().map_or(Ok(()), |error| Err(error.clone()))
    }

    /// An exchange's failure as an error; `answered` makes one of what the server said. A line that broke stays broken, and so does
    /// one that the server gave up.
    pub fn fail<S>(&mut self, failed: Failed<S>, address: &str, answered: impl FnOnce(&S) -> Error) -> Error {
        let error = match failed {
            Failed::Receiver(error) | Failed::Ours(error) => return error,
            Failed::Server(server_error) => self.cancelled_there(answered(&server_error)),
            Failed::Wire(error) => lost(address, &sentence(&error.to_string())),
        };
        if error.kind == ErrorKind::Lost {
            self.lost = Some(error.clone());
            self.canceller.lose();
        }
        error
    }

    /// What was cancelled without being asked for from here is an error like any other, and no interruption of ours.
    fn cancelled_there(&self, error: Error) -> Error {
        if error.kind != ErrorKind::Cancelled || self.canceller.has_asked() {
            return error;
        }
        let hint = "the server cancelled it, by a time-out of its own (statement_timeout, max_execution_time), or somebody there did";
        Error { kind: ErrorKind::Statement, ..error }.hint(hint)
    }
}

impl<L: Line> Drop for Link<L> {
    fn drop(&mut self) {
        // The server would notice anyhow, and say so in its log or count an aborted client.
        if self.lost.is_none() {
            self.set_timeout(Some(FAREWELL));
            self.end_within(FAREWELL);
            let _ = self.line.leave();
        }
    }
}
