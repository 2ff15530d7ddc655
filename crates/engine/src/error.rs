//! What can go wrong at a target, in classes that have one exit code and one reaction each.

use std::fmt;
use std::time::Duration;

use plimsoll_measurement::exit;

use crate::foreign::shown;

/// Result of everything an engine does.
pub type Result<T> = std::result::Result<T, Error>;

/// The class of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The URL or a parameter can't be used.
    Usage,
    /// Nobody answers there, or TLS fails.
    Connect,
    /// The server refuses this user or password.
    Authenticate,
    /// A password is needed and none was given: the program may ask for it.
    PasswordNeeded,
    /// The database, the file or its folder isn't there.
    Missing,
    /// The user may not do what the measurement needs.
    Permission,
    /// It isn't ours, or it would not fit: refused before anything was changed.
    Safety,
    /// The target's disk is full.
    DiskFull,
    /// The connection or the server was lost.
    Lost,
    /// Our own result store can't be used: no fault of the target.
    Store,
    /// Somebody holds a lock that we need.
    Busy,
    /// Cancelled by us.
    Cancelled,
    /// A program of the engine's own isn't on this machine, or a part of the server that is installed by itself isn't there.
    ToolMissing,
    /// The engine can't do this.
    Unsupported,
    /// Everything was measured, and it is no result.
    NoResult,
    /// Anything else that the engine says.
    Statement,
    /// A fault of ours.
    Internal,
}

impl ErrorKind {
    /// The word under which scripts find the class.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Usage => "usage",
            Self::Connect => "connect",
            Self::Authenticate => "authenticate",
            Self::PasswordNeeded => "password-needed",
            Self::Missing => "missing",
            Self::Permission => "permission",
            Self::Safety => "safety",
            Self::DiskFull => "disk-full",
            Self::Lost => "connection-lost",
            Self::Store => "store",
            Self::Busy => "busy",
            Self::Cancelled => "interrupted",
            Self::ToolMissing => "tool-missing",
            Self::Unsupported => "unsupported",
            Self::NoResult => "no-result",
            Self::Statement => "statement",
            Self::Internal => "internal",
        }
    }

    /// The exit code that an error of this class leads to.
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Usage | Self::Unsupported => exit::USAGE,
            Self::ToolMissing => exit::MISSING_PREREQUISITE,
            Self::Connect | Self::Authenticate | Self::PasswordNeeded | Self::Missing => exit::CANNOT_CONNECT,
            Self::Permission => exit::NO_PERMISSION,
            Self::Safety => exit::SAFETY,
            Self::DiskFull | Self::Lost | Self::Store | Self::Busy | Self::NoResult | Self::Statement => {
                exit::INCOMPLETE
            }
            Self::Cancelled => exit::INTERRUPTED,
            Self::Internal => exit::INTERNAL,
        }
    }
}

/// An error of a target: one sentence, and what to do next. Neither ever holds a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// Its class.
    pub kind: ErrorKind,
    /// What happened, in one sentence without a full stop.
    pub message: String,
    /// What to do next.
    pub hint: Option<String>,
    /// That it passes by itself, and how long to wait at least before the same is tried again, as the server's makers advise.
    pub retry_after: Option<Duration>,
    /// The server's own number or code, where it gave one: `42P01`, `208`.
    pub code: Option<String>,
}

impl Error {
    /// An error without a hint. Whatever a server said of it, the sentence is fit to be shown.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: shown(&message.into()), hint: None, retry_after: None, code: None }
    }

    /// What keeps us off something of others.
    pub fn safety(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Safety, message)
    }

    /// The same error, which passes by itself in so long or some more.
    #[must_use]
    pub const fn retry_after(mut self, pause: Duration) -> Self {
        self.retry_after = Some(pause);
        self
    }

    /// The same error with a next step.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(shown(&hint.into()));
        self
    }

    /// The same error with the server's own code.
    #[must_use]
    pub fn code(self, code: impl Into<String>) -> Self {
        Self { code: Some(shown(&code.into())), ..self }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
