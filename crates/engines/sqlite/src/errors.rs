//! What SQLite and the file system say, in our classes.

use std::io;
use std::path::Path;

use plimsoll_engine::error::{Error, ErrorKind};
use plimsoll_engine::process;
use rusqlite::ErrorCode;

/// Less free space than this explains a failed write: SQLite's log index alone grows by 32 KiB at a time.
const FULL_BELOW_BYTES: u64 = 1 << 20;

/// SQLite may not write, and would have to before it can read.
const LEFT_JOURNALS: [i32; 2] = [rusqlite::ffi::SQLITE_READONLY_ROLLBACK, rusqlite::ffi::SQLITE_READONLY_RECOVERY];

/// True if this process may open next to no files any more.
fn no_file_is_left() -> bool {
    const TOO_MANY: i32 = 24;
    let opened: io::Result<Vec<std::fs::File>> = (0..2).map(|_| std::fs::File::open("/dev/null")).collect();
    opened.is_err_and(|error| error.raw_os_error() == Some(TOO_MANY))
}

/// The class of what SQLite says about a database in `folder`.
pub(super) fn from_sqlite(error: rusqlite::Error, folder: &Path) -> Error {
    let (failure, message) = match error {
        rusqlite::Error::SqliteFailure(failure, message) => (failure, message),
        rusqlite::Error::SqlInputError { error: failure, msg, .. } => (failure, Some(msg)),
        rusqlite::Error::ToSqlConversionFailure(reason) => {
            return Error::new(ErrorKind::Unsupported, sentence(&reason.to_string()));
        }
        other => return Error::new(ErrorKind::Statement, sentence(&other.to_string())),
    };
    let message = message.unwrap_or_else(|| failure.to_string());
    let full = || process::free_bytes(folder).is_some_and(|free| free < FULL_BELOW_BYTES);
    let kind = match failure.code {
        ErrorCode::OperationInterrupted => ErrorKind::Cancelled,
        ErrorCode::DiskFull => ErrorKind::DiskFull,
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => ErrorKind::Busy,
        ErrorCode::SystemIoFailure | ErrorCode::CannotOpen if !folder.is_dir() => ErrorKind::Missing,
        // Growing the log's shared index on a full disk is reported as a plain I/O error, and a journal that can't be
        // made as a file that can't be opened.
        ErrorCode::SystemIoFailure | ErrorCode::CannotOpen if full() => ErrorKind::DiskFull,
        ErrorCode::CannotOpen if no_file_is_left() => {
            return Error::new(ErrorKind::Statement, sentence("this program may have no more files open"))
                .hint("raise the limit of open files (ulimit -n)");
        }
        ErrorCode::SystemIoFailure => {
            return Error::new(ErrorKind::Statement, sentence(&format!("{message} in {}", folder.display())))
                .hint("see whether the shell limits the size of files (ulimit -f), whether a quota is used up, and the system's log");
        }
        ErrorCode::ReadOnly if failure.extended_code == rusqlite::ffi::SQLITE_READONLY_DBMOVED => {
            let moved = format!("a file of ours in {} was moved or removed", folder.display());
            return with_next_step(Error::new(ErrorKind::Missing, sentence(&moved)), folder);
        }
        ErrorCode::ReadOnly if LEFT_JOURNALS.contains(&failure.extended_code) => {
            return Error::new(
                ErrorKind::Safety,
                sentence("a program that was killed has left its journal beside the file"),
            )
            .hint("open the file once with its own program, which brings it in order");
        }
        ErrorCode::CannotOpen
        | ErrorCode::ReadOnly
        | ErrorCode::PermissionDenied
        | ErrorCode::AuthorizationForStatementDenied => ErrorKind::Permission,
        _ => ErrorKind::Statement,
    };
    with_next_step(Error::new(kind, sentence(&message)), folder)
}

/// The class of what the file system says about `path`; `action` tells what was tried.
pub(super) fn from_io(error: &io::Error, action: &str, path: &Path) -> Error {
    let kind = match error.kind() {
        io::ErrorKind::NotFound => ErrorKind::Missing,
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => ErrorKind::Permission,
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ErrorKind::DiskFull,
        _ => ErrorKind::Statement,
    };
    let why = if kind == ErrorKind::DiskFull { "the disk is full".to_owned() } else { error.to_string() };
    let text = format!("can't {action} {}: {}", path.display(), why.trim_end_matches('.'));
    with_next_step(Error::new(kind, text), path)
}

/// Adds what to do next at `path`, where the class of the error tells it.
fn with_next_step(error: Error, path: &Path) -> Error {
    let path = path.display();
    let hint = match error.kind {
        ErrorKind::DiskFull => format!("free space on the disk of {path}, or measure with a smaller scale"),
        ErrorKind::Busy => {
            format!("another program uses our files in {path}: wait until it is done or end it, then try again")
        }
        ErrorKind::Permission => {
            format!("give this user the right to read and write {path}, or name a file in a folder of its own")
        }
        ErrorKind::Missing => format!(
            "make sure that {path} exists and that nothing removes or moves it, then try again; where a folder was moved in mid-run, \
             'plimsoll clean sqlite:FOLDER/FILE' removes what is in it now"
        ),
        _ => return error,
    };
    error.hint(hint)
}

fn sentence(text: &str) -> String {
    format!("SQLite: {}", text.trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::ffi;

    fn kind(code: i32) -> ErrorKind {
        from_sqlite(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None), Path::new("/")).kind
    }

    #[test]
    fn codes_have_classes() {
        assert_eq!(kind(ffi::SQLITE_INTERRUPT), ErrorKind::Cancelled);
        assert_eq!(kind(ffi::SQLITE_FULL), ErrorKind::DiskFull);
        assert_eq!(kind(ffi::SQLITE_BUSY), ErrorKind::Busy);
        assert_eq!(kind(ffi::SQLITE_LOCKED), ErrorKind::Busy);
        assert_eq!(kind(ffi::SQLITE_READONLY), ErrorKind::Permission);
        assert_eq!(kind(ffi::SQLITE_CANTOPEN), ErrorKind::Permission);
        assert_eq!(kind(ffi::SQLITE_NOTADB), ErrorKind::Statement);
        assert_eq!(kind(ffi::SQLITE_CORRUPT), ErrorKind::Statement);
    }

    #[test]
    fn what_can_be_mended_has_a_next_step() {
        for code in [ffi::SQLITE_FULL, ffi::SQLITE_BUSY, ffi::SQLITE_READONLY, ffi::SQLITE_CANTOPEN] {
            let error = from_sqlite(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None), Path::new("/"));
            assert!(error.hint.is_some(), "{error:?}");
        }
        for kind in [
            io::ErrorKind::NotFound,
            io::ErrorKind::PermissionDenied,
            io::ErrorKind::ReadOnlyFilesystem,
            io::ErrorKind::StorageFull,
            io::ErrorKind::QuotaExceeded,
        ] {
            let error = from_io(&kind.into(), "read", Path::new("/data/x.db"));
            assert!(error.hint.as_ref().is_some_and(|hint| hint.contains("/data/x.db")), "{error:?}");
        }
    }

    #[test]
    fn a_lost_folder_is_missing() {
        let failure = rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_CANTOPEN), Some("no way.".to_owned()));
        let error = from_sqlite(failure, Path::new("/no/such/folder"));
        assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Missing, "SQLite: no way"));
    }
}
