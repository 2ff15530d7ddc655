//! The volume below a folder: whether it may be tested, what is free, which file system and device it is.

use std::io;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use plimsoll_engine::{Description, Error, ErrorKind, Result, WeakIsolation};
use rustix::fs::{Access, access};

use crate::error::at;
use crate::in_memory;
use crate::mounts::{FileSystem, file_system};

/// Scheme of a volume as the target of a run.
pub const SCHEME: &str = "disk";

/// A folder in which a test file may be made.
///
/// # Errors
/// If there is nothing, if it is a device or a file, or if this user may not write there.
pub fn folder(path: &Path) -> Result<PathBuf> {
    let folder = path.canonicalize().map_err(|error| at("use", path, &error))?;
    let kind = folder.metadata().map_err(|error| at("use", path, &error))?.file_type();
    if !kind.is_dir() {
        let what = if kind.is_block_device() || kind.is_char_device() { "a device" } else { "no folder" };
        let message = format!("{} is {what}, and its content is the user's", path.display());
        return Err(Error::new(ErrorKind::Safety, message)
            .hint("name a folder on the disk: the test makes a file of its own there and removes it"));
    }
    access(&folder, Access::WRITE_OK | Access::EXEC_OK)
        .map_err(|error| at("write to", path, &io::Error::from(error)))?;
    Ok(folder)
}

/// A folder in which a test file has a place: those of the kernel (`/proc`, `/sys`) are on no disk.
///
/// # Errors
/// Those of [`folder`], and if its file system has no blocks.
pub fn folder_on_a_disk(path: &Path) -> Result<PathBuf> {
    let folder = folder(path)?;
    let has_none = rustix::fs::statvfs(&folder).is_ok_and(|stat| stat.f_blocks == 0);
    if has_none {
        let kind = file_system(&folder).map(|system| format!(" ({})", system.kind)).unwrap_or_default();
        let message = format!("{}{kind} has no place for files", folder.display());
        return Err(Error::new(ErrorKind::Safety, message).hint("name a folder on a disk"));
    }
    Ok(folder)
}

/// Bytes that this user may still write there; `None` where the system does not tell.
pub fn free_bytes(folder: &Path) -> Option<u64> {
    let stat = rustix::fs::statvfs(folder).ok()?;
    Some(stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// Memory of this machine; `None` where the system does not tell.
pub fn memory_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    Some(total.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.saturating_mul(1024))
}

/// The folder as the target of a run.
pub fn describe(folder: &Path, host: Option<&str>) -> Description {
    let system = file_system(folder);
    let kind = system.as_ref().map_or_else(|| "unknown file system".to_owned(), |system| system.kind.clone());
    let mut settings = std::collections::BTreeMap::new();
    let mut warnings = Vec::new();
    if let Some(system) = &system {
        let FileSystem { kind, source, mounted_at, .. } = system;
        for (name, value) in [("file system", kind), ("mounted from", source), ("mounted at", mounted_at)] {
            settings.insert(name.to_owned(), value.clone());
        }
        warnings.extend(in_memory::found(system));
    }
    let device = system.map(|system| system.device).unwrap_or_default();
    let isolation = WeakIsolation::NoEffect("a volume isolates nothing".to_owned());
    Description {
        local: true,
        embedded: true,
        settings,
        warnings,
        fingerprint: format!("{SCHEME}:{}:{device}:{}", host.unwrap_or_default(), folder.display()),
        ..Description::new("volume", kind, 4096, isolation)
    }
    .shown()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_folder_may_be_tested() {
        let kind = |path: &str| folder(Path::new(path)).unwrap_err().kind;
        assert_eq!((kind("/dev/null"), kind("/proc/self/mountinfo")), (ErrorKind::Safety, ErrorKind::Safety));
        assert_eq!(kind("/nowhere/at/all"), ErrorKind::Missing);
        let own = tempfile::tempdir().unwrap();
        assert_eq!(folder(own.path()).unwrap(), own.path().canonicalize().unwrap());
        assert_eq!(folder_on_a_disk(own.path()).unwrap(), folder(own.path()).unwrap());
        // Only root may write there.
        if let Ok(kernels) = folder(Path::new("/proc")) {
            let error = folder_on_a_disk(&kernels).unwrap_err();
            let said = (error.kind, error.message.as_str());
            assert_eq!(said, (ErrorKind::Safety, "/proc (proc) has no place for files"));
        }
    }
}
