//! One result model, several faces: [`RunRecord`]s become terminal text, Markdown, CSV, JSON Lines or one HTML file.
//!
//! Everything returns a `String`; nothing is printed and nothing is fetched, neither while a report is made nor while it
//! is read. What is unknown is shown as an en dash or left out, never as zero.

pub mod accuracy;
mod campaign;
mod chart;
mod cpu;
mod evidence;
mod facts;
mod families;
mod grid;
pub mod history;
mod levels;
mod moved;
mod requests;
mod sampled;
pub mod steadiness;
mod words;

pub mod csv;
pub mod html;
pub mod markdown;
pub mod terminal;

pub use steadiness::{Steadiness, steadiness};
pub use words::{bound, plain};

use plimsoll_measurement::RunRecord;

/// The record as one line of JSON Lines, without the line's end.
///
/// # Errors
/// Never for records as they are defined today; the signature leaves room for values that JSON can't hold.
pub fn json_line(record: &RunRecord) -> Result<String, serde_json::Error> {
    serde_json::to_string(record)
}
