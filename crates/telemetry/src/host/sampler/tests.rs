//! Whole machines as folders: of version 1 and of version 2 of control groups, changing, and without anything.

use std::fs;
use std::path::Path;

use plimsoll_clock::RealClock;

use super::*;
use crate::deltas::{HostDelta, Scope};
use crate::host::IoKind;

struct Folder(tempfile::TempDir);

impl Folder {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        for (path, text) in files {
            folder.put(path, text);
        }
        folder
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn put(&self, path: &str, text: &str) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A process that has used so many ticks.
    fn process(&self, pid: u32, parent: u32, start: u64, ticks: u64) {
        let stat = format!("{pid} (server) S {parent} 1 1 0 -1 0 0 0 0 0 {ticks} 0 0 0 20 0 1 0 {start} 0 5\n");
        self.put(&format!("proc/{pid}/stat"), &stat);
    }

    fn sampler(&self) -> Sampler {
        Sampler::at(self.path(), Arc::new(RealClock::new()))
    }
}

const MACHINE: &[(&str, &str)] = &[
    ("proc/stat", "cpu 100 0 50 1000 0 0 0 0\ncpu0 100 0 50 1000 0 0 0 0\nctxt 5\n"),
    ("proc/diskstats", "8 0 sda 1 0 8 1 1 0 8 1 0 1 1\n"),
    ("proc/net/dev", "Inter-| x\n face | y\n eth0: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\n"),
    ("proc/pressure/io", "some avg10=0.00 total=7\nfull avg10=0.00 total=3\n"),
];

#[test]
fn version_2_has_the_limits_of_all_groups_above() {
    let folder = Folder::new(MACHINE);
    folder.process(10, 1, 100, 7);
    folder.put("proc/10/cgroup", "0::/system.slice/db.service\n");
    folder.put("proc/self/mountinfo", "30 1 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n");
    let group = |path: &str, files: &[(&str, &str)]| {
        for (file, text) in files {
            folder.put(&format!("sys/fs/cgroup{path}/{file}"), text);
        }
    };
    group("", &[("cpu.stat", "usage_usec 9000000\n")]);
    group("/system.slice", &[("cpu.max", "50000 100000\n"), ("cpu.stat", "usage_usec 3000000\nnr_periods 1\n")]);
    group("/system.slice", &[("io.max", "8:0 rbps=5 wbps=max\n")]);
    group("/system.slice/db.service", &[("cpu.max", "max 100000\n"), ("cpu.stat", "usage_usec 2000000\n")]);
    group("/system.slice/db.service", &[("io.max", "")]);
    let mut sampler = folder.sampler();
    sampler.watch("server", &[10]);
    let snapshot = sampler.read();
    let cgroup = &snapshot.groups[0].cgroup;
    let cpu = &cgroup.cpu.as_ref().unwrap().value;
    let paths: Vec<_> = cpu.iter().map(|group| (group.path.as_str(), group.limit_cpus)).collect();
    let expected = [("/system.slice/db.service", None), ("/system.slice", Some(0.5))];
    assert_eq!(paths, expected, "the root limits nothing and is not ours");
    let io: Vec<_> = cgroup.io.as_ref().unwrap().value.iter().flat_map(|group| &group.limits).collect();
    assert_eq!((io.len(), io[0].kind, io[0].value), (1, IoKind::ReadBytes, 5));
    assert!((snapshot.io_stall.unwrap().value - 3e-6).abs() < 1e-12);
    // The process is moved to a group that nothing limits.
    folder.put("proc/10/cgroup", "0::/free\n");
    group("/free", &[("cpu.stat", "usage_usec 1\n")]);
    let snapshot = sampler.read();
    let cgroup = &snapshot.groups[0].cgroup;
    let free = &cgroup.cpu.as_ref().unwrap().value[0];
    assert_eq!((free.path.as_str(), free.limit_cpus), ("/free", None));
}

#[test]
fn version_1_has_a_tree_for_each_controller() {
    let folder = Folder::new(MACHINE);
    folder.process(10, 1, 100, 7);
    folder.put("proc/10/cgroup", "5:blkio:/slow/disk\n2:cpu:/half\n0::/\n");
    let mounts = ["cpu", "blkio"]
        .map(|name| format!("30 1 0:27 / /sys/fs/cgroup/{name} rw - cgroup cgroup rw,{name}\n"))
        .concat();
    folder.put("proc/self/mountinfo", &mounts);
    for (file, text) in [
        ("cpu/half/cpu.cfs_quota_us", "50000\n"),
        ("cpu/half/cpu.cfs_period_us", "100000\n"),
        ("cpu/half/cpu.stat", "nr_periods 4\nnr_throttled 3\nthrottled_time 2000000000\n"),
        ("blkio/slow/blkio.throttle.read_bps_device", "8:0 7\n"),
        ("blkio/slow/disk/blkio.throttle.read_bps_device", ""),
    ] {
        folder.put(&format!("sys/fs/cgroup/{file}"), text);
    }
    let mut sampler = folder.sampler();
    sampler.watch("server", &[10]);
    let snapshot = sampler.read();
    let cgroup = &snapshot.groups[0].cgroup;
    let cpu = &cgroup.cpu.as_ref().unwrap().value[0];
    assert_eq!((cpu.limit_cpus, cpu.periods, cpu.throttled_periods), (Some(0.5), Some(4), Some(3)));
    // What limits the group above doesn't reach down here.
    let io = &cgroup.io.as_ref().unwrap().value;
    assert_eq!((io.len(), io[0].limits.len()), (1, 0));
}

#[test]
fn a_group_is_the_roots_and_all_below_them() {
    let folder = Folder::new(MACHINE);
    folder.process(1, 0, 1, 1000);
    folder.process(10, 1, 100, 7);
    folder.process(11, 10, 110, 5);
    folder.process(12, 1, 120, 500);
    let mut sampler = folder.sampler();
    sampler.watch("server", &[10]);
    sampler.watch("client", &[4]);
    let per_second = sampler.machine.ticks_per_second as f64;
    let first = sampler.read();
    let ticks = |snapshot: &Snapshot| {
        let used = snapshot.groups[0].processes.as_ref().unwrap().value;
        (used.cpu_seconds * per_second).round()
    };
    let server = &first.groups[0];
    let used = server.processes.as_ref().unwrap().value;
    assert_eq!((used.processes, ticks(&first)), (2, 12.0));
    let reason = first.groups[1].processes.as_ref().unwrap_err().warning().unwrap();
    assert!(reason.ends_with("how much CPU the processes used is unknown (there is no process 4)"), "{reason}");
    // One ends, and its parent has its counters.
    fs::remove_dir_all(folder.path().join("proc/11")).unwrap();
    folder.process(10, 1, 100, 14);
    let second = sampler.read();
    assert!((ticks(&second) - 14.0).abs() < 1e-9);
    // The server is restarted under its old number.
    folder.process(10, 1, 900, 3);
    let third = sampler.read();
    assert!(third.groups[0].processes.as_ref().unwrap_err().remedy.as_ref().unwrap().contains("process 10 has ended"));
    assert_eq!(HostDelta::between(&second, &third).groups[0].used_cpus, None);
    sampler.watch("server", &[10]);
    let fourth = sampler.read();
    assert!((ticks(&fourth) - 3.0).abs() < 1e-9);
    assert_eq!(HostDelta::between(&second, &fourth).groups[0].used_cpus, None);
}

#[test]
fn threads_of_the_kernel_are_counted_after_their_end() {
    let folder = Folder::new(MACHINE);
    let thread = |pid: u32, ticks: u64| {
        let stat = format!("{pid} (kworker/0:1) I 2 0 0 0 -1 69238880 0 0 0 0 0 {ticks} 0 0 20 0 1 0 {pid} 0 0\n");
        folder.put(&format!("proc/{pid}/stat"), &stat);
    };
    folder.process(10, 1, 100, 1000);
    let mut sampler = folder.sampler();
    let per_second = sampler.machine.ticks_per_second as f64;
    let mut ticks = || sampler.read().kernel.map(|sampled| (sampled.value * per_second).round() as u64);
    let reason = ticks().unwrap_err().warning().unwrap();
    assert!(reason.ends_with("(none is shown, as in a container)"), "{reason}");
    thread(20, 7);
    thread(21, 5);
    assert_eq!(ticks(), Ok(12));
    thread(20, 9);
    assert_eq!(ticks(), Ok(14));
    fs::remove_dir_all(folder.path().join("proc/21")).unwrap();
    thread(22, 1);
    assert_eq!(ticks(), Ok(15), "what has ended stays, and what is new is added");
    thread(20, 10);
    thread(22, 2);
    assert_eq!(ticks(), Ok(17));
}

#[test]
fn what_may_not_be_read_is_absent_and_the_rest_is_there() {
    let folder = Folder::new(MACHINE);
    folder.process(10, 1, 100, 7);
    // As odd as a file can be, and the same for all users.
    folder.put("proc/pressure/io", "");
    let mut sampler = folder.sampler();
    sampler.watch("server", &[10]);
    let snapshot = sampler.read();
    assert!(snapshot.groups[0].processes.is_ok());
    let missing: Vec<_> = snapshot.missing().iter().map(|missing| missing.name).collect();
    assert!(missing.contains(&"pressure stalls of this machine"), "{missing:?}");
    assert!(!missing.contains(&"CPU time of this machine"));
}

#[test]
fn a_machine_without_anything_says_what_is_lost() {
    let folder = Folder::new(&[]);
    let mut sampler = folder.sampler();
    sampler.watch("server", &[10]);
    sampler.watch("nobody", &[]);
    let snapshot = sampler.read();
    let missing = snapshot.missing();
    assert_eq!(missing.iter().filter(|missing| missing.name == "CPU time of this machine").count(), 1);
    for missing in &missing {
        let warning = missing.warning().unwrap();
        assert!(warning.contains("unknown") && warning.contains('('), "{warning}");
    }
    assert!(snapshot.groups[0].processes.as_ref().unwrap_err().remedy.as_ref().unwrap().ends_with("proc is not there"));
    let delta = HostDelta::between(&snapshot, &sampler.read());
    assert_eq!((delta.cpu, delta.disks.len(), delta.cpus), (None, 0, None));
}

#[test]
fn a_list_that_is_not_understood_is_no_empty_list() {
    let folder = Folder::new(MACHINE);
    let mut sampler = folder.sampler();
    folder.put("proc/diskstats", "");
    assert_eq!(sampler.read().disks.unwrap().value, []);
    folder.put("proc/diskstats", "no disks here\n");
    let reason = sampler.read().disks.unwrap_err().remedy.unwrap();
    assert!(reason.ends_with("is unlike what Linux documents"), "{reason}");
}

#[test]
fn very_many_processes_are_read_less_often_and_say_when() {
    let folder = Folder::new(MACHINE);
    folder.process(1, 0, 1, 10);
    for pid in 2..=100 {
        folder.process(pid, 1, u64::from(pid), 10);
    }
    let mut sampler = folder.sampler();
    sampler.watch("server", &[1]);
    let windows: Vec<_> = (0..4).map(|_| sampler.read().groups[0].processes.clone().unwrap().window).collect();
    assert!(windows[0] == windows[1] && windows[1] != windows[2] && windows[2] == windows[3], "{windows:?}");
    let reading = sampler.read();
    let used = reading.groups[0].processes.as_ref().unwrap().value;
    assert_eq!(used.processes, 100);
    let limits = &HostDelta::between(&reading, &reading).groups[0].limits;
    assert!(limits.iter().all(|limit| limit.scope == Scope::Affinity));
}
