//! The result store: runs and their points, on disk as soon as they are measured. The only crate that knows its SQL.
//!
//! A run is begun, its repetitions and points are added while they happen, and the finished record takes their place in the
//! end. A run that was killed therefore still shows every finished point; it has no `ended_at` then.
//!
//! Run ids are unique across machines and sort by time. "The newest run" means the highest id, not the latest
//! `started_at`, which in virtual time is whatever the model's calendar says.

mod document;
mod error;
mod merge;
mod schema;
mod sqlite;
mod summary;

use plimsoll_measurement::{Point, Repetition, RunRecord};

pub use error::StoreError;
pub use sqlite::SqliteStore;
pub use summary::{Filter, RunSummary};

/// In place of a run id: the newest run.
pub const LATEST: &str = "latest";

/// Shortest beginning of a run id that stands for the whole.
pub const SHORTEST_PREFIX: usize = 4;

/// Where runs are kept. Whatever a call has written is on disk when it returns.
pub trait Store: Send {
    /// Adds a run that starts now, with whatever repetitions it has.
    ///
    /// # Errors
    /// [`StoreError::RunExists`] if the id is taken.
    fn begin(&mut self, run: &RunRecord) -> Result<(), StoreError>;

    /// Adds a repetition to a run that was begun, or replaces what is known of it; its points are left as they are, and those
    /// in `repetition` are not looked at.
    ///
    /// # Errors
    /// [`StoreError::NotBegun`] without the run.
    fn repetition(&mut self, run_id: &str, repetition: &Repetition) -> Result<(), StoreError>;

    /// Adds a point behind the others of its repetition.
    ///
    /// # Errors
    /// [`StoreError::NotBegun`] without the run or the repetition.
    fn point(&mut self, run_id: &str, repetition_label: &str, point: &Point) -> Result<(), StoreError>;

    /// Puts the finished record in the place of everything that was known of the run.
    ///
    /// # Errors
    /// [`StoreError::NotBegun`] without the run.
    fn finish(&mut self, run: &RunRecord) -> Result<(), StoreError>;

    /// The record of a run, by its id, by a beginning of it that no other run has, or by [`LATEST`].
    ///
    /// # Errors
    /// [`StoreError::UnknownRun`], [`StoreError::AmbiguousRun`] or [`StoreError::PrefixTooShort`] if that isn't one run.
    fn load(&self, run_id_or_prefix: &str) -> Result<RunRecord, StoreError>;

    /// The runs that a filter lets through, the newest first.
    fn list(&self, filter: &Filter) -> Result<Vec<RunSummary>, StoreError>;
}
