//! Why a run cannot be predicted from.

/// What is wrong with a run as a source, or that it does not say enough.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct CalibrationError {
    /// What is wrong.
    pub problem: String,
    /// What to do.
    pub hint: String,
    /// True where the run is of the right kind and does not say enough, as a run without samples.
    pub lacks_evidence: bool,
}

impl CalibrationError {
    /// The run is of another kind than what is predicted from.
    pub fn unfit(problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { problem: problem.into(), hint: hint.into(), lacks_evidence: false }
    }

    /// The run says too little.
    pub fn not_enough(problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { lacks_evidence: true, ..Self::unfit(problem, hint) }
    }
}
