//! What is documented of T-SQL and the dialect does not know, as the grammar's process wants it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

const WORDS: &str = include_str!("../../data/tsql/words.toml");
const GAPS: &str = include_str!("../../data/tsql/gaps.toml");

/// A statement that the dialect does not know.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gap {
    /// What it does.
    pub name: String,
    /// Its form, as the head of the file describes forms.
    pub form: String,
    /// Why it is in the list.
    pub reason: String,
    /// Where it is documented.
    pub source: String,
}

/// All of it.
#[derive(Debug, Clone)]
pub struct Facts {
    /// Words that are no names unless they are in brackets.
    pub reserved: Vec<String>,
    /// Types, and for each number behind them the least, the most, and whether "max" may stand there.
    pub types: BTreeMap<String, toml::Value>,
    /// Statements that the dialect does not know.
    pub gaps: Vec<Gap>,
}

#[derive(Deserialize)]
struct Words {
    reserved: Reserved,
    types: Types,
}

#[derive(Deserialize)]
struct Reserved {
    words: Vec<String>,
}

#[derive(Deserialize)]
struct Types {
    names: BTreeMap<String, toml::Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Gaps {
    gap: Vec<Gap>,
}

/// The first line of the process's input.
#[derive(Serialize)]
struct Told<'a> {
    reserved: &'a [String],
    types: &'a BTreeMap<String, toml::Value>,
    gaps: Vec<&'a str>,
}

impl Facts {
    /// Reads the files.
    ///
    /// # Panics
    /// If they can't be read: they are part of the program.
    pub fn documented() -> Self {
        let words: Words = toml::from_str(WORDS).unwrap_or_else(|error| panic!("words.toml: {error}"));
        let Gaps { gap: gaps } = toml::from_str(GAPS).unwrap_or_else(|error| panic!("gaps.toml: {error}"));
        Self { reserved: words.reserved.words, types: words.types.names, gaps }
    }

    /// As JSON for the process.
    pub(super) fn told(&self) -> String {
        let gaps = self.gaps.iter().map(|gap| gap.form.as_str()).collect();
        let told = Told { reserved: &self.reserved, types: &self.types, gaps };
        serde_json::to_string(&told).unwrap_or_default()
    }

    /// What verdicts depend on, beside the parser.
    pub(super) const TEXTS: [&'static str; 2] = [WORDS, GAPS];
}
