//! A watched group of processes between two readings.

use super::interval::{Interval, both, grown, grown_seconds};
use super::limit::{LimitUse, Limited, Scope};
use super::machine::{PressureDelta, pressure};
use crate::host::{Cgroup, CpuGroup, GroupSnapshot, IoGroup, Source};

/// CPU of the processes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GroupCpu {
    /// When.
    pub interval: Interval,
    /// CPUs at work for them.
    pub used_cpus: Option<f64>,
    /// Of these, in the kernel.
    pub system_cpus: Option<f64>,
}

/// Device bytes of the processes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GroupIo {
    /// When.
    pub interval: Interval,
    /// Bytes fetched from devices in a second.
    pub read_bytes_per_second: Option<f64>,
    /// Bytes sent to devices in a second.
    pub write_bytes_per_second: Option<f64>,
}

/// Context switches of the processes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GroupSwitches {
    /// When.
    pub interval: Interval,
    /// Because a thread had to wait for something, in a second.
    pub voluntary_per_second: Option<f64>,
    /// Because a thread had to let another run, in a second.
    pub involuntary_per_second: Option<f64>,
}

/// How a CPU quota held a control group back.
#[derive(Debug, Clone, PartialEq)]
pub struct Throttling {
    /// The group that has the quota.
    pub path: String,
    /// When.
    pub interval: Interval,
    /// Periods in which the quota was used up, in percent of those in which somebody was ready to run; `None` also if there were none.
    pub periods_percent: Option<f64>,
    /// CPUs that would have worked but for the quota, on average.
    pub waiting_cpus: Option<f64>,
}

/// How often a control group came to its limits of memory.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryHits {
    /// The group.
    pub path: String,
    /// When.
    pub interval: Interval,
    /// It reached its limit, in a second.
    pub limit_hits_per_second: Option<f64>,
    /// It was slowed down as it was above its high mark, in a second.
    pub high_hits_per_second: Option<f64>,
    /// Processes were killed for want of memory, in all.
    pub kills: Option<f64>,
}

/// A group of processes. Between other processes of the same name, as after a restart of the server, there is a gap in everything.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupDelta {
    /// Its name.
    pub name: String,
    /// CPU.
    pub cpu: Option<GroupCpu>,
    /// Device bytes.
    pub io: Option<GroupIo>,
    /// Context switches.
    pub switches: Option<GroupSwitches>,
    /// Its limits, and what was used of each by all that share it.
    pub limits: Vec<LimitUse>,
    /// For each CPU quota, how it held back.
    pub throttling: Vec<Throttling>,
    /// For each limit of memory, how often it was met.
    pub memory_hits: Vec<MemoryHits>,
    /// Stalls of its control group.
    pub pressure: Option<PressureDelta>,
}

pub(super) fn groups(before: &[GroupSnapshot], after: &[GroupSnapshot]) -> Vec<GroupDelta> {
    let find = |among: &[GroupSnapshot], name: &str| among.iter().position(|group| group.name == name);
    let mut deltas: Vec<GroupDelta> = after
        .iter()
        .map(|new| {
            let old = find(before, &new.name).map(|at| &before[at]);
            match old.filter(|old| !new.roots.is_empty() && old.roots == new.roots) {
                Some(old) => group(old, new),
                None => gap(&new.name),
            }
        })
        .collect();
    deltas.extend(before.iter().filter(|old| find(after, &old.name).is_none()).map(|old| gap(&old.name)));
    deltas
}

fn gap(name: &str) -> GroupDelta {
    GroupDelta {
        name: name.to_owned(),
        cpu: None,
        io: None,
        switches: None,
        limits: Vec::new(),
        throttling: Vec::new(),
        memory_hits: Vec::new(),
        pressure: None,
    }
}

fn group(before: &GroupSnapshot, after: &GroupSnapshot) -> GroupDelta {
    let cpu = both(&before.processes, &after.processes).map(|(interval, old, new)| GroupCpu {
        interval,
        used_cpus: interval.rate(grown_seconds(old.cpu_seconds(), new.cpu_seconds())),
        system_cpus: interval.rate(grown_seconds(old.system_seconds, new.system_seconds)),
    });
    let io = both(&before.io, &after.io).map(|(interval, old, new)| GroupIo {
        interval,
        read_bytes_per_second: interval.rate(grown(old.read_bytes, new.read_bytes)),
        write_bytes_per_second: interval.rate(grown(old.write_bytes, new.write_bytes)),
    });
    let switches = both(&before.switches, &after.switches).map(|(interval, old, new)| GroupSwitches {
        interval,
        voluntary_per_second: interval.rate(grown(old.voluntary, new.voluntary)),
        involuntary_per_second: interval.rate(grown(old.involuntary, new.involuntary)),
    });
    let mut limits = Vec::new();
    if let Ok(allowed) = &after.allowed_cpus {
        let before = before.allowed_cpus.as_ref().ok().map(|allowed| allowed.value);
        limits.push(LimitUse {
            limited: Limited::Cpus,
            scope: Scope::Affinity,
            limit: f64::from(allowed.value),
            used: cpu.and_then(|cpu| cpu.used_cpus).filter(|_| before == Some(allowed.value)),
        });
    }
    limits.extend(cpu_limits(&before.cgroup, &after.cgroup));
    limits.extend(memory_limits(&after.cgroup));
    limits.extend(io_limits(&before.cgroup, &after.cgroup));
    GroupDelta {
        name: after.name.clone(),
        cpu,
        io,
        switches,
        limits,
        throttling: throttling(&before.cgroup, &after.cgroup),
        memory_hits: memory_hits(&before.cgroup, &after.cgroup),
        pressure: pressure(&before.cgroup.pressure, &after.cgroup.pressure),
    }
}

/// Each control group of the later reading, with what it was in the earlier one and the time between, where there is that.
fn levels<'s, T>(
    before: &'s Source<Vec<T>>,
    after: &'s Source<Vec<T>>,
    path: fn(&T) -> &str,
) -> impl Iterator<Item = (Option<(Interval, &'s T)>, &'s T)> {
    let pair = both(before, after);
    after.iter().flat_map(|sampled| &sampled.value).map(move |new| {
        let old = pair.and_then(|(interval, old, _)| Some((interval, old.iter().find(|old| path(old) == path(new))?)));
        (old, new)
    })
}

fn cpu_limits(before: &Cgroup, after: &Cgroup) -> Vec<LimitUse> {
    let limit = |(old, new): (Option<(Interval, &CpuGroup)>, &CpuGroup)| {
        let used = old.filter(|(_, old)| old.limit_cpus == new.limit_cpus);
        Some(LimitUse {
            limited: Limited::Cpus,
            scope: Scope::Cgroup(new.path.clone()),
            limit: new.limit_cpus?,
            used: used.and_then(|(interval, old)| interval.rate(grown_seconds(old.used_seconds, new.used_seconds))),
        })
    };
    levels(&before.cpu, &after.cpu, |group| &group.path).filter_map(limit).collect()
}

/// Memory in use is of now, so it needs no earlier reading.
fn memory_limits(after: &Cgroup) -> Vec<LimitUse> {
    let groups = after.memory.iter().flat_map(|sampled| &sampled.value);
    groups
        .filter_map(|group| {
            Some(LimitUse {
                limited: Limited::MemoryBytes,
                scope: Scope::Cgroup(group.path.clone()),
                limit: group.limit_bytes? as f64,
                used: group.used_bytes.map(|bytes| bytes as f64),
            })
        })
        .collect()
}

fn io_limits(before: &Cgroup, after: &Cgroup) -> Vec<LimitUse> {
    let limits_of = |(old, new): (Option<(Interval, &IoGroup)>, &IoGroup)| -> Vec<LimitUse> {
        let limits = new.limits.iter().map(|limit| {
            let same = old.filter(|(_, old)| old.limits.contains(limit));
            let done = |group: &IoGroup| group.done_at(limit.device, limit.kind);
            LimitUse {
                limited: Limited::Io(limit.kind),
                scope: Scope::CgroupDevice(new.path.clone(), limit.device),
                limit: limit.value as f64,
                used: same.and_then(|(interval, old)| interval.rate(grown(done(old), done(new)))),
            }
        });
        limits.collect()
    };
    levels(&before.io, &after.io, |group| &group.path).flat_map(limits_of).collect()
}

fn throttling(before: &Cgroup, after: &Cgroup) -> Vec<Throttling> {
    let limited = levels(&before.cpu, &after.cpu, |group| &group.path).filter(|(_, new)| new.limit_cpus.is_some());
    limited
        .filter_map(|(old, new)| {
            let (interval, old) = old?;
            let periods = grown(old.periods, new.periods).filter(|periods| *periods > 0.0);
            let throttled = grown(old.throttled_periods, new.throttled_periods);
            Some(Throttling {
                path: new.path.clone(),
                interval,
                periods_percent: throttled
                    .zip(periods)
                    .map(|(throttled, periods)| (100.0 * throttled / periods).min(100.0)),
                waiting_cpus: interval.rate(grown_seconds(old.throttled_seconds, new.throttled_seconds)),
            })
        })
        .collect()
}

fn memory_hits(before: &Cgroup, after: &Cgroup) -> Vec<MemoryHits> {
    levels(&before.memory, &after.memory, |group| &group.path)
        .filter(|(_, new)| new.limit_bytes.or(new.high_bytes).is_some())
        .filter_map(|(old, new)| {
            let (interval, old) = old?;
            Some(MemoryHits {
                path: new.path.clone(),
                interval,
                limit_hits_per_second: interval.rate(grown(old.limit_hits, new.limit_hits)),
                high_hits_per_second: interval.rate(grown(old.high_hits, new.high_hits)),
                kills: grown(old.kills, new.kills),
            })
        })
        .collect()
}
