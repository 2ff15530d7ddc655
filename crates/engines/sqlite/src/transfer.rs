//! Whole databases are files of ours: dumped and loaded by the shell sqlite3, copied by SQLite or as files, backed up and
//! restored page by page.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use plimsoll_engine::server::tool;
use plimsoll_engine::transfer::{COPY, RESTORE, TABLES};
use plimsoll_engine::{Error, ErrorKind, Follow, Move, Restored, Result, Transfer, Workspace, process};
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};

use super::errors::{from_io, from_sqlite};
use super::existing::uri;
use super::files::SqliteDatabase;
use super::location;
use super::places::create_new;
use super::statements::Canceller;
use super::texts::text;

/// By SQLite's backup API, by the file system, or by writing all anew without gaps.
const WAYS: [&str; 3] = ["backup", "file-copy", "vacuum-into"];

const BACKUP: &str = "backup.db";

/// Pages that a backup copies, and bytes of a file, before anybody is asked whether it is to go on.
const STEP_PAGES: i32 = 1024;
const STEP_BYTES: usize = 4 << 20;

/// A backup waits so long for a page that somebody has locked.
const PAUSE: Duration = Duration::from_millis(5);

pub(super) struct SqliteTransfer {
    database: SqliteDatabase,
    shell: Option<PathBuf>,
}

impl SqliteTransfer {
    pub(super) fn new(database: SqliteDatabase) -> Self {
        Self { database, shell: None }
    }

    fn shell(&self) -> Result<Command> {
        let mut command = process::program(tool::found(self.shell.as_ref())?);
        command.args(["-batch", "-bail", "-init", "/dev/null"]);
        Ok(command)
    }

    /// A file that nobody has open, with an empty log.
    fn closed(&self, copy: &Workspace) -> Result<PathBuf> {
        let path = self.database.path(copy);
        let connection = self.database.connect_to_ours(copy)?;
        let busy: i64 = connection
            .query_row(text("empty the log"), [], |row| row.get(0))
            .map_err(|error| from_sqlite(error, self.database.location.folder()))?;
        if busy != 0 {
            return Err(Error::new(ErrorKind::Busy, format!("{} is still being used", path.display())));
        }
        Ok(path)
    }

    /// Copies a database into a new file by SQLite's backup API, page by page.
    fn by_pages(&self, connection: &Connection, target: &Path, follow: &mut dyn Follow) -> Result<()> {
        let failed = |error| from_sqlite(error, target.parent().unwrap_or(target));
        create_new(target)?;
        let mut copy = open(target, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(failed)?;
        let backup = Backup::new(connection, &mut copy).map_err(failed)?;
        loop {
            match backup.step(STEP_PAGES).map_err(failed)? {
                StepResult::Done => return Ok(()),
                StepResult::More => {}
                _ => self.database.clock.sleep(PAUSE),
            }
            follow.look(&mut || Some(bytes_of(target)))?;
        }
    }
}

impl Transfer for SqliteTransfer {
    fn methods(&self) -> &'static [&'static str] {
        &WAYS
    }

    fn find_tools(&mut self, for_what: Move) -> Result<Vec<String>> {
        if for_what != Move::Import {
            return Ok(Vec::new());
        }
        let shell = self.shell.insert(tool::find("sqlite3", &[], "sqlite3")?);
        Ok(tool::version(shell).into_iter().collect())
    }

    fn make(&mut self, copy: &Workspace) -> Result<()> {
        self.database.make_copy(copy)
    }

    fn remove(&mut self, copy: &Workspace) -> Result<()> {
        self.database.delete_copy(copy)
    }

    fn bytes(&mut self, copy: &Workspace) -> Option<u64> {
        Some(bytes_of(&self.database.path(copy)))
    }

    fn dump(&mut self, from: &Workspace, file: &File, follow: &mut dyn Follow) -> Result<()> {
        let mut command = self.shell()?;
        command.arg(uri(&self.database.path(from), "ro")).arg(".dump");
        command.stdin(Stdio::null()).stdout(tool::whole(file)?);
        let clock = self.database.clock.as_ref();
        tool::run(command, clock, || follow.look(&mut || Some(file.metadata().ok()?.len())))
    }

    fn import(&mut self, file: &File, into: &Workspace, follow: &mut dyn Follow) -> Result<()> {
        self.make(into)?;
        let path = self.database.path(into);
        let mut command = self.shell()?;
        // Should it outlive us, it makes no file where we or somebody else has cleaned up.
        command.arg(uri(&path, "rw")).stdin(tool::whole(file)?).stdout(Stdio::null());
        let clock = self.database.clock.as_ref();
        follow.stage(TABLES)?;
        tool::run(command, clock, || follow.look(&mut || Some(bytes_of(&path))))
    }

    fn copy(&mut self, from: &Workspace, to: &Workspace, way: &str, follow: &mut dyn Follow) -> Result<()> {
        let (source, target) = (self.closed(from)?, self.database.path(to));
        self.database.begin_copy(to)?;
        let failed = |error| from_sqlite(error, self.database.location.folder());
        let mut size = || Some(bytes_of(&target));
        match way {
            "file-copy" => {
                follow.stage(COPY)?;
                copy_file(&source, &target, &mut || follow.look(&mut size))?;
            }
            "vacuum-into" => {
                let connection = self.database.connect_to_ours(from)?;
                let handle = connection.get_interrupt_handle();
                follow.working(Arc::new(Canceller { handle, cancelled: Arc::default() }));
                create_new(&target)?;
                follow.stage(COPY)?;
                connection.execute(text("copy"), [target.to_string_lossy()]).map_err(failed)?;
            }
            _ => {
                follow.stage(COPY)?;
                self.by_pages(&self.database.connect_to_ours(from)?, &target, follow)?;
            }
        }
        self.database.finish_copy(to)
    }

    fn back_up(&mut self, from: &Workspace, folder: &Path, follow: &mut dyn Follow) -> Result<()> {
        self.by_pages(&self.database.connect_to_ours(from)?, &folder.join(BACKUP), follow)
    }

    fn restore(&mut self, folder: &Path, to: &Workspace, follow: &mut dyn Follow) -> Result<Restored> {
        let target = self.database.path(to);
        self.database.begin_copy(to)?;
        let backup = folder.join(BACKUP);
        let failed = |error| from_sqlite(error, folder);
        follow.stage(RESTORE)?;
        self.by_pages(&open(&backup, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(failed)?, &target, follow)?;
        self.database.finish_copy(to)?;
        Ok(Restored { elsewhere: None, workspace: to.clone(), keeper: None })
    }
}

/// Opens a file that is there, and follows no link.
fn open(path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW)
}

fn bytes_of(path: &Path) -> u64 {
    let length = |path: &Path| fs::metadata(path).map_or(0, |metadata| metadata.len());
    length(path) + length(&location::wal(path))
}

fn copy_file(from: &Path, to: &Path, look: &mut dyn FnMut() -> Result<()>) -> Result<()> {
    let mut source = File::open(from).map_err(|error| from_io(&error, "read", from))?;
    let failed = |error: std::io::Error| from_io(&error, "write", to);
    let mut target = File::create_new(to).map_err(failed)?;
    let mut buffer = vec![0; STEP_BYTES];
    loop {
        let count = source.read(&mut buffer).map_err(|error| from_io(&error, "read", from))?;
        if count == 0 {
            return target.sync_all().map_err(failed);
        }
        target.write_all(&buffer[..count]).map_err(failed)?;
        look()?;
    }
}
