//! The same load on storage whose limits all files share, as the disks of a virtual machine do: how far it could grow on either side, and
//! what breaks first. On Managed Instance each file has limits of its own; there the disks' sum and the machine's cap are for all.

use std::collections::BTreeMap;

use crate::activity::Activity;
use crate::demand::Demand;
use crate::file::{DatabaseFile, FileKind};
use crate::limits::Limits;
use crate::storage::{LimitOf, Storage};

/// Limits that all files share.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Pool {
    /// What it is called: `4 x azure-managed-disk/P30 of E8bds_v5`.
    pub name: String,
    /// Reads and writes a second.
    pub iops: Option<Shared>,
    /// MB (2^20 bytes) a second.
    pub mb_per_s: Option<Shared>,
}

/// A limit that all files share.
#[derive(Debug, Clone, PartialEq)]
pub struct Shared {
    /// How much.
    pub limit: f64,
    /// Whose it is, and who says so.
    pub source: String,
}

/// What breaks first when the load of all files grows alike.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Breaks {
    /// At so many times what was seen; below 1 it is not carried.
    pub factor: f64,
    /// What it is.
    pub what: Bottleneck,
}

/// A limit that is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bottleneck {
    /// That of a file, by its place in the list.
    File(usize, LimitOf),
    /// The rate of the instance's log.
    LogRate,
    /// One that all share.
    Shared(LimitOf),
}

/// Both sides.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Against {
    /// With the present files on the instance.
    pub instance: Option<Breaks>,
    /// On the pool, if all files are busiest at once.
    pub pool: Option<Breaks>,
    /// On the pool, by what all files did together at each time; absent where nobody sampled them.
    pub pool_as_seen: Option<Breaks>,
}

/// Holds both against each other. Files of `tempdb` are on a disk of the machine's own on either side, and do not count.
pub fn against(
    files: &[DatabaseFile],
    activity: &[Activity],
    (storage, limits): (&Storage<'_>, &Limits),
    pool: &Pool,
) -> Against {
    let counts: Vec<usize> = (0..files.len()).filter(|at| !files[*at].is_of_tempdb()).collect();
    let sum =
        |of: fn(&DatabaseFile) -> Option<f64>| counts.iter().filter_map(|at| of(&files[*at])).reduce(|a, b| a + b);
    let seen = |of: fn(&Activity) -> &Demand| {
        let all: Vec<&Demand> = counts.iter().filter_map(|at| activity.get(*at)).map(of).collect();
        highest_together(&all)
    };
    Against {
        instance: on_instance(files, &counts, storage, limits),
        pool: on_pool(pool, sum(|file| file.iops), sum(|file| file.mb_per_s)),
        pool_as_seen: on_pool(pool, seen(|one| &one.iops), seen(|one| &one.mb_per_s)).filter(|_| !activity.is_empty()),
    }
}

fn first(all: impl Iterator<Item = (Option<f64>, Option<f64>, Bottleneck)>) -> Option<Breaks> {
    let breaks = all.filter_map(|(limit, seen, what)| {
        let seen = seen.filter(|seen| *seen > 0.0)?;
        Some(Breaks { factor: limit? / seen, what })
    });
    breaks.min_by(|a, b| a.factor.total_cmp(&b.factor))
}

fn on_instance(files: &[DatabaseFile], counts: &[usize], storage: &Storage<'_>, limits: &Limits) -> Option<Breaks> {
    let of_files = counts.iter().flat_map(|at| {
        let (file, step) = (&files[*at], limits.files.get(*at).and_then(|limits| limits.step.as_ref()));
        [
            (step.and_then(|step| step.iops), file.iops, Bottleneck::File(*at, LimitOf::Iops)),
            (step.and_then(|step| step.mb_per_s), file.mb_per_s, Bottleneck::File(*at, LimitOf::Bandwidth)),
        ]
    });
    let logs = counts.iter().filter(|at| files[**at].kind == FileKind::Log);
    let log: Option<f64> = logs.filter_map(|at| files[*at].mb_per_s).reduce(|a, b| a + b);
    let governor = storage.tier.log_mb_per_second(storage.wishes.vcores);
    first(of_files.chain([(governor, log, Bottleneck::LogRate)]))
}

fn on_pool(pool: &Pool, iops: Option<f64>, mb_per_s: Option<f64>) -> Option<Breaks> {
    let limit = |shared: &Option<Shared>| shared.as_ref().map(|shared| shared.limit);
    first(
        [
            (limit(&pool.iops), iops, Bottleneck::Shared(LimitOf::Iops)),
            (limit(&pool.mb_per_s), mb_per_s, Bottleneck::Shared(LimitOf::Bandwidth)),
        ]
        .into_iter(),
    )
}

/// The highest sum of rates at a time at which all that were there then are known.
fn highest_together(all: &[&Demand]) -> Option<f64> {
    // Intervals of all files lie between the same looks.
    let mut sums: BTreeMap<u64, Option<f64>> = BTreeMap::new();
    for interval in all.iter().flat_map(|demand| &demand.intervals) {
        let at = (interval.start_s * 1e6) as u64;
        let sum = sums.entry(at).or_insert(Some(0.0));
        *sum = sum.zip(interval.rate).map(|(sum, rate)| sum + rate);
    }
    sums.into_values().flatten().reduce(f64::max)
}
