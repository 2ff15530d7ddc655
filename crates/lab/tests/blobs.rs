//! A file on a blob: the limits by its size, and how far they were used, as a record has them.

mod running;

use running::on_hardware;

const HARDWARE: &str = r#"
memory = "2MiB"
[cpu]
step_time = "20ns"
[data]
read_latency = "2ms"
write_latency = "2ms"
[data.blob]
file_size = "150GiB"
tiers = [
  { name = "small", up_to = "128GiB", iops = 500, bandwidth = "100MiB/s" },
  { name = "middle", up_to = "256GiB", iops = 1100, bandwidth = "125MiB/s" },
]
[log]
write_bandwidth = "10MiB/s"
write_latency = "1ms"
"#;

#[test]
fn intervals_near_a_files_limit_are_counted() {
    let busy = |sessions: &str| {
        let set = [("duration", "30s"), ("sessions", sessions)];
        let record = on_hardware(HARDWARE, "direct-select", &set);
        let files = &record.repetitions[0].files;
        assert!(files.iter().filter(|file| file.file.ends_with("-wal")).all(|log| log.limits.is_none()), "{files:?}");
        let data = files.iter().find(|file| !file.file.ends_with("-wal")).unwrap();
        (data.limits.clone().unwrap(), data.reads.unwrap())
    };
    let (used, reads) = busy("32");
    assert_eq!((used.limit_iops, used.limit_mb_per_second), (Some(1100.0), Some(125.0)));
    assert_eq!(used.size_bytes, Some(150 << 30));
    // Every I/O that the blob lets through is made, and none beyond it.
    assert!((1090 * 30..=1110 * 30).contains(&reads), "{reads}");
    assert!(used.intervals >= 29 && used.intervals_near_iops >= used.intervals - 1, "{used:?}");
    assert!(used.intervals_near_mb_per_second == 0 && used.highest_iops >= Some(1090.0), "{used:?}");
    // One session waits 2 ms for a read, so that it can't come near.
    let (used, _) = busy("1");
    assert!(used.intervals_near_iops == 0 && used.highest_iops <= Some(510.0), "{used:?}");
}
