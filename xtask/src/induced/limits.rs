//! What a machine can hold a process to: a loop device of our own, and control groups, version 1 or 2.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const ROOT: &str = "/sys/fs/cgroup";
/// Size of the device.
const DEVICE_BYTES: u64 = 2 << 30;
/// Microseconds of a period of a CPU quota.
const PERIOD: u32 = 100_000;

/// A limit of a group of processes.
#[derive(Debug, Clone, Copy)]
pub enum Limit {
    /// Reads a second at the device.
    Reads(f64),
    /// Bytes of reads a second there.
    ReadBytes(f64),
    /// Writes a second at the device.
    Writes(f64),
    /// Bytes of writes a second there.
    WriteBytes(f64),
    /// A quota of CPUs.
    Cpus(f64),
    /// CPUs that may be used, counted from the first.
    Cores(u32),
    /// Memory, with what the system caches for it, in MB.
    MemoryMb(u32),
}

/// A file system on a loop device; unmounted and removed when it is dropped.
pub struct SlowDevice {
    folder: tempfile::TempDir,
    /// Major and minor number.
    number: String,
}

impl SlowDevice {
    /// Makes it. An error says what this machine does not let us do.
    pub fn make() -> Result<Self, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let image = folder.path().join("device");
        let file = fs::File::create(&image).map_err(|error| error.to_string())?;
        file.set_len(DEVICE_BYTES).map_err(|error| error.to_string())?;
        let mount = folder.path().join("m");
        fs::create_dir(&mount).map_err(|error| error.to_string())?;
        ran(Command::new("mkfs.ext4").arg("-q").arg(&image))?;
        ran(Command::new("mount").args(["-o", "loop"]).arg(&image).arg(&mount))?;
        let mut device = Self { folder, number: String::new() };
        let source = ran(Command::new("findmnt").args(["-n", "-o", "MAJ:MIN"]).arg(device.folder()))?;
        source.trim().clone_into(&mut device.number);
        // Servers run as somebody else.
        for path in [device.folder.path(), &mount] {
            ran(Command::new("chmod").arg("755").arg(path))?;
        }
        Ok(device)
    }

    /// Its major and minor number.
    pub fn number(&self) -> &str {
        &self.number
    }

    /// Where it is mounted.
    pub fn folder(&self) -> PathBuf {
        self.folder.path().join("m")
    }
}

impl Drop for SlowDevice {
    fn drop(&mut self) {
        // What is busy for a moment longer is left to the system when it is not.
        let _ = Command::new("umount").arg("--lazy").arg(self.folder()).status();
    }
}

/// A control group, in each hierarchy that its limits need; it holds back those that are in it until it is dropped.
pub struct Group {
    folders: Vec<PathBuf>,
}

impl Group {
    /// Makes a group with these limits, each with the device that it is about.
    pub fn hold(name: &str, limits: &[(Limit, Option<&SlowDevice>)]) -> Result<Self, String> {
        let mut group = Self { folders: Vec::new() };
        let unified = Path::new(ROOT).join("cgroup.controllers").exists();
        for (limit, device) in limits {
            let (controller, file, value) = setting(*limit, unified, *device)?;
            let folder =
                Path::new(ROOT).join(if unified { "" } else { controller }).join(format!("plimsoll-induced-{name}"));
            if unified {
                set(&Path::new(ROOT).join("cgroup.subtree_control"), &format!("+{controller}"))?;
            }
            if !group.folders.contains(&folder) {
                fs::create_dir_all(&folder)
                    .map_err(|error| format!("no control group {}: {error}", folder.display()))?;
                group.folders.push(folder.clone());
            }
            if controller == "cpu" && !unified {
                set(&folder.join("cpu.cfs_period_us"), &PERIOD.to_string())?;
            }
            if controller == "cpuset" && !unified {
                let nodes = fs::read_to_string(Path::new(ROOT).join("cpuset/cpuset.mems")).unwrap_or_default();
                set(&folder.join("cpuset.mems"), nodes.trim())?;
            }
            set(&folder.join(file), &value)?;
        }
        Ok(group)
    }

    /// Takes a process and all below it in.
    pub fn take(&self, pid: u32) -> Result<(), String> {
        for process in tree(pid) {
            for folder in &self.folders {
                // One that has ended meanwhile needs no limit.
                let entered = set(&folder.join("cgroup.procs"), &process.to_string());
                if process == pid {
                    entered?;
                }
            }
        }
        Ok(())
    }

    /// A command within the group.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new("sh");
        let mut enter = String::new();
        for folder in &self.folders {
            // Writing to a String can't fail.
            let _ = write!(enter, "echo $$ > '{}/cgroup.procs' && ", folder.display());
        }
        command.arg("-c").arg(format!("{enter}exec \"$0\" \"$@\"")).arg(program);
        command
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for folder in &self.folders {
            let processes = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
            let root = folder.parent().unwrap_or(Path::new(ROOT)).join("cgroup.procs");
            for process in processes.lines() {
                let _ = fs::write(&root, process);
            }
            let _ = fs::remove_dir(folder);
        }
    }
}

/// Controller, file and value of a limit.
fn setting(
    limit: Limit,
    unified: bool,
    device: Option<&SlowDevice>,
) -> Result<(&'static str, &'static str, String), String> {
    let of_device = |old: &'static str, new: &str, value: f64| {
        let number = device.map(|device| &device.number).ok_or("there is no device to limit")?;
        let name = if unified { "io.max" } else { old };
        let sign = if unified { format!("{new}=") } else { String::new() };
        Ok::<_, String>((if unified { "io" } else { "blkio" }, name, format!("{number} {sign}{value:.0}")))
    };
    let period = f64::from(PERIOD);
    Ok(match limit {
        Limit::Reads(rate) => of_device("blkio.throttle.read_iops_device", "riops", rate)?,
        Limit::ReadBytes(rate) => of_device("blkio.throttle.read_bps_device", "rbps", rate)?,
        Limit::Writes(rate) => of_device("blkio.throttle.write_iops_device", "wiops", rate)?,
        Limit::WriteBytes(rate) => of_device("blkio.throttle.write_bps_device", "wbps", rate)?,
        Limit::Cpus(cpus) if unified => ("cpu", "cpu.max", format!("{:.0} {PERIOD}", cpus * period)),
        Limit::Cpus(cpus) => ("cpu", "cpu.cfs_quota_us", format!("{:.0}", cpus * period)),
        Limit::Cores(cores) => ("cpuset", "cpuset.cpus", format!("0-{}", cores.saturating_sub(1))),
        Limit::MemoryMb(mb) => {
            ("memory", if unified { "memory.max" } else { "memory.limit_in_bytes" }, format!("{mb}M"))
        }
    })
}

fn set(file: &Path, text: &str) -> Result<(), String> {
    fs::write(file, text).map_err(|error| format!("{} can't be set to '{text}': {error}", file.display()))
}

/// A process and all below it.
pub fn tree(root: u32) -> Vec<u32> {
    let mut tree = vec![root];
    let mut next = 0;
    while let Some(parent) = tree.get(next).copied() {
        let children = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).unwrap_or_default();
        tree.extend(children.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
        next += 1;
    }
    tree
}

/// Has the system forget what it has cached of files.
pub fn forget_cache() -> Result<(), String> {
    ran(&mut Command::new("sync"))?;
    set(Path::new("/proc/sys/vm/drop_caches"), "3")
}

pub fn ran(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{name} can't be started: {error}"))?;
    if !output.status.success() {
        return Err(format!("{name} failed: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
