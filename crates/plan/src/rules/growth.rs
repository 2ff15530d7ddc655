//! What a file that stands at a limit needs: a larger size, another file, or other storage.

use super::case::{Case, used};
use super::held::{held, most_times};
use crate::advice::{AT_LIMIT_PERCENT, Advice, Finding, of};
use crate::file::DatabaseFile;
use crate::gain::brings;
use crate::limits::{FileLimits, Next, of_file};
use crate::storage::{Step, Storage};

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

/// What a file that stands at a limit needs; `None` where nothing would bring more.
pub fn grow(at: usize, case: &Case<'_>) -> Option<Advice> {
    let (file, limits) = (&case.files[at], &case.limits.files[at]);
    let (used_percent, of_limit) = used(file, limits)?;
    if held(at, case).is_some() {
        return None;
    }
    match larger(file, limits, case.storage) {
        Some((size_gb, step, true)) => {
            let brings = brings(file, of_limit, &step, case.unthrottled_ms(), most_times(at, case));
            let used = Some((used_percent, of_limit));
            of(
                "file-at-limit",
                vec![at],
                Finding::Grow { used, slow_ms: None, size_gb, step, fits: true, brings, rebuild: None },
            )
        }
        // The size with the most is not enough, or it has that already. A database has one log; data may have more files.
        _ => of("another-tier", vec![at], Finding::Elsewhere { used_percent, of: of_limit }),
    }
}

/// What a file needs that is slow where its rates don't say why. What a larger one brings is not known then.
pub fn slow(at: usize, ms: f64, case: &Case<'_>) -> Option<Advice> {
    let (file, limits) = (&case.files[at], &case.limits.files[at]);
    let held = held(at, case);
    let next = limits.next.clone().filter(|_| held.is_none());
    let finding = match next {
        Some(Next { size_gb, step }) => Finding::Grow {
            used: used(file, limits),
            slow_ms: Some(ms),
            size_gb,
            step,
            fits: true,
            brings: None,
            rebuild: None,
        },
        None => Finding::Slow { ms, held },
    };
    of("slow-file", vec![at], finding)
}
