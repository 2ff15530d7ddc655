//! Why runs could not be stored or found.

use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};

use plimsoll_measurement::version::VersionError;
use rusqlite::ErrorCode;

/// Why runs could not be stored or found. The path is that of the store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The path names a folder.
    #[error("{} is a directory, not a result store", path.display())]
    Directory {
        /// The store.
        path: PathBuf,
    },
    /// The file or its folder may not be read or written by us.
    #[error("no permission to read and write {}", path.display())]
    Permission {
        /// The store.
        path: PathBuf,
    },
    /// There is a file of another format.
    #[error("{} is not an SQLite file, so not a result store; it was left as it is", path.display())]
    NotSqlite {
        /// The store.
        path: PathBuf,
    },
    /// There is a database of another program.
    #[error(
        "{} is an SQLite database of another program (application id {application_id}), not a result store; \
         it was left as it is",
        path.display()
    )]
    Foreign {
        /// The store.
        path: PathBuf,
        /// What the file says it belongs to; 0 if it says nothing.
        application_id: i32,
    },
    /// A later release has written here.
    #[error(
        "{} has schema version {found}, written by a newer release; this one knows versions up to {known}: \
         update plimsoll, or name another store",
        path.display()
    )]
    Newer {
        /// The store.
        path: PathBuf,
        /// The file's schema version.
        found: i32,
        /// The newest version known here.
        known: i32,
    },
    /// A store that must not be changed has not been used since an earlier release.
    #[error(
        "{} has schema version {found}, and {known} is needed: list its runs once with this release where it may be \
         written, which brings it up to date",
        path.display()
    )]
    Older {
        /// The store.
        path: PathBuf,
        /// The file's schema version.
        found: i32,
        /// The version needed.
        known: i32,
    },
    /// A store to be read doesn't exist.
    #[error("there is no result store at {}{}", path.display(), if *is_empty { ", only an empty file" } else { "" })]
    Missing {
        /// The store.
        path: PathBuf,
        /// Whether there is a file with nothing in it.
        is_empty: bool,
    },
    /// No room for what was measured.
    #[error("the disk with {} is full", path.display())]
    DiskFull {
        /// The store.
        path: PathBuf,
    },
    /// Another process has been writing for longer than we wait.
    #[error("{} is in use: another process has been writing to it for too long", path.display())]
    Busy {
        /// The store.
        path: PathBuf,
    },
    /// The file or its folder could not be opened or made.
    #[error("could not open {}", path.display())]
    Open {
        /// The store.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// SQLite failed in another way, for instance on a damaged file.
    #[error("the result store {} failed", path.display())]
    Sqlite {
        /// The store.
        path: PathBuf,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// A document can't be read, or could not be read back if it were written: a figure that isn't a finite number.
    #[error("the {what} of run {run_id} is no valid document")]
    Document {
        /// Which part of a record.
        what: &'static str,
        /// The run.
        run_id: String,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// A record has a version of the schema that this release can't read.
    #[error("run {run_id} can't be read")]
    Version {
        /// The run.
        run_id: String,
        /// Which version, and what to do.
        source: VersionError,
    },
    /// A run of this id is there already.
    #[error("run {run_id} is in the store already")]
    RunExists {
        /// The run.
        run_id: String,
    },
    /// Something was added to a run or repetition that was never begun.
    #[error("{what} was never begun")]
    NotBegun {
        /// Names the run, and the repetition if that is what is missing.
        what: String,
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
    /// Says what an error of SQLite's means for a store; made for `map_err`.
    pub(crate) fn sqlite(path: &Path) -> impl Fn(rusqlite::Error) -> Self {
        let path = path.to_owned();
        move |source| {
            let path = path.clone();
            match source.sqlite_error_code() {
                Some(ErrorCode::NotADatabase) => Self::NotSqlite { path },
                Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Self::Permission { path },
                Some(ErrorCode::CannotOpen) => Self::cannot_open(path, source),
                Some(ErrorCode::DiskFull) => Self::DiskFull { path },
                Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy { path },
                _ => Self::Sqlite { path, source },
            }
        }
    }

    /// SQLite doesn't say why it can't open a file; the system does when asked once more. If it now lets us make the file, an
    /// empty file is a new store.
    fn cannot_open(path: PathBuf, source: rusqlite::Error) -> Self {
        match OpenOptions::new().write(true).create(true).truncate(false).open(&path) {
            Err(error) => Self::io(&path)(error),
            Ok(_) => Self::Sqlite { path, source },
        }
    }

    /// Says what an error of the file system means for a store; made for `map_err`.
    pub(crate) fn io(path: &Path) -> impl Fn(io::Error) -> Self {
        let path = path.to_owned();
        move |source| {
            let path = path.clone();
            match source.kind() {
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Self::Permission { path },
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull { path },
                _ => Self::Open { path, source },
            }
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
    fn each_failure_of_sqlite_has_its_own_meaning() {
        use rusqlite::ffi;
        assert!(matches!(from_code(ffi::SQLITE_NOTADB), StoreError::NotSqlite { .. }));
        assert!(matches!(from_code(ffi::SQLITE_READONLY), StoreError::Permission { .. }));
        assert!(matches!(from_code(ffi::SQLITE_FULL), StoreError::DiskFull { .. }));
        assert!(matches!(from_code(ffi::SQLITE_BUSY), StoreError::Busy { .. }));
        assert!(matches!(from_code(ffi::SQLITE_CORRUPT), StoreError::Sqlite { .. }));
        assert!(matches!(from_code(ffi::SQLITE_CANTOPEN), StoreError::Open { source, .. }
            if source.kind() == io::ErrorKind::NotFound));
    }

    #[test]
    fn so_has_each_failure_of_the_file_system() {
        let meaning = |kind: io::ErrorKind| StoreError::io(Path::new("runs.db"))(kind.into());
        assert!(matches!(meaning(io::ErrorKind::PermissionDenied), StoreError::Permission { .. }));
        assert!(matches!(meaning(io::ErrorKind::StorageFull), StoreError::DiskFull { .. }));
        assert!(matches!(meaning(io::ErrorKind::NotADirectory), StoreError::Open { .. }));
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
