//! Cumulative counters of a server, as whoever reads them gives them on: what is counted ([`measure`]), and all that was read of a source
//! at one time ([`snapshot`]). Time is microseconds (`_us`).

pub mod measure;
pub mod snapshot;

pub use measure::{Measure, Values};
pub use snapshot::{Edge, Evictions, Item, Plan, Row, RowId, Server, Snapshot, Source, Total};
