//! The result store: runs and their events, and what was watched ([`ProfileStore`]), kept as soon as they are told. The only crate that
//! knows its SQL.
//!
//! A run is what its events make of it ([`plimsoll_measurement::fold`]): one that was killed has no last event, and shows all
//! that was kept. Beside the events stand the columns of lists, so that a list reads no events.
//!
//! Run ids are unique across machines and sort by time. "The newest run" means the highest id, not the latest
//! `started_at`. In virtual time that is whatever the model's calendar says.

mod error;
mod events;
mod header;
mod intents;
mod making;
mod profiles;
mod schema;
mod sqlite;
mod summary;

use plimsoll_measurement::Event;

pub use error::StoreError;
pub use intents::Note;
pub use profiles::ProfileStore;
pub use profiles::kinds::{Happened, Keep, Profile, Save, Text};
pub use sqlite::RunStore;
pub use summary::{Filter, RunSummary};

/// In place of a run id: the newest run.
pub const LATEST: &str = "latest";

/// Shortest beginning of a run id that stands for the whole.
pub const SHORTEST_PREFIX: usize = 4;

/// An event and where it stands in the store: later ones of the same store have higher positions, from whatever source.
#[derive(Debug, Clone, PartialEq)]
pub struct Kept {
    /// The position, above 0.
    pub position: u64,
    /// The event.
    pub event: Event,
}
