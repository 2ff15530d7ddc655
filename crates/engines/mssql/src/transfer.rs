//! Whole databases on the move: dumped and loaded by `sqlpackage`, copied and restored by the server, or by Azure.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use plimsoll_engine::server::tool;
use plimsoll_engine::transfer::{COPY, RESTORE, TABLES};
use plimsoll_engine::{
    Database, Error, ErrorKind, Follow, Mark, Move, Restored, Result, Row, Transfer, Value, Workspace,
};

use super::connect::Connector;
use super::control::Control;
use super::copies::{self, Copies, Making};
use super::program::{self, Dump, Side};
use super::sql::{self, Product};
use super::wire::{Outcome, Wire};
use plimsoll_engine::server::place::{Keeper as _, WORK};

/// By a backup and its restore under another name; by Azure itself.
const WAYS: [&str; 1] = ["backup-restore"];
const AZURE_WAYS: [&str; 1] = ["as-copy-of"];

/// How often it is looked whether the server has done something.
const PAUSE: Duration = Duration::from_millis(100);
/// The same for what takes Azure minutes.
const AZURE_PAUSE: Duration = Duration::from_secs(1);
/// The same where a program of Azure's is asked.
const AZ_PAUSE: Duration = Duration::from_secs(15);
/// How long a database that Azure makes may show no work on it.
const IDLE_PATIENCE: Duration = Duration::from_mins(10);
/// How long Azure may take for the first backup of a new database: it says half an hour, and more for large ones.
const BACKUP_PATIENCE: Duration = Duration::from_hours(2);

/// Opens another database of the server as a target.
pub(super) type Open = fn(Connector) -> Result<Box<dyn Database>>;

pub(super) struct MssqlTransfer {
    open: Open,
    connector: Arc<Connector>,
    run: Workspace,
    product: Product,
    /// The target's database by the name that it has.
    home: String,
    pub(super) tool: Option<PathBuf>,
    /// What was backed up last, and when by the server's time.
    backed_up: Option<(Workspace, String)>,
}

impl MssqlTransfer {
    pub(super) fn new(
        connector: &Arc<Connector>,
        run: &Workspace,
        (product, home): (Product, &str),
        open: Open,
    ) -> Self {
        Self {
            open,
            connector: Arc::clone(connector),
            run: run.clone(),
            product,
            home: home.to_owned(),
            tool: None,
            backed_up: None,
        }
    }

    fn copies(&self) -> Copies<'_> {
        Copies::new(&self.connector, self.product, &self.home)
    }

    fn tool(&self) -> Result<&Path> {
        tool::found(self.tool.as_ref()).map(PathBuf::as_path)
    }

    /// Runs a statement that takes long in `master`, under the name of the run, while `bytes` is asked how far it is.
    fn work(
        &self,
        text: &str,
        follow: &mut dyn Follow,
        mut bytes: impl FnMut(&mut Control, i64) -> Option<u64>,
    ) -> Result<()> {
        let master = self.connector.to("master");
        let name = format!("{WORK}{}", self.run);
        let mut worker = Control::connect(&master, &name)?;
        let number = worker.number(sql::OWN_NUMBER, &[])?.unwrap_or(0);
        let mut control = Control::connect(&master, &name)?;
        let mut wire = worker.wire;
        let canceller = wire.canceller();
        follow.working(Arc::clone(&canceller));
        let run = || -> (Outcome<u64>, Box<dyn Wire>) { (wire.run(text), wire) };
        let (outcome, wire) = thread::scope(|scope| {
            let running = scope.spawn(run);
            let mut looked = Ok(());
            while !running.is_finished() {
                if looked.is_ok() {
                    looked = follow.look(&mut || bytes(&mut control, number));
                }
                // Again and again: the statement may not have begun when it was cancelled.
                if looked.is_err() {
                    canceller.cancel();
                }
                self.connector.clock.sleep(PAUSE);
            }
            let ended = running.join().map_err(|_| Error::new(ErrorKind::Internal, "a move ended unexpectedly"));
            looked.and(ended)
        })?;
        outcome.map(drop).map_err(|fault| self.connector.errors.running(fault, wire.is_dead()))
    }

    /// Backs up into the server's own folder.
    fn write_backup(&self, from: &Workspace, follow: &mut dyn Follow) -> Result<()> {
        let copies = self.copies();
        copies.can_remove_backups()?;
        let file = sql::backup_file(from.name());
        self.work(&sql::BACK_UP.filled(&[("copy", from.name()), ("file", &file)]), follow, |_, _| None)?;
        copies.finds_backups(from)
    }

    /// Restores such a backup under another name.
    fn read_backup(&self, from: &Workspace, to: &Workspace, follow: &mut dyn Follow) -> Result<()> {
        let whole = self.copies().bytes(from);
        let ([data, log], file) = (sql::file_marks(&self.home), sql::backup_file(from.name()));
        let words = [("copy", to.name()), ("file", &file), ("data", &data), ("log", &log)];
        self.work(&sql::RESTORE.filled(&words), follow, |control, number| {
            let rows = control.rows(sql::DONE_PERCENT, &[Value::BigInt(number)]).ok()?;
            share(whole, rows.first())
        })
    }

    /// Waits until a database that Azure makes lets us in.
    fn await_azure(&self, from: &Workspace, to: &Workspace, follow: &mut dyn Follow) -> Result<()> {
        let copies = self.copies();
        let whole = copies.bytes(from);
        let (mut was_there, mut idle_since) = (false, self.connector.clock.now());
        loop {
            let making = copies.making(to)?;
            match making {
                Making::Open => return copies.mark(to),
                Making::Worked => idle_since = self.connector.clock.now(),
                Making::Absent if was_there => return Err(copies::unfinished(to, "gone again")),
                Making::Absent | Making::Shut => {}
            }
            was_there |= making != Making::Absent;
            if self.connector.clock.now().since(idle_since) >= IDLE_PATIENCE {
                let how = if was_there { "there and lets nobody in" } else { "not there" };
                return Err(copies::unfinished(to, how));
            }
            follow.look(&mut || azure_bytes(&copies, to, whole))?;
            self.connector.clock.sleep(AZURE_PAUSE);
        }
    }

    /// Waits until Azure has a first backup of a database, which it makes by itself; returns a moment that it can be restored
    /// to, by the server's time.
    fn await_first_backup(&self, from: &Workspace, follow: &mut dyn Follow) -> Result<String> {
        let az = self.tool()?;
        let server = program::azure_server(az, self.connector.host())?;
        let copies = self.copies();
        let start = self.connector.clock.now();
        loop {
            follow.look(&mut || None)?;
            let earliest = program::earliest_restore(az, &server, from);
            let now = copies.in_master(|control| control.names(sql::NOW, &[]))?.into_iter().next();
            // Both are written so that what is later comes later in the alphabet.
            if let Some(now) = now.filter(|now| earliest.as_deref().is_some_and(|earliest| earliest <= now.as_str())) {
                return Ok(now);
            }
            if self.connector.clock.now().since(start) >= BACKUP_PATIENCE {
                let message = format!("Azure has no backup of {from} that it could be restored from");
                return Err(Error::new(ErrorKind::Busy, message)
                    .hint("see what 'az sql db show --query earliestRestoreDate' says, or try again later"));
            }
            let end = self.connector.clock.now().after(AZ_PAUSE);
            while self.connector.clock.now() < end {
                follow.look(&mut || None)?;
                self.connector.clock.sleep(PAUSE);
            }
        }
    }
}

/// Bytes of a share in percent.
fn share(whole: Option<u64>, row: Option<&Row>) -> Option<u64> {
    match row?.get(0) {
        Value::Float(percent) => Some((whole? as f64 * percent / 100.0) as u64),
        _ => None,
    }
}

/// Bytes that Azure has moved: by the copy's own progress, else by that of the operation.
fn azure_bytes(copies: &Copies<'_>, to: &Workspace, whole: Option<u64>) -> Option<u64> {
    let name = [Value::Text(to.name())];
    let asked = copies.in_master(|control| {
        let copying = control.rows(sql::COPYING, &name)?;
        if copying.is_empty() { control.rows(sql::OPERATION, &name) } else { Ok(copying) }
    });
    share(whole, asked.ok()?.first())
}

impl Transfer for MssqlTransfer {
    fn methods(&self) -> &'static [&'static str] {
        if self.product == Product::Database { &AZURE_WAYS } else { &WAYS }
    }

    /// Azure is believed to copy files, to another machine or behind the buffer pool.
    fn copies_are_cold(&self) -> bool {
        self.product == Product::Database
    }

    /// In Azure each database has its own resources, and its tables are in the schema that is named like the run's place.
    fn inside(&self, copy: &Workspace) -> Result<Restored> {
        if self.product != Product::Database {
            return Ok(Restored { elsewhere: None, workspace: copy.clone(), keeper: None });
        }
        let database = (self.open)(self.connector.to(copy.name()))?;
        Ok(Restored { elsewhere: Some(database), workspace: self.run.clone(), keeper: None })
    }

    fn find_tools(&mut self, for_what: Move) -> Result<Vec<String>> {
        // All of it is said before anything is loaded.
        let (tool, version) = match for_what {
            Move::Import => {
                self.copies().would_be_known()?;
                program::can_be_told(&self.connector.arguments()?)?;
                program::find_sqlpackage()?
            }
            Move::Restore if self.product == Product::Database => program::find_az()?,
            Move::Copy | Move::Restore if self.product == Product::Server => {
                self.copies().can_remove_backups()?;
                self.copies().would_be_known()?;
                return Ok(Vec::new());
            }
            _ => return Ok(Vec::new()),
        };
        self.tool = Some(tool);
        Ok(vec![version])
    }

    fn make(&mut self, copy: &Workspace) -> Result<()> {
        let copies = self.copies();
        copies.drop(copy)?;
        copies.create(copy)?;
        copies.mark(copy)?;
        copies.within(copy, |control| control.make(&self.run, false, &Mark::new(self.run.name())))
    }

    fn remove(&mut self, copy: &Workspace) -> Result<()> {
        self.copies().drop(copy)
    }

    fn bytes(&mut self, copy: &Workspace) -> Option<u64> {
        self.copies().bytes(copy)
    }

    fn dump(&mut self, from: &Workspace, file: &File, follow: &mut dyn Follow) -> Result<()> {
        let dump = Dump::new(from)?;
        let command = program::sqlpackage(self.tool()?, "Export", Side::Source, from, &dump.file, &self.connector)?;
        tool::run(command, self.connector.clock.as_ref(), || follow.look(&mut || dump.bytes()))?;
        dump.give(file)
    }

    /// The dump brings the schema of the run's place, and in Azure the mark.
    fn import(&mut self, file: &File, into: &Workspace, follow: &mut dyn Follow) -> Result<()> {
        let copies = self.copies();
        copies.drop(into)?;
        let dump = Dump::new(into)?;
        dump.take(file)?;
        copies.create(into)?;
        let command = program::sqlpackage(self.tool()?, "Import", Side::Target, into, &dump.file, &self.connector)?;
        follow.stage(TABLES)?;
        tool::run(command, self.connector.clock.as_ref(), || follow.look(&mut || copies.bytes(into)))?;
        copies.mark(into)
    }

    fn copy(&mut self, from: &Workspace, to: &Workspace, _way: &str, follow: &mut dyn Follow) -> Result<()> {
        self.copies().drop(to)?;
        follow.stage(COPY)?;
        if self.product == Product::Database {
            // The statement may end at once or when the copy is there.
            let copies = self.copies();
            let whole = copies.bytes(from);
            let text = sql::COPY_AZURE_DATABASE.filled(&[("copy", to.name()), ("from", from.name())]);
            self.work(&text, follow, |_, _| azure_bytes(&copies, to, whole))?;
            return self.await_azure(from, to, follow);
        }
        self.write_backup(from, follow)?;
        self.read_backup(from, to, follow)
    }

    /// Nothing of it is on this machine.
    fn backup_bytes(&mut self, _from: &Workspace) -> Option<u64> {
        None
    }

    /// The server writes it among its own; Azure has backups anyway: the first one is waited for, and the moment noted.
    fn back_up(&mut self, from: &Workspace, _folder: &Path, follow: &mut dyn Follow) -> Result<()> {
        let mut time = String::new();
        if self.product == Product::Database {
            time = self.await_first_backup(from, follow)?;
        } else {
            self.write_backup(from, follow)?;
        }
        self.backed_up = Some((from.clone(), time));
        Ok(())
    }

    fn restore(&mut self, _folder: &Path, to: &Workspace, follow: &mut dyn Follow) -> Result<Restored> {
        let unready = || Error::new(ErrorKind::Internal, "a database was restored before it was backed up");
        let (from, time) = self.backed_up.clone().ok_or_else(unready)?;
        self.copies().drop(to)?;
        if self.product == Product::Database {
            let az = self.tool()?;
            let server = program::azure_server(az, self.connector.host())?;
            let command = program::restore(az, &server, &from, to, &time);
            let copies = self.copies();
            let whole = copies.bytes(&from);
            follow.stage(RESTORE)?;
            tool::run(command, self.connector.clock.as_ref(), || follow.look(&mut || azure_bytes(&copies, to, whole)))?;
            self.await_azure(&from, to, follow)?;
        } else {
            follow.stage(RESTORE)?;
            self.read_backup(&from, to, follow)?;
        }
        Ok(Restored { elsewhere: None, workspace: to.clone(), keeper: None })
    }
}
