//! Whole databases: made from the server's template, dumped and loaded by `pg_dump` and `pg_restore`, copied by the server.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use plimsoll_clock::Clock;
use plimsoll_engine::database::{Restored, Transfer, Workspace, WorkspaceStatus};
use plimsoll_engine::error::{Error, ErrorKind, Result};
use plimsoll_engine::server::tool;
use plimsoll_engine::transfer::{COPY, DEFINITIONS, Follow, INDEXES, Move, Program, TABLES};
use postgres::Client;

use super::connect::Connector;
use super::error::Errors;
use super::restore::{self, Restorer};
use super::session::PostgresCancel;
use super::workspace::{self, WORK};

/// The limit of connections that our databases have, and by which they are known: unlike a comment it is there from the
/// moment in which the database is. ("Plim" on a telephone, cut to what nobody would choose.)
const MARK: u32 = 7546;

/// The condition that a row of `pg_database` with a name of ours bears it. A database whose removal was cut short has -2 instead
/// and can only be dropped (`DATCONNLIMIT_INVALID_DB` in PostgreSQL's `pg_database.h`).
const BEARS_MARK: &str = "datconnlimit IN (7546, -2)";

/// First versions with `STRATEGY` (CREATE DATABASE) and `WITH (FORCE)` (DROP DATABASE).
const STRATEGY_SINCE: u32 = 150_000;
const FORCE_SINCE: u32 = 130_000;

/// By writing each page to the log, or by copying files between two checkpoints.
const WAYS: [&str; 2] = ["wal-log", "file-copy"];

/// Where packages put the programs of a version, beside those in PATH.
const FOLDERS: [&str; 2] = ["/usr/lib/postgresql", "/usr/pgsql"];

/// Makes and moves databases of one run.
pub(super) struct PostgresTransfer {
    connector: Arc<Connector>,
    clock: Arc<dyn Clock>,
    run: Workspace,
    version: u32,
    /// `pg_dump` and `pg_restore`.
    tools: Option<[PathBuf; 2]>,
    restorer: Option<Restorer>,
    /// What was backed up last: it has the same name where it is restored.
    backed_up: Option<Workspace>,
}

impl PostgresTransfer {
    pub(super) fn new(connector: &Arc<Connector>, clock: &Arc<dyn Clock>, run: &Workspace, version: u32) -> Self {
        let (connector, clock) = (Arc::clone(connector), Arc::clone(clock));
        Self { connector, clock, run: run.clone(), version, tools: None, restorer: None, backed_up: None }
    }

    fn client(&self) -> Result<Client> {
        let mut client = self.connector.connect(&format!("{WORK}{}", self.run))?;
        workspace::stay_connected(&mut client, &self.connector.errors)?;
        Ok(client)
    }

    fn create(&self, copy: &Workspace, more: &str, follow: Option<&mut dyn Follow>) -> Result<()> {
        let mut client = self.client()?;
        drop_database(&mut client, &self.connector.errors, copy, self.version)?;
        if let Some(follow) = follow {
            follow.working(Arc::new(PostgresCancel::new(client.cancel_token(), self.connector.tls())));
            follow.stage(COPY)?;
        }
        let sql = format!("CREATE DATABASE {copy} CONNECTION LIMIT {MARK}{more}");
        client.batch_execute(&sql).map_err(|error| self.connector.errors.running(&error))
    }

    fn restorer(&self) -> Result<&Restorer> {
        self.restorer.as_ref().ok_or_else(|| Error::new(ErrorKind::Internal, "no tools were looked for"))
    }

    /// A program of libpq that works in a database.
    fn program(&self, number: usize, database: &Workspace) -> Result<Command> {
        let program = self.tools.as_ref().map(|tools| &tools[number]);
        let program = program.ok_or_else(|| Error::new(ErrorKind::Internal, "no tools were looked for"))?;
        let mut command = Command::new(program);
        self.connector.configure(&mut command);
        command.env("PGDATABASE", database.name()).arg("--no-password");
        Ok(command)
    }
}

impl Transfer for PostgresTransfer {
    /// A server gives back its shared memory if it is asked to stop at once.
    fn programs(&self) -> &'static [Program] {
        &[Program { name: "postgres", is_asked: true }, Program { name: "pg_basebackup", is_asked: false }]
    }

    fn methods(&self) -> &'static [&'static str] {
        // Before there was a choice, files were copied.
        if self.version >= STRATEGY_SINCE { &WAYS } else { &WAYS[1..] }
    }

    /// Those of the server's version or a later one: `pg_dump` refuses newer servers.
    fn find_tools(&mut self, for_what: Move) -> Result<Vec<String>> {
        if for_what == Move::Restore {
            let (restorer, versions) = Restorer::find(&mut self.client()?, &self.connector, self.version)?;
            self.restorer = Some(restorer);
            return Ok(versions);
        }
        if for_what != Move::Import {
            return Ok(Vec::new());
        }
        let wanted = self.version / 10_000;
        let find = |name: &str| {
            let mut found = tool::candidates(name, &version_folders());
            found.retain(|program| tool::major_version(program).is_some_and(|version| version >= wanted));
            found.into_iter().next().ok_or_else(|| {
                tool::missing(&format!("{name} of version {wanted} or later"), &format!("postgresql-client-{wanted}"))
            })
        };
        let tools = [find("pg_dump")?, find("pg_restore")?];
        let versions = tools.iter().filter_map(|tool| tool::version(tool)).collect();
        self.tools = Some(tools);
        Ok(versions)
    }

    fn make(&mut self, copy: &Workspace) -> Result<()> {
        self.create(copy, " TEMPLATE template0", None)?;
        let inside = self.connector.to(copy.name());
        workspace::create(&mut inside.connect(&format!("{WORK}{}", self.run))?, &inside.errors, &self.run)
    }

    fn remove(&mut self, copy: &Workspace) -> Result<()> {
        drop_database(&mut self.client()?, &self.connector.errors, copy, self.version)
    }

    fn bytes(&mut self, copy: &Workspace) -> Option<u64> {
        let row = self.client().ok()?.query_one("SELECT pg_database_size($1::name)", &[&copy.name()]).ok()?;
        u64::try_from(row.try_get::<_, i64>(0).ok()?).ok()
    }

    fn dump(&mut self, from: &Workspace, file: &File, follow: &mut dyn Follow) -> Result<()> {
        let mut command = self.program(0, from)?;
        command.args(["--format=custom", "--compress=0", "--no-owner"]).stdin(Stdio::null()).stdout(tool::whole(file)?);
        tool::run(command, self.clock.as_ref(), || follow.look(&mut || Some(file.metadata().ok()?.len())))
    }

    fn import(&mut self, file: &File, into: &Workspace, follow: &mut dyn Follow) -> Result<()> {
        let clock = Arc::clone(&self.clock);
        // The dump brings the schema of the run's place.
        self.create(into, " TEMPLATE template0", None)?;
        let mut control = self.client()?;
        let mut size = || {
            let row = control.query_one("SELECT pg_database_size($1::name)", &[&into.name()]).ok()?;
            u64::try_from(row.try_get::<_, i64>(0).ok()?).ok()
        };
        for (stage, section) in [(DEFINITIONS, "pre-data"), (TABLES, "data"), (INDEXES, "post-data")] {
            let mut command = self.program(1, into)?;
            command.args(["--exit-on-error", "--no-owner", "--section", section, "--dbname", into.name()]);
            command.stdin(tool::whole(file)?).stdout(Stdio::null());
            follow.stage(stage)?;
            tool::run(command, clock.as_ref(), || follow.look(&mut size))?;
        }
        Ok(())
    }

    fn copy(&mut self, from: &Workspace, to: &Workspace, way: &str, follow: &mut dyn Follow) -> Result<()> {
        let strategy =
            if self.version >= STRATEGY_SINCE { format!(" STRATEGY {}", way.replace('-', "_")) } else { String::new() };
        self.create(to, &format!(" TEMPLATE {from}{strategy}"), Some(follow))
    }

    fn backup_bytes(&mut self, _from: &Workspace) -> Option<u64> {
        restore::cluster_bytes(&mut self.client().ok()?)
    }

    fn back_up(&mut self, from: &Workspace, folder: &Path, follow: &mut dyn Follow) -> Result<()> {
        self.backed_up = Some(from.clone());
        self.restorer()?.back_up(&self.connector, self.clock.as_ref(), folder, follow)
    }

    fn restore(&mut self, folder: &Path, to: &Workspace, follow: &mut dyn Follow) -> Result<Restored> {
        let workspace = self.backed_up.as_ref().unwrap_or(to);
        self.restorer()?.restore(&self.connector, &self.clock, folder, workspace, follow)
    }
}

pub(super) fn version_folders() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = FOLDERS
        .iter()
        .filter_map(|folder| fs::read_dir(folder).ok())
        .flat_map(|entries| entries.filter_map(|entry| Some(entry.ok()?.path().join("bin"))))
        .collect();
    folders.sort();
    folders
}

/// Every database with a name and the mark of ours; under the lease of its run.
pub(super) fn list(client: &mut Client, errors: &Errors) -> Result<Vec<WorkspaceStatus>> {
    let failed = |error: postgres::Error| errors.running(&error);
    let sql = format!(
        "SELECT datname::text FROM pg_database WHERE datname LIKE 'plimsoll\\_copy\\_%' AND {BEARS_MARK} ORDER BY 1"
    );
    let mut workspaces = Vec::new();
    for row in client.query(&sql, &[]).map_err(failed)? {
        if let Some(workspace) = Workspace::from_name(row.try_get(0).map_err(failed)?) {
            workspaces.push(WorkspaceStatus {
                leased: workspace::is_locked_anywhere(client, errors, &workspace.leased_by())?,
                workspace,
            });
        }
    }
    Ok(workspaces)
}

/// Drops a database if it is there and bears our mark, with the sessions that are still in it.
pub(super) fn drop_database(client: &mut Client, errors: &Errors, copy: &Workspace, version: u32) -> Result<()> {
    let failed = |error: postgres::Error| errors.running(&error);
    let sql = format!("SELECT {BEARS_MARK} FROM pg_database WHERE datname = $1");
    match client.query_opt(&sql, &[&copy.name()]).map_err(failed)? {
        None => return Ok(()),
        Some(row) if row.try_get(0).map_err(failed)? => {}
        Some(_) => {
            let message = format!("the database {copy} does not bear our mark, so it is not touched");
            return Err(Error::new(ErrorKind::Safety, message)
                .hint(format!("if it is ours after all: ALTER DATABASE {copy} CONNECTION LIMIT {MARK}")));
        }
    }
    let force = if version >= FORCE_SINCE { " WITH (FORCE)" } else { "" };
    client.batch_execute(&format!("DROP DATABASE IF EXISTS {copy}{force}")).map_err(failed)
}
