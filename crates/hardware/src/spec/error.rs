//! What can be wrong with a specification.

/// Similarity (Jaro-Winkler, 0 to 1) from which on a name is offered as the one that was meant.
const SIMILAR: f64 = 0.7;

/// What is wrong with a specification, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {}{problem}", key.as_ref().map(|key| format!("{key}: ")).unwrap_or_default())]
pub struct SpecError {
    /// The file and, where it is known, the line (`my.toml:7`), or the name of the specification.
    pub place: String,
    /// The key, with the tables it is in (`data.read_latency`).
    pub key: Option<String>,
    /// What is wrong.
    pub problem: String,
    /// What would be right, such as the nearest known name.
    pub hint: Option<String>,
}

impl SpecError {
    pub(crate) fn new(place: &str, key: Option<&str>, problem: impl Into<String>) -> Self {
        Self { place: place.to_owned(), key: key.map(str::to_owned), problem: problem.into(), hint: None }
    }

    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Offers the nearest of the known names, or all of them.
    #[must_use]
    pub(crate) fn nearest(self, name: &str, known: &[&str]) -> Self {
        if known.is_empty() {
            return self.hint("there are none");
        }
        let name = name.to_lowercase();
        let score = |candidate: &str| strsim::jaro_winkler(&name, &candidate.to_lowercase());
        let best = known.iter().map(|candidate| score(candidate)).fold(SIMILAR, f64::max);
        let mut nearest = known.iter().filter(|candidate| score(candidate) >= best);
        let known = known.join(", ");
        // Two that are equally near are no answer.
        match (nearest.next(), nearest.next()) {
            (Some(only), None) => self.hint(format!("did you mean '{only}'? known: {known}")),
            _ => self.hint(format!("known: {known}")),
        }
    }
}
