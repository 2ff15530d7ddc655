//! Builders: they make the report model from records, a file for each subject or section. All arithmetic and choice is here.

pub mod accuracy;
mod campaign;
mod cells;
mod comparison;
mod cpu;
mod evidence;
mod facts;
mod families;
mod grid;
pub mod history;
mod levels;
mod list;
mod log_waits;
mod moved;
mod order;
mod overview;
pub mod planned;
mod plots;
mod plots_more;
mod plots_phases;
mod plots_requests;
mod plots_samples;
mod requests;
mod rows;
mod run;
mod sampled;
pub mod self_test;
pub mod steadiness;
mod words;

pub use comparison::{Comparison, comparison};
pub use grid::simulated;
pub use list::{RunSummary, list};
pub use overview::{HOW_TO_READ, Refusal, report, side_by_side};
pub use rows::ROWS;
pub use run::{in_a_line, run, with_warnings};
pub use words::{bound, bound_by, ended, limit_in_a_cell};
