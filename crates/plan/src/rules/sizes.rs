//! Sizes and numbers of the data files of a database, and gigabytes that bring nothing.

use super::case::{Case, used, used_of};
use crate::advice::{ABOVE_PERCENT, AT_LIMIT_PERCENT, Advice, Finding, of};
use crate::file::{DatabaseFile, FileKind};
use crate::judgement;
use crate::layout::ROOM_PART;
use crate::storage::Step;

/// Data files of a database that differ by more than this part are not of one size.
const EQUAL_PART: f64 = 0.01;

/// Data files by their databases, and by their filegroups where the list has them; tempdb's left out: its disk is another.
pub fn databases(files: &[DatabaseFile]) -> Vec<Vec<usize>> {
    let mut all: Vec<Vec<usize>> = Vec::new();
    for (at, file) in files.iter().enumerate().filter(|(_, file)| file.kind == FileKind::Data && !file.is_of_tempdb()) {
        let is_own = |places: &&mut Vec<usize>| {
            let first = places.first().map(|first| &files[*first]);
            first.is_some_and(|first| first.is_beside(file) && first.filegroup == file.filegroup)
        };
        match all.iter_mut().find(is_own) {
            Some(places) => places.push(at),
            None => all.push(vec![at]),
        }
    }
    all
}

/// Whole GB that hold so many. What arithmetic leaves behind the sixth decimal makes no GB.
pub fn whole_gb(gb: f64) -> f64 {
    (gb - 1e-6).ceil()
}

/// Whether files of these sizes are not of one size.
pub fn are_unequal(smallest_gb: f64, largest_gb: f64) -> bool {
    largest_gb > (1.0 + EQUAL_PART) * smallest_gb
}

pub fn equal(case: &Case<'_>, places: &[usize]) -> Option<Advice> {
    let sizes = || places.iter().map(|at| case.files[*at].size_gb);
    let smallest_gb = sizes().reduce(f64::min)?;
    let largest_gb = sizes().reduce(f64::max)?;
    let first = case.files[*places.first()?].growth_gb;
    let grow_alike = places.iter().all(|at| case.files[*at].growth_gb == first);
    let differ = are_unequal(smallest_gb, largest_gb) || !grow_alike;
    let more_gb = sizes().map(|size| largest_gb - size).sum();
    differ.then(|| of("equal-files", places.to_vec(), Finding::Equal { smallest_gb, largest_gb, more_gb }))?
}

/// Fewer files that have as many operations together as these in as much space, both once those at a limit are enlarged, and of which none comes
/// nearer to a limit than the busiest of these does then: so nothing else is said of them then. Files with other limits, or larger ones that have
/// no room, are compared with none.
pub fn fewer(case: &Case<'_>, places: &[usize], grown: &[Advice]) -> Option<Advice> {
    let sum = |of: fn(&DatabaseFile) -> f64| places.iter().map(|at| of(&case.files[*at])).sum::<f64>();
    let (iops_seen, rate_seen) = (sum(|file| file.iops.unwrap_or(0.0)), sum(|file| file.mb_per_s.unwrap_or(0.0)));
    let grown_gb = |at: &usize| judgement::sizes(grown).find(|(grown, _)| grown == at).map(|(_, size_gb)| size_gb);
    let all_gb: f64 = places.iter().map(|at| grown_gb(at).unwrap_or(case.files[*at].size_gb)).sum();
    let step_of =
        |at: &usize| grown_gb(at).map_or(case.limits.files[*at].step.as_ref(), |size_gb| case.storage.step(size_gb));
    let now = |of: fn(&Step) -> Option<f64>| places.iter().map(|at| of(step_of(at)?)).sum::<Option<f64>>();
    let are_grown = judgement::sizes(grown).any(|(at, _)| places.contains(&at));
    let (iops_now, mb_per_s_now) = (now(|step| step.iops)?, now(|step| step.mb_per_s)?);
    let has_no_room = |one: &Advice| {
        let is_own = one.files.iter().any(|at| places.contains(at));
        is_own && matches!(one.finding, Finding::Grow { fits: false, .. } | Finding::Add { .. })
    };
    if places.iter().any(|at| case.percent(*at) >= ABOVE_PERCENT) || grown.iter().any(has_no_room) {
        return None;
    }
    let percent = |at: &usize| used_of(&case.files[*at], step_of(at)?).map(|(percent, _)| percent);
    let busiest = places.iter().filter_map(percent).fold(0.0, f64::max);
    let with = |count: usize| {
        let (size_gb, files) = (all_gb / count as f64, count as f64);
        let step = case.storage.step(size_gb)?;
        let (iops, mb_per_s) = (files * step.iops?, files * step.mb_per_s?);
        let percent = (100.0 * iops_seen / iops).max(100.0 * rate_seen / mb_per_s);
        let is_enough = iops >= iops_now && percent < AT_LIMIT_PERCENT && percent <= busiest;
        is_enough.then_some(Finding::Fewer { files: count, size_gb, iops, iops_now, mb_per_s, mb_per_s_now, are_grown })
    };
    let both = |one: &Finding| match one {
        Finding::Fewer { iops, mb_per_s, .. } => [*iops, *mb_per_s],
        _ => [0.0; 2],
    };
    let has_more = |one: &Finding, than: &Finding| both(one).iter().zip(both(than)).all(|(one, than)| *one > than);
    // The fewest that do, and one more as long as that has more of both in the same space.
    let mut all = (1..places.len()).map(with).skip_while(Option::is_none);
    let mut best = all.next().flatten()?;
    while let Some(next) = all.next().flatten().filter(|next| has_more(next, &best)) {
        best = next;
    }
    of("fewer-files", places.to_vec(), best)
}

/// Of a log, which holds more at other times, so many times what it holds now is kept.
const LOG_TIMES: f64 = 10.0;

/// Files that can be smaller and have the same limits, where space is short. One that is to grow, for whatever reason, is none of them.
pub fn for_nothing(case: &Case<'_>, grown: &[Advice], needed_gb: f64) -> Vec<Advice> {
    if case.storage.space_gb().is_none_or(|space| needed_gb <= space) {
        return Vec::new();
    }
    let least_gb = |at: &usize| {
        let (file, limits) = (&case.files[*at], &case.limits.files[*at]);
        // One that stands at a limit does not grow where no size helps it, and needs what it has all the same.
        let is_calm = used(file, limits).is_none_or(|(percent, _)| percent < AT_LIMIT_PERCENT)
            && !judgement::sizes(grown).any(|(grown, _)| grown == *at);
        // Of a size whose limits nobody published no other has the same.
        let step = limits.step.as_ref().filter(|step| is_calm && step.iops.is_some())?;
        let times = if file.kind == FileKind::Log { LOG_TIMES } else { 1.0 + ROOM_PART };
        let content_gb = whole_gb(file.used_gb? * times);
        Some(case.storage.begins_gb(step).max(content_gb).max(1.0))
    };
    let mut all: Vec<Advice> = databases(case.files)
        .into_iter()
        .chain(case.logs().map(|at| vec![at]))
        .flat_map(|places| {
            // Files over which rows are spread stay of one size.
            let least = places.iter().map(least_gb).collect::<Option<Vec<f64>>>();
            let size_gb = least.and_then(|all| all.into_iter().reduce(f64::max)).unwrap_or(f64::INFINITY);
            let larger = places.into_iter().filter(move |at| case.files[*at].size_gb > size_gb);
            larger.filter_map(move |at| of("size-for-nothing", vec![at], Finding::Shrink { size_gb }))
        })
        .collect();
    all.sort_by(|a, b| a.files.cmp(&b.files));
    all
}
