//! Why runs could not be stored or found.

use std::fs::{FileType, OpenOptions};
use std::io;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;
use rustix::fs::Access;

use crate::schema::APPLICATION_ID;

/// Why runs could not be stored or found. What a person should know of the place is in the message.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A store to be read doesn't exist.
    #[error("{0}")]
    Missing(String),
    /// Something else is in its place, which was left as it is.
    #[error("{0}")]
    NotAStore(String),
    /// It was written by another release, and can't be used by this one as it is.
    #[error("{0}")]
    Version(String),
    /// We may not read or write it.
    #[error("{0}")]
    Permission(String),
    /// No room for what was measured.
    #[error("{0}")]
    Full(String),
    /// Its file was moved or removed while it was in use.
    #[error("{0}")]
    Moved(String),
    /// Another process has been writing for longer than we wait.
    #[error("{0}")]
    Busy(String),
    /// Another process keeps the same thing, and was faster.
    #[error("{0}")]
    Overtaken(String),
    /// It can't be reached, or is damaged.
    #[error("{message}")]
    Failed {
        /// Names the store.
        message: String,
        /// What was said.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// An event can't be read, or could not be read back if it were written: a figure that isn't a finite number.
    #[error("an event '{kind}' of run {run_id} is no valid document")]
    Document {
        /// Which kind of event.
        kind: String,
        /// The run.
        run_id: String,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// The run's first event is not there.
    #[error("the beginning of run {run_id} is not in the store")]
    NotBegun {
        /// The run.
        run_id: String,
    },
    /// No run has this id.
    #[error("no run '{wanted}' in the store; {}", newest_runs(newest))]
    UnknownRun {
        /// What was asked for.
        wanted: String,
        /// The newest runs there are, newest first.
        newest: Vec<String>,
    },
    /// Several runs begin with it.
    #[error("several runs begin with '{wanted}': {}", matching.join(", "))]
    AmbiguousRun {
        /// What was asked for.
        wanted: String,
        /// Some of the runs that are meant, newest first.
        matching: Vec<String>,
    },
    /// Too few characters to mean one run tomorrow as well.
    #[error("'{wanted}' is too short for a run id: give at least {} characters", crate::SHORTEST_PREFIX)]
    PrefixTooShort {
        /// What was asked for.
        wanted: String,
    },
}

fn newest_runs(newest: &[String]) -> String {
    if newest.is_empty() { "it holds none yet".to_owned() } else { format!("the newest: {}", newest.join(", ")) }
}

impl StoreError {
    /// The points that were told last may be in a log that stays.
    pub(crate) fn moved(path: &Path, log: Option<&Path>) -> Self {
        let log = log.filter(|log| log.exists()).map(|log| log.display());
        let rest =
            log.map(|log| format!("; the points that were told last are in {log}: put the store back beside it"));
        let rest = rest.unwrap_or_default();
        Self::Moved(format!("{} was moved, removed or replaced while a run was kept in it{rest}", path.display()))
    }

    pub(crate) fn emptied(path: &Path) -> Self {
        let path = path.display();
        Self::Moved(format!("{path} was emptied or written over while a run was kept in it: what it had is gone"))
    }

    pub(crate) fn no_file(path: &Path, kind: FileType) -> Self {
        let name = match kind {
            kind if kind.is_dir() => "directory",
            kind if kind.is_fifo() => "pipe (FIFO)",
            kind if kind.is_socket() => "socket",
            _ => "device",
        };
        Self::NotAStore(format!("{} is a {name}, not a result store", path.display()))
    }

    /// What lies beside a store and is none of it.
    pub(crate) fn in_the_way(path: &Path, why: &str) -> Self {
        Self::NotAStore(format!("{} {why}; it was left as it is: move it away, or name another store", path.display()))
    }

    pub(crate) fn not_sqlite(path: &Path) -> Self {
        let path = path.display();
        Self::NotAStore(format!("{path} is not an SQLite file, so not a result store; it was left as it is"))
    }

    /// `application_id` is what the file says it belongs to; 0 if it says nothing.
    pub(crate) fn foreign(path: &Path, application_id: i32) -> Self {
        let path = path.display();
        if application_id == APPLICATION_ID {
            let why = "has a view or a trigger, which no store of ours has";
            return Self::NotAStore(format!("{path} {why}, so not a result store; it was left as it is"));
        }
        Self::NotAStore(format!(
            "{path} is an SQLite database of another program (application id {application_id}), not a result store; it was \
             left as it is"
        ))
    }

    pub(crate) fn newer(path: &Path, found: i32, known: i32) -> Self {
        let path = path.display();
        Self::Version(format!(
            "{path} has schema version {found}, written by a newer release; this one knows versions up to {known}: update \
             plimsoll, or name another store"
        ))
    }

    pub(crate) fn older(path: &Path, found: i32, known: i32) -> Self {
        let path = path.display();
        Self::Version(format!(
            "{path} has schema version {found}, and {known} is needed: list its runs once with this release where it may be \
             written, which brings it up to date"
        ))
    }

    pub(crate) fn mismatched(path: &Path) -> Self {
        let path = path.display();
        Self::Version(format!("{path} is damaged: its tables are not those of its schema version; name another store"))
    }

    pub(crate) fn missing(path: &Path, is_empty: bool) -> Self {
        let only = if is_empty { ", only an empty file" } else { "" };
        Self::Missing(format!("there is no result store at {}{only}", path.display()))
    }

    pub(crate) fn permission(path: &Path) -> Self {
        let all = ["", "-wal", "-shm"].map(|end| {
            let mut name = path.as_os_str().to_owned();
            name.push(end);
            PathBuf::from(name)
        });
        let is_barred =
            |path: &&PathBuf| path.exists() && rustix::fs::access(*path, Access::READ_OK | Access::WRITE_OK).is_err();
        let barred = all.iter().find(is_barred).map_or(path, PathBuf::as_path);
        Self::Permission(format!("no permission to read and write {}", barred.display()))
    }

    fn full(path: &Path) -> Self {
        Self::Full(format!("the disk with {} is full", path.display()))
    }

    /// Says what an error of SQLite's means for a store; made for `map_err`.
    pub(crate) fn sqlite(path: &Path) -> impl Fn(rusqlite::Error) -> Self + use<> {
        let path = path.to_owned();
        // Of the file that readers share, SQLite does not say that there is no room for it.
        let no_room = |source: &rusqlite::Error| {
            source.sqlite_error().is_some_and(|error| error.extended_code == rusqlite::ffi::SQLITE_IOERR_SHMSIZE)
        };
        move |source| match source.sqlite_error_code() {
            _ if no_room(&source) => Self::full(&path),
            Some(ErrorCode::NotADatabase) => Self::not_sqlite(&path),
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Self::permission(&path),
            Some(ErrorCode::CannotOpen) => Self::cannot_open(&path, source),
            Some(ErrorCode::DiskFull) => Self::full(&path),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                let path = path.display();
                Self::Busy(format!("{path} is in use: another process has been writing to it for too long"))
            }
            _ => Self::failed(&path, source),
        }
    }

    pub(crate) fn unwritable(path: &Path, source: serde_json::Error) -> Self {
        Self::Failed {
            message: format!("what was watched could not be written to {}", path.display()),
            source: source.into(),
        }
    }

    fn failed(path: &Path, source: rusqlite::Error) -> Self {
        Self::Failed { message: format!("the result store {} failed", path.display()), source: source.into() }
    }

    /// SQLite doesn't say why it can't open a file; the system does when asked once more. Nothing is made in the place of one that is gone.
    fn cannot_open(path: &Path, source: rusqlite::Error) -> Self {
        match OpenOptions::new().write(true).open(path) {
            Err(error) => Self::io(path)(error),
            Ok(_) => Self::failed(path, source),
        }
    }

    /// Says what an error of the file system means for a store; made for `map_err`.
    pub(crate) fn io(path: &Path) -> impl Fn(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| match source.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Self::permission(&path),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::full(&path),
            _ => Self::Failed { message: format!("could not open {}", path.display()), source: source.into() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from_code(code: i32) -> StoreError {
        let path = Path::new("/nowhere/at/all/runs.db");
        StoreError::sqlite(path)(rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None))
    }

    #[test]
    fn nothing_is_made_where_a_store_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.db");
        let error = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CANTOPEN);
        let said = StoreError::sqlite(&path)(rusqlite::Error::SqliteFailure(error, None));
        assert!(matches!(said, StoreError::Failed { .. }) && !path.exists(), "{said}");
    }

    #[test]
    fn each_failure_of_sqlite_has_its_own_meaning() {
        use rusqlite::ffi;
        assert!(matches!(from_code(ffi::SQLITE_NOTADB), StoreError::NotAStore { .. }));
        assert!(matches!(from_code(ffi::SQLITE_READONLY), StoreError::Permission { .. }));
        assert!(matches!(from_code(ffi::SQLITE_FULL), StoreError::Full { .. }));
        assert!(matches!(from_code(ffi::SQLITE_IOERR_SHMSIZE), StoreError::Full { .. }));
        assert!(matches!(from_code(ffi::SQLITE_IOERR), StoreError::Failed { .. }));
        assert!(matches!(from_code(ffi::SQLITE_BUSY), StoreError::Busy { .. }));
        assert!(matches!(from_code(ffi::SQLITE_CORRUPT), StoreError::Failed { .. }));
        let unopened = from_code(ffi::SQLITE_CANTOPEN);
        assert!(unopened.to_string().starts_with("could not open "), "{unopened}");
    }

    #[test]
    fn so_has_each_failure_of_the_file_system() {
        let meaning = |kind: io::ErrorKind| StoreError::io(Path::new("runs.db"))(kind.into());
        assert!(matches!(meaning(io::ErrorKind::PermissionDenied), StoreError::Permission { .. }));
        assert!(matches!(meaning(io::ErrorKind::StorageFull), StoreError::Full { .. }));
        assert!(matches!(meaning(io::ErrorKind::NotADirectory), StoreError::Failed { .. }));
    }

    #[test]
    fn an_unknown_run_is_answered_with_runs_that_are_there() {
        let error = |newest: &[&str]| {
            let newest = newest.iter().map(|&id| id.to_owned()).collect();
            StoreError::UnknownRun { wanted: "abcd".to_owned(), newest }.to_string()
        };
        assert_eq!(error(&["n2", "n1"]), "no run 'abcd' in the store; the newest: n2, n1");
        assert_eq!(error(&[]), "no run 'abcd' in the store; it holds none yet");
    }
}
