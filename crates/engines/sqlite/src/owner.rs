//! Whose a file is. The lock file of a place bears the mark, which names the place's files. The header of a database bears the
//! token of that mark, so that the two belong together. A copy bears that of its run.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use plimsoll_engine::{Mark, Part, Result};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use rustix::fs::OFlags;

use super::errors::{from_io, from_sqlite};
use super::existing::uri;
use super::location::{JOURNAL, MAGIC, SHARED, WAL, companion};
use super::texts::text;

pub(super) const HEADER_BYTES: usize = 100;

/// The `application_id` of our files: "Plim". It stands in the header at offset 68, big endian; at offset 60 stands the
/// `user_version`, which has the number of the mark.
pub(super) const APPLICATION_ID: i32 = 0x506c_696d;
const APPLICATION_ID_OFFSET: usize = 68;
const USER_VERSION_OFFSET: usize = 60;

/// The first bytes of a rollback journal, and of a write-ahead log in both orders of bytes.
const JOURNAL_MAGIC: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
const WAL_MAGIC: [[u8; 4]; 2] = [[0x37, 0x7f, 0x06, 0x82], [0x37, 0x7f, 0x06, 0x83]];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ownership {
    /// There is none.
    Nobody,
    /// It bears the mark.
    Ours,
    /// It has no whole header, or one without any mark: what a process leaves that was killed while making it.
    Unfinished,
    /// Anything else.
    Foreign(String),
}

/// What stands at a path, if it is no regular file. Links are not followed: we make none.
pub(super) fn kind_of_stranger(path: &Path) -> Result<Option<&'static str>> {
    use std::os::unix::fs::FileTypeExt as _;
    let kind = match fs::symlink_metadata(path) {
        Ok(there) => there.file_type(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(from_io(&error, "look at", path)),
    };
    Ok(match kind {
        kind if kind.is_file() => None,
        kind if kind.is_symlink() => Some("a link"),
        kind if kind.is_dir() => Some("a directory"),
        kind if kind.is_fifo() => Some("a FIFO"),
        kind if kind.is_socket() => Some("a socket"),
        _ => Some("a device"),
    })
}

/// What is beside a database file in the place of a file of SQLite's, and is no regular file.
pub(super) fn stranger_beside(path: &Path) -> Result<Option<(PathBuf, &'static str)>> {
    for ending in [JOURNAL, WAL, SHARED] {
        let beside = companion(path, ending);
        if let Some(kind) = kind_of_stranger(&beside)? {
            return Ok(Some((beside, kind)));
        }
    }
    Ok(None)
}

/// The owner of the database file at `path`, by the mark of its place. Closing a file ends the locks that its process holds on it
/// (fcntl(2)), so nothing of ours may have it open: ask under an exclusive lease.
pub(super) fn ownership(path: &Path, mark: &Mark) -> Result<Ownership> {
    if let Some(kind) = kind_of_stranger(path)? {
        return Ok(Ownership::Foreign(format!("it is {kind}")));
    }
    let header = match start_of(path, HEADER_BYTES) {
        Ok(header) => header,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Ownership::Nobody),
        Err(error) => return Err(from_io(&error, "read", path)),
    };
    let start = &header[..header.len().min(MAGIC.len())];
    let number = |offset: usize| {
        header.get(offset..offset + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, i32::from_be_bytes)
    };
    Ok(if header.iter().all(|byte| *byte == 0) {
        Ownership::Unfinished
    } else if !MAGIC.starts_with(start) {
        Ownership::Foreign("it is no SQLite file".to_owned())
    } else if header.len() < HEADER_BYTES {
        Ownership::Unfinished
    } else {
        match [number(APPLICATION_ID_OFFSET), number(USER_VERSION_OFFSET)] {
            [APPLICATION_ID, version] if version == mark.number() => Ownership::Ours,
            [0, 0] => Ownership::Unfinished,
            _ => Ownership::Foreign("its header does not bear the mark of its lock file".to_owned()),
        }
    })
}

/// What in and beside a database of ours isn't: tables that we did not make, views, triggers, indexes, and files where SQLite would
/// have its own. What a definition was about to make is ours.
pub(super) fn strangers(path: &Path, expected: &[Part]) -> Result<Vec<String>> {
    let mut strangers = Vec::new();
    for ending in [WAL, SHARED, JOURNAL] {
        let beside = companion(path, ending);
        let name = beside.file_name().unwrap_or_default().display();
        if let Some(kind) = kind_of_stranger(&beside)? {
            strangers.push(format!("{name}, which is {kind}"));
        } else if !is_sqlites_own(&beside, ending)? {
            strangers.push(format!("{name}, which SQLite did not make"));
        }
    }
    if strangers.is_empty() && fs::metadata(path).is_ok_and(|there| there.len() >= HEADER_BYTES as u64) {
        strangers = within(path, expected)?;
    }
    Ok(strangers)
}

fn is_sqlites_own(path: &Path, ending: &str) -> Result<bool> {
    let start = match start_of(path, JOURNAL_MAGIC.len()) {
        Ok(start) => start,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        Err(error) => return Err(from_io(&error, "read", path)),
    };
    let is_blank = start.iter().all(|byte| *byte == 0);
    Ok(match ending {
        WAL => is_blank || WAL_MAGIC.iter().any(|magic| start.starts_with(magic)),
        JOURNAL => is_blank || start == JOURNAL_MAGIC,
        // It has no beginning of its own, and holds nothing but what a log says.
        _ => true,
    })
}

/// Objects in a database file that are not tables of ours.
fn within(path: &Path, expected: &[Part]) -> Result<Vec<String>> {
    let folder = path.parent().unwrap_or(path);
    let is_filled = |ending| fs::metadata(companion(path, ending)).is_ok_and(|there| there.len() > 0);
    // Where nothing is to be brought into the file it is read as it is, and nothing is made beside it.
    let mode = if is_filled(WAL) || is_filled(JOURNAL) { "rw" } else { "ro&immutable=1" };
    let access = if mode == "rw" { OpenFlags::SQLITE_OPEN_READ_WRITE } else { OpenFlags::SQLITE_OPEN_READ_ONLY };
    let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW | OpenFlags::SQLITE_OPEN_URI;
    let read = || {
        let connection = Connection::open_with_flags(uri(path, mode), flags)?;
        // We are alone: a log is read without a file beside it, and not copied to where it is about to be deleted.
        connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
        connection.pragma_update(None, "trusted_schema", false)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        others(&connection, expected)
    };
    match read() {
        // A kill without a journal leaves this. Nobody reads anything in it any more.
        Err(error)
            if matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)) =>
        {
            Ok(Vec::new())
        }
        others => {
            let others = others.map_err(|error| from_sqlite(error, folder))?.into_iter();
            Ok(others.map(|(kind, name)| format!("{kind} {name}")).collect())
        }
    }
}

/// The list of tables that a definition's own statements made.
const ADOPTED: &str = "plimsoll_adopted";

/// Kinds and names of what is in a database of ours and is not ours. A table is by its comment or by our list; its indexes are a part
/// of it.
pub(super) fn others(connection: &Connection, expected: &[Part]) -> rusqlite::Result<Vec<(String, String)>> {
    let mut statement = connection.prepare(text("objects"))?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
    let objects = rows.collect::<rusqlite::Result<Vec<(String, String, String, bool)>>>()?;
    let mut tables: HashSet<String> =
        objects.iter().filter(|(kind, .., ours)| *ours && kind == "table").map(|(_, name, ..)| name.clone()).collect();
    if tables.contains(ADOPTED) {
        let mut statement = connection.prepare(text("adopted tables"))?;
        let names = statement.query_map([], |row| row.get(0))?;
        tables.extend(names.collect::<rusqlite::Result<Vec<String>>>()?);
    }
    let is_expected = |kind: &str, name: &str| expected.iter().any(|part| part.is(kind, name));
    tables.extend(objects.iter().map(|(_, name, ..)| name).filter(|name| is_expected("table", name)).cloned());
    // A virtual table makes them by itself, and they go with it: `v_data` of `v`.
    let mut statement = connection.prepare(text("kinds of tables"))?;
    let kinds = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut shadows = kinds.collect::<rusqlite::Result<Vec<(String, String)>>>()?;
    let is_of_ours = |name: &str| name.rsplit_once('_').is_some_and(|(of, _)| tables.contains(of));
    shadows.retain(|(name, kind)| kind == "shadow" && is_of_ours(name));
    tables.extend(shadows.into_iter().map(|(name, _)| name));
    let is_ours = |kind: &str, name: &str, table: &str| match kind {
        "table" => tables.contains(name),
        "index" => tables.contains(table),
        _ => is_expected(kind, name),
    };
    let others = objects.into_iter().filter(|(kind, name, table, ours)| !ours && !is_ours(kind, name, table));
    Ok(others.map(|(kind, name, ..)| (kind, name)).collect())
}

/// A table of that name that is not ours, and what somebody has put on one that is, but for indexes, in words.
pub(super) fn others_at(connection: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare(text("objects"))?;
    let mut rows = statement.query([])?;
    let mut others = Vec::new();
    while let Some(row) = rows.next()? {
        let (kind, name, of, ours): (String, String, String, bool) =
            (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
        if !ours && kind != "index" && of.eq_ignore_ascii_case(table) {
            others.push(format!("{kind} {name}"));
        }
    }
    Ok(others)
}

/// The first bytes of a file, which is opened neither through a link nor waited for.
pub(super) fn start_of(path: &Path, bytes: usize) -> io::Result<Vec<u8>> {
    let mut start = Vec::with_capacity(bytes);
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    file.take(bytes as u64).read_to_end(&mut start)?;
    Ok(start)
}

/// What tells a file from every other one at present.
pub(super) fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::symlink_metadata(path).ok().map(|there| (there.dev(), there.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_ours_by_the_mark_of_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        let mark = Mark::new("x.db.plimsoll_run_a");
        let owner = || ownership(&file, &mark).unwrap();
        assert_eq!(owner(), Ownership::Nobody);
        let mut header = vec![0; HEADER_BYTES];
        header[..MAGIC.len()].copy_from_slice(MAGIC);
        for content in [&b""[..], &MAGIC[..9], &header[..60], &[0; HEADER_BYTES], &header[..]] {
            fs::write(&file, content).unwrap();
            assert_eq!(owner(), Ownership::Unfinished);
        }
        for (id, version) in [(*b"Plim", 0), (*b"Plim", mark.number() ^ 1), ([0; 4], mark.number())] {
            header[68..72].copy_from_slice(&id);
            header[60..64].copy_from_slice(&version.to_be_bytes());
            fs::write(&file, &header).unwrap();
            assert!(matches!(owner(), Ownership::Foreign(_)), "{id:?} {version}");
        }
        header[68..72].copy_from_slice(b"Plim");
        fs::write(&file, &header).unwrap();
        assert_eq!(owner(), Ownership::Ours);
        std::os::unix::fs::symlink(&file, folder.path().join("link")).unwrap();
        let foreign = |path: &Path| ownership(path, &mark).unwrap();
        assert_eq!(foreign(&folder.path().join("link")), Ownership::Foreign("it is a link".to_owned()));
        assert_eq!(foreign(folder.path()), Ownership::Foreign("it is a directory".to_owned()));
    }
}
