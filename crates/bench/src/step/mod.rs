//! What a repetition consists of. Each kind of step is a folder here, with its parameters, what it prepares and measures, its
//! figures, what they should be, and the space it takes; [`kinds`] lists them.

mod commits;
pub mod context;
mod copy;
mod import;
pub(crate) mod join;
mod keep;
pub mod kind;
pub mod kinds;
mod level_change;
mod memory;
pub(crate) mod probe;
mod requests;
mod restore;
mod scan;
mod target;
mod time;
mod transfer;
mod write;

pub use context::LevelWords;
pub use kind::{Kinds, Step, StepKind};
