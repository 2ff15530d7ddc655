//! A new store gets its name when it is whole: nobody ever finds half of one, and a kill leaves nothing else.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{ErrorKind, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, fchown};
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use rustix::fs::{AtFlags, CWD, FlockOperation, flock, linkat};

use crate::header::file_at;
use crate::schema::image;
use crate::{StoreError, header};

/// How long another process is waited for that makes the same store of an empty file.
const PATIENCE: Duration = Duration::from_secs(2);

/// Makes a store for its owner alone where there is no file, or in the place of an empty one with the rights of that.
pub(crate) fn make_if_missing(path: &Path) -> Result<(), StoreError> {
    let io = StoreError::io(path);
    match path.metadata() {
        Ok(there) if there.is_file() && there.len() == 0 => in_place_of_an_empty(path),
        Err(error) if error.kind() == ErrorKind::NotFound && path.is_symlink() => {
            // A link that leads nowhere is followed, as SQLite follows it.
            OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path).map_err(io)?;
            in_place_of_an_empty(path)
        }
        Err(error) if error.kind() == ErrorKind::NotFound => whole(path, |_| Ok(())),
        // What else is wrong SQLite finds out.
        _ => Ok(()),
    }
}

/// The empty file goes and the store comes while we hold a lock on the former, so that of several processes one does so. Where that
/// can't be had, SQLite makes the store in the file.
fn in_place_of_an_empty(path: &Path) -> Result<(), StoreError> {
    let path: PathBuf = path.canonicalize().map_err(StoreError::io(path))?;
    let Ok(empty) = OpenOptions::new().read(true).write(true).open(&path) else { return Ok(()) };
    if !is_locked(&empty) {
        return Ok(());
    }
    let io = StoreError::io(&path);
    let there = empty.metadata().map_err(&io)?;
    // Whoever was faster has removed it. What came into it, or lies beside it, is looked at as that of any file.
    if file_at(&path) != Some((there.dev(), there.ino())) || there.len() > 0 {
        return Ok(());
    }
    drop(header::look(&path)?);
    // The journal of somebody who was killed while he made it in the file, as earlier releases did: SQLite removes it.
    if header::beside(&path, "-journal").exists() {
        return Ok(());
    }
    whole(&path, |store| {
        store.set_permissions(Permissions::from_mode(there.mode() & 0o7777))?;
        // Who may not give a file away owns it.
        let _ = fchown(store, Some(there.uid()), Some(there.gid()));
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    })
}

fn is_locked(file: &File) -> bool {
    if flock(file, FlockOperation::NonBlockingLockExclusive).is_ok() {
        return true;
    }
    let Ok(waiting) = file.try_clone() else { return false };
    let (done, locked) = channel();
    // A wait for a lock has no end of its own.
    thread::spawn(move || done.send(flock(waiting, FlockOperation::LockExclusive).is_ok()));
    locked.recv_timeout(PATIENCE) == Ok(true)
}

/// A store under this name, if nothing has it; `before` is done to it while it has none.
fn whole(path: &Path, before: impl Fn(&File) -> std::io::Result<()>) -> Result<(), StoreError> {
    let image = image().map_err(StoreError::sqlite(path))?;
    let io = StoreError::io(path);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let write = |mut file: &File| file.write_all(&image).and_then(|()| file.sync_all()).and_then(|()| before(file));
    // On Linux a file without a name, of which a kill leaves nothing.
    let mut unnamed = OpenOptions::new();
    unnamed.write(true).mode(0o600);
    #[cfg(target_os = "linux")]
    unnamed.custom_flags(rustix::fs::OFlags::TMPFILE.bits().cast_signed());
    let made = if cfg!(target_os = "linux") { unnamed.open(folder).ok() } else { None };
    let named = match made {
        Some(file) => {
            write(&file).map_err(&io)?;
            let name = format!("/proc/self/fd/{}", file.as_raw_fd());
            linkat(CWD, name, CWD, path, AtFlags::SYMLINK_FOLLOW).map_err(std::io::Error::from)
        }
        None => Err(ErrorKind::Unsupported.into()),
    };
    match named {
        Ok(()) => Ok(()),
        // Another process was faster.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        // A file system without such files, or a system without this folder.
        Err(_) => {
            let file = tempfile::NamedTempFile::new_in(folder).map_err(&io)?;
            write(file.as_file()).map_err(&io)?;
            match file.persist_noclobber(path) {
                Err(error) if error.error.kind() == ErrorKind::AlreadyExists => Ok(()),
                made => made.map(drop).map_err(|error| io(error.error)),
            }
        }
    }
}
