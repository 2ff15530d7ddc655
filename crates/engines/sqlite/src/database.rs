//! A target as all engines are asked for it.

use std::fs::{self, File};
use std::sync::Arc;

use plimsoll_engine::process;
use plimsoll_engine::{
    Capability, ClaimMode, Cold, ColdFollower, Database, Description, Error, ErrorKind, Folders, Lease, Moves, Part,
    QuerySampler, RequestAccess, Result, SavedReading, Saving, SelfTest, Session, Sessions, Table, Telemetry, Transfer,
    Workspace, WorkspaceKind, WorkspaceStatus, Workspaces,
};

use super::counted::StatementSampler;
use super::errors::{from_io, from_sqlite};
use super::existing;
use super::files::SqliteDatabase;
use super::location;
use super::owner::stranger_beside;
use super::saving;
use super::self_test::SqliteSelfTest;
use super::statements::SqliteSession;
use super::transfer::SqliteTransfer;

impl Database for SqliteDatabase {
    fn description(&self) -> &Description {
        &self.description
    }

    /// Counters belong to a connection here, and nobody else sees them.
    fn capabilities(&self) -> Vec<Capability> {
        let cost =
            "SQLite counts for each connection alone, so that a run has only what the machine says of its process";
        vec![Capability { name: "counters of all sessions", works: false, cost, remedy: None, gives: &[] }]
    }

    fn saving(&self) -> Result<Option<Saving>> {
        saving::open(self).map(Some)
    }

    fn saved_reading(&self) -> Result<Option<SavedReading>> {
        saving::read(self).map(Some)
    }

    fn self_test(&self) -> Result<Option<Box<dyn SelfTest>>> {
        Ok(Some(Box::new(SqliteSelfTest::open(&self.location, &self.options)?)))
    }
}

impl Workspaces for SqliteDatabase {
    fn claim(&self, workspace: &Workspace, mode: ClaimMode) -> Result<Option<Box<dyn Lease>>> {
        match self.take(workspace, mode) {
            // A data set that another user keeps here is not for us, which must not stop a run that can do without it.
            Err(error)
                if error.kind == ErrorKind::Permission
                    && workspace.kind() == WorkspaceKind::Data
                    && fs::symlink_metadata(self.location.lock(workspace)).is_ok() =>
            {
                Ok(None)
            }
            taken => Ok(taken?.map(|lease| Box::new(lease) as Box<dyn Lease>)),
        }
    }

    fn expects(&self, workspace: &Workspace, parts: &[Part]) -> Result<()> {
        self.intents.expect(&self.location.object(workspace), parts)
    }

    fn workspaces(&self) -> Result<Vec<WorkspaceStatus>> {
        self.statuses()
    }

    fn remove(&self, workspace: &Workspace) -> Result<bool> {
        self.remove_place(workspace)
    }

    fn free_bytes(&self) -> Option<u64> {
        process::free_bytes(self.location.folder())
    }

    /// Nothing is written anew, so that others may read the tables all the while.
    fn make_cold(
        &self,
        workspace: &Workspace,
        run: &Workspace,
        _tables: &[Table],
        cold: &Cold,
        follower: &mut dyn ColdFollower,
    ) -> Result<Vec<String>> {
        if cold.restart_command.is_some() {
            return Err(Error::new(ErrorKind::Usage, "SQLite runs in this process, there is no server to restart")
                .hint("leave out the command that restarts it; the file is opened anew without one"));
        }
        follower.check()?;
        // A page cache lives and dies with its connection, and the last one that closes empties the log.
        let path = self.location.database(workspace);
        let mut session = self.session(workspace, run)?;
        follower.working(session.canceller());
        match session.checkpoint() {
            // Another reader keeps the log as it is, which is no less cold.
            Err(error) if !(cold.shared && error.kind == ErrorKind::Busy) => return Err(error),
            _ => drop(session),
        }
        follower.check()?;
        File::open(&path).and_then(|file| file.sync_all()).map_err(|error| from_io(&error, "sync", &path))?;
        follower.check()?;
        let mut methods = vec!["reopen".to_owned()];
        let wal = location::wal(&path);
        if process::drop_from_os_cache(&path) && (!wal.exists() || process::drop_from_os_cache(&wal)) {
            methods.push("drop-os-cache".to_owned());
        }
        Ok(methods)
    }
}

impl Sessions for SqliteDatabase {
    fn session_with(&self, workspace: &Workspace, _run: &Workspace, access: RequestAccess) -> Result<Box<dyn Session>> {
        existing::refuse_writes(access)?;
        let path = self.location.database(workspace);
        let connection = self.connect_to_ours(workspace)?;
        self.options.apply(&connection).map_err(|error| from_sqlite(error, self.location.folder()))?;
        self.check(&path, &connection)?;
        if access.existing {
            let file = self.location.named();
            // SQLite would wait for ever for somebody to write to a pipe, and follow a link.
            if let Some((beside, kind)) = stranger_beside(&file.canonicalize().unwrap_or_else(|_| file.clone()))? {
                let message = format!("{} is {kind}, where SQLite expects a file of its own", beside.display());
                return Err(Error::new(ErrorKind::Safety, message).hint("move it away, or name another file"));
            }
            existing::attach(&connection, &file)?;
        }
        existing::keep_others_out(&connection, access).map_err(|error| from_sqlite(error, self.location.folder()))?;
        let mut session = SqliteSession::new(connection, path, &self.options, Arc::clone(&self.clock));
        session.counted = Arc::clone(&self.counted);
        if let Some(modelled) = &self.modelled {
            session.follow(modelled.as_ref())?;
        }
        Ok(Box::new(session))
    }
}

/// A session works in its own thread and counts for itself.
impl Telemetry for SqliteDatabase {
    /// Of the sessions of this process alone.
    fn query_sampler(&self) -> Result<Option<Box<dyn QuerySampler>>> {
        let name = self.location.named();
        let file = name.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        Ok(Some(Box::new(StatementSampler::begin(&self.counted, &self.clock, file))))
    }

    fn folders(&self) -> Folders {
        let folder = || self.modelled.is_none().then(|| self.location.folder().to_owned());
        Folders { data: folder(), log: folder() }
    }
}

impl Moves for SqliteDatabase {
    fn transfer(&self, _run: &Workspace) -> Result<Option<Box<dyn Transfer>>> {
        let is_real = self.modelled.is_none();
        Ok(is_real.then(|| Box::new(SqliteTransfer::new(self.clone())) as Box<dyn Transfer>))
    }
}
