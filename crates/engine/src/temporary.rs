//! Folders of ours among the system's temporary ones, where everybody may make what they like. A lock file in a folder tells whether
//! its process lives, and bears the mark of that very folder. A name alone says nothing.
//! And what it means that nothing can be made there.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::error::{Error, ErrorKind};
use crate::mark::Mark;

const LOCK: &str = "lock";
/// Longest text of a lock file.
const LONGEST: u64 = 1024;

/// A folder whose process is dead. We hold its lock.
#[derive(Debug)]
pub struct Abandoned {
    /// Where it is.
    pub path: PathBuf,
    _lock: File,
}

/// What a mark of a folder names: a copy of it is another one.
fn object(folder: &Path) -> io::Result<String> {
    let there = fs::symlink_metadata(folder)?;
    let name = folder.file_name().unwrap_or_default().display().to_string();
    Ok(format!("{name}-{:x}-{:x}", there.dev(), there.ino()))
}

/// Marks a new folder of ours, and locks it for as long as the file lives.
///
/// # Errors
/// If the lock file can't be made.
pub fn claim(folder: &Path) -> io::Result<File> {
    let unnamed = folder.join("lock.new");
    let mut lock = File::options().write(true).create_new(true).open(&unnamed)?;
    // It gets its name once it is held: a lock by that name which no process holds is a dead process's.
    lock.lock()?;
    lock.write_all(Mark::new(&object(folder)?).to_string().as_bytes())?;
    fs::rename(&unnamed, folder.join(LOCK))?;
    Ok(lock)
}

/// Folders of this user with that beginning of a name which bear their mark, have nothing in them but what `is_part` knows, and whose
/// process is dead. What can't be looked at is left out.
pub fn abandoned(parent: &Path, beginning: &str, is_part: impl Fn(&str) -> bool) -> Vec<Abandoned> {
    let me = rustix::process::getuid().as_raw();
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let named = entries.filter(|entry| {
        entry.file_name().to_str().is_some_and(|name| name.starts_with(beginning))
            && entry.metadata().is_ok_and(|there| there.is_dir() && there.uid() == me)
    });
    named.filter_map(|entry| take(entry.path(), &is_part).ok().flatten()).collect()
}

/// Folders with that beginning of a name that bear our mark and whose process is dead, whatever is in them: what is still there after
/// the abandoned ones were removed holds something that is not ours.
pub fn left(beginning: &str) -> Vec<PathBuf> {
    abandoned(&std::env::temp_dir(), beginning, |_| true).into_iter().map(|folder| folder.path).collect()
}

fn take(path: PathBuf, is_part: &impl Fn(&str) -> bool) -> io::Result<Option<Abandoned>> {
    // Neither a link is followed nor a FIFO waited for.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
    let lock = File::options().read(true).custom_flags(flags).open(path.join(LOCK))?;
    if !lock.metadata()?.is_file() {
        return Ok(None);
    }
    let mut text = String::new();
    (&lock).take(LONGEST).read_to_string(&mut text)?;
    if !Mark::names(&text, &object(&path)?) {
        return Ok(None);
    }
    for entry in fs::read_dir(&path)? {
        if !entry?.file_name().to_str().is_some_and(|name| name == LOCK || is_part(name)) {
            return Ok(None);
        }
    }
    match lock.try_lock() {
        Ok(()) => Ok(Some(Abandoned { path, _lock: lock })),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

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
