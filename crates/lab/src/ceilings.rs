//! What a lab's figures are held against: the limits of its hardware, as the specification says them and as all on the way
//! let them through together. Only what can be had for ever: a burst is left out, and what a neighbour takes is not taken off.

use plimsoll_hardware::{Limits, Spec};
use plimsoll_measurement::Ceiling;
use plimsoll_measurement::units::MB;

use crate::truth::Device;

/// What a data device's limits are called as ceilings, in the order of the hardware's, and whether they count bytes.
const DATA: [(&str, bool); Limits::KINDS] = [
    ("data_iops", false),
    ("data_read_iops", false),
    ("data_write_iops", false),
    ("data_bandwidth", true),
    ("data_read_bandwidth", true),
    ("data_write_bandwidth", true),
];

/// The ceilings of this hardware, whose volumes are divided by `scale`, with files of so many bytes on it.
pub fn of(spec: &Spec, file_bytes: u64, scale: u64) -> Vec<Ceiling> {
    let source = format!("the lab's hardware, {}", spec.name);
    let with = |note: &str| if note.is_empty() { source.clone() } else { format!("{source}: {note}") };
    let mut ceilings = Vec::new();
    let mut add = |resource: &str, value: Option<f64>, note: &str| {
        ceilings.extend(value.and_then(|value| Ceiling::new(resource, value, with(note))));
    };
    add("cpu", spec.cpu.is_limited().then_some(spec.cpu.cores), "");
    add("client_cpu", spec.client.map(|client| client.cores), "");
    let data = Device::data(spec, file_bytes);
    let (steady, note) = (data.steady(), note_of(&data));
    for ((name, is_bytes), rate) in DATA.into_iter().zip(steady) {
        add(name, rate.map(|rate| if is_bytes { mb(rate) } else { rate }), &note);
    }
    let log = Device::log(spec);
    let (steady, note) = (log.steady(), note_of(&log));
    // A log is only written.
    let writes = |both: usize, writes: usize| steady[both].into_iter().chain(steady[writes]).reduce(f64::min);
    add("log_iops", writes(0, 2), &note);
    add("log_bandwidth", writes(3, 5).map(mb), &note);
    let memory_note = if scale > 1 { format!("at a scale of 1/{scale}") } else { String::new() };
    add("memory", spec.memory.map(|bytes| mb(bytes as f64)), &memory_note);
    add("data", (file_bytes > 0).then(|| mb(file_bytes as f64)), &memory_note);
    ceilings
}

fn mb(bytes: f64) -> f64 {
    bytes / MB as f64
}

/// What a reader of a device's ceilings should know.
fn note_of(device: &Device<'_>) -> String {
    let burst = device.bursts().then_some("without its burst");
    let neighbour = device.neighbour().map(|_| "a neighbour takes from it");
    burst.into_iter().chain(neighbour).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_text(text: &str) -> Vec<(String, f64, String)> {
        let spec = Spec::parse("mine.toml", text).unwrap();
        of(&spec, 0, 1).into_iter().map(|ceiling| (ceiling.resource, ceiling.value, ceiling.source)).collect()
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
        let sources: Vec<_> = of(&spec, 0, 64).into_iter().map(|ceiling| (ceiling.value, ceiling.source)).collect();
        let expected = [
            (100.0, "the lab's hardware, mine: without its burst, a neighbour takes from it"),
            (1.0, "the lab's hardware, mine: at a scale of 1/64"),
        ];
        assert_eq!(sources, expected.map(|(value, source)| (value, source.to_owned())));
    }
}
