//! An opened SQL Server database.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use plimsoll_engine::capability::MAKING_WORKSPACES;
use plimsoll_engine::server::lease::ServerLease;
use plimsoll_engine::server::place::{self, CONTROL, Keeper as _};
use plimsoll_engine::{
    Capability, ClaimMode, Cold, ColdFollower, Database, Description, Error, ErrorKind, Lease, Levels, Mark, Moves,
    Part, QuerySampler, RequestAccess, Requester, Result, Sampler, SelfTest, Session, Sessions, Table, Telemetry,
    Transfer, Workspace, WorkspaceKind, WorkspaceStatus, Workspaces,
};
use plimsoll_measurement::Ceiling;

use super::abilities::Ability;
use super::cold;
use super::connect::Connector;
use super::control::Control;
use super::copies::{self, Copies};
use super::describe::{self, Server};
use super::level::MssqlLevels;
use super::queries::PlanCacheSampler;
use super::sampler::ServerSampler;
use super::self_test::MssqlSelfTest;
use super::session::MssqlSession;
use super::sql::Product;
use super::transfer::MssqlTransfer;
use super::workspace;

/// What is to be said of loads that were measured: `INSERT BULK` takes a hint ORDER, which the library of the protocol can't send.
const UNORDERED: &str = "rows were loaded without a hint of their order, so the server may sort each batch before it goes into the \
                         clustered key, although they come in the key's order";
/// The same where that protocol is not to be had.
const BY_STATEMENTS: &str = "rows were loaded by INSERT statements of many rows, as this server can't take them by the bulk protocol, which \
                             is usually faster";

/// Holds no connection: each question to the database gets a fresh one, which a restart can't have broken.
pub(super) struct MssqlDatabase {
    connector: Arc<Connector>,
    server: Server,
}

impl MssqlDatabase {
    /// As [`Self::open`], for who knows databases by their trait alone.
    pub(super) fn open_boxed(connector: Connector) -> Result<Box<dyn Database>> {
        Ok(Box::new(Self::open(connector)?))
    }

    /// Connects and asks the server for its identity.
    pub(super) fn open(mut connector: Connector) -> Result<Self> {
        let server = describe::describe(&mut Control::connect(&connector, CONTROL)?, &connector)?;
        connector.intents = connector.intents.at(&server.description.fingerprint);
        Ok(Self { connector: Arc::new(connector), server })
    }

    /// Some servers have one error number for all that they refuse. Where the right to make a workspace was seen to be missing, that is it.
    fn not_permitted(&self, error: Error) -> Error {
        let missing = self.server.capabilities.iter().find(|known| known.name == MAKING_WORKSPACES && !known.works);
        match missing {
            Some(missing) if error.kind == ErrorKind::Statement => {
                Error { kind: ErrorKind::Permission, hint: missing.remedy.clone(), ..error }
            }
            _ => error,
        }
    }

    fn control(&self) -> Result<Control> {
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
}

impl Database for MssqlDatabase {
    fn description(&self) -> &Description {
        &self.server.description
    }

    fn capabilities(&self) -> Vec<Capability> {
        self.server.capabilities.clone()
    }

    fn warnings(&self) -> Vec<String> {
        let mut warnings = self.connector.errors.seen.told(false);
        if self.connector.measures_loads.load(Ordering::Relaxed) {
            let in_bulk = self.server.abilities.has(Ability::LoadInBulk);
            warnings.push(if in_bulk { UNORDERED } else { BY_STATEMENTS }.to_owned());
        }
        warnings
    }

    fn self_test(&self) -> Result<Option<Box<dyn SelfTest>>> {
        Ok(Some(Box::new(MssqlSelfTest::open(&self.connector, &self.server)?)))
    }
}

impl Workspaces for MssqlDatabase {
    fn claim(&self, workspace: &Workspace, mode: ClaimMode) -> Result<Option<Box<dyn Lease>>> {
        ServerLease::claim(&self.connector, workspace, mode).map_err(|error| self.not_permitted(error))
    }

    fn announces(&self, workspace: &Workspace) -> Result<Mark> {
        self.connector.intents.begin(workspace.name())
    }

    fn expects(&self, workspace: &Workspace, parts: &[Part]) -> Result<()> {
        self.connector.intents.expect(workspace.name(), parts)
    }

    fn workspaces(&self) -> Result<Vec<WorkspaceStatus>> {
        let mut control = self.control()?;
        // First the copies, in which order they are removed too: some are known as ours by the place of their run.
        let mut workspaces = match self.copies().list() {
            Ok(copies) => copies::statuses(&mut control, copies)?,
            Err(error) if matches!(error.kind, ErrorKind::Lost | ErrorKind::Cancelled) => return Err(error),
            // A user that may not see databases has made none.
            Err(error) => {
                tracing::debug!(%error, "databases are not to be seen");
                Vec::new()
            }
        };
        workspaces.extend(workspace::list(&mut control, &self.connector.intents)?);
        Ok(workspaces)
    }

    fn end_orphans(&self) -> Result<u32> {
        place::end_orphans(&mut self.control()?, self.connector.clock.as_ref())
    }

    fn remove(&self, workspace: &Workspace) -> Result<bool> {
        place::remove(self.connector.as_ref(), workspace, |control| {
            if workspace.kind() == WorkspaceKind::Copy {
                self.copies().drop(workspace)?;
            } else {
                self.without_copies(workspace)?;
                workspace::drop_schema(control, workspace)?;
            }
            Ok(true)
        })
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
        cold::make_cold(&self.connector, self.connector.clock.as_ref(), server, run, cold, follower)
    }
}

impl Sessions for MssqlDatabase {
    fn session_with(&self, workspace: &Workspace, run: &Workspace, access: RequestAccess) -> Result<Box<dyn Session>> {
        let abilities = self.server.abilities;
        if workspace.kind() == WorkspaceKind::Copy {
            // Its tables are in the schema that is named like the run's place.
            let inside = self.connector.to(workspace.name());
            return Ok(Box::new(MssqlSession::open(&inside, run, run, access, abilities)?));
        }
        Ok(Box::new(MssqlSession::open(&self.connector, workspace, run, access, abilities)?))
    }

    fn replacement(&self, workspace: &Workspace, run: &Workspace, access: RequestAccess) -> Result<Box<dyn Requester>> {
        Ok(Box::new(MssqlSession::open(&self.connector.at_once(), workspace, run, access, self.server.abilities)?))
    }
}

impl Telemetry for MssqlDatabase {
    fn answers(&self, patience: Duration) -> bool {
        let seconds = patience.as_secs().max(1) as u32;
        Control::connect(&self.connector.hurried(seconds), CONTROL).is_ok_and(|mut control| control.answers())
    }

    fn server_sampler(&self) -> Result<Option<Box<dyn Sampler>>> {
        let sees = [Ability::SeeFiles, Ability::SeeWaits, Ability::SeeSessions, Ability::SeeResources];
        if !sees.into_iter().any(|ability| self.server.abilities.has(ability)) {
            return Ok(None);
        }
        Ok(Some(Box::new(ServerSampler::open(&self.connector, &self.server)?)))
    }

    fn query_sampler(&self) -> Result<Option<Box<dyn QuerySampler>>> {
        Ok(Some(Box::new(PlanCacheSampler::open(&self.connector, &self.server)?)))
    }

    fn ceilings(&self) -> Vec<Ceiling> {
        self.server.ceilings.clone()
    }
}

impl Moves for MssqlDatabase {
    /// A Managed Instance takes its backups from Azure's storage only, which is not ours.
    fn transfer(&self, run: &Workspace) -> Result<Option<Box<dyn Transfer>>> {
        if self.server.product == Product::Instance {
            return Ok(None);
        }
        let about = (self.server.product, self.server.database.as_str());
        Ok(Some(Box::new(MssqlTransfer::new(&self.connector, run, about, Self::open_boxed))))
    }

    fn levels(&self) -> Result<Option<Box<dyn Levels>>> {
        if self.server.product != Product::Database {
            return Ok(None);
        }
        Ok(Some(Box::new(MssqlLevels::new(&self.connector, &self.server.database))))
    }
}
