//! Errors of SQL Server by their numbers: what each means for us, what we do about it, and what its reader can do
//! (`data/errors.toml`).

use std::sync::LazyLock;

use plimsoll_engine::data::rows;
use plimsoll_engine::error::ErrorKind;
use serde::Deserialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) enum Class {
    /// The log-in is refused.
    Login,
    /// The database can't be opened.
    NoDatabase,
    /// The address is not let in.
    Firewall,
    /// It passes by itself, within seconds to minutes.
    Transient,
    /// Some limit of the level is reached for the moment.
    Governor,
    /// Chosen as the victim of a deadlock, or in conflict with another transaction.
    Deadlock,
    /// A lock was not to be had in time.
    LockTimeout,
    /// The log is full.
    LogFull,
    /// The data files, or the database's largest size, are full.
    DatabaseFull,
    /// The right to do it is missing.
    Permission,
    /// The database can only be read.
    ReadOnly,
    /// No memory for the statement.
    Memory,
    /// The server, or somebody there, ends the session.
    Ended,
    /// Another server than SQL Server: this does not exist there.
    Unknown,
    /// The statement refers to what is not there.
    NoObject,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reaction {
    /// A connection is tried again; a statement that meets it fails.
    Retry,
    /// The request counts as failed and the run goes on.
    Count,
    /// The run ends.
    Stop,
}

impl Class {
    /// The class that all engines know.
    pub(super) const fn kind(self) -> ErrorKind {
        match self {
            Self::Login => ErrorKind::Authenticate,
            Self::NoDatabase => ErrorKind::Missing,
            Self::NoObject => ErrorKind::Statement,
            Self::Firewall | Self::Transient => ErrorKind::Connect,
            Self::Governor | Self::Deadlock | Self::LockTimeout | Self::Memory => ErrorKind::Busy,
            Self::LogFull | Self::DatabaseFull => ErrorKind::DiskFull,
            Self::Permission | Self::ReadOnly => ErrorKind::Permission,
            Self::Ended => ErrorKind::Lost,
            Self::Unknown => ErrorKind::Unsupported,
        }
    }

    pub(super) const fn reaction(self) -> Reaction {
        match self {
            Self::Transient | Self::Governor => Reaction::Retry,
            Self::Deadlock | Self::LockTimeout | Self::Memory => Reaction::Count,
            _ => Reaction::Stop,
        }
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct KnownError {
    numbers: Vec<u32>,
    /// Only with these states; none stands for all others.
    #[serde(default)]
    states: Vec<u8>,
    pub(super) class: Class,
    /// What to do next. `{user}` and `{database}` stand for their names.
    pub(super) hint: String,
    /// Where this is written, below `https://learn.microsoft.com/`.
    #[cfg_attr(not(test), expect(dead_code, reason = "for readers of the table, and its test"))]
    source: String,
}

/// The table. A test reads it as well, so that it can't be empty.
static KNOWN: LazyLock<Vec<KnownError>> = LazyLock::new(|| rows(include_str!("../data/errors.toml")));

/// What is known of an error with this number and state.
pub(super) fn find(number: u32, state: u8) -> Option<&'static KnownError> {
    let of_number = || KNOWN.iter().filter(move |known| known.numbers.contains(&number));
    of_number()
        .find(|known| known.states.contains(&state))
        .or_else(|| of_number().find(|known| known.states.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_goes_before_its_number() {
        assert_eq!(find(18456, 38).map(|known| known.class), Some(Class::NoDatabase));
        assert_eq!(find(18456, 1).map(|known| known.class), Some(Class::Login));
        assert!(find(18456, 7).unwrap().hint.contains("ENABLE"));
        assert!(find(50_000, 1).is_none());
    }

    #[test]
    fn every_row_is_reached_has_a_source_and_says_what_to_do() {
        assert!(KNOWN.len() > 50);
        for known in KNOWN.iter() {
            for number in &known.numbers {
                for state in if known.states.is_empty() { &[255] } else { known.states.as_slice() } {
                    let found = find(*number, *state).unwrap();
                    assert!(std::ptr::eq(found, known), "{number} is there twice");
                }
            }
            let numbers = &known.numbers;
            assert!(known.source.starts_with("sql/") || known.source.starts_with("azure/"), "{numbers:?}");
            let is_sentence = known.hint.ends_with('.') && !known.hint.ends_with("...");
            assert!(!known.hint.is_empty() && !is_sentence, "{numbers:?}");
        }
    }

    /// The numbers that the product promises to know.
    #[test]
    fn reactions_are_as_promised() {
        let class = |number| find(number, 255).unwrap_or_else(|| panic!("{number}")).class;
        for number in [40613, 40197, 40501, 10928, 10929, 49918, 49919, 49920, 4221, 983] {
            assert_eq!(class(number).reaction(), Reaction::Retry, "{number}");
        }
        for number in [1205, 1222, 1204] {
            assert_eq!((class(number).reaction(), class(number).kind()), (Reaction::Count, ErrorKind::Busy));
        }
        for (number, kind) in [
            (18456, ErrorKind::Authenticate),
            (18452, ErrorKind::Authenticate),
            (4060, ErrorKind::Missing),
            (9002, ErrorKind::DiskFull),
            (40544, ErrorKind::DiskFull),
            (1132, ErrorKind::DiskFull),
            (976, ErrorKind::Missing),
            (262, ErrorKind::Permission),
            (229, ErrorKind::Permission),
            (297, ErrorKind::Permission),
            (300, ErrorKind::Permission),
        ] {
            assert_eq!((class(number).reaction(), class(number).kind()), (Reaction::Stop, kind), "{number}");
        }
    }
}
