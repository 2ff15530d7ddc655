//! Folders of ours among the system's temporary ones, where everybody may make what they like. A lock file in a folder tells whether
//! its process lives, and bears the mark of that very folder. A name alone says nothing.
//! And what it means that nothing can be made there.

use std::fs::{self, File, FileType, TryLockError};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::error::{Error, ErrorKind};
use crate::mark::Mark;

const LOCK: &str = "lock";
/// The same before it is held and marked.
const UNNAMED: &str = "lock.new";
/// The system's number (EMFILE) for a process that has as many files open as it may; the library has no kind for it.
const TOO_MANY_FILES: i32 = 24;
/// Longest text of a lock file.
const LONGEST: u64 = 1024;

/// A folder of ours, of which this process has the lock. It is held open: by its name somebody else's may be found meanwhile.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    held: File,
    _lock: File,
}

fn is_lock(name: &str) -> bool {
    name == LOCK || name == UNNAMED
}

/// What a mark of a folder names: a copy of it is another one.
fn object(path: &Path, held: &File) -> io::Result<String> {
    let there = held.metadata()?;
    let name = path.file_name().unwrap_or_default().display().to_string();
    Ok(format!("{name}-{:x}-{:x}", there.dev(), there.ino()))
}

/// Neither a link is followed nor a FIFO waited for.
fn open(path: &Path, more: OFlags) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK | more).bits() as i32;
    File::options().read(true).custom_flags(flags).open(path)
}

impl Folder {
    /// Marks a new folder of ours, and locks it for as long as this lives.
    ///
    /// # Errors
    /// If the lock file can't be made. Then the folder goes, if it is empty.
    pub fn claim(path: PathBuf) -> io::Result<Self> {
        match Self::lock(&path) {
            Ok((held, lock)) => Ok(Self { path, held, _lock: lock }),
            Err(error) => {
                let _ = fs::remove_dir(&path);
                Err(error)
            }
        }
    }

    fn lock(path: &Path) -> io::Result<(File, File)> {
        let held = open(path, OFlags::DIRECTORY)?;
        let unnamed = path.join(UNNAMED);
        let mut lock = File::options().write(true).create_new(true).open(&unnamed)?;
        // It gets its name once it is held: a lock by that name which no process holds is a dead process's.
        let mut mark = || -> io::Result<()> {
            lock.lock()?;
            lock.write_all(Mark::new(&object(path, &held)?).to_string().as_bytes())?;
            fs::rename(&unnamed, path.join(LOCK))
        };
        if let Err(error) = mark() {
            // Without its mark nobody would know it as ours.
            let _ = fs::remove_file(&unnamed);
            return Err(error);
        }
        Ok((held, lock))
    }

    /// One of a dead process, with nothing in it but what `is_part` knows.
    fn take(path: PathBuf, is_part: &impl Fn(&str, FileType) -> bool) -> io::Result<Option<Self>> {
        let held = open(&path, OFlags::DIRECTORY)?;
        // A process may have been killed before its lock had its name.
        let lock = open(&path.join(LOCK), OFlags::empty()).or_else(|_| open(&path.join(UNNAMED), OFlags::empty()))?;
        if !lock.metadata()?.is_file() {
            return Ok(None);
        }
        let mut text = String::new();
        (&lock).take(LONGEST).read_to_string(&mut text)?;
        if !Mark::names(&text, &object(&path, &held)?) {
            return Ok(None);
        }
        for entry in fs::read_dir(&path)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if !entry.file_name().to_str().is_some_and(|name| is_lock(name) || is_part(name, kind)) {
                return Ok(None);
            }
        }
        match lock.try_lock() {
            Ok(()) => Ok(Some(Self { path, held, _lock: lock })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Where it was made.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes what `is_part` knows, wherever somebody moved the folder, and then the folder. What is not ours stays in it, with the
    /// mark: `clean` names the folder. False if it is still there.
    pub fn remove(&self, is_part: impl Fn(&str, FileType) -> bool) -> bool {
        let Some((inside, path)) = self.place() else { return false };
        let entries = fs::read_dir(&inside).into_iter().flatten().flatten();
        let mut is_empty = true;
        for entry in entries.filter(|entry| !entry.file_name().to_str().is_some_and(is_lock)) {
            let removed = match (entry.file_name().to_str(), entry.file_type()) {
                (Some(name), Ok(kind)) if is_part(name, kind) && kind.is_dir() => {
                    fs::remove_dir_all(entry.path()).is_ok()
                }
                (Some(name), Ok(kind)) if is_part(name, kind) => fs::remove_file(entry.path()).is_ok(),
                _ => false,
            };
            is_empty &= removed;
        }
        let unlock = |name| fs::remove_file(inside.join(name)).is_ok();
        is_empty && (unlock(UNNAMED) | unlock(LOCK)) && fs::remove_dir(path).is_ok()
    }

    /// True if its name still leads to it.
    pub fn is_in_place(&self) -> bool {
        self.is_at(&self.path)
    }

    fn is_at(&self, path: &Path) -> bool {
        let there = (fs::symlink_metadata(path), self.held.metadata());
        matches!(there, (Ok(there), Ok(held)) if (there.dev(), there.ino()) == (held.dev(), held.ino()))
    }

    /// Where it is, if nobody removed it.
    pub fn remains(&self) -> Option<PathBuf> {
        let (_, path) = self.place()?;
        self.is_at(&path).then_some(path)
    }

    /// A way into it that leads nowhere else, and its present name.
    fn place(&self) -> Option<(PathBuf, PathBuf)> {
        let inside = PathBuf::from(format!("/proc/self/fd/{}", self.held.as_raw_fd()));
        if let Ok(path) = fs::read_link(&inside) {
            return Some((inside, path));
        }
        // Elsewhere than on Linux the name has to do, if it is still that of the folder.
        self.is_in_place().then(|| (self.path.clone(), self.path.clone()))
    }
}

/// Folders of this user with that beginning of a name which bear their mark, have nothing in them but what `is_part` knows, and whose
/// process is dead. What can't be looked at is left out.
pub fn abandoned(parent: &Path, beginning: &str, is_part: impl Fn(&str, FileType) -> bool) -> Vec<Folder> {
    let me = rustix::process::getuid().as_raw();
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let named = entries.filter(|entry| {
        entry.file_name().to_str().is_some_and(|name| name.starts_with(beginning))
            && entry.metadata().is_ok_and(|there| there.is_dir() && there.uid() == me)
    });
    named.filter_map(|entry| Folder::take(entry.path(), &is_part).ok().flatten()).collect()
}

/// Folders with that beginning of a name that bear our mark and whose process is dead, whatever is in them: what is still there after
/// the abandoned ones were removed holds something that is not ours.
pub fn left(beginning: &str) -> Vec<PathBuf> {
    abandoned(&std::env::temp_dir(), beginning, |_, _| true).into_iter().map(|folder| folder.path).collect()
}

/// The error of something that could not be made in the folder of temporary files: `a folder for the lab`.
pub fn failed(what: &str, error: &io::Error) -> Error {
    let folder = std::env::temp_dir();
    let (kind, why, hint) = match error.kind() {
        io::ErrorKind::NotFound => (
            ErrorKind::Usage,
            "there is no such folder".to_owned(),
            "make the folder, or let TMPDIR name one that exists",
        ),
        io::ErrorKind::NotADirectory => {
            (ErrorKind::Usage, "it is no folder".to_owned(), "let TMPDIR name a folder that you may write to")
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            (ErrorKind::DiskFull, "the disk is full".to_owned(), "let TMPDIR name a folder with room in it")
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => (
            ErrorKind::Permission,
            "it may not be written to".to_owned(),
            "let TMPDIR name a folder that you may write to",
        ),
        _ if error.raw_os_error() == Some(TOO_MANY_FILES) => (
            ErrorKind::Statement,
            "this program may have no more files open".to_owned(),
            "raise the limit of open files (ulimit -n)",
        ),
        kind => (ErrorKind::Statement, kind.to_string(), "let TMPDIR name another folder"),
    };
    Error::new(kind, format!("can't make {what} in {}, the folder of temporary files: {why}", folder.display()))
        .hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claimed(parent: &Path, name: &str) -> Folder {
        let path = parent.join(name);
        fs::create_dir(&path).unwrap();
        Folder::claim(path).unwrap()
    }

    /// What others put there stays, and so does what lies under its name; what is ours goes, wherever it was moved.
    #[test]
    fn a_folder_goes_without_what_is_not_ours() {
        let parent = tempfile::tempdir().unwrap();
        let is_part = |name: &str, _: FileType| name == "in" || name == "file";
        let fill = |path: &Path| {
            fs::create_dir_all(path.join("in/deep")).unwrap();
            fs::write(path.join("file"), "").unwrap();
        };
        let whole = claimed(parent.path(), "whole");
        fill(whole.path());
        assert!(whole.remove(is_part) && !whole.path().exists());
        let shared = claimed(parent.path(), "shared");
        fill(shared.path());
        fs::write(shared.path().join("precious"), "").unwrap();
        assert!(!shared.remove(is_part));
        let mut stay: Vec<_> = fs::read_dir(shared.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        stay.sort();
        assert_eq!(stay, ["lock", "precious"]);
        let refused = parent.path().join("refused");
        fs::create_dir(&refused).unwrap();
        fs::write(refused.join(UNNAMED), "mine").unwrap();
        assert!(Folder::claim(refused.clone()).is_err() && refused.join(UNNAMED).exists());
        let early = claimed(parent.path(), "early");
        fs::rename(early.path().join(LOCK), early.path().join(UNNAMED)).unwrap();
        let path = early.path().to_owned();
        drop(early);
        let found = abandoned(parent.path(), "early", is_part);
        assert!(found.len() == 1 && found[0].remove(is_part) && !path.exists());
        let moved = claimed(parent.path(), "moved");
        fill(moved.path());
        fs::rename(moved.path(), parent.path().join("elsewhere")).unwrap();
        fill(moved.path());
        assert!(!moved.is_in_place() && moved.remove(is_part));
        assert!(moved.path().join("in/deep").exists() && !parent.path().join("elsewhere").exists());
    }

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
