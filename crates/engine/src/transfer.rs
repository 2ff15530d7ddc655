//! How whole databases are moved: the stages of a move, its programs and its follower.

use std::sync::Arc;

use crate::error::Result;
use crate::request::Cancel;

/// A program that works in a folder of ours. Should our process be killed, it is ended by its name there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Program {
    /// Its name, as the system shows it.
    pub name: &'static str,
    /// True if it is to be asked to stop before it is killed: it has more to give back than its memory.
    pub is_asked: bool,
}

/// What a mover does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Move {
    /// A logical dump and its import.
    Import,
    /// A copy by the server.
    Copy,
    /// A physical backup and its restore.
    Restore,
}

/// Stage of an import: schemas and tables are made.
pub const DEFINITIONS: &str = "definitions";
/// Stage of an import: rows are loaded.
pub const TABLES: &str = "tables";
/// Stage of an import: indexes and constraints are made.
pub const INDEXES: &str = "indexes";
/// The stage of a copy.
pub const COPY: &str = "copy";
/// Stage of a restore: pages are moved.
pub const RESTORE: &str = "restore";
/// Stage of a restore: a server is started on them and recovers.
pub const START: &str = "start";

/// Follows a move, which may take hours.
pub trait Follow {
    /// A stage begins now; the one before has ended.
    fn stage(&mut self, name: &'static str) -> Result<()>;

    /// A session works now; this cancels its statement.
    fn working(&mut self, cancel: Arc<dyn Cancel>);

    /// Called several times a second where the engine lets us; `bytes` says how large the new database is by now. An error
    /// ends the move.
    fn look(&mut self, bytes: &mut dyn FnMut() -> Option<u64>) -> Result<()>;
}
