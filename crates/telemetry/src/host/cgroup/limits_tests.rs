//! Texts of several kernels, and texts of none.

use proptest::prelude::*;

use super::*;

const SDA: DeviceNumber = DeviceNumber { major: 8, minor: 0 };

/// Reads a group from files, of which those that are empty are not there.
fn read<T>(group: fn(&str, Texts) -> T, files: &[(&'static str, &str)]) -> T {
    let texts: Vec<_> = files.iter().map(|(name, text)| (*name, Some((*text).to_owned()))).collect();
    group("/db", Texts(&texts))
}

#[test]
fn cpu_of_version_2() {
    let stat = "usage_usec 2500000\nuser_usec 2000000\nsystem_usec 500000\nnr_periods 40\nnr_throttled 30\n\
        throttled_usec 1250000\nnr_bursts 0\nburst_usec 0\n";
    let group = read(cpu_two, &[("cpu.max", "50000 100000\n"), ("cpu.stat", stat)]);
    let expected = CpuGroup {
        path: "/db".to_owned(),
        limit_cpus: Some(0.5),
        used_seconds: Some(2.5),
        periods: Some(40),
        throttled_periods: Some(30),
        throttled_seconds: Some(1.25),
    };
    assert_eq!(group, expected);
    // The root has neither limit nor periods.
    let root = read(cpu_two, &[("cpu.stat", "usage_usec 7000000\nuser_usec 1\nsystem_usec 1\n")]);
    assert_eq!((root.limit_cpus, root.used_seconds, root.periods), (None, Some(7.0), None));
    for max in ["max 100000", "", "50000", "50000 0", "-1 100000", "x y"] {
        assert_eq!(read(cpu_two, &[("cpu.max", max)]).limit_cpus, None, "{max}");
    }
}

#[test]
fn cpu_of_version_1() {
    let stat = "nr_periods 40\nnr_throttled 30\nthrottled_time 1250000000\n";
    let period = ("cpu.cfs_period_us", "100000\n");
    let used = ("cpuacct.usage", "2500000000\n");
    let group = read(cpu_one, &[("cpu.cfs_quota_us", "150000\n"), period, ("cpu.stat", stat), used]);
    assert_eq!((group.limit_cpus, group.used_seconds), (Some(1.5), Some(2.5)));
    assert_eq!((group.periods, group.throttled_periods, group.throttled_seconds), (Some(40), Some(30), Some(1.25)));
    let free = read(cpu_one, &[("cpu.cfs_quota_us", "-1\n"), period]);
    assert_eq!((free.limit_cpus, free.used_seconds, free.throttled_seconds), (None, None, None));
    assert_eq!(read(cpu_one, &[("cpu.cfs_quota_us", "5"), ("cpu.cfs_period_us", "0")]).limit_cpus, None);
}

#[test]
fn memory_of_both_versions() {
    let events = "low 0\nhigh 3\nmax 12\noom 1\noom_kill 1\noom_group_kill 0\n";
    let files = [
        ("memory.max", "1073741824\n"),
        ("memory.high", "max\n"),
        ("memory.current", "1000000000\n"),
        ("memory.events", events),
    ];
    let two = read(memory_two, &files);
    assert_eq!((two.limit_bytes, two.high_bytes, two.used_bytes), (Some(1 << 30), None, Some(1_000_000_000)));
    assert_eq!((two.limit_hits, two.high_hits, two.kills), (Some(12), Some(3), Some(1)));
    let control = "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n";
    let files = [
        ("memory.limit_in_bytes", "536870912\n"),
        ("memory.usage_in_bytes", "4096\n"),
        ("memory.failcnt", "7\n"),
        ("memory.oom_control", control),
    ];
    let one = read(memory_one, &files);
    assert_eq!(
        (one.limit_bytes, one.used_bytes, one.limit_hits, one.kills),
        (Some(1 << 29), Some(4096), Some(7), Some(2))
    );
    // No limit, on 64 bits and before 3.19.
    for limit in ["9223372036854771712\n", "9223372036854775807\n", "18446744073709551615\n", ""] {
        assert_eq!(read(memory_one, &[("memory.limit_in_bytes", limit)]).limit_bytes, None, "{limit}");
    }
}

#[test]
fn io_of_version_2() {
    let max = "8:0 rbps=2097152 wbps=max riops=max wiops=120\n254:0 rbps=max wbps=max riops=5 wiops=max\n";
    // The device that counts nothing stood in front of the next one in some kernels of 5.x.
    let stat = "7:0 8:0 rbytes=4096 wbytes=8192 rios=1 wios=2 dbytes=0 dios=0\n253:0 \n";
    let group = read(io_two, &[("io.max", max), ("io.stat", stat)]);
    let limit = |kind, value| IoFigure { device: SDA, kind, value };
    assert_eq!(group.limits[..2], [limit(IoKind::ReadBytes, 2_097_152), limit(IoKind::Writes, 120)]);
    assert_eq!(group.limits.len(), 3);
    assert_eq!(group.done_at(SDA, IoKind::WriteBytes), Some(8192));
    assert_eq!(group.done_at(SDA, IoKind::Reads), Some(1));
    assert_eq!(group.done_at(DeviceNumber { major: 7, minor: 0 }, IoKind::Reads), None);
}

#[test]
fn io_of_version_1() {
    let bytes =
        "8:0 Read 4096\n8:0 Write 8192\n8:0 Sync 12288\n8:0 Async 0\n8:0 Discard 0\n8:0 Total 12288\nTotal 12288\n";
    let requests = "8:0 Read 1\n8:0 Write 2\n8:0 Sync 3\n8:0 Async 0\n8:0 Total 3\nTotal 3\n";
    let files = [
        ("blkio.throttle.read_bps_device", "8:0 2097152\n"),
        ("blkio.throttle.write_bps_device", ""),
        ("blkio.throttle.write_iops_device", "8:0 120\n7:1 5\n"),
        ("blkio.throttle.io_service_bytes", bytes),
        ("blkio.throttle.io_serviced", requests),
    ];
    let group = read(io_one, &files);
    assert_eq!(group.limits[0], IoFigure { device: SDA, kind: IoKind::ReadBytes, value: 2_097_152 });
    assert_eq!(group.limits[1], IoFigure { device: SDA, kind: IoKind::Writes, value: 120 });
    assert_eq!(group.limits.len(), 3);
    let kinds = [IoKind::ReadBytes, IoKind::WriteBytes, IoKind::Reads, IoKind::Writes];
    assert_eq!(kinds.map(|kind| group.done_at(SDA, kind)), [Some(4096), Some(8192), Some(1), Some(2)]);
}

proptest! {
    #[test]
    fn any_text_is_read_without_harm(text in "(max|8:0|rbps=|wios=|nr_periods|oom_kill|Read|Total| |\n|[0-9]{1,22}|-|=|:){0,60}") {
        let files = [CPU_TWO, CPU_ONE, MEMORY_TWO, MEMORY_ONE, IO_TWO, IO_ONE, &[CPU_ONE_USED]].concat();
        let texts: Vec<_> = files.into_iter().map(|file| (file, Some(text.clone()))).collect();
        let texts = Texts(&texts);
        for limit in [cpu_two("/", texts), cpu_one("/", texts)].iter().filter_map(|group| group.limit_cpus) {
            prop_assert!(limit >= 0.0 && limit.is_finite());
        }
        let _ = (memory_two("/", texts), memory_one("/", texts), io_two("/", texts), io_one("/", texts));
    }
}
