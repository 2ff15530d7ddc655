//! A watched group of processes between two readings.

use super::interval::{both, grown, grown_seconds};
use super::limit::{Limit, Limited, Scope};
use crate::host::{Cgroup, GroupSnapshot, IoGroup, IoLimit, MemoryGroup};

/// A group of processes. Between other processes of the same name, as after a restart of the server, there is a gap in everything.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GroupDelta {
    /// Its name.
    pub name: String,
    /// CPUs at work for them.
    pub used_cpus: Option<f64>,
    /// Threads of theirs that waited for a CPU, on average.
    pub waiting_threads: Option<f64>,
    /// Its limits, which all that share them have together.
    pub limits: Vec<Limit>,
    /// What each group with limits of I/O did at their devices in a second, as the limits count it: others at the device, as a file system's
    /// journal, are not held by them.
    pub done: Vec<Limit>,
    /// For each CPU quota the periods in which it was used up, in percent of those in which somebody was ready to run; `None`
    /// also if there were none.
    pub throttled_percent: Vec<Option<f64>>,
    /// The lowest limit of its memory, with what was used of it at the end.
    pub memory: Option<MemoryGroup>,
}

pub(super) fn groups(before: &[GroupSnapshot], after: &[GroupSnapshot]) -> Vec<GroupDelta> {
    let find = |among: &[GroupSnapshot], name: &str| among.iter().position(|group| group.name == name);
    let gap = |name: &str| GroupDelta { name: name.to_owned(), ..GroupDelta::default() };
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

fn group(before: &GroupSnapshot, after: &GroupSnapshot) -> GroupDelta {
    let processes = both(&before.processes, &after.processes);
    let affinity = after.allowed_cpus.as_ref().ok().map(|allowed| Limit {
        limited: Limited::Cpus,
        scope: Scope::Affinity,
        value: f64::from(allowed.value),
    });
    GroupDelta {
        name: after.name.clone(),
        used_cpus: processes
            .and_then(|(seconds, old, new)| Some(grown_seconds(old.cpu_seconds, new.cpu_seconds)? / seconds)),
        waiting_threads: processes
            .and_then(|(seconds, old, new)| Some(grown_seconds(old.waited_seconds, new.waited_seconds)? / seconds)),
        limits: affinity.into_iter().chain(limits(&after.cgroup)).collect(),
        done: done(&before.cgroup, &after.cgroup),
        throttled_percent: throttled_percent(&before.cgroup, &after.cgroup),
        memory: memory(&after.cgroup),
    }
}

fn done(before: &Cgroup, after: &Cgroup) -> Vec<Limit> {
    let Some((seconds, olds, news)) = both(&before.io, &after.io) else { return Vec::new() };
    let of_group = |new: &IoGroup| -> Vec<Limit> {
        let Some(old) = olds.iter().find(|old| old.path == new.path) else { return Vec::new() };
        let is_limited =
            |one: &&IoLimit| new.limits.iter().any(|limit| (limit.device, limit.kind) == (one.device, one.kind));
        let rate = |one: &IoLimit| {
            // What was never done before has no line.
            let same = old.done.iter().find(|same| (same.device, same.kind) == (one.device, one.kind));
            let value = grown(same.map_or(0, |same| same.value), one.value)? / seconds;
            let scope = Scope::CgroupDevice(new.path.clone(), one.device);
            Some(Limit { limited: Limited::Io(one.kind), scope, value })
        };
        new.done.iter().filter(is_limited).filter_map(rate).collect()
    };
    news.iter().flat_map(of_group).collect()
}

fn limits(cgroup: &Cgroup) -> impl Iterator<Item = Limit> {
    let cpu = cgroup.cpu.iter().flat_map(|sampled| &sampled.value).filter_map(|group| {
        let scope = Scope::Cgroup(group.path.clone());
        Some(Limit { limited: Limited::Cpus, scope, value: group.limit_cpus? })
    });
    let io = cgroup.io.iter().flat_map(|sampled| &sampled.value).flat_map(|group| {
        group.limits.iter().map(|limit| Limit {
            limited: Limited::Io(limit.kind),
            scope: Scope::CgroupDevice(group.path.clone(), limit.device),
            value: limit.value as f64,
        })
    });
    cpu.chain(io)
}

fn memory(cgroup: &Cgroup) -> Option<MemoryGroup> {
    let groups = cgroup.memory.iter().flat_map(|sampled| &sampled.value);
    groups.filter(|group| group.limit_bytes.is_some()).min_by_key(|group| group.limit_bytes).cloned()
}

fn throttled_percent(before: &Cgroup, after: &Cgroup) -> Vec<Option<f64>> {
    let Some((_, olds, news)) = both(&before.cpu, &after.cpu) else { return Vec::new() };
    let limited = news.iter().filter(|new| new.limit_cpus.is_some());
    limited
        .filter_map(|new| {
            let old = olds.iter().find(|old| old.path == new.path)?;
            let periods = grown(old.periods, new.periods).filter(|periods| *periods > 0.0);
            let throttled = grown(old.throttled_periods, new.throttled_periods);
            Some(throttled.zip(periods).map(|(throttled, periods)| (100.0 * throttled / periods).min(100.0)))
        })
        .collect()
}
