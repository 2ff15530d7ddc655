//! Dated facts about providers: what a level of a service delivered, at which date, and from which source.
//!
//! The only crate that holds a provider's numbers. They are TOML files under `data/`, one per *edition* (a dated state
//! of a service), embedded into the program and checked as strictly as a user's file would be. Pure: no I/O, no clock.
//!
//! Beside the editions stand what the lab adds to them, so that each of their levels can be built ([`lab`]), and disks
//! with their limits ([`DiskEdition`]), limits that disks share ([`CapEdition`]), and instances that hold databases
//! ([`InstanceEdition`]).
//!
//! A figure is kept as it was published, with its basis and source. What is not known is absent: a statement without a
//! number ("nearly 3 x v11") is a note, runs that disagree stand side by side and are never averaged.

mod assumptions;
mod burst;
mod cap;
mod caps;
mod catalog;
mod completion;
mod date;
mod disk;
mod disk_parse;
mod disks;
mod error;
mod instance;
mod instances;
pub mod lab;
mod lab_level;
mod limit;
mod model;
mod parse;
mod provisioned;
mod search;
mod sourced;

pub use burst::{Burst, BurstKind};
pub use cap::{CapAt, CapClass, CapEdition, CapSize, SharedLimit};
pub use catalog::{Catalog, Files, LevelAt};
pub use date::Date;
pub use disk::{DiskClass, DiskEdition, DiskLatency, DiskLevel, Medium, Most};
pub use error::CatalogError;
pub use instance::{InstanceEdition, InstanceTier, LogRate, SharedIo, Space};
pub use lab_level::{Access, LabLevel, NeighbourFigures, Quantity};
pub use model::{Basis, Counts, CpuFit, Dtu, Edition, Figure, Level, Metric};
pub use provisioned::{Amount, DiskChoice, Provisioned, Share, SizedBurst};
pub use search::Match;
pub use sourced::{LatencyQuantiles, QuantilesMs, Sourced};
