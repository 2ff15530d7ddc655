//! An opened SQL Server database.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_clock::Clock;
use plimsoll_engine::capability::Capability;
use plimsoll_engine::database::{
    ClaimMode, Cold, ColdFollower, Database, Description, Lease, Sampler, Session, Workspace, WorkspaceKind,
    WorkspaceStatus,
};
use plimsoll_engine::error::{Error, ErrorKind, Result};
use plimsoll_engine::level::Levels;
use plimsoll_engine::request::{RequestAccess, Requester};
use plimsoll_engine::table::Table;
use plimsoll_engine::transfer::Transfer;
use plimsoll_measurement::Ceiling;

use super::cold;
use super::connect::Connector;
use super::copies::{self, Copies};
use super::describe::{self, Ability, Server};
use super::lease::MssqlLease;
use super::level::MssqlLevels;
use super::orphans;
use super::sampler::ServerSampler;
use super::session::MssqlSession;
use super::sql::Product;
use super::transfer::MssqlTransfer;
use super::workspace::{self, CONTROL, Control, Owner};

/// Holds no connection: whoever asks something of the database gets a fresh one, which a restart can't have broken.
pub(super) struct MssqlDatabase {
    connector: Arc<Connector>,
    clock: Arc<dyn Clock>,
    server: Server,
}

impl MssqlDatabase {
    /// Connects and asks the server for its identity.
    pub(super) fn open(connector: Connector, clock: Arc<dyn Clock>) -> Result<Self> {
        let server = describe::describe(&mut Control::connect(&connector, CONTROL)?, &connector)?;
        Ok(Self { connector: Arc::new(connector), clock, server })
    }

    fn control(&self) -> Result<Control<'_>> {
        Control::connect(&self.connector, CONTROL)
    }

    fn copies(&self) -> Copies<'_> {
        Copies::new(&self.connector, self.server.product, &self.server.database)
    }

    /// An error while databases of that run are there, which nobody would know as its any more.
    fn without_copies(&self, run: &Workspace) -> Result<()> {
        let copy = if run.kind() == WorkspaceKind::Run { self.copies().any_of_run(run)? } else { None };
        let Some(copy) = copy else { return Ok(()) };
        let message = format!("{run} is kept as long as its database {copy} is there");
        Err(Error::new(ErrorKind::Safety, message).hint("remove that database first: plimsoll clean does, if it can"))
    }

    fn working(&self, workspace: &Workspace, run: &Workspace, access: RequestAccess) -> Result<MssqlSession> {
        if workspace.kind() == WorkspaceKind::Copy {
            // Its tables are in the schema that is named like the run's place.
            let inside = self.connector.to(workspace.name());
            return MssqlSession::open(&inside, &self.clock, run, run, access, self.server.abilities);
        }
        MssqlSession::open(&self.connector, &self.clock, workspace, run, access, self.server.abilities)
    }
}

impl Database for MssqlDatabase {
    fn description(&self) -> &Description {
        &self.server.description
    }

    fn capabilities(&self) -> Vec<Capability> {
        self.server.capabilities.clone()
    }

    fn claim(&self, workspace: &Workspace, mode: ClaimMode) -> Result<Option<Box<dyn Lease>>> {
        let lease = MssqlLease::claim(&self.connector, &self.clock, workspace, mode)?;
        Ok(lease.map(|lease| Box::new(lease) as Box<dyn Lease>))
    }

    fn session(&self, workspace: &Workspace, run: &Workspace) -> Result<Box<dyn Session>> {
        self.session_with(workspace, run, RequestAccess::OWN)
    }

    fn session_with(&self, workspace: &Workspace, run: &Workspace, access: RequestAccess) -> Result<Box<dyn Session>> {
        Ok(Box::new(self.working(workspace, run, access)?))
    }

    fn requester(&self, workspace: &Workspace, run: &Workspace, access: RequestAccess) -> Result<Box<dyn Requester>> {
        Ok(Box::new(self.working(workspace, run, access)?))
    }

    fn workspaces(&self) -> Result<Vec<WorkspaceStatus>> {
        let mut control = self.control()?;
        // First the copies, in which order they are removed too: some are known as ours by the place of their run.
        let mut workspaces = match self.copies().list() {
            Ok(copies) => copies::statuses(&mut control, copies)?,
            Err(error) if matches!(error.kind, ErrorKind::Lost | ErrorKind::Cancelled) => return Err(error),
            // Who may not see databases has made none.
            Err(error) => {
                tracing::debug!(%error, "databases are not to be seen");
                Vec::new()
            }
        };
        workspaces.extend(control.list()?);
        Ok(workspaces)
    }

    fn end_orphans(&self) -> Result<u32> {
        orphans::end_all(&mut self.control()?, self.clock.as_ref())
    }

    fn remove(&self, workspace: &Workspace) -> Result<bool> {
        let (lease, is_copy) = (workspace.leased_by(), workspace.kind() == WorkspaceKind::Copy);
        let mut control = Control::connect(&self.connector, &workspace::lease_name(&lease))?;
        if !is_copy && control.owner(workspace)? == Owner::Somebody {
            return Err(workspace::foreign(workspace));
        }
        if !control.try_lock(&lease, false)? {
            return Ok(false);
        }
        orphans::end_all(&mut control, self.clock.as_ref())?;
        if is_copy {
            let removed = self.copies().drop(workspace);
            let _ = control.unlock(&lease);
            return removed.map(|()| true);
        }
        // Asked again under the lock.
        let removed = match control.owner(workspace)? {
            Owner::We => self.without_copies(workspace).and_then(|()| control.drop_schema(workspace)),
            Owner::Somebody => Err(workspace::foreign(workspace)),
            Owner::Nobody => Ok(()),
        };
        // The session's end would do the same, a moment later.
        let _ = control.unlock(workspace);
        removed.map(|()| true)
    }

    fn free_bytes(&self) -> Option<u64> {
        self.server.free_bytes
    }

    fn make_cold(
        &self,
        _: &Workspace,
        run: &Workspace,
        _: &[Table],
        cold: &Cold,
        follower: &mut dyn ColdFollower,
    ) -> Result<Vec<String>> {
        let server = (self.server.product, self.server.abilities);
        cold::make_cold(&self.connector, self.clock.as_ref(), server, run, cold, follower)
    }

    /// The view has averages of fifteen seconds, and the last of them that was begun may have been so just before.
    fn memory_report_age(&self) -> Duration {
        if self.server.product == Product::Database { Duration::from_secs(35) } else { Duration::ZERO }
    }

    fn warnings(&self) -> Vec<String> {
        match self.connector.retries() - self.server.retries {
            0 => Vec::new(),
            times => {
                vec![format!("the server was busy with itself: {times} connections of this run had to be tried again")]
            }
        }
    }

    /// A Managed Instance takes its backups from Azure's storage only, which is not ours.
    fn transfer(&self, run: &Workspace) -> Result<Option<Box<dyn Transfer>>> {
        if self.server.product == Product::Instance {
            return Ok(None);
        }
        let about = (self.server.product, self.server.database.as_str());
        Ok(Some(Box::new(MssqlTransfer::new(&self.connector, &self.clock, run, about))))
    }

    fn levels(&self) -> Result<Option<Box<dyn Levels>>> {
        if self.server.product != Product::Database {
            return Ok(None);
        }
        Ok(Some(Box::new(MssqlLevels::new(&self.connector, &self.server.database))))
    }

    fn server_sampler(&self) -> Result<Option<Box<dyn Sampler>>> {
        let Server { product, abilities, .. } = self.server;
        let sees = [Ability::SeeFiles, Ability::SeeWaits, Ability::SeeSessions, Ability::SeeResources];
        if !sees.into_iter().any(|ability| abilities.has(ability)) {
            return Ok(None);
        }
        Ok(Some(Box::new(ServerSampler::open(&self.connector, &self.clock, product, abilities)?)))
    }

    fn ceilings(&self) -> Vec<Ceiling> {
        self.server.ceilings.clone()
    }

    /// The server's processes are elsewhere; what it counts itself, sessions tell.
    fn process_sampler(&self) -> Option<Box<dyn Sampler>> {
        None
    }
}
