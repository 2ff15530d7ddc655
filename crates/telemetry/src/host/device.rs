//! Which block devices are below a folder: that of its file system, and those that this one is made of, as far as `/sys/dev/block` says
//! (the kernel's ABI/stable/sysfs-block). A part of a disk is on its disk, a mapped device on its slaves. What a loop device is on
//! belongs to somebody else.

use std::fs;
use std::path::Path;

use super::disk::DeviceNumber;

/// What lies on a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Tables and indexes.
    Data,
    /// The log that a commit waits for.
    Log,
}

/// The devices below what has a role, the nearest first. Never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// What lies there.
    pub role: Role,
    /// The devices.
    pub devices: Vec<DeviceNumber>,
}

/// The device of a folder's file system; `None` for one without a device of its own, as of several ones or in memory.
#[cfg(target_os = "linux")]
pub(super) fn of_folder(folder: &Path) -> Option<DeviceNumber> {
    use std::os::linux::fs::MetadataExt;

    let device = fs::metadata(folder).ok()?.st_dev();
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    (major > 0).then_some(DeviceNumber { major, minor })
}

#[cfg(not(target_os = "linux"))]
pub(super) fn of_folder(_: &Path) -> Option<DeviceNumber> {
    None
}

/// A device, and all below it.
pub(super) fn below(device: DeviceNumber, sys: &Path) -> Vec<DeviceNumber> {
    let mut found = vec![device];
    let mut next = 0;
    while let Some(device) = found.get(next).copied().filter(|_| next < MOST_DEVICES) {
        next += 1;
        let Ok(place) = fs::canonicalize(sys.join("dev/block").join(device.to_string())) else { continue };
        let disk = place.join("partition").exists().then(|| place.parent()).flatten();
        let slaves = fs::read_dir(place.join("slaves")).into_iter().flatten().flatten().map(|slave| slave.path());
        for folder in disk.map(Path::to_owned).into_iter().chain(slaves) {
            let number = fs::read_to_string(folder.join("dev")).ok().and_then(|text| DeviceNumber::parse(&text));
            found.extend(number.filter(|number| !found.contains(number)));
        }
    }
    found
}

/// No machine is built higher; and what a folder says may lead round in a circle.
const MOST_DEVICES: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapped_device_is_on_its_slaves_and_a_part_on_its_disk() {
        let sys = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = sys.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let link = |to: &str, at: &str| {
            let at = sys.path().join(at);
            fs::create_dir_all(at.parent().unwrap()).unwrap();
            std::os::unix::fs::symlink(sys.path().join(to), at).unwrap();
        };
        put("devices/sda/dev", "8:0\n");
        put("devices/sda/sda1/dev", "8:1\n");
        put("devices/sda/sda1/partition", "1\n");
        put("devices/dm-0/dev", "252:0\n");
        link("devices/sda/sda1", "devices/dm-0/slaves/sda1");
        link("devices/dm-0", "dev/block/252:0");
        link("devices/sda/sda1", "dev/block/8:1");
        link("devices/sda", "dev/block/8:0");
        let device = |text| DeviceNumber::parse(text).unwrap();
        assert_eq!(below(device("252:0"), sys.path()), ["252:0", "8:1", "8:0"].map(device));
        assert_eq!(below(device("8:0"), sys.path()), [device("8:0")]);
        assert_eq!(below(device("9:9"), sys.path()), [device("9:9")], "nothing is known of what is below");
    }

    #[test]
    fn a_folder_that_is_not_there_is_on_no_device() {
        assert_eq!(of_folder(Path::new("/nowhere/at/all")), None);
        assert_eq!(of_folder(Path::new("/proc")), None, "it is on none");
    }
}
