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
    let expected =
        CpuGroup { path: "/db".to_owned(), limit_cpus: Some(0.5), periods: Some(40), throttled_periods: Some(30) };
    assert_eq!(group, expected);
    // The root has neither limit nor periods.
    let root = read(cpu_two, &[("cpu.stat", "usage_usec 7000000\nuser_usec 1\nsystem_usec 1\n")]);
    assert_eq!((root.limit_cpus, root.periods), (None, None));
    for max in ["max 100000", "", "50000", "50000 0", "-1 100000", "x y"] {
        assert_eq!(read(cpu_two, &[("cpu.max", max)]).limit_cpus, None, "{max}");
    }
}

#[test]
fn cpu_of_version_1() {
    let stat = "nr_periods 40\nnr_throttled 30\nthrottled_time 1250000000\n";
    let period = ("cpu.cfs_period_us", "100000\n");
    let group = read(cpu_one, &[("cpu.cfs_quota_us", "150000\n"), period, ("cpu.stat", stat)]);
    assert_eq!(group.limit_cpus, Some(1.5));
    assert_eq!((group.periods, group.throttled_periods), (Some(40), Some(30)));
    let free = read(cpu_one, &[("cpu.cfs_quota_us", "-1\n"), period]);
    assert_eq!((free.limit_cpus, free.periods), (None, None));
    assert_eq!(read(cpu_one, &[("cpu.cfs_quota_us", "5"), ("cpu.cfs_period_us", "0")]).limit_cpus, None);
}

#[test]
fn memory_of_both_versions() {
    let two = |limit| read(memory_two, &[("memory.max", limit), ("memory.current", "4096\n")]);
    assert_eq!((two("8192\n").limit_bytes, two("8192\n").used_bytes), (Some(8192), Some(4096)));
    assert_eq!(two("max\n").limit_bytes, None);
    let one = |limit| read(memory_one, &[("memory.limit_in_bytes", limit), ("memory.usage_in_bytes", "4096\n")]);
    assert_eq!((one("8192\n").limit_bytes, one("8192\n").used_bytes), (Some(8192), Some(4096)));
    assert_eq!(one("9223372036854771712\n").limit_bytes, None);
    assert_eq!(read(memory_two, &[]), MemoryGroup { path: "/db".to_owned(), ..MemoryGroup::default() });
}

#[test]
fn io_of_version_2() {
    // The device that limits nothing stood in front of the next one in some kernels of 5.x.
    let max = "7:0 8:0 rbps=2097152 wbps=max riops=max wiops=120\n254:0 rbps=max wbps=max riops=5 wiops=max\n";
    let stat = "8:0 rbytes=4096 wbytes=0 rios=1 wios=17 dbytes=0 dios=0\n";
    let group = read(io_two, &[("io.max", max), ("io.stat", stat)]);
    let done = |kind, value| IoLimit { device: SDA, kind, value };
    assert_eq!(group.done.iter().find(|one| one.kind == IoKind::Writes), Some(&done(IoKind::Writes, 17)));
    let limit = |kind, value| IoLimit { device: SDA, kind, value };
    assert_eq!(group.limits[..2], [limit(IoKind::ReadBytes, 2_097_152), limit(IoKind::Writes, 120)]);
    assert_eq!(group.limits.len(), 3);
}

#[test]
fn io_of_version_1() {
    let files = [
        ("blkio.throttle.read_bps_device", "8:0 2097152\n"),
        ("blkio.throttle.write_bps_device", ""),
        ("blkio.throttle.write_iops_device", "8:0 120\n7:1 5\n"),
        ("blkio.throttle.io_serviced", "8:0 Read 3\n8:0 Write 17\n8:0 Sync 20\n8:0 Total 20\nTotal 20\n"),
        ("blkio.throttle.io_service_bytes", "8:0 Read 8192\n8:0 Write 4096\n8:0 Total 12288\n"),
    ];
    let group = read(io_one, &files);
    assert_eq!(group.limits[0], IoLimit { device: SDA, kind: IoKind::ReadBytes, value: 2_097_152 });
    assert_eq!(group.limits[1], IoLimit { device: SDA, kind: IoKind::Writes, value: 120 });
    assert_eq!(group.limits.len(), 3);
    let done: Vec<_> = group.done.iter().map(|one| (one.kind, one.value)).collect();
    assert_eq!(done, [(IoKind::ReadBytes, 8192), (IoKind::WriteBytes, 4096), (IoKind::Reads, 3), (IoKind::Writes, 17)]);
}

proptest! {
    #[test]
    fn any_text_is_read_without_harm(text in "(max|8:0|rbps=|wios=|nr_periods|oom_kill|Read|Total| |\n|[0-9]{1,22}|-|=|:){0,60}") {
        let files = [CPU_TWO, CPU_ONE, IO_TWO, IO_ONE].concat();
        let texts: Vec<_> = files.into_iter().map(|file| (file, Some(text.clone()))).collect();
        let texts = Texts(&texts);
        for limit in [cpu_two("/", texts), cpu_one("/", texts)].iter().filter_map(|group| group.limit_cpus) {
            prop_assert!(limit >= 0.0 && limit.is_finite());
        }
        let _ = (io_two("/", texts), io_one("/", texts));
    }
}
