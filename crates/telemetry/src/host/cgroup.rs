//! Limits of the control group of a process, and what was done under them: versions 1 and 2.
//!
//! A limit holds for a group and all below it together, so one further up may be the one that binds. Hence a reading has the process's
//! own group, and each above it that has a limit, each with its own counters. In version 1 limits of I/O don't reach down: there a
//! group has its own only. Those of memory do, as they must since Linux 5.11; before, a tree could have that switched off.

mod limits;
mod place;

use plimsoll_clock::{Clock, windowed};

use super::machine::{Machine, Missing};
use super::memory::{Pressure, parse_pressure};
use super::mounts;
use super::text::{Buffer, KeptFile, failure};
use super::{Sampled, Source};

use limits::{
    CPU_ONE, CPU_ONE_USED, CPU_TWO, IO_ONE, IO_TWO, MEMORY_ONE, MEMORY_TWO, Texts, cpu_one, cpu_two, io_one, io_two,
    memory_one, memory_two,
};
pub use limits::{CpuGroup, IoFigure, IoGroup, IoKind, MemoryGroup};
use place::{Membership, Place, Version};

const CPU: Missing =
    Missing { name: "CPU limit of the control group", cost: "whether a CPU quota held the processes back is unknown" };
const MEMORY: Missing = Missing {
    name: "memory limit of the control group",
    cost: "whether a limit of memory held the processes back is unknown",
};
const IO: Missing = Missing {
    name: "I/O limit of the control group",
    cost: "whether a limit of I/O held the processes back is unknown",
};
const PRESSURE: Missing = Missing {
    name: "pressure of the control group",
    cost: "how long the processes stood still for want of a resource is unknown",
};

/// What was read of the control groups of a process. A list without any limit in it means that there is none.
#[derive(Debug, Clone)]
pub struct Cgroup {
    /// CPU; the process's own group first if it counts anything.
    pub cpu: Source<Vec<CpuGroup>>,
    /// Memory.
    pub memory: Source<Vec<MemoryGroup>>,
    /// I/O.
    pub io: Source<Vec<IoGroup>>,
    /// Stalls of the process's own group; version 2 only.
    pub pressure: Source<Pressure>,
}

impl Cgroup {
    /// Nothing can be read, for this reason.
    pub(super) fn unknown(reason: &str) -> Self {
        let because = |missing: &Missing| missing.because(reason.to_owned());
        Self {
            cpu: Err(because(&CPU)),
            memory: Err(because(&MEMORY)),
            io: Err(because(&IO)),
            pressure: Err(because(&PRESSURE)),
        }
    }

    /// The group with the lowest limit of CPU.
    pub fn tightest_cpu(&self) -> Option<&CpuGroup> {
        let limited = self.cpu.as_ref().ok()?.value.iter().filter_map(|group| Some((group.limit_cpus?, group)));
        limited.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, group)| group)
    }

    /// The group with the lowest limit of memory.
    pub fn tightest_memory(&self) -> Option<&MemoryGroup> {
        let groups = self.memory.as_ref().ok()?.value.iter();
        groups.filter(|group| group.limit_bytes.is_some()).min_by_key(|group| group.limit_bytes)
    }

    /// The lowest limit of each kind of I/O at each device.
    pub fn tightest_io(&self) -> Vec<IoFigure> {
        let groups = self.io.as_ref().map(|sampled| &sampled.value[..]).unwrap_or_default();
        let mut limits: Vec<IoFigure> = groups.iter().flat_map(|group| group.limits.iter().copied()).collect();
        limits.sort_unstable_by_key(|limit| (limit.device, limit.kind, limit.value));
        limits.dedup_by_key(|limit| (limit.device, limit.kind));
        limits
    }
}

/// Files of a group, by name.
#[derive(Debug)]
struct Level {
    path: String,
    files: Vec<(&'static str, KeptFile)>,
}

/// The groups of a process for one controller, from its own upwards.
type Levels = Result<(Version, Vec<Level>), String>;

/// The groups of a process between readings.
#[derive(Debug)]
pub(super) struct CancelGuard {
    membership: KeptFile,
    /// What it said when the files below were found.
    text: String,
    cpu: Levels,
    memory: Levels,
    io: Levels,
    pressure: Result<[KeptFile; 3], String>,
}

impl CancelGuard {
    pub(super) fn new(pid: u32, machine: &Machine) -> Self {
        let unread = || Err("it was not looked for yet".to_owned());
        Self {
            membership: KeptFile::new(machine.proc.join(pid.to_string()).join("cgroup")),
            text: String::new(),
            cpu: unread(),
            memory: unread(),
            io: unread(),
            pressure: Err("it was not looked for yet".to_owned()),
        }
    }

    /// Reads everything. A process that was moved to another group is found there.
    pub(super) fn read(&mut self, machine: &mut Machine) -> Cgroup {
        if let Err(reason) = self.find(machine) {
            return Cgroup::unknown(&reason);
        }
        let Machine { clock, buffer, .. } = machine;
        let clock = clock.as_ref();
        Cgroup {
            cpu: groups(&CPU, &mut self.cpu, (clock, buffer), (cpu_one, cpu_two), |group| group.limit_cpus.is_some()),
            memory: groups(&MEMORY, &mut self.memory, (clock, buffer), (memory_one, memory_two), |group| {
                group.limit_bytes.or(group.high_bytes).is_some()
            }),
            io: groups(&IO, &mut self.io, (clock, buffer), (io_one, io_two), |group| !group.limits.is_empty()),
            pressure: pressure(&mut self.pressure, clock, buffer),
        }
    }

    /// Finds the files, if the process is not where it was.
    fn find(&mut self, machine: &mut Machine) -> Result<(), String> {
        let text =
            self.membership.read_same(&mut machine.buffer).map_err(|error| failure(self.membership.path(), &error))?;
        if text == self.text {
            return Ok(());
        }
        let text = text.into_owned();
        let path = machine.proc.join("self/mountinfo");
        let mounted = KeptFile::new(path.clone()).read(&mut machine.buffer).map(|text| mounts::parse(&text));
        let mounted = mounted.map_err(|error| failure(&path, &error))?;
        let memberships = place::parse(&text);
        let find = |one, two| place::find(&memberships, &mounted, one, two);
        self.cpu = find("cpu", "cpu").map(|place| {
            let accounts = find("cpuacct", "cpu").ok().filter(|accounts| accounts.version == Version::One);
            cpu_levels(&place, accounts.as_ref(), machine)
        });
        self.memory = find("memory", "memory").map(|place| levels(&place, MEMORY_ONE, MEMORY_TWO, machine));
        self.io = find("blkio", "io").map(|place| {
            let (version, mut found) = levels(&place, IO_ONE, IO_TWO, machine);
            if version == Version::One {
                found.truncate(1);
            }
            (version, found)
        });
        self.pressure = pressure_files(&memberships, &mounted, machine);
        self.text = text;
        Ok(())
    }
}

fn levels(place: &Place, one: &[&'static str], two: &[&'static str], machine: &Machine) -> (Version, Vec<Level>) {
    let files = if place.version == Version::One { one } else { two };
    let level = |(path, folder): (String, String)| {
        let folder = machine.path(&folder);
        Level { path, files: files.iter().map(|file| (*file, KeptFile::new(folder.join(file)))).collect() }
    };
    (place.version, place.upwards().into_iter().map(level).collect())
}

/// In version 1 what is used may be counted in another tree than the limit is set. It belongs together where the groups there have the
/// same names.
fn cpu_levels(place: &Place, accounts: Option<&Place>, machine: &Machine) -> (Version, Vec<Level>) {
    let (version, mut found) = levels(place, CPU_ONE, CPU_TWO, machine);
    if version == Version::One {
        let accounts = accounts.map(Place::upwards).unwrap_or_default();
        for level in &mut found {
            let account = accounts.iter().find(|(path, _)| *path == level.path);
            let file = account.map(|(_, folder)| KeptFile::new(machine.path(folder).join(CPU_ONE_USED)));
            level.files.extend(file.map(|file| (CPU_ONE_USED, file)));
        }
    }
    (version, found)
}

fn pressure_files(
    memberships: &[Membership],
    mounted: &[mounts::Mount],
    machine: &Machine,
) -> Result<[KeptFile; 3], String> {
    // No controller of version 1 has that name, so it is looked for in the tree of version 2.
    let place = place::find(memberships, mounted, "pressure", "pressure")?;
    let (_, folder) = place.upwards().swap_remove(0);
    let folder = machine.path(&folder);
    Ok(["cpu.pressure", "memory.pressure", "io.pressure"].map(|file| KeptFile::new(folder.join(file))))
}

/// Reads a group from the texts of its files.
type ReadGroup<T> = fn(&str, Texts) -> T;

/// Reads all groups for a controller by the function of its version; keeps the first if it has files at all, and those that limit
/// something.
fn groups<T>(
    known: &Missing,
    levels: &mut Levels,
    (clock, buffer): (&dyn Clock, &mut Buffer),
    (one, two): (ReadGroup<T>, ReadGroup<T>),
    limits: fn(&T) -> bool,
) -> Source<Vec<T>> {
    let read = || {
        let (version, levels) = levels.as_mut().map_err(|reason| reason.clone())?;
        let group = if *version == Version::One { one } else { two };
        let mut groups = Vec::new();
        for (index, level) in levels.iter_mut().enumerate() {
            let texts = level.texts(buffer)?;
            let read = group(&level.path, Texts(&texts));
            if limits(&read) || index == 0 && texts.iter().any(|(_, text)| text.is_some()) {
                groups.push(read);
            }
        }
        Ok(groups)
    };
    let (value, window) = windowed(clock, read);
    value.map(|value| Sampled { value, window }).map_err(|reason: String| known.because(reason))
}

impl Level {
    /// The texts of its files; `None` for one that is not there, as the root has no limits, and a controller that is off none at all.
    fn texts(&mut self, buffer: &mut Buffer) -> Result<Vec<(&'static str, Option<String>)>, String> {
        let read = |(name, file): &mut (&'static str, KeptFile)| match file.read(buffer) {
            Ok(text) => Ok((*name, Some(text.into_owned()))),
            Err(error) if is_off(&error) => Ok((*name, None)),
            Err(error) => Err(failure(file.path(), &error)),
        };
        self.files.iter_mut().map(read).collect()
    }
}

fn is_off(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::Unsupported)
}

fn pressure(files: &mut Result<[KeptFile; 3], String>, clock: &dyn Clock, buffer: &mut Buffer) -> Source<Pressure> {
    let read = || stalls(files.as_mut().map_err(|reason| reason.clone())?, buffer);
    let (value, window) = windowed(clock, read);
    value.map(|value| Sampled { value, window }).map_err(|reason| PRESSURE.because(reason))
}

/// Reads the files of stalls for CPU, memory and I/O. An error if none can be read.
pub(super) fn stalls(files: &mut [KeptFile; 3], buffer: &mut Buffer) -> Result<Pressure, String> {
    let mut problem = None;
    let [cpu, memory, io] = files.each_mut().map(|file| match file.read(buffer) {
        Ok(text) => parse_pressure(&text),
        Err(error) => {
            problem = Some(failure(file.path(), &error));
            None
        }
    });
    match (cpu.or(memory).or(io), problem) {
        (None, problem) => Err(problem.unwrap_or_else(|| "the kernel shows no stalls".to_owned())),
        _ => Ok(Pressure { cpu, memory, io }),
    }
}
