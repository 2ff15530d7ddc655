//! What can be wrong with a scenario.

/// What is wrong with a scenario, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct ScenarioError {
    /// The file, with line or key where they are known: `layout.toml:7`, `layout.toml: files.log.size`.
    pub place: String,
    /// What is wrong.
    pub problem: String,
    /// What to do.
    pub hint: String,
}

impl ScenarioError {
    pub(super) fn new(place: impl Into<String>, problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { place: place.into(), problem: problem.into(), hint: hint.into() }
    }

    /// The same, with the key it is about behind the file.
    pub(super) fn in_file(self, file: &str) -> Self {
        Self { place: format!("{file}: {}", self.place), ..self }
    }
}
