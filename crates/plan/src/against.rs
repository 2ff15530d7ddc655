//! The same load on storage whose limits all files share, as the disks of a virtual machine do: how far it could grow on either side, and
//! what breaks first. On Managed Instance each file has limits of its own; there the disks' sum and the machine's cap are for all.

use std::collections::BTreeMap;

use crate::activity::Activity;
use crate::demand::Interval;
use crate::file::{DatabaseFile, FileKind};
use crate::limits::Limits;
use crate::storage::{LimitOf, Storage};

const MB: f64 = (1 << 20) as f64;

/// Limits that all files share.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Pool {
    /// What it is called: `4 x azure-managed-disk/P30 of E8bds_v5`.
    pub name: String,
    /// Reads and writes a second.
    pub iops: Option<Shared>,
    /// MB (2^20 bytes) a second.
    pub mb_per_s: Option<Shared>,
    /// What the disks hold, in GB.
    pub holds_gb: Option<f64>,
}

/// A limit that all files share.
#[derive(Debug, Clone, PartialEq)]
pub struct Shared {
    /// How much.
    pub limit: f64,
    /// Whose it is, and who says so.
    pub source: String,
    /// An operation of more bytes counts as several; absent where each counts as one. That a stripe cuts it sooner is left out, so what is counted
    /// is the least.
    pub io_bytes: Option<u64>,
}

impl Shared {
    /// Operations as this limit counts them: at least so many.
    fn counted(&self, iops: f64, mb_per_s: Option<f64>) -> f64 {
        let cut = self.io_bytes.zip(mb_per_s).map_or(0.0, |(bytes, rate)| rate * MB / bytes.max(1) as f64);
        iops.max(cut)
    }
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
    /// What the files take that would be on the pool, in GB.
    pub files_gb: f64,
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
    let as_pool = |iops: Option<f64>, mb_per_s: Option<f64>| {
        let iops = iops?;
        Some(pool.iops.as_ref().map_or(iops, |shared| shared.counted(iops, mb_per_s)))
    };
    let sum =
        |of: &dyn Fn(&DatabaseFile) -> Option<f64>| counts.iter().filter_map(|at| of(&files[*at])).reduce(|a, b| a + b);
    let sampled: Vec<&Activity> = counts.iter().filter_map(|at| activity.get(*at)).collect();
    let iops = sampled.iter().flat_map(|one| {
        let both = one.iops.intervals.iter().zip(&one.mb_per_s.intervals);
        both.map(|(iops, mb)| Interval { rate: as_pool(iops.rate, mb.rate), ..*iops })
    });
    let mb_per_s = sampled.iter().flat_map(|one| one.mb_per_s.intervals.iter().copied());
    let pool_as_seen = on_pool(pool, highest_together(iops), highest_together(mb_per_s));
    Against {
        files_gb: counts.iter().map(|at| files[*at].size_gb).sum(),
        instance: on_instance(files, &counts, storage, limits),
        pool: on_pool(pool, sum(&|file| as_pool(file.iops, file.mb_per_s)), sum(&|file| file.mb_per_s)),
        pool_as_seen,
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
    let log: Option<f64> = logs.filter_map(|at| files[*at].grew_mb_per_s()).reduce(|a, b| a + b);
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

/// The highest sum of rates at a time at which those of all that were there then are known.
fn highest_together(all: impl Iterator<Item = Interval>) -> Option<f64> {
    // Intervals of all files lie between the same looks, and a gap may be as long as several.
    let mut sums: BTreeMap<u64, f64> = BTreeMap::new();
    let mut gaps = Vec::new();
    for interval in all {
        let micros = |seconds: f64| (seconds * 1e6).round() as u64;
        match interval.rate {
            Some(rate) => *sums.entry(micros(interval.start_s)).or_default() += rate,
            None => gaps.push(micros(interval.start_s)..micros(interval.start_s + interval.seconds)),
        }
    }
    let is_known = |at: &u64| !gaps.iter().any(|gap| gap.contains(at));
    sums.into_iter().filter(|(at, _)| is_known(at)).map(|(_, sum)| sum).reduce(f64::max)
}
