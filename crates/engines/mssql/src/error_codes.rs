//! Errors of SQL Server by their numbers: what each means for us, whether it passes by itself, and what its reader can do
//! (`data/errors.toml`).

use std::sync::LazyLock;
use std::time::Duration;

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
    /// Something else uses what is to be dropped.
    Used,
}

/// Why a server refuses for a while what it takes later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Cause {
    /// The database is away: it fails over, is upgraded, changes its level or wakes. Only a new connection helps.
    Unavailable,
    /// A limit is reached.
    Throttled,
}

impl Class {
    /// The class that all engines know.
    pub(super) const fn kind(self) -> ErrorKind {
        match self {
            Self::Login => ErrorKind::Authenticate,
            Self::NoDatabase => ErrorKind::Missing,
            Self::NoObject => ErrorKind::Statement,
            Self::Used => ErrorKind::Safety,
            Self::Firewall | Self::Transient => ErrorKind::Connect,
            Self::Governor | Self::Deadlock | Self::LockTimeout | Self::Memory => ErrorKind::Busy,
            Self::LogFull | Self::DatabaseFull => ErrorKind::DiskFull,
            Self::Permission | Self::ReadOnly => ErrorKind::Permission,
            Self::Ended => ErrorKind::Lost,
            Self::Unknown => ErrorKind::Unsupported,
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
    /// Why it passes by itself, if it does.
    #[serde(default)]
    pub(super) cause: Option<Cause>,
    #[serde(default = "usual_pause_s")]
    pause_s: u64,
    /// It passes only for who was let in before.
    #[serde(default)]
    pub(super) once_in: bool,
    /// What to do next. `{user}` and `{database}` stand for their names.
    pub(super) hint: String,
    /// Where this is written, below `https://learn.microsoft.com/`.
    #[cfg_attr(not(test), expect(dead_code, reason = "for readers of the table, and its test"))]
    source: String,
}

/// A shorter pause risks to overwhelm the service, as Microsoft says.
const fn usual_pause_s() -> u64 {
    5
}

impl KnownError {
    /// How long to wait at least before it is tried again.
    pub(super) const fn pause(&self) -> Duration {
        Duration::from_secs(self.pause_s)
    }
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
    fn what_passes_has_a_cause_and_a_pause() {
        let known = |number| find(number, 255).unwrap_or_else(|| panic!("{number}"));
        for (numbers, cause, pause_s) in [
            (&[40613, 40197, 40143, 40540, 615, 4221, 983][..], Cause::Unavailable, 5),
            (&[10928, 10929, 10936, 49918, 49919, 49920], Cause::Throttled, 5),
            (&[40501], Cause::Throttled, 10),
        ] {
            for number in numbers {
                let known = known(*number);
                assert_eq!(
                    (known.cause, known.pause(), known.once_in),
                    (Some(cause), Duration::from_secs(pause_s), false)
                );
            }
        }
        assert_eq!((known(4060).cause, known(4060).once_in), (Some(Cause::Unavailable), true));
        assert_eq!(find(18456, 13).unwrap().cause, Some(Cause::Unavailable));
        for (number, kind) in [
            (1205, ErrorKind::Busy),
            (1222, ErrorKind::Busy),
            (1204, ErrorKind::Busy),
            (18456, ErrorKind::Authenticate),
            (18452, ErrorKind::Authenticate),
            (9002, ErrorKind::DiskFull),
            (40544, ErrorKind::DiskFull),
            (1132, ErrorKind::DiskFull),
            (976, ErrorKind::Missing),
            (262, ErrorKind::Permission),
            (229, ErrorKind::Permission),
            (297, ErrorKind::Permission),
            (300, ErrorKind::Permission),
        ] {
            assert_eq!((known(number).cause, known(number).class.kind()), (None, kind), "{number}");
        }
    }

    /// The table of docs/ENGINES.md.
    #[test]
    fn the_documents_have_what_passes() {
        use std::fmt::Write as _;
        let mut table =
            "| error | cause | first pause | source, below learn.microsoft.com |\n|---|---|---|---|\n".to_owned();
        for (cause, name) in [(Cause::Unavailable, "unavailable"), (Cause::Throttled, "throttled")] {
            for known in KNOWN.iter().filter(|known| known.cause == Some(cause)) {
                let numbers: Vec<String> = known.numbers.iter().map(u32::to_string).collect();
                let states: Vec<String> = known.states.iter().map(u8::to_string).collect();
                let states = if states.is_empty() { String::new() } else { format!(" state {}", states.join(", ")) };
                let once_in = if known.once_in { ", after a log-in that was let in" } else { "" };
                let (numbers, pause) = (numbers.join(", "), known.pause().as_secs());
                let _ = writeln!(table, "| {numbers}{states}{once_in} | {name} | {pause} s | {} |", known.source);
            }
        }
        let document = include_str!("../../../../docs/ENGINES.md");
        assert!(document.contains(&table), "docs/ENGINES.md should have this table:\n{table}");
    }
}
