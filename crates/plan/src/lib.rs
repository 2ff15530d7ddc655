//! What a database should be stored on: which limits its files have on a service, and whether they fit.
//!
//! Pure: files, a dated catalogue and wishes in, results out. Nothing is read or changed at a target.
//!
//! GB and TB are binary here (2^30 and 2^40 bytes), as the publisher's own script counts them.

pub mod file;
pub mod layout;
pub mod limits;
pub mod list;
pub mod rules;
pub mod statements;
pub mod storage;

pub use file::{DatabaseFile, FileKind, TEMPDB};
pub use limits::{Broken, FileLimits, Limits, Next};
pub use list::ListError;
pub use rules::{Advice, Finding, RULES, Rule};
pub use storage::{Step, Storage, StorageError, Wishes};
