//! What the program fails with: one sentence, a next step, an exit code.

use std::path::Path;

use plimsoll_engine::ErrorKind;
use plimsoll_measurement::exit;
use plimsoll_store::StoreError;

/// An error as the user sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What happened.
    pub message: String,
    /// What to do next.
    pub hint: Option<String>,
    /// The exit code.
    pub exit_code: u8,
}

impl Failure {
    /// Wrong usage.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None, exit_code: exit::USAGE }
    }

    /// The same with a next step.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// A file could not be written.
    pub fn writing(path: &Path, error: &std::io::Error) -> Self {
        Self {
            message: format!("cannot write {}: {error}", path.display()),
            hint: Some("name another file; the runs are in the store".to_owned()),
            exit_code: exit::USAGE,
        }
    }
}

impl From<plimsoll_engine::Error> for Failure {
    fn from(error: plimsoll_engine::Error) -> Self {
        let hint = match error.kind {
            ErrorKind::PasswordNeeded if error.hint.is_none() => Some(
                "give it by --password-file FILE or PLIMSOLL_PASSWORD, or run on a terminal to be asked".to_owned(),
            ),
            _ => error.hint,
        };
        Self { message: error.message, hint, exit_code: error.kind.exit_code() }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let (hint, exit_code) = match &error {
            StoreError::UnknownRun { .. } | StoreError::AmbiguousRun { .. } | StoreError::PrefixTooShort { .. } => {
                ("'plimsoll runs' lists what there is", exit::USAGE)
            }
            _ => ("name another store with --store FILE or PLIMSOLL_STORE", exit::INCOMPLETE),
        };
        Self { message: error.to_string(), hint: Some(hint.to_owned()), exit_code }
    }
}

impl From<plimsoll_catalog::CatalogError> for Failure {
    fn from(error: plimsoll_catalog::CatalogError) -> Self {
        Self::usage(error.to_string())
    }
}
