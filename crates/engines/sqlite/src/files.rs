//! A target: places as files.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use plimsoll_clock::Clock;
use plimsoll_engine::{ClaimMode, Description, Error, ErrorKind, Result, Workspace, WorkspaceKind};
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::describe::describe;
use super::errors::{from_io, from_sqlite};
use super::lease::{FileLease, IfMissing};
use super::location::{self, APPLICATION_ID, HEADER_BYTES, Location, Ownership, ownership};
use super::modelled::Modelled;
use super::options::{self, Options, set_journal_mode};

/// How often a claim is tried, and how long it waits in between. A session that asks whether a place is leased holds
/// its lock for a moment, and that must not look like a lease.
const CLAIM_ATTEMPTS: u32 = 4;
const CLAIM_WAIT: Duration = Duration::from_millis(5);

/// An opened target.
#[derive(Debug, Clone)]
pub struct SqliteDatabase {
    pub(super) location: Location,
    pub(super) options: Options,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) description: Description,
    pub(super) modelled: Option<Arc<dyn Modelled>>,
}

impl SqliteDatabase {
    /// Opens a target by its URL.
    pub fn open(url: &str, clock: Arc<dyn Clock>) -> Result<Self> {
        let (path, options) = options::parse(url)?;
        Self::at(path, options, clock, None)
    }

    /// Opens a target on modelled hardware: our files go beside `path`, whatever characters are in it, and have pages of
    /// `page_bytes`, a power of two from 512 to 65536. Everything else is set as the hardware sets it.
    pub fn modelled(path: &Path, page_bytes: u64, clock: Arc<dyn Clock>, modelled: Arc<dyn Modelled>) -> Result<Self> {
        Self::at(path, Options::with_pages(page_bytes), clock, Some(modelled))
    }

    pub(super) fn at(
        path: &Path,
        options: Options,
        clock: Arc<dyn Clock>,
        modelled: Option<Arc<dyn Modelled>>,
    ) -> Result<Self> {
        let location = Location::find(path)?;
        let description = describe(&location, &options)?;
        Ok(Self { location, options, clock, description, modelled })
    }

    /// The file of a place.
    pub fn path(&self, workspace: &Workspace) -> PathBuf {
        self.location.database(workspace)
    }

    pub(super) fn connect(&self, path: &Path, flags: OpenFlags) -> Result<Connection> {
        let flags = flags | OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let flags = flags | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        match &self.modelled {
            Some(modelled) => Connection::open_with_flags_and_vfs(path, flags, modelled.vfs()),
            None => Connection::open_with_flags(path, flags),
        }
        .map_err(|error| from_sqlite(error, self.location.folder()))
    }

    /// Connects to a file that carries our mark. SQLite itself is asked for it: there may be other sessions, and their
    /// locks would end if we closed the file.
    pub(super) fn connect_to_ours(&self, path: &Path) -> Result<Connection> {
        let missing = || {
            Error::new(ErrorKind::Missing, format!("{} does not exist", path.display()))
                .hint("it was removed, or never finished: run again to make it anew")
        };
        let metadata = match fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(missing()),
            looked => looked.map_err(|error| from_io(&error, "look at", path))?,
        };
        if !metadata.is_file() {
            return Err(foreign(path));
        }
        if metadata.len() < HEADER_BYTES as u64 {
            return Err(missing());
        }
        let connection = self.connect(path, OpenFlags::empty())?;
        let mark = connection.pragma_query_value(None, "application_id", |row| row.get::<_, i32>(0));
        match mark {
            Ok(APPLICATION_ID) => Ok(connection),
            Ok(_) => Err(foreign(path)),
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::NotADatabase) => Err(foreign(path)),
            Err(error) => Err(from_sqlite(error, self.location.folder())),
        }
    }

    /// Takes the exclusive lock on a place and says whether the file is ours or new; another file is an error. An
    /// unfinished file is ours if its lock was there before, since a place is locked before it is made.
    pub(super) fn guard(&self, workspace: &Workspace) -> Result<Option<(FileLease, Ownership)>> {
        let (path, lock) = (self.location.database(workspace), self.location.lock(workspace));
        let locked_before = lock.try_exists().map_err(|error| from_io(&error, "look at", &lock))?;
        let Some(lease) = FileLease::take(&lock, ClaimMode::Exclusive, IfMissing::Create)? else { return Ok(None) };
        if !lease.is_plain() {
            return Err(foreign(&lock));
        }
        let owner = owner(&path, locked_before);
        if owner.is_err() && !locked_before {
            location::delete(&lock)?;
        }
        Ok(Some((lease, owner?)))
    }

    /// An error if a place's file is not ours, as far as that can be seen without its lease.
    pub(super) fn check_ours(&self, workspace: &Workspace) -> Result<()> {
        let holder = workspace.leased_by();
        owner(&self.location.database(&holder), self.location.lock(&holder).exists())?;
        let is_copy = workspace.kind() == WorkspaceKind::Copy;
        if is_copy { owner(&self.path(workspace), true).map(drop) } else { Ok(()) }
    }

    /// Makes an empty database for the run that holds the lease, in place of one that may be there.
    pub fn make_copy(&self, copy: &Workspace) -> Result<()> {
        self.make(&self.path(copy))
    }

    /// Deletes a database of the run that holds the lease; nobody may have it open.
    pub fn delete_copy(&self, copy: &Workspace) -> Result<()> {
        location::delete_database(&self.path(copy))
    }

    /// Removes a whole database that a run made, unless the run goes on.
    pub(super) fn remove_copy(&self, copy: &Workspace) -> Result<bool> {
        let path = self.location.database(copy);
        let lock = self.location.lock(&copy.leased_by());
        let had_lock = lock.exists();
        let Some((_lease, _)) = self.guard(&copy.leased_by())? else { return Ok(false) };
        // A copy is made under its run's lease, and grows from nothing.
        let removed = owner(&path, true).and_then(|_| location::delete_database(&path)).map(|()| true);
        if !had_lock {
            location::delete(&lock)?;
        }
        removed
    }

    /// Tries again for a short while.
    pub(super) fn patiently<T>(&self, take: impl Fn() -> Result<Option<T>>) -> Result<Option<T>> {
        for _ in 1..CLAIM_ATTEMPTS {
            if let Some(taken) = take()? {
                return Ok(Some(taken));
            }
            self.clock.sleep(CLAIM_WAIT);
        }
        take()
    }

    /// Takes the lease on a place as `claim` promises.
    pub(super) fn take(&self, workspace: &Workspace, mode: ClaimMode) -> Result<Option<FileLease>> {
        let path = self.location.database(workspace);
        let lease = match mode {
            ClaimMode::Exclusive => {
                let Some((lease, owner)) = self.patiently(|| self.guard(workspace))? else { return Ok(None) };
                if owner != Ownership::Ours {
                    self.make(&path)?;
                }
                lease
            }
            ClaimMode::Shared => {
                let lock = self.location.lock(workspace);
                // A place that was given up has a lock file still, unless somebody took it away.
                let if_missing = if path.exists() { IfMissing::Create } else { IfMissing::GiveUp };
                let Some(lease) = self.patiently(|| FileLease::take(&lock, mode, if_missing))? else { return Ok(None) };
                match self.connect_to_ours(&path) {
                    Ok(connection) => drop(connection),
                    Err(error) if error.kind == ErrorKind::Missing => return Ok(None),
                    Err(error) => return Err(error),
                }
                lease
            }
        };
        Ok(Some(lease))
    }

    /// Makes an empty place. Its mark goes into the very first page that is written, so that whatever has a header and
    /// no mark isn't ours.
    pub(super) fn make(&self, path: &Path) -> Result<()> {
        location::delete_database(path)?;
        let connection = self.connect(path, OpenFlags::SQLITE_OPEN_CREATE)?;
        let prepare = || {
            connection.pragma_update(None, "page_size", self.options.page_bytes as i64)?;
            connection.pragma_update(None, "application_id", APPLICATION_ID)
        };
        prepare().map_err(|error| from_sqlite(error, self.location.folder()))?;
        self.check(path, &connection)
    }

    /// Gives the file its journal mode, and makes sure of everything that the description promises.
    pub(super) fn check(&self, path: &Path, connection: &Connection) -> Result<()> {
        let failed = |error| from_sqlite(error, self.location.folder());
        let mode = self.options.journal_mode;
        if !set_journal_mode(connection, mode).map_err(failed)? {
            let text = format!("{} does not accept journal_mode={}", path.display(), mode);
            return Err(Error::new(ErrorKind::Unsupported, text)
                .hint("give journal_mode=delete, or a file on a local disk: a log needs memory that programs share"));
        }
        let page_bytes: i64 = connection.pragma_query_value(None, "page_size", |row| row.get(0)).map_err(failed)?;
        if page_bytes as u64 != self.options.page_bytes {
            let wanted = self.options.page_bytes;
            let text = format!("{} has pages of {page_bytes} bytes and not {wanted}", path.display());
            return Err(Error::new(ErrorKind::Usage, text).hint(format!("give page_size={page_bytes}, or clean first")));
        }
        Ok(())
    }
}

/// The owner of a file; an error if it is not ours. An unfinished one is ours if it was locked before.
fn owner(path: &Path, locked_before: bool) -> Result<Ownership> {
    match ownership(path)? {
        Ownership::Foreign => Err(foreign(path)),
        Ownership::Unfinished if !locked_before => Err(foreign(path)),
        owner => Ok(owner),
    }
}

fn foreign(path: &Path) -> Error {
    Error::new(ErrorKind::Safety, format!("{} is not ours", path.display()))
        .hint("it has a name of ours and not our mark; move it away")
}
