//! A group of processes that is watched: some roots, such as a server's first process, and all below them.
//!
//! Parents are read before their children. So nothing is counted twice: a child that was still there when its own turn came had not
//! been added to its parent when that was read. One that is gone by then is missed, and then all are read again.

use std::collections::{BTreeMap, HashSet};
use std::io;

use super::Source;
use super::machine::{Machine, Missing};
use super::paced::Paced;
use super::process::{ProcessId, ProcessUse, StatLine, parse_stat};
use super::run_queue::RunQueue;
use super::text::{KeptFile, failure, read_once, unlike};

/// Processes whose files stay open; those of further ones are opened each time.
const KEPT_OPEN: usize = 64;
/// How often a group is read again because one of its processes ended meanwhile.
const ATTEMPTS: u32 = 4;
/// Processes that may be read at each reading. With twice as many, every second reading does so, and so on: the cost of watching must
/// not grow with what is watched.
const READ_EACH_TIME: usize = 64;

const USE: Missing = Missing { name: "CPU time of processes", cost: "how much CPU the processes used is unknown" };
const AFFINITY: Missing = Missing { name: "CPU affinity", cost: "whether the processes may use all CPUs is unknown" };

/// Where the kernel keeps what a control group's freezer holds, in both versions.
const FROZEN: [&str; 2] = ["refrigerator", "do_freezer_trap"];

/// The processes of a group between readings.
#[derive(Debug)]
pub(super) struct Group {
    pids: Vec<u32>,
    roots: Vec<ProcessId>,
    /// What counts the CPU time of the roots and all below them.
    stats: BTreeMap<ProcessId, KeptFile>,
    last_use: Paced<ProcessUse>,
    run_queue: RunQueue,
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
            stats: BTreeMap::new(),
            last_use: Paced::default(),
            run_queue: RunQueue::default(),
        }
    }

    /// The roots, once they were found.
    pub(super) fn roots(&self) -> &[ProcessId] {
        &self.roots
    }

    /// Reads what the group used. The processes of the machine have been listed before.
    pub(super) fn read(&mut self, machine: &mut Machine) -> (Source<ProcessUse>, Source<u32>) {
        if let Err(reason) = self.find_roots(machine) {
            return (Err(USE.because(reason.clone())), Err(AFFINITY.because(reason)));
        }
        let clock = machine.clock.clone();
        let mut last = std::mem::take(&mut self.last_use);
        let processes = last.read(clock.as_ref(), READ_EACH_TIME, || self.sum(machine));
        self.last_use = last;
        let allowed_cpus = AFFINITY.unless(clock.as_ref(), || allowed_cpus(&self.pids));
        (processes.map_err(|reason| USE.because(reason)), allowed_cpus)
    }

    /// Whether one of the roots is stopped, by a signal or a debugger, or one of the others by a signal; `None` before the first reading, and
    /// where it can't be seen. A tracer that is attached to a session's process stops it for each system call, which is another thing.
    pub(super) fn is_stopped(&mut self, machine: &mut Machine) -> Option<bool> {
        let mut any = None;
        for root in self.roots.clone() {
            // A control group that is frozen shows no other state than a wait for a device or a signal.
            let place = machine.proc.join(root.pid.to_string()).join("wchan");
            let frozen = read_once(&place, &mut machine.buffer);
            if frozen.is_ok_and(|place| FROZEN.iter().any(|name| place.contains(name))) {
                return Some(true);
            }
            let stat = self.stats.get_mut(&root)?;
            let line = read_use(stat, root, machine).ok()?;
            any = Some(any.unwrap_or(false) || line.is_stopped);
        }
        if any == Some(false) {
            let others: Vec<ProcessId> = self.stats.keys().take(KEPT_OPEN).copied().collect();
            any = Some(others.into_iter().any(|process| {
                let stat = self.stats.get_mut(&process);
                let line = stat.and_then(|stat| read_use(stat, process, machine).ok());
                line.is_some_and(|line| line.is_stopped && !line.is_traced)
            }));
        }
        any
    }

    /// How many of its processes wait to write to a pipe at this moment, such as one to which the server logs: no engine names that wait.
    /// Of a process with threads the first is seen.
    pub(super) fn in_pipe(&self, machine: &mut Machine) -> u32 {
        let is_in_pipe = |process: &&ProcessId| {
            let path = machine.proc.join(process.pid.to_string()).join("wchan");
            read_once(&path, &mut machine.buffer).is_ok_and(|place| place.contains("pipe_w"))
        };
        self.stats.keys().take(KEPT_OPEN).filter(is_in_pipe).count() as u32
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

    /// Adds up what each process used. Gives how many there were, too.
    fn sum(&mut self, machine: &mut Machine) -> (Result<ProcessUse, String>, usize) {
        let mut count = 0;
        for _ in 0..ATTEMPTS {
            // An earlier attempt may have noticed it.
            if let Some(root) = self.ended_root(machine) {
                return (Err(ended(root)), count);
            }
            let found = machine.tree.below(&self.roots);
            let there: HashSet<&ProcessId> = found.iter().collect();
            self.stats.retain(|process, _| there.contains(process));
            count = found.len();
            // In the kernel's whole numbers: the sum must not depend on its order, as it would in fractions.
            let (mut ticks, mut complete) = (0_u64, true);
            for process in found.iter().copied() {
                let kept = self.stats.len() < KEPT_OPEN;
                let stat = self.stats.entry(process).or_insert_with(|| {
                    let path = machine.proc.join(process.pid.to_string()).join("stat");
                    if kept { KeptFile::new(path) } else { KeptFile::unkept(path) }
                });
                match read_use(stat, process, machine) {
                    Ok(line) => ticks = ticks.saturating_add(line.cpu_ticks),
                    Err(Failure::Unreadable(reason)) => return (Err(reason), count),
                    Err(Failure::Gone) => {
                        machine.tree.forget(process);
                        complete = false;
                    }
                }
            }
            if complete {
                let cpu_seconds = ticks as f64 / machine.ticks_per_second as f64;
                let waited_seconds = self.run_queue.read(&found, machine);
                return (Ok(ProcessUse { processes: count as u32, cpu_seconds, waited_seconds }), count);
            }
        }
        (Err("processes end faster than they can be read".to_owned()), count)
    }
}

fn read_use(stat: &mut KeptFile, process: ProcessId, machine: &mut Machine) -> Result<StatLine, Failure> {
    let text = stat.read_same(&mut machine.buffer).map_err(|error| failed(stat, &error))?;
    let line = parse_stat(&text).ok_or_else(|| Failure::Unreadable(unlike(stat.path())))?;
    if line.start_ticks != process.start_ticks {
        return Err(Failure::Gone);
    }
    Ok(line)
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
    if is_gone(error) { Failure::Gone } else { Failure::Unreadable(failure(file.path(), error)) }
}
