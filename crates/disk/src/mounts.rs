//! The file system that a folder lies in, by the kernel's list of mounts.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

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
    /// The folder that an overlay writes to, as whoever mounted it wrote it.
    pub upper_folder: Option<PathBuf>,
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
            upper_folder: after.next().and_then(upper_folder),
        })
    };
    mounts.lines().filter_map(mount).max_by_key(|mount| mount.mounted_at.len())
}

/// The folder for what is written, in the options of an overlay.
fn upper_folder(options: &str) -> Option<PathBuf> {
    options
        .split(',')
        .find_map(|option| option.strip_prefix("upperdir="))
        .map(|folder| PathBuf::from(unescaped(folder)))
}

/// The kernel writes blanks as `\040`.
fn unescaped(text: &str) -> String {
    text.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
22 28 0:21 / /proc rw,nosuid - proc proc rw
28 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
40 28 254:16 / /data\\040one rw,relatime shared:2 - xfs /dev/vdb rw
41 28 254:0 /sub /mnt rw,relatime - ext4 /dev/vda rw
42 28 0:42 / /over rw - overlay overlay rw,lowerdir=/l,upperdir=/back\\040up/u,workdir=/w
";

    #[test]
    fn the_nearest_mount_of_the_device_is_the_folders() {
        let found = |device: &str, folder: &str| find(MOUNTS, device, Path::new(folder));
        let data = found("254:16", "/data one/x").unwrap();
        assert_eq!((data.kind.as_str(), data.source.as_str()), ("xfs", "/dev/vdb"));
        assert_eq!(found("254:0", "/mnt/x").unwrap().mounted_at, "/mnt");
        assert_eq!(found("254:0", "/var/tmp").unwrap().mounted_at, "/");
        let over = found("0:42", "/over/x").unwrap();
        assert_eq!((over.kind.as_str(), over.upper_folder), ("overlay", Some(PathBuf::from("/back up/u"))));
        assert_eq!(found("8:0", "/var/tmp"), None);
        assert_eq!(find("damaged\n1 2 254:0 - x", "254:0", Path::new("/")), None);
    }
}
