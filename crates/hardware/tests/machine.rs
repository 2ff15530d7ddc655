//! Machines at work: what comes out of limits, layouts, caps and neighbours, by cases worked out by hand.

use std::time::Duration;

use plimsoll_hardware::{
    Blob, Cap, CpuSpec, CpuWork, DeviceSpec, Disk, Done, Grain, Io, Kind, Latency, Limit, Limits, Machine, Neighbour,
    Resource, Role, Spec, Tier, Volume,
};
use plimsoll_measurement::units::MB;
use plimsoll_measurement::{LimitScope, Moment};
use proptest::prelude::*;

const KIB: u64 = 1024;

fn iops(rate: f64) -> Limits {
    Limits { iops: Limit::per_second(rate), ..Limits::default() }
}

fn bandwidth(mib: f64) -> Limits {
    Limits { bandwidth: Limit::per_second(mib * MB as f64), ..Limits::default() }
}

fn disk(limits: Limits) -> Disk {
    Disk { limits, ..Disk::default() }
}

fn spec(data: DeviceSpec) -> Spec {
    Spec::unlimited("test").with(Role::Data, data)
}

fn read(offset: u64, bytes: u64) -> Io {
    Io { kind: Kind::Read, offset, bytes }
}

fn write(offset: u64, bytes: u64) -> Io {
    Io { kind: Kind::Write, offset, bytes }
}

fn at_ms(ms: u64) -> Moment {
    Moment::from_nanos(ms * 1_000_000)
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// The last completion of `count` I/Os that are all there from the start.
fn last(machine: &mut Machine, count: u64, io: impl Fn(u64) -> Io) -> Moment {
    let ends = (0..count).map(|n| machine.submit(Moment::default(), machine.device(Role::Data), io(n)).at);
    ends.max().unwrap_or_default()
}

#[test]
fn a_limit_holds_and_latency_comes_on_top() {
    let limits = Limits { bandwidth: Limit::per_second(10.0 * MB as f64), ..iops(500.0) };
    let disk = Disk { read_latency: Latency::Constant(ms(5)), ..disk(limits) };
    let mut machine = Machine::new(&spec(DeviceSpec::single(disk)), 0);
    // 4 KiB: 2 ms by I/Os, 0.4 ms by bytes.
    assert_eq!(
        machine.submit(at_ms(0), machine.device(Role::Data), read(0, 4 * KIB)),
        Done { at: at_ms(7), throttled: ms(2) }
    );
    // The queue: three I/Os at once wait for one another.
    assert_eq!(
        machine.submit(at_ms(0), machine.device(Role::Data), read(0, 4 * KIB)),
        Done { at: at_ms(9), throttled: ms(4) }
    );
    // 1 MiB counts as four I/Os (8 ms), but its bytes take 100 ms.
    let done = machine.submit(at_ms(1_000), machine.device(Role::Data), read(0, MB));
    assert_eq!(done, Done { at: at_ms(1_105), throttled: ms(100) });
    // A flush is one I/O and has no read latency.
    assert_eq!(
        machine.submit(at_ms(2_000), machine.device(Role::Data), write(0, 0)),
        Done { at: at_ms(2_002), throttled: ms(2) }
    );
}

#[test]
fn large_ios_count_as_several() {
    let mut machine = Machine::new(&spec(DeviceSpec::single(disk(iops(100.0)))), 0);
    assert_eq!(last(&mut machine, 1, |_| read(0, 256 * KIB)), at_ms(10));
    assert_eq!(last(&mut machine, 1, |_| read(0, 256 * KIB + 1)), at_ms(30));
    let own = Disk { largest_io_bytes: 16 * KIB, ..disk(iops(100.0)) };
    assert_eq!(last(&mut Machine::new(&spec(DeviceSpec::single(own)), 0), 1, |_| read(0, 256 * KIB)), at_ms(160));
}

#[test]
fn sixteen_disks_striped_are_sixteen_times_one_and_spanned_are_one() {
    let disks = vec![Disk { bytes: Some(1 << 40), ..disk(iops(500.0)) }; 16];
    // 8,000 reads of 8 KiB, spread over 64 GiB as a random test would: unit n of 64 KiB, in an order that visits all.
    let random = |n: u64| read(n * 64 * KIB * 131 % (64 << 30), 8 * KIB);
    let mut striped = Machine::new(&spec(Volume::striped(disks.clone(), 64 * KIB).into()), 0);
    assert_eq!(last(&mut striped, 8_000, random), at_ms(1_000));
    let mut spanned = Machine::new(&spec(Volume::spanned(disks).into()), 0);
    assert_eq!(last(&mut spanned, 8_000, random), at_ms(16_000));
}

#[test]
fn an_io_over_a_stripe_is_done_when_its_last_part_is() {
    let fast = disk(bandwidth(64.0));
    let slow = disk(bandwidth(16.0));
    let mut machine = Machine::new(&spec(Volume::striped(vec![fast, slow], 64 * KIB).into()), 0);
    // 32 KiB on each: 1/2,048 s and 1/512 s.
    let done = machine.submit(at_ms(0), machine.device(Role::Data), read(32 * KIB, 64 * KIB));
    assert_eq!(done.at, Moment::from_nanos(1_953_125));
    assert_eq!(done.throttled, Duration::from_nanos(1_953_125));
}

#[test]
fn a_cap_binds_all_devices_that_share_it() {
    let behind = |limits| DeviceSpec { caps: vec!["vm".to_owned()], ..DeviceSpec::single(disk(limits)) };
    let cap = Cap { name: "vm".to_owned(), scope: LimitScope::Vm, limits: iops(1_000.0) };
    let spec = Spec { caps: vec![cap], ..spec(behind(iops(800.0))) }.with(Role::Log, behind(iops(800.0)));
    let mut machine = Machine::new(&spec, 0);
    let mut ends = [Moment::default(); 2];
    for _ in 0..5_000 {
        ends[0] = machine.submit(at_ms(0), machine.device(Role::Data), read(0, 4 * KIB)).at;
        ends[1] = machine.submit(at_ms(0), machine.device(Role::Log), write(0, 4 * KIB)).at;
    }
    // Each could do 800 a second; together they get 1,000.
    assert_eq!(ends, [Moment::from_nanos(9_999_000_000), at_ms(10_000)]);
    let percent = |resource| machine.meter(resource).percent(0, Grain::Fine);
    // Its own disk is busier (5,000 of 800 a second in 15 s) than its share of the cap.
    assert!((percent(Resource::DataIo) - 5_000.0 / 800.0 / 15.0 * 100.0).abs() < 1e-9);
}

#[test]
fn a_cap_sees_the_parts_of_a_stripe() {
    let device =
        DeviceSpec { caps: vec!["vm".to_owned()], ..Volume::striped(vec![Disk::default(); 4], 64 * KIB).into() };
    let caps = vec![Cap { name: "vm".to_owned(), scope: LimitScope::Vm, limits: iops(100.0) }];
    let mut machine = Machine::new(&Spec { caps, ..spec(device) }, 0);
    assert_eq!(last(&mut machine, 1, |_| read(0, 256 * KIB)), at_ms(40));
    // 1 MiB + 256 KiB on the first disk is more than one I/O there: 2 + 1 + 1 + 1.
    assert_eq!(last(&mut machine, 1, |_| read(0, MB + 64 * KIB)), at_ms(90));
    // Nothing else limits this device, so its meter shows the cap.
    assert!((machine.meter(Resource::DataIo).percent(0, Grain::Fine) - 0.09 / 15.0 * 100.0).abs() < 1e-9);
}

#[test]
fn a_governor_stands_in_front_of_the_volume() {
    let governor = Limits { write_bandwidth: Limit::per_second(0.8 * MB as f64), ..Limits::default() };
    let disk = Disk { write_latency: Latency::Constant(ms(4)), ..disk(iops(500.0)) };
    let log = DeviceSpec { governor, ..DeviceSpec::single(disk) };
    let mut machine = Machine::new(&Spec::unlimited("test").with(Role::Log, log), 0);
    let done = machine.submit(at_ms(0), machine.device(Role::Log), write(0, 8 * MB));
    assert_eq!(done, Done { at: at_ms(10_004), throttled: ms(10_000) });
    // 32 I/Os of 8 MiB behind the 500 a second; reads are not governed.
    assert_eq!(machine.submit(at_ms(0), machine.device(Role::Log), read(0, 4 * KIB)).at, at_ms(66));
    assert_eq!(machine.submit(at_ms(0), machine.device(Role::Data), write(0, MB)).at, at_ms(0));
}

#[test]
fn a_governor_counts_what_the_engine_issued() {
    let volume = Volume::striped(vec![Disk::default(); 4], 64 * KIB);
    let mut machine = Machine::new(&spec(DeviceSpec { governor: iops(100.0), ..volume.into() }), 0);
    // One I/O, although it falls on four disks; 257 KiB are two.
    assert_eq!(last(&mut machine, 1, |_| read(0, 256 * KIB)), at_ms(10));
    assert_eq!(last(&mut machine, 1, |_| read(0, 257 * KIB)), at_ms(30));
}

#[test]
fn a_blob_gets_its_next_tier_when_the_file_grows_over_the_bound() {
    let tier = |up_to, rate| Tier { name: String::new(), up_to, limits: iops(rate) };
    let blob = Blob { tiers: vec![tier(128, 500.0), tier(256, 1_000.0), tier(512, 2_000.0)], file_bytes: 32 };
    let disk = Disk { blob: Some(blob), ..Disk::default() };
    let mut machine = Machine::new(&spec(DeviceSpec::single(disk)), 0);
    let thousand = |machine: &mut Machine, start: u64| {
        let ends = (0..1_000).map(|_| machine.submit(at_ms(start), machine.device(Role::Data), read(0, 8 * KIB)).at);
        ends.max().unwrap_or_default().since(at_ms(start))
    };
    assert_eq!(thousand(&mut machine, 0), ms(2_000));
    assert!(machine.resize(at_ms(10_000), machine.device(Role::Data), 150));
    assert_eq!(thousand(&mut machine, 10_000), ms(1_000));
    // 256 is still the same tier: no change.
    assert!(machine.resize(at_ms(20_000), machine.device(Role::Data), 256));
    assert_eq!(thousand(&mut machine, 20_000), ms(1_000));
    assert!(machine.resize(at_ms(30_000), machine.device(Role::Data), 257));
    assert_eq!(thousand(&mut machine, 30_000), ms(500));
    assert!(!machine.resize(at_ms(40_000), machine.device(Role::Data), 513));
    assert_eq!(thousand(&mut machine, 40_000), ms(500));
}

#[test]
fn a_two_state_neighbour_shows_as_its_two_rates_and_nothing_else() {
    let dwell = [Duration::from_mins(4); 2];
    let neighbour = Some(Neighbour::TwoState { rates: [0.25, 1.0], dwell });
    let disk = Disk { neighbour, ..disk(bandwidth(800.0 / 60.0)) };
    let mut machine = Machine::new(&spec(DeviceSpec::single(disk)), 5);
    // One session reads without a break, 1 MiB at a time; the rate of each chunk of 10 MB.
    let mut now = Moment::default();
    let mut rates = Vec::new();
    for _ in 0..4_000 {
        let start = now;
        for _ in 0..10 {
            now = machine.submit(now, machine.device(Role::Data), read(0, MB)).at;
        }
        rates.push(10.0 / now.since(start).as_secs_f64() * 60.0);
    }
    let near = |rate: f64| rates.iter().filter(|seen| (*seen / rate - 1.0).abs() < 1e-6).count();
    let switches = rates.len() - near(200.0) - near(800.0);
    assert!(near(200.0) > 500 && near(800.0) > 500, "{} {}", near(200.0), near(800.0));
    // A chunk in which it switched lies between; there are as many as switches.
    assert!((5..40).contains(&switches), "{switches}");
}

#[test]
fn the_seed_decides_the_draws_and_each_device_has_its_own() {
    let latency = Latency::Quantiles(vec![(0.5, ms(2)), (0.9, ms(3)), (1.0, ms(20))]);
    let disk = Disk { read_latency: latency.clone(), write_latency: latency, ..Disk::default() };
    let device = DeviceSpec::single(disk);
    let spec = spec(device.clone()).with(Role::Log, device.clone()).with(Role::Temp, device);
    let draws = |seed, roles: &[Role]| -> Vec<Moment> {
        let mut machine = Machine::new(&spec, seed);
        (0..200).map(|n| machine.submit(at_ms(0), machine.device(roles[n % roles.len()]), read(0, 1)).at).collect()
    };
    assert_eq!(draws(1, &[Role::Data]), draws(1, &[Role::Data]));
    assert_ne!(draws(1, &[Role::Data]), draws(2, &[Role::Data]));
    assert_ne!(draws(1, &[Role::Data]), draws(1, &[Role::Log]));
    assert_ne!(draws(1, &[Role::Data]), draws(1, &[Role::Temp]));
    // What happens on the log does not shift what the data device draws.
    let both: Vec<Moment> = draws(1, &[Role::Data, Role::Log]).into_iter().step_by(2).collect();
    assert_eq!(both, draws(1, &[Role::Data])[..100]);
}

#[test]
fn temporary_files_share_the_data_device_unless_they_have_their_own() {
    let data = DeviceSpec::single(disk(iops(100.0)));
    let mut shared = Machine::new(&spec(data.clone()), 0);
    shared.submit(at_ms(0), shared.device(Role::Data), read(0, 1));
    assert_eq!(shared.submit(at_ms(0), shared.device(Role::Temp), write(0, 1)).at, at_ms(20));
    let mut own = Machine::new(&spec(data).with(Role::Temp, DeviceSpec::unlimited()), 0);
    own.submit(at_ms(0), own.device(Role::Data), read(0, 1));
    assert_eq!(own.submit(at_ms(0), own.device(Role::Temp), write(0, 1)).at, at_ms(0));
}

#[test]
fn an_unlimited_machine_takes_no_time_and_has_no_percentages() {
    let mut machine = Machine::new(&Spec::unlimited("none"), 0);
    for role in [Role::Data, Role::Log, Role::Temp] {
        let done = machine.submit(at_ms(3), machine.device(role), read(0, u64::MAX));
        assert_eq!(done, Done { at: at_ms(3), throttled: Duration::ZERO });
    }
    assert_eq!(machine.compute(at_ms(3), CpuWork { steps: 1_000, pages: 1, ..CpuWork::default() }), at_ms(3));
    assert_eq!(machine.meter(Resource::DataIo).rows(at_ms(100_000), Grain::Fine).count(), 0);
}

#[test]
fn meters_show_what_was_used_of_the_limit() {
    let cpu = CpuSpec { cores: 2.0, step_ps: Some(1_000_000), page_ps: 0, statement_ps: 0 };
    let log = DeviceSpec::single(disk(bandwidth(1.0)));
    let spec = Spec { cpu, ..spec(DeviceSpec::single(disk(iops(100.0)))) }.with(Role::Log, log);
    let mut machine = Machine::new(&spec, 0);
    // A minute of one session: 30 I/Os of data, 0.5 MiB of log and 0.6 CPU-seconds in each second.
    for second in 0..60 {
        for _ in 0..30 {
            machine.submit(at_ms(second * 1_000), machine.device(Role::Data), read(0, 8 * KIB));
        }
        machine.submit(at_ms(second * 1_000), machine.device(Role::Log), write(0, MB / 2));
        machine.compute(at_ms(second * 1_000), CpuWork { steps: 600_000, pages: 0, ..CpuWork::default() });
    }
    for (resource, percent) in [(Resource::DataIo, 30.0), (Resource::LogWrite, 50.0), (Resource::Cpu, 30.0)] {
        let rows: Vec<f64> = machine.meter(resource).rows(at_ms(60_000), Grain::Fine).map(|row| row.1).collect();
        assert_eq!(rows, [percent; 4], "{resource:?}");
    }
    assert_eq!(machine.meter(Resource::Cpu).rows(at_ms(60_000), Grain::Coarse).count(), 0);
}

fn any_io() -> impl Strategy<Value = (u64, Io)> {
    let kind = prop_oneof![Just(Kind::Read), Just(Kind::Write)];
    (0_u64..20_000_000, kind, 0_u64..1 << 40, 0_u64..1 << 21)
        .prop_map(|(wait, kind, offset, bytes)| (wait, Io { kind, offset, bytes }))
}

proptest! {
    /// Whatever the mix: nothing is done before it was asked for, throttling is part of the time taken, and up to no
    /// completion has more gone through than the limits allow.
    #[test]
    fn no_prefix_exceeds_a_limit(
        ios in prop::collection::vec(any_io(), 1..150),
        rate in 10.0_f64..5_000.0,
        mib in 0.1_f64..500.0,
        disks in 1_usize..6,
        neighbour in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let limits = Limits { bandwidth: Limit::per_second(mib * MB as f64), ..iops(rate) };
        let quiet = Neighbour::TwoState { rates: [0.5, 1.0], dwell: [ms(200), ms(500)] };
        let one = Disk {
            neighbour: neighbour.then_some(quiet),
            read_latency: Latency::Quantiles(vec![(0.5, ms(1)), (1.0, ms(9))]),
            ..disk(limits)
        };
        let mut machine = Machine::new(&spec(Volume::striped(vec![one; disks], 64 * KIB).into()), seed);
        let (mut now, mut counted, mut bytes, mut last) = (Moment::default(), 0_u64, 0_u64, Duration::ZERO);
        for (wait, io) in ios {
            now = now.after(Duration::from_nanos(wait));
            let done = machine.submit(now, machine.device(Role::Data), io);
            prop_assert!(done.at >= now);
            prop_assert!(done.throttled <= done.at.since(now));
            counted += 1;
            bytes += io.bytes;
            last = last.max(done.at.since(Moment::default()));
            let seconds = last.as_secs_f64() * disks as f64 * (1.0 + 1e-9);
            prop_assert!(counted as f64 <= rate * seconds + 1e-3, "{counted} I/Os in {last:?}");
            prop_assert!(bytes as f64 <= mib * MB as f64 * seconds + 1e-3, "{bytes} bytes in {last:?}");
        }
    }

    #[test]
    fn a_session_never_gets_more_than_a_core_nor_all_more_than_the_quota(
        work in prop::collection::vec((0_u64..10_000_000, 0_u64..5_000_000), 1..100),
        cores in 0.1_f64..8.0,
    ) {
        let cpu = CpuSpec { cores, step_ps: Some(25_000), page_ps: 0, statement_ps: 0 };
        let mut machine = Machine::new(&Spec { cpu, ..Spec::unlimited("cpu") }, 0);
        let (mut now, mut total, mut last) = (Moment::default(), 0.0, Moment::default());
        for (wait, steps) in work {
            now = now.after(Duration::from_nanos(wait));
            let end = machine.compute(now, CpuWork { steps, pages: 0, ..CpuWork::default() });
            prop_assert!(end.since(now) >= Duration::from_nanos(steps * 25));
            total += steps as f64 * 25e-9;
            last = last.max(end);
            prop_assert!(total <= last.as_nanos() as f64 * 1e-9 * cores * (1.0 + 1e-9) + 1e-9);
        }
    }
}

#[test]
fn a_client_makes_so_many_requests_whatever_the_server_does() {
    let text = "[cpu]\nstatement_time = \"1ms\"\n[client]\ncores = 0.5\nrequest_time = \"2ms\"";
    let mut machine = Machine::new(&Spec::parse("client.toml", text).unwrap(), 1);
    // Half a core makes 250 a second, from however many sessions.
    let mut sessions = [Moment::default(); 4];
    for _ in 0..100 {
        for session in &mut sessions {
            *session = machine.request(*session);
        }
    }
    assert_eq!(sessions.iter().max(), Some(&Moment::from_nanos(1_600_000_000)));
    // The server's own CPU was not touched.
    let one = CpuWork { statements: 1, ..CpuWork::default() };
    assert_eq!(machine.compute(Moment::default(), one), Moment::from_nanos(1_000_000));
    let mut without = Machine::new(&Spec::unlimited("none"), 1);
    assert_eq!(without.request(Moment::from_nanos(7)), Moment::from_nanos(7));
}

#[test]
fn a_machine_without_meters_answers_alike_and_counts_nothing() {
    let spec = spec(DeviceSpec::single(disk(iops(500.0))));
    let [mut metered, mut bare] = [Machine::new(&spec, 3), Machine::new(&spec, 3).unmetered()];
    let ends = [&mut metered, &mut bare].map(|machine| last(machine, 10_000, |n| read(n * 4 * KIB, 4 * KIB)));
    assert_eq!(ends[0], ends[1]);
    let percent = [&metered, &bare].map(|machine| machine.meter(Resource::DataIo).percent(0, Grain::Fine));
    assert_eq!(percent.map(f64::to_bits), [100.0_f64, 0.0].map(f64::to_bits));
}
