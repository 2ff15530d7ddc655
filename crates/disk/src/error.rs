//! What the system says of files, as errors that have one exit code each.

use std::io;
use std::path::Path;

use plimsoll_engine::{Error, ErrorKind};

/// Failed operations in percent of all, from which a repetition is no result.
pub const MOST_FAILED_PERCENT: f64 = 1.0;

/// An error about a file or folder: what could not be done, and what to do about it.
pub fn at(what: &str, path: &Path, error: &io::Error) -> Error {
    let path = path.display();
    let message = format!("cannot {what} {path}: {error}");
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            let message = format!("the disk is full: cannot {what} {path}");
            Error::new(ErrorKind::DiskFull, message).hint("free some space, or ask for a smaller file with --size")
        }
        io::ErrorKind::PermissionDenied => {
            Error::new(ErrorKind::Permission, message).hint("name a folder that you may write to")
        }
        io::ErrorKind::ReadOnlyFilesystem => Error::new(ErrorKind::Permission, message)
            .hint("the file system is mounted read-only: name a folder on another one"),
        io::ErrorKind::NotFound => Error::new(ErrorKind::Missing, message).hint("name a folder that exists"),
        // The limit of the shell: see 'ulimit -f'.
        io::ErrorKind::FileTooLarge => Error::new(ErrorKind::DiskFull, message)
            .hint("the file system or 'ulimit -f' allows no file of this size: ask for a smaller one with --size"),
        _ if error.raw_os_error() == Some(libc::EMFILE) => Error::new(ErrorKind::Statement, message)
            .hint("the shell allows this program too few open files: raise 'ulimit -n'"),
        _ => Error::new(ErrorKind::Statement, message).hint("see the kernel's log for errors of the device"),
    }
}

/// The class under which a failed operation is counted.
pub fn class(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "disk-full",
        io::ErrorKind::UnexpectedEof | io::ErrorKind::WriteZero => SHORT,
        io::ErrorKind::PermissionDenied => "permission",
        io::ErrorKind::TimedOut => "timeout",
        _ => "device",
    }
}

/// The class of an operation that moved less than it was asked for.
pub const SHORT: &str = "short";
