//! Sessions that read the user's own file: it is attached beside ours, read-only. Names that our file does not know are
//! looked up there; `target.NAME` says so.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use plimsoll_engine::{Error, ErrorKind, RequestAccess, Result};
use rusqlite::Connection;
use rusqlite::limits::Limit;

use super::errors::from_sqlite;
use super::texts::text;

/// What says that nobody may write to the user's file, whatever a statement says.
pub(super) fn refuse_writes(access: RequestAccess) -> Result<()> {
    if !access.writes {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Unsupported, "the file that a target of SQLite names is never written to")
        .hint("make tables of your own under [setup] and leave out 'existing' and 'writes'"))
}

pub(super) fn attach(connection: &Connection, file: &Path) -> Result<()> {
    let empty = file.metadata().is_ok_and(|there| there.is_file() && there.len() == 0);
    if empty {
        // SQLite would remove what lies beside it.
        let text = format!("{} is empty, so it has no tables to make requests of", file.display());
        return Err(Error::new(ErrorKind::Missing, text).hint("name a database, or leave out 'existing = true'"));
    }
    if !file.is_file() {
        let text = format!("{} does not exist, so it has no tables to make requests of", file.display());
        return Err(
            Error::new(ErrorKind::Missing, text).hint("name a file that exists, or leave out 'existing = true'")
        );
    }
    let failed = |error| from_sqlite(error, file.parent().unwrap_or(Path::new(".")));
    connection.execute(text("attach"), [uri(file, "ro")]).map_err(failed)?;
    connection.pragma_update(None, "query_only", true).map_err(failed)
}

/// No other file can be attached from here on, by whatever text: neither to be changed, nor to be written by VACUUM.
pub(super) fn keep_others_out(connection: &Connection, access: RequestAccess) -> rusqlite::Result<()> {
    connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, i32::from(access.existing)).map(drop)
}

/// Does something of ours for which SQLite attaches a file by itself.
pub(super) fn attaching<T>(connection: &Connection, work: impl FnOnce() -> rusqlite::Result<T>) -> rusqlite::Result<T> {
    let most = connection.limit(Limit::SQLITE_LIMIT_ATTACHED)?;
    connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, most + 1)?;
    let done = work();
    connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, most)?;
    done
}

/// The path as a URI that opens the file as it is, to read (`ro`) or to write (`rw`), and never makes one ("Uniform Resource
/// Identifiers" in SQLite's documentation).
pub(super) fn uri(file: &Path, mode: &str) -> String {
    let mut uri = String::from("file:");
    for byte in file.as_os_str().as_bytes() {
        match byte {
            b'/' | b'-' | b'_' | b'.' | b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => uri.push(char::from(*byte)),
            other => {
                let _ = write!(uri, "%{other:02X}");
            }
        }
    }
    uri + "?mode=" + mode
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_name_is_a_uri() {
        assert_eq!(uri(Path::new("/a b/c?d#e%.db"), "ro"), "file:/a%20b/c%3Fd%23e%25.db?mode=ro");
    }
}
