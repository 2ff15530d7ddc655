//! What a target lets us see and do, one thing each: found out, never assumed.

use plimsoll_measurement::Counter;
use plimsoll_measurement::run::NOT_AVAILABLE;
use plimsoll_measurement::vocabulary::Vocabulary as _;
use serde::Deserialize;

/// Something that tests can't do without.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Need {
    /// A session counts this.
    Counted(Counter),
    /// Sizes of tables are to be seen.
    TableSizes,
}

impl Need {
    /// What it is, in a word or two.
    pub fn words(self) -> String {
        match self {
            Self::Counted(counter) => counter.name().replace('_', " "),
            Self::TableSizes => "sizes of tables".to_owned(),
        }
    }
}

impl TryFrom<String> for Need {
    type Error = String;

    /// By the counter's name, or `table_sizes`.
    fn try_from(name: String) -> Result<Self, String> {
        match name.as_str() {
            "table_sizes" => Ok(Self::TableSizes),
            _ => Counter::named(&name).map(Self::Counted).ok_or(name),
        }
    }
}

/// Without this capability no run has a place of its own.
pub const MAKING_WORKSPACES: &str = "making workspaces";

/// Something that a measurement can use, and what it costs where it is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capability {
    /// What it is, in a word or two: `file statistics`.
    pub name: &'static str,
    /// True if it was found to work.
    pub works: bool,
    /// What is lost without it, as a part of a sentence.
    pub cost: &'static str,
    /// What would give it: a GRANT, or what kind of server has it; `None` where nothing can be done.
    pub remedy: Option<String>,
    /// What tests get by it, and not without it.
    pub gives: &'static [Need],
}

impl Capability {
    /// True if a right of the user's would give it.
    pub fn is_right(&self) -> bool {
        self.remedy.as_ref().is_some_and(|remedy| remedy.contains("GRANT "))
    }

    /// The sentence of a run about one that is missing.
    pub fn warning(&self) -> Option<String> {
        let remedy = self.remedy.as_ref().map(|remedy| format!(" ({remedy})")).unwrap_or_default();
        (!self.works).then(|| format!("{}{NOT_AVAILABLE}{}{remedy}", self.name, self.cost))
    }
}
