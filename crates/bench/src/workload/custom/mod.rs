//! A user's own workload: statements of their own, by weight, with parameters that are drawn, on tables that a set-up makes
//! or that are there already.

pub mod draw;
pub mod elsewhere;
pub mod makes;
pub mod ready;
pub mod text;

use std::collections::BTreeMap;

pub use draw::{Draw, Literal, Number};
pub use ready::Ready;

/// A workload as its definition says it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CustomWorkload {
    /// True if it works on tables that are there.
    pub existing: bool,
    /// True if it writes to those.
    pub writes: bool,
    /// Whole numbers that sizes are products of, by name.
    pub variables: BTreeMap<String, u64>,
    /// Statements before the first repetition.
    pub setup: Vec<Text>,
    /// Statements after the last one, however it ended.
    pub cleanup: Vec<Text>,
    /// How many tables a `{n}` in set-up and clean-up stands for.
    pub copies: u64,
    /// Kinds of requests.
    pub requests: Vec<Request>,
}

/// A kind of request.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Its name in results.
    pub name: String,
    /// How often it is made, beside the others.
    pub weight: f64,
    /// `{n}` in its texts is drawn from 1 to this for each request.
    pub copies: u64,
    /// True if its statements are one transaction.
    pub transaction: bool,
    /// What it does, in order.
    pub statements: Vec<Asked>,
    /// Parameters of its statements: names and how each is drawn.
    pub parameters: Vec<(String, Draw)>,
}

/// A statement of a request.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// Its text.
    pub text: Text,
    /// How often it is made, each time with its parameters drawn anew.
    pub times: u64,
}

/// The text of a statement, by engine where they differ.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Text(pub Vec<(String, String)>);

/// The engine of a text that every engine understands.
pub const ANY: &str = "any";

impl Text {
    /// The text for an engine, else for its [relative](plimsoll_engine::Description::relative), else for any.
    pub fn for_engine(&self, engine: &str, relative: Option<&str>) -> Option<&str> {
        let of = |name: &str| self.0.iter().find(|(engine, _)| engine == name).map(|(_, text)| text.as_str());
        of(engine).or_else(|| relative.and_then(of)).or_else(|| of(ANY))
    }

    /// All texts.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(_, text)| text.as_str())
    }
}
