//! A target: places as files, and what the engine says about itself.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use plimsoll_clock::Clock;
use plimsoll_engine::capability::Capability;
use plimsoll_engine::database::{
    ClaimMode, Cold, ColdFollower, Database, Description, Lease, Sampler, Session, WeakIsolation, Workspace,
    WorkspaceKind, WorkspaceStatus,
};
use plimsoll_engine::error::{Error, ErrorKind, Result};
use plimsoll_engine::process;
use plimsoll_engine::request::RequestAccess;
use plimsoll_engine::table::Table;
use plimsoll_engine::transfer::Transfer;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::errors::{from_io, from_sqlite};
use super::existing;
use super::lease::{FileLease, IfMissing, is_leased};
use super::location::{self, APPLICATION_ID, HEADER_BYTES, Location, Ownership, ownership};
use super::modelled::Modelled;
use super::options::{self, Options, set_journal_mode};
use super::session::SqliteSession;
use super::transfer::SqliteTransfer;

/// How often a claim is tried, and how long it waits in between. A session that asks whether a place is leased holds
/// its lock for a moment, and that must not look like a lease.
const CLAIM_ATTEMPTS: u32 = 4;
const CLAIM_WAIT: Duration = Duration::from_millis(5);

/// An opened target.
#[derive(Debug, Clone)]
pub struct SqliteDatabase {
    location: Location,
    options: Options,
    clock: Arc<dyn Clock>,
    description: Description,
    modelled: Option<Arc<dyn Modelled>>,
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

    fn at(path: &Path, options: Options, clock: Arc<dyn Clock>, modelled: Option<Arc<dyn Modelled>>) -> Result<Self> {
        let location = Location::find(path)?;
        let description = describe(&location, &options)?;
        Ok(Self { location, options, clock, description, modelled })
    }

    /// The file of a place.
    pub fn path(&self, workspace: &Workspace) -> PathBuf {
        self.location.database(workspace)
    }

    /// The folder of our files.
    pub(super) fn folder(&self) -> &Path {
        self.location.folder()
    }

    /// The time it lives by.
    pub(super) fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    fn connect(&self, path: &Path, flags: OpenFlags) -> Result<Connection> {
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
    fn guard(&self, workspace: &Workspace) -> Result<Option<(FileLease, Ownership)>> {
        let (path, lock) = (self.location.database(workspace), self.location.lock(workspace));
        let locked_before = lock.try_exists().map_err(|error| from_io(&error, "look at", &lock))?;
        let Some(lease) = FileLease::take(&lock, ClaimMode::Exclusive, IfMissing::Create)? else { return Ok(None) };
        if !lease.is_plain() {
            return Err(foreign(&lock));
        }
        match ownership(&path)? {
            Ownership::Unfinished if locked_before => Ok(Some((lease, Ownership::Unfinished))),
            Ownership::Unfinished | Ownership::Foreign => {
                if !locked_before {
                    location::delete(&lock)?;
                }
                Err(foreign(&path))
            }
            owner => Ok(Some((lease, owner))),
        }
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
    fn remove_copy(&self, copy: &Workspace) -> Result<bool> {
        let path = self.location.database(copy);
        let lock = self.location.lock(&copy.leased_by());
        let had_lock = lock.exists();
        let Some((_lease, _)) = self.guard(&copy.leased_by())? else { return Ok(false) };
        let removed = match ownership(&path)? {
            Ownership::Foreign => Err(foreign(&path)),
            // A copy is made under its run's lease, and grows from nothing.
            _ => location::delete_database(&path).map(|()| true),
        };
        if !had_lock {
            location::delete(&lock)?;
        }
        removed
    }

    /// Tries again for a short while.
    fn patiently<T>(&self, take: impl Fn() -> Result<Option<T>>) -> Result<Option<T>> {
        for _ in 1..CLAIM_ATTEMPTS {
            if let Some(taken) = take()? {
                return Ok(Some(taken));
            }
            self.clock.sleep(CLAIM_WAIT);
        }
        take()
    }

    /// Takes the lease on a place as `claim` promises.
    fn take(&self, workspace: &Workspace, mode: ClaimMode) -> Result<Option<FileLease>> {
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
    fn check(&self, path: &Path, connection: &Connection) -> Result<()> {
        let failed = |error| from_sqlite(error, self.location.folder());
        let mode = self.options.journal_mode;
        if !set_journal_mode(connection, mode).map_err(failed)? {
            let text = format!("{} does not accept journal_mode={}", path.display(), mode.name());
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

impl Database for SqliteDatabase {
    fn description(&self) -> &Description {
        &self.description
    }

    /// Counters belong to a connection here, and nobody else sees them.
    fn capabilities(&self) -> Vec<Capability> {
        let cost =
            "SQLite counts for each connection alone, so that a run has only what the machine says of its process";
        vec![Capability { name: "counters of all sessions", works: false, cost, remedy: None }]
    }

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

    fn session(&self, workspace: &Workspace, run: &Workspace) -> Result<Box<dyn Session>> {
        self.session_with(workspace, run, RequestAccess::OWN)
    }

    fn session_with(&self, workspace: &Workspace, _run: &Workspace, access: RequestAccess) -> Result<Box<dyn Session>> {
        existing::refuse_writes(access)?;
        if access.existing && self.modelled.is_some() {
            return Err(Error::new(ErrorKind::Unsupported, "modelled hardware has no existing tables")
                .hint("leave out 'existing = true' and make the tables under [setup]"));
        }
        let path = self.location.database(workspace);
        let connection = self.connect_to_ours(&path)?;
        self.options.apply(&connection).map_err(|error| from_sqlite(error, self.location.folder()))?;
        self.check(&path, &connection)?;
        if access.existing {
            existing::attach(&connection, &self.location.named())?;
        }
        let mut session = SqliteSession::new(connection, path, &self.options, Arc::clone(&self.clock));
        if let Some(modelled) = &self.modelled {
            session.follow(modelled.as_ref())?;
        }
        Ok(Box::new(session))
    }

    fn workspaces(&self) -> Result<Vec<WorkspaceStatus>> {
        let status = |workspace: Workspace| WorkspaceStatus {
            leased: is_leased(&self.location.lock(&workspace.leased_by())),
            workspace,
        };
        Ok(self.location.workspaces()?.into_iter().map(status).collect())
    }

    /// Sessions live in the process that holds the lease, and die with it.
    fn end_orphans(&self) -> Result<u32> {
        Ok(0)
    }

    fn remove(&self, workspace: &Workspace) -> Result<bool> {
        if workspace.kind() == WorkspaceKind::Copy {
            return self.remove_copy(workspace);
        }
        let (path, lock) = (self.location.database(workspace), self.location.lock(workspace));
        if fs::symlink_metadata(&lock).is_err() && fs::symlink_metadata(&path).is_err() {
            return Ok(true);
        }
        let Some((_lease, _owner)) = self.guard(workspace)? else { return Ok(false) };
        location::delete_database(&path)?;
        location::delete(&lock)?;
        Ok(true)
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

    fn transfer(&self, _run: &Workspace) -> Result<Option<Box<dyn Transfer>>> {
        let is_real = self.modelled.is_none();
        Ok(is_real.then(|| Box::new(SqliteTransfer::new(self.clone())) as Box<dyn Transfer>))
    }

    /// A session works in its own thread and counts for itself.
    fn process_sampler(&self) -> Option<Box<dyn Sampler>> {
        None
    }
}

fn foreign(path: &Path) -> Error {
    Error::new(ErrorKind::Safety, format!("{} is not ours", path.display()))
        .hint("it has a name of ours and not our mark; move it away")
}

/// What the sessions will use: SQLite is asked through a connection without a file, the rest is made sure of when a
/// session opens.
fn describe(location: &Location, options: &Options) -> Result<Description> {
    let failed = |error| from_sqlite(error, location.folder());
    let connection = Connection::open_in_memory().map_err(failed)?;
    options.apply(&connection).map_err(failed)?;
    let pragma = |name: &str| {
        connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).map(|value| value.to_string())
    };
    let threadsafe: String = connection
        .query_row(
            "SELECT compile_options FROM pragma_compile_options WHERE compile_options LIKE 'THREADSAFE=%'",
            [],
            |row| row.get(0),
        )
        .map_err(failed)?;
    let settings = BTreeMap::from([
        ("cache_size".to_owned(), pragma("cache_size").map_err(failed)?),
        ("journal_mode".to_owned(), options.journal_mode.name().to_owned()),
        ("mmap_size".to_owned(), options.mmap_bytes.to_string()),
        ("page_size".to_owned(), options.page_bytes.to_string()),
        ("synchronous".to_owned(), options.synchronous().to_owned()),
        ("temp_store".to_owned(), "memory".to_owned()),
        ("threadsafe".to_owned(), threadsafe.trim_start_matches("THREADSAFE=").to_owned()),
        ("wal_autocheckpoint".to_owned(), pragma("wal_autocheckpoint").map_err(failed)?),
    ]);
    Ok(Description {
        engine: "sqlite".to_owned(),
        relative: None,
        version: rusqlite::version().to_owned(),
        settings,
        page_bytes: options.page_bytes,
        local: true,
        embedded: true,
        cpus: std::thread::available_parallelism().ok().and_then(|cpus| u32::try_from(cpus.get()).ok()),
        weak_isolation: WeakIsolation::NoEffect(
            "read uncommitted needs SQLite's shared cache, which is not used".to_owned(),
        ),
        fingerprint: location.fingerprint()?,
        warnings: warnings(location, options),
        scale: 1,
        edition: None,
    })
}

fn warnings(location: &Location, options: &Options) -> Vec<String> {
    let mut warnings = Vec::new();
    if options.synchronous() == "off" {
        warnings.push("synchronous=off: a crash of the machine may damage the file or lose commits".to_owned());
    }
    if !options.journal_mode.survives_a_kill() {
        let mode = options.journal_mode.name();
        warnings.push(format!("journal_mode={mode}: a crash within a transaction damages the file"));
    }
    if location.in_memory() {
        warnings.push(format!("the folder {} is in memory, not on a disk", location.folder().display()));
    }
    warnings
}
