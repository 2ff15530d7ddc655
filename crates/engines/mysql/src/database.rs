//! An opened server.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_clock::Clock;
use plimsoll_engine::capability::Capability;
use plimsoll_engine::database::{
    ClaimMode, Cold, ColdFollower, Database, Description, Lease, Sampler, Session, Workspace, WorkspaceStatus,
};
use plimsoll_engine::error::Result;
use plimsoll_engine::process;
use plimsoll_engine::request::{RequestAccess, Requester};
use plimsoll_engine::table::Table;
use plimsoll_engine::transfer::Transfer;
use plimsoll_measurement::Ceiling;

use super::connect::Connector;
use super::counters::{self, ProcessSampler};
use super::describe;
use super::lease::{self, MySqlLease};
use super::load::Way;
use super::requester::MySqlRequester;
use super::sampler::ServerSampler;
use super::session::MySqlSession;
use super::transfer::MySqlTransfer;
use super::workspace::{self, Owner};
use super::{capabilities, cold, orphans};

/// `innodb_old_blocks_time`, if the server doesn't say.
const OLD_BLOCKS_MS: u64 = 1_000;
/// The server's clock and ours need not go alike.
const REST_MARGIN: Duration = Duration::from_millis(50);

/// Name of sessions that neither work nor hold a lease.
pub(super) const CONTROL: &str = "plimsoll";

/// What sessions know of their server.
#[derive(Debug, Clone, Copy)]
pub(super) struct ServerFacts {
    pub(super) page_bytes: u64,
    /// How it takes rows.
    pub(super) way: Way,
    /// No cache of the system is between it and its files.
    pub(super) is_direct: bool,
}

/// Holds no connection: whoever asks something of the database gets a fresh one, which a restart can't have broken.
pub(super) struct MySqlDatabase {
    connector: Arc<Connector>,
    clock: Arc<dyn Clock>,
    description: Description,
    facts: ServerFacts,
    data_directory: Option<PathBuf>,
    ceilings: Vec<Ceiling>,
}

impl MySqlDatabase {
    /// Connects and asks the server who it is.
    pub(super) fn open(connector: Connector, clock: Arc<dyn Clock>) -> Result<Self> {
        let described = describe::describe(&mut connector.connect(CONTROL)?, &connector)?;
        let describe::Described { description, facts, data_directory, ceilings } = described;
        Ok(Self { connector: Arc::new(connector), clock, description, facts, data_directory, ceilings })
    }
}

impl Database for MySqlDatabase {
    fn description(&self) -> &Description {
        &self.description
    }

    /// None at all if the server can't be asked now.
    fn capabilities(&self) -> Vec<Capability> {
        let connection = self.connector.connect(CONTROL);
        connection.and_then(|mut connection| capabilities::detect(&mut connection)).unwrap_or_default()
    }

    fn claim(&self, workspace: &Workspace, mode: ClaimMode) -> Result<Option<Box<dyn Lease>>> {
        let lease = MySqlLease::claim(&self.connector, &self.clock, workspace, mode)?;
        Ok(lease.map(|lease| Box::new(lease) as Box<dyn Lease>))
    }

    fn session(&self, workspace: &Workspace, run: &Workspace) -> Result<Box<dyn Session>> {
        self.session_with(workspace, run, RequestAccess::OWN)
    }

    /// A session that may only read has names looked up in the database of the URL; one that may write reaches tables of others
    /// by their names with the database in front.
    fn session_with(&self, workspace: &Workspace, run: &Workspace, access: RequestAccess) -> Result<Box<dyn Session>> {
        Ok(Box::new(MySqlSession::open(&self.connector, &self.clock, self.facts, (workspace, run), access)?))
    }

    fn requester(&self, workspace: &Workspace, run: &Workspace, access: RequestAccess) -> Result<Box<dyn Requester>> {
        Ok(Box::new(MySqlRequester::open(&self.connector, self.facts, workspace, run, access)?))
    }

    fn workspaces(&self) -> Result<Vec<WorkspaceStatus>> {
        workspace::list(&mut workspace::control(&self.connector, CONTROL)?)
    }

    fn end_orphans(&self) -> Result<u32> {
        orphans::end_all(&mut workspace::control(&self.connector, CONTROL)?, self.clock.as_ref())
    }

    fn remove(&self, workspace: &Workspace) -> Result<bool> {
        let lease = workspace.leased_by();
        let mut connection = workspace::control(&self.connector, &lease::name(&lease))?;
        if workspace::owner(&mut connection, workspace)? == Owner::Somebody {
            return Err(workspace::foreign(workspace));
        }
        if !workspace::try_lock(&mut connection, &lease, false)? {
            return Ok(false);
        }
        orphans::end_all(&mut connection, self.clock.as_ref())?;
        // Asked again under the lock.
        let removed = match workspace::owner(&mut connection, workspace)? {
            Owner::We | Owner::Unfinished => workspace::drop_database(&mut connection, workspace),
            Owner::Somebody => Err(workspace::foreign(workspace)),
            Owner::Nobody => Ok(()),
        };
        // The session's end would do the same, a moment later.
        let _ = workspace::unlock(&mut connection, &lease);
        removed.map(|()| true)
    }

    fn free_bytes(&self) -> Option<u64> {
        process::free_bytes(self.data_directory.as_ref()?)
    }

    fn make_cold(
        &self,
        workspace: &Workspace,
        run: &Workspace,
        tables: &[Table],
        cold: &Cold,
        follower: &mut dyn ColdFollower,
    ) -> Result<Vec<String>> {
        let loads = self.description.settings.get("innodb_buffer_pool_load_at_startup");
        let mut maker = cold::ColdMaker {
            connector: &self.connector,
            clock: self.clock.as_ref(),
            data_directory: self.data_directory.as_deref(),
            loads_at_startup: loads.is_some_and(|value| value == "ON"),
            follower,
        };
        maker.make_cold(workspace, run, tables, cold)
    }

    fn transfer(&self, run: &Workspace) -> Result<Option<Box<dyn Transfer>>> {
        let product = self.connector.connect(CONTROL)?.server.product;
        Ok(Some(Box::new(MySqlTransfer::new(&self.connector, &self.clock, run, product))))
    }

    fn rest_before_reuse(&self) -> Duration {
        let setting = self.description.settings.get("innodb_old_blocks_time");
        let rest = Duration::from_millis(setting.and_then(|ms| ms.parse().ok()).unwrap_or(OLD_BLOCKS_MS));
        if rest.is_zero() { rest } else { rest + REST_MARGIN }
    }

    fn server_sampler(&self) -> Result<Option<Box<dyn Sampler>>> {
        Ok(Some(Box::new(ServerSampler::open(&self.connector, &self.clock, self.facts)?)))
    }

    fn answers(&self, patience: Duration) -> bool {
        self.connector.connect_within("plimsoll", patience).is_ok()
    }

    fn server_pids(&self) -> Vec<u32> {
        let connection = self.connector.connect(CONTROL).ok();
        let pid = connection.and_then(|mut connection| counters::process_of(&mut connection, self.connector.loopback));
        pid.into_iter().collect()
    }

    fn ceilings(&self) -> Vec<Ceiling> {
        self.ceilings.clone()
    }

    fn process_sampler(&self) -> Option<Box<dyn Sampler>> {
        let mut connection = self.connector.connect(CONTROL).ok()?;
        let pid = counters::process_of(&mut connection, self.connector.loopback)?;
        Some(Box::new(ProcessSampler::new(Arc::clone(&self.clock), pid)?))
    }
}
