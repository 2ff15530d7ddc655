//! The folder of temporary files, and what it means that nothing can be made in it.

use std::io;

use crate::error::{Error, ErrorKind};

/// The error of something that could not be made in the folder of temporary files: `a folder for the lab`.
pub fn failed(what: &str, error: &io::Error) -> Error {
    let folder = std::env::temp_dir();
    let (kind, why, hint) = match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => (
            ErrorKind::Usage,
            "there is no such folder".to_owned(),
            "make the folder, or let TMPDIR name one that exists",
        ),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            (ErrorKind::DiskFull, "the disk is full".to_owned(), "let TMPDIR name a folder with room in it")
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => (
            ErrorKind::Permission,
            "it may not be written to".to_owned(),
            "let TMPDIR name a folder that you may write to",
        ),
        kind => (ErrorKind::Statement, kind.to_string(), "let TMPDIR name another folder"),
    };
    Error::new(kind, format!("can't make {what} in {}, the folder of temporary files: {why}", folder.display()))
        .hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_missing_is_wrong_usage_and_a_full_one_is_not() {
        for (error, kind, words) in [
            (io::ErrorKind::NotFound, ErrorKind::Usage, "there is no such folder"),
            (io::ErrorKind::StorageFull, ErrorKind::DiskFull, "the disk is full"),
            (io::ErrorKind::PermissionDenied, ErrorKind::Permission, "it may not be written to"),
        ] {
            let error = failed("a dump", &error.into());
            assert!(error.kind == kind && error.message.ends_with(words) && error.hint.is_some(), "{error:?}");
        }
    }
}
