//! The machine that the tests run on: what a process does must show in its counters.

#![cfg(target_os = "linux")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Arc;
use std::time::Duration;

use plimsoll_clock::{Clock, RealClock};
use plimsoll_telemetry::deltas::{HostDelta, Scope};
use plimsoll_telemetry::host::{GroupSnapshot, Sampler, Snapshot};

/// So often is looked for what must happen; a minute in all, which only a test that fails takes.
const LOOKS: u32 = 1200;
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// A shell that does nothing but compute; ended when dropped.
struct Burner(Child);

impl Burner {
    fn start(script: &str) -> Self {
        Self(Command::new("sh").args(["-c", script]).spawn().expect("a shell"))
    }
}

impl Drop for Burner {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Reads until a snapshot is as it should be.
fn until(sampler: &mut Sampler, what: &str, holds: impl Fn(&Snapshot) -> bool) -> Snapshot {
    let clock = RealClock::new();
    let mut last = sampler.read();
    for _ in 0..LOOKS {
        if holds(&last) {
            return last;
        }
        clock.sleep(BETWEEN_LOOKS);
        last = sampler.read();
    }
    panic!("{what} never came: {last:?}");
}

fn sampler() -> Sampler {
    Sampler::new(Arc::new(RealClock::new()))
}

fn cpu_seconds(group: &GroupSnapshot) -> f64 {
    group.processes.as_ref().map_or(0.0, |sampled| sampled.value.cpu_seconds)
}

#[test]
fn the_machine_has_its_counters() {
    let mut sampler = sampler();
    let before = sampler.read();
    let cpu = before.cpu.as_ref().unwrap().value;
    assert!(cpu.cpus.unwrap() >= 1 && cpu.user_seconds > 0.0);
    assert!(before.cpu.as_ref().unwrap().window.end <= before.disks.as_ref().unwrap().window.start);
    // By then CPUs have worked for some ticks, for the readings at least.
    let moved = |snapshot: &Snapshot| {
        let now = snapshot.cpu.as_ref().unwrap().value;
        now.user_seconds + now.system_seconds > cpu.user_seconds + cpu.system_seconds + 0.02
    };
    let after = until(&mut sampler, "time of CPUs", moved);
    let delta = HostDelta::between(&before, &after);
    let percent = delta.cpu.unwrap().busy_percent.unwrap();
    assert!((0.0..=100.0).contains(&percent), "{percent}");
    assert_eq!(delta.cpus, cpu.cpus);
}

#[test]
fn a_child_that_computes_is_seen_and_so_is_its_end() {
    let mut sampler = sampler();
    // The shell that computes is below the one that is watched, and ends soon after it.
    let burner = Burner::start("sh -c 'while kill -0 $PPID 2>/dev/null; do :; done'; :");
    sampler.watch("server", &[burner.0.id()]);
    let before = until(&mut sampler, "CPU time", |snapshot| cpu_seconds(&snapshot.groups[0]) >= 0.05);
    let after = until(&mut sampler, "more of it", |now| cpu_seconds(&now.groups[0]) > cpu_seconds(&before.groups[0]));
    let server = &HostDelta::between(&before, &after).groups[0];
    assert!(server.used_cpus.unwrap() > 0.0);
    assert!(server.limits.iter().any(|limit| limit.scope == Scope::Affinity));
    drop(burner);
    let ended = until(&mut sampler, "its end", |snapshot| snapshot.groups[0].processes.is_err());
    let reason = ended.groups[0].processes.as_ref().unwrap_err().warning().unwrap();
    assert!(reason.contains("has ended") && reason.contains("how much CPU"), "{reason}");
    assert_eq!(HostDelta::between(&after, &ended).groups[0].used_cpus, None);
}

/// A control group that is removed at the end.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let clock = RealClock::new();
        // The kernel may still be busy with the end of what was in it.
        for _ in 0..LOOKS {
            if fs::remove_dir(&self.0).is_ok() || !self.0.exists() {
                return;
            }
            clock.sleep(BETWEEN_LOOKS);
        }
    }
}

/// A new group that may use a fifth of a CPU, where we may make one.
fn slow_group() -> Option<Folder> {
    let name = format!("plimsoll-test-{}", std::process::id());
    let one = Path::new("/sys/fs/cgroup/cpu");
    let two = Path::new("/sys/fs/cgroup");
    for (root, files) in [
        (one, &[("cpu.cfs_period_us", "100000"), ("cpu.cfs_quota_us", "20000")][..]),
        (two, &[("cpu.max", "20000 100000")][..]),
    ] {
        let folder = root.join(&name);
        if fs::create_dir(&folder).is_err() {
            continue;
        }
        let folder = Folder(folder);
        // Else it is a plain folder, not one of control groups.
        let set = folder.0.join("cgroup.procs").exists()
            && files.iter().all(|(file, text)| fs::write(folder.0.join(file), text).is_ok());
        if set {
            return Some(folder);
        }
    }
    None
}

#[test]
fn a_quota_is_found_and_its_throttling_seen() {
    let Some(group) = slow_group() else {
        skipped("we may not make a control group with a CPU quota here");
        return;
    };
    // Started after the group was made, so that it is ended before the group is removed.
    let burner = Burner::start("while :; do :; done");
    if fs::write(group.0.join("cgroup.procs"), burner.0.id().to_string()).is_err() {
        skipped("we may not put a process into a control group here");
        return;
    }
    let mut sampler = sampler();
    sampler.watch("server", &[burner.0.id()]);
    let before = sampler.read();
    let groups = &before.groups[0].cgroup.cpu.as_ref().unwrap().value;
    let limited = groups.iter().find(|found| group.0.ends_with(found.path.trim_start_matches('/'))).unwrap();
    assert!(limited.limit_cpus.unwrap() <= 0.2 + 1e-9);
    let held = |snapshot: &Snapshot| {
        let delta = HostDelta::between(&before, snapshot);
        delta.groups[0].throttled_percent.iter().flatten().any(|percent| *percent > 0.0)
    };
    until(&mut sampler, "throttling", held);
}

#[expect(clippy::print_stderr, reason = "a test that can't be done here must say so")]
fn skipped(reason: &str) {
    eprintln!("skipped: {reason}");
}
