//! A description with many devices: what limits a way, where each limit comes from, and that it is data.

use plimsoll_hardware::{
    Cap, DeviceSpec, Disk, Io, Kind, Limit, LimitHolder, LimitKind, Limits, Machine, Origin, PlacedFile, Role, Spec,
    Volume,
};
use plimsoll_measurement::{LimitBasis, LimitScope, Moment, Provenance};
use proptest::prelude::*;

/// Two volumes behind one VM and one storage account, a third device behind neither; files by name on all of them.
const THREE: &str = r#"
    name = "three"
    memory = "1GiB"
    [caps.vm]
    iops = 2_500
    bandwidth = "90MiB/s"
    [caps.store]
    scope = "account"
    iops = 1_400
    [devices.fast]
    disks = 4
    caps = ["vm", "store"]
    governor = { bandwidth = "100MiB/s" }
    disk = { iops = 500, bandwidth = "60MiB/s" }
    [devices.slow]
    iops = 500
    bandwidth = "60MiB/s"
    caps = ["vm", "store"]
    [devices.local]
    iops = { rate = 100, burst = { rate = 300, credit = 1_000 } }
    [placement]
    data = "fast"
    log = "slow"
    temp = "local"
    "sales_1.ndf" = "fast"
    "archive.ndf" = "slow"
"#;

fn spec(text: &str) -> Spec {
    Spec::parse("mine.toml", text).unwrap_or_else(|error| panic!("{error}"))
}

/// What is the smallest on the way of a file: whose it is, what it holds back, and how much it lets through.
fn smallest(
    spec: &Spec,
    file: impl Into<PlacedFile>,
    kind: LimitKind,
) -> Option<(LimitHolder, Option<LimitScope>, f64)> {
    let way = spec.way(spec.device_of(&file.into())?, 0);
    way.smallest(&[kind]).map(|limit| (limit.holder.clone(), limit.provenance.scope, limit.per_second))
}

const MIB: f64 = 1_048_576.0;

#[test]
fn the_smallest_of_disks_governor_and_caps_is_found_and_named() {
    use LimitKind::{Bandwidth, Iops};
    let spec = spec(THREE);
    let cap = |name: &str| LimitHolder::Cap(name.to_owned());
    let disks = |name: &str| LimitHolder::Disks(name.to_owned());
    let account = Some((cap("store"), Some(LimitScope::Account), 1_400.0));
    // Four disks of 500 have 2,000, the VM 2,500, the account 1,400.
    assert_eq!(smallest(&spec, Role::Data, Iops), account);
    assert_eq!(smallest(&spec, "sales_1.ndf", Iops), account);
    // Four of 60 have 240 together, the governor lets 100 through, the VM 90.
    assert_eq!(smallest(&spec, Role::Data, Bandwidth), Some((cap("vm"), Some(LimitScope::Vm), 90.0 * MIB)));
    for file in [PlacedFile::from(Role::Log), "archive.ndf".into()] {
        assert_eq!(smallest(&spec, file, Iops), Some((disks("slow"), Some(LimitScope::Device), 500.0)));
    }
    // Whole databases that are moved lie with the data; a file that nobody placed lies nowhere.
    assert_eq!(smallest(&spec, Role::Movement, Iops), account);
    assert_eq!(smallest(&spec, "unknown.ndf", Iops), None);
    let local = spec.way(spec.device_for(Role::Temp), 0);
    assert_eq!((local.limits.len(), local.bursts), (1, true));
    assert_eq!(local.smallest(&[Iops]).map(|limit| limit.per_second), Some(100.0));
    let all: Vec<_> = spec.way(spec.device_for(Role::Data), 0).of(&[Iops]).map(|limit| limit.per_second).collect();
    assert_eq!(all, [2_000.0, 2_500.0, 1_400.0]);
}

#[test]
fn a_machine_runs_it_as_it_reads() {
    let spec = spec(THREE);
    let mut machine = Machine::new(&spec, 1);
    let file = |name: &str| spec.device_of(&name.into()).unwrap();
    assert_eq!((file("sales_1.ndf"), file("archive.ndf")), (machine.device(Role::Data), machine.device(Role::Log)));
    let mut last = Moment::default();
    // 1,400 I/Os of both files take a second of the account's cap.
    for n in 0..1_400_u64 {
        let device = if n % 4 == 0 { file("archive.ndf") } else { file("sales_1.ndf") };
        let io = Io { kind: Kind::Read, offset: n * 262_144, bytes: 512 };
        last = last.max(machine.submit(Moment::default(), device, io).at);
    }
    assert_eq!(last, Moment::from_nanos(1_000_000_000));
}

#[test]
fn the_short_form_is_a_device_of_that_name() {
    let long = "[devices.log]\niops = 7\n[devices.data]\niops = 5\n[placement]\ndata = 'data'\n";
    assert_eq!(spec(long), spec("[data]\niops = 5\n[log]\niops = 7"));
    let shared = spec("[data]\niops = 5\n[placement]\nlog = 'data'");
    assert_eq!((shared.devices.len(), shared.is_apart(Role::Log)), (1, false));
    // A device keeps its draws whatever stands beside it.
    let latency = "read_latency = { min = '1ms', max = '9ms' }";
    let ends = |text: &str| {
        let mut machine = Machine::new(&spec(text), 3);
        let io = Io { kind: Kind::Read, offset: 0, bytes: 1 };
        (0..20).map(|_| machine.submit(Moment::default(), machine.device(Role::Movement), io).at).collect::<Vec<_>>()
    };
    let alone = ends(&format!("[movement]\n{latency}"));
    assert_eq!(
        alone,
        ends(&format!("[temp]\niops = 1\n[devices.x]\niops = 1\n[placement]\n'x.ndf' = 'x'\n[movement]\n{latency}"))
    );
}

#[test]
fn a_limit_says_where_it_comes_from() {
    let mut spec = spec(THREE);
    let disks = LimitHolder::Disks("slow".to_owned());
    let given = Provenance {
        scope: Some(LimitScope::Device),
        basis: LimitBasis::Given,
        source: "three".to_owned(),
        date: None,
    };
    assert_eq!(spec.provenance(&disks, Some(LimitKind::Iops)), given);
    assert_eq!(spec.provenance(&LimitHolder::Governor("fast".to_owned()), None).scope, Some(LimitScope::Volume));
    assert_eq!(spec.provenance(&LimitHolder::Memory, None).scope, Some(LimitScope::Instance));
    let published = Provenance {
        scope: None,
        basis: LimitBasis::Published,
        source: "a catalogue".to_owned(),
        date: Some("2026-08-01".to_owned()),
    };
    let kind = Some(LimitKind::Iops);
    spec.origins.push(Origin { holder: disks.clone(), kind, provenance: published.clone() });
    assert_eq!(spec.check(), Ok(()));
    let known = spec.provenance(&disks, kind);
    assert_eq!(known, Provenance { scope: Some(LimitScope::Device), ..published });
    assert_eq!(spec.provenance(&disks, Some(LimitKind::Bandwidth)), given);
    // Blobs hold back a file.
    let blob = "[data.blob]\nfile_size = '1GiB'\ntiers = [{ up_to = '2GiB', iops = 5 }, { up_to = '4GiB', iops = 9 }]";
    let blob = Spec::parse("blob.toml", blob).unwrap();
    let way = |bytes| blob.way(blob.device_for(Role::Data), bytes).limits;
    assert_eq!((way(0)[0].per_second, way(3 << 30)[0].per_second, way(5 << 30)[0].per_second), (5.0, 9.0, 9.0));
    assert_eq!(way(0)[0].provenance.scope, Some(LimitScope::File));
}

#[test]
fn what_is_raised_no_longer_says_what_its_source_said() {
    let mut spec = spec(THREE);
    let provenance =
        Provenance { scope: None, basis: LimitBasis::Published, source: "a catalogue".to_owned(), date: None };
    for kind in [LimitKind::Iops, LimitKind::Bandwidth] {
        let holder = LimitHolder::Cap("vm".to_owned());
        spec.origins.push(Origin { holder, kind: Some(kind), provenance: provenance.clone() });
    }
    let raised = spec.raised(plimsoll_hardware::Raise::DataIops, 2.0);
    assert_eq!(raised.origins, spec.origins[1..]);
}

#[test]
fn a_description_is_data() {
    let text = format!(
        "{THREE}\n[cpu]\ncores = 1.5\nstep_time = '25ns'\n[client]\nrequest_time = '1ms'\n[devices.odd]\ncaps = ['vm']\n\
         read_latency = {{ min = '1ms', p99_9 = '20ms' }}\nneighbour = {{ low = 0.9, high = 1.1, step = 0.01, every = '30s' }}\n\
         blob = {{ file_size = '1GiB', tiers = [{{ up_to = '2GiB', iops = 5 }}] }}\n[movement]\ndisks = 2\nlayout = 'spanned'\n\
         disk = {{ size = '1GiB', neighbour = {{ rates = [0.25, 1.0], dwell = '60s' }} }}\n"
    );
    let text = text.replace("\"archive.ndf\" = \"slow\"", "\"archive.ndf\" = \"odd\"");
    let mut spec = spec(&text);
    let provenance = Provenance {
        scope: Some(LimitScope::Database),
        basis: LimitBasis::Derived,
        source: "a sentence".to_owned(),
        date: Some("2015-01-31".to_owned()),
    };
    spec.origins.push(Origin { holder: LimitHolder::Cpu, kind: None, provenance });
    let data = toml::to_string(&spec).unwrap();
    assert_eq!(toml::from_str::<Spec>(&data).unwrap(), spec, "{data}");
    assert!(
        data.contains("[placement]\ndata = \"fast\"\nlog = \"slow\"\ntemp = \"local\"\nmovement = \"movement\"\n"),
        "{data}"
    );
    // What can't be is refused where it is read.
    let bad = data.replace("milli_per_second = 2500000", "milli_per_second = 0");
    assert!(toml::from_str::<Spec>(&bad).unwrap_err().to_string().contains("cannot be"));
}

proptest! {
    /// The smallest is the least of the sum over the disks at work, the governor and each cap, and it is one of them.
    #[test]
    fn what_can_be_had_is_the_least_of_sum_and_caps(
        disks in prop::collection::vec(prop::option::of(1_u32..1_000), 1..6),
        governor in prop::option::of(1_u32..4_000),
        caps in prop::collection::vec(1_u32..4_000, 0..3),
    ) {
        let limit = |rate: u32| Limit::per_second(f64::from(rate));
        let limits = |rate: Option<u32>| Limits { iops: rate.and_then(limit), ..Limits::default() };
        let all = disks.iter().map(|rate| Disk { limits: limits(*rate), ..Disk::default() }).collect();
        let scopes = [LimitScope::Vm, LimitScope::Account, LimitScope::Instance];
        let named: Vec<Cap> = caps.iter().zip(scopes).map(|(rate, scope)| {
            Cap { name: scope.name().to_owned(), scope, limits: limits(Some(*rate)) }
        }).collect();
        let device = DeviceSpec {
            governor: limits(governor),
            caps: named.iter().map(|cap| cap.name.clone()).collect(),
            ..Volume::striped(all, 65_536).into()
        };
        let spec = Spec { caps: named, ..Spec::unlimited("drawn") }.with(Role::Data, device);
        prop_assert_eq!(spec.check(), Ok(()));
        let sum: Option<u32> = disks.iter().copied().sum();
        let expected = sum.into_iter().chain(governor).chain(caps.iter().copied()).min();
        let way = spec.way(spec.device_for(Role::Data), 0);
        let found = way.smallest(&[LimitKind::Iops]);
        prop_assert_eq!(found.map(|limit| limit.per_second), expected.map(f64::from));
        // The one that is named has that value by itself.
        let own = found.map(|limit| match &limit.holder {
            LimitHolder::Disks(_) => sum,
            LimitHolder::Governor(_) => governor,
            LimitHolder::Cap(name) => scopes.iter().position(|scope| scope.name() == name).map(|place| caps[place]),
            LimitHolder::Memory | LimitHolder::Cpu | LimitHolder::Client => None,
        });
        prop_assert_eq!(own.flatten(), expected);
        // And a machine that is asked for more than that takes as long.
        if let Some(rate) = expected {
            let mut machine = Machine::new(&spec, 1);
            let unit = 65_536 * disks.len() as u64;
            let io = |n: u64| Io { kind: Kind::Read, offset: n % 64 * unit, bytes: unit };
            let even = disks.iter().flatten().all(|disk| Some(*disk) == disks[0]) && disks.iter().all(Option::is_some);
            if even {
                let ends = (0..50).map(|n| machine.submit(Moment::default(), machine.device(Role::Data), io(n)).at);
                let seconds = ends.max().unwrap_or_default().as_nanos() as f64 / 1e9;
                // The governor counts an I/O as the engine asked for it, disks and caps their parts.
                let of_parts = sum.into_iter().chain(caps.iter().copied()).min().map(|least| 50.0 * disks.len() as f64 / f64::from(least));
                let of_whole = governor.map(|least| 50.0 * f64::from(u32::try_from(unit.div_ceil(262_144)).unwrap()) / f64::from(least));
                let slowest = of_parts.into_iter().chain(of_whole).fold(0.0, f64::max);
                prop_assert!((seconds - slowest).abs() < 1e-6 * slowest.max(1.0), "{seconds} {slowest} {rate}");
            }
        }
    }
}
