//! Data files over which the rows of a filegroup are spread: those with the same limits grow together, and none does more than the next of
//! them lets it.

use super::case::{Case, is_full, used};
use super::held::{LEAST_GAIN_PERCENT, most_times};
use super::sizes::databases;
use crate::advice::{ABOVE_PERCENT, AT_LIMIT_PERCENT, Advice, Finding};
use crate::file::DatabaseFile;
use crate::gain::{Bound, Unthrottled, brings, fastest_ms, mean_ms, nearest};
use crate::judgement;
use crate::limits::Limits;
use crate::storage::{LimitOf, Step, Storage};

/// Makes one piece of advice of those for files of a filegroup that have the same limits, and bounds what each brings by the other files.
pub fn together(grown: &mut Vec<Advice>, case: &Case<'_>) {
    for places in databases(case.files).into_iter().filter(|places| places.len() > 1) {
        // Of a group without advice there is nothing to make one of.
        let is_own = |one: &Advice| one.files.iter().all(|at| places.contains(at));
        if !grown.iter().any(is_own) {
            continue;
        }
        // What grows for rows to be spread is computed with what is added: no other file grows with it.
        let is_spread =
            |one: &Advice| matches!(one.finding, Finding::Add { .. }) && one.files.iter().all(|at| places.contains(at));
        if grown.iter().any(is_spread) {
            continue;
        }
        let mut steps: Vec<&Step> = Vec::new();
        for step in places.iter().filter_map(|at| case.limits.files[*at].step.as_ref()) {
            if !steps.contains(&step) {
                steps.push(step);
                // One that does far more than its limits has others, and grows by none of these. Into one that is full no rows go.
                let has_it = |at: &&usize| {
                    let percent = case.percent(**at);
                    let takes_rows = !is_full(&case.files[**at]) || percent >= AT_LIMIT_PERCENT;
                    case.limits.files[**at].step.as_ref() == Some(step) && percent < ABOVE_PERCENT && takes_rows
                };
                merge(grown, &places.iter().filter(has_it).copied().collect::<Vec<_>>(), case.files);
            }
        }
        let sizes: Vec<(usize, f64)> = judgement::sizes(grown.iter()).collect();
        let of_all = |at: usize| most_times(at, case);
        let on = Ground { files: case.files, limits: case.limits, storage: case.storage };
        let times = bound(grown, (&places, &sizes), on, (case.unthrottled_ms(), &of_all));
        let is_out = |one: &Advice| {
            matches!(one.finding, Finding::Elsewhere { .. }) && one.files.iter().all(|at| places.contains(at))
        };
        // Where the next one stands at a limit that no size raises, larger ones bring nothing either.
        if let Some(out) = grown.iter().position(is_out).filter(|_| 100.0 * (times - 1.0) < LEAST_GAIN_PERCENT) {
            let files: Vec<usize> =
                grown.iter().filter(|one| is_of(one, &places)).flat_map(|one| one.files.clone()).collect();
            grown[out].files.extend(files);
            grown.retain(|one| !is_of(one, &places));
        }
    }
}

fn is_of(one: &Advice, places: &[usize]) -> bool {
    matches!(one.finding, Finding::Grow { .. }) && one.files.iter().all(|at| places.contains(at))
}

/// Files with the same limits all get the largest size that one of them is to have. A limit that one stands at is a better reason than a time.
fn merge(grown: &mut Vec<Advice>, places: &[usize], files: &[DatabaseFile]) {
    let own: Vec<usize> = (0..grown.len()).filter(|at| is_of(&grown[*at], places)).collect();
    let is_at_limit = |at: &&usize| matches!(grown[**at].finding, Finding::Grow { slow_ms: None, .. });
    let Some((first, reason)) = own.first().zip(own.iter().find(is_at_limit).or(own.first())) else { return };
    let mut merged = grown[*reason].clone();
    for at in own.iter().flat_map(|one| &grown[*one].files).chain(places) {
        if !merged.files.contains(at) {
            merged.files.push(*at);
        }
    }
    for one in &own {
        if let (Finding::Grow { size_gb, step, .. }, Finding::Grow { size_gb: other_gb, step: other, .. }) =
            (&mut merged.finding, &grown[*one].finding)
            && *other_gb > *size_gb
        {
            (*size_gb, *step) = (*other_gb, other.clone());
        }
    }
    // One that is as large keeps its size.
    if let Finding::Grow { size_gb, .. } = merged.finding {
        merged.files.retain(|at| files[*at].size_gb < size_gb);
    }
    grown[*first] = merged;
    for at in own[1..].iter().rev() {
        grown.remove(*at);
    }
}

/// Files, and the limits that they have.
#[derive(Clone, Copy)]
pub struct Ground<'a> {
    pub files: &'a [DatabaseFile],
    pub limits: &'a Limits,
    pub storage: &'a Storage<'a>,
}

/// How long an operation takes below its limits, and how many times what it does a file can do at most.
type Most<'a> = (Unthrottled, &'a dyn Fn(usize) -> (f64, Bound));

/// What larger files bring where others of their filegroups have other sizes than is advised.
pub fn bound_by(grown: &mut [Advice], sizes: &[(usize, f64)], on: Ground<'_>, most: Most<'_>) {
    for places in databases(on.files).into_iter().filter(|places| places.len() > 1) {
        let advised: Vec<usize> =
            grown.iter().filter(|one| is_of(one, &places)).flat_map(|one| one.files.clone()).collect();
        let is_other = |at: &usize| !advised.contains(at) && sizes.iter().any(|(grown, _)| grown == at);
        if !advised.is_empty() && places.iter().any(is_other) {
            bound(grown, (&places, sizes), on, most);
        }
    }
}

/// What files bring once the others of their filegroup stand at their limits: rows are spread over all, so all do more alike. It gives how many
/// times as much that is.
fn bound(
    grown: &mut [Advice],
    (places, sizes): (&[usize], &[(usize, f64)]),
    on: Ground<'_>,
    (unthrottled_ms, most_times): Most<'_>,
) -> f64 {
    let times = |at: &usize| {
        let step = match sizes.iter().find(|(grown, _)| grown == at) {
            Some((_, size_gb)) => on.storage.step(*size_gb)?,
            None => on.limits.files[*at].step.as_ref()?,
        };
        lets(&on.files[*at], step)
    };
    // One that does far more than its limits has others.
    let percent = |at: usize| used(&on.files[at], &on.limits.files[at]).map_or(0.0, |(percent, _)| percent);
    let is_known = |at: &&usize| percent(**at) < ABOVE_PERCENT;
    let known = places.iter().filter(is_known).filter_map(|at| Some((*at, times(at)?)));
    let Some((next, (of_all, limit))) = known.min_by(|a, b| a.1.0.total_cmp(&b.1.0)) else { return f64::INFINITY };
    // Advice in whose place its files have other sizes brings what it would bring by itself.
    let is_so =
        |at: &usize, size_gb: f64| sizes.iter().any(|(other, gb)| other == at && (gb - size_gb).abs() <= SAME_GB);
    let is_made = |one: &Advice| match one.finding {
        Finding::Grow { size_gb, .. } => one.files.iter().all(|at| is_so(at, size_gb)),
        _ => false,
    };
    for one in grown.iter_mut().filter(|one| is_of(one, places) && is_made(one)) {
        let Some(first) = one.files.first().copied() else { continue };
        // What is under way goes to all that grow together; what others of the filegroup take stays as it is.
        let own: Vec<&DatabaseFile> = one.files.iter().map(|at| &on.files[*at]).collect();
        let (read_ms, write_ms) = (mean_ms(&own), fastest_ms(&own));
        let file = DatabaseFile { read_ms, write_ms, ..on.files[first].clone() };
        let is_own = one.files.contains(&next);
        if let Finding::Grow { used: Some((_, of_limit)), step, slow_ms: None, brings: gain, .. } = &mut one.finding {
            let bound = match limit {
                _ if !is_own => Bound::Neighbours,
                of if of == *of_limit => Bound::Limit,
                of => Bound::Other(of),
            };
            let of_all = nearest(most_times(first), (of_all, bound));
            *gain = brings(&file, *of_limit, step, unthrottled_ms, of_all);
        }
    }
    of_all
}

/// Sizes that differ by less are the same.
const SAME_GB: f64 = 0.5;

/// How many times what it does a file can do with these limits, and which of them it stands at then.
pub fn lets(file: &DatabaseFile, step: &Step) -> Option<(f64, LimitOf)> {
    let times = |seen: Option<f64>, limit: Option<f64>| Some(limit? / seen.filter(|seen| *seen > 0.0)?);
    let iops = times(file.iops, step.iops).map(|times| (times, LimitOf::Iops));
    let rate = times(file.mb_per_s, step.mb_per_s).map(|times| (times, LimitOf::Bandwidth));
    iops.into_iter().chain(rate).min_by(|a, b| a.0.total_cmp(&b.0))
}
