//! An opened server.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_engine::process;
use plimsoll_engine::server::lease::ServerLease;
use plimsoll_engine::server::place::{self, CONTROL, Keepers as _};
use plimsoll_engine::server::processes::ProcessSampler;
use plimsoll_engine::snapshots::{SnapshotJob, SnapshotReader, SnapshotTables};
use plimsoll_engine::{
    Cancel, Capability, ClaimMode, Cold, ColdFollower, Database, Description, Folders, Lease, Mark, Moves, Part,
    QuerySampler, RequestAccess, Requester, Result, Sampler, SavedReading, Saving, SelfTest, Session, Sessions, Table,
    Telemetry, Transfer, Workspace, WorkspaceStatus, Workspaces,
};
use plimsoll_measurement::Ceiling;

use super::connect::Connector;
use super::counters;
use super::describe::{self, Described};
use super::queries::DigestSampler;
use super::requester::MySqlRequester;
use super::sampler::ServerSampler;
use super::self_test::MySqlSelfTest;
use super::session::MySqlSession;
use super::snapshots::{self, SnapshotTablesSource};
use super::statements::fill;
use super::transfer::MySqlTransfer;
use super::{capabilities, cold, saving, workspace};

/// How long removing waits for a lock, unless it was interrupted.
const LOCK_PATIENCE: Duration = Duration::from_mins(1);

/// Holds no connection: each question to the database gets a fresh one, which a restart can't have broken.
pub(super) struct MySqlDatabase {
    connector: Arc<Connector>,
    server: Described,
}

impl MySqlDatabase {
    /// Connects and asks the server for its identity.
    pub(super) fn open(mut connector: Connector) -> Result<Self> {
        let server = describe::describe(&mut connector.connect(CONTROL)?, &connector)?;
        connector.intents = connector.intents.at(&server.description.fingerprint);
        connector.identity.clone_from(&server.identity);
        Ok(Self { connector: Arc::new(connector), server })
    }

    fn open_boxed(connector: Connector) -> Result<Box<dyn Database>> {
        Ok(Box::new(Self::open(connector)?))
    }
}

impl Database for MySqlDatabase {
    fn description(&self) -> &Description {
        &self.server.description
    }

    /// None at all if the server can't be asked now.
    fn capabilities(&self) -> Vec<Capability> {
        let connection = self.connector.connect(CONTROL);
        connection.and_then(|mut connection| capabilities::detect(&mut connection)).unwrap_or_default()
    }

    fn saving(&self) -> Result<Option<Saving>> {
        saving::open(&self.connector, self.server.facts).map(Some)
    }

    fn saved_reading(&self) -> Result<Option<SavedReading>> {
        saving::read(&self.connector, self.server.facts).map(Some)
    }

    fn self_test(&self) -> Result<Option<Box<dyn SelfTest>>> {
        Ok(Some(Box::new(MySqlSelfTest::open(&self.connector)?)))
    }

    fn pulse(&self) -> Option<Arc<dyn Cancel>> {
        Some(Arc::new(self.connector.pulse()))
    }
}

impl Workspaces for MySqlDatabase {
    fn claim(&self, workspace: &Workspace, mode: ClaimMode) -> Result<Option<Box<dyn Lease>>> {
        ServerLease::claim(&self.connector, workspace, mode)
    }

    fn announces(&self, workspace: &Workspace) -> Result<Mark> {
        self.connector.intents.begin(workspace.name())
    }

    fn expects(&self, workspace: &Workspace, parts: &[Part]) -> Result<()> {
        self.connector.intents.expect(workspace.name(), parts)
    }

    fn workspaces(&self) -> Result<Vec<WorkspaceStatus>> {
        workspace::list(&mut self.connector.keeper(CONTROL)?, &self.connector.intents)
    }

    fn end_orphans(&self) -> Result<u32> {
        place::end_orphans(&mut self.connector.keeper(CONTROL)?, self.connector.clock.as_ref())
    }

    fn remove(&self, workspace: &Workspace) -> Result<bool> {
        place::remove(self.connector.as_ref(), workspace, |connection| {
            let patience = self.connector.lines.patience_for_locks(LOCK_PATIENCE).as_secs().to_string();
            connection.set(&fill("patience for locks", &[("seconds", &patience)]))?;
            workspace::drop_database(connection, &self.connector.intents, workspace).map(|()| true)
        })
    }

    fn free_bytes(&self) -> Option<u64> {
        process::free_bytes(self.server.data_directory.as_ref()?)
    }

    fn make_cold(
        &self,
        workspace: &Workspace,
        run: &Workspace,
        tables: &[Table],
        cold: &Cold,
        follower: &mut dyn ColdFollower,
    ) -> Result<Vec<String>> {
        let loads = self.server.description.settings.get("innodb_buffer_pool_load_at_startup");
        let mut maker = cold::ColdMaker {
            connector: &self.connector,
            data_directory: self.server.data_directory.as_deref(),
            loads_at_startup: loads.is_some_and(|value| value == "ON"),
            follower,
        };
        maker.make_cold(workspace, run, tables, cold)
    }
}

impl Sessions for MySqlDatabase {
    /// A session that may only read has names looked up in the database of the URL. One that may write reaches tables
    /// of others by their names with the database in front.
    fn session_with(&self, workspace: &Workspace, run: &Workspace, access: RequestAccess) -> Result<Box<dyn Session>> {
        Ok(Box::new(MySqlSession::open(&self.connector, self.server.facts, (workspace, run), access)?))
    }

    fn requester(&self, workspace: &Workspace, run: &Workspace, access: RequestAccess) -> Result<Box<dyn Requester>> {
        Ok(Box::new(MySqlRequester::open(&self.connector, self.server.facts, workspace, run, access)?))
    }
}

impl Telemetry for MySqlDatabase {
    fn server_sampler(&self) -> Result<Option<Box<dyn Sampler>>> {
        Ok(Some(Box::new(ServerSampler::open(&self.connector, self.server.facts)?)))
    }

    fn query_sampler(&self) -> Result<Option<Box<dyn QuerySampler>>> {
        let identity = self.server.description.fingerprint.clone();
        Ok(Some(Box::new(DigestSampler::open(&self.connector, identity)?)))
    }

    fn query_snapshots(&self, tables: &SnapshotTables) -> Result<Option<SnapshotReader>> {
        let source = SnapshotTablesSource::open(&self.connector, self.server.facts, tables)?;
        Ok(Some(SnapshotReader::of(Box::new(source), tables)))
    }

    fn query_job(&self, job: &SnapshotJob) -> Result<Option<String>> {
        snapshots::job(&self.connector, job).map(Some)
    }

    fn answers(&self, patience: Duration) -> bool {
        self.connector.connect_within(CONTROL, patience).is_ok_and(|mut connection| {
            connection.link.set_timeout(Some(patience));
            connection.ping()
        })
    }

    fn server_pids(&self) -> Vec<u32> {
        let connection = self.connector.connect(CONTROL).ok();
        let pid = connection.and_then(|mut connection| counters::process_of(&mut connection, self.connector.loopback));
        pid.into_iter().collect()
    }

    fn folders(&self) -> Folders {
        Folders { data: self.server.data_directory.clone(), log: self.server.log_directory.clone() }
    }

    fn ceilings(&self) -> Vec<Ceiling> {
        self.server.ceilings.clone()
    }

    fn process_sampler(&self) -> Option<Box<dyn Sampler>> {
        ProcessSampler::of(&self.connector.clock, &self.server_pids())
    }
}

impl Moves for MySqlDatabase {
    fn transfer(&self, run: &Workspace) -> Result<Option<Box<dyn Transfer>>> {
        let product = self.connector.connect(CONTROL)?.server.product;
        Ok(Some(Box::new(MySqlTransfer::new(&self.connector, run, product, Self::open_boxed))))
    }
}
