//! What a database should be stored on: which limits its files have on a service, and whether they fit.
//!
//! Pure: files, a dated catalogue and wishes in, results out. Nothing is read or changed at a target.
//!
//! GB and TB are binary here (2^30 and 2^40 bytes), as the publisher's own script counts them.

pub mod activity;
pub mod advice;
pub mod against;
pub mod choice;
pub mod demand;
pub mod exact;
pub mod file;
pub mod gain;
pub mod hindrance;
pub mod judgement;
pub mod layout;
pub mod limits;
pub mod list;
pub mod rules;
mod sheet;
pub mod sources;
pub mod statements;
pub mod storage;
pub mod trial;
pub mod waits;

pub use activity::Activity;
pub use advice::{Advice, Finding, RULES, Rule};
pub use demand::Demand;
pub use exact::Settled;
pub use file::{AtLimit, DatabaseFile, FileKind, TEMPDB};
pub use limits::{Broken, FileLimits, Limits, Next};
pub use sheet::ListError;
pub use storage::{Step, Storage, StorageError, Wishes};
