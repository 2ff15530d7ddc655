//! Further data files where no size of one has enough: how many, of which size, and what they bring.

use super::alike;
use super::case::{Case, used};
use super::held::most_times;
use super::sizes::{databases, whole_gb};
use crate::advice::{self, ABOVE_PERCENT, Advice, Finding, Larger};
use crate::choice::WORTH;
use crate::file::DatabaseFile;
use crate::gain;
use crate::judgement;
use crate::layout::{ROOM_PART, Rules};
use crate::storage::{Step, Storage};

/// What saves no more than so many GB is not worth moving rows.
const LITTLE_GB: f64 = 256.0;

/// Fewer files may take so many times the space of the least.
const FEWER: f64 = 1.5;

/// Data files over which rows are spread, beside those that are there.
#[derive(Debug, Clone, PartialEq)]
pub struct More {
    /// How many.
    pub added: usize,
    /// The size of each, in GB.
    pub size_gb: f64,
    /// What each has.
    pub step: Step,
}

/// The files that are there: how many, those that stay as they are, and those that are to be as large as what is added.
#[derive(Debug, Clone, Copy, Default)]
pub struct Now<'a> {
    /// How many.
    pub files: usize,
    /// Size and limits of each that stays as it is.
    pub kept: &'a [(f64, Step)],
    /// The size of the largest of the others, in GB.
    pub largest_gb: f64,
    /// The sizes of the others together, in GB.
    pub grown_gb: f64,
}

/// How much of some limit files have together, of which each gets rows by its size and the busiest does so many times its share.
fn together(files: &[(f64, Step)], of: fn(&Step) -> Option<f64>, imbalance: f64) -> Option<f64> {
    let all_gb: f64 = files.iter().map(|(size_gb, _)| size_gb).sum();
    let each = files.iter().map(|(size_gb, step)| Some(of(step)? * all_gb / (size_gb * imbalance)));
    each.collect::<Option<Vec<f64>>>()?.into_iter().reduce(f64::min)
}

/// The least space in further files, or nearly so in fewer, with which those that are there carry these IOPS and MB/s with room to spare, where their
/// rows take so many GB, with the room that they are to have. `None` where as many as a layout may have do not. With no file yet, those that carry it from the beginning.
pub fn more(
    [iops, mb_per_s]: [f64; 2],
    content_gb: f64,
    now: Now<'_>,
    (storage, rules): (&Storage<'_>, &Rules),
) -> Option<More> {
    let times = (1.0 + rules.headroom_percent / 100.0) * rules.imbalance;
    // So many GB take as many rows as those that are there have too many of: rows go by size.
    let whole = |(size_gb, step): &(f64, Step)| {
        let gb = |rate: f64, limit: Option<f64>| limit.map_or(f64::INFINITY, |limit| rate * times * size_gb / limit);
        gb(iops, step.iops).max(gb(mb_per_s, step.mb_per_s))
    };
    let kept_gb: f64 = now.kept.iter().map(|(size_gb, _)| size_gb).sum();
    // What arithmetic leaves is no reason for another file.
    let relief_gb = (now.kept.iter().map(whole).fold(0.0, f64::max) - kept_gb).max(0.0) + 1.0;
    let tried = |(all, step): (usize, &Step)| {
        let part_gb = match all - now.kept.len() {
            0 => 0.0,
            _ if now.kept.is_empty() => whole_gb(content_gb / all as f64),
            // What is there holds all rows.
            new => whole_gb(relief_gb / new as f64),
        };
        let size_gb = storage.begins_gb(step).max(part_gb).max(whole_gb(now.largest_gb)).max(1.0);
        let step = storage.step(size_gb)?;
        let new = std::iter::repeat_n((size_gb, step.clone()), all - now.kept.len());
        let files: Vec<(f64, Step)> = now.kept.iter().cloned().chain(new).collect();
        let carries = |rate: f64, of: fn(&Step) -> Option<f64>| {
            Some(rate * (1.0 + rules.headroom_percent / 100.0) <= together(&files, of, rules.imbalance)?)
        };
        let is_enough = carries(iops, |step| step.iops)? && carries(mb_per_s, |step| step.mb_per_s)?;
        is_enough.then(|| More { added: all - now.files, size_gb, step: step.clone() })
    };
    let most = now.files.max(rules.most_files as usize);
    // Those that are there may have enough once their rows are spread.
    let all = (now.files.max(1)..=most).flat_map(|all| storage.steps.iter().map(move |step| (all, step)));
    let all: Vec<More> = all.filter_map(tried).collect();
    let grown = now.files - now.kept.len();
    let gb = |one: &More| (one.added + grown) as f64 * one.size_gb - now.grown_gb;
    let least_gb = all.iter().map(gb).reduce(f64::min)?;
    // Each file more is one to look after, so that fewer are better where they take little more.
    let near = all.into_iter().filter(|one| gb(one) <= FEWER * least_gb);
    near.min_by(|a, b| a.added.cmp(&b.added).then(gb(a).total_cmp(&gb(b))))
}

/// Where no size of data files has enough, further ones of their filegroup do, one answer for all of it.
pub fn instead(grown: &mut Vec<Advice>, case: &Case<'_>) {
    for places in databases(case.files) {
        let is_far = is_far(grown, &places, case);
        let is_own = |one: &Advice| {
            let is_one = match one.finding {
                Finding::Elsewhere { .. } => true,
                Finding::Grow { used: Some(_), slow_ms: None, .. } => is_far,
                _ => false,
            };
            is_one && one.files.iter().all(|at| places.contains(at))
        };
        let Some(first) = grown.iter().position(is_own) else { continue };
        let is_larger = |one: &Advice| {
            matches!(one.finding, Finding::Grow { .. }) && one.files.iter().all(|at| places.contains(at))
        };
        let files = |is_so: &dyn Fn(&Advice) -> bool| -> Vec<usize> {
            grown.iter().filter(|one| is_so(one)).flat_map(|one| one.files.clone()).collect()
        };
        // They carry all, so that no other file of theirs is to grow but for that.
        let all = files(&|one| is_own(one) || is_larger(one));
        let answers = added(&all, &places, case);
        let is_all = answers.is_some();
        if is_far && !is_all {
            continue;
        }
        let answers = answers.map(|all| all.into_iter().map(|one| beside(one, grown, &places, case)).collect());
        // Where no number of files has enough that is one answer for all of them, too.
        let answers = answers.unwrap_or_else(|| vec![Advice { files: files(&is_own), ..grown[first].clone() }]);
        let before = grown[..first].iter().filter(|one| !(is_all && is_larger(one))).count();
        grown.retain(|one| !(is_own(one) || (is_all && is_larger(one))));
        grown.splice(before..before, answers);
    }
}

/// Names larger files beside further ones, if all that stand at a limit could be so.
fn beside(mut one: Advice, grown: &[Advice], places: &[usize], case: &Case<'_>) -> Advice {
    let is_own = |one: &&Advice| one.files.iter().all(|at| places.contains(at));
    let mut alone: Vec<Advice> = grown.iter().filter(is_own).cloned().collect();
    let is_larger = |one: &Advice| matches!(one.finding, Finding::Grow { .. });
    if let Finding::Add { larger, .. } = &mut one.finding
        && alone.iter().all(is_larger)
    {
        alike::together(&mut alone, case);
        let sizes: Vec<(usize, f64)> = judgement::sizes(&alone).collect();
        let more_gb: f64 = sizes.iter().map(|(at, size_gb)| size_gb - case.files[*at].size_gb).sum();
        let fits = case.storage.space_gb().is_none_or(|space| case.limits.file_gb + more_gb <= space);
        let brings = alone.first().and_then(|one| match one.finding {
            Finding::Grow { brings, .. } => brings,
            _ => None,
        });
        *larger = Some(Larger { sizes, fits, brings });
    }
    one
}

/// Whether files of a filegroup have room for the rows that those at a limit have more than their share of, by size; so it is where nobody said how
/// much of them is used.
fn have_room(at_limit: &[usize], places: &[usize], files: &[DatabaseFile]) -> bool {
    let used = |at: &usize| files[*at].used_gb;
    let Some(content_gb) = places.iter().map(used).sum::<Option<f64>>() else { return true };
    let all_gb: f64 = places.iter().map(|at| files[*at].size_gb).sum();
    let share_gb = |at: &usize| content_gb * files[*at].size_gb / all_gb;
    let excess_gb: f64 = at_limit.iter().map(|at| (used(at).unwrap_or(0.0) - share_gb(at)).max(0.0)).sum();
    let others = places.iter().filter(|at| !at_limit.contains(at));
    let room_gb: f64 = others.map(|at| files[*at].size_gb - used(at).unwrap_or(0.0)).sum();
    // New pages go by free space: as much has to be free elsewhere as in the files that are to give rows.
    let own_gb: f64 = at_limit.iter().map(|at| files[*at].size_gb - used(at).unwrap_or(0.0)).sum();
    room_gb >= excess_gb && room_gb >= own_gb
}

/// The least sizes with which files hold what they have, with room to grow, and keep their limits; `None` where it is not known what is used, or where
/// none is smaller.
fn shrunk(places: &[usize], kept: &[(f64, Step)], case: &Case<'_>) -> Option<Vec<(f64, Step)>> {
    let least = |(at, (size_gb, step)): (&usize, &(f64, Step))| {
        let content_gb = whole_gb(case.files[*at].used_gb? * (1.0 + ROOM_PART));
        Some((content_gb.max(case.storage.begins_gb(step)).max(1.0).min(*size_gb), step.clone()))
    };
    let all = places.iter().zip(kept).map(least).collect::<Option<Vec<_>>>()?;
    all.iter().zip(kept).any(|(least, now)| least.0 < now.0).then_some(all)
}

/// Whether larger files take far more space than further ones, or than those that are there once they are alike: by more than a tenth of the
/// instance's, for which rows are moved.
fn is_far(grown: &[Advice], places: &[usize], case: &Case<'_>) -> bool {
    let own = grown.iter().filter(|one| one.files.iter().all(|at| places.contains(at)));
    let mut larger_gb = 0.0;
    let mut files = Vec::new();
    for one in own {
        match one.finding {
            Finding::Grow { size_gb, slow_ms: None, used: Some(_), .. } => {
                larger_gb += one.files.iter().map(|at| size_gb - case.files[*at].size_gb).sum::<f64>();
                files.extend(&one.files);
            }
            _ => return false,
        }
    }
    let Some(answers) = added(&files, places, case).filter(|_| !files.is_empty()) else { return false };
    let gb = |one: &Advice| match one.finding {
        Finding::Grow { size_gb, .. } => one.files.iter().map(|at| size_gb - case.files[*at].size_gb).sum(),
        Finding::Add { added, size_gb, .. } => added as f64 * size_gb,
        _ => 0.0,
    };
    let other_gb: f64 = answers.iter().map(gb).sum();
    let all_gb: f64 = case.files.iter().map(|file| file.size_gb).sum();
    if other_gb == 0.0 {
        // Rows that are spread alike take nothing, and files with the same limits grow together.
        let same =
            |at: &&usize| files.iter().any(|grown| case.limits.files[**at].step == case.limits.files[*grown].step);
        let count = places.iter().filter(same).count().max(files.len());
        return larger_gb * count as f64 / files.len() as f64 > LITTLE_GB;
    }
    let little_gb = (WORTH - 1.0) * case.storage.space_gb().unwrap_or(all_gb);
    larger_gb - other_gb > little_gb.max(LITTLE_GB)
}

/// What is to be added to data files of which these stand at a limit. Others grow to the size of what is added, or in its place, where that takes
/// less space.
fn added(at_limit: &[usize], places: &[usize], case: &Case<'_>) -> Option<Vec<Advice>> {
    // One that does far more than its limits has others, and goes on with what it does.
    let places: Vec<usize> = places.iter().copied().filter(|at| case.percent(*at) < ABOVE_PERCENT).collect();
    // What nobody saw may be anything.
    if !DatabaseFile::have_rates_alike(&places.iter().map(|at| &case.files[*at]).collect::<Vec<_>>()) {
        return None;
    }
    // Rows go where there is room: others that are full take none, and keep what they have.
    let others_full = places.len() > at_limit.len() && !have_room(at_limit, &places, case.files);
    let is_of_it = |at: &usize| !others_full || at_limit.contains(at);
    let places: Vec<usize> = places.into_iter().filter(is_of_it).collect();
    let first = *at_limit.first()?;
    let (used_percent, of_limit) = used(&case.files[first], &case.limits.files[first])?;
    let own = || places.iter().map(|at| &case.files[*at]);
    let sum = |of: fn(&DatabaseFile) -> f64| own().map(of).sum::<f64>();
    let rates = [sum(|file| file.iops.unwrap_or(0.0)), sum(|file| file.mb_per_s.unwrap_or(0.0))];
    let content_gb = sum(|file| file.used_gb.map_or(file.size_gb, |used| used * (1.0 + ROOM_PART)));
    let kept = places.iter().map(|at| Some((case.files[*at].size_gb, case.limits.files[*at].step.clone()?)));
    let kept = kept.collect::<Option<Vec<(f64, Step)>>>()?;
    let rules = Rules::default();
    let with = |kept: &[(f64, Step)], grown: &[usize]| {
        let sizes = || grown.iter().map(|at| case.files[*at].size_gb);
        let (largest_gb, grown_gb) = (sizes().fold(0.0, f64::max), sizes().sum());
        let now = Now { files: places.len(), kept, largest_gb, grown_gb };
        more(rates, content_gb, now, (case.storage, &rules))
    };
    // Some of the files, next to each other by size, grow to the size of what is added, or none does: whatever takes the least space.
    let mut by_size: Vec<usize> = (0..places.len()).collect();
    by_size.sort_by(|a, b| kept[*a].0.total_cmp(&kept[*b].0));
    // Of more than a layout may have all grow or none.
    let fewest = if places.len() <= rules.most_files as usize { 1 } else { places.len() };
    let grown = (fewest..=places.len()).flat_map(|length| by_size.windows(length));
    let tried = std::iter::once([].as_slice()).chain(grown).filter_map(|grown| {
        let stays = (0..places.len()).filter(|at| !grown.contains(at)).map(|at| kept[at].clone()).collect::<Vec<_>>();
        let grown: Vec<usize> = grown.iter().map(|at| places[*at]).collect();
        let more = with(&stays, &grown)?;
        let is_smaller = |at: &usize| whole_gb(case.files[*at].size_gb) < more.size_gb;
        let smaller: Vec<usize> = grown.into_iter().filter(is_smaller).collect();
        Some((more, smaller, stays))
    });
    let taken_gb = |more: &More, smaller: &[usize]| {
        let grown_gb: f64 = smaller.iter().map(|at| more.size_gb - case.files[*at].size_gb).sum();
        more.added as f64 * more.size_gb + grown_gb
    };
    let (more, smaller, stays) = tried.min_by(|a, b| taken_gb(&a.0, &a.1).total_cmp(&taken_gb(&b.0, &b.1)))?;
    // Where there is no room for that, files that are part empty give some back first and keep their limits: smaller ones then carry as much.
    let free_gb = case.storage.space_gb().map_or(f64::INFINITY, |space| space - case.limits.file_gb);
    let has_no_room = smaller.is_empty() && more.added > 0 && taken_gb(&more, &[]) > free_gb;
    let shrunk = shrunk(&places, &kept, case).filter(|_| has_no_room);
    let with_less = shrunk.as_ref().and_then(|kept| with(kept, &[])).filter(|less| less.added > 0);
    let (more, kept, shrunk) = match (with_less, shrunk) {
        (Some(less), Some(smaller)) => {
            let sizes = places.iter().zip(&smaller).map(|(at, (size_gb, _))| (*at, *size_gb));
            let sizes = sizes.filter(|(at, size_gb)| *size_gb < case.files[*at].size_gb).collect();
            (less, smaller, sizes)
        }
        _ => (more, stays, Vec::new()),
    };
    let all = places.len() + more.added;
    let new = std::iter::repeat_n((more.size_gb, more.step.clone()), all - kept.len());
    let files: Vec<(f64, Step)> = kept.iter().cloned().chain(new).collect();
    let of = |limit: fn(&Step) -> Option<f64>| together(&files, limit, if all > 1 { rules.imbalance } else { 1.0 });
    let step = Step { iops: of(|step| step.iops), mb_per_s: of(|step| step.mb_per_s), ..more.step.clone() };
    let own: Vec<&DatabaseFile> = own().collect();
    let brings = gain::brings_all(&own, of_limit, &step, case.unthrottled_ms(), most_times(first, case));
    let More { added, size_gb, step } = more;
    let grow = Finding::Grow { used: None, slow_ms: None, size_gb, step: step.clone(), fits: true, brings: None };
    let mut answers: Vec<Advice> = Some(smaller)
        .filter(|all| !all.is_empty())
        .and_then(|all| advice::of("file-at-limit", all, grow))
        .into_iter()
        .collect();
    let add = Finding::Add {
        used_percent,
        of: of_limit,
        added,
        all,
        others_full,
        shrunk,
        size_gb,
        step,
        brings,
        fits: true,
        larger: None,
    };
    answers.extend(advice::of("more-files", at_limit.to_vec(), add));
    Some(answers)
}
