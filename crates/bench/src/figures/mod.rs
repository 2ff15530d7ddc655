//! From points to figures: a repetition gives one number per metric, the complete repetitions give it a spread. Which figures
//! there are is said by each kind of step.

pub mod of_run;
pub mod series;

pub use crate::step::join::joins_at_common_rungs;
pub use of_run::{metrics_of, series, series_of, so_far};
pub use series::{Measured, Series};
