//! Run records become a report model, and the model has several faces: terminal text, Markdown, CSV, JSON Lines, one HTML file.
//!
//! [`build`] makes a [`model::Report`] from records: all arithmetic and choice is there. A face lays out its parts and formats its
//! cells. Everything returns a `String`; nothing is printed and nothing is fetched, neither while a report is made nor while it
//! is read. What is unknown is shown as an en dash or left out, never as zero.

pub mod build;
pub mod model;

pub mod csv;
pub mod html;
pub mod markdown;
pub mod terminal;

pub use build::steadiness::{Steadiness, steadiness};
pub use build::{
    Compared, Comparison, Differs, RunSummary, accuracy, against, bound, bound_by, disks, ended, history, in_a_line,
    layouts, limit_in_a_cell, other_cores, planned, self_test, simulated, steadiness,
};
pub use model::format::plain;

use plimsoll_measurement::RunRecord;

/// The record with all warnings that its report has, as one line of JSON Lines without the line's end.
///
/// # Errors
/// Never for records as they are defined today; the signature leaves room for values that JSON can't hold.
pub fn json_line(record: &RunRecord) -> Result<String, serde_json::Error> {
    serde_json::to_string(&build::with_warnings(record))
}
