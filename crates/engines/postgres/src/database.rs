//! An opened PostgreSQL database.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_clock::Clock;
use plimsoll_engine::capability::Capability;
use plimsoll_engine::database::{
    Cancel, ClaimMode, Cold, ColdFollower, Database, Description, Lease, Moves, Sampler, Session, Sessions, Telemetry,
    Transfer, Workspace, WorkspaceKind, WorkspaceStatus, Workspaces,
};
use plimsoll_engine::error::Result;
use plimsoll_engine::process;
use plimsoll_engine::request::{RequestAccess, Requester};
use plimsoll_engine::table::Table;
use plimsoll_measurement::Ceiling;

use super::connect::{CONTROL, Connector};
use super::counters::{self, ProcessSampler};
use super::describe::{self, Server};
use super::lease::PostgresLease;
use super::requester::WireRequester;
use super::sampler::ServerSampler;
use super::session::PostgresSession;
use super::transfer::PostgresTransfer;
use super::workspace::{self, Owner};
use super::{capabilities, cold, copies, orphans};

/// Holds no connection: whoever asks something of the database gets a fresh one, which a restart can't have broken.
pub(super) struct PostgresDatabase {
    connector: Arc<Connector>,
    clock: Arc<dyn Clock>,
    server: Server,
}

impl PostgresDatabase {
    /// Connects and asks the server who it is.
    pub(super) fn open(connector: Connector, clock: Arc<dyn Clock>) -> Result<Self> {
        let server = describe::describe(&mut connector.connect(CONTROL)?, &connector)?;
        Ok(Self { connector: Arc::new(connector), clock, server })
    }
}

/// Opens a database that a server of ours was started on.
fn open(connector: Connector, clock: Arc<dyn Clock>) -> Result<Box<dyn Database>> {
    Ok(Box::new(PostgresDatabase::open(connector, clock)?))
}

impl Database for PostgresDatabase {
    fn description(&self) -> &Description {
        &self.server.description
    }

    /// None at all if the server can't be asked now.
    fn capabilities(&self) -> Vec<Capability> {
        let connection = self.connector.connect(CONTROL);
        let detected = connection.and_then(|mut connection| capabilities::detect(&mut connection));
        detected.unwrap_or_default()
    }

    fn pulse(&self) -> Option<Arc<dyn Cancel>> {
        Some(Arc::new(self.connector.pulse()))
    }
}

impl Workspaces for PostgresDatabase {
    fn claim(&self, workspace: &Workspace, mode: ClaimMode) -> Result<Option<Box<dyn Lease>>> {
        let lease = PostgresLease::claim(&self.connector, &self.clock, workspace, mode)?;
        Ok(lease.map(|lease| Box::new(lease) as Box<dyn Lease>))
    }

    fn workspaces(&self) -> Result<Vec<WorkspaceStatus>> {
        let mut connection = self.connector.connect(CONTROL)?;
        let mut found = workspace::list(&mut connection)?;
        found.extend(copies::list(&mut connection)?);
        Ok(found)
    }

    fn end_orphans(&self) -> Result<u32> {
        orphans::end_all(&mut self.connector.connect(CONTROL)?, self.clock.as_ref())
    }

    fn remove(&self, workspace: &Workspace) -> Result<bool> {
        let lease = workspace.leased_by();
        let mut connection = workspace::lease_connection(&self.connector, &lease)?;
        connection.run("SET lock_timeout = 60000")?;
        let is_copy = workspace.kind() == WorkspaceKind::Copy;
        if !is_copy && workspace::owner(&mut connection, workspace)? == Owner::Somebody {
            return Err(workspace::foreign(workspace));
        }
        if !workspace::try_lock(&mut connection, &lease, false)? {
            return Ok(false);
        }
        orphans::end_all(&mut connection, self.clock.as_ref())?;
        if is_copy {
            // Its run may work from another database, where our lock says nothing.
            if workspace::is_locked_anywhere(&mut connection, &lease)? {
                return Ok(false);
            }
            let removed = copies::drop_database(&mut connection, workspace, self.server.version);
            let _ = workspace::unlock(&mut connection, &lease);
            return removed.map(|()| true);
        }
        // Asked again under the lock.
        let removed = match workspace::owner(&mut connection, workspace)? {
            Owner::We => workspace::drop_schema(&mut connection, workspace),
            Owner::Somebody => Err(workspace::foreign(workspace)),
            Owner::Nobody => Ok(()),
        };
        // The session's end would do the same, a moment later.
        let _ = workspace::unlock(&mut connection, workspace);
        removed.map(|()| true)
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
            clock: self.clock.as_ref(),
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
            return Ok(Box::new(PostgresSession::open(&inside, &self.clock, run, run, version, access)?));
        }
        Ok(Box::new(PostgresSession::open(&self.connector, &self.clock, workspace, run, version, access)?))
    }

    fn requester(&self, workspace: &Workspace, run: &Workspace, access: RequestAccess) -> Result<Box<dyn Requester>> {
        Ok(Box::new(WireRequester::open(&self.connector, workspace, run, access)?))
    }
}

impl Telemetry for PostgresDatabase {
    fn server_sampler(&self) -> Result<Option<Box<dyn Sampler>>> {
        Ok(Some(Box::new(ServerSampler::open(&self.connector, &self.clock, self.server.version)?)))
    }

    fn answers(&self, patience: Duration) -> bool {
        let connection = self.connector.connect_hurried(CONTROL, patience);
        connection.and_then(|mut connection| connection.run("")).is_ok()
    }

    fn server_pids(&self) -> Vec<u32> {
        let connection = self.connector.connect(CONTROL).ok();
        let postmaster = connection.and_then(|mut own| counters::postmaster(&mut own, self.connector.loopback));
        postmaster.into_iter().collect()
    }

    fn ceilings(&self) -> Vec<Ceiling> {
        self.server.ceilings.clone()
    }

    fn process_sampler(&self) -> Option<Box<dyn Sampler>> {
        let mut connection = self.connector.connect(CONTROL).ok()?;
        let postmaster = counters::postmaster(&mut connection, self.connector.loopback)?;
        let sampler = ProcessSampler::new(Arc::clone(&self.clock), postmaster)?;
        Some(Box::new(sampler))
    }
}

impl Moves for PostgresDatabase {
    fn transfer(&self, run: &Workspace) -> Result<Option<Box<dyn Transfer>>> {
        Ok(Some(Box::new(PostgresTransfer::new(&self.connector, &self.clock, run, self.server.version, open))))
    }
}
