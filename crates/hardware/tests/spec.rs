//! What a user writes and what it becomes.

use std::time::Duration;

use plimsoll_hardware::{
    Burst, CpuWork, Io, Kind, LARGEST_IO_BYTES, Latency, Layout, Limit, Machine, Neighbour, Rate, Role, Spec,
};
use plimsoll_measurement::Moment;

fn spec(text: &str) -> Spec {
    Spec::parse("folder/mine.toml", text).unwrap_or_else(|error| panic!("{error}"))
}

fn rate(milli: u64) -> Rate {
    Rate::from_milli(milli).expect("more than nothing")
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

const SMALL: &str = r#"
name = "small"
memory = "1.5GiB"
[cpu]
cores = 0.5
step_time = "0.4ns"
page_time = "10us"
statement_time = "0.04ms"
[data]
iops = 500
bandwidth = "0.8MiB/s"
read_latency = "5ms"
write_latency = { min = "1ms", p50 = "2ms", p99_9 = "8ms", max = "20ms" }
neighbour = { rates = [0.25, 1.0], dwell = ["30s", "1.5m"] }
size = "1TiB"
[log]
write_bandwidth = "48MiB/min"
write_iops = "10k"
"#;

#[test]
fn a_small_machine() {
    let spec = spec(SMALL);
    assert_eq!((spec.name.as_str(), spec.page_bytes, spec.memory), ("small", 4096, Some(3 << 29)));
    assert_eq!((spec.cpu.step_ps, spec.cpu.page_ps, spec.cpu.statement_ps), (Some(400), 10_000_000, 40_000_000));
    assert_eq!(spec.cpu.cores.to_bits(), 0.5_f64.to_bits());
    let [disk] = &spec.device(Role::Data).volume.disks[..] else { panic!("one disk") };
    assert_eq!(disk.limits.iops, Some(Limit::from(rate(500_000))));
    // 0.8 x 2^20 bytes: the fraction of a byte is kept.
    assert_eq!(disk.limits.bandwidth, Some(Limit::from(rate(838_860_800))));
    assert_eq!(disk.read_latency, Latency::Constant(ms(5)));
    let quantiles = vec![(0.0, ms(1)), (0.5, ms(2)), (99.9 / 100.0, ms(8)), (1.0, ms(20))];
    assert_eq!(disk.write_latency, Latency::Quantiles(quantiles));
    let dwell = [Duration::from_secs(30), Duration::from_secs(90)];
    assert_eq!(disk.neighbour, Some(Neighbour::TwoState { rates: [0.25, 1.0], dwell }));
    assert_eq!((disk.bytes, disk.largest_io_bytes), (Some(1 << 40), LARGEST_IO_BYTES));
    let log = &spec.device(Role::Log).volume.disks[0].limits;
    assert_eq!(log.write_bandwidth, Some(Limit::from(rate(838_860_800))));
    assert_eq!(log.write_iops, Some(Limit::from(rate(10_000_000))));
    assert!(!spec.is_apart(Role::Temp) && !spec.is_apart(Role::Movement) && spec.is_apart(Role::Log));
}

#[test]
fn what_is_left_out_is_not_limited() {
    assert_eq!(spec(""), Spec::unlimited("mine"));
    assert_eq!(spec("[data]\n[log]"), Spec::unlimited("mine"));
}

#[test]
fn volumes_bursts_and_blobs() {
    let spec = spec(
        r#"
        [caps]
        vm = { iops = 8_000 }
        account.bandwidth = "1GiB/s"
        [data]
        disks = 16
        columns = 8
        caps = ["account", "vm"]
        governor.bandwidth = "100MiB/s"
        disk = { iops = { rate = 120, burst = { rate = 3_500, lasts = "30m" } }, largest_io = "16KiB" }
        [log]
        disks = 2
        layout = "spanned"
        disk.size = "1GiB"
        disk.bandwidth = { rate = "1MiB/s", burst = { rate = "2MiB/s", credit = "64MiB" } }
        [temp.blob]
        file_size = "129GiB"
        tiers = [{ up_to = "128GiB", iops = 500 }, { name = "P15", up_to = "256GiB", iops = 1_100 }]
        "#,
    );
    assert_eq!(spec.device(Role::Data).volume.layout, Layout::Striped { columns: 8, unit_bytes: 256 << 10 });
    assert_eq!(
        (spec.device(Role::Data).volume.disks.len(), &spec.device(Role::Data).caps[..]),
        (16, &["account".to_owned(), "vm".to_owned()][..])
    );
    assert!(spec.device(Role::Data).governor.bandwidth.is_some());
    let disk = &spec.device(Role::Data).volume.disks[15];
    let burst = Burst { peak: rate(3_500_000), credit: 3_380 * 1_800 };
    assert_eq!(disk.limits.iops, Some(Limit { rate: rate(120_000), burst: Some(burst) }));
    assert_eq!(disk.largest_io_bytes, 16 << 10);
    assert_eq!(spec.device(Role::Log).volume.layout, Layout::Spanned);
    let burst = spec.device(Role::Log).volume.disks[1].limits.bandwidth.and_then(|limit| limit.burst);
    assert_eq!(burst.map(|burst| burst.credit), Some(64 << 20));
    let blob = spec.device(Role::Temp).volume.disks[0].blob.clone().unwrap();
    assert_eq!(blob.snap_up(blob.file_bytes).map(|tier| tier.name.as_str()), Some("P15"));
    assert_eq!(blob.tiers[0].name, "1");
}

/// The model holds no platform mathematics and no order of a hash map, so this number is the same everywhere.
#[test]
fn a_trace_is_the_same_on_every_machine() {
    let trace = |seed| {
        let mut machine = Machine::new(&spec(SMALL), seed);
        let (mut now, mut hash) = (Moment::default(), 0xcbf2_9ce4_8422_2325_u64);
        for n in 0..20_000_u64 {
            let kind = if n % 3 == 0 { Kind::Write } else { Kind::Read };
            let role = if n % 7 == 0 { Role::Log } else { Role::Data };
            let done =
                machine.submit(now, machine.device(role), Io { kind, offset: n * 8_192, bytes: 1 + n * 37 % 9_000 });
            let worked = machine.compute(now, CpuWork { steps: n % 1_000 * 10_000, pages: 1, ..CpuWork::default() });
            for moment in [done.at, worked] {
                hash = (hash ^ moment.as_nanos()).wrapping_mul(0x0100_0000_01b3);
            }
            now = now.after(Duration::from_micros(n % 11 * 1_000));
        }
        hash
    };
    assert_eq!(trace(1), 15_506_693_713_897_885_697);
    assert_ne!(trace(1), trace(2));
}
