//! Where the suite gets its targets: a bed for each engine.

pub mod mariadb;
mod memory;
#[cfg(feature = "live-mssql")]
pub mod mssql;
pub mod postgres;
pub mod sqlite;

use std::sync::Arc;

use plimsoll_clock::{Clock, RealClock};
use plimsoll_engine::{
    ClaimMode, Credentials, Database, Engine, ErrorKind, Lease, RequestAccess, Requester, Result, Session, Target,
    Workspace,
};

/// What the suite needs to know of an engine.
pub trait Bed: Sync {
    /// The engine.
    fn engine(&self) -> &'static dyn Engine;

    /// URL of the target that all tests share; each has places of its own there.
    fn url(&self) -> String;

    /// Opens that target.
    fn open(&self) -> Box<dyn Database> {
        self.try_open(&self.url()).unwrap()
    }

    /// Opens a target on the machine's clock.
    fn try_open(&self, url: &str) -> Result<Box<dyn Database>> {
        open(self.engine(), url)
    }

    /// A query of one 64-bit integer that keeps the engine busy for many minutes unless somebody ends it.
    fn endless(&self) -> &'static str;

    /// Whether infinity, and a zero that keeps its sign, can be stored.
    fn has_all_floats(&self) -> bool;

    /// Makes something that is not ours under the name of a place.
    fn plant(&self, workspace: &Workspace);

    /// Whether that is still there as it was.
    fn is_planted(&self, workspace: &Workspace) -> bool;

    /// URLs that can't be opened, with the class of the error. A password in one of them is [`PLANTED`].
    fn refused(&self) -> Vec<(String, ErrorKind)>;

    /// A server that its owner may kill; `None` for an engine in our own process.
    fn server(&self) -> Option<Box<dyn Server>>;
}

/// A server of a test's own.
pub trait Server {
    /// Opens it.
    fn open(&self) -> Box<dyn Database>;

    /// Kills it as a crash would.
    fn kill(&self);

    /// Starts it again.
    fn restart(&self);

    /// A shell command that restarts it.
    fn restart_command(&self) -> String;
}

/// A password that must be found nowhere.
pub const PLANTED: &str = "pl4nted-s3cret";

/// Opens a URL on the machine's clock.
pub fn open(engine: &dyn Engine, url: &str) -> Result<Box<dyn Database>> {
    let clock: Arc<dyn Clock> = Arc::new(RealClock::new());
    engine.open(&Target::parse(url)?, &Credentials::default(), clock)
}

/// Removes a place whose run has ended. Whoever ends orphans holds the lock of each dead run for a moment, so that the place may
/// be busy at first.
pub fn remove_at_last(database: &dyn Database, workspace: &Workspace) {
    while !database.remove(workspace).unwrap() {}
}

/// A claimed place with a session in it.
pub struct Bench {
    pub session: Box<dyn Session>,
    pub lease: Box<dyn Lease>,
    pub database: Box<dyn Database>,
    pub workspace: Workspace,
}

impl Bench {
    /// In the target that all tests share.
    pub fn new(bed: &dyn Bed, name: &str) -> Self {
        Self::within(bed.open(), name)
    }

    pub fn within(database: Box<dyn Database>, name: &str) -> Self {
        let workspace = Workspace::run(name).unwrap();
        let lease = database.claim(&workspace, ClaimMode::Exclusive).unwrap().unwrap();
        let session = database.session(&workspace, &workspace).unwrap();
        Self { session, lease, database, workspace }
    }

    /// A session for requests in the same place.
    pub fn requester(&self) -> Box<dyn Requester> {
        self.database.requester(&self.workspace, &self.workspace, RequestAccess::OWN).unwrap()
    }
}
