//! Which processes belong to another, from `/proc` alone.
//!
//! A process is asked for its parent once, when it is first seen. A change of parents happens only when one ends, so
//! processes with an ended parent are asked again.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::Path;

use super::process::{ProcessId, parse_stat};
use super::text::{Buffer, read_once};

/// Deepest line from a process to one far below it; a circle can't be, but the kernel isn't asked in one moment.
const DEEPEST: u32 = 64;
/// Processes that may be listed at each reading. With more, every second or third reading lists them: new ones are found later then,
/// and lose nothing, as their counters are cumulative.
const LISTED_EACH_TIME: usize = 1024;

/// The processes of the machine with their parents.
#[derive(Debug, Default)]
pub(super) struct Tree {
    known: HashMap<u32, Known>,
    listings: u64,
    /// How many had been started when they were last listed.
    started: Option<u64>,
    rest: usize,
}

#[derive(Debug)]
struct Known {
    parent: u32,
    start_ticks: u64,
    is_kernel: bool,
    listing: u64,
}

impl Tree {
    /// Looks for new processes, unless none was started, or there are so many that it should not do so every time. `started` was
    /// read before, so one that is started meanwhile is found the next time.
    pub(super) fn refresh(&mut self, proc: &Path, started: Option<u64>, buffer: &mut Buffer) -> io::Result<()> {
        if started.is_some() && started == self.started {
            return Ok(());
        }
        if let Some(rest) = self.rest.checked_sub(1) {
            self.rest = rest;
            return Ok(());
        }
        self.list(proc, buffer)?;
        self.started = started;
        self.rest = self.known.len() / LISTED_EACH_TIME;
        Ok(())
    }

    fn list(&mut self, proc: &Path, buffer: &mut Buffer) -> io::Result<()> {
        self.listings += 1;
        let listing = self.listings;
        for entry in fs::read_dir(proc)?.flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
            match self.known.get_mut(&pid) {
                Some(known) => known.listing = listing,
                None => self.ask(pid, proc, buffer),
            }
        }
        let known = &mut self.known;
        let before = known.len();
        known.retain(|_, process| process.listing == listing);
        if known.len() < before {
            let orphans =
                known.iter().filter(|(_, process)| process.parent != 0 && !known.contains_key(&process.parent));
            for pid in orphans.map(|(pid, _)| *pid).collect::<Vec<_>>() {
                self.known.remove(&pid);
                self.ask(pid, proc, buffer);
            }
        }
        Ok(())
    }

    fn ask(&mut self, pid: u32, proc: &Path, buffer: &mut Buffer) {
        // One that is gone already belongs to nobody.
        let Ok(text) = read_once(&proc.join(pid.to_string()).join("stat"), buffer) else { return };
        let Some(line) = parse_stat(&text) else { return };
        let (parent, start_ticks, is_kernel) = (line.parent, line.start_ticks, line.is_kernel);
        self.known.insert(pid, Known { parent, start_ticks, is_kernel, listing: self.listings });
    }

    /// Forgets a process that has turned out to be gone.
    pub(super) fn forget(&mut self, process: ProcessId) {
        self.known.retain(|pid, known| (*pid, known.start_ticks) != (process.pid, process.start_ticks));
    }

    pub(super) fn get(&self, pid: u32) -> Option<ProcessId> {
        Some(ProcessId { pid, start_ticks: self.known.get(&pid)?.start_ticks })
    }

    /// The kernel's own threads, as far as they are shown: a container doesn't see them.
    pub(super) fn of_kernel(&self) -> Vec<ProcessId> {
        let threads = self.known.iter().filter(|(_, known)| known.is_kernel);
        threads.map(|(pid, known)| ProcessId { pid: *pid, start_ticks: known.start_ticks }).collect()
    }

    /// The roots and all processes below them, parents first.
    pub(super) fn below(&self, roots: &[ProcessId]) -> Vec<ProcessId> {
        let mut found: Vec<(u32, ProcessId)> = Vec::new();
        for pid in self.known.keys() {
            let steps = self.steps_to(*pid, roots);
            found.extend(steps.and_then(|steps| Some((steps, self.get(*pid)?))));
        }
        found.sort_unstable();
        found.into_iter().map(|(_, process)| process).collect()
    }

    /// How far a process is below the uppermost of the roots that it belongs to.
    fn steps_to(&self, pid: u32, roots: &[ProcessId]) -> Option<u32> {
        let (mut at, mut steps) = (pid, None);
        for step in 0..DEEPEST {
            let known = self.known.get(&at)?;
            if roots.contains(&ProcessId { pid: at, start_ticks: known.start_ticks }) {
                steps = Some(step);
            }
            if !self.known.contains_key(&known.parent) {
                return steps;
            }
            at = known.parent;
        }
        steps
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    fn put(proc: &Path, pid: u32, parent: u32, start: u64) {
        fs::create_dir_all(proc.join(pid.to_string())).unwrap();
        let text = format!("{pid} (x) S {parent} 1 1 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 {start} 0 5");
        fs::write(proc.join(pid.to_string()).join("stat"), text).unwrap();
    }

    fn pids(tree: &Tree, roots: &[u32]) -> Vec<u32> {
        let roots: Vec<ProcessId> = roots.iter().filter_map(|root| tree.get(*root)).collect();
        tree.below(&roots).into_iter().map(|process| process.pid).collect()
    }

    #[test]
    fn those_below_are_found_and_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let (proc, mut buffer, mut tree) = (folder.path(), Buffer::default(), Tree::default());
        fs::write(proc.join("stat"), "cpu 1 2 3 4").unwrap();
        for (pid, parent) in [(1, 0), (10, 1), (11, 10), (5, 11), (20, 1)] {
            put(proc, pid, parent, u64::from(pid));
        }
        tree.refresh(proc, None, &mut buffer).unwrap();
        assert_eq!(pids(&tree, &[10]), [10, 11, 5]);
        assert_eq!(pids(&tree, &[11, 10, 20]), [10, 20, 11, 5], "a root below a root is counted once, below it");
        assert_eq!(pids(&tree, &[99]), [] as [u32; 0]);
        // Its parent ends: process 1 adopts it, and it belongs to nobody of ours.
        fs::remove_dir_all(proc.join("11")).unwrap();
        put(proc, 5, 1, 5);
        put(proc, 12, 10, 12);
        tree.refresh(proc, None, &mut buffer).unwrap();
        assert_eq!(pids(&tree, &[10]), [10, 12]);
        tree.forget(ProcessId { pid: 12, start_ticks: 11 });
        assert_eq!(pids(&tree, &[10]), [10, 12], "another process had that number");
        tree.forget(ProcessId { pid: 12, start_ticks: 12 });
        assert_eq!(pids(&tree, &[10]), [10]);
    }

    #[test]
    fn many_processes_are_listed_less_often() {
        let folder = tempfile::tempdir().unwrap();
        let (proc, mut buffer, mut tree) = (folder.path(), Buffer::default(), Tree::default());
        put(proc, 1, 0, 1);
        tree.refresh(proc, None, &mut buffer).unwrap();
        assert_eq!(tree.rest, 0);
        tree.rest = 1;
        put(proc, 2, 1, 2);
        tree.refresh(proc, None, &mut buffer).unwrap();
        assert_eq!(pids(&tree, &[1]), [1]);
        tree.refresh(proc, None, &mut buffer).unwrap();
        assert_eq!(pids(&tree, &[1]), [1, 2]);
    }

    #[test]
    fn processes_are_listed_when_some_were_started() {
        let folder = tempfile::tempdir().unwrap();
        let (proc, mut buffer, mut tree) = (folder.path(), Buffer::default(), Tree::default());
        put(proc, 1, 0, 1);
        tree.refresh(proc, Some(7), &mut buffer).unwrap();
        put(proc, 2, 1, 2);
        tree.refresh(proc, Some(7), &mut buffer).unwrap();
        assert_eq!(pids(&tree, &[1]), [1]);
        tree.refresh(proc, Some(8), &mut buffer).unwrap();
        assert_eq!(pids(&tree, &[1]), [1, 2]);
        put(proc, 3, 1, 3);
        tree.refresh(proc, None, &mut buffer).unwrap();
        assert_eq!(pids(&tree, &[1]), [1, 2, 3]);
    }

    #[test]
    fn a_circle_ends() {
        let folder = tempfile::tempdir().unwrap();
        put(folder.path(), 1, 2, 1);
        put(folder.path(), 2, 1, 2);
        let mut tree = Tree::default();
        tree.refresh(folder.path(), None, &mut Buffer::default()).unwrap();
        assert_eq!(pids(&tree, &[1]).len(), 2);
    }
}
