//! A target: places as files.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use plimsoll_clock::Clock;
use plimsoll_engine::{Description, Error, ErrorKind, Intents, Mark, Result, Workspace};
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::counted::Counted;
use super::describe::describe;
use super::errors::{from_io, from_sqlite};
use super::lease::{self, UNMARKED, WITHOUT_LOCK, foreign};
use super::location::Location;
use super::modelled::Modelled;
use super::options::{self, Options, set_journal_mode};
use super::owner::{APPLICATION_ID, HEADER_BYTES, kind_of_stranger, stranger_beside};

/// An opened target.
#[derive(Debug, Clone)]
pub struct SqliteDatabase {
    pub(super) location: Location,
    pub(super) options: Options,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) description: Description,
    pub(super) modelled: Option<Arc<dyn Modelled>>,
    /// What we are about to make is noted here.
    pub(super) intents: Intents,
    pub(super) counted: Arc<Counted>,
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
        let intents = Intents::default().at(&description.fingerprint);
        Ok(Self { location, options, clock, description, modelled, intents, counted: Arc::default() })
    }

    /// The same, with what it makes noted there.
    #[must_use]
    pub fn noting(mut self, intents: &Intents) -> Self {
        self.intents = intents.at(&self.description.fingerprint);
        self
    }

    /// The file of a place.
    pub fn path(&self, workspace: &Workspace) -> PathBuf {
        self.location.database(workspace)
    }

    pub(super) fn connect(&self, path: &Path, flags: OpenFlags) -> Result<Connection> {
        let flags = flags | OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let flags = flags | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        if let Some((beside, kind)) = stranger_beside(path)? {
            return Err(foreign(&beside, &format!("it is {kind}")));
        }
        match &self.modelled {
            Some(modelled) => Connection::open_with_flags_and_vfs(path, flags, modelled.vfs()),
            None => Connection::open_with_flags(path, flags),
        }
        .map_err(|error| from_sqlite(error, self.location.folder()))
    }

    /// Connects to a file of a place of ours. SQLite itself is asked for the mark: there may be other sessions, and their locks would
    /// end if we closed the file.
    pub(super) fn connect_to_ours(&self, workspace: &Workspace) -> Result<Connection> {
        let path = self.location.database(workspace);
        let missing = || {
            Error::new(ErrorKind::Missing, format!("{} does not exist", path.display()))
                .hint(
                "it was moved, removed, or never finished: run again to make it anew; where a folder was moved in mid-run, 'plimsoll \
                 clean sqlite:FOLDER/FILE' removes what is in it now",
            )
        };
        if let Some(kind) = kind_of_stranger(&path)? {
            return Err(foreign(&path, &format!("it is {kind}")));
        }
        match fs::symlink_metadata(&path) {
            Ok(there) if there.len() >= HEADER_BYTES as u64 => {}
            Ok(_) => return Err(missing()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(missing()),
            Err(error) => return Err(from_io(&error, "look at", &path)),
        }
        let mark = self.mark_of(workspace)?;
        let connection = self.connect(&path, OpenFlags::empty())?;
        let number = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
        let found = number("application_id").and_then(|id| Ok((id, number("user_version")?)));
        let unmarked = || foreign(&path, "its header does not bear the mark of its lock file");
        match found {
            Ok(found) if found == (APPLICATION_ID, mark.number()) => Ok(connection),
            Ok(_) => Err(unmarked()),
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::NotADatabase) => Err(unmarked()),
            Err(error) => Err(from_sqlite(error, self.location.folder())),
        }
    }

    /// The mark of a place whose lock file somebody may hold.
    pub(super) fn mark_of(&self, workspace: &Workspace) -> Result<Mark> {
        let holder = workspace.leased_by();
        let lock = self.location.lock(&holder);
        if fs::symlink_metadata(&lock).is_err() {
            return Err(foreign(&self.location.database(workspace), WITHOUT_LOCK));
        }
        let text = lease::text_in(&lock)?;
        let ours = Mark::read(&text).filter(|mark| mark.object() == self.location.object(&holder));
        ours.ok_or_else(|| foreign(&lock, UNMARKED))
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
