//! What a prediction's record is made of.

use plimsoll_measurement::RunRecord;

use super::predict::{Calibrated, Prediction};
use super::rate::LimitGain;

/// What is predicted of a source, and where.
#[derive(Debug, Clone)]
pub struct Telling<'a> {
    /// The source's record.
    pub source: &'a RunRecord,
    /// The source.
    pub calibrated: &'a Calibrated,
    /// The prediction.
    pub prediction: &'a Prediction,
    /// The target, as a run on it would name it.
    pub target: String,
    /// The edition of the catalogue that the target is of, and its day.
    pub edition: (Option<String>, Option<String>),
    /// Gains that were asked for.
    pub gains: &'a [LimitGain],
    /// How often such predictions were right.
    pub score: String,
}
