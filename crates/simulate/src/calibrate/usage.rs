//! How far the limits of hardware were used by what was simulated on it.

use plimsoll_hardware::{LimitKind, Role};

use super::counted::{Counted, IoCount};
use super::hardware::Hardware;
use crate::server::Resource;

/// How far each resource was used, the most used first.
pub(super) fn resources(hardware: &Hardware, counted: &Counted) -> Vec<Resource> {
    let spec = &hardware.spec;
    let mut all = Vec::new();
    let mut add = |name: &str, unit, limit, used: f64, ceiling: f64| {
        all.push(Resource {
            name: name.to_owned(),
            unit,
            limit,
            used: used / counted.seconds,
            ceiling,
            waited_percent: None,
        });
    };
    if spec.cpu.is_limited() {
        add("CPU", "cores", "cpu", counted.cpu_ns / 1e9, spec.cpu.cores);
    }
    if let Some(client) = spec.client {
        add("the client's CPU", "cores", "client", counted.client_ns / 1e9, client.cores);
    }
    let [reads, writes, log] = counted.io;
    for (role, name, of_reads, of_writes) in
        [(Role::Data, "data", reads, writes), (Role::Log, "log", IoCount::default(), log)]
    {
        for (kind, ceiling) in hardware.limits(role) {
            let sum = |of: fn(&IoCount) -> u64| match kind {
                LimitKind::Iops | LimitKind::Bandwidth => of(&of_reads) + of(&of_writes),
                LimitKind::ReadIops | LimitKind::ReadBandwidth => of(&of_reads),
                LimitKind::WriteIops | LimitKind::WriteBandwidth => of(&of_writes),
            } as f64;
            let (counts, unit, used) = if kind.is_of_bytes() {
                ("bandwidth", "bytes/s", sum(|count| count.bytes))
            } else {
                ("IOPS", "I/Os/s", sum(|count| count.units))
            };
            let limit = match (role, kind.is_of_bytes()) {
                (Role::Log, _) => "log_write",
                (_, true) => "data_bandwidth",
                (_, false) => "data_iops",
            };
            add(&format!("{name}, {counts}"), unit, limit, used, ceiling);
        }
    }
    all.sort_by(|one, other| other.percent().total_cmp(&one.percent()));
    all
}
