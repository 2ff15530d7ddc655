//! Limits of the control group of a process, and how often a quota held it back: versions 1 and 2.
//!
//! A limit holds for a group and all below it together, so one further up may be the one that binds. Hence a reading has the process's
//! own group, and each above it that has a limit, each with its own counters. In version 1 limits of I/O don't reach down: there a
//! group has its own only.

mod limits;
mod place;

use plimsoll_clock::Clock;

use super::Source;
use super::machine::{Machine, Missing};
use super::mounts;
use super::text::{Buffer, KeptFile, failure};

use limits::{CPU_ONE, CPU_TWO, IO_ONE, IO_TWO, MEMORY_ONE, MEMORY_TWO, Texts};
pub use limits::{CpuGroup, IoGroup, IoKind, IoLimit, MemoryGroup};
use limits::{cpu_one, cpu_two, io_one, io_two, memory_one, memory_two};
use place::{Place, Version};

const CPU: Missing =
    Missing { name: "CPU limit of the control group", cost: "whether a CPU quota held the processes back is unknown" };
const IO: Missing = Missing {
    name: "I/O limit of the control group",
    cost: "whether a limit of I/O held the processes back is unknown",
};
const MEMORY: Missing = Missing {
    name: "memory limit of the control group",
    cost: "whether a limit of memory kept data from being cached is unknown",
};

/// What was read of the control groups of a process. A list without any limit in it means that there is none.
#[derive(Debug, Clone)]
pub struct Cgroup {
    /// CPU; the process's own group first if it counts anything.
    pub cpu: Source<Vec<CpuGroup>>,
    /// I/O.
    pub io: Source<Vec<IoGroup>>,
    /// Memory.
    pub memory: Source<Vec<MemoryGroup>>,
}

impl Cgroup {
    /// Nothing can be read, for this reason.
    pub(super) fn unknown(reason: &str) -> Self {
        let because = |missing: &Missing| missing.because(reason.to_owned());
        Self { cpu: Err(because(&CPU)), io: Err(because(&IO)), memory: Err(because(&MEMORY)) }
    }
}

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
    io: Levels,
    memory: Levels,
}

impl CancelGuard {
    pub(super) fn new(pid: u32, machine: &Machine) -> Self {
        let unread = || Err("it was not looked for yet".to_owned());
        Self {
            membership: KeptFile::new(machine.proc.join(pid.to_string()).join("cgroup")),
            text: String::new(),
            cpu: unread(),
            io: unread(),
            memory: unread(),
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
            io: groups(&IO, &mut self.io, (clock, buffer), (io_one, io_two), |group| !group.limits.is_empty()),
            memory: groups(&MEMORY, &mut self.memory, (clock, buffer), (memory_one, memory_two), |group| {
                group.limit_bytes.is_some()
            }),
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
        self.cpu = find("cpu", "cpu").map(|place| levels(&place, CPU_ONE, CPU_TWO, machine));
        self.memory = find("memory", "memory").map(|place| levels(&place, MEMORY_ONE, MEMORY_TWO, machine));
        self.io = find("blkio", "io").map(|place| {
            let (version, mut found) = levels(&place, IO_ONE, IO_TWO, machine);
            if version == Version::One {
                found.truncate(1);
            }
            (version, found)
        });
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
    known.unless(clock, || {
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
    })
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
