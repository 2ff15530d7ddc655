//! Whole databases: made from the server's template, dumped and loaded by `pg_dump` and `pg_restore`, copied by the server.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use plimsoll_engine::server::place::{Keeper as _, Keepers as _, WORK};
use plimsoll_engine::server::tool;
use plimsoll_engine::transfer::{COPY, DEFINITIONS, INDEXES, TABLES};
use plimsoll_engine::{Follow, Mark, Move, Program, Restored, Result, Transfer, Workspace, process};

use super::connect::Connector;
use super::connection::Connection;
use super::copies::{self, drop_database};
use super::restore::{self, Open, Restorer, version_folders};
use super::statements::{filled, filled_for, sql};

/// First version with `STRATEGY`.
const STRATEGY_SINCE: u32 = 150_000;

/// By writing each page to the log, or by copying files between two checkpoints.
const WAYS: [&str; 2] = ["wal-log", "file-copy"];

pub(super) struct PostgresTransfer {
    connector: Arc<Connector>,
    run: Workspace,
    version: u32,
    /// `pg_dump` and `pg_restore`.
    tools: Option<[PathBuf; 2]>,
    restorer: Option<Restorer>,
    /// What was backed up last: it has the same name where it is restored.
    backed_up: Option<Workspace>,
    open: Open,
}

impl PostgresTransfer {
    pub(super) fn new(connector: &Arc<Connector>, run: &Workspace, version: u32, open: Open) -> Self {
        let connector = Arc::clone(connector);
        Self { connector, run: run.clone(), version, tools: None, restorer: None, backed_up: None, open }
    }

    fn connection(&self) -> Result<Connection> {
        self.connector.keeper(&format!("{WORK}{}", self.run))
    }

    /// Makes a database by this statement.
    fn create(&self, copy: &Workspace, sql: &str, follow: Option<&mut dyn Follow>) -> Result<()> {
        let mut connection = self.connection()?;
        drop_database(&mut connection, &self.connector, copy)?;
        if let Some(follow) = follow {
            follow.working(connection.link.cancel());
            follow.stage(COPY)?;
        }
        copies::make(&mut connection, &self.connector, copy, sql)
    }

    fn create_empty(&self, copy: &Workspace) -> Result<()> {
        self.create(copy, &filled("make a database", &[("database", copy.name())]), None)
    }

    fn restorer(&self) -> Result<&Restorer> {
        tool::found(self.restorer.as_ref())
    }

    /// A program of libpq that works in a database.
    fn program(&self, number: usize, database: &Workspace) -> Result<Command> {
        let mut command = process::program(&tool::found(self.tools.as_ref())?[number]);
        self.connector.configure(&mut command)?;
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
            let (restorer, versions) = Restorer::find(&mut self.connection()?, self.version)?;
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
        self.create_empty(copy)?;
        let inside = self.connector.to(copy.name());
        let mark = Mark::new(self.run.name());
        inside.connect(&format!("{WORK}{}", self.run))?.make(&self.run, false, &mark)
    }

    fn remove(&mut self, copy: &Workspace) -> Result<()> {
        drop_database(&mut self.connection()?, &self.connector, copy)
    }

    fn bytes(&mut self, copy: &Workspace) -> Option<u64> {
        bytes(&mut self.connection().ok()?, copy)
    }

    fn dump(&mut self, from: &Workspace, file: &File, follow: &mut dyn Follow) -> Result<()> {
        let mut command = self.program(0, from)?;
        command.args(["--format=custom", "--compress=0", "--no-owner"]).stdin(Stdio::null()).stdout(tool::whole(file)?);
        tool::run(command, self.connector.clock.as_ref(), || follow.look(&mut || Some(file.metadata().ok()?.len())))
    }

    fn import(&mut self, file: &File, into: &Workspace, follow: &mut dyn Follow) -> Result<()> {
        let clock = Arc::clone(&self.connector.clock);
        // The dump brings the schema of the run's place.
        self.create_empty(into)?;
        let mut control = self.connection()?;
        follow.working(control.link.cancel());
        let mut size = || bytes(&mut control, into);
        for (stage, section) in [(DEFINITIONS, "pre-data"), (TABLES, "data"), (INDEXES, "post-data")] {
            let mut command = self.program(1, into)?;
            command.args(["--exit-on-error", "--no-owner", "--section", section, "--dbname", into.name()]);
            if section == "pre-data" {
                // Whenever it is killed, no table is there without its mark.
                command.arg("--single-transaction");
            }
            command.stdin(tool::whole(file)?).stdout(Stdio::null());
            follow.stage(stage)?;
            tool::run(command, clock.as_ref(), || follow.look(&mut size))?;
        }
        Ok(())
    }

    fn copy(&mut self, from: &Workspace, to: &Workspace, way: &str, follow: &mut dyn Follow) -> Result<()> {
        let strategy = way.replace('-', "_");
        let words = [("database", to.name()), ("from", from.name()), ("strategy", &strategy)];
        self.create(to, &filled_for("copy a database", self.version, &words), Some(follow))
    }

    fn backup_bytes(&mut self, _from: &Workspace) -> Option<u64> {
        restore::cluster_bytes(&mut self.connection().ok()?)
    }

    fn back_up(&mut self, from: &Workspace, folder: &Path, follow: &mut dyn Follow) -> Result<()> {
        self.backed_up = Some(from.clone());
        self.restorer()?.back_up(&self.connector, folder, follow)?;
        // A tablespace that was made meanwhile is in the log of the backup, and would lead the new server to the first one's files.
        restore::check(&mut self.connection()?).map(drop)
    }

    fn restore(&mut self, folder: &Path, to: &Workspace, follow: &mut dyn Follow) -> Result<Restored> {
        let workspace = self.backed_up.as_ref().unwrap_or(to);
        self.restorer()?.restore(&self.connector, folder, (workspace, self.open), follow)
    }
}

/// Bytes that a database takes at present.
fn bytes(connection: &mut Connection, of: &Workspace) -> Option<u64> {
    connection.value(sql("size of a database"), &[of.name()]).ok()
}
