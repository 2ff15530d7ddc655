//! How the volume below a folder is put together, as Linux says it: the disks below its block device in `/sys`, arrays of md, and the
//! tables of the device mapper (LVM), which only root may read. Nothing is changed.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Bytes of a sector in the kernel's tables of devices.
const SECTOR_BYTES: u64 = 512;
/// Devices that lie on each other; more are a circle.
const DEEPEST: usize = 16;

/// How disks share what is written to a volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum How {
    /// There is one.
    One,
    /// Each has its turn after so many bytes.
    Striped {
        /// Disks that a stripe covers.
        columns: usize,
        /// Bytes on a disk before the next has its turn.
        unit_bytes: u64,
    },
    /// One after the other is filled.
    Spanned,
    /// Something else, by its name: `raid1`, `raid5`.
    Other(String),
}

/// A volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Built {
    /// Disks below it.
    pub disks: usize,
    /// How they share it.
    pub how: How,
}

impl Built {
    /// In words, for a sentence.
    pub fn words(&self) -> String {
        let disks = self.disks;
        match &self.how {
            How::One => "one disk".to_owned(),
            How::Striped { columns, unit_bytes } => {
                format!("{disks} disks, striped over {columns} columns with a unit of {} KiB", unit_bytes >> 10)
            }
            How::Spanned => format!("{disks} disks, one filled after the other"),
            How::Other(name) => format!("{disks} disks ({name})"),
        }
    }
}

/// The volume that a folder lies on.
///
/// # Errors
/// A sentence that says why it is not known.
pub fn below(folder: &Path) -> Result<Built, String> {
    let device = fs::metadata(folder).map_err(|error| format!("{}: {error}", folder.display()))?.dev();
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let table = |name: &str| {
        let said = Command::new("dmsetup").args(["table", name]).output().ok()?;
        said.status.success().then(|| String::from_utf8_lossy(&said.stdout).into_owned())
    };
    Machine { sys: Path::new("/sys"), table: &table }.volume(&format!("{major}:{minor}"))
}

/// Where a machine is asked.
struct Machine<'a> {
    sys: &'a Path,
    /// The table of a device of the device mapper by its name; `None` where nobody may read it.
    table: &'a dyn Fn(&str) -> Option<String>,
}

impl Machine<'_> {
    fn volume(&self, number: &str) -> Result<Built, String> {
        let device = fs::canonicalize(self.sys.join("dev/block").join(number)).map_err(|_| {
            format!("device {number} is none that /sys knows, as of a network or of several disks by a file system")
        })?;
        self.of(&device, 0)
    }

    fn of(&self, device: &Path, depth: usize) -> Result<Built, String> {
        if depth > DEEPEST {
            return Err(format!("{} lies on too many others", device.display()));
        }
        if device.join("partition").exists() {
            let disk = device.parent().ok_or("a partition without a disk")?;
            return self.of(disk, depth + 1);
        }
        let below = Self::below(device);
        let disks = below.iter().map(|one| self.of(one, depth + 1)).collect::<Result<Vec<_>, _>>()?;
        let all = disks.iter().map(|one| one.disks).sum::<usize>().max(1);
        if disks.iter().filter(|one| one.how != How::One).count() > 1 || (below.len() > 1 && all > below.len()) {
            return Err("arrays that lie on arrays are not read".to_owned());
        }
        if device.join("md").is_dir() {
            return Self::array(device, all);
        }
        match &disks[..] {
            [] => Ok(Built { disks: 1, how: How::One }),
            [one] => Ok(one.clone()),
            _ => self.mapped(device, all),
        }
    }

    /// The devices below another one.
    fn below(device: &Path) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(device.join("slaves")) else { return Vec::new() };
        let mut below: Vec<PathBuf> =
            entries.flatten().filter_map(|entry| fs::canonicalize(entry.path()).ok()).collect();
        below.sort();
        below
    }

    /// An array of md: Documentation/admin-guide/md.rst.
    fn array(device: &Path, disks: usize) -> Result<Built, String> {
        let text = |name: &str| {
            let file = device.join("md").join(name);
            fs::read_to_string(&file)
                .map(|text| text.trim().to_owned())
                .map_err(|error| format!("{}: {error}", file.display()))
        };
        let how = match text("level")?.as_str() {
            "raid0" => How::Striped {
                columns: disks,
                unit_bytes: text("chunk_size")?.parse().map_err(|_| "md says no size of chunks".to_owned())?,
            },
            "linear" => How::Spanned,
            other => How::Other(other.to_owned()),
        };
        Ok(Built { disks, how })
    }

    /// A device of the device mapper on several others: its table has a line for each stretch, with the kind as its third word
    /// (Documentation/admin-guide/device-mapper).
    fn mapped(&self, device: &Path, disks: usize) -> Result<Built, String> {
        let name =
            fs::read_to_string(device.join("dm/name")).map_err(|error| format!("{}: {error}", device.display()))?;
        let table = (self.table)(name.trim()).ok_or_else(|| {
            format!("only root may read the table of {} (dmsetup table), if dmsetup is there", name.trim())
        })?;
        let lines: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
        let kinds: Vec<&str> = lines.iter().filter_map(|line| line.get(2).copied()).collect();
        let how = match kinds.first() {
            Some(&"striped") => {
                let number = |at: usize| lines[0].get(at).and_then(|word| word.parse::<u64>().ok());
                let (columns, chunk) = number(3).zip(number(4)).ok_or("a table of stripes that can't be read")?;
                How::Striped { columns: columns as usize, unit_bytes: chunk * SECTOR_BYTES }
            }
            Some(&"linear") if kinds.iter().all(|kind| *kind == "linear") => How::Spanned,
            Some(other) => How::Other((*other).to_owned()),
            None => return Err(format!("the table of {} is empty", name.trim())),
        };
        Ok(Built { disks, how })
    }
}

#[cfg(test)]
mod tests;
