//! The result store: runs and their events, kept as soon as they are told. The only crate that knows its SQL.
//!
//! A run is what its events make of it ([`plimsoll_measurement::fold`]): one that was killed has no last event, and shows all
//! that was kept. Beside the events stand the columns of lists, so that a list reads no events.
//!
//! Run ids are unique across machines and sort by time. "The newest run" means the highest id, not the latest
//! `started_at`, which in virtual time is whatever the model's calendar says.

mod error;
mod events;
mod schema;
mod sqlite;
mod summary;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use plimsoll_measurement::{Event, RunRecord};

pub use error::StoreError;
pub use sqlite::SqliteStore;
pub use summary::{Filter, RunSummary};

/// In place of a run id: the newest run.
pub const LATEST: &str = "latest";

/// Shortest beginning of a run id that stands for the whole.
pub const SHORTEST_PREFIX: usize = 4;

/// Runs or events that are read at a time where there may be many.
const PAGE: u32 = 1000;

/// An event and where it stands in the store: later ones of the same store have higher positions, whoever told them.
#[derive(Debug, Clone, PartialEq)]
pub struct Kept {
    /// The position, above 0.
    pub position: u64,
    /// The event.
    pub event: Event,
}

/// Where runs are kept. One writes at a time, many read meanwhile; threads share it.
pub trait RunStore: Send + Sync {
    /// Keeps events, all or none; how many of them were not known. They are safe when it returns, and come back to the last bit.
    ///
    /// # Errors
    /// [`StoreError::Document`] for an event that could not be read again; others if there is no room or no right to write.
    fn append(&self, events: &[Event]) -> Result<usize, StoreError>;

    /// The record of a run, by its id, by a beginning of it that no other run has, or by [`LATEST`].
    ///
    /// # Errors
    /// [`StoreError::UnknownRun`], [`StoreError::AmbiguousRun`] or [`StoreError::PrefixTooShort`] if that isn't one run.
    fn record(&self, run_id_or_prefix: &str) -> Result<RunRecord, StoreError>;

    /// The runs that a filter lets through, the newest first.
    fn summaries(&self, filter: &Filter) -> Result<Vec<RunSummary>, StoreError>;

    /// Events of a run behind a position (0 for all), at most so many. A reader that has seen the earlier ones catches
    /// up by them: what was dropped meanwhile changes no record.
    fn events(&self, run_id: &str, after: u64, limit: u32) -> Result<Vec<Kept>, StoreError>;

    /// Takes over the runs of another store that are not here, or not finished here; how many. The other store is not
    /// changed. Each run comes whole.
    ///
    /// # Errors
    /// Those of both stores; what came before stays, and the next try takes the rest.
    fn merge_from(&self, other: &dyn RunStore) -> Result<usize, StoreError> {
        let own = all_runs(self)?;
        let finished: BTreeSet<&str> =
            own.iter().filter(|run| run.ended_at.is_some()).map(|run| run.run_id.as_str()).collect();
        let mut taken = 0;
        for run in all_runs(other)?.into_iter().filter(|run| !finished.contains(run.run_id.as_str())) {
            let mut events = Vec::new();
            let mut position = 0;
            loop {
                let page = other.events(&run.run_id, position, PAGE)?;
                let Some(last) = page.last() else { break };
                position = last.position;
                events.extend(page.into_iter().map(|kept| kept.event));
            }
            taken += usize::from(self.append(&events)? > 0);
        }
        Ok(taken)
    }
}

fn all_runs<S: RunStore + ?Sized>(store: &S) -> Result<Vec<RunSummary>, StoreError> {
    let mut all: Vec<RunSummary> = Vec::new();
    loop {
        let after = all.last().map(|run| run.run_id.clone());
        let page = store.summaries(&Filter { after, limit: Some(PAGE), ..Filter::default() })?;
        if page.is_empty() {
            return Ok(all);
        }
        all.extend(page);
    }
}

/// Opens the store of that name, and makes it if there is none.
///
/// # Errors
/// If it can't be read and written, or something else is in its place.
pub fn open(name: &Path) -> Result<Arc<dyn RunStore>, StoreError> {
    Ok(Arc::new(SqliteStore::open(name)?))
}

/// Opens the store of that name for its runs to be read. It has to be there; no right to write is needed.
///
/// # Errors
/// [`StoreError::Missing`] if it isn't there; others if it can't be read, or something else is in its place.
pub fn open_to_read(name: &Path) -> Result<Arc<dyn RunStore>, StoreError> {
    Ok(Arc::new(SqliteStore::open_to_read(name)?))
}

/// Opens a store that has to be there in this release's version, and changes nothing in it.
///
/// # Errors
/// As [`open_to_read`]; [`StoreError::Version`] for one of an earlier release.
pub fn open_unchanged(name: &Path) -> Result<Arc<dyn RunStore>, StoreError> {
    Ok(Arc::new(SqliteStore::open_unchanged(name)?))
}
