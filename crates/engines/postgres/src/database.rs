//! An opened PostgreSQL database.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_engine::process;
use plimsoll_engine::server::lease::ServerLease;
use plimsoll_engine::server::place::{self, CONTROL, Keepers as _};
use plimsoll_engine::server::processes::ProcessSampler;
use plimsoll_engine::snapshots::{SnapshotJob, SnapshotReader, SnapshotTables};
use plimsoll_engine::{
    Cancel, Capability, ClaimMode, Cold, ColdFollower, Database, Description, Elsewhere, Folders, Lease, Mark, Moves,
    Part, QuerySampler, RequestAccess, Requester, Result, Sampler, SavedReading, Saving, SelfTest, Session, Sessions,
    Table, Telemetry, Transfer, Workspace, WorkspaceKind, WorkspaceStatus, Workspaces,
};
use plimsoll_measurement::Ceiling;

use super::connect::Connector;
use super::counters;
use super::describe::{self, Server};
use super::queries::StatementSampler;
use super::requester::WireRequester;
use super::sampler::ServerSampler;
use super::self_test::PostgresSelfTest;
use super::session::PostgresSession;
use super::snapshots::{self, SnapshotTablesSource};
use super::transfer::PostgresTransfer;
use super::{capabilities, cold, removal, saving};

/// Holds no connection: each question to the database gets a fresh one, which a restart can't have broken.
pub(super) struct PostgresDatabase {
    connector: Arc<Connector>,
    server: Server,
}

impl PostgresDatabase {
    /// Connects and asks the server for its identity.
    pub(super) fn open(mut connector: Connector) -> Result<Self> {
        let server = describe::describe(&mut connector.connect(CONTROL)?, &connector)?;
        connector.intents = connector.intents.at(&server.description.fingerprint);
        connector.identity = server.identity.clone();
        Ok(Self { connector: Arc::new(connector), server })
    }
}

/// Opens a database that a server of ours was started on.
fn open(connector: Connector) -> Result<Box<dyn Database>> {
    Ok(Box::new(PostgresDatabase::open(connector)?))
}

impl Database for PostgresDatabase {
    fn description(&self) -> &Description {
        &self.server.description
    }

    /// None at all if the server can't be asked now.
    fn capabilities(&self) -> Vec<Capability> {
        let connection = self.connector.connect(CONTROL);
        let detected = connection.and_then(|mut connection| capabilities::detect(&mut connection, self.server.version));
        detected.unwrap_or_default()
    }

    fn saving(&self) -> Result<Option<Saving>> {
        saving::open(&self.connector, self.server.version).map(Some)
    }

    fn saved_reading(&self) -> Result<Option<SavedReading>> {
        saving::read(&self.connector, self.server.version).map(Some)
    }

    fn self_test(&self) -> Result<Option<Box<dyn SelfTest>>> {
        Ok(Some(Box::new(PostgresSelfTest::open(&self.connector, self.server.version)?)))
    }

    fn pulse(&self) -> Option<Arc<dyn Cancel>> {
        Some(Arc::new(self.connector.pulse()))
    }

    /// A server that several addresses lead to counts once. Of a name with several addresses those count at which one answers.
    fn elsewhere(&self) -> Box<dyn Iterator<Item = Elsewhere> + '_> {
        let mut known = vec![self.server.identity.clone()];
        Box::new(self.connector.elsewhere().into_iter().flat_map(move |(mut answers, hosts)| {
            let mut found: Vec<Elsewhere> = Vec::new();
            let mut failed = None;
            for host in hosts {
                let address = host.errors.address.clone();
                match Self::open(host) {
                    Ok(database) if known.contains(&database.server.identity) => answers = true,
                    Ok(database) => {
                        known.push(database.server.identity.clone());
                        found.push((address, Ok(Box::new(database))));
                    }
                    Err(error) => failed = Some((address, Err(error))),
                }
            }
            if found.is_empty() && !answers {
                found.extend(failed);
            }
            found
        }))
    }
}

impl Workspaces for PostgresDatabase {
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
        removal::list(&self.connector)
    }

    fn end_orphans(&self) -> Result<u32> {
        place::end_orphans(&mut self.connector.keeper(CONTROL)?, self.connector.clock.as_ref())
    }

    fn remove(&self, workspace: &Workspace) -> Result<bool> {
        removal::remove(&self.connector, workspace)
    }

    fn free_bytes(&self) -> Option<u64> {
        process::free_bytes(self.server.table_directory.as_ref()?)
    }

    fn make_cold(
        &self,
        workspace: &Workspace,
        run: &Workspace,
        tables: &[Table],
        cold: &Cold,
        follower: &mut dyn ColdFollower,
    ) -> Result<Vec<String>> {
        let mut maker = cold::ColdMaker {
            connector: &self.connector,
            data_directory: self.server.data_directory.as_deref(),
            table_directory: self.server.table_directory.as_deref(),
            follower,
        };
        maker.make_cold(workspace, run, tables, cold)
    }
}

impl Sessions for PostgresDatabase {
    fn session_with(&self, workspace: &Workspace, run: &Workspace, access: RequestAccess) -> Result<Box<dyn Session>> {
        let version = self.server.version;
        if workspace.kind() == WorkspaceKind::Copy {
            // Its tables are in the schema that is named like the run's place.
            let inside = self.connector.to(workspace.name());
            return Ok(Box::new(PostgresSession::open(&inside, run, run, version, access)?));
        }
        Ok(Box::new(PostgresSession::open(&self.connector, workspace, run, version, access)?))
    }

    fn requester(&self, workspace: &Workspace, run: &Workspace, access: RequestAccess) -> Result<Box<dyn Requester>> {
        Ok(Box::new(WireRequester::open(&self.connector, workspace, run, access)?))
    }
}

impl Telemetry for PostgresDatabase {
    fn server_sampler(&self) -> Result<Option<Box<dyn Sampler>>> {
        Ok(Some(Box::new(ServerSampler::open(&self.connector, self.server.version)?)))
    }

    fn query_sampler(&self) -> Result<Option<Box<dyn QuerySampler>>> {
        Ok(Some(Box::new(StatementSampler::open(&self.connector, self.server.version)?)))
    }

    fn query_snapshots(&self, tables: &SnapshotTables) -> Result<Option<SnapshotReader>> {
        let source = SnapshotTablesSource::open(&self.connector, tables)?;
        Ok(Some(SnapshotReader::of(Box::new(source), tables)))
    }

    fn query_job(&self, job: &SnapshotJob) -> Result<Option<String>> {
        snapshots::job(&mut self.connector.connect(CONTROL)?, self.server.version, job).map(Some)
    }

    fn answers(&self, patience: Duration) -> bool {
        let connection = self.connector.connect_hurried(CONTROL, patience);
        connection.and_then(|mut connection| connection.set("")).is_ok()
    }

    fn server_pids(&self) -> Vec<u32> {
        let connection = self.connector.connect(CONTROL).ok();
        let postmaster = connection.and_then(|mut own| counters::postmaster(&mut own, self.connector.loopback));
        postmaster.into_iter().collect()
    }

    fn folders(&self) -> Folders {
        // The log may be elsewhere by a link, which the system follows.
        let log = self.server.data_directory.as_ref().map(|directory| directory.join("pg_wal"));
        Folders { data: self.server.table_directory.clone(), log }
    }

    fn ceilings(&self) -> Vec<Ceiling> {
        self.server.ceilings.clone()
    }

    fn process_sampler(&self) -> Option<Box<dyn Sampler>> {
        ProcessSampler::of(&self.connector.clock, &self.server_pids())
    }
}

impl Moves for PostgresDatabase {
    fn transfer(&self, run: &Workspace) -> Result<Option<Box<dyn Transfer>>> {
        Ok(Some(Box::new(PostgresTransfer::new(&self.connector, run, self.server.version, open))))
    }
}
