//! A rate that is predicted, and what a limit that is raised brings to it.

/// A rate with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    /// The middle.
    pub value: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// What raising a limit brings.
#[derive(Debug, Clone, PartialEq)]
pub struct LimitGain {
    /// Name of the limit in verdicts.
    pub limit: &'static str,
    /// The change in words.
    pub change: String,
    /// How much higher the rate is, in percent.
    pub percent: Rate,
}
