//! Leases by a kernel lock on a file (flock(2)): it belongs to the open file and falls with the process that holds it.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use plimsoll_engine::{ClaimMode, Error, ErrorKind, Lease, Result};
use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;

use super::errors::from_io;

/// A held lock.
#[derive(Debug)]
pub(super) struct FileLease {
    path: PathBuf,
    file: File,
    mode: ClaimMode,
}

/// Whether the lock file may be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IfMissing {
    Create,
    GiveUp,
}

impl FileLease {
    /// Takes the lock without waiting. `None` if somebody else's stands against it, or if there is no lock file and none
    /// may be made.
    pub(super) fn take(path: &Path, mode: ClaimMode, if_missing: IfMissing) -> Result<Option<Self>> {
        let failed = |error: io::Error| from_io(&error, "lock", path);
        loop {
            let mut how = OpenOptions::new();
            how.read(true).write(true).create(if_missing == IfMissing::Create).truncate(false);
            how.custom_flags(OFlags::NOFOLLOW.bits() as i32);
            let file = match how.open(path) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::NotFound && if_missing == IfMissing::GiveUp => {
                    return Ok(None);
                }
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

    /// True if the lock file is empty, as we make it.
    pub(super) fn is_plain(&self) -> bool {
        self.file.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() == 0)
    }
}

/// True if somebody holds a lock on the file. Asking takes the lock for a moment. A file that can't be asked, such as
/// one of another user, counts as locked: one bad place must not hide the others, and nobody removes it then.
pub(super) fn is_leased(path: &Path) -> bool {
    match FileLease::take(path, ClaimMode::Exclusive, IfMissing::GiveUp) {
        Ok(Some(_)) => false,
        Ok(None) => fs::symlink_metadata(path).is_ok(),
        Err(_) => true,
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
        *self = Self::take(&self.path, self.mode, IfMissing::Create)?.ok_or_else(|| lost(&self.path))?;
        Ok(())
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
        FileLease::take(path, mode, IfMissing::Create).unwrap()
    }

    #[test]
    fn one_writes_or_many_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        assert!(FileLease::take(&path, ClaimMode::Shared, IfMissing::GiveUp).unwrap().is_none());
        assert!(!is_leased(&path) && !path.exists());
        let mut first = take(&path, ClaimMode::Exclusive).unwrap();
        assert!(take(&path, ClaimMode::Exclusive).is_none() && take(&path, ClaimMode::Shared).is_none());
        first.share().unwrap();
        let second = take(&path, ClaimMode::Shared).unwrap();
        assert!(take(&path, ClaimMode::Exclusive).is_none() && is_leased(&path));
        drop((first, second));
        assert!(!is_leased(&path) && take(&path, ClaimMode::Exclusive).is_some());
    }

    #[test]
    fn a_lock_that_can_not_be_asked_counts_as_held() {
        let folder = tempfile::tempdir().unwrap();
        let (link, below) = (folder.path().join("link"), folder.path().join("below"));
        std::os::unix::fs::symlink("elsewhere", &link).unwrap();
        fs::create_dir(&below).unwrap();
        assert!(is_leased(&link) && is_leased(&below));
    }

    #[test]
    fn a_lock_on_a_file_that_was_taken_away_is_taken_again_or_lost() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let mut lease = take(&path, ClaimMode::Exclusive).unwrap();
        lease.renew().unwrap();
        fs::remove_file(&path).unwrap();
        lease.renew().unwrap();
        assert!(take(&path, ClaimMode::Exclusive).is_none());
        fs::remove_file(&path).unwrap();
        let thief = take(&path, ClaimMode::Exclusive).unwrap();
        assert_eq!(lease.renew().unwrap_err().kind, ErrorKind::Busy);
        drop(thief);
    }
}
