//! Volumes of bought disks: what their limits come to, and what comes out when threads work on them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use plimsoll_catalog::{CapAt, Catalog, DiskChoice, DiskLevel};
use plimsoll_hardware::{BoughtVolume, Io, Kind, Layout, LimitHolder, LimitKind, Machine, Role, SLAB_BYTES, Spec, VM};
use plimsoll_measurement::Moment;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};

const KIB: u64 = 1024;
const GIB: u64 = 1 << 30;
const STRIPE: u64 = 64 * KIB;

fn catalog() -> &'static Catalog {
    Catalog::builtin().unwrap()
}

/// The data disk of 2014: 500 I/Os a second.
fn standard() -> DiskLevel {
    catalog().disk("azure-unmanaged-disk", "standard", None, DiskChoice::default()).unwrap()
}

fn volume(disk: &DiskLevel, count: usize, layout: Layout) -> BoughtVolume<'_> {
    BoughtVolume { disk, count, layout, vm: None, account: None }
}

fn striped(columns: usize) -> Layout {
    Layout::Striped { columns, unit_bytes: STRIPE }
}

/// I/Os a second of threads that each have one random read of 8 KiB under way, on the first bytes of the volume.
fn measured(spec: &Spec, threads: u64, file_bytes: u64, seconds: u64) -> f64 {
    let mut machine = Machine::new(spec, 1);
    let device = machine.device(Role::Data);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
    let mut ends: BinaryHeap<Reverse<Moment>> = (0..threads).map(|_| Reverse(Moment::default())).collect();
    let until = Moment::default().after(Duration::from_secs(seconds));
    let mut count = 0_u64;
    while let Some(Reverse(now)) = ends.pop().filter(|Reverse(now)| *now < until) {
        let offset = random.next_u64() % (file_bytes / (8 * KIB)) * 8 * KIB;
        let done = machine.submit(now, device, Io { kind: Kind::Read, offset, bytes: 8 * KIB });
        count += u64::from(done.at <= until);
        ends.push(Reverse(done.at));
    }
    count as f64 / seconds as f64
}

#[test]
fn sixteen_striped_disks_deliver_sixteen_times_one_if_threads_enough_ask() {
    let disk = standard();
    let spec = volume(&disk, 16, striped(16)).spec().unwrap();
    // Random places meet some disks more often than others for a moment: a queue deep enough keeps all of them at work.
    let enough = measured(&spec, 32 * 32, 64 * GIB, 60);
    assert!((enough - 8_000.0).abs() < 80.0, "{enough}");
    // One thread has one disk at work, for as long as the disk's latency is.
    let one = measured(&spec, 1, 64 * GIB, 60);
    assert!(one < 500.0, "{one}");
}

#[test]
fn columns_spans_and_slabs_decide_how_many_disks_a_file_has() {
    let disk = standard();
    let rate = |layout, file_bytes| measured(&volume(&disk, 16, layout).spec().unwrap(), 1024, file_bytes, 60);
    // Eight columns: a file within one slab lies on eight disks, one of 64 GiB on all.
    let within = rate(striped(8), 8 * SLAB_BYTES);
    assert!((within - 4_000.0).abs() < 40.0, "{within}");
    let over_all = rate(striped(8), 64 * GIB);
    assert!((over_all - 8_000.0).abs() < 80.0, "{over_all}");
    let spanned = rate(Layout::Spanned, 64 * GIB);
    assert!((spanned - 500.0).abs() < 5.0, "{spanned}");
}

#[test]
fn the_limit_of_an_account_holds_for_all_of_its_disks() {
    let disk = standard();
    let account = catalog().cap("azure-storage-account", "standard").unwrap();
    let volume = BoughtVolume { account: Some(account), ..volume(&disk, 48, striped(48)) };
    let spec = volume.spec().unwrap();
    let rate = measured(&spec, 4096, 256 * GIB, 30);
    assert!((rate - 20_000.0).abs() < 200.0, "{rate}");
    let way = spec.way(spec.device_for(Role::Data), 64 * GIB);
    let smallest = way.smallest(&[LimitKind::Iops]).unwrap();
    assert_eq!((&smallest.holder, smallest.per_second), (&LimitHolder::Cap("account".to_owned()), 20_000.0));
    assert_eq!(smallest.provenance.date.as_deref(), Some("2022-04-04"));
}

/// 100 GiB of gp2: 300 I/Os a second, and 5.4 million credits for 3,000: they last 2,000 s.
#[test]
fn a_burst_ends_at_the_computed_second() {
    let disk = catalog().disk("aws-ebs", "gp2", None, DiskChoice { size_gib: Some(100), ..DiskChoice::default() });
    let spec = volume(&disk.unwrap(), 1, Layout::Single).spec().unwrap();
    let mut machine = Machine::new(&spec, 1);
    let device = machine.device(Role::Data);
    let io = |number: u64| Io { kind: Kind::Read, offset: number * 8 * KIB, bytes: 8 * KIB };
    // All that is asked at once gets through at the peak until the credit is gone, and then at the base rate.
    let throttled = |machine: &mut Machine, number| machine.submit(Moment::default(), device, io(number)).throttled;
    let mut last = Duration::ZERO;
    for number in 0..6_000_000_u64 {
        last = throttled(&mut machine, number);
    }
    assert!((last.as_secs_f64() - 2_000.0).abs() < 1.0, "{last:?}");
    for number in 0..3_000 {
        last = throttled(&mut machine, number);
    }
    assert!((last.as_secs_f64() - 2_010.0).abs() < 1.0, "{last:?}");
}

#[test]
fn a_machine_may_be_smaller_than_its_disks() {
    let disk = catalog().disk_as("azure-managed-disk/P30").unwrap();
    let vm = catalog().cap("azure-vm", "E8bds_v5").unwrap();
    let of = |count, vm: Option<CapAt<'static>>| BoughtVolume { vm, ..volume(&disk, count, striped(count)) }.spec();
    let smallest = |spec: &Spec| {
        let way = spec.way(spec.device_for(Role::Data), GIB);
        way.smallest(&[LimitKind::Iops]).map(|limit| (limit.holder.clone(), limit.per_second)).unwrap()
    };
    assert_eq!(smallest(&of(4, Some(vm)).unwrap()), (LimitHolder::Disks("data".to_owned()), 20_000.0));
    assert_eq!(smallest(&of(8, Some(vm)).unwrap()), (LimitHolder::Cap(VM.to_owned()), 33_000.0));
    assert_eq!(of(17, Some(vm)).unwrap_err(), "Standard_E8bds_v5 takes 16 data disks, not 17");
    assert_eq!(of(0, None).unwrap_err(), "a volume needs at least one disk");
    let wide = BoughtVolume { layout: striped(9), ..volume(&disk, 8, striped(8)) };
    assert_eq!(wide.spec().unwrap_err(), "9 columns need 9 disks, but there are 8");
    let account = catalog().cap("azure-storage-account", "standard").unwrap();
    assert!(BoughtVolume { vm: Some(account), ..volume(&disk, 1, Layout::Single) }.spec().is_ok());
}
