//! What goes wrong.

use std::{error, fmt, io};

/// Result of everything here.
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong, in a sentence of ours about a certificate, else in rustls's words or the system's.
#[derive(Debug)]
pub struct Error(Box<dyn error::Error + Send + Sync>);

impl Error {
    /// An error that rustls does not know.
    pub(crate) fn text(text: &str) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl error::Error for Error {}

impl From<rustls::Error> for Error {
    fn from(error: rustls::Error) -> Self {
        Self(plimsoll_tls::sentence(&error).into())
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        // rustls passes its own errors through the system's; they say what it is.
        error.downcast::<rustls::Error>().map_or_else(|error| Self(error.into()), Self::from)
    }
}
