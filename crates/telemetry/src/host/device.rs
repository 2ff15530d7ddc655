//! Which block devices a path lies on, from `/sys/dev/block`: through partitions, device mapper, md and loop devices.
//!
//! A file system with several devices (btrfs) is followed by the one it was mounted by.

use std::fs;
use std::path::{Path, PathBuf};

use plimsoll_engine::Capability;

use super::disk::DeviceNumber;
use super::machine::Missing;
use super::mounts::{self, Mount};
use super::text::{Buffer, failure, read_once};

/// Devices above one another; a circle can't be made, but the kernel isn't asked in one moment.
const DEEPEST: u32 = 16;

const STORAGE: Missing =
    Missing { name: "block device", cost: "which device holds the files, and so whether it was busy, is unknown" };

/// What a block device is to the one above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceKind {
    /// A whole disk, as far as this machine can see.
    Disk,
    /// A part of a disk.
    Partition,
    /// Made of others: device mapper (LVM, encryption), md.
    Stacked,
    /// A file.
    Loop,
}

/// A block device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockDevice {
    /// Its name, as in `/dev`.
    pub name: String,
    /// Its number.
    pub number: DeviceNumber,
    /// What it is.
    pub kind: DeviceKind,
    /// True for a disk that turns; `None` where the kernel doesn't say.
    pub rotational: Option<bool>,
}

/// The devices that a path lies on, the file system's own first, the disks last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Storage {
    /// Kind of file system, where it is known.
    pub file_system: Option<String>,
    /// All devices, each once.
    pub devices: Vec<BlockDevice>,
}

impl Storage {
    /// The disks at the bottom.
    pub fn disks(&self) -> impl Iterator<Item = &BlockDevice> {
        self.devices.iter().filter(|device| device.kind == DeviceKind::Disk)
    }
}

/// The devices that a file or folder of this machine lies on.
///
/// # Errors
/// What is missing, if it lies on none (in memory, in the network) or that can't be found out.
pub fn storage_of(path: &Path) -> Result<Storage, Capability> {
    Finder::at(Path::new("/")).storage_of(path).map_err(|reason| STORAGE.because(reason))
}

/// Follows devices downwards.
struct Finder {
    sys: PathBuf,
    mounts: Vec<Mount>,
    found: Vec<BlockDevice>,
}

impl Finder {
    fn at(root: &Path) -> Self {
        let text = |path: &str| read_once(&root.join(path), &mut Buffer::default()).map(|text| mounts::parse(&text));
        Self { sys: root.join("sys"), mounts: text("proc/self/mountinfo").unwrap_or_default(), found: Vec::new() }
    }

    fn storage_of(mut self, path: &Path) -> Result<Storage, String> {
        let path = fs::canonicalize(path).map_err(|error| failure(path, &error))?;
        let file_system = mounts::of_path(&self.mounts, &path).map(|mount| mount.kind.clone());
        let number = self.number_of(&path)?;
        self.follow(number, 0)?;
        Ok(Storage { file_system, devices: self.found })
    }

    /// The device of the file system that holds a path.
    fn number_of(&self, path: &Path) -> Result<DeviceNumber, String> {
        let number = numbers(path)?.of_file_system;
        if self.folder(number).exists() {
            return Ok(number);
        }
        // A number that stands for no device: the mount may tell the real one.
        let mount =
            mounts::of_path(&self.mounts, path).ok_or_else(|| format!("{} is on no known mount", path.display()))?;
        if !mount.source.starts_with("/dev/") {
            return Err(format!(
                "{} is on {}, which is on no block device of this machine",
                path.display(),
                mount.kind
            ));
        }
        numbers(Path::new(&mount.source))?.own.ok_or_else(|| format!("{} is no block device", mount.source))
    }

    fn folder(&self, number: DeviceNumber) -> PathBuf {
        self.sys.join("dev/block").join(number.to_string())
    }

    fn follow(&mut self, number: DeviceNumber, depth: u32) -> Result<(), String> {
        if depth > DEEPEST || self.found.iter().any(|device| device.number == number) {
            return Ok(());
        }
        let link = self.folder(number);
        let folder = fs::canonicalize(&link).map_err(|error| failure(&link, &error))?;
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let word = |file: &str| fs::read_to_string(folder.join(file)).ok().map(|text| text.trim_end().to_owned());
        let below = |folder: &Path| DeviceNumber::parse(&fs::read_to_string(folder.join("dev")).ok()?);
        let slaves = || fs::read_dir(folder.join("slaves")).into_iter().flatten().flatten();
        let mut device = BlockDevice { name, number, kind: DeviceKind::Disk, rotational: None };
        let mut next = Vec::new();
        if word("partition").is_some() {
            device.kind = DeviceKind::Partition;
            next.extend(folder.parent().and_then(below));
        } else if slaves().next().is_some() {
            device.kind = DeviceKind::Stacked;
            next.extend(slaves().filter_map(|slave| below(&slave.path())));
            next.sort_unstable();
        } else if let Some(file) = word("loop/backing_file") {
            device.kind = DeviceKind::Loop;
            // The file may be gone, or out of sight from here: then the loop device is all there is to see.
            next.extend(self.number_of(Path::new(&file)).ok());
        }
        device.rotational = word("queue/rotational").map(|flag| flag == "1");
        self.found.push(device);
        next.into_iter().try_for_each(|number| self.follow(number, depth + 1))
    }
}

/// Numbers of devices that have to do with a file.
struct Numbers {
    of_file_system: DeviceNumber,
    /// Of the device that the file itself is.
    own: Option<DeviceNumber>,
}

#[cfg(target_os = "linux")]
fn numbers(path: &Path) -> Result<Numbers, String> {
    use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};

    let about = fs::metadata(path).map_err(|error| failure(path, &error))?;
    let number = |raw: u64| DeviceNumber { major: rustix::fs::major(raw), minor: rustix::fs::minor(raw) };
    let own = about.file_type().is_block_device().then(|| number(about.rdev()));
    Ok(Numbers { of_file_system: number(about.dev()), own })
}

#[cfg(not(target_os = "linux"))]
fn numbers(_: &Path) -> Result<Numbers, String> {
    Err("only Linux shows them".to_owned())
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A machine with a disk of two partitions, a volume on one of them and on another disk, and a loop device.
    fn machine() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let devices = root.path().join("sys/devices");
        let numbered = root.path().join("sys/dev/block");
        fs::create_dir_all(&numbered).unwrap();
        let put = |path: &str, number: &str, files: &[(&str, &str)]| {
            let folder = devices.join(path);
            fs::create_dir_all(folder.join("queue")).unwrap();
            fs::write(folder.join("dev"), format!("{number}\n")).unwrap();
            for (file, text) in files {
                fs::create_dir_all(folder.join(file).parent().unwrap()).unwrap();
                fs::write(folder.join(file), text).unwrap();
            }
            symlink(&folder, numbered.join(number)).unwrap();
        };
        put("pci/block/sda", "8:0", &[("queue/rotational", "0\n")]);
        put("pci/block/sda/sda1", "8:1", &[("partition", "1\n")]);
        put("pci/block/sdb", "8:16", &[("queue/rotational", "1\n")]);
        put("virtual/block/dm-0", "252:0", &[]);
        put("virtual/block/loop3", "7:3", &[("loop/backing_file", "/no/such/file\n")]);
        let slaves = devices.join("virtual/block/dm-0/slaves");
        fs::create_dir_all(&slaves).unwrap();
        symlink(devices.join("pci/block/sda/sda1"), slaves.join("sda1")).unwrap();
        symlink(devices.join("pci/block/sdb"), slaves.join("sdb")).unwrap();
        root
    }

    fn followed(root: &Path, number: &str) -> Vec<(String, DeviceKind)> {
        let mut finder = Finder::at(root);
        finder.follow(DeviceNumber::parse(number).unwrap(), 0).unwrap();
        finder.found.into_iter().map(|device| (device.name, device.kind)).collect()
    }

    #[test]
    fn devices_are_followed_to_the_disks() {
        let root = machine();
        let named = |name: &str, kind| (name.to_owned(), kind);
        let volume = followed(root.path(), "252:0");
        let expected = [
            named("dm-0", DeviceKind::Stacked),
            named("sda1", DeviceKind::Partition),
            named("sda", DeviceKind::Disk),
            named("sdb", DeviceKind::Disk),
        ];
        assert_eq!(volume, expected);
        assert_eq!(followed(root.path(), "7:3"), [named("loop3", DeviceKind::Loop)]);
        let mut finder = Finder::at(root.path());
        finder.follow(DeviceNumber { major: 8, minor: 16 }, 0).unwrap();
        assert_eq!(finder.found[0].rotational, Some(true));
        let storage = Storage { file_system: None, devices: finder.found };
        assert_eq!(storage.disks().count(), 1);
    }

    #[test]
    fn what_is_on_no_device_says_so() {
        let reason = storage_of(Path::new("/proc/self/stat")).unwrap_err().warning().unwrap();
        assert!(
            reason.starts_with("block device not available: which device holds") && reason.contains("is on proc"),
            "{reason}"
        );
        assert!(storage_of(Path::new("/no/such/file")).unwrap_err().remedy.unwrap().ends_with("is not there"));
    }
}
