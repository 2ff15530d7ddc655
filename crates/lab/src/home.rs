//! Where the files of a temporary lab are: a folder that goes with the process, and if that was killed, with the next lab
//! that is opened. A locked file in it tells that its process lives.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use plimsoll_engine::{Error, ErrorKind, Result};
use rustix::fs::{FlockOperation, flock};
use tempfile::TempDir;

const PREFIX: &str = "plimsoll-lab-";
const LOCK: &str = "lock";

#[derive(Debug)]
pub struct Home {
    folder: TempDir,
    _lock: File,
}

impl Home {
    /// Makes a folder, and removes those of killed processes.
    pub fn make() -> Result<Self> {
        let parent = std::env::temp_dir();
        remove_abandoned(&parent);
        let failed = |error: io::Error| {
            let kind = match error.kind() {
                io::ErrorKind::StorageFull => ErrorKind::DiskFull,
                io::ErrorKind::NotFound => ErrorKind::Missing,
                _ => ErrorKind::Permission,
            };
            Error::new(kind, format!("can't make a folder for the lab in {}: {error}", parent.display()))
                .hint("set TMPDIR to a folder with room in it, or give the target ?file=PATH")
        };
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(&parent).map_err(failed)?;
        // It gets its name once it is held: a lock by that name which nobody holds is a dead process's.
        let unnamed = folder.path().join("lock.new");
        let lock = File::create(&unnamed).map_err(failed)?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive).map_err(|error| failed(error.into()))?;
        fs::rename(&unnamed, folder.path().join(LOCK)).map_err(failed)?;
        Ok(Self { folder, _lock: lock })
    }

    /// The file that the lab's own files are named after.
    pub fn file(&self) -> PathBuf {
        self.folder.path().join("lab")
    }
}

/// Removes folders of ours that nobody holds the lock of. What can't be looked at or removed stays.
fn remove_abandoned(parent: &Path) {
    let me = rustix::process::getuid().as_raw();
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX))
            && entry.metadata().is_ok_and(|metadata| metadata.is_dir() && metadata.uid() == me);
        // A folder without a lock may be one that is just being made.
        if ours
            && let Ok(lock) = File::open(entry.path().join(LOCK))
            && flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok()
        {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_a_killed_process_goes_and_that_of_a_living_one_stays() {
        let parent = tempfile::tempdir().unwrap();
        let make = |name: &str| {
            let folder = parent.path().join(name);
            fs::create_dir(&folder).unwrap();
            (File::create(folder.join(LOCK)).unwrap(), folder)
        };
        let (_, killed) = make("plimsoll-lab-killed");
        let (living, lives) = make("plimsoll-lab-lives");
        let (_, other) = make("somebody-elses");
        flock(&living, FlockOperation::NonBlockingLockExclusive).unwrap();
        remove_abandoned(parent.path());
        assert!(!killed.exists() && lives.exists() && other.exists());
    }
}
