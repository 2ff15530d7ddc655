//! The verdict on a run: which limit bound, by which evidence, and what would bring more.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which limit bound, with evidence. `limit` is null where there is not enough of it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// Name of the limit: `cpu`, `data_iops`, `data_bandwidth` (`data_io` where it can't be told which), `log_write`,
    /// `memory`, `locks`, `workers`, `network`, `device`, `client`; `none` where no visible limit bound; or null.
    pub limit: Option<String>,
    /// Others that bound together with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    /// How far it was used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub utilisation_percent: Option<f64>,
    /// How much higher the rate would be if a device's limit that bound were used to the full: rate / utilisation. Absent where it was,
    /// and where the CPU stood at 90 % or more or isn't known, as it may end before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub theoretical_gain_percent: Option<f64>,
    /// Sentences a person can check.
    pub evidence: Vec<String>,
    /// What the rate would gain, by a model of what was measured, the largest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gains: Vec<Gain>,
    /// The same for each stretch of time with a verdict of its own, where there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub segments: Vec<Segment>,
}

impl Verdict {
    /// All limits that bound, the first one first; none without enough evidence.
    pub fn limits(&self) -> impl Iterator<Item = &str> {
        self.limit.iter().chain(&self.also).map(String::as_str)
    }
}

/// What something that is lifted would bring, by a model of what was measured.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Gain {
    /// Name of the limit as in [`Verdict::limit`].
    pub limit: String,
    /// What is changed, in words: `20 % more`, `without the freeze`, ...
    pub change: String,
    /// How much higher the rate would be, in percent.
    pub gain_percent: f64,
    /// The lower end over what the run leaves open; absent where that was not looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gain_percent_low: Option<f64>,
    /// The upper end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gain_percent_high: Option<f64>,
}

/// A stretch of a repetition with one verdict.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Segment {
    /// The repetition: `a`, `b`, `c`...
    pub repetition: String,
    /// Name of the step within a test of several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// From, seconds after the repetition's start.
    pub from_seconds: f64,
    /// To.
    pub to_seconds: f64,
    /// Name of the limit as in [`Verdict::limit`].
    pub limit: Option<String>,
    /// Others that bound together with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    /// How far it was used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub utilisation_percent: Option<f64>,
    /// Sentences a person can check.
    pub evidence: Vec<String>,
}
