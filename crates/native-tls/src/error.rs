//! What goes wrong.

use std::fmt;
use std::io;

/// Result of everything here.
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong, in rustls's words or the system's.
#[derive(Debug)]
pub struct Error(Cause);

#[derive(Debug)]
enum Cause {
    Tls(rustls::Error),
    Io(io::Error),
    Text(&'static str),
}

impl Error {
    /// An error that rustls does not know.
    pub(crate) const fn text(text: &'static str) -> Self {
        Self(Cause::Text(text))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Cause::Tls(error) => error.fmt(f),
            Cause::Io(error) => error.fmt(f),
            Cause::Text(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Error {}

impl From<rustls::Error> for Error {
    fn from(error: rustls::Error) -> Self {
        Self(Cause::Tls(error))
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        // rustls passes its own errors through the system's; the sentence is rustls's.
        match error.downcast::<rustls::Error>() {
            Ok(error) => Self(Cause::Tls(error)),
            Err(error) => Self(Cause::Io(error)),
        }
    }
}
