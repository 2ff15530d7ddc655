//! Tests of raw storage: reads and writes of a test file in a folder, cell by cell, as a kind of step that needs no database. The same
//! tests run on modelled volumes in virtual time.
//!
//! [`suite`] reads which cells a test has, [`file`] makes and removes the file, [`lanes`] make the operations by io_uring, by
//! threads that block, or on a [`modelled`] volume, [`cell`] runs one cell on the load engine, and [`step`] puts them into the life cycle of a run. [`import`] reads
//! what other tools measured.

pub mod bought;
mod buffer;
pub mod built;
pub mod cell;
mod commits;
pub mod engine;
mod error;
pub mod file;
pub mod import;
mod in_memory;
mod lanes;
mod medium;
pub mod modelled;
mod mounts;
mod offsets;
pub mod plan;
#[cfg(target_os = "linux")]
mod ring;
pub mod step;
pub mod suite;
pub mod sweep;
mod sync;
pub mod volume;

pub use engine::IoEngine;
pub use plan::Suite;
