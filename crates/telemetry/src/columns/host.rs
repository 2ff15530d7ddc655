//! Columns of what the machine said: its CPUs, the devices of the data and of the log, its network, and the CPU of the server and of
//! ourselves.

use plimsoll_measurement::SampleColumn;

use super::pieces::column;
use crate::deltas::{DiskDelta, HostDelta, InterfaceDelta, Limit, Limited, Scope};
use crate::host::{DeviceNumber, IoKind, Snapshot};
use crate::look::Look;
use crate::placed::{self, DISK, Devices};

/// The name of the group of our own process.
pub const CLIENT: &str = "client";
/// The name of the group of the server's processes.
pub const SERVER: &str = "server";

const PER_MB: f64 = 1.0 / (1 << 20) as f64;

type Of<T> = (&'static str, &'static str, fn(&T) -> Option<f64>);

/// What a control group may limit of a device.
const LIMITED: [(&str, IoKind, f64); 4] = [
    ("reads", IoKind::Reads, 1.0),
    ("writes", IoKind::Writes, 1.0),
    ("read_rate", IoKind::ReadBytes, PER_MB),
    ("write_rate", IoKind::WriteBytes, PER_MB),
];

/// What the server's control group did at a device, where it has a limit of that: it is what the limit counts. The tightest counts where
/// several do.
fn of_group(host: &HostDelta, device: DeviceNumber, metric: &str) -> Option<f64> {
    let (_, kind, unit) = LIMITED.iter().find(|(name, ..)| *name == metric)?;
    let server = host.groups.iter().find(|group| group.name == SERVER)?;
    let is_it = |one: &&Limit| {
        let at = matches!(&one.scope, Scope::CgroupDevice(_, of) if *of == device);
        at && one.limited == Limited::Io(*kind)
    };
    let tightest = server.limits.iter().filter(is_it).min_by(|a, b| a.value.total_cmp(&b.value))?;
    let done = server.done.iter().filter(is_it).find(|done| done.scope == tightest.scope)?;
    Some(done.value * unit)
}

/// What is told of a device, each behind [`DISK`] or [`LOG_DISK`].
const OF_DISK: [Of<DiskDelta>; 8] = [
    ("busy", "%", |disk| disk.utilisation_percent),
    ("reads", "1/s", |disk| disk.read_iops),
    ("writes", "1/s", |disk| disk.write_iops),
    ("read_rate", "MB/s", |disk| Some(disk.read_bytes_per_second? * PER_MB)),
    ("write_rate", "MB/s", |disk| Some(disk.write_bytes_per_second? * PER_MB)),
    ("queue", "requests", |disk| disk.mean_queue),
    ("read_latency", "ms", |disk| disk.read_await_ms),
    ("write_latency", "ms", |disk| disk.write_await_ms),
];

const MACHINE: [Of<HostDelta>; 5] = [
    ("machine_cpu", "%", |host| host.cpu.as_ref()?.busy_percent),
    ("stolen_cpu", "cores", |host| host.cpu.as_ref()?.steal_cpus),
    ("io_stall", "%", |host| host.io_stall_percent),
    ("network_received", "MB/s", |host| network(host, |interface| interface.received_bytes_per_second)),
    ("network_sent", "MB/s", |host| network(host, |interface| interface.sent_bytes_per_second)),
];

/// What all interfaces but the one that leads back here did together.
fn network(host: &HostDelta, of: fn(&InterfaceDelta) -> Option<f64>) -> Option<f64> {
    let outer: Vec<&InterfaceDelta> = host.interfaces.iter().filter(|interface| !interface.loopback).collect();
    let known: Vec<f64> = outer.iter().filter_map(|interface| of(interface)).collect();
    (!known.is_empty()).then(|| known.iter().sum::<f64>() * PER_MB)
}

/// CPUs at work for the processes that are not watched. Where the kernel doesn't show its own threads, for those too.
fn others(host: &HostDelta) -> Option<f64> {
    let cpu = host.cpu.as_ref()?;
    let of_processes = cpu.busy_cpus()? - cpu.interrupt_cpus?;
    let of_kernel = if host.shows_kernel { host.kernel_cpus? } else { 0.0 };
    // They are read one after the other.
    Some((of_processes - watched(host)? - of_kernel).max(0.0))
}

/// CPUs at work for the kernel itself: its own threads, as those that write to disks, and interrupts.
fn kernel(host: &HostDelta) -> Option<f64> {
    Some((host.cpu.as_ref()?.busy_cpus()? - watched(host)? - others(host)?).max(0.0))
}

/// CPUs at work for the watched processes.
fn watched(host: &HostDelta) -> Option<f64> {
    host.groups.iter().map(|group| group.used_cpus).sum()
}

/// All columns, those without a value too.
pub(super) fn columns(looks: &[&Look]) -> Vec<SampleColumn> {
    let snapshots: Vec<Option<&Snapshot>> = looks.iter().map(|look| look.host.as_ref()).collect();
    if snapshots.iter().all(Option::is_none) {
        return Vec::new();
    }
    let deltas: Vec<Option<HostDelta>> =
        snapshots.windows(2).map(|pair| Some(HostDelta::between(pair[0]?, pair[1]?))).collect();
    let values = |of: &dyn Fn(&HostDelta) -> Option<f64>| deltas.iter().map(|delta| of(delta.as_ref()?)).collect();
    let mut columns: Vec<SampleColumn> =
        MACHINE.iter().map(|(metric, unit, of)| column(metric, "host", unit, values(of))).collect();
    for (group, cpu, queued, throttled) in [
        (SERVER, "server_cpu", "server_cpu_queue", "server_throttled"),
        (CLIENT, "client_cpu", "client_cpu_queue", "client_throttled"),
    ] {
        let find = |host: &HostDelta| host.groups.iter().find(|found| found.name == group).cloned();
        columns.push(column(cpu, "host", "cores", values(&|host| find(host)?.used_cpus)));
        columns.push(column(queued, "host", "threads", values(&|host| find(host)?.waiting_threads)));
        let held_back = |host: &HostDelta| find(host)?.throttled_percent.into_iter().flatten().reduce(f64::max);
        columns.push(column(throttled, "host", "%", values(&held_back)));
    }
    let memory = |host: &HostDelta| {
        let server = host.groups.iter().find(|found| found.name == SERVER)?;
        Some(server.memory.as_ref()?.used_bytes? as f64 * PER_MB)
    };
    columns.push(column("server_memory", "host", "MB", values(&memory)));
    columns.push(column("other_cpu", "host", "cores", values(&others)));
    columns.push(column("kernel_cpu", "host", "cores", values(&kernel)));
    for (prefix, name) in disks(&snapshots) {
        let find = |host: &HostDelta| host.disks.iter().find(|disk| disk.name == name).cloned();
        columns.extend(OF_DISK.iter().map(|(metric, unit, of)| SampleColumn {
            of: Some(name.clone()),
            ..column(
                &format!("{prefix}_{metric}"),
                "host",
                unit,
                values(&|host| {
                    let disk = find(host)?;
                    of_group(host, disk.device, metric).or_else(|| of(&disk))
                }),
            )
        }));
    }
    columns
}

/// The names of the devices that have columns, with the beginning of their names.
fn disks(snapshots: &[Option<&Snapshot>]) -> Vec<(&'static str, String)> {
    let mut known = snapshots.iter().flatten();
    let Some((first, last)) = known.next().zip(known.next_back()) else { return Vec::new() };
    let delta = HostDelta::between(first, last);
    // Where the server is on this machine, what it is held to counts.
    let has_server = delta.groups.iter().any(|group| group.name == SERVER);
    let groups = delta.groups.iter().filter(|group| !has_server || group.name == SERVER);
    let limits: Vec<&Limit> = groups.flat_map(|group| &group.limits).collect();
    let devices = placed::devices(&last.placed, &limits);
    if devices == Devices::Unknown(None) {
        return busiest_of(&delta.disks).map(|disk| (DISK, disk.name.clone())).into_iter().collect();
    }
    delta.disks.iter().filter_map(|disk| Some((devices.prefix(disk.device)?, disk.name.clone()))).collect()
}

/// The device that was busy for the longest time. Of a disk and its part the disk, which is listed first.
fn busiest_of(disks: &[DiskDelta]) -> Option<&DiskDelta> {
    let mut best: Option<(f64, &DiskDelta)> = None;
    for disk in disks {
        let busy = disk.utilisation_percent.unwrap_or(0.0);
        if busy > best.map_or(0.0, |(most, _)| most) {
            best = Some((busy, disk));
        }
    }
    best.map(|(_, disk)| disk)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deltas::CpuDelta;
    use crate::host::DeviceNumber;

    #[test]
    fn what_nobody_watched_used_is_others_or_the_kernels() {
        let cpu = CpuDelta {
            cpus: Some(4),
            user_cpus: Some(1.0),
            system_cpus: Some(2.0),
            interrupt_cpus: Some(0.25),
            steal_cpus: None,
            busy_percent: None,
        };
        let mut host = HostDelta {
            cpu: Some(cpu),
            kernel_cpus: Some(0.5),
            shows_kernel: true,
            disks: Vec::new(),
            interfaces: Vec::new(),
            io_stall_percent: None,
            cpus: None,
            groups: Vec::new(),
        };
        assert_eq!((others(&host), kernel(&host)), (Some(2.25), Some(0.75)));
        host.kernel_cpus = None;
        assert_eq!((others(&host), kernel(&host)), (None, None), "they were not read this time");
        host.shows_kernel = false;
        assert_eq!((others(&host), kernel(&host)), (Some(2.75), Some(0.25)));
    }

    #[test]
    fn where_nobody_knows_more_the_busiest_disk_is_told() {
        let disk = |name: &str, minor, busy| DiskDelta {
            name: name.to_owned(),
            device: DeviceNumber { major: 8, minor },
            read_iops: None,
            write_iops: None,
            read_bytes_per_second: None,
            write_bytes_per_second: None,
            utilisation_percent: busy,
            mean_queue: None,
            read_await_ms: None,
            write_await_ms: None,
        };
        let disks = [disk("idle", 0, Some(0.0)), disk("busy", 1, Some(40.0)), disk("slow", 2, Some(0.4))];
        assert_eq!(busiest_of(&disks).map(|disk| disk.name.as_str()), Some("busy"));
        assert_eq!(busiest_of(&disks[..1]).map(|disk| &disk.name), None);
    }
}
