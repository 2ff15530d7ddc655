//! Leases by a kernel lock on a file (flock(2)): it belongs to the open file and falls with the process that holds it.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use plimsoll_engine::{ClaimMode, Error, ErrorKind, Lease, Result};
use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;

use super::errors::from_io;
use super::owner::kind_of_stranger;

/// Why a file without a mark is not ours.
pub(super) const UNMARKED: &str = "it bears no mark, and this store has no note of having begun it";

/// Why a file without a lock file is not ours.
pub(super) const WITHOUT_LOCK: &str = "no lock file with a mark of ours lies beside it";

/// Longest text that a lock file may have: a mark with a name of a file in it.
const LONGEST: u64 = 1024;

/// A held lock.
#[derive(Debug)]
pub(super) struct FileLease {
    path: PathBuf,
    file: File,
    mode: ClaimMode,
}

impl FileLease {
    /// Takes the lock of a file that is there, without waiting. `None` if somebody else's stands against it, or if there is no file.
    /// An error if something else than a file is in its place.
    pub(super) fn take(path: &Path, mode: ClaimMode) -> Result<Option<Self>> {
        let failed = |error: io::Error| from_io(&error, "lock", path);
        loop {
            if let Some(kind) = kind_of_stranger(path)? {
                return Err(foreign(path, &format!("it is {kind}")));
            }
            // Whatever takes its place meanwhile is neither followed nor waited for.
            let mut how = OpenOptions::new();
            how.read(true).write(true).custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32);
            let file = match how.open(path) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(failed(error)),
            };
            if !lock(&file, mode).map_err(failed)? {
                return Ok(None);
            }
            // Between opening and locking, somebody may have removed the place and its lock file: then we hold a lock
            // that nobody else will ever see.
            if is_at(&file, path).map_err(failed)? {
                return Ok(Some(Self { path: path.to_owned(), file, mode }));
            }
        }
    }

    /// Makes the lock file, which must not be there, with a lock and a mark. `None` if somebody was faster.
    pub(super) fn make(path: &Path, mark: &str) -> Result<Option<Self>> {
        let failed = |error: io::Error| from_io(&error, "make", path);
        let file = match OpenOptions::new().read(true).write(true).create_new(true).open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        if !lock(&file, ClaimMode::Exclusive).map_err(failed)? {
            return Ok(None);
        }
        let lease = Self { path: path.to_owned(), file, mode: ClaimMode::Exclusive };
        // One without a mark could not be known as ours again.
        lease.write(mark).inspect_err(|_| drop(fs::remove_file(path)))?;
        Ok(Some(lease))
    }

    /// Writes the mark into the lock file.
    pub(super) fn write(&self, mark: &str) -> Result<()> {
        let written = self.file.set_len(0).and_then(|()| self.file.write_all_at(mark.as_bytes(), 0));
        written.map_err(|error| from_io(&error, "write", &self.path))
    }

    /// What stands in the lock file.
    pub(super) fn text(&self) -> Result<String> {
        text_of(&self.file).map_err(|error| from_io(&error, "read", &self.path))
    }
}

/// What stands in a lock file that others may hold.
pub(super) fn text_in(path: &Path) -> Result<String> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path);
    file.and_then(|file| text_of(&file)).map_err(|error| from_io(&error, "read", path))
}

fn text_of(file: &File) -> io::Result<String> {
    let length = file.metadata()?.len();
    // What is longer, or no text, is no mark.
    let mut bytes = vec![0; length.min(LONGEST) as usize];
    file.read_exact_at(&mut bytes, 0)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The error that keeps us off a file that isn't ours.
pub(super) fn foreign(path: &Path, reason: &str) -> Error {
    Error::new(ErrorKind::Safety, format!("{} is not ours and not touched: {reason}", path.display()))
        .hint("it has a name of ours and not our mark; move it away, or delete it if nobody needs it")
}

/// A place's lock as one finds it.
pub(super) enum Found {
    /// There is none, or it is free and held by us now.
    Free(Option<FileLease>),
    /// Somebody holds it. So does, as far as we know, whoever keeps us from asking: one bad place must not hide the others, and
    /// nobody removes it then.
    Leased,
    /// Something else is in its place.
    Stranger(Error),
}

/// Looks whether somebody holds a lock on the file. Asking takes the lock for a moment.
pub(super) fn find(path: &Path) -> Found {
    match FileLease::take(path, ClaimMode::Exclusive) {
        Ok(Some(lease)) => Found::Free(Some(lease)),
        Ok(None) if fs::symlink_metadata(path).is_err() => Found::Free(None),
        // Not in use, as far as anybody can tell: it is no file of ours, or this user may not open it.
        Err(error) => Found::Stranger(error),
        Ok(None) => Found::Leased,
    }
}

impl Drop for FileLease {
    /// Closing alone would keep the lock for as long as a process that is just being started has a copy of the file.
    fn drop(&mut self) {
        // If this fails the file is closed all the same, and the lock goes with its last copy.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

impl Lease for FileLease {
    /// There is no server that could end a lease; it is taken again only if the lock file was taken away.
    fn renew(&mut self) -> Result<()> {
        if is_at(&self.file, &self.path).map_err(|error| from_io(&error, "look at", &self.path))? {
            return Ok(());
        }
        let made = Self::make(&self.path, &self.text()?)?.ok_or_else(|| lost(&self.path))?;
        let mode = self.mode;
        *self = made;
        if mode == ClaimMode::Shared { self.share() } else { Ok(()) }
    }

    /// Linux changes a lock in one step, and since nobody ever waits for it there is no request that could slip in.
    fn share(&mut self) -> Result<()> {
        let shared = lock(&self.file, ClaimMode::Shared).map_err(|error| from_io(&error, "lock", &self.path))?;
        if !shared {
            return Err(lost(&self.path));
        }
        self.mode = ClaimMode::Shared;
        Ok(())
    }
}

fn lost(path: &Path) -> Error {
    Error::new(ErrorKind::Busy, format!("somebody else holds the lock on {} now", path.display()))
        .hint("its file was taken away in mid-run: keep other programs from our files, then run again")
}

fn lock(file: &File, mode: ClaimMode) -> io::Result<bool> {
    let operation = match mode {
        ClaimMode::Exclusive => FlockOperation::NonBlockingLockExclusive,
        ClaimMode::Shared => FlockOperation::NonBlockingLockShared,
    };
    match flock(file, operation) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let ours = file.metadata()?;
    match fs::symlink_metadata(path) {
        Ok(there) => Ok((ours.dev(), ours.ino()) == (there.dev(), there.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(path: &Path, mode: ClaimMode) -> Option<FileLease> {
        FileLease::take(path, mode).unwrap()
    }

    fn is_leased(path: &Path) -> bool {
        matches!(find(path), Found::Leased)
    }

    #[test]
    fn one_writes_or_many_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        assert!(take(&path, ClaimMode::Shared).is_none());
        assert!(!is_leased(&path) && !path.exists());
        let mut first = FileLease::make(&path, "mark").unwrap().unwrap();
        assert!(FileLease::make(&path, "mark").unwrap().is_none());
        assert!(take(&path, ClaimMode::Exclusive).is_none() && take(&path, ClaimMode::Shared).is_none());
        first.share().unwrap();
        let second = take(&path, ClaimMode::Shared).unwrap();
        assert!(take(&path, ClaimMode::Exclusive).is_none() && is_leased(&path));
        drop((first, second));
        assert!(!is_leased(&path) && take(&path, ClaimMode::Exclusive).unwrap().text().unwrap() == "mark");
    }

    #[test]
    fn what_is_no_file_is_a_stranger_and_is_neither_followed_nor_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("target"), "").unwrap();
        std::os::unix::fs::symlink(at("target"), at("link")).unwrap();
        fs::create_dir(at("directory")).unwrap();
        let fifo = std::process::Command::new("mkfifo").arg(at("FIFO")).status().unwrap();
        assert!(fifo.success());
        for name in ["link", "directory", "FIFO"] {
            let Found::Stranger(error) = find(&at(name)) else { panic!("{name}") };
            assert!(error.message.contains(&format!("it is a {name}")), "{error}");
            assert!(FileLease::make(&at(name), "mark").unwrap().is_none());
        }
        assert_eq!(fs::read(at("target")).unwrap(), b"");
    }

    #[test]
    fn a_lock_on_a_file_that_was_taken_away_is_taken_again_or_lost() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let mut lease = FileLease::make(&path, "mark").unwrap().unwrap();
        lease.renew().unwrap();
        fs::remove_file(&path).unwrap();
        lease.renew().unwrap();
        assert!(take(&path, ClaimMode::Exclusive).is_none() && text_in(&path).unwrap() == "mark");
        fs::remove_file(&path).unwrap();
        let thief = FileLease::make(&path, "").unwrap().unwrap();
        assert_eq!(lease.renew().unwrap_err().kind, ErrorKind::Busy);
        drop(thief);
    }
}
