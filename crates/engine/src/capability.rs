//! What a target lets us see and do, one thing each: found out, never assumed.

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
}

impl Capability {
    /// The sentence of a run about one that is missing.
    pub fn warning(&self) -> Option<String> {
        let remedy = self.remedy.as_ref().map(|remedy| format!(" ({remedy})")).unwrap_or_default();
        (!self.works).then(|| format!("{} not available: {}{remedy}", self.name, self.cost))
    }
}
