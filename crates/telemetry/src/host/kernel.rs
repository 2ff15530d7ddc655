//! What the kernel's own threads use: those that write to disks, read for a loop device, or move pages. Without them what the kernel
//! does for the server could not be told from other processes.

use std::collections::{BTreeMap, HashSet};

use super::Source;
use super::machine::{Machine, Missing};
use super::paced::Paced;
use super::process::{ProcessId, parse_stat};
use super::text::KeptFile;

/// Threads that may be read at each reading, with files that stay open; a machine of many CPUs has a thousand, most of
/// them idle.
const READ_EACH_TIME: usize = 64;

const KERNEL: Missing =
    Missing { name: "CPU time of the kernel's threads", cost: "whether they or other processes used CPU is unknown" };

#[derive(Debug, Default)]
pub(super) struct KernelThreads {
    threads: BTreeMap<ProcessId, Thread>,
    /// Of threads that have ended: workers come and go.
    ended_ticks: u64,
    last: Paced<f64>,
}

#[derive(Debug)]
struct Thread {
    stat: KeptFile,
    /// As it was last read.
    ticks: u64,
}

impl KernelThreads {
    /// Seconds of CPU that they have used, those of before the first reading only of threads that were there then. The processes of the
    /// machine have been listed before.
    pub(super) fn read(&mut self, machine: &mut Machine) -> Source<f64> {
        if let Some(reason) = &machine.unlisted {
            return Err(KERNEL.because(reason.clone()));
        }
        let clock = machine.clock.clone();
        let mut last = std::mem::take(&mut self.last);
        let read = last.read(clock.as_ref(), READ_EACH_TIME, || self.sum(machine));
        self.last = last;
        read.map_err(|reason| KERNEL.because(reason))
    }

    fn sum(&mut self, machine: &mut Machine) -> (Result<f64, String>, usize) {
        let listed = machine.tree.of_kernel();
        let count = listed.len();
        if count == 0 {
            return (Err("none is shown, as in a container".to_owned()), count);
        }
        for process in &listed {
            if !self.threads.contains_key(process) {
                let path = machine.proc.join(process.pid.to_string()).join("stat");
                let kept = self.threads.len() < READ_EACH_TIME;
                let stat = if kept { KeptFile::new(path) } else { KeptFile::unkept(path) };
                self.threads.insert(*process, Thread { stat, ticks: 0 });
            }
        }
        let listed: HashSet<ProcessId> = listed.into_iter().collect();
        let Self { threads, ended_ticks, .. } = self;
        threads.retain(|process, thread| {
            let goes_on = listed.contains(process) && thread.read(*process, machine);
            if !goes_on {
                *ended_ticks += thread.ticks;
                machine.tree.forget(*process);
            }
            goes_on
        });
        let ticks = threads.values().fold(*ended_ticks, |sum, thread| sum.saturating_add(thread.ticks));
        (Ok(ticks as f64 / machine.ticks_per_second as f64), count)
    }
}

impl Thread {
    /// Whether it is still there.
    fn read(&mut self, process: ProcessId, machine: &mut Machine) -> bool {
        let Ok(text) = self.stat.read_same(&mut machine.buffer) else { return false };
        let Some(line) = parse_stat(&text).filter(|line| line.start_ticks == process.start_ticks) else { return false };
        self.ticks = line.cpu_ticks;
        true
    }
}
