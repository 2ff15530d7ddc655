//! What holds an instance back, by what its sessions wait for, how long reads and writes take, and how busy its CPU is.

use super::case::{Case, slower_ms, used};
use super::held::cores;
use super::observed::{Observed, WaitShares};
use crate::advice::{ABOVE_PERCENT, AT_LIMIT_PERCENT, Advice, Finding, of};
use crate::file::{DatabaseFile, FileKind};

/// The most that a read or write of this storage takes below its limits, in ms.
pub const NORMAL_MS: f64 = 10.0;

/// From hundreds of ms on it is throttled, by the same article.
pub const THROTTLED_MS: f64 = 100.0;

/// A file that uses less of its limits does not do much, in percent.
const BUSY_PERCENT: f64 = 50.0;

/// What the waits and the CPU say.
pub(super) fn diagnose(case: &Case<'_>, observed: &Observed) -> Vec<Advice> {
    let cpu = observed.cpu_percent.filter(|_| case.is_cpu_busy);
    let cpu = cpu.and_then(|percent| of("cpu-first", case.at_limit.clone(), Finding::Cpu { percent }));
    cpu.into_iter().chain(observed.waits.and_then(|waits| by_waits(case, &waits))).collect()
}

/// Files whose reads or writes take long, while their rates do not say why, with the time that they take: hundreds of ms, or more than is
/// normal where sessions wait for them most.
pub(super) fn slow(case: &Case<'_>, diagnosed: &[Advice]) -> Vec<(usize, f64)> {
    let is_waited_for = |at: usize| {
        let waits = diagnosed.iter().filter(|one| matches!(one.finding, Finding::Waits { .. }));
        waits.flat_map(|one| &one.files).any(|other| *other == at)
    };
    let of = |at: usize| {
        let is_known = case.limits.files[at].step.is_some() && case.percent(at) < AT_LIMIT_PERCENT;
        let ms = if is_waited_for(at) {
            waited_ms(&case.files[at]).filter(|ms| *ms > NORMAL_MS)
        } else {
            slower_ms(&case.files[at]).filter(|ms| *ms >= THROTTLED_MS)
        };
        Some((at, ms.filter(|_| is_known)?))
    };
    (0..case.files.len()).filter_map(of).collect()
}

/// How long what sessions wait for takes: writes of a log, and the slower of reads and writes of data.
fn waited_ms(file: &DatabaseFile) -> Option<f64> {
    let by_writes = DatabaseFile { read_ms: None, ..file.clone() };
    slower_ms(if file.kind == FileKind::Log { &by_writes } else { file })
}

/// Whether sessions wait most for the governor of the log's rate.
pub(super) fn is_governed(waits: &WaitShares) -> bool {
    let WaitShares { data, log, governor } = *waits;
    governor > data && governor > log && is_of_storage(waits)
}

/// Whether sessions wait for storage most: less than the rest of what is waited for is no bottleneck.
pub fn is_of_storage(waits: &WaitShares) -> bool {
    let WaitShares { data, log, governor } = *waits;
    data.max(log).max(governor) >= 100.0 - data - log - governor - ROUNDING
}

/// What arithmetic leaves of a percentage.
const ROUNDING: f64 = 1e-9;

/// The resource that sessions wait for most, if it is storage.
fn by_waits(case: &Case<'_>, waits: &WaitShares) -> Option<Advice> {
    let WaitShares { data, log, governor } = *waits;
    if !is_of_storage(waits) {
        return None;
    }
    let cores = cores(case);
    let logs_mb_per_s = case.log_growth();
    if is_governed(waits) {
        let logs = case.at_limit.iter().copied().filter(|at| case.files[*at].kind == FileKind::Log).collect();
        let found = Finding::Waits { percent: governor, slowest_ms: None, first: Vec::new(), cores, logs_mb_per_s };
        return of("log-governor-waits", logs, found);
    }
    let kind = if log > data { FileKind::Log } else { FileKind::Data };
    let all: Vec<usize> =
        (0..case.files.len()).filter(|at| case.files[*at].kind == kind && !case.files[*at].is_of_tempdb()).collect();
    let slowest_ms = all.iter().filter_map(|at| waited_ms(&case.files[*at])).reduce(f64::max);
    let found = Finding::Waits { percent: log.max(data), slowest_ms, first: Vec::new(), cores, logs_mb_per_s };
    if kind == FileKind::Log {
        return of("waits-for-log", busy(case, &all), found);
    }
    // Pages that come as fast as they can are waited for, too: then there are too many of them for the memory.
    let is_slow = slowest_ms.is_some_and(|ms| ms > NORMAL_MS);
    let is_at_limit = all.iter().any(|at| (AT_LIMIT_PERCENT..ABOVE_PERCENT).contains(&case.percent(*at)));
    if is_slow || is_at_limit {
        return of("waits-for-data", busy(case, &all), found);
    }
    of("waits-for-memory", Vec::new(), found)
}

/// Those of the files that do much or take long, or else the busiest; all where nothing is known of them.
fn busy(case: &Case<'_>, all: &[usize]) -> Vec<usize> {
    let is_slow = |at: usize| waited_ms(&case.files[at]).is_some_and(|ms| ms > NORMAL_MS);
    let percent = |at: usize| used(&case.files[at], &case.limits.files[at]).map(|(percent, _)| percent);
    // Those that are held back, or else those that do much.
    let is_held = |at: &usize| is_slow(*at) || (AT_LIMIT_PERCENT..ABOVE_PERCENT).contains(&case.percent(*at));
    let mut busy: Vec<usize> = all.iter().copied().filter(is_held).collect();
    if busy.is_empty() {
        busy = all.iter().copied().filter(|at| case.percent(*at) >= BUSY_PERCENT).collect();
    }
    busy.sort_by(|a, b| case.percent(*b).total_cmp(&case.percent(*a)));
    if busy.is_empty() {
        let known = all.iter().copied().filter(|at| percent(*at).is_some_and(|percent| percent > 0.0));
        busy.extend(known.max_by(|a, b| case.percent(*a).total_cmp(&case.percent(*b))));
    }
    if busy.is_empty() { all.to_vec() } else { busy }
}
