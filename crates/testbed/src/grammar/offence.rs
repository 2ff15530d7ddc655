//! What a grammar has against a text.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What is wrong with a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offence {
    /// The line, from 1 on.
    pub line: usize,
    /// The character in the line, from 1 on.
    pub position: usize,
    /// What stands there.
    pub near: String,
    /// Whether that is a reserved word.
    #[serde(rename = "keyword")]
    pub is_keyword: bool,
    /// What is wrong, as a sentence.
    pub what: String,
}

impl fmt::Display for Offence {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "line {}, position {}, near '{}': {}", self.line, self.position, self.near, self.what)
    }
}
