//! What figures are held against: the limits of a machine, read off its description. On the way to a device it is the smallest of the
//! disks together, the governor in front of them and the caps. Only what can be had for ever: a burst is left out, and what a
//! neighbour takes is not taken off.

use plimsoll_measurement::units::MB;
use plimsoll_measurement::{Ceiling, LimitScope};

use crate::{LimitHolder, LimitKind, Role, Spec, Way, WayLimit};

/// What the limits of the data's device are called as ceilings.
const DATA: [(&str, &[LimitKind]); 6] = [
    ("data_iops", &[LimitKind::Iops]),
    ("data_read_iops", &[LimitKind::ReadIops]),
    ("data_write_iops", &[LimitKind::WriteIops]),
    ("data_bandwidth", &[LimitKind::Bandwidth]),
    ("data_read_bandwidth", &[LimitKind::ReadBandwidth]),
    ("data_write_bandwidth", &[LimitKind::WriteBandwidth]),
];

/// Those of the log's, which is only written.
const LOG: [(&str, &[LimitKind]); 2] = [
    ("log_iops", &[LimitKind::Iops, LimitKind::WriteIops]),
    ("log_bandwidth", &[LimitKind::Bandwidth, LimitKind::WriteBandwidth]),
];

impl Spec {
    /// The ceilings of this machine, with volumes divided by `scale`, with files of so many bytes on it. `whose` begins each source:
    /// `the lab's hardware, `.
    pub fn ceilings(&self, whose: &str, file_bytes: u64, scale: u64) -> Vec<Ceiling> {
        let spec = self;
        let source = |notes: &[String]| match notes {
            [] => format!("{whose}{}", spec.name),
            notes => format!("{whose}{}: {}", spec.name, notes.join(", ")),
        };
        let whole = |resource: &str, value: Option<f64>, holder: &LimitHolder, notes: &[String]| {
            let ceiling = Ceiling::new(resource, value?, source(notes))?;
            Some(ceiling.known_from(spec.provenance(holder, None)))
        };
        let cpu = spec.cpu.is_limited().then_some(spec.cpu.cores);
        let client = spec.client.map(|client| client.cores);
        let mut ceilings: Vec<Ceiling> = Vec::new();
        ceilings.extend(whole("cpu", cpu, &LimitHolder::Cpu, &[]));
        ceilings.extend(whole("client_cpu", client, &LimitHolder::Client, &[]));
        for (role, bytes, resources) in [(Role::Data, file_bytes, &DATA[..]), (Role::Log, 0, &LOG[..])] {
            let way = spec.way(spec.device_for(role), bytes);
            for (resource, kinds) in resources {
                let Some(smallest) = way.smallest(kinds) else { continue };
                let mut notes: Vec<String> = among_several(&way, kinds, smallest).into_iter().collect();
                let carried = spec.carried(role, bytes, &way, smallest);
                let value = carried.map_or(in_unit(smallest).0, mb);
                notes.extend(carried.map(|_| "as much as its I/Os carry".to_owned()));
                notes.extend(way.bursts.then(|| "without its burst".to_owned()));
                let neighbour = spec.device(role).volume.disks.iter().any(|disk| disk.neighbour.is_some());
                notes.extend(neighbour.then(|| "a neighbour takes from it".to_owned()));
                let ceiling = Ceiling::new(resource, value, source(&notes));
                ceilings.extend(ceiling.map(|ceiling| ceiling.known_from(smallest.provenance.clone())));
            }
        }
        let at_scale: Vec<String> = (scale > 1).then(|| format!("at a scale of 1/{scale}")).into_iter().collect();
        let memory = spec.memory.map(|bytes| mb(bytes as f64));
        ceilings.extend(whole("memory", memory, &LimitHolder::Memory, &at_scale));
        let size = (file_bytes > 0).then(|| mb(file_bytes as f64));
        ceilings.extend(size.and_then(|size| Ceiling::new("data", size, source(&at_scale))));
        ceilings
    }

    /// Bytes a second that disks carry once the burst of their I/Os is over, where that is less than this limit: what a disk has of
    /// bandwidth beyond that is a part of its burst.
    fn carried(&self, role: Role, file_bytes: u64, way: &Way, limit: &WayLimit) -> Option<f64> {
        let disks = &self.device(role).volume.disks;
        let bursts = disks
            .iter()
            .any(|disk| disk.limits_of_file(file_bytes).of(LimitKind::Iops).is_some_and(|limit| limit.burst.is_some()));
        let largest_io = disks.iter().map(|disk| disk.largest_io_bytes).max().filter(|_| bursts)?;
        let carried = way.smallest(&[LimitKind::Iops])?.per_second * largest_io as f64;
        (limit.kind == LimitKind::Bandwidth && carried < limit.per_second).then_some(carried)
    }
}

fn mb(bytes: f64) -> f64 {
    bytes / MB as f64
}

/// The value of a limit in the unit of a ceiling, and that unit as a person reads it.
fn in_unit(limit: &WayLimit) -> (f64, &'static str) {
    if limit.kind.is_of_bytes() { (mb(limit.per_second), "MB/s") } else { (limit.per_second, "IOPS") }
}

/// Which of several limits on the way is the smallest; `None` where there is no other.
fn among_several(way: &Way, kinds: &[LimitKind], smallest: &WayLimit) -> Option<String> {
    let others = way.of(kinds).filter(|limit| !std::ptr::eq(*limit, smallest)).map(words);
    let others: Vec<String> = others.collect();
    (!others.is_empty()).then(|| format!("{} is no more than {}", words(smallest), others.join(" and ")))
}

/// A limit on the way as a person reads it.
fn words(limit: &WayLimit) -> String {
    let (value, unit) = in_unit(limit);
    let amount = format!("{} {unit}", (value * 10.0).round() / 10.0);
    let scope = match limit.provenance.scope {
        Some(LimitScope::Vm) => "VM",
        scope => scope.map_or("", LimitScope::name),
    };
    match &limit.holder {
        LimitHolder::Cap(name) => format!("the {scope} cap '{name}' of {amount}"),
        LimitHolder::Disks(_) if limit.disks > 1 => format!("the limit of {} disks together of {amount}", limit.disks),
        _ => format!("the {scope} limit of {amount}"),
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_measurement::LimitBasis;

    use super::*;

    const LAB: &str = "the lab's hardware, ";

    fn of_text(text: &str) -> Vec<(String, f64, String)> {
        let spec = Spec::parse("mine.toml", text).unwrap();
        spec.ceilings(LAB, 0, 1).into_iter().map(|ceiling| (ceiling.resource, ceiling.value, ceiling.source)).collect()
    }

    fn of_spec(spec: &Spec, nth: usize) -> (String, Option<LimitScope>) {
        let ceiling = spec.ceilings(LAB, 0, 1).swap_remove(nth);
        assert_eq!((ceiling.basis, ceiling.date), (Some(LimitBasis::Given), None));
        (ceiling.source, ceiling.scope)
    }

    fn values(text: &str) -> Vec<(String, f64)> {
        of_text(text).into_iter().map(|(resource, value, _)| (resource, value)).collect()
    }

    #[test]
    fn every_limit_is_a_ceiling_in_its_unit_and_what_is_not_limited_has_none() {
        let text = r#"
            memory = "2MiB"
            [cpu]
            cores = 1.5
            statement_time = "40us"
            [client]
            cores = 0.5
            request_time = "1ms"
            [data]
            iops = 500
            read_bandwidth = "10MiB/s"
            [log]
            iops = 300
            write_iops = 200
            bandwidth = "4MiB/s"
        "#;
        let expected = [
            ("cpu", 1.5),
            ("client_cpu", 0.5),
            ("data_iops", 500.0),
            ("data_read_bandwidth", 10.0),
            ("log_iops", 200.0),
            ("log_bandwidth", 4.0),
            ("memory", 2.0),
        ];
        assert_eq!(values(text), expected.map(|(name, value)| (name.to_owned(), value)));
        assert_eq!(of_text(text)[0].2, "the lab's hardware, mine");
        assert_eq!(values("name = \"nothing\""), []);
    }

    #[test]
    fn what_all_on_the_way_let_through_together_is_the_ceiling() {
        let text = |governor: &str| {
            format!(
                "[caps.vm]\niops = 1500\n[data]\ndisks = 4\ncaps = [\"vm\"]\ngovernor = {{ {governor} }}\n[data.disk]\niops = 500\nbandwidth = \"10MiB/s\""
            )
        };
        let of = |governor: &str| values(&text(governor)).into_iter().map(|(_, value)| value).collect::<Vec<_>>();
        let ceiling = |governor: &str, nth: usize| {
            let spec = Spec::parse("mine.toml", &text(governor)).unwrap();
            of_spec(&spec, nth)
        };
        assert_eq!(
            ceiling("", 0),
            (
                "the lab's hardware, mine: the VM cap 'vm' of 1500 IOPS is no more than the limit of 4 disks together of 2000 IOPS"
                    .to_owned(),
                Some(LimitScope::Vm)
            )
        );
        assert_eq!(ceiling("", 1), ("the lab's hardware, mine".to_owned(), Some(LimitScope::Device)));
        let (source, scope) = ceiling("iops = 900", 0);
        assert!(
            source.starts_with("the lab's hardware, mine: the volume limit of 900 IOPS is no more than"),
            "{source}"
        );
        assert!(source.ends_with("2000 IOPS and the VM cap 'vm' of 1500 IOPS"), "{source}");
        assert_eq!(scope, Some(LimitScope::Volume));
        assert_eq!(of(""), [1500.0, 40.0]);
        assert_eq!(of("iops = 900, bandwidth = \"64MiB/s\""), [900.0, 40.0]);
        // Of a span one disk works at a time.
        let spanned = "[data]\ndisks = 4\nlayout = \"spanned\"\n[data.disk]\niops = 500\nsize = \"1GiB\"";
        assert_eq!(values(spanned), [("data_iops".to_owned(), 500.0)]);
    }

    #[test]
    fn bursts_neighbours_and_the_scale_are_said() {
        let text = "memory = \"1MiB\"\n[data]\niops = { rate = 100, burst = { rate = 300, credit = 1000 } }\n\
                    neighbour = { rates = [0.5, 1.0], dwell = \"4s\" }";
        let spec = Spec::parse("mine.toml", text).unwrap();
        let sources: Vec<_> =
            spec.ceilings(LAB, 0, 64).into_iter().map(|ceiling| (ceiling.value, ceiling.source)).collect();
        let expected = [
            (100.0, "the lab's hardware, mine: without its burst, a neighbour takes from it"),
            (1.0, "the lab's hardware, mine: at a scale of 1/64"),
        ];
        assert_eq!(sources, expected.map(|(value, source)| (value, source.to_owned())));
    }

    #[test]
    fn bandwidth_that_lasts_is_what_the_ios_that_last_carry() {
        let of = |iops: &str| {
            let text = format!("[data]\niops = {iops}\nbandwidth = \"250MiB/s\"\nlargest_io = \"256KiB\"\n");
            let found = of_text(&text).into_iter().find(|(name, ..)| name == "data_bandwidth").unwrap();
            (found.1, found.2)
        };
        let burst = |rate: u32| format!("{{ rate = {rate}, burst = {{ rate = 3000, credit = 5400000 }} }}");
        let source = |notes: &str| format!("the lab's hardware, mine{notes}");
        assert_eq!(of(&burst(600)), (150.0, source(": as much as its I/Os carry, without its burst")));
        assert_eq!(of(&burst(1_002)), (250.0, source(": without its burst")));
        // What has no burst is as it was bought.
        assert_eq!(of("600"), (250.0, source("")));
    }
}
