//! What every database gives: a target by its parts. An engine that lacks a part leaves it as it stands here, which says so.

use std::any::Any;
use std::fmt;
use std::fs::File;
use std::iter;
use std::path::Path;
use std::sync::Arc;

use plimsoll_clock::{Clock, RealClock};

use crate::capability::Capability;
use crate::error::{Error, ErrorKind, Result};
use crate::level::Levels;
use crate::reading::SavedReading;
use crate::saving::Saving;
use crate::self_test::SelfTest;
use crate::target::{Credentials, Notation, Target};
use crate::transfer::{Follow, Move, Program};
use crate::work::{Expected, Work};

pub use crate::description::{Description, WeakIsolation};
pub use crate::request::{Cancel, RowSource};
pub use crate::session::{Plan, Session, Sessions, TableSize};
pub use crate::telemetry::{Sampler, Telemetry};
pub use crate::workspace::{
    ClaimMode, Cold, ColdFollower, Lease, Unfollowed, Workspace, WorkspaceKind, WorkspaceStatus, Workspaces,
};

/// A kind of database. The binary registers the engines; each opens the targets of its schemes.
pub trait Engine: Send + Sync {
    /// Names of what it drives, as [`Description::engine`] and run records have them: `postgresql`, `sqlite`.
    fn products(&self) -> &'static [&'static str];

    /// URL schemes that are this engine's.
    fn schemes(&self) -> &'static [&'static str];

    /// How its targets are written: by default as URLs with a server in them.
    fn notation(&self) -> Notation {
        Notation { schemes: self.schemes(), ..Notation::default() }
    }

    /// The clock that a target lives by: the machine's own unless it is modelled. `on_stall` hears of a thread that
    /// brings a virtual clock to a stop, in a sentence; nothing but ending the program helps then.
    ///
    /// # Errors
    /// If the URL can't be used.
    fn clock(&self, target: &Target, on_stall: Box<dyn Fn(&str) + Send + Sync>) -> Result<Arc<dyn Clock>> {
        let _ = (target, on_stall);
        Ok(Arc::new(RealClock::new()))
    }

    /// Connects and asks the target for its identity.
    fn open(&self, target: &Target, credentials: &Credentials, clock: Arc<dyn Clock>) -> Result<Box<dyn Database>>;
}

/// An opened target.
pub trait Database: Workspaces + Sessions + Telemetry + Moves {
    /// Its identity, as it states it.
    fn description(&self) -> &Description;

    /// What it lets us see and do, where the engine has found that out: one line each, whether it works or not.
    fn capabilities(&self) -> Vec<Capability> {
        Vec::new()
    }

    /// What was met at the target since it was opened, as far as a run should say it at its end.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }

    /// What adds rows to tables of ours among the user's own. `None` where an engine has no such tables.
    ///
    /// # Errors
    /// If no connection can be made.
    fn saving(&self) -> Result<Option<Saving>> {
        Ok(None)
    }

    /// What reads such tables, and writes nothing; `None` where nothing can be saved.
    ///
    /// # Errors
    /// If no connection can be made, or there is no such file.
    fn saved_reading(&self) -> Result<Option<SavedReading>> {
        Ok(None)
    }

    /// A connection that sends the engine's [statements](crate::Statements) one by one, and says what the server answers. `None`
    /// where an engine keeps no statements.
    ///
    /// # Errors
    /// If no connection can be made.
    fn self_test(&self) -> Result<Option<Box<dyn SelfTest>>> {
        Ok(None)
    }

    /// Finds out at an interrupt whether the server still hears, and breaks all lines to one that doesn't. `None` where there are no
    /// lines.
    fn pulse(&self) -> Option<Arc<dyn Cancel>> {
        None
    }

    /// The servers at the other hosts that its URL names, each opened when it is asked for: what was made there while it answered is
    /// still there.
    fn elsewhere(&self) -> Box<dyn Iterator<Item = Elsewhere> + '_> {
        Box::new(iter::empty())
    }

    /// What this work should show, where the limits are known; computed from them and from the rows, never measured.
    ///
    /// # Errors
    /// If the rows can't be made.
    fn expect(&self, work: Work<'_>) -> Result<Option<Expected>> {
        let _ = work;
        Ok(None)
    }
}

/// An address, and the server there.
pub type Elsewhere = (String, Result<Box<dyn Database>>);

/// What moves whole databases and the target itself.
pub trait Moves {
    /// What makes and moves whole databases for the run that holds the lease on `run`. `None` where that can't be done.
    ///
    /// # Errors
    /// If the target can't be asked.
    fn transfer(&self, run: &Workspace) -> Result<Option<Box<dyn Transfer>>> {
        let _ = run;
        Ok(None)
    }

    /// What changes the level of service of this target. `None` where only its owner's commands can.
    ///
    /// # Errors
    /// If the target can't be asked.
    fn levels(&self) -> Result<Option<Box<dyn Levels>>> {
        Ok(None)
    }
}

/// Makes and moves databases of our own, each a [copy](crate::WorkspaceKind::Copy) under the lease of its run. Work in one goes
/// through [`Sessions::session`] with the copy as its place.
pub trait Transfer: Send {
    /// Programs that work in the folder of a backup or a restore.
    fn programs(&self) -> &'static [Program] {
        &[]
    }

    /// Ways in which this engine copies a database, the usual one first.
    fn methods(&self) -> &'static [&'static str];

    /// True if nothing of a new copy is in memory, neither the engine's nor that of its machine, as far as anybody knows.
    fn copies_are_cold(&self) -> bool {
        false
    }

    /// A copy as what is measured: where a target samples nothing but its own database, the copy is a target of its own.
    fn inside(&self, copy: &Workspace) -> Result<Restored> {
        Ok(Restored { elsewhere: None, workspace: copy.clone(), keeper: None })
    }

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

    /// Loads a dump into a new database. Its stages are [`DEFINITIONS`](crate::transfer::DEFINITIONS), [`TABLES`](crate::transfer::TABLES) and [`INDEXES`](crate::transfer::INDEXES) where the engine's
    /// tools have them apart; else all of it is [`TABLES`](crate::transfer::TABLES).
    fn import(&mut self, file: &File, into: &Workspace, follow: &mut dyn Follow) -> Result<()>;

    /// Copies a database, in one of [`Transfer::methods`], in place of an empty one. No session may be open on either. Its stage is
    /// [`COPY`](crate::transfer::COPY).
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

    /// Restores the backup of [`Transfer::back_up`] as the database `to`. Its stages are [`RESTORE`](crate::transfer::RESTORE), in which pages move, and
    /// [`START`](crate::transfer::START) where a server has to be started on them.
    fn restore(&mut self, folder: &Path, to: &Workspace, follow: &mut dyn Follow) -> Result<Restored> {
        let _ = (folder, to, follow);
        Err(Error::new(ErrorKind::Unsupported, "databases can't be restored on this engine yet"))
    }
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
