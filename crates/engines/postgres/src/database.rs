//! An opened PostgreSQL database.

use std::sync::Arc;

use plimsoll_clock::Clock;
use plimsoll_engine::capability::Capability;
use plimsoll_engine::database::{
    ClaimMode, Cold, ColdFollower, Database, Description, Lease, Moves, Sampler, Session, Sessions, Telemetry,
    Transfer, Workspace, WorkspaceKind, WorkspaceStatus, Workspaces,
};
use plimsoll_engine::error::Result;
use plimsoll_engine::process;
use plimsoll_engine::request::{RequestAccess, Requester};
use plimsoll_engine::table::Table;
use plimsoll_measurement::Ceiling;

use super::connect::Connector;
use super::counters::{self, ProcessSampler};
use super::describe::{self, Server};
use super::lease::PostgresLease;
use super::requester::WireRequester;
use super::sampler::ServerSampler;
use super::session::PostgresSession;
use super::transfer::{self, PostgresTransfer};
use super::workspace::{self, Owner};
use super::{capabilities, cold, orphans};

/// Name of sessions that neither work nor hold a lease.
pub(super) const CONTROL: &str = "plimsoll";

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

impl Database for PostgresDatabase {
    fn description(&self) -> &Description {
        &self.server.description
    }

    /// None at all if the server can't be asked now.
    fn capabilities(&self) -> Vec<Capability> {
        let client = self.connector.connect(CONTROL);
        let detected = client.and_then(|mut client| capabilities::detect(&mut client, &self.connector.errors));
        detected.unwrap_or_default()
    }
}

impl Workspaces for PostgresDatabase {
    fn claim(&self, workspace: &Workspace, mode: ClaimMode) -> Result<Option<Box<dyn Lease>>> {
        let lease = PostgresLease::claim(&self.connector, &self.clock, workspace, mode)?;
        Ok(lease.map(|lease| Box::new(lease) as Box<dyn Lease>))
    }

    fn workspaces(&self) -> Result<Vec<WorkspaceStatus>> {
        workspace::list(&mut self.connector.connect(CONTROL)?, &self.connector.errors)
    }

    fn end_orphans(&self) -> Result<u32> {
        orphans::end_all(&mut self.connector.connect(CONTROL)?, &self.connector.errors, self.clock.as_ref())
    }

    fn remove(&self, workspace: &Workspace) -> Result<bool> {
        let errors = &self.connector.errors;
        let lease = workspace.leased_by();
        let mut client = workspace::lease_connection(&self.connector, &lease)?;
        workspace::set(&mut client, errors, &[("lock_timeout", "60000".to_owned())])?;
        let is_copy = workspace.kind() == WorkspaceKind::Copy;
        if !is_copy && workspace::owner(&mut client, errors, workspace)? == Owner::Somebody {
            return Err(workspace::foreign(workspace));
        }
        if !workspace::try_lock(&mut client, errors, &lease, false)? {
            return Ok(false);
        }
        orphans::end_all(&mut client, errors, self.clock.as_ref())?;
        if is_copy {
            // Its run may work from another database, where our lock says nothing.
            if workspace::is_locked_anywhere(&mut client, errors, &lease)? {
                return Ok(false);
            }
            let removed = transfer::drop_database(&mut client, errors, workspace, self.server.version);
            let _ = workspace::unlock(&mut client, errors, &lease);
            return removed.map(|()| true);
        }
        // Asked again under the lock.
        let removed = match workspace::owner(&mut client, errors, workspace)? {
            Owner::We => workspace::drop_schema(&mut client, errors, workspace),
            Owner::Somebody => Err(workspace::foreign(workspace)),
            Owner::Nobody => Ok(()),
        };
        // The session's end would do the same, a moment later.
        let _ = workspace::unlock(&mut client, errors, workspace);
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

    fn server_pids(&self) -> Vec<u32> {
        let client = self.connector.connect(CONTROL).ok();
        client.and_then(|mut client| counters::postmaster(&mut client, self.connector.loopback)).into_iter().collect()
    }

    fn ceilings(&self) -> Vec<Ceiling> {
        self.server.ceilings.clone()
    }

    fn process_sampler(&self) -> Option<Box<dyn Sampler>> {
        let mut client = self.connector.connect(CONTROL).ok()?;
        let postmaster = counters::postmaster(&mut client, self.connector.loopback)?;
        let sampler = ProcessSampler::new(Arc::clone(&self.clock), postmaster)?;
        Some(Box::new(sampler))
    }
}

impl Moves for PostgresDatabase {
    fn transfer(&self, run: &Workspace) -> Result<Option<Box<dyn Transfer>>> {
        Ok(Some(Box::new(PostgresTransfer::new(&self.connector, &self.clock, run, self.server.version))))
    }
}
