//! How long threads of processes were ready to run and had no CPU: the second number of `/proc/PID/task/TID/schedstat`, in nanoseconds
//! (the kernel's `Documentation/scheduler/sched-stats.rst`). It grows while other threads run where this one may, and while a quota
//! of its control group is used up. What other programs use of the CPUs costs a server that much, and no more.

use std::collections::HashMap;
use std::fs;
use std::time::Duration;

use super::machine::Machine;
use super::process::ProcessId;
use super::text::{Buffer, KeptFile, read_once};

/// Threads that are read. Of more the time is not known, as reading them would cost what is measured.
const MOST_THREADS: usize = 1024;

/// The threads of a group of processes between readings.
#[derive(Debug, Default)]
pub(super) struct RunQueue {
    /// What each thread had waited at the last reading.
    last: Option<HashMap<(ProcessId, u32), u64>>,
    waited_ns: u64,
}

impl RunQueue {
    /// Seconds that threads waited since the first reading, all together. A thread that is new has waited since it was made; what one
    /// waited between the last reading and its end is lost. `None` where the kernel doesn't count it.
    pub(super) fn read(&mut self, processes: &[ProcessId], machine: &mut Machine) -> Option<f64> {
        let mut now = HashMap::new();
        for process in processes {
            let tasks = machine.proc.join(process.pid.to_string()).join("task");
            // A process that has ended meanwhile has no threads.
            for entry in fs::read_dir(&tasks).into_iter().flatten().flatten() {
                let Some(thread) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
                let Ok(text) = read_once(&entry.path().join("schedstat"), &mut machine.buffer) else { continue };
                now.insert((*process, thread), waited_ns(&text)?);
                if now.len() > MOST_THREADS {
                    return None;
                }
            }
        }
        if now.is_empty() {
            return None;
        }
        if let Some(last) = &self.last {
            let grown =
                now.iter().map(|(thread, waited)| waited.saturating_sub(last.get(thread).copied().unwrap_or(0)));
            self.waited_ns = grown.fold(self.waited_ns, u64::saturating_add);
        }
        self.last = Some(now);
        Some(self.waited_ns as f64 / 1e9)
    }
}

/// What the thread that makes it has waited for a CPU.
#[derive(Debug)]
pub(crate) struct OwnQueue {
    file: KeptFile,
    buffer: Buffer,
}

impl OwnQueue {
    /// Of this thread, also if another one reads it.
    pub(crate) fn of_this_thread() -> Self {
        let mut own = Self { file: KeptFile::new("/proc/thread-self/schedstat".into()), buffer: Buffer::default() };
        own.waited();
        own
    }

    /// What it has waited since it began; `None` where the kernel doesn't count it.
    pub(crate) fn waited(&mut self) -> Option<Duration> {
        self.file.read(&mut self.buffer).ok().and_then(|text| waited_ns(&text)).map(Duration::from_nanos)
    }
}

/// The line has the time on a CPU, the time of waiting for one, and how often it was put there.
fn waited_ns(text: &str) -> Option<u64> {
    let numbers: Option<Vec<u64>> = text.split_ascii_whitespace().map(|number| number.parse().ok()).collect();
    numbers.filter(|numbers| numbers.len() == 3).map(|numbers| numbers[1])
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use plimsoll_clock::VirtualClock;

    use super::*;

    fn put(root: &Path, pid: u32, thread: u32, text: &str) {
        let task = root.join("proc").join(pid.to_string()).join("task").join(thread.to_string());
        fs::create_dir_all(&task).unwrap();
        fs::write(task.join("schedstat"), text).unwrap();
    }

    #[test]
    fn threads_come_and_go_and_the_sum_never_falls() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let mut machine = Machine::at(root, Arc::new(VirtualClock::new()));
        let processes = [1, 2].map(|pid| ProcessId { pid, start_ticks: 7 });
        let mut queue = RunQueue::default();
        assert_eq!(queue.read(&processes, &mut machine), None, "nobody counts");
        put(root, 1, 1, "5 1000000000 3\n");
        put(root, 2, 2, "5 4000000000 3\n");
        assert_eq!(queue.read(&processes, &mut machine), Some(0.0), "what was before is not counted");
        put(root, 1, 1, "5 1500000000 3\n");
        put(root, 1, 9, "5 250000000 3\n");
        fs::remove_dir_all(root.join("proc/2")).unwrap();
        assert_eq!(queue.read(&processes, &mut machine), Some(0.75));
        put(root, 1, 9, "5 x 3\n");
        assert_eq!(queue.read(&processes, &mut machine), None, "no such line is documented");
    }

    #[test]
    fn this_kernel_counts_it() {
        let mut machine = Machine::at(Path::new("/"), Arc::new(VirtualClock::new()));
        let own = ProcessId { pid: std::process::id(), start_ticks: 0 };
        assert!(RunQueue::default().read(&[own], &mut machine).is_some());
        let mut queue = OwnQueue::of_this_thread();
        let first = queue.waited().unwrap();
        assert!(queue.waited().unwrap() >= first);
    }
}
