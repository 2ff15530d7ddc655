//! The volume below a folder: whether it may be tested, what is free, which file system and device it is.

use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use plimsoll_engine::{Description, Error, ErrorKind, Result, WeakIsolation};
use rustix::fs::{Access, access};

use crate::error::at;

/// Scheme of a volume as the target of a run.
pub const SCHEME: &str = "disk";

/// File systems whose files are in memory.
const IN_MEMORY: [&str; 2] = ["tmpfs", "ramfs"];

/// The file system that a folder lies in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSystem {
    /// Its kind, such as `ext4`.
    pub kind: String,
    /// What is mounted: a device, or what the kernel calls it.
    pub source: String,
    /// Where it is mounted.
    pub mounted_at: String,
    /// The device's number, `major:minor`.
    pub device: String,
}

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

/// The file system of a folder, by the kernel's list of mounts; `None` where there is none.
pub fn file_system(folder: &Path) -> Option<FileSystem> {
    let device = folder.metadata().ok()?.dev();
    let device = format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
    find(&std::fs::read_to_string("/proc/self/mountinfo").ok()?, &device, folder)
}

/// The mount with this device number that lies nearest above the folder; of several on one path the last covers the others.
fn find(mounts: &str, device: &str, folder: &Path) -> Option<FileSystem> {
    let mount = |line: &str| {
        let (before, after) = line.split_once(" - ")?;
        let before: Vec<&str> = before.split(' ').collect();
        let (number, at) = (before.get(2)?, unescaped(before.get(4)?));
        let mut after = after.split(' ');
        let (kind, source) = (after.next()?.to_owned(), unescaped(after.next()?));
        (*number == device && folder.starts_with(&at)).then(|| FileSystem {
            kind,
            source,
            mounted_at: at,
            device: device.to_owned(),
        })
    };
    mounts.lines().filter_map(mount).max_by_key(|mount| mount.mounted_at.len())
}

/// The kernel writes blanks as `\040`.
fn unescaped(text: &str) -> String {
    text.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
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
        if IN_MEMORY.contains(&kind.as_str()) {
            warnings.push(format!("{kind} keeps its files in memory: the figures are those of memory, not of a disk"));
        }
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

    const MOUNTS: &str = "\
22 28 0:21 / /proc rw,nosuid - proc proc rw
28 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
40 28 254:16 / /data\\040one rw,relatime shared:2 - xfs /dev/vdb rw
41 28 254:0 /sub /mnt rw,relatime - ext4 /dev/vda rw
";

    #[test]
    fn the_nearest_mount_of_the_device_is_the_folders() {
        let found = |device: &str, folder: &str| find(MOUNTS, device, Path::new(folder));
        let data = found("254:16", "/data one/x").unwrap();
        assert_eq!((data.kind.as_str(), data.source.as_str()), ("xfs", "/dev/vdb"));
        assert_eq!(found("254:0", "/mnt/x").unwrap().mounted_at, "/mnt");
        assert_eq!(found("254:0", "/var/tmp").unwrap().mounted_at, "/");
        assert_eq!(found("8:0", "/var/tmp"), None);
        assert_eq!(find("damaged\n1 2 254:0 - x", "254:0", Path::new("/")), None);
    }

    #[test]
    fn only_a_folder_may_be_tested() {
        let kind = |path: &str| folder(Path::new(path)).unwrap_err().kind;
        assert_eq!((kind("/dev/null"), kind("/proc/self/mountinfo")), (ErrorKind::Safety, ErrorKind::Safety));
        assert_eq!(kind("/nowhere/at/all"), ErrorKind::Missing);
        let own = tempfile::tempdir().unwrap();
        assert_eq!(folder(own.path()).unwrap(), own.path().canonicalize().unwrap());
    }
}
