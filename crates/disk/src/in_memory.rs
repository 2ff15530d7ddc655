//! Whether memory answers in place of a disk: file systems in memory, also one step below, devices in memory, and loop devices that go
//! through the page cache, by what Linux says of them. Nothing is changed.

use std::fs;
use std::path::{Path, PathBuf};

use crate::mounts::{FileSystem, file_system};

/// File systems whose files are in memory.
const FILE_SYSTEMS: [&str; 2] = ["tmpfs", "ramfs"];
/// Devices whose blocks are in memory begin so: brd and zram.
const DEVICES: [&str; 2] = ["ram", "zram"];
/// File systems and devices that lie on each other; more are a circle.
const DEEPEST: usize = 8;

/// A sentence that says how memory answers for this file system, or that nobody can see whether it does; `None` where a disk does.
pub fn found(system: &FileSystem) -> Option<String> {
    Machine { sys: Path::new("/sys"), at: &file_system }.of(system, 0)
}

/// Where a machine is asked.
struct Machine<'a> {
    sys: &'a Path,
    /// The file system of a folder.
    at: &'a dyn Fn(&Path) -> Option<FileSystem>,
}

impl Machine<'_> {
    fn of(&self, system: &FileSystem, depth: usize) -> Option<String> {
        let FileSystem { kind, source, device, .. } = system;
        if FILE_SYSTEMS.contains(&kind.as_str()) {
            return Some(format!("{kind} keeps its files in memory: the figures are those of memory, not of a disk"));
        }
        if kind == "overlay" {
            let upper = system.upper_folder.as_deref().filter(|upper| upper.is_absolute());
            let below = upper.and_then(self.at).filter(|_| depth < DEEPEST);
            let hidden = || {
                "what the overlay lies on can't be seen from here: if that is in memory, the figures are those of memory".to_owned()
            };
            return below.map_or_else(|| Some(hidden()), |below| self.of(&below, depth + 1));
        }
        let device = fs::canonicalize(self.sys.join("dev/block").join(device)).ok()?;
        self.of_device(&device, source, depth)
    }

    fn of_device(&self, device: &Path, source: &str, depth: usize) -> Option<String> {
        if depth > DEEPEST {
            return None;
        }
        if device.join("partition").exists() {
            return self.of_device(device.parent()?, source, depth + 1);
        }
        let name = device.file_name()?.to_str()?;
        let is_numbered = |kind: &&&str| name.strip_prefix(**kind).is_some_and(|number| number.parse::<u32>().is_ok());
        if DEVICES.iter().find(is_numbered).is_some() {
            return Some(format!("{name} keeps its blocks in memory: the figures are those of memory, not of a disk"));
        }
        let text = |file: &str| fs::read_to_string(device.join("loop").join(file)).ok();
        if let Some(file) = text("backing_file") {
            if text("dio").is_some_and(|direct| direct.trim() == "0") {
                return Some(format!(
                    "{source} answers out of the page cache of {}: the figures may be those of memory; 'losetup --direct-io=on' ends that",
                    file.trim()
                ));
            }
            let below = Path::new(file.trim());
            if let Ok(name) = below.strip_prefix("/dev") {
                let device = fs::canonicalize(self.sys.join("class/block").join(name)).ok()?;
                return self.of_device(&device, file.trim(), depth + 1);
            }
            return self.of(&(self.at)(below.parent()?)?, depth + 1);
        }
        let below = fs::read_dir(device.join("slaves")).into_iter().flatten().flatten();
        let mut below: Vec<PathBuf> = below.filter_map(|entry| fs::canonicalize(entry.path()).ok()).collect();
        below.sort();
        below.iter().find_map(|one| self.of_device(one, source, depth + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn system(kind: &str, device: &str, upper: Option<&str>) -> FileSystem {
        FileSystem {
            kind: kind.to_owned(),
            source: "/dev/loop0".to_owned(),
            mounted_at: "/m".to_owned(),
            device: device.to_owned(),
            upper_folder: upper.map(PathBuf::from),
        }
    }

    #[test]
    fn memory_is_found_wherever_it_lies_below() {
        let sys = tempfile::tempdir().unwrap();
        let (devices, links) = (sys.path().join("devices"), sys.path().join("dev/block"));
        fs::create_dir_all(&links).unwrap();
        let device = |name: &str, number: &str, files: &[(&str, &str)]| {
            let folder = devices.join(name);
            fs::create_dir_all(folder.join("loop")).unwrap();
            for (file, text) in files {
                fs::write(folder.join(file), text).unwrap();
            }
            std::os::unix::fs::symlink(&folder, links.join(number)).unwrap();
        };
        device("vda", "254:0", &[]);
        device("vda/vda1", "254:1", &[("partition", "1")]);
        device("zram0", "252:0", &[]);
        device("loop0", "7:0", &[("loop/backing_file", "/disk/img\n"), ("loop/dio", "0\n")]);
        device("loop0/loop0p1", "259:0", &[("partition", "1")]);
        device("loop1", "7:1", &[("loop/backing_file", "/disk/img\n"), ("loop/dio", "1\n")]);
        device("loop2", "7:2", &[("loop/backing_file", "/memory/img\n"), ("loop/dio", "1\n")]);
        device("loop3", "7:3", &[("loop/backing_file", "/dev/loop0\n"), ("loop/dio", "1\n")]);
        fs::create_dir_all(sys.path().join("class/block")).unwrap();
        std::os::unix::fs::symlink(devices.join("loop0"), sys.path().join("class/block/loop0")).unwrap();
        device("dm-0", "253:0", &[]);
        fs::create_dir(devices.join("dm-0/slaves")).unwrap();
        std::os::unix::fs::symlink(devices.join("zram0"), devices.join("dm-0/slaves/zram0")).unwrap();
        let at = |folder: &Path| match folder.to_str() {
            Some("/disk") => Some(system("ext4", "254:1", None)),
            Some("/memory") => Some(system("tmpfs", "0:40", None)),
            _ => None,
        };
        let machine = Machine { sys: sys.path(), at: &at };
        let said = |kind: &str, device: &str, upper: Option<&str>| {
            let said = machine.of(&system(kind, device, upper), 0);
            said.map_or("a disk", |said| {
                let all = ["files in memory", "blocks in memory", "page cache", "can't be seen"];
                all.into_iter().find(|words| said.contains(words)).unwrap_or("something else")
            })
        };
        for (kind, device, upper, expected) in [
            ("ext4", "254:0", None, "a disk"),
            ("ext4", "254:1", None, "a disk"),
            ("tmpfs", "0:41", None, "files in memory"),
            ("ext4", "252:0", None, "blocks in memory"),
            ("ext4", "253:0", None, "blocks in memory"),
            ("ext4", "7:0", None, "page cache"),
            ("ext4", "259:0", None, "page cache"),
            ("ext4", "7:1", None, "a disk"),
            ("ext4", "7:2", None, "files in memory"),
            ("ext4", "7:3", None, "page cache"),
            ("overlay", "0:42", Some("/disk"), "a disk"),
            ("overlay", "0:42", Some("/memory"), "files in memory"),
            ("overlay", "0:42", Some("relative"), "can't be seen"),
            ("overlay", "0:42", None, "can't be seen"),
            ("nfs", "0:43", None, "a disk"),
        ] {
            assert_eq!(said(kind, device, upper), expected, "{kind} {device} {upper:?}");
        }
    }
}
