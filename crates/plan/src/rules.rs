//! What to change, by the rules that the makers of the service published: each as data, with what it looks at and where it comes from.

use crate::advice::{AT_LIMIT_PERCENT, Advice, Finding, RULES, of};
use crate::file::{DatabaseFile, FileKind};
use crate::gain::brings;
use crate::limits::{FileLimits, Limits, Next, of_file};
use crate::storage::{LimitOf, Step, Storage};

mod diagnosis;

pub use diagnosis::{NORMAL_MS, Observed, THROTTLED_MS, WaitShares};

/// Data files of a database that differ by more than this part are not of one size.
const EQUAL_PART: f64 = 0.01;

/// How much of the limit that it comes nearer to a file uses, in percent; `None` where one of both is not known.
pub fn used(file: &DatabaseFile, limits: &FileLimits) -> Option<(f64, LimitOf)> {
    let step = limits.step.as_ref()?;
    let percent = |seen: Option<f64>, limit: Option<f64>| Some(100.0 * seen? / limit?);
    let iops = percent(file.iops, step.iops).map(|percent| (percent, LimitOf::Iops));
    let rate = percent(file.mb_per_s, step.mb_per_s).map(|percent| (percent, LimitOf::Bandwidth));
    iops.into_iter().chain(rate).max_by(|a, b| a.0.total_cmp(&b.0))
}

/// What to change, in the order in which it is to be done.
pub fn advise(files: &[DatabaseFile], storage: &Storage<'_>, limits: &Limits, observed: &Observed) -> Vec<Advice> {
    let at_limit: Vec<usize> = (0..files.len())
        .filter(|at| used(&files[*at], &limits.files[*at]).is_some_and(|(percent, _)| percent >= AT_LIMIT_PERCENT))
        .collect();
    let mut all = diagnosis::diagnose(files, limits, observed, &at_limit);
    all.extend(log_governor(files, storage));
    all.extend(space_first(files, storage, limits, &at_limit));
    all.extend(log_first(files, &at_limit));
    all.extend(at_limit.iter().filter_map(|at| grow(*at, &files[*at], &limits.files[*at], storage)));
    for database in databases(files) {
        all.extend(equal(files, &database));
        all.extend(fewer(files, storage, limits, &database));
    }
    all.extend(for_nothing(files, storage, limits, &at_limit));
    let place = |advice: &Advice| RULES.iter().position(|rule| rule.id == advice.rule.id);
    all.sort_by_key(place);
    all
}

fn log_governor(files: &[DatabaseFile], storage: &Storage<'_>) -> Option<Advice> {
    let limit_mb_per_s = storage.tier.log_mb_per_second(storage.wishes.vcores)?;
    let logs: Vec<usize> =
        (0..files.len()).filter(|at| files[*at].kind == FileKind::Log && !files[*at].is_of_tempdb()).collect();
    let mb_per_s: f64 = logs.iter().filter_map(|at| files[*at].mb_per_s).sum();
    let is_at_limit = 100.0 * mb_per_s >= AT_LIMIT_PERCENT * limit_mb_per_s;
    is_at_limit.then(|| of("log-governor", logs, Finding::LogRate { mb_per_s, limit_mb_per_s }))?
}

/// GB that files have to grow by to carry what they do, of those that stand at a limit.
fn growth_gb(files: &[DatabaseFile], storage: &Storage<'_>, limits: &Limits, at_limit: &[usize]) -> f64 {
    let growth =
        |at: &usize| larger(&files[*at], &limits.files[*at], storage).map(|(size, ..)| size - files[*at].size_gb);
    at_limit.iter().filter_map(growth).sum()
}

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

fn space_first(files: &[DatabaseFile], storage: &Storage<'_>, limits: &Limits, at_limit: &[usize]) -> Option<Advice> {
    let (space_gb, most_gb) = (storage.space_gb()?, storage.most_gb()?);
    let needed_gb = limits.file_gb + growth_gb(files, storage, limits, at_limit);
    let is_short = needed_gb > space_gb && most_gb > space_gb;
    is_short.then(|| of("space-first", at_limit.to_vec(), Finding::Space { needed_gb, space_gb, most_gb }))?
}

fn log_first<'a>(files: &'a [DatabaseFile], at_limit: &'a [usize]) -> impl Iterator<Item = Advice> + 'a {
    let logs = at_limit.iter().filter(|at| files[**at].kind == FileKind::Log);
    logs.filter_map(|log| {
        let is_data = |at: &&usize| files[**at].kind == FileKind::Data && files[**at].database == files[*log].database;
        let data: Vec<usize> = at_limit.iter().filter(is_data).copied().collect();
        if data.is_empty() {
            return None;
        }
        of("log-before-data", [*log].into_iter().chain(data).collect(), Finding::LogFirst)
    })
}

fn grow(at: usize, file: &DatabaseFile, limits: &FileLimits, storage: &Storage<'_>) -> Option<Advice> {
    let (used_percent, of_limit) = used(file, limits)?;
    match larger(file, limits, storage) {
        Some((size_gb, step, true)) => {
            let brings = brings(file, of_limit, &step);
            of("file-at-limit", vec![at], Finding::Grow { used_percent, of: of_limit, size_gb, step, brings })
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

/// Data files by their databases, tempdb's left out: its disk is another.
fn databases(files: &[DatabaseFile]) -> Vec<Vec<usize>> {
    let mut all: Vec<(&str, Vec<usize>)> = Vec::new();
    for (at, file) in files.iter().enumerate().filter(|(_, file)| file.kind == FileKind::Data && !file.is_of_tempdb()) {
        match all.iter_mut().find(|(name, _)| name.eq_ignore_ascii_case(&file.database)) {
            Some((_, places)) => places.push(at),
            None => all.push((&file.database, vec![at])),
        }
    }
    all.into_iter().map(|(_, places)| places).collect()
}

fn equal(files: &[DatabaseFile], places: &[usize]) -> Option<Advice> {
    let sizes = || places.iter().map(|at| files[*at].size_gb);
    let smallest_gb = sizes().reduce(f64::min)?;
    let largest_gb = sizes().reduce(f64::max)?;
    let first = files[*places.first()?].growth_gb;
    let grow_alike = places.iter().all(|at| files[*at].growth_gb == first);
    let differ = largest_gb > (1.0 + EQUAL_PART) * smallest_gb || !grow_alike;
    differ.then(|| of("equal-files", places.to_vec(), Finding::Equal { smallest_gb, largest_gb }))?
}

fn fewer(files: &[DatabaseFile], storage: &Storage<'_>, limits: &Limits, places: &[usize]) -> Option<Advice> {
    let all_gb: f64 = places.iter().map(|at| files[*at].size_gb).sum();
    let iops_now = places.iter().map(|at| limits.files[*at].step.as_ref()?.iops).sum::<Option<f64>>()?;
    let with = |count: usize| {
        let size_gb = all_gb / count as f64;
        Some((count, size_gb, count as f64 * storage.step(size_gb)?.iops?))
    };
    // The fewest that have as many.
    let (count, size_gb, iops) = (1..places.len()).filter_map(with).find(|(.., iops)| *iops >= iops_now)?;
    of("fewer-files", places.to_vec(), Finding::Fewer { files: count, size_gb, iops, iops_now })
}

fn for_nothing(files: &[DatabaseFile], storage: &Storage<'_>, limits: &Limits, at_limit: &[usize]) -> Vec<Advice> {
    let needed_gb = limits.file_gb + growth_gb(files, storage, limits, at_limit);
    if storage.space_gb().is_none_or(|space| needed_gb <= space) {
        return Vec::new();
    }
    let smaller = |at: usize| {
        // One that stands at a limit is to grow.
        let (file, step) = (&files[at], limits.files[at].step.as_ref().filter(|_| !at_limit.contains(&at))?);
        let least_gb = storage.begins_gb(step).max(file.used_gb?.ceil()).max(1.0);
        (least_gb < file.size_gb).then(|| of("size-for-nothing", vec![at], Finding::Shrink { size_gb: least_gb }))?
    };
    (0..files.len()).filter_map(smaller).collect()
}
