//! A group of processes that is watched: some roots, such as a server's first process, and all below them.
//!
//! Parents are read before their children. So nothing is counted twice: a child that was still there when its own turn came had not
//! been added to its parent when that was read. One that is gone by then is missed, and then all are read again.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use plimsoll_clock::windowed;

use super::machine::{Machine, Missing};
use super::paced::Paced;
use super::process::{ProcessId, ProcessIo, ProcessUse, Switches, parse_io, parse_stat, parse_switches};
use super::text::{KeptFile, failure, read_once, unlike};
use super::{Sampled, Source};

/// Processes with files that stay open, two each; files of further processes are opened each time.
const KEPT_OPEN: usize = 64;
/// How often a group is read again because one of its processes ended meanwhile.
const ATTEMPTS: u32 = 4;
/// Processes that may be read at each reading, and threads that may be asked for their switches, which costs thrice as much. With twice
/// as many, every second reading does so, and so on: the cost of watching must not grow with what is watched.
const READ_EACH_TIME: usize = 64;
const SWITCHES_EACH_TIME: usize = 8;

const USE: Missing = Missing { name: "CPU time of processes", cost: "how much CPU the processes used is unknown" };
const IO: Missing =
    Missing { name: "device bytes of processes", cost: "how much the processes read and wrote is unknown" };
const SWITCHES: Missing = Missing {
    name: "context switches of processes",
    cost: "how often the processes had to wait or to give way is unknown",
};
const AFFINITY: Missing = Missing { name: "CPU affinity", cost: "whether the processes may use all CPUs is unknown" };

/// What was read of a group.
pub(super) struct GroupUse {
    pub(super) processes: Source<ProcessUse>,
    pub(super) io: Source<ProcessIo>,
    pub(super) switches: Source<Switches>,
    pub(super) allowed_cpus: Source<u32>,
}

/// The processes of a group between readings.
#[derive(Debug)]
pub(super) struct Group {
    pids: Vec<u32>,
    roots: Vec<ProcessId>,
    /// The roots and all below them, as they were last found in this reading.
    found: Option<Vec<ProcessId>>,
    members: BTreeMap<ProcessId, Member>,
    retired: Switches,
    last_use: Paced<ProcessUse>,
    last_io: Paced<ProcessIo>,
    last_switches: Paced<Switches>,
}

#[derive(Debug)]
struct Member {
    stat: KeptFile,
    io: KeptFile,
    status: KeptFile,
    tasks: PathBuf,
    threads: u64,
    /// By thread, those that were last read.
    switches: BTreeMap<u32, Switches>,
    /// Of threads that have ended.
    ended: Switches,
}

/// Why a process could not be read.
enum Failure {
    /// It has ended.
    Gone,
    Unreadable(String),
}

impl Group {
    pub(super) fn new(pids: &[u32]) -> Self {
        Self {
            pids: pids.to_vec(),
            roots: Vec::new(),
            found: None,
            members: BTreeMap::new(),
            retired: Switches::default(),
            last_use: Paced::default(),
            last_io: Paced::default(),
            last_switches: Paced::default(),
        }
    }

    /// The roots, once they were found.
    pub(super) fn roots(&self) -> &[ProcessId] {
        &self.roots
    }

    /// Reads what the group used. The processes of the machine have been listed before.
    pub(super) fn read(&mut self, machine: &mut Machine) -> GroupUse {
        if let Err(reason) = self.find_roots(machine) {
            let missing = |known: &Missing| known.because(reason.clone());
            return GroupUse {
                processes: Err(missing(&USE)),
                io: Err(missing(&IO)),
                switches: Err(missing(&SWITCHES)),
                allowed_cpus: Err(missing(&AFFINITY)),
            };
        }
        self.found = None;
        let clock = machine.clock.clone();
        let mut last = std::mem::take(&mut self.last_use);
        let processes = last.read(clock.as_ref(), READ_EACH_TIME, || {
            let (sum, count) = self.sum(machine, Member::read_use, Counted::plus);
            (sum.map(|sum| sum.in_units_of(machine)), count)
        });
        self.last_use = last;
        let mut last = std::mem::take(&mut self.last_io);
        let io = last.read(clock.as_ref(), READ_EACH_TIME, || self.sum(machine, Member::read_io, plus_io));
        self.last_io = last;
        let mut last = std::mem::take(&mut self.last_switches);
        let switches = last.read(clock.as_ref(), SWITCHES_EACH_TIME, || self.sum_switches(machine));
        self.last_switches = last;
        let (allowed, window) = windowed(clock.as_ref(), || allowed_cpus(&self.pids));
        GroupUse {
            processes: processes.map_err(|reason| USE.because(reason)),
            io: io.map_err(|reason| IO.because(reason)),
            switches: switches.map_err(|reason| SWITCHES.because(reason)),
            allowed_cpus: allowed.map(|value| Sampled { value, window }).map_err(|reason| AFFINITY.because(reason)),
        }
    }

    /// The roots are those of the first reading for ever: a new process of the same number is another one.
    fn find_roots(&mut self, machine: &Machine) -> Result<(), String> {
        if let Some(reason) = &machine.unlisted {
            return Err(reason.clone());
        }
        if self.roots.is_empty() {
            let found = |pid: &u32| machine.tree.get(*pid).ok_or_else(|| format!("there is no process {pid}"));
            self.roots = self.pids.iter().map(found).collect::<Result<_, _>>()?;
        }
        match self.ended_root(machine) {
            Some(root) => Err(ended(root)),
            None if self.roots.is_empty() => Err("no process was named".to_owned()),
            None => Ok(()),
        }
    }

    fn ended_root(&self, machine: &Machine) -> Option<ProcessId> {
        self.roots.iter().find(|root| machine.tree.get(root.pid) != Some(**root)).copied()
    }

    /// Adds up what is read of each process. Gives how many there were, too.
    fn sum<T: Default>(
        &mut self,
        machine: &mut Machine,
        read: fn(&mut Member, ProcessId, &mut Machine) -> Result<T, Failure>,
        plus: fn(T, T) -> T,
    ) -> (Result<T, String>, usize) {
        let mut count = 0;
        for _ in 0..ATTEMPTS {
            // An earlier sum may have noticed it.
            if let Some(root) = self.ended_root(machine) {
                return (Err(ended(root)), count);
            }
            let found = self.found.take().unwrap_or_else(|| {
                let found = machine.tree.below(&self.roots);
                self.retire_all_but(&found);
                found
            });
            count = found.len();
            let (mut sum, mut complete) = (T::default(), true);
            for process in found.iter().copied() {
                let kept = self.members.len() < KEPT_OPEN;
                let member = self.members.entry(process).or_insert_with(|| Member::new(process, machine, kept));
                match read(member, process, machine) {
                    Ok(value) => sum = plus(sum, value),
                    Err(Failure::Unreadable(reason)) => {
                        self.found = Some(found);
                        return (Err(reason), count);
                    }
                    Err(Failure::Gone) => {
                        machine.tree.forget(process);
                        complete = false;
                    }
                }
            }
            if complete {
                self.found = Some(found);
                return (Ok(sum), count);
            }
        }
        (Err("processes end faster than they can be read".to_owned()), count)
    }

    fn sum_switches(&mut self, machine: &mut Machine) -> (Result<Switches, String>, usize) {
        let threads = self.members.values().map(|member| member.threads as usize).sum();
        let (living, _) = self.sum(machine, Member::read_switches, Switches::plus);
        // After the sum, which notices who has ended.
        (living.map(|living| living.plus(self.retired)), threads)
    }

    /// Keeps the last known switches of processes that are no more.
    fn retire_all_but(&mut self, found: &[ProcessId]) {
        let found: HashSet<&ProcessId> = found.iter().collect();
        let Self { members, retired, .. } = self;
        members.retain(|process, member| {
            let stays = found.contains(process);
            if !stays {
                *retired = retired.plus(member.all_switches());
            }
            stays
        });
    }
}

impl Member {
    fn new(process: ProcessId, machine: &Machine, kept: bool) -> Self {
        let folder = machine.proc.join(process.pid.to_string());
        let file =
            |name: &str| if kept { KeptFile::new(folder.join(name)) } else { KeptFile::unkept(folder.join(name)) };
        Self {
            stat: file("stat"),
            io: file("io"),
            status: KeptFile::unkept(folder.join("status")),
            tasks: folder.join("task"),
            threads: 1,
            switches: BTreeMap::new(),
            ended: Switches::default(),
        }
    }

    fn read_use(&mut self, process: ProcessId, machine: &mut Machine) -> Result<Counted, Failure> {
        let text = self.stat.read_same(&mut machine.buffer).map_err(|error| failed(&self.stat, &error))?;
        let line = parse_stat(&text).ok_or_else(|| not_understood(&self.stat))?;
        if line.start_ticks != process.start_ticks {
            return Err(Failure::Gone);
        }
        self.threads = line.threads;
        Ok(Counted {
            processes: 1,
            threads: line.threads,
            user_ticks: line.user_ticks,
            system_ticks: line.system_ticks,
            resident_pages: line.resident_pages,
        })
    }

    fn read_io(&mut self, _: ProcessId, machine: &mut Machine) -> Result<ProcessIo, Failure> {
        let text = self.io.read_same(&mut machine.buffer).map_err(|error| failed(&self.io, &error))?;
        parse_io(&text).ok_or_else(|| not_understood(&self.io))
    }

    fn read_switches(&mut self, process: ProcessId, machine: &mut Machine) -> Result<Switches, Failure> {
        let mut now = BTreeMap::new();
        if self.threads > 1 {
            let threads = fs::read_dir(&self.tasks).map_err(|error| failed_at(&self.tasks, &error))?;
            for entry in threads.flatten() {
                let Some(thread) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
                    continue;
                };
                let path = entry.path().join("status");
                match read_once(&path, &mut machine.buffer) {
                    Ok(text) => now.extend(parse_switches(&text).map(|switches| (thread, switches))),
                    // The thread has ended meanwhile.
                    Err(error) if is_gone(&error) => {}
                    Err(error) => return Err(failed_at(&path, &error)),
                }
            }
        } else {
            let text = self.status.read_same(&mut machine.buffer).map_err(|error| failed(&self.status, &error))?;
            now.insert(process.pid, parse_switches(&text).ok_or_else(|| not_understood(&self.status))?);
        }
        Ok(self.take_switches(now))
    }

    /// Takes the switches of the threads there are, and keeps the last known ones of those that have ended.
    fn take_switches(&mut self, now: BTreeMap<u32, Switches>) -> Switches {
        for (thread, last) in std::mem::replace(&mut self.switches, now) {
            let goes_on = |now: &Switches| now.voluntary >= last.voluntary && now.involuntary >= last.involuntary;
            if !self.switches.get(&thread).is_some_and(goes_on) {
                self.ended = self.ended.plus(last);
            }
        }
        self.all_switches()
    }

    fn all_switches(&self) -> Switches {
        self.switches.values().fold(self.ended, |sum, one| sum.plus(*one))
    }
}

/// What processes used, in the kernel's whole numbers: their sum must not depend on its order, as it would in fractions.
#[derive(Debug, Clone, Copy, Default)]
struct Counted {
    processes: u32,
    threads: u64,
    user_ticks: u64,
    system_ticks: u64,
    resident_pages: u64,
}

impl Counted {
    fn plus(self, other: Self) -> Self {
        Self {
            processes: self.processes + other.processes,
            threads: self.threads.saturating_add(other.threads),
            user_ticks: self.user_ticks.saturating_add(other.user_ticks),
            system_ticks: self.system_ticks.saturating_add(other.system_ticks),
            resident_pages: self.resident_pages.saturating_add(other.resident_pages),
        }
    }

    fn in_units_of(self, machine: &Machine) -> ProcessUse {
        let seconds = |ticks: u64| ticks as f64 / machine.ticks_per_second as f64;
        ProcessUse {
            processes: self.processes,
            threads: self.threads,
            user_seconds: seconds(self.user_ticks),
            system_seconds: seconds(self.system_ticks),
            resident_bytes: self.resident_pages.saturating_mul(machine.page_bytes),
        }
    }
}

fn plus_io(sum: ProcessIo, one: ProcessIo) -> ProcessIo {
    ProcessIo {
        read_bytes: sum.read_bytes.saturating_add(one.read_bytes),
        write_bytes: sum.write_bytes.saturating_add(one.write_bytes),
    }
}

/// CPUs that at least one of the processes may run on, by its first thread.
#[cfg(target_os = "linux")]
fn allowed_cpus(pids: &[u32]) -> Result<u32, String> {
    use rustix::thread::{CpuSet, sched_getaffinity};

    let mut all = CpuSet::new();
    for pid in pids {
        let process = rustix::process::Pid::from_raw(*pid as i32);
        let one = sched_getaffinity(process).map_err(|error| format!("process {pid}: {error}"))?;
        (0..CpuSet::MAX_CPU).filter(|cpu| one.is_set(*cpu)).for_each(|cpu| all.set(cpu));
    }
    Ok(all.count())
}

#[cfg(not(target_os = "linux"))]
fn allowed_cpus(_: &[u32]) -> Result<u32, String> {
    Err("only Linux tells".to_owned())
}

fn ended(process: ProcessId) -> String {
    format!("process {} has ended", process.pid)
}

/// A process that has ended since its file was opened is "no such process"; since it was listed, "no such file".
fn is_gone(error: &io::Error) -> bool {
    const NO_SUCH_PROCESS: i32 = 3;
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(NO_SUCH_PROCESS)
}

fn failed(file: &KeptFile, error: &io::Error) -> Failure {
    failed_at(file.path(), error)
}

fn failed_at(path: &Path, error: &io::Error) -> Failure {
    if is_gone(error) { Failure::Gone } else { Failure::Unreadable(failure(path, error)) }
}

fn not_understood(file: &KeptFile) -> Failure {
    Failure::Unreadable(unlike(file.path()))
}
