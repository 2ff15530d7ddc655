//! What is said when a dump or a backup can't be written or read.

use plimsoll_engine::{Error, ErrorKind};

pub(super) fn unwritable(error: &std::io::Error) -> Error {
    let kind = match error.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => ErrorKind::DiskFull,
        std::io::ErrorKind::PermissionDenied => ErrorKind::Permission,
        _ => ErrorKind::Statement,
    };
    Error::new(kind, format!("a database can't be written down: {error}"))
        .hint("TMPDIR names the folder of dumps and backups; make sure that there is room in it")
}

pub(super) fn unreadable(error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Statement, format!("what was written of a database can't be read: {error}"))
}
