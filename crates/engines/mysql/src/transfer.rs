//! Whole databases: dumped and loaded by the server's own client programs, copied table by table by the server.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use plimsoll_engine::server::place::{Keeper as _, Owner, foreign, why_not_ours};
use plimsoll_engine::server::tool;
use plimsoll_engine::transfer::{COPY, TABLES};
use plimsoll_engine::{
    Error, ErrorKind, Follow, Move, Program, RequestAccess, Restored, Result, Transfer, Workspace, process,
};

use super::connect::Connector;
use super::connection::Connection;
use super::contents::{Contents, MARK_TABLE};
use super::product::{Product, version_of};
use super::restore::{Open, Restorer};
use super::statements::{fill, of_place, text};
use super::working::connect;
use super::workspace::drop_database;

/// The server has no statement that copies a database; this is what its users do.
const WAYS: [&str; 1] = ["insert-select"];

/// How long the server may take to say how large a database is.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) struct MySqlTransfer {
    connector: Arc<Connector>,
    run: Workspace,
    /// The dumping and the loading program.
    tools: Option<[PathBuf; 2]>,
    product: Product,
    restorer: Option<Restorer>,
    open: Open,
    /// What was backed up last: it has the same name where it is restored.
    backed_up: Option<Workspace>,
}

impl MySqlTransfer {
    pub(super) fn new(connector: &Arc<Connector>, run: &Workspace, product: Product, open: Open) -> Self {
        let connector = Arc::clone(connector);
        Self { connector, run: run.clone(), tools: None, product, restorer: None, open, backed_up: None }
    }

    /// A session of the run, which ends with it.
    fn session(&self) -> Result<Connection> {
        connect(&self.connector, &self.run, &self.run, RequestAccess::OWN)
    }

    fn restorer(&self) -> Result<&Restorer> {
        tool::found(self.restorer.as_ref())
    }

    fn program(&self, number: usize, database: &Workspace) -> Result<Command> {
        let mut command = process::program(&tool::found(self.tools.as_ref())?[number]);
        self.connector.configure(&mut command, self.product)?;
        // The mark of the new database is its own.
        if number == 0 {
            command.args(["--single-transaction", "--skip-comments", "--no-tablespaces"]);
            command.args(self.product.dumping());
            command.arg(format!("--ignore-table={database}.{MARK_TABLE}"));
        }
        // As in our own sessions: what the server lets each session begin with may lead it into another database.
        if number == 1 {
            command.arg(format!("--init-command={}", of_place("database of a session", database)));
        }
        command.arg(database.name());
        Ok(command)
    }
}

/// The first of these programs that is the product's own. MariaDB comes with programs of MySQL's names, which don't know MySQL's
/// options.
fn client_program(product: Product, name: &str, package: &str, all: Vec<PathBuf>) -> Result<PathBuf> {
    let is_others = |program: &PathBuf| {
        product == Product::MySql && version_of(program).is_some_and(|version| version.contains("MariaDB"))
    };
    let (others, own): (Vec<PathBuf>, Vec<PathBuf>) = all.into_iter().partition(is_others);
    match (own.into_iter().next(), others.first()) {
        (Some(program), _) => Ok(program),
        (None, None) => Err(tool::missing(name, package)),
        (None, Some(other)) => {
            let message = format!("{} is MariaDB's, and MySQL's own {name} is needed", other.display());
            Err(Error { message, ..tool::missing(name, package) })
        }
    }
}

impl Transfer for MySqlTransfer {
    fn programs(&self) -> &'static [Program] {
        &[
            Program { name: "mariadbd", is_asked: false },
            Program { name: "mysqld", is_asked: false },
            Program { name: "mariadb-backup", is_asked: false },
            Program { name: "mariabackup", is_asked: false },
        ]
    }

    fn methods(&self) -> &'static [&'static str] {
        &WAYS
    }

    fn find_tools(&mut self, for_what: Move) -> Result<Vec<String>> {
        if for_what == Move::Restore {
            let (restorer, versions) = Restorer::find(&mut self.session()?, &self.connector, self.product, &self.run)?;
            self.restorer = Some(restorer);
            return Ok(versions);
        }
        if for_what != Move::Import {
            return Ok(Vec::new());
        }
        // In their sessions this can't be taken back: temporary tables may stand in place of ours.
        if self.session()?.ask_one(text("what sessions begin with"))?.is_some_and(|begin| !begin.trim().is_empty()) {
            let message = "the server lets each session begin with statements (init_connect), and the program that loads could not be kept from them";
            return Err(Error::new(ErrorKind::Safety, message).hint("import at a server where @@init_connect is empty"));
        }
        let (names, package) = self.product.client_programs();
        let find = |name| client_program(self.product, name, package, tool::candidates(name, &[]));
        let tools = [find(names[0])?, find(names[1])?];
        let versions = tools.iter().filter_map(|tool| version_of(tool)).collect();
        self.tools = Some(tools);
        Ok(versions)
    }

    fn make(&mut self, copy: &Workspace) -> Result<()> {
        self.remove(copy)?;
        let mark = self.connector.intents.begin(copy.name())?;
        self.session()?.make(copy, false, &mark)?;
        self.connector.intents.made(&mark)
    }

    fn remove(&mut self, copy: &Workspace) -> Result<()> {
        let (mut connection, intents) = (self.session()?, &self.connector.intents);
        let owner = connection.owner(copy)?;
        match why_not_ours(&owner, intents, copy)? {
            Some(reason) => Err(foreign::<Connection>(copy, &reason)),
            None if owner == Owner::Nobody => Ok(()),
            None => drop_database(&mut connection, intents, copy),
        }
    }

    fn bytes(&mut self, copy: &Workspace) -> Option<u64> {
        size(&mut self.session().ok()?, copy, self.product)
    }

    fn dump(&mut self, from: &Workspace, file: &File, follow: &mut dyn Follow) -> Result<()> {
        let mut command = self.program(0, from)?;
        command.stdin(Stdio::null()).stdout(tool::whole(file)?);
        tool::run(command, self.connector.clock.as_ref(), || follow.look(&mut || Some(file.metadata().ok()?.len())))
    }

    fn import(&mut self, file: &File, into: &Workspace, follow: &mut dyn Follow) -> Result<()> {
        self.make(into)?;
        let mut control = self.session()?;
        control.link.set_timeout(Some(PATIENCE));
        follow.working(control.link.cancel());
        let mut command = self.program(1, into)?;
        command.stdin(tool::whole(file)?).stdout(Stdio::null());
        follow.stage(TABLES)?;
        tool::run(command, self.connector.clock.as_ref(), || {
            follow.look(&mut || size(&mut control, into, self.product))
        })
    }

    fn copy(&mut self, from: &Workspace, to: &Workspace, _way: &str, follow: &mut dyn Follow) -> Result<()> {
        self.make(to)?;
        let (mut connection, mut control) = (self.session()?, self.session()?);
        follow.working(connection.link.cancel());
        control.link.set_timeout(Some(PATIENCE));
        let contents = Contents::of(&mut connection, from)?;
        follow.stage(COPY)?;
        for table in contents.tables(true) {
            let words = [("workspace", to.name()), ("from", from.name()), ("table", table)];
            for name in ["make a table like another", "copy a table"] {
                connection.work(&fill(name, &words))?;
            }
            follow.look(&mut || size(&mut control, to, self.product))?;
        }
        Ok(())
    }

    fn backup_bytes(&mut self, _from: &Workspace) -> Option<u64> {
        Some(self.restorer().ok()?.bytes()).filter(|bytes| *bytes > 0)
    }

    fn back_up(&mut self, from: &Workspace, folder: &Path, follow: &mut dyn Follow) -> Result<()> {
        self.backed_up = Some(from.clone());
        self.restorer()?.back_up(&self.connector, folder, follow)
    }

    fn restore(&mut self, folder: &Path, to: &Workspace, follow: &mut dyn Follow) -> Result<Restored> {
        let workspace = self.backed_up.as_ref().unwrap_or(to);
        self.restorer()?.restore((&self.connector, self.open), folder, workspace, follow)
    }
}

/// Bytes of the database's files; `None` without the right to see them.
fn size(connection: &mut Connection, copy: &Workspace, product: Product) -> Option<u64> {
    connection.ask_one(&of_place(&product.named("size of a database"), copy)).ok()??.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_program_of_mysqls_name_may_be_mariadbs() {
        let folder = tempfile::tempdir().unwrap();
        let program = |place: &str, says: &str| {
            let file = folder.path().join(place);
            std::fs::write(&file, format!("#!/bin/sh\necho '{says}'\n")).unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
            file
        };
        let maria =
            program("mysqldump", "mysqldump  Ver 10.19 Distrib 10.11.19-MariaDB, for debian-linux-gnu (x86_64)");
        let own = program("own", "mysqldump  Ver 9.7.4-2 for Linux on x86_64 ((Debian))");
        let find = |product, all: &[&PathBuf]| {
            let all = all.iter().map(|path| (*path).clone()).collect();
            client_program(product, "mysqldump", "mysql-client", all)
        };
        assert_eq!(find(Product::MySql, &[&maria, &own]).unwrap(), own);
        assert_eq!(find(Product::MariaDb, &[&maria]).unwrap(), maria);
        let error = find(Product::MySql, &[&maria]).unwrap_err();
        assert!(
            error.kind == ErrorKind::ToolMissing
                && error.message.ends_with("mysqldump is MariaDB's, and MySQL's own mysqldump is needed")
        );
        assert_eq!(find(Product::MySql, &[]).unwrap_err().kind, ErrorKind::ToolMissing);
    }
}
