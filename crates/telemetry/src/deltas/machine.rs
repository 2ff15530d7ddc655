//! The whole machine between two readings.

use super::interval::{both, grown, grown_seconds, percent};
use crate::host::{CpuTimes, DeviceNumber, DiskCounters, InterfaceCounters, Source};

/// CPUs. What is in CPUs is time of all of them for a second of the interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CpuDelta {
    /// CPUs that are online; `None` if that changed meanwhile.
    pub cpus: Option<u32>,
    /// CPUs at work for programs.
    pub user_cpus: Option<f64>,
    /// CPUs at work in the kernel.
    pub system_cpus: Option<f64>,
    /// CPUs at work for interrupts, of those.
    pub interrupt_cpus: Option<f64>,
    /// CPUs that the hypervisor gave to others while somebody here was ready.
    pub steal_cpus: Option<f64>,
    /// CPUs at work, in percent of those there are.
    pub busy_percent: Option<f64>,
}

impl CpuDelta {
    /// CPUs at work.
    pub fn busy_cpus(&self) -> Option<f64> {
        Some(self.user_cpus? + self.system_cpus?)
    }
}

pub(super) fn cpu(before: &Source<CpuTimes>, after: &Source<CpuTimes>) -> Option<CpuDelta> {
    let (seconds, old, new) = both(before, after)?;
    let cpus = new.cpus.filter(|_| new.cpus == old.cpus);
    let rate = |of: fn(&CpuTimes) -> Option<f64>| Some(grown_seconds(of(old), of(new))? / seconds);
    let mut delta = CpuDelta {
        cpus,
        user_cpus: rate(|times| Some(times.user_seconds)),
        system_cpus: rate(|times| Some(times.system_seconds)),
        interrupt_cpus: rate(|times| Some(times.interrupt_seconds)),
        steal_cpus: rate(|times| times.steal_seconds),
        busy_percent: None,
    };
    // Times are counted in ticks, so a busy machine might show a little more than all it has.
    delta.busy_percent = delta.busy_cpus().zip(cpus).map(|(busy, cpus)| (100.0 * busy / f64::from(cpus)).min(100.0));
    Some(delta)
}

/// A block device. All is `None` for one that was not there all the time, or that was made anew.
#[derive(Debug, Clone, PartialEq)]
pub struct DiskDelta {
    /// Its name.
    pub name: String,
    /// Its number.
    pub device: DeviceNumber,
    /// Reads in a second.
    pub read_iops: Option<f64>,
    /// Writes in a second.
    pub write_iops: Option<f64>,
    /// Bytes read in a second.
    pub read_bytes_per_second: Option<f64>,
    /// Bytes written in a second.
    pub write_bytes_per_second: Option<f64>,
    /// Time in which at least one request was open. A device that does several at once may have much left at 100 %.
    pub utilisation_percent: Option<f64>,
    /// Requests that were open, on average.
    pub mean_queue: Option<f64>,
    /// Mean time of a read from its queue to its end; `None` also if there was none.
    pub read_await_ms: Option<f64>,
    /// Mean time of a write; `None` also if there was none.
    pub write_await_ms: Option<f64>,
}

pub(super) fn disks(before: &Source<Vec<DiskCounters>>, after: &Source<Vec<DiskCounters>>) -> Vec<DiskDelta> {
    let same = |a: &DiskCounters, b: &DiskCounters| (&a.name, a.device) == (&b.name, b.device);
    matched(before, after, same, disk)
}

fn disk(any: &DiskCounters, known: Known<'_, DiskCounters>) -> DiskDelta {
    let known = known.filter(|(_, old, new)| {
        // These are 64 bits wide and never wrap: if one went backwards, it is another device.
        let counts = |disk: &DiskCounters| [disk.reads, disk.writes, disk.read_bytes, disk.write_bytes];
        counts(old).iter().zip(counts(new)).all(|(old, new)| new >= *old)
    });
    let count = |of: fn(&DiskCounters) -> u64| known.and_then(|(_, old, new)| grown(of(old), of(new)));
    let time = |of: fn(&DiskCounters) -> Option<f64>| known.and_then(|(_, old, new)| grown_seconds(of(old), of(new)));
    let rate = |growth: Option<f64>| Some(growth? / known?.0);
    let each_ms = |seconds: Option<f64>, count: Option<f64>| Some(1e3 * seconds? / count.filter(|count| *count > 0.0)?);
    let (reads, writes) = (count(|disk| disk.reads), count(|disk| disk.writes));
    DiskDelta {
        name: any.name.clone(),
        device: any.device,
        read_iops: rate(reads),
        write_iops: rate(writes),
        read_bytes_per_second: rate(count(|disk| disk.read_bytes)),
        write_bytes_per_second: rate(count(|disk| disk.write_bytes)),
        utilisation_percent: known.and_then(|(seconds, ..)| percent(time(|disk| disk.busy_seconds), seconds)),
        mean_queue: rate(time(|disk| disk.weighted_seconds)),
        read_await_ms: each_ms(time(|disk| disk.read_seconds), reads),
        write_await_ms: each_ms(time(|disk| disk.write_seconds), writes),
    }
}

/// A network interface. All is `None` for one that was not there all the time, or that was made anew.
#[derive(Debug, Clone, PartialEq)]
pub struct InterfaceDelta {
    /// Its name.
    pub name: String,
    /// True for the one that leads back to this machine.
    pub loopback: bool,
    /// Bytes received in a second.
    pub received_bytes_per_second: Option<f64>,
    /// Bytes sent in a second.
    pub sent_bytes_per_second: Option<f64>,
}

pub(super) fn interfaces(
    before: &Source<Vec<InterfaceCounters>>,
    after: &Source<Vec<InterfaceCounters>>,
) -> Vec<InterfaceDelta> {
    matched(before, after, |a, b| a.name == b.name, interface)
}

fn interface(any: &InterfaceCounters, known: Known<'_, InterfaceCounters>) -> InterfaceDelta {
    let known =
        known.filter(|(_, old, new)| new.received_bytes >= old.received_bytes && new.sent_bytes >= old.sent_bytes);
    let rate =
        |of: fn(&InterfaceCounters) -> u64| known.and_then(|(time, old, new)| Some(grown(of(old), of(new))? / time));
    InterfaceDelta {
        name: any.name.clone(),
        loopback: any.loopback,
        received_bytes_per_second: rate(|counters| counters.received_bytes),
        sent_bytes_per_second: rate(|counters| counters.sent_bytes),
    }
}

/// A thing before and after so many seconds; `None` unless it was there on both sides.
type Known<'s, T> = Option<(f64, &'s T, &'s T)>;

/// Makes a delta of everything that was on either side, as it was last, in the order of the later one.
fn matched<T, D>(
    before: &Source<Vec<T>>,
    after: &Source<Vec<T>>,
    same: fn(&T, &T) -> bool,
    delta: fn(&T, Known<'_, T>) -> D,
) -> Vec<D> {
    let seconds = both(before, after).map(|(seconds, ..)| seconds);
    let (olds, news) = (listed(before), listed(after));
    let known = |new: &&T| {
        let old = olds.iter().find(|old| same(old, new));
        delta(new, seconds.zip(old).map(|(seconds, old)| (seconds, *old, *new)))
    };
    let mut deltas: Vec<D> = news.iter().map(known).collect();
    let gone = olds.iter().filter(|old| !news.iter().any(|new| same(new, old)));
    deltas.extend(gone.map(|old| delta(old, None)));
    deltas
}

fn listed<T>(source: &Source<Vec<T>>) -> Vec<&T> {
    source.iter().flat_map(|sampled| &sampled.value).collect()
}
