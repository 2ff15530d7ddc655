//! Constructed snapshots: rates, gaps and limits.

use std::time::Duration;

use plimsoll_engine::Capability;
use plimsoll_measurement::{Moment, Window};
use proptest::prelude::*;

use super::*;
use crate::host::{
    Cgroup, CpuGroup, CpuTimes, DeviceNumber, DiskCounters, GroupSnapshot, InterfaceCounters, IoGroup, IoKind, IoLimit,
    ProcessId, ProcessUse, Sampled, Source,
};

const SDA: DeviceNumber = DeviceNumber { major: 8, minor: 0 };

#[expect(clippy::unnecessary_wraps, reason = "every source in a snapshot is a Result")]
fn at<T>(second: u64, value: T) -> Source<T> {
    let start = Moment::default().after(Duration::from_secs(second));
    Ok(Sampled { value, window: Window { start, end: start.after(Duration::from_millis(2)) } })
}

fn missing<T>() -> Source<T> {
    Err(Capability { name: "it", works: false, cost: "all is lost", remedy: None, gives: &[] })
}

fn cpu_times(user_seconds: f64) -> CpuTimes {
    CpuTimes {
        user_seconds,
        system_seconds: user_seconds / 2.0,
        interrupt_seconds: user_seconds / 20.0,
        steal_seconds: Some(user_seconds / 10.0),
        cpus: Some(4),
        started: None,
    }
}

fn disk(name: &str, count: u64) -> DiskCounters {
    let seconds = Some(count as f64 / 1e3);
    DiskCounters {
        name: name.to_owned(),
        device: SDA,
        reads: count,
        read_bytes: count * 8192,
        read_seconds: seconds.map(|seconds| seconds * 2.0),
        writes: 5,
        write_bytes: 40_960,
        write_seconds: Some(1.0),
        busy_seconds: seconds,
        weighted_seconds: seconds.map(|seconds| seconds * 3.0),
    }
}

fn interface(name: &str, bytes: u64) -> InterfaceCounters {
    InterfaceCounters { name: name.to_owned(), loopback: name == "lo", received_bytes: bytes, sent_bytes: bytes * 2 }
}

/// A server that has used so many seconds in a control group with half a CPU, below one with two.
fn group(second: u64, pid: u32, used: f64) -> GroupSnapshot {
    let counted = (used * 10.0) as u64;
    let quota = |path: &str, cpus: f64| CpuGroup {
        path: path.to_owned(),
        limit_cpus: Some(cpus),
        periods: Some(counted),
        throttled_periods: Some(counted / 2),
    };
    let io = IoGroup {
        path: "/db".to_owned(),
        limits: vec![
            IoLimit { device: SDA, kind: IoKind::Writes, value: 100 },
            IoLimit { device: DeviceNumber { major: 9, minor: 9 }, kind: IoKind::Reads, value: 7 },
        ],
        done: vec![
            IoLimit { device: SDA, kind: IoKind::Writes, value: (used * 40.0) as u64 },
            IoLimit { device: SDA, kind: IoKind::Reads, value: (used * 400.0) as u64 },
        ],
    };
    GroupSnapshot {
        name: "server".to_owned(),
        roots: vec![ProcessId { pid, start_ticks: 7 }],
        processes: at(second, ProcessUse { processes: 3, cpu_seconds: 2.0 * used, waited_seconds: None }),
        allowed_cpus: at(second, 2),
        cgroup: Cgroup {
            cpu: at(second, vec![quota("/db", 0.5), quota("/", 2.0)]),
            io: at(second, vec![io]),
            memory: missing(),
        },
    }
}

fn snapshot(second: u64) -> Snapshot {
    Snapshot {
        cpu: at(second, cpu_times(second as f64 * 2.0)),
        kernel: at(second, second as f64 / 8.0),
        placed: Vec::new(),
        disks: at(second, vec![disk("sda", second * 500)]),
        network: at(second, vec![interface("lo", second), interface("eth0", second * 1000)]),
        io_stall: at(second, second as f64 / 4.0),
        groups: vec![group(second, 1, second as f64 / 4.0)],
    }
}

fn near(a: Option<f64>, b: f64) {
    assert!(a.is_some_and(|a| (a - b).abs() < 1e-6), "{a:?} is not {b}");
}

#[test]
fn rates_are_over_the_time_between() {
    let delta = HostDelta::between(&snapshot(10), &snapshot(14));
    let cpu = delta.cpu.unwrap();
    near(cpu.user_cpus, 2.0);
    near(cpu.system_cpus, 1.0);
    near(cpu.interrupt_cpus, 0.1);
    near(delta.kernel_cpus, 0.125);
    near(cpu.busy_percent, 75.0);
    near(cpu.steal_cpus, 0.2);
    let sda = &delta.disks[0];
    near(sda.read_iops, 500.0);
    near(sda.read_bytes_per_second, 4_096_000.0);
    near(sda.utilisation_percent, 50.0);
    near(sda.mean_queue, 1.5);
    near(sda.read_await_ms, 2.0);
    near(sda.write_iops, 0.0);
    assert_eq!(sda.write_await_ms, None, "nothing was written, so it took no time");
    let eth = &delta.interfaces[1];
    near(eth.received_bytes_per_second, 1000.0);
    near(eth.sent_bytes_per_second, 2000.0);
    near(delta.io_stall_percent, 25.0);
}

#[test]
fn a_group_does_at_a_device_what_its_limit_counts() {
    let delta = HostDelta::between(&snapshot(10), &snapshot(14));
    let done: Vec<_> = delta.groups[0].done.iter().map(|done| (done.limited, done.value)).collect();
    // The device did more, and what is not limited is not told.
    assert_eq!(done, [(Limited::Io(IoKind::Writes), 10.0)]);
}

#[test]
fn limits_are_those_of_the_later_reading() {
    let delta = HostDelta::between(&snapshot(10), &snapshot(14));
    assert_eq!(delta.cpus, Some(4));
    let server = &delta.groups[0];
    near(server.used_cpus, 0.5);
    let found: Vec<_> = server.limits.iter().map(|limit| (&limit.scope, limit.value)).collect();
    let cgroup = |path: &str| Scope::Cgroup(path.to_owned());
    let expected = [
        (&Scope::Affinity, 2.0),
        (&cgroup("/db"), 0.5),
        // What is further up is shared.
        (&cgroup("/"), 2.0),
        (&Scope::CgroupDevice("/db".to_owned(), SDA), 100.0),
        (&Scope::CgroupDevice("/db".to_owned(), DeviceNumber { major: 9, minor: 9 }), 7.0),
    ];
    assert_eq!(found, expected);
    near(server.throttled_percent[0], 50.0);
}

#[test]
fn a_missing_side_is_a_gap() {
    for sides in 0..3 {
        let (mut before, mut after) = (snapshot(10), snapshot(14));
        let lose = |snapshot: &mut Snapshot| {
            snapshot.cpu = missing();
            snapshot.disks = missing();
            snapshot.network = missing();
            snapshot.io_stall = missing();
            snapshot.groups[0].processes = missing();
            snapshot.groups[0].cgroup.cpu = missing();
            snapshot.groups[0].allowed_cpus = missing();
        };
        if sides != 0 {
            lose(&mut before);
        }
        if sides != 1 {
            lose(&mut after);
        }
        let delta = HostDelta::between(&before, &after);
        assert_eq!((delta.cpu, delta.io_stall_percent, delta.groups[0].used_cpus), (None, None, None));
        assert!(delta.disks.iter().all(|disk| disk.read_iops.is_none()));
        assert!(delta.interfaces.iter().all(|interface| interface.sent_bytes_per_second.is_none()));
        assert_eq!(delta.groups[0].throttled_percent, []);
    }
}

#[test]
fn what_went_backwards_is_a_gap() {
    let delta = HostDelta::between(&snapshot(14), &snapshot(20));
    assert!(delta.disks[0].read_iops.is_some());
    let (mut before, after) = (snapshot(14), snapshot(20));
    // The times of a disk wrap, its counts don't.
    before.disks.as_mut().unwrap().value[0].read_seconds = Some(4_294_967.0);
    let sda = &HostDelta::between(&before, &after).disks[0];
    assert_eq!(sda.read_await_ms, None);
    near(sda.read_iops, 500.0);
    // Another disk under the same name.
    before.disks.as_mut().unwrap().value[0].writes = 6;
    let sda = &HostDelta::between(&before, &after).disks[0];
    assert_eq!((sda.read_iops, sda.utilisation_percent), (None, None));
    before.cpu.as_mut().unwrap().value.steal_seconds = Some(1e6);
    let cpu = HostDelta::between(&before, &after).cpu.unwrap();
    assert_eq!(cpu.steal_cpus, None);
    near(cpu.user_cpus, 2.0);
    // A control group that was made anew under its old name.
    before.groups[0].cgroup.cpu.as_mut().unwrap().value[0].periods = Some(1_000_000);
    let server = &HostDelta::between(&before, &after).groups[0];
    assert_eq!(server.throttled_percent[0], None);
    near(Some(server.limits[1].value), 0.5);
}

#[test]
fn what_appears_or_disappears_is_a_gap() {
    let (mut before, mut after) = (snapshot(10), snapshot(14));
    before.disks.as_mut().unwrap().value.push(disk("gone", 5));
    after.disks.as_mut().unwrap().value.push(disk("new", 50));
    after.network.as_mut().unwrap().value.push(interface("tun0", 7));
    let mut other = group(14, 2, 50.0);
    other.name = "other".to_owned();
    after.groups.push(other);
    let delta = HostDelta::between(&before, &after);
    let disks: Vec<_> = delta.disks.iter().map(|disk| (disk.name.as_str(), disk.read_iops.is_some())).collect();
    assert_eq!(disks, [("sda", true), ("new", false), ("gone", false)]);
    assert_eq!(delta.interfaces[2].received_bytes_per_second, None);
    assert_eq!((delta.groups[1].name.as_str(), delta.groups[1].used_cpus), ("other", None));
}

#[test]
fn a_server_that_was_restarted_is_a_gap() {
    let (before, mut after) = (snapshot(10), snapshot(14));
    // It has used more than the old one by now, so the counters alone don't show it.
    after.groups[0] = group(14, 99, 1000.0);
    let server = &HostDelta::between(&before, &after).groups[0];
    assert_eq!(server.used_cpus, None);
    assert_eq!((&server.limits[..], &server.throttled_percent[..]), (&[][..], &[][..]));
}

#[test]
fn of_cpus_that_came_or_went_no_part_is_known() {
    let (mut before, after) = (snapshot(10), snapshot(14));
    before.cpu.as_mut().unwrap().value.cpus = Some(2);
    let delta = HostDelta::between(&before, &after);
    assert_eq!((delta.cpu.unwrap().busy_percent, delta.cpus), (None, Some(4)));
}

#[test]
fn no_time_is_no_rate() {
    let same = snapshot(10);
    let delta = HostDelta::between(&same, &same);
    assert_eq!((delta.cpu, delta.disks[0].read_iops, delta.groups[0].used_cpus), (None, None, None));
    assert_eq!(HostDelta::between(&snapshot(14), &snapshot(10)).cpu, None);
}

/// Every figure of a delta that must never be negative or endless.
fn figures(delta: &HostDelta) -> Vec<Option<f64>> {
    let mut all = Vec::new();
    if let Some(cpu) = &delta.cpu {
        all.extend([cpu.user_cpus, cpu.system_cpus, cpu.steal_cpus, cpu.busy_percent]);
    }
    for disk in &delta.disks {
        all.extend([disk.read_iops, disk.write_iops, disk.read_bytes_per_second, disk.mean_queue, disk.read_await_ms]);
        all.extend([disk.utilisation_percent, disk.write_await_ms]);
    }
    for interface in &delta.interfaces {
        all.extend([interface.received_bytes_per_second, interface.sent_bytes_per_second]);
    }
    for group in &delta.groups {
        all.push(group.used_cpus);
        all.extend(&group.throttled_percent);
    }
    all
}

proptest! {
    #[test]
    fn nothing_is_negative_or_endless(
        seconds in (0_u64..100, 0_u64..100),
        counts in (any::<u64>(), any::<u64>()),
        times in (0.0..1e12, 0.0..1e12),
        cpus in (proptest::option::of(0_u32..8), proptest::option::of(0_u32..8)),
    ) {
        let build = |second: u64, count: u64, time: f64, cpus: Option<u32>| {
            let mut snapshot = snapshot(second);
            snapshot.cpu = at(second, CpuTimes { cpus, ..cpu_times(time) });
            let odd = DiskCounters { reads: count, read_bytes: count, busy_seconds: Some(time), ..disk("sda", 1) };
            snapshot.disks = at(second, vec![odd]);
            let odd = InterfaceCounters { received_bytes: count, ..interface("eth0", 1) };
            snapshot.network = at(second, vec![odd]);
            snapshot.groups = vec![group(second, 1, time / 1e3)];
            snapshot
        };
        let (before, after) = (build(seconds.0, counts.0, times.0, cpus.0), build(seconds.1, counts.1, times.1, cpus.1));
        for figure in figures(&HostDelta::between(&before, &after)).into_iter().flatten() {
            prop_assert!(figure >= 0.0 && figure.is_finite(), "{figure}");
        }
    }
}
