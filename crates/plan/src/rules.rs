//! What to change, by the rules that the makers of the service published: each as data, with what it looks at and where it comes from.

use crate::advice::{ABOVE_PERCENT, AT_LIMIT_PERCENT, Advice, Finding, RULES, of};
use crate::file::{DatabaseFile, FileKind};
use crate::limits::Limits;
use crate::storage::Storage;

mod case;
mod diagnosis;
mod growth;
mod sizes;
mod space;

use case::Case;
pub use case::used;
pub use diagnosis::{NORMAL_MS, Observed, THROTTLED_MS, WaitShares};

/// What to change, in the order in which it is to be done.
pub fn advise(files: &[DatabaseFile], storage: &Storage<'_>, limits: &Limits, observed: &Observed) -> Vec<Advice> {
    let percent = |at: usize| used(&files[at], &limits.files[at]).map_or(0.0, |(percent, _)| percent);
    let at_limit = (0..files.len()).filter(|at| (AT_LIMIT_PERCENT..ABOVE_PERCENT).contains(&percent(*at))).collect();
    let waits_for_governor = observed.waits.is_some_and(|waits| diagnosis::is_governed(&waits));
    let mut case = Case { files, storage, limits, at_limit, waits_for_governor };
    case.in_order();
    let grown: Vec<Advice> = case.at_limit.iter().filter_map(|at| growth::grow(*at, &case)).collect();
    let mut all = diagnosis::diagnose(&case, observed);
    all.extend(above(&case));
    all.extend(log_governor(&case));
    all.extend(space::short(&case, &grown));
    all.extend(log_first(&case, &grown));
    for places in sizes::databases(files) {
        let serves = grown.iter().any(|one| one.files.iter().any(|at| places.contains(at)));
        let others = sizes::equal(&case, &places).into_iter().chain(sizes::fewer(&case, &places, &grown));
        all.extend(others.map(|one| Advice { is_alternative: serves, ..one }));
    }
    all.extend(sizes::for_nothing(&case, &grown));
    all.extend(grown);
    let place = |advice: &Advice| RULES.iter().position(|rule| rule.id == advice.rule.id);
    all.sort_by_key(place);
    all
}

/// Files that do more than their limits let them, those that do most first.
fn above(case: &Case<'_>) -> Option<Advice> {
    let mut all: Vec<usize> = (0..case.files.len()).filter(|at| case.percent(*at) >= ABOVE_PERCENT).collect();
    all.sort_by(|a, b| case.percent(*b).total_cmp(&case.percent(*a)));
    let first = all.first()?;
    let (used_percent, of_limit) = used(&case.files[*first], &case.limits.files[*first])?;
    of("other-limits", all, Finding::Above { used_percent, of: of_limit })
}

fn log_governor(case: &Case<'_>) -> Option<Advice> {
    let limit_mb_per_s = case.storage.tier.log_mb_per_second(case.storage.wishes.vcores)?;
    let mb_per_s = case.logs_mb_per_s(None);
    if 100.0 * mb_per_s < AT_LIMIT_PERCENT * limit_mb_per_s {
        return None;
    }
    let rate = |at: &usize| case.files[*at].mb_per_s.unwrap_or(0.0);
    // Those that make it: a tenth of all or more.
    let mut logs: Vec<usize> = case.logs().filter(|at| 10.0 * rate(at) >= mb_per_s).collect();
    logs.sort_by(|a, b| rate(b).total_cmp(&rate(a)));
    let largest_mb_per_s = case.logs().map(|at| rate(&at)).fold(0.0, f64::max);
    let is_held = |at: &&usize| case.files[**at].kind == FileKind::Log && growth::grow(**at, case).is_none();
    let held = case.at_limit.iter().filter(is_held).copied().collect();
    of("log-governor", logs, Finding::LogRate { mb_per_s, largest_mb_per_s, limit_mb_per_s, held })
}

/// The logs that are to grow before data files of their databases.
fn log_first(case: &Case<'_>, grown: &[Advice]) -> Option<Advice> {
    let is_to_grow = |at: usize, kind: FileKind| {
        let is_one = |advice: &Advice| advice.rule.id == "file-at-limit" && advice.files.contains(&at);
        case.files[at].kind == kind && grown.iter().any(is_one)
    };
    let has_data = |log: &&usize| {
        let beside = case.at_limit.iter().filter(|at| case.files[**at].is_beside(&case.files[**log]));
        beside.into_iter().any(|at| case.files[*at].kind == FileKind::Data)
    };
    let logs: Vec<usize> =
        case.at_limit.iter().filter(|at| is_to_grow(**at, FileKind::Log)).filter(has_data).copied().collect();
    (!logs.is_empty()).then(|| of("log-before-data", logs, Finding::LogFirst))?
}
