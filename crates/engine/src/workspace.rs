//! Places of our own at a target, under leases.
//!
//! A *place* is a schema (servers) or a file (SQLite) that only we write to. A run claims a place for itself; a data set
//! that is kept has a place of its own, shared by runs that read it. The lease on a place is a lock of a session that
//! runs no statement, or a kernel lock on a file. It falls as soon as its client dies. What bears our [mark](crate::mark), or was
//! begun by us and never got it, may be removed without a lease; nothing else ever is.

use std::fmt;
use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};
use crate::mark::{Mark, Part};
use crate::request::Cancel;
use crate::table::Table;

/// The places of a target.
pub trait Workspaces: Send + Sync {
    /// Takes the lease on a place, and makes the place when the claim is exclusive and it isn't there. `None` if
    /// somebody else's lease stands against it (or a shared claim finds nothing).
    fn claim(&self, workspace: &Workspace, mode: ClaimMode) -> Result<Option<Box<dyn Lease>>>;

    /// Notes what the run of a place is about to make there by its definition's own statements: it is ours although it bears no mark.
    fn expects(&self, _workspace: &Workspace, _parts: &[Part]) -> Result<()> {
        Ok(())
    }

    /// Notes that the caller's own statements are about to make a place, and gives the mark that it is to bear.
    fn announces(&self, workspace: &Workspace) -> Result<Mark> {
        Ok(Mark::new(workspace.name()))
    }

    /// Everything with a name of ours at this target; [`WorkspaceStatus::not_ours`] says what is somebody else's.
    fn workspaces(&self) -> Result<Vec<WorkspaceStatus>>;

    /// Removes a place if it is ours and leaseless; false if a lease stands against it. Nothing is left of it. An error, and all of
    /// it stays, if it is not ours, or holds something that isn't.
    fn remove(&self, workspace: &Workspace) -> Result<bool>;

    /// Ends sessions of ours without a lease of their run; returns how many. None outlive their run where they live in its process.
    fn end_orphans(&self) -> Result<u32> {
        Ok(0)
    }

    /// Free bytes on the disk that holds the data; `None` where that can't be known.
    fn free_bytes(&self) -> Option<u64> {
        None
    }

    /// Makes the tables of `workspace` cold for the run that holds the lease on `run`, by the means that `cold` allows, and
    /// says what was done. No session may be open on the place. `follower` hears of everything that takes long.
    fn make_cold(
        &self,
        workspace: &Workspace,
        run: &Workspace,
        tables: &[Table],
        cold: &Cold,
        follower: &mut dyn ColdFollower,
    ) -> Result<Vec<String>>;
}

/// A lease on a place; dropping it gives it back.
pub trait Lease: Send {
    /// Takes the lease again after the server was restarted. An error if somebody else was faster.
    fn renew(&mut self) -> Result<()>;

    /// How often it was lost and taken again since somebody asked, without anybody asking for that. An error if it can't be taken again.
    fn losses(&mut self) -> Result<u64> {
        Ok(0)
    }

    /// Turns an exclusive lease into a shared one, without a gap.
    fn share(&mut self) -> Result<()>;
}

/// How a place is claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimMode {
    /// For us alone; made if it isn't there.
    Exclusive,
    /// With others that read it; it has to be there.
    Shared,
}

/// What a place is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkspaceKind {
    /// Everything a run makes for itself.
    Run,
    /// A data set that is kept for later runs.
    Data,
    /// A whole database that a run makes to move it. It is under the lease of its run's place.
    Copy,
}

/// The name of a place: `plimsoll_run_<run id>`, `plimsoll_data_<hash>` or `plimsoll_copy_<run id><letter>`. Schemas,
/// databases and files are named by it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Workspace(String);

impl Workspace {
    const RUN: &'static str = "plimsoll_run_";
    const DATA: &'static str = "plimsoll_data_";
    const COPY: &'static str = "plimsoll_copy_";
    /// Letters and digits after the prefix: a run's id, and a copy's letter.
    const LONGEST: usize = 33;

    /// The place of a run.
    ///
    /// # Errors
    /// If the id holds anything but lower-case letters and digits: names go into SQL texts and paths.
    pub fn run(id: &str) -> Result<Self> {
        Self::from_name(&format!("{}{id}", Self::RUN))
            .ok_or_else(|| Error::new(ErrorKind::Internal, "a run id may hold lower-case letters and digits only"))
    }

    /// The place of a data set, named by the hash of what is in it.
    pub fn data(hash: u64) -> Self {
        Self(format!("{}{hash:016x}", Self::DATA))
    }

    /// A database that the run of this place makes.
    #[must_use]
    pub fn copy(&self, letter: char) -> Self {
        let id = self.0.strip_prefix(Self::RUN).unwrap_or(&self.0);
        Self(format!("{}{id}{letter}", Self::COPY))
    }

    /// The place with the lease that protects this one: itself, but for a copy that of its run.
    #[must_use]
    pub fn leased_by(&self) -> Self {
        match self.0.strip_prefix(Self::COPY) {
            Some(rest) => Self(format!("{}{}", Self::RUN, &rest[..rest.len() - 1])),
            None => self.clone(),
        }
    }

    /// The place of that name, if the name is one of ours.
    pub fn from_name(name: &str) -> Option<Self> {
        let prefixes = [Self::RUN, Self::DATA, Self::COPY];
        let rest = prefixes.into_iter().find_map(|prefix| name.strip_prefix(prefix))?;
        // A copy has a letter beside its run's id.
        let ours = rest.len() > usize::from(name.starts_with(Self::COPY))
            && rest.len() <= Self::LONGEST
            && rest.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
        ours.then(|| Self(name.to_owned()))
    }

    /// Whether a text has the beginning of such a name in it.
    pub fn is_named_in(text: &str) -> bool {
        [Self::RUN, Self::DATA, Self::COPY].iter().any(|prefix| text.contains(prefix))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.0
    }

    /// What it is for.
    pub fn kind(&self) -> WorkspaceKind {
        match self.0.as_str() {
            name if name.starts_with(Self::RUN) => WorkspaceKind::Run,
            name if name.starts_with(Self::COPY) => WorkspaceKind::Copy,
            _ => WorkspaceKind::Data,
        }
    }
}

impl fmt::Display for Workspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A place that was found at a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceStatus {
    /// Its name.
    pub workspace: Workspace,
    /// True if somebody holds a lease on it.
    pub leased: bool,
    /// Why it isn't ours, though it has a name of ours, or why nobody can tell, with another kind than [`ErrorKind::Safety`].
    /// Nobody touches it then.
    pub not_ours: Option<Error>,
}

impl WorkspaceStatus {
    /// True if it is ours and nobody works in it.
    pub const fn is_left(&self) -> bool {
        !self.leased && self.not_ours.is_none()
    }
}

/// What may be done to make tables cold.
#[derive(Debug, Clone, Default)]
pub struct Cold {
    /// A shell command that restarts the server.
    pub restart_command: Option<String>,
    /// True if others may be reading the tables: then they are not written anew.
    pub shared: bool,
}

/// Follows a cold start, which may take minutes.
pub trait ColdFollower {
    /// A session works now; this cancels its statement. It replaces the handle that was given before.
    fn working(&mut self, cancel: Arc<dyn Cancel>);

    /// Called between steps and while waiting; an error ends the cold start.
    fn check(&mut self) -> Result<()>;

    /// The server was restarted and answers again: leases have fallen and must be renewed before anything else.
    fn restarted(&mut self) -> Result<()>;

    /// Something that the run should say of its cold start.
    fn warn(&mut self, _: String) {}
}

/// Nobody follows: a cold start that nothing interrupts, on a place with a lease that needs no renewal.
#[derive(Debug, Default)]
pub struct Unfollowed;

impl ColdFollower for Unfollowed {
    fn working(&mut self, _: Arc<dyn Cancel>) {}
    fn check(&mut self) -> Result<()> {
        Ok(())
    }
    fn restarted(&mut self) -> Result<()> {
        Ok(())
    }
}
