//! Cold scans of copies (reference, 1.6): the tables are made in a database of their own, and each repetition reads a new copy of
//! it. For a service that has neither a server to restart nor a cache to empty.

use std::sync::Arc;

use plimsoll_engine::transfer::Move;
use plimsoll_engine::{Cancel, Database, Error, ErrorKind, Follow, Result, Transfer, Workspace};

use crate::dataset::{self, Dataset, DatasetSpec};
use crate::interrupt::{CancelGuard, Interrupt};
use crate::step::context::{Keep, Target};
use crate::step::transfer::moves::both;

/// The database that is copied, and its copy.
pub(super) struct Copied {
    transfer: Box<dyn Transfer>,
    source: Workspace,
    copy: Workspace,
    /// Where the present copy is sampled, if it isn't at the target.
    elsewhere: Option<Box<dyn Database>>,
}

impl Copied {
    /// Where a copy is known to be cold. Makes nothing.
    ///
    /// # Errors
    /// Elsewhere, and if the target can't copy databases.
    pub fn new(target: &Target<'_>) -> Result<Self> {
        let engine = &target.database.description().engine;
        let refused = || {
            Error::new(ErrorKind::Unsupported, format!("a copy of a database is not known to be cold on '{engine}'"))
                .hint("it is on Azure SQL Database and in the lab; elsewhere leave out --cold copy")
        };
        let mut transfer = target.database.transfer(target.workspace)?.ok_or_else(refused)?;
        if !transfer.copies_are_cold() {
            return Err(refused());
        }
        transfer.find_tools(Move::Copy)?;
        Ok(Self { transfer, source: target.workspace.copy('a'), copy: target.workspace.copy('b'), elsewhere: None })
    }

    /// Makes the tables. What is said of them holds of each copy.
    pub fn load(&mut self, target: &Target<'_>, keep: &mut Keep<'_>, wanted: DatasetSpec) -> Result<Dataset> {
        self.transfer.make(&self.source)?;
        let tables = dataset::load(target, keep, &self.source, wanted)?;
        Ok(Dataset { workspace: self.source.clone(), tables, lease: None, reused: false, shared: false })
    }

    /// A new copy in place of the last one, for the next repetition.
    pub fn renew(&mut self, target: &Target<'_>, keep: &mut Keep<'_>) -> Result<Workspace> {
        keep.log.activity("copying the database, so that nothing of it is in memory");
        let mut follower = Follower { interrupt: target.interrupt, watched: None };
        let way = self.transfer.methods()[0];
        self.elsewhere = None;
        self.transfer.copy(&self.source, &self.copy, way, &mut follower)?;
        let inside = self.transfer.inside(&self.copy)?;
        self.elsewhere = inside.elsewhere;
        Ok(inside.workspace)
    }

    /// What is measured: the copy.
    pub fn database(&self) -> Option<&dyn Database> {
        self.elsewhere.as_deref()
    }

    /// Each is tried, whatever became of the other.
    pub fn remove(&mut self) -> Result<()> {
        self.elsewhere = None;
        both(self.transfer.remove(&self.copy), self.transfer.remove(&self.source))
    }
}

/// Lets an interrupt end a copy.
struct Follower<'a> {
    interrupt: &'a Interrupt,
    watched: Option<CancelGuard>,
}

impl Follow for Follower<'_> {
    fn stage(&mut self, _: &'static str) -> Result<()> {
        self.interrupt.check()
    }

    fn working(&mut self, cancel: Arc<dyn Cancel>) {
        self.watched = Some(self.interrupt.watch(cancel));
    }

    fn look(&mut self, _: &mut dyn FnMut() -> Option<u64>) -> Result<()> {
        self.interrupt.check()
    }
}
