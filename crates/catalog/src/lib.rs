//! Dated facts about providers: what a level of a service delivered, at which date, and who says so.
//!
//! The only crate that holds a provider's numbers. They are TOML files under `data/`, one per *edition* (a dated state
//! of a service), embedded into the program and checked as strictly as a user's file would be. Pure: no I/O, no clock.
//!
//! A figure is kept as it was published, with its basis and source. What is not known is absent: a statement without a
//! number ("nearly 3 x v11") is a note, runs that disagree stand side by side and are never averaged.

mod assumptions;
mod catalog;
mod completion;
mod date;
mod error;
pub mod lab;
mod limit;
mod model;
mod parse;
mod search;
mod sourced;

pub use assumptions::Access;
pub use catalog::{Catalog, Files, LevelAt};
pub use date::Date;
pub use error::CatalogError;
pub use lab::{LabLevel, NeighbourFigures, Quantity};
pub use model::{Basis, Counts, CpuFit, Dtu, Edition, Figure, Level, Metric};
pub use search::Match;
pub use sourced::{LatencyQuantiles, QuantilesMs, Sourced};
