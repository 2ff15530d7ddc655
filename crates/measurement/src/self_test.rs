//! What a self-test found: which statements of an engine work at a server that somebody has, and what works in a workspace there.

use serde::Serialize;

use crate::exit;

/// Version of [`SelfTestRecord`] as JSON.
pub const SELF_TEST_VERSION: &str = "1.0";

/// All of it.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct SelfTestRecord {
    /// [`SELF_TEST_VERSION`].
    pub schema_version: &'static str,
    /// The program with its version.
    pub build: String,
    /// Start, RFC 3339 in UTC.
    pub started_at: String,
    /// How long it took.
    pub seconds: f64,
    /// Name of the engine.
    pub engine: String,
    /// The version that the server states.
    pub engine_version: String,
    /// Which of the statements' editions it is, where one is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edition: Option<String>,
    /// The edition of the product in the server's own words, where it has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub product: Option<String>,
    /// True if a workspace of our own was allowed.
    pub workspace_allowed: bool,
    /// Why it ended before its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<&'static str>,
    /// What was tried, in the order in which it was.
    pub checks: Vec<Check>,
    /// What else is to be known.
    pub warnings: Vec<String>,
}

/// Something that was tried, or was not.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Check {
    /// What it is.
    pub kind: CheckKind,
    /// Its name.
    pub name: String,
    /// What it is for.
    pub purpose: String,
    /// The editions that have it; all of them where there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub editions: Vec<String>,
    /// The page of the server's documentation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The right that it needs by the documentation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission: Option<String>,
    /// What came of it.
    pub result: CheckResult,
    /// The number or code of the server's error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The line or the place in the statement that the server names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<u32>,
    /// The class of the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<&'static str>,
    /// What the server says, or why it was not sent, or what else was seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// What the user can do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The documented columns of the answer, each with its type.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub documented: Vec<String>,
    /// The columns that came.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub seen: Vec<String>,
    /// Columns that had nothing but NULL, by their documented names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub only_null: Vec<String>,
    /// Rows that came, or were changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    /// How long it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ms: Option<f64>,
}

/// What was tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CheckKind {
    /// A statement of the engine's, as it stands.
    #[default]
    Statement,
    /// Something that tests do in their workspaces.
    Operation,
}

/// What came of something that was tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CheckResult {
    /// It did what it should.
    Worked,
    /// The answer has other columns than it is documented to have.
    OtherShape,
    /// The figures are not those that they must be.
    WrongResult,
    /// The user lacks a right.
    NeedsRight,
    /// The server refuses it.
    Refused,
    /// It did not come to its end in time.
    TimedOut,
    /// This edition does not have it.
    NotInEdition,
    /// It was not tried.
    #[default]
    NotSent,
}

impl CheckResult {
    /// In words for people.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Worked => "worked",
            Self::OtherShape => "other columns",
            Self::WrongResult => "wrong result",
            Self::NeedsRight => "needs a right",
            Self::Refused => "refused",
            Self::TimedOut => "no answer in time",
            Self::NotInEdition => "not in this edition",
            Self::NotSent => "not sent",
        }
    }

    /// True if it was tried, and so is one of those of which some worked.
    pub const fn was_tried(self) -> bool {
        !matches!(self, Self::NotInEdition | Self::NotSent)
    }

    /// True if it was tried and something is to be said of it.
    pub const fn is_finding(self) -> bool {
        self.was_tried() && !matches!(self, Self::Worked)
    }
}

impl SelfTestRecord {
    /// Those of a kind.
    pub fn of(&self, kind: CheckKind) -> impl Iterator<Item = &Check> + Clone {
        self.checks.iter().filter(move |check| check.kind == kind)
    }

    /// The exit code that it leads to, unless it was interrupted: a missing right weighs less than everything else.
    pub fn exit_code(&self) -> u8 {
        let mut findings = self.checks.iter().map(|check| check.result).filter(|result| result.is_finding());
        match findings.next() {
            None if self.stopped.is_some() => exit::INCOMPLETE,
            None => exit::DONE,
            Some(CheckResult::NeedsRight) if findings.all(|result| result == CheckResult::NeedsRight) => {
                exit::NO_PERMISSION
            }
            Some(_) => exit::INCOMPLETE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::CheckResult::{NeedsRight, NotInEdition, NotSent, Refused, Worked};
    use super::*;

    #[test]
    fn rights_alone_have_a_code_of_their_own() {
        let code = |results: &[CheckResult]| {
            let checks = results.iter().map(|result| Check { result: *result, ..Check::default() }).collect();
            SelfTestRecord { checks, ..SelfTestRecord::default() }.exit_code()
        };
        assert_eq!(code(&[Worked, NotSent, NotInEdition]), 0);
        assert_eq!(code(&[Worked, NeedsRight]), 5);
        assert_eq!(code(&[NeedsRight, Refused]), 7);
    }
}
