//! What to change, by the rules that the makers of the service published: each as data, with what it looks at and where it comes from.

use crate::advice::{ABOVE_PERCENT, AT_LIMIT_PERCENT, Advice, Finding, RULES, of};
use crate::file::{DatabaseFile, FileKind};
use crate::gain::Bound;
use crate::hindrance::Hindrance;
use crate::judgement::{self, Judgement};
use crate::limits::Limits;
use crate::storage::Storage;

mod alike;
mod case;
mod diagnosis;
mod growth;
mod held;
pub mod more;
mod observed;
mod sizes;
pub mod space;

use case::Case;
pub use case::{is_full, used, used_of};
pub use diagnosis::{NORMAL_MS, THROTTLED_MS, is_of_storage};
pub use observed::{Observed, WaitShares};
pub use sizes::are_unequal;
use space::{Bundle, Fit};

/// What to change, in the order in which it is to be done.
pub fn advise(files: &[DatabaseFile], storage: &Storage<'_>, limits: &Limits, observed: &Observed) -> Vec<Advice> {
    judge(files, storage, limits, observed).advice
}

/// Judges files.
pub fn judge(files: &[DatabaseFile], storage: &Storage<'_>, limits: &Limits, observed: &Observed) -> Judgement {
    let percent = |at: usize| used(&files[at], &limits.files[at]).map_or(0.0, |(percent, _)| percent);
    let at_limit = (0..files.len()).filter(|at| (AT_LIMIT_PERCENT..ABOVE_PERCENT).contains(&percent(*at))).collect();
    let waits_for_governor = observed.waits.is_some_and(|waits| diagnosis::is_governed(&waits));
    let is_cpu_busy = observed.cpu_percent.is_some_and(|percent| percent >= AT_LIMIT_PERCENT);
    let waits = observed.waits.filter(is_of_storage);
    let mut case = Case {
        files,
        storage,
        limits,
        at_limit,
        waits,
        waits_for_governor,
        is_cpu_busy,
        gives_back: 1,
        smaller: Vec::new(),
        left: (Vec::new(), [0.0; 2]),
    };
    case.at_limit = case.in_order(&case.at_limit);
    let mut all = diagnosis::diagnose(&case, observed);
    let slow = diagnosis::slow(&case, &all);
    // What no size helps has no place in the order either.
    let is_of_use = |at: &usize| held::held(*at, &case).is_none();
    let at_limit = case.at_limit.iter().copied().filter(is_of_use);
    let wanted: Vec<usize> = at_limit.chain(slow.iter().map(|(at, _)| *at)).collect();
    let grow = |at: usize| match slow.iter().find(|(slow, _)| *slow == at) {
        Some((_, ms)) => growth::slow(at, *ms, &case),
        None => growth::grow(at, &case),
    };
    let order = case.in_order(&wanted);
    let alone: Vec<Advice> = order.iter().copied().filter_map(grow).collect();
    let Sought { mut grown, places_of, wanted, fit } = with_room(&alone, &case);
    more::or_rebuild(&mut grown, &case);
    let sizes: Vec<(usize, f64)> = judgement::sizes(&grown).collect();
    let smaller: Vec<(usize, f64)> = judgement::smaller(&sizes::for_nothing(&case, &grown, f64::INFINITY)).collect();
    for (own, (places, has_room)) in places_of.iter().zip(&fit.fits).enumerate() {
        for at in places {
            if let Finding::Grow { fits, .. } | Finding::Add { fits, .. } = &mut grown[*at].finding {
                *fits = *has_room;
            }
            if let Finding::Add { larger: Some(larger), .. } = &mut grown[*at].finding {
                larger.lack = space::lack(&fit, own, &larger.sizes, &smaller, (files, limits, storage));
            }
        }
    }
    for one in &mut all {
        if let Finding::Waits { first, .. } = &mut one.finding {
            *first = one.files.iter().copied().filter(|at| sizes.iter().any(|(grown, _)| grown == at)).collect();
        }
    }
    all.extend(above(&case));
    all.extend(log_governor(&case));
    let smaller = sizes::for_nothing(&case, &grown, fit.files_gb);
    let back_gb = judgement::back_gb(&smaller, files);
    all.extend(space::short(&fit, &case, &wanted, back_gb));
    all.extend(held::told(&case));
    all.extend(log_first(&case, &grown));
    for places in sizes::databases(files) {
        let serves = grown.iter().any(|one| one.files.iter().any(|at| places.contains(at)));
        // No size is named while no file makes it do more.
        if case.is_cpu_busy {
            continue;
        }
        let (equal, fewer) = (sizes::equal(&case, &places), sizes::fewer(&case, &places, &grown));
        // Files that are made equal are not made fewer as well.
        let is_alternative = serves || equal.is_some();
        all.extend(equal.map(|one| Advice { is_alternative: serves, ..one }));
        all.extend(fewer.map(|one| Advice { is_alternative, ..one }));
    }
    all.extend(smaller);
    all.extend(grown);
    // Files that are to grow stay in their order, whatever the reason.
    let place = |advice: &Advice| {
        let id = if matches!(advice.finding, Finding::Grow { .. }) { "file-at-limit" } else { advice.rule.id };
        RULES.iter().position(|rule| rule.id == id)
    };
    all.sort_by_key(place);
    let places = || 0..files.len();
    Judgement {
        advice: all,
        order,
        held: places().map(|at| held::held(at, &case)).collect(),
        most_times: places().map(|at| held::most_times(at, &case)).collect(),
        unthrottled_ms: case.unthrottled_ms(),
    }
}

/// Bounds what larger files bring by what others of their filegroups are to be, where that is another size than was judged.
pub fn bound_by(
    judged: &mut Judgement,
    sizes: &[(usize, f64)],
    (files, limits): (&[DatabaseFile], &Limits),
    storage: &Storage<'_>,
) {
    let Judgement { advice, most_times, unthrottled_ms, .. } = judged;
    let most_times = |at: usize| most_times.get(at).copied().unwrap_or((f64::INFINITY, Bound::Limit));
    alike::bound_by(advice, sizes, alike::Ground { files, limits, storage }, (*unthrottled_ms, &most_times));
}

/// What files are to become, for whom, and what of it has room.
struct Sought {
    grown: Vec<Advice>,
    /// Of each that is wanted the places of its advice.
    places_of: Vec<Vec<usize>>,
    wanted: Vec<Bundle>,
    fit: Fit,
}

impl Sought {
    /// How much of it has room.
    fn fits(&self) -> usize {
        self.fit.fits.iter().filter(|fits| **fits).count()
    }

    /// The files for which there is none.
    fn without_room(&self) -> Vec<usize> {
        let bundles = self.wanted.iter().zip(&self.fit.fits);
        bundles.filter(|(_, fits)| !**fits).flat_map(|(one, _)| one.files.clone()).collect()
    }

    /// How much of it has room, and for how many files more there is once others gave back what brings them nothing.
    fn room(&self, case: &Case<'_>) -> [usize; 2] {
        let smaller = sizes::for_nothing(case, &self.grown, self.fit.files_gb);
        let after = self.fit.after(&self.wanted, judgement::back_gb(&smaller, case.files));
        [self.fits(), after.len()]
    }
}

/// What is sought so that all of it has room, or else most.
fn with_room(alone: &[Advice], case: &Case<'_>) -> Sought {
    let mut sought = seek(alone, Vec::new(), case);
    // As little is changed as is enough: files that have no room, before those that have some and take it from others. As little is given back, of the
    // files of a filegroup itself before those of others.
    let all: Vec<usize> = alone.iter().flat_map(|one| one.files.clone()).collect();
    let smaller = sizes::for_nothing(case, alone, f64::INFINITY);
    let smaller: Vec<(usize, f64)> = judgement::smaller(&smaller).collect();
    let parts = [1, more::STEPS_BACK / 4, more::STEPS_BACK / 2, more::STEPS_BACK];
    let tries = [Vec::new(), smaller].into_iter().flat_map(|smaller| {
        // Those that use least of their limits first.
        let instead = [0, 1, 2, 4].map(|quarters| all[all.len() - all.len() * quarters / 4..].to_vec());
        instead.into_iter().flat_map(move |instead| {
            let smaller = smaller.clone();
            parts.map(move |part| (smaller.clone(), instead.clone(), part, case.left.clone()))
        })
    });
    // At last each filegroup makes room for its own.
    let blobs_gb = case.storage.blobs_gb().unwrap_or(f64::INFINITY) - case.limits.blob_gb;
    let own = [(Vec::new(), Vec::new(), 1, ((0..case.files.len()).collect(), [0.0, blobs_gb]))];
    // The first, in which nothing is changed, is made above.
    for (smaller, instead, gives_back, left) in tries.skip(1).chain(own) {
        if sought.fit.is_all() {
            break;
        }
        let more = seek(alone, instead, &Case { gives_back, smaller, left, ..case.clone() });
        sought = if more.fit.is_all() || more.room(case) > sought.room(case) { more } else { sought };
    }
    sought
}

/// What has no room as larger files becomes further ones where these take less, as do the files of `instead` from the beginning.
fn seek(alone: &[Advice], mut instead: Vec<usize>, case: &Case<'_>) -> Sought {
    let sought = |without_room: &[usize], case: &Case<'_>| {
        let mut grown = alone.to_vec();
        more::instead(&mut grown, without_room, case);
        alike::together(&mut grown, case);
        let (places_of, wanted): (Vec<Vec<usize>>, Vec<Bundle>) = space::wanted(&grown, case.files).into_iter().unzip();
        let fit = space::fit(case.files, case.limits, case.storage, &wanted);
        Sought { grown, places_of, wanted, fit }
    };
    let mut found = sought(&instead, case);
    loop {
        let out = found.without_room();
        let new: Vec<usize> = out.iter().filter(|at| !instead.contains(*at)).copied().collect();
        if !new.is_empty() {
            instead.extend(new);
            found = sought(&instead, case);
            continue;
        }
        // What does not fit into all that is free may into what the others leave.
        if out.is_empty() {
            return found;
        }
        let more = sought(&instead, &Case { left: (out, found.fit.left()), ..case.clone() });
        if more.fits() <= found.fits() {
            return found;
        }
        found = more;
    }
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
    let mb_per_s = case.logs_mb_per_s();
    if 100.0 * mb_per_s < AT_LIMIT_PERCENT * limit_mb_per_s {
        return None;
    }
    // What is said of the one that has nearly all of it as one that no size helps need not be said again.
    let is_told = |at: usize| matches!(held::held(at, case), Some(Hindrance::LogRate { .. }));
    if held::alone(case).is_some_and(is_told) {
        return None;
    }
    let rate = |at: &usize| case.files[*at].grew_mb_per_s().unwrap_or(0.0);
    // Those that make it: a tenth of all or more.
    let mut logs: Vec<usize> = case.logs().filter(|at| 10.0 * rate(at) >= mb_per_s).collect();
    logs.sort_by(|a, b| rate(b).total_cmp(&rate(a)));
    let largest_mb_per_s = case.logs().map(|at| rate(&at)).fold(0.0, f64::max);
    let cores = held::cores(case);
    of("log-governor", logs, Finding::LogRate { mb_per_s, largest_mb_per_s, limit_mb_per_s, cores })
}

/// The logs that are to grow before data files of their databases, unless sessions wait for data.
fn log_first(case: &Case<'_>, grown: &[Advice]) -> Option<Advice> {
    if case.is_data_first() {
        return None;
    }
    // What has no room comes before nothing.
    let is_to_grow = |at: usize, kind: FileKind| {
        let is_one = |advice: &Advice| {
            matches!(advice.finding, Finding::Grow { fits: true, .. } | Finding::Add { fits: true, .. })
                && advice.files.contains(&at)
        };
        case.files[at].kind == kind && grown.iter().any(is_one)
    };
    let has_data = |log: &usize| {
        let is_own = |at: &usize| case.files[*at].is_beside(&case.files[*log]);
        (0..case.files.len()).filter(is_own).any(|at| is_to_grow(at, FileKind::Data))
    };
    let order = grown.iter().flat_map(|one| one.files.iter().copied());
    let logs: Vec<usize> = order.filter(|at| is_to_grow(*at, FileKind::Log)).filter(has_data).collect();
    (!logs.is_empty()).then(|| of("log-before-data", logs, Finding::LogFirst))?
}
