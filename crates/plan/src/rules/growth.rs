//! What a file that stands at a limit needs: a larger size, another file, or other storage.

use super::case::{Case, used};
use crate::advice::{AT_LIMIT_PERCENT, Advice, Finding, of};
use crate::file::{DatabaseFile, FileKind};
use crate::gain::brings;
use crate::limits::{FileLimits, Next, of_file};
use crate::storage::{Step, Storage};

/// Less than this is no gain, in percent.
const LEAST_GAIN_PERCENT: f64 = 1.0;

/// The smallest larger size in whole GB with which a file would not stand at a limit, or else the one with the most; and whether that is
/// enough.
fn larger(file: &DatabaseFile, limits: &FileLimits, storage: &Storage<'_>) -> Option<(f64, Step, bool)> {
    let mut best = None;
    let mut next = limits.next.clone();
    while let Some(Next { size_gb, step }) = next {
        let grown = DatabaseFile { size_gb, ..file.clone() };
        let of_grown = of_file(&grown, storage);
        let is_enough = used(&grown, &of_grown).is_some_and(|(percent, _)| percent < AT_LIMIT_PERCENT);
        best = Some((size_gb, step, is_enough));
        if is_enough {
            break;
        }
        next = of_grown.next;
    }
    best
}

/// How many times what it does a log can do, whatever its size: what other logs leave of the instance's rate, and the rate of a database.
fn most_times(at: usize, case: &Case<'_>) -> f64 {
    let file = &case.files[at];
    if file.kind == FileKind::Data {
        return f64::INFINITY;
    }
    if case.waits_for_governor {
        return 1.0;
    }
    let Some(own) = file.mb_per_s.filter(|rate| *rate > 0.0) else { return f64::INFINITY };
    let rate = case.storage.tier.log_mb_per_second(case.storage.wishes.vcores);
    let left = rate.map_or(f64::INFINITY, |rate| rate - case.logs_mb_per_s(Some(at)));
    let of_database = case.storage.log_of_database_mb_per_s().unwrap_or(f64::INFINITY);
    left.min(of_database) / own
}

/// What a file that stands at a limit needs; `None` where nothing would bring more.
pub fn grow(at: usize, case: &Case<'_>) -> Option<Advice> {
    let (file, limits) = (&case.files[at], &case.limits.files[at]);
    let (used_percent, of_limit) = used(file, limits)?;
    let most_times = most_times(at, case);
    if 100.0 * (most_times - 1.0) < LEAST_GAIN_PERCENT {
        return None;
    }
    match larger(file, limits, case.storage) {
        Some((size_gb, step, true)) => {
            let brings = brings(file, of_limit, &step, case.storage.unthrottled_ms(), most_times);
            let has_gain = brings.as_ref().is_some_and(|gain| gain.most_percent >= LEAST_GAIN_PERCENT);
            let finding = Finding::Grow { used_percent, of: of_limit, size_gb, step, brings };
            has_gain.then(|| of("file-at-limit", vec![at], finding))?
        }
        // The size with the most is not enough, or it has that already.
        best if file.kind == FileKind::Data => {
            let (size_gb, step) =
                best.map_or_else(|| Some((file.size_gb, limits.step.clone()?)), |(size, step, _)| Some((size, step)))?;
            of("more-files", vec![at], Finding::Add { used_percent, of: of_limit, size_gb, step })
        }
        // A database has one log.
        _ => of("another-tier", vec![at], Finding::Elsewhere { used_percent, of: of_limit }),
    }
}

/// The sizes that files are to have, in the order of the advice.
pub fn sizes(grown: &[Advice]) -> impl Iterator<Item = (usize, f64)> {
    grown.iter().filter_map(|one| match &one.finding {
        Finding::Grow { size_gb, .. } => Some((*one.files.first()?, *size_gb)),
        _ => None,
    })
}
