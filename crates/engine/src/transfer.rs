//! Whole databases, made and moved by the engine's own means: dumps and imports by its tools, copies by its server.

use std::any::Any;
use std::fmt;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use crate::database::{Cancel, Database, Workspace};
use crate::error::{Error, ErrorKind, Result};

/// Makes and moves databases of our own, each a [copy](crate::PlaceKind::Copy) under the lease of its run. Work in one goes
/// through [`Database::session`](crate::Database::session) with the copy as its place.
pub trait Transfer: Send {
    /// Programs that work in the folder of a backup or a restore.
    fn programs(&self) -> &'static [Program] {
        &[]
    }

    /// Ways in which this engine copies a database, the usual one first.
    fn methods(&self) -> &'static [&'static str];

    /// Finds the tools that a move needs, and says their names and versions. An error if one isn't on this machine.
    fn find_tools(&mut self, for_what: Move) -> Result<Vec<String>>;

    /// Makes an empty database, in place of one that may be there from an earlier repetition.
    fn make(&mut self, copy: &Workspace) -> Result<()>;

    /// Removes a database if it is there.
    fn remove(&mut self, copy: &Workspace) -> Result<()>;

    /// Bytes that a database takes at present; `None` where that can't be said.
    fn bytes(&mut self, copy: &Workspace) -> Option<u64>;

    /// Writes a logical dump of a database to `file`.
    fn dump(&mut self, from: &Workspace, file: &File, follow: &mut dyn Follow) -> Result<()>;

    /// Loads a dump into a new database. Its stages are [`DEFINITIONS`], [`TABLES`] and [`INDEXES`] where the engine's
    /// tools have them apart; else all of it is [`TABLES`].
    fn import(&mut self, file: &File, into: &Workspace, follow: &mut dyn Follow) -> Result<()>;

    /// Copies a database, in one of [`Transfer::methods`], in place of an empty one. No session may be open on either. Its stage is
    /// [`COPY`].
    fn copy(&mut self, from: &Workspace, to: &Workspace, way: &str, follow: &mut dyn Follow) -> Result<()>;

    /// Bytes that a physical backup of a database takes on this machine: where an engine backs up all that its server has, of
    /// all that. `None` where that can't be said.
    fn backup_bytes(&mut self, from: &Workspace) -> Option<u64> {
        self.bytes(from)
    }

    /// Backs up a database physically, into an empty folder of ours on this machine, or where the server keeps its backups.
    fn back_up(&mut self, from: &Workspace, folder: &Path, follow: &mut dyn Follow) -> Result<()> {
        let _ = (from, folder, follow);
        Err(Error::new(ErrorKind::Unsupported, "databases can't be restored on this engine yet"))
    }

    /// Restores the backup of [`Transfer::back_up`] as the database `to`. Its stages are [`RESTORE`], in which pages move, and
    /// [`START`] where a server has to be started on them.
    fn restore(&mut self, folder: &Path, to: &Workspace, follow: &mut dyn Follow) -> Result<Restored> {
        let _ = (folder, to, follow);
        Err(Error::new(ErrorKind::Unsupported, "databases can't be restored on this engine yet"))
    }
}

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

/// A restored database.
pub struct Restored {
    /// The server that it is on, if it isn't the target's.
    pub elsewhere: Option<Box<dyn Database>>,
    /// Its name there.
    pub workspace: Workspace,
    /// Dropping it stops that server and removes what is its own.
    pub keeper: Option<Box<dyn Any + Send>>,
}

impl fmt::Debug for Restored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Restored").field("place", &self.workspace).finish_non_exhaustive()
    }
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
