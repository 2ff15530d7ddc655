//! What the program fails with: one sentence, a next step, an exit code.

use std::path::Path;

use plimsoll_bench::run::next_step;
use plimsoll_measurement::{RunFailure, exit};
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

    /// The same with another exit code than that of wrong usage.
    #[must_use]
    pub fn code(self, exit_code: u8) -> Self {
        Self { exit_code, ..self }
    }

    /// Standard output took a part of the result only.
    pub fn cut_off() -> Self {
        Self::usage("the result could not be written in full")
            .code(exit::INCOMPLETE)
            .hint("free some space on the disk of standard output; what a run measured is in the store")
    }

    /// A file could not be written.
    pub fn writing(path: &Path, error: &std::io::Error) -> Self {
        let path = path.display();
        if error.kind() == std::io::ErrorKind::NotFound {
            return Self::usage(format!("cannot write {path}: there is no such folder"))
                .hint("make the folder, or name a file in another one");
        }
        if matches!(error.kind(), std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded) {
            return Self::usage(format!("cannot write {path}: the disk is full"))
                .code(exit::INCOMPLETE)
                .hint("free some space, or name a file on another disk; what a run measured is in the store");
        }
        Self::usage(format!("cannot write {path}: {error}")).hint("name a file in a folder that you may write to")
    }
}

impl From<plimsoll_engine::Error> for Failure {
    fn from(error: plimsoll_engine::Error) -> Self {
        let hint = error.hint.unwrap_or_else(|| next_step(error.kind).to_owned());
        Self { message: error.message, hint: Some(hint), exit_code: error.kind.exit_code() }
    }
}

impl From<&RunFailure> for Failure {
    fn from(error: &RunFailure) -> Self {
        Self { message: error.message.clone(), hint: error.hint.clone(), exit_code: error.exit_code }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let (hint, exit_code) = match &error {
            StoreError::UnknownRun { .. } | StoreError::AmbiguousRun { .. } | StoreError::PrefixTooShort { .. } => {
                ("'plimsoll runs' lists the stored runs", exit::USAGE)
            }
            StoreError::Missing { .. } => (
                "the first 'plimsoll run' or 'plimsoll demo' creates it; --store FILE or PLIMSOLL_STORE names another",
                exit::CANNOT_CONNECT,
            ),
            StoreError::Full { .. } => (
                "free some space there, or name a store on another disk with --store FILE or PLIMSOLL_STORE",
                exit::INCOMPLETE,
            ),
            _ => ("name another store with --store FILE or PLIMSOLL_STORE", exit::INCOMPLETE),
        };
        let mut message = error.to_string();
        if let Some(source) = std::error::Error::source(&error) {
            message = format!("{message}: {source}");
        }
        Self { message, hint: Some(hint.to_owned()), exit_code }
    }
}

impl From<plimsoll_catalog::CatalogError> for Failure {
    fn from(error: plimsoll_catalog::CatalogError) -> Self {
        Self::usage(error.to_string()).hint("'plimsoll catalog' lists services, levels and editions")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_said_and_is_no_wrong_usage() {
        let written = std::fs::write("/dev/full", "text").unwrap_err();
        let failure = Failure::writing(Path::new("full/r.html"), &written);
        assert_eq!((failure.message.as_str(), failure.exit_code), ("cannot write full/r.html: the disk is full", 7));
        let store = Failure::from(StoreError::Full("the disk with runs.db is full".to_owned()));
        assert_eq!(store.exit_code, 7);
        assert!(store.hint.unwrap().starts_with("free some space"));
    }
}
