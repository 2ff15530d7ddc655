//! The test file: made in the user's folder, marked as ours, laid out with real writes, removed at the end.
//!
//! Only a file with our mark is ever written to or removed. It is made anew, never through a symbolic link, with its mark before it has
//! its name, and readable by its owner alone. A lock on it says that a run works with it; the lock falls with its holder, also by
//! `kill -9`.

mod layout;
mod leftover;
mod making;
mod mark;

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use plimsoll_engine::{Error, ErrorKind, Result};
use plimsoll_measurement::SyncMode;
use plimsoll_measurement::units::format_bytes;
use rustix::fs::{Advice, FlockOperation, OFlags, fadvise, flock, fsync};

pub use self::layout::{HEADER_BYTES, Progress};
pub use self::leftover::Leftover;
use self::mark::{Mark, State};
use crate::error::at;
use crate::{mounts, volume};

/// Name of the file in the user's folder.
pub const NAME: &str = "plimsoll_disk_test.bin";

/// So much stays free at least.
const LEFT_FREE_BYTES: u64 = 16 << 20;

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSpec {
    /// The folder.
    pub folder: PathBuf,
    /// Bytes that operations work on.
    pub bytes: u64,
    /// Seed of the content.
    pub seed: u64,
    /// Whether to go through the page cache.
    pub buffered: bool,
    /// Whether to keep it.
    pub keep: bool,
    /// Whether to lay it out in any case: what is in one that was kept, its runs have changed.
    pub anew: bool,
}

/// A file without a size of its own takes one of so many parts of what is free.
const PART_OF_FREE: u64 = 4;
/// Sizes are whole numbers of these.
const UNIT_BYTES: u64 = 1 << 20;

/// How the file came to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// It was made and laid out.
    LaidOut,
    /// It was there, with the same size and seed.
    Reused,
}

/// The test file of a run. It is removed when this is dropped, unless it is to be kept and is complete.
#[derive(Debug)]
pub struct TestFile {
    path: PathBuf,
    /// Goes through the page cache, and holds the lock.
    file: File,
    inode: u64,
    bytes: u64,
    buffered: bool,
    alignment: u64,
    stays: bool,
    is_gone: bool,
}

impl TestFile {
    /// Makes the file, or takes the one that is there.
    ///
    /// # Errors
    /// If something else has its name, if another run works with it, if it does not fit, and those of the system.
    pub fn make(wanted: &FileSpec, progress: Progress<'_>) -> Result<(Self, Origin)> {
        let path = wanted.folder.join(NAME);
        if let Some((file, mark)) = existing(&path)? {
            let is_whole = file.metadata().is_ok_and(|meta| meta.len() == HEADER_BYTES + wanted.bytes);
            let (inode, is_same) =
                (mark.inode, mark.is_ready_for(wanted.bytes, wanted.seed) && is_whole && !wanted.anew);
            let mut test_file = Self::new(path.clone(), file, inode, wanted);
            if is_same {
                test_file.alignment = test_file.find_alignment()?;
                test_file.stays = wanted.keep;
                return Ok((test_file, Origin::Reused));
            }
            // One that was kept stays where the new one would not fit.
            let kept = test_file.file.metadata().map_or(0, |meta| meta.blocks() * 512);
            if let Err(error) = guard_space(wanted, kept) {
                test_file.stays = true;
                return Err(error);
            }
            test_file.remove()?;
        }
        guard_space(wanted, 0)?;
        let file = create(&path, wanted)?;
        let inode = file.metadata().map_err(|error| at("look at", &path, &error))?.ino();
        // From here on it is ours, and is removed whatever happens.
        let mut test_file = Self::new(path, file, inode, wanted);
        test_file.lay_out(wanted, progress)?;
        test_file.stays = wanted.keep;
        Ok((test_file, Origin::LaidOut))
    }

    fn new(path: PathBuf, file: File, inode: u64, wanted: &FileSpec) -> Self {
        let (bytes, buffered) = (wanted.bytes, wanted.buffered);
        Self { path, file, inode, bytes, buffered, alignment: 1, stays: false, is_gone: false }
    }

    fn lay_out(&mut self, wanted: &FileSpec, progress: Progress<'_>) -> Result<()> {
        let failed = |what: &str, error: io::Error| at(what, &wanted.folder.join(NAME), &error);
        self.file.set_len(HEADER_BYTES).map_err(|error| failed("write", error))?;
        self.alignment = self.find_alignment()?;
        let writer = self.open(SyncMode::None)?;
        let at_most = layout::write(&writer, self.bytes, wanted.seed, progress);
        at_most.map_err(|stopped| stopped.into_error(|error| failed("write", error)))?;
        fsync(&self.file).map_err(|error| failed("write", error.into()))?;
        let ready = Mark { bytes: self.bytes, seed: wanted.seed, inode: self.inode, state: State::Ready };
        ready.write(&self.file).map_err(|error| failed("write", error))?;
        self.drop_cache();
        Ok(())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes that operations work on; they begin at [`HEADER_BYTES`].
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Operations begin and end at multiples of so many bytes.
    pub fn alignment(&self) -> u64 {
        self.alignment
    }

    /// Opens it for operations.
    ///
    /// # Errors
    /// If it is not under its name any more, or if the file system can't do what is asked for.
    pub fn open(&self, sync: SyncMode) -> Result<File> {
        if !self.is_at_its_name() {
            return Err(self.away());
        }
        let mut flags = OFlags::NOFOLLOW.bits().cast_signed();
        if !self.buffered {
            flags |= DIRECT.ok_or_else(|| no_direct(&self.path))?;
        }
        if sync == SyncMode::ODsync {
            flags |= DURABLE;
        }
        let opened = OpenOptions::new().read(true).write(true).custom_flags(flags).open(&self.path);
        let file = opened.map_err(|error| match error.kind() {
            io::ErrorKind::InvalidInput if !self.buffered => no_direct(&self.path),
            _ => at("open", &self.path, &error),
        })?;
        if file.metadata().is_ok_and(|meta| self.is_it(&meta)) { Ok(file) } else { Err(self.away()) }
    }

    fn is_at_its_name(&self) -> bool {
        std::fs::symlink_metadata(&self.path).is_ok_and(|meta| self.is_it(&meta))
    }

    /// Whether these are its own. Another file system has the same numbers of other files.
    fn is_it(&self, meta: &Metadata) -> bool {
        meta.ino() == self.inode && self.device() == Some(meta.dev())
    }

    /// The file system that it is on, wherever that is mounted.
    fn device(&self) -> Option<u64> {
        self.file.metadata().ok().map(|meta| meta.dev())
    }

    /// That somebody moved or removed it, and how it is found.
    fn away(&self) -> Error {
        let path = self.path.display();
        if self.file.metadata().is_ok_and(|meta| meta.nlink() == 0) {
            return Error::new(ErrorKind::Safety, format!("{path} was removed during the run"))
                .hint("see who works in this folder");
        }
        let folder = self.path.parent().unwrap_or(&self.path);
        if std::fs::metadata(folder).ok().map(|meta| meta.dev()) != self.device() {
            let message = format!("the disk with {path} is not mounted there any more, and the file stays on it");
            return Error::new(ErrorKind::Safety, message).hint("mount it there again");
        }
        let near = self.path.ancestors().nth(2).unwrap_or(&self.path).display();
        Error::new(ErrorKind::Safety, format!("{path} was moved during the run, and stays"))
            .hint(format!("find '{near}' -xdev -inum {} says where it is now: remove it there", self.inode))
    }

    /// Takes it out of the page cache, as far as the system does so.
    pub fn drop_cache(&self) {
        let _ = fadvise(&self.file, 0, None, Advice::DontNeed);
    }

    /// Which lengths and positions the file system takes without the page cache: the smallest that it reads.
    fn find_alignment(&self) -> Result<u64> {
        if self.buffered {
            return Ok(1);
        }
        let file = self.open(SyncMode::None)?;
        layout::alignment(&file).ok_or_else(|| no_direct(&self.path))
    }

    /// Removes it, unless it is to stay.
    ///
    /// # Errors
    /// If it can't be removed. What has its name and is another file now is left alone.
    pub fn remove(&mut self) -> Result<()> {
        if self.stays || std::mem::replace(&mut self.is_gone, true) {
            return Ok(());
        }
        let is_it = self.is_at_its_name();
        if is_it && Mark::read(&self.file).is_none_or(|mark| mark.inode != self.inode) {
            // Its content is somebody's own now.
            self.stays = true;
            let message = format!("{} was overwritten during the run, so it stays", self.path.display());
            return Err(Error::new(ErrorKind::Safety, message)
                .hint("see who works in this folder, and in the kernel's log whether the disk lost what it was given: what this run read was not its own"));
        }
        // What was there before may have had another size; it was looked at when it was found.
        let bytes = Mark::read(&self.file).map_or(self.bytes, |mark| mark.bytes);
        let end = HEADER_BYTES.saturating_add(bytes);
        if is_it && self.file.metadata().is_ok_and(|meta| meta.len() > end) {
            self.stays = true;
            let message = format!("somebody added to {} during the run, so it stays", self.path.display());
            return Err(Error::new(ErrorKind::Safety, message)
                .hint("see who works in this folder, and remove it when nobody needs it"));
        }
        if !is_it && self.file.metadata().is_ok_and(|meta| meta.nlink() > 0) {
            return Err(self.away());
        }
        if is_it {
            std::fs::remove_file(&self.path).map_err(|error| {
                let folder = self.path.parent().unwrap_or(&self.path).display();
                at("remove", &self.path, &error)
                    .hint(format!("the test file stays: when it can be removed, 'plimsoll disk {folder}' does so"))
            })?;
        }
        Ok(())
    }
}

impl Drop for TestFile {
    fn drop(&mut self) {
        // Whoever wants to know whether it could be removed has called `remove`.
        let _ = self.remove();
    }
}

/// Bytes that a test file of ours takes in a folder, from which a new one could be made.
pub fn reclaimable_bytes(folder: &Path) -> u64 {
    match existing(&folder.join(NAME)) {
        Ok(Some((file, _))) => file.metadata().map_or(0, |meta| meta.blocks() * 512),
        _ => 0,
    }
}

/// The size of a file that nobody chose: this one, or a quarter of what is free where that is less. A test file of ours that is
/// there counts as free.
pub fn fitting_bytes(folder: &Path, wanted: u64) -> u64 {
    let Some(free) = volume::free_bytes(folder) else { return wanted };
    let quarter = (free.saturating_add(reclaimable_bytes(folder))) / PART_OF_FREE;
    if quarter >= wanted { wanted } else { (quarter / UNIT_BYTES * UNIT_BYTES).max(UNIT_BYTES) }
}

/// What the system answers that is short of something, whatever is to be opened.
const SHORTAGES: [Option<i32>; 3] = [Some(libc::EMFILE), Some(libc::ENFILE), Some(libc::ENOMEM)];

/// The file with our name, locked, with its mark; `None` if there is none.
fn existing(path: &Path) -> Result<Option<(File, Mark)>> {
    let not_ours = |why: &str| {
        let message = format!("{} is not ours: {why}", path.display());
        Error::new(ErrorKind::Safety, message)
            .hint("Plimsoll removes only what has its mark: move it, or name another folder")
    };
    // A pipe would wait for somebody to write to it.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let file = match OpenOptions::new().read(true).write(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if SHORTAGES.contains(&error.raw_os_error()) => return Err(at("open", path, &error)),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            let message = format!("whether {} is ours is not known: it can't be opened ({error})", path.display());
            return Err(Error::new(ErrorKind::Safety, message)
                .hint("see whose it is and what attributes it has (ls -l, lsattr); plimsoll clean --data removes it once it can be opened"));
        }
        Err(error) => return Err(not_ours(&format!("it can't be opened ({error})"))),
    };
    let meta = file.metadata().map_err(|error| at("look at", path, &error))?;
    if !meta.is_file() {
        return Err(not_ours("it is no regular file"));
    }
    lock(&file, path)?;
    // Between opening and locking its last run may have removed it.
    if std::fs::symlink_metadata(path).is_ok_and(|now| now.ino() != meta.ino()) || !path.exists() {
        return Ok(None);
    }
    match Mark::read(&file) {
        Some(_) if meta.nlink() > 1 => Err(not_ours("it has another name as well (a hard link)")),
        Some(mark) if meta.len() > HEADER_BYTES.saturating_add(mark.bytes) => Err(not_ours("somebody added to it")),
        Some(mark) if mark.inode == meta.ino() => Ok(Some((file, mark))),
        Some(_) => Err(not_ours("it is a copy of a test file")),
        None => Err(not_ours("it has no mark of Plimsoll")),
    }
}

/// A new file with the mark of one that is being laid out, locked.
fn create(path: &Path, wanted: &FileSpec) -> Result<File> {
    let begin = |file: &File| {
        // Nobody else knows of it, so the lock is there for the taking, where the file system has locks.
        let _ = flock(file, FlockOperation::NonBlockingLockExclusive);
        let inode = file.metadata()?.ino();
        Mark { bytes: wanted.bytes, seed: wanted.seed, inode, state: State::LayingOut }.write(file)
    };
    making::make(path, &begin).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => Error::new(ErrorKind::Busy, format!("{} has just been made", path.display()))
            .hint("another run began at the same moment: try again when it has ended"),
        _ => at("make", path, &error),
    })
}

fn lock(file: &File, path: &Path) -> Result<()> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Err(rustix::io::Errno::WOULDBLOCK) => {
            let message = format!("another run works with {}", path.display());
            Err(Error::new(ErrorKind::Busy, message).hint("wait until it has ended, or name another folder"))
        }
        // Some network file systems have no locks. The file was made by us or has our mark all the same.
        _ => Ok(()),
    }
}

/// An error unless the file fits, where so many bytes more become free.
fn guard_space(wanted: &FileSpec, reclaimed: u64) -> Result<()> {
    let Some(free) = volume::free_bytes(&wanted.folder) else { return Ok(()) };
    let free = free.saturating_add(reclaimed);
    let needed = wanted.bytes.saturating_add(HEADER_BYTES).saturating_add(LEFT_FREE_BYTES);
    if needed <= free {
        return Ok(());
    }
    let [size, free, kept] = [wanted.bytes, free, LEFT_FREE_BYTES].map(format_bytes);
    let folder = wanted.folder.display();
    let message =
        format!("a test file of {size} does not fit: {free} are free at {folder}, of which {kept} are left free");
    Err(Error::new(ErrorKind::Safety, message).hint("free some space, or ask for a smaller file with --size"))
}

fn no_direct(path: &Path) -> Error {
    let folder = path.parent().unwrap_or(path);
    let kind = mounts::file_system(folder).map_or_else(|| "unknown type".to_owned(), |system| system.kind);
    let message = format!("the file system at {} ({kind}) has no O_DIRECT", folder.display());
    Error::new(ErrorKind::Unsupported, message)
        .hint("--buffered measures through the page cache, which shows memory where a file fits into it")
}

/// Past the page cache. `None` where the system knows no such flag.
#[cfg(target_os = "linux")]
const DIRECT: Option<i32> = Some(libc::O_DIRECT);
#[cfg(not(target_os = "linux"))]
const DIRECT: Option<i32> = None;

/// Writes return when their data is durable. What rustix calls so is `O_SYNC` on Linux, which waits for more.
#[cfg(target_os = "linux")]
const DURABLE: i32 = libc::O_DSYNC;
#[cfg(not(target_os = "linux"))]
const DURABLE: i32 = OFlags::DSYNC.bits().cast_signed();

#[cfg(test)]
mod tests;
