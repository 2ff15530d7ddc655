//! What holds an instance back, by what its sessions wait for, how long reads and writes take, and how busy its CPU is.

use crate::advice::{AT_LIMIT_PERCENT, Advice, Finding, of};
use crate::file::{DatabaseFile, FileKind};
use crate::gain::UNTHROTTLED_MS;
use crate::limits::Limits;

/// The most that a read or write of this storage takes below its limits, in ms.
pub const NORMAL_MS: f64 = UNTHROTTLED_MS[1];

/// From hundreds of ms on it is throttled, by the same article.
pub const THROTTLED_MS: f64 = 100.0;

/// What was seen of an instance beside its files; absent where nobody looked.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Observed {
    /// What sessions waited for.
    pub waits: Option<WaitShares>,
    /// How much of its CPU was used, in percent.
    pub cpu_percent: Option<f64>,
}

/// Shares of the time that sessions waited for anything, in percent. The server's own threads that wait for work do not count.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct WaitShares {
    /// Pages of data files: `PAGEIOLATCH`.
    pub data: f64,
    /// The log: `WRITELOG`.
    pub log: f64,
    /// The governor of the log's rate: `INSTANCE_LOG_RATE_GOVERNOR`.
    pub governor: f64,
}

/// What the waits, the times and the CPU say.
pub(super) fn diagnose(
    files: &[DatabaseFile],
    limits: &Limits,
    observed: &Observed,
    at_limit: &[usize],
) -> Vec<Advice> {
    let mut all = Vec::new();
    let busy = observed.cpu_percent.filter(|percent| *percent >= AT_LIMIT_PERCENT);
    all.extend(busy.and_then(|percent| of("cpu-first", Vec::new(), Finding::Cpu { percent })));
    all.extend(observed.waits.and_then(|waits| by_waits(files, &waits)));
    let slow = |at: usize| {
        let (file, limits) = (&files[at], limits.files.get(at)?);
        let ms = slower_ms(file).filter(|ms| *ms >= THROTTLED_MS && limits.step.is_some())?;
        let is_explained = at_limit.contains(&at);
        (!is_explained).then(|| of("slow-file", vec![at], Finding::Slow { ms, next: limits.next.clone() }))?
    };
    all.extend((0..files.len()).filter_map(slow));
    all
}

/// How long the slower of a read and a write takes.
fn slower_ms(file: &DatabaseFile) -> Option<f64> {
    file.read_ms.into_iter().chain(file.write_ms).reduce(f64::max)
}

/// The resource that sessions wait for most, if it is storage.
fn by_waits(files: &[DatabaseFile], waits: &WaitShares) -> Option<Advice> {
    let WaitShares { data, log, governor } = *waits;
    let of_kind = |kind: FileKind| -> Vec<usize> {
        (0..files.len()).filter(|at| files[*at].kind == kind && !files[*at].is_of_tempdb()).collect()
    };
    let finding = |places: &[usize], percent: f64| {
        let slowest_ms = places.iter().filter_map(|at| slower_ms(&files[*at])).reduce(f64::max);
        Finding::Waits { percent, slowest_ms }
    };
    // Less than the rest of what is waited for is no bottleneck of storage.
    if data.max(log).max(governor) < (100.0 - data - log - governor) {
        return None;
    }
    if governor > data && governor > log {
        return of("log-governor-waits", Vec::new(), Finding::Waits { percent: governor, slowest_ms: None });
    }
    let places = of_kind(if log > data { FileKind::Log } else { FileKind::Data });
    let found = finding(&places, log.max(data));
    if log > data {
        return of("waits-for-log", places, found);
    }
    let Finding::Waits { slowest_ms, .. } = &found else { return None };
    // Pages that come as fast as they can are waited for, too: then there are too many of them for the memory.
    slowest_ms.is_none_or(|ms| ms > NORMAL_MS).then(|| of("waits-for-data", places, found))?
}
