//! Further data files where no size of one has enough: how many, of which size, and what they bring.

use super::alike;
use super::case::{Case, is_full, used};
use super::held::most_times;
use super::sizes::{databases, whole_gb};
use crate::advice::{self, ABOVE_PERCENT, Advice, Finding, Larger};
use crate::choice::WORTH;
use crate::file::DatabaseFile;
use crate::gain::{self, Bound, nearest};
use crate::judgement;
use crate::layout::{ROOM_PART, Rules};
use crate::storage::{Step, Storage};

/// What saves no more than so many GB is not worth another file, nor is a tenth of the instance's space; what saves more than either is worth
/// moving rows.
const LITTLE_GB: f64 = 256.0;

/// Fewer files may take so many times the space of the least.
const FEWER: f64 = 1.5;

/// Data files over which rows are spread, beside those that are there.
#[derive(Debug, Clone, PartialEq)]
pub struct More {
    /// How many are added.
    pub added: usize,
    /// The size of each, in GB; of files that grow, too.
    pub size_gb: f64,
    /// What each has.
    pub step: Step,
    /// Those that are there and grow to this size, by their places among these.
    pub grown: Vec<usize>,
    /// All that there are then: sizes and limits. What is said of them is computed from these alone.
    pub files: Vec<(f64, Step)>,
}

impl More {
    /// GB that they take more than those that are there.
    fn taken_gb(&self, now: &[(f64, Step)]) -> f64 {
        let all_gb = |files: &[(f64, Step)]| files.iter().map(|(size_gb, _)| size_gb).sum::<f64>();
        // What arithmetic leaves is no difference.
        ((all_gb(&self.files) - all_gb(now)) * 1e6).round() / 1e6
    }

    /// How many files are added or grow.
    fn changes(&self) -> usize {
        self.added + self.grown.len()
    }
}

/// How much of some limit files have together, of which each gets rows by its size and the busiest of several does so many times its share.
fn together(files: &[(f64, Step)], of: fn(&Step) -> Option<f64>, imbalance: f64) -> Option<f64> {
    let imbalance = if files.len() > 1 { imbalance } else { 1.0 };
    let all_gb: f64 = files.iter().map(|(size_gb, _)| size_gb).sum();
    let each = files.iter().map(|(size_gb, step)| Some(of(step)? * all_gb / (size_gb * imbalance)));
    each.collect::<Option<Vec<f64>>>()?.into_iter().reduce(f64::min)
}

/// The least space in further files, or nearly so in fewer, with which files carry these IOPS and MB/s with room to spare, where their rows take so
/// many GB, with the room that they are to have. `now` are those that are there, of which some may grow to the size of what is added, or in its
/// place. `None` where as many as a layout may have do not carry it. With no file yet, those that carry it from the beginning.
pub fn more(
    rates: [f64; 2],
    content_gb: f64,
    now: &[(f64, Step)],
    (storage, rules): (&Storage<'_>, &Rules),
) -> Option<More> {
    // Some of the files, next to each other by size, grow to the size of what is added, or none does: whatever takes the least space.
    let mut by_size: Vec<usize> = (0..now.len()).collect();
    by_size.sort_by(|a, b| now[*a].0.total_cmp(&now[*b].0));
    // Of more than a layout may have all grow or none.
    let fewest = if now.len() <= rules.most_files as usize { 1 } else { now.len().max(1) };
    let grown = (fewest..=now.len()).flat_map(|length| by_size.windows(length));
    let all = std::iter::once([].as_slice()).chain(grown);
    let tried = all.filter_map(|grown| beside_grown(rates, content_gb, (now, grown), (storage, rules)));
    tried.min_by(|a, b| a.taken_gb(now).total_cmp(&b.taken_gb(now)).then_with(|| a.changes().cmp(&b.changes())))
}

/// The same where these of the files grow to the size of what is added.
fn beside_grown(
    [iops, mb_per_s]: [f64; 2],
    content_gb: f64,
    (now, grown): (&[(f64, Step)], &[usize]),
    (storage, rules): (&Storage<'_>, &Rules),
) -> Option<More> {
    let times = (1.0 + rules.headroom_percent / 100.0) * rules.imbalance;
    // So many GB take as many rows as those that stay have too many of: rows go by size.
    let whole = |(size_gb, step): &(f64, Step)| {
        let gb = |rate: f64, limit: Option<f64>| limit.map_or(f64::INFINITY, |limit| rate * times * size_gb / limit);
        gb(iops, step.iops).max(gb(mb_per_s, step.mb_per_s))
    };
    let stays: Vec<&(f64, Step)> = (0..now.len()).filter(|at| !grown.contains(at)).map(|at| &now[at]).collect();
    let stays_gb: f64 = stays.iter().map(|(size_gb, _)| size_gb).sum();
    let relief_gb = (stays.iter().map(|one| whole(one)).fold(0.0, f64::max) - stays_gb).max(0.0);
    // What arithmetic leaves is no reason for another file.
    let relief_gb = relief_gb * (1.0 + 1e-9) + 1e-6;
    let largest_gb = grown.iter().map(|at| now[*at].0).fold(0.0, f64::max);
    let tried = |(added, step): (usize, &Step)| {
        let part_gb = match added + grown.len() {
            0 => 0.0,
            new if stays.is_empty() => whole_gb(content_gb / new as f64),
            // What is there holds all rows.
            new => whole_gb(relief_gb / new as f64),
        };
        let size_gb = storage.begins_gb(step).max(part_gb).max(whole_gb(largest_gb)).max(1.0);
        let step = storage.step(size_gb)?;
        // One that is as large keeps its size.
        let grown: Vec<usize> = grown.iter().copied().filter(|at| whole_gb(now[*at].0) < size_gb).collect();
        let mut files = now.to_vec();
        for at in &grown {
            files[*at] = (size_gb, step.clone());
        }
        files.extend(std::iter::repeat_n((size_gb, step.clone()), added));
        let carries = |rate: f64, of: fn(&Step) -> Option<f64>| {
            Some(rate * (1.0 + rules.headroom_percent / 100.0) <= together(&files, of, rules.imbalance)?)
        };
        let is_enough = carries(iops, |step| step.iops)? && carries(mb_per_s, |step| step.mb_per_s)?;
        is_enough.then(|| More { added, size_gb, step: step.clone(), grown, files })
    };
    let most = (rules.most_files as usize).saturating_sub(now.len());
    // Those that are there may have enough once their rows are spread.
    let least = usize::from(now.is_empty());
    let all = (least..=most).flat_map(|added| storage.steps.iter().map(move |step| (added, step)));
    let all: Vec<More> = all.filter_map(tried).collect();
    let least_gb = all.iter().map(|one| one.taken_gb(now)).reduce(f64::min)?;
    // Each file more is one to look after, so that fewer are better where they take little more.
    let near = all.into_iter().filter(|one| one.taken_gb(now) <= FEWER * least_gb);
    near.min_by(|a, b| a.added.cmp(&b.added).then(a.taken_gb(now).total_cmp(&b.taken_gb(now))))
}

/// Where no size of data files has enough, or there is no room for these files if they were larger, further ones of their filegroup do, one answer
/// for all of it.
pub fn instead(grown: &mut Vec<Advice>, without_room: &[usize], case: &Case<'_>) {
    for places in databases(case.files) {
        let is_far = is_far(grown, &places, without_room, case);
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
        let is_slow = |one: &Advice| matches!(one.finding, Finding::Grow { slow_ms: Some(_), .. });
        let files = |is_so: &dyn Fn(&Advice) -> bool| -> Vec<usize> {
            grown.iter().filter(|one| is_so(one)).flat_map(|one| one.files.clone()).collect()
        };
        // They carry all, so that no other file of theirs is to grow but for that. What is only slow stands at no limit.
        let all = files(&|one| is_own(one) || is_larger(one) && !is_slow(one));
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
        let brings = alone.first().and_then(|one| match one.finding {
            Finding::Grow { brings, .. } => brings,
            _ => None,
        });
        *larger = Some(Larger { sizes, lack: None, brings });
    }
    one
}

/// Names what a rebuild of the indexes brings beside larger files of a filegroup, where those that are there carry the rows once these are spread,
/// and do no less then.
pub fn or_rebuild(grown: &mut [Advice], case: &Case<'_>) {
    for places in databases(case.files).into_iter().filter(|places| places.len() > 1) {
        let mut own: Vec<&mut Advice> = grown
            .iter_mut()
            .filter(|one| {
                let is_larger = matches!(one.finding, Finding::Grow { used: Some(_), slow_ms: None, .. });
                is_larger && one.files.iter().all(|at| places.contains(at))
            })
            .collect();
        let files: Vec<usize> = own.iter().flat_map(|one| one.files.clone()).collect();
        let answers = added(&files, &places, case).unwrap_or_default();
        let [Advice { finding: Finding::Add { added: 0, brings: Some(spread), .. }, .. }] = answers.as_slice() else {
            continue;
        };
        if let Some(Finding::Grow { brings: Some(brings), rebuild, .. }) = own.first_mut().map(|one| &mut one.finding) {
            *rebuild = (spread.most_percent >= brings.most_percent).then_some(*spread);
        }
    }
}

/// In so many steps files give back what they can, and in so many each of these is looked at again.
pub const STEPS_BACK: u32 = 16;
const FINE_STEPS: u32 = 8;

/// Sizes with which files hold what they have, with room to grow, and keep their limits: from nearly those that they have to the least. Nothing where it
/// is not known what is used, or where none is smaller.
fn smaller<'c>(
    places: &'c [usize],
    kept: &'c [(f64, Step)],
    case: &'c Case<'_>,
) -> impl Fn(u32) -> Option<Vec<(f64, Step)>> + 'c {
    let least_gb = |(at, (size_gb, step)): (&usize, &(f64, Step))| {
        let content_gb = whole_gb(case.files[*at].used_gb? * (1.0 + ROOM_PART));
        Some(content_gb.max(case.storage.begins_gb(step)).max(1.0).min(*size_gb))
    };
    let least = places.iter().zip(kept).map(least_gb).collect::<Option<Vec<f64>>>().unwrap_or_default();
    move |part: u32| {
        let part = f64::from(part) / f64::from(STEPS_BACK * FINE_STEPS);
        let size_gb =
            |now_gb: f64, least_gb: f64| whole_gb(now_gb - (now_gb - least_gb) * part).clamp(least_gb, now_gb);
        let all = kept.iter().zip(&least).map(|((now_gb, step), least)| (size_gb(*now_gb, *least), step.clone()));
        let all: Vec<(f64, Step)> = all.collect();
        all.iter().zip(kept).any(|(less, now)| less.0 < now.0).then_some(all)
    }
}

/// Whether larger files take far more space than further ones, or than those that are there once they are alike, for which rows are moved; or
/// take more and have no room.
fn is_far(grown: &[Advice], places: &[usize], without_room: &[usize], case: &Case<'_>) -> bool {
    let is_own = |one: &&Advice| one.files.iter().all(|at| places.contains(at));
    let own = grown.iter().filter(is_own);
    let mut larger_gb = 0.0;
    let mut files = Vec::new();
    for one in own {
        match one.finding {
            Finding::Grow { size_gb, slow_ms, used, .. } => {
                larger_gb += one.files.iter().map(|at| size_gb - case.files[*at].size_gb).sum::<f64>();
                // Those that are slow for no known reason come beside those that stand at a limit.
                let is_at_limit = slow_ms.is_none() && used.is_some();
                files.extend(one.files.iter().filter(|_| is_at_limit));
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
    if files.iter().any(|at| without_room.contains(at)) {
        let back = |one: &Advice| match &one.finding {
            Finding::Add { shrunk, .. } => shrunk.iter().map(|(at, size_gb)| case.files[*at].size_gb - size_gb).sum(),
            _ => 0.0,
        };
        return larger_gb > other_gb - answers.iter().map(back).sum::<f64>()
            || takes_fewer_blobs(&answers, grown.iter().filter(is_own), places, case);
    }
    let all_gb: f64 = case.files.iter().map(|file| file.size_gb).sum();
    let little_gb = (WORTH - 1.0) * case.storage.space_gb().unwrap_or(all_gb);
    if other_gb == 0.0 {
        // Rows that are spread alike take nothing, and files with the same limits grow together.
        let same =
            |at: &&usize| files.iter().any(|grown| case.limits.files[**at].step == case.limits.files[*grown].step);
        let count = places.iter().filter(same).count().max(files.len());
        return larger_gb * count as f64 / files.len() as f64 > little_gb.min(LITTLE_GB);
    }
    larger_gb - other_gb > little_gb.max(LITTLE_GB)
}

/// Whether there are too few blobs for larger files, with those that have the same limits and grow together, and further ones take fewer.
fn takes_fewer_blobs<'a>(
    answers: &[Advice],
    larger: impl Iterator<Item = &'a Advice>,
    places: &[usize],
    case: &Case<'_>,
) -> bool {
    let free_gb = case.storage.blobs_gb().map_or(f64::INFINITY, |most| most - case.limits.blob_gb);
    let mut larger: Vec<Advice> = larger.cloned().collect();
    let blob_gb = |one: &Advice| match one.finding {
        Finding::Grow { size_gb, .. } => case.storage.blob_gb(size_gb).unwrap_or(0.0),
        _ => 0.0,
    };
    // Of a whole filegroup of these there are enough: then nothing has to be known more exactly.
    if places.len() as f64 * larger.iter().map(blob_gb).fold(0.0, f64::max) <= free_gb {
        return false;
    }
    alike::together(&mut larger, case);
    let [larger_gb, other_gb] = [&larger, answers].map(|advice| blobs_gb(advice, case));
    larger_gb > free_gb && other_gb < larger_gb
}

/// What blobs advice takes more than there are now, in GB.
fn blobs_gb(advice: &[Advice], case: &Case<'_>) -> f64 {
    let blob_gb = |size_gb: f64| case.storage.blob_gb(size_gb).unwrap_or(0.0);
    let of = |one: &Advice| match one.finding {
        Finding::Grow { size_gb, .. } => {
            one.files.iter().map(|at| blob_gb(size_gb) - case.limits.files[*at].blob_gb.unwrap_or(0.0)).sum()
        }
        Finding::Add { added, size_gb, .. } => added as f64 * blob_gb(size_gb),
        _ => 0.0,
    };
    advice.iter().map(of).sum()
}

/// What is to be added to data files of which these stand at a limit. Some grow to the size of what is added, or in its place, where that takes
/// less space. Rows are spread over all files of the filegroup that take any, whatever they do now.
fn added(at_limit: &[usize], group: &[usize], case: &Case<'_>) -> Option<Vec<Advice>> {
    // One that does far more than its limits has others, and goes on with what it does.
    let places: Vec<usize> = group.iter().copied().filter(|at| case.percent(*at) < ABOVE_PERCENT).collect();
    let files = |places: &[usize]| places.iter().map(|at| &case.files[*at]).collect::<Vec<_>>();
    // What nobody saw may be anything.
    if !DatabaseFile::have_rates_alike(&files(&places)) {
        return None;
    }
    let own = files(&places);
    let sum = |of: fn(&DatabaseFile) -> Option<f64>| own.iter().filter_map(|file| of(file)).sum::<f64>();
    let rates = [sum(|file| file.iops), sum(|file| file.mb_per_s)];
    // Rows go where there is room: another one that is full takes none. What it has may come into the rest, where indexes are rebuilt.
    let (full, places): (Vec<usize>, Vec<usize>) =
        places.into_iter().partition(|at| is_full(&case.files[*at]) && !at_limit.contains(at));
    let first = *at_limit.first()?;
    let (used_percent, of_limit) = used(&case.files[first], &case.limits.files[first])?;
    let content = |file: &&DatabaseFile| file.used_gb.map_or(file.size_gb, |used| used * (1.0 + ROOM_PART));
    let content_gb = files(&places).iter().map(content).sum();
    let now = places.iter().map(|at| Some((case.files[*at].size_gb, case.limits.files[*at].step.clone()?)));
    let now = now.collect::<Option<Vec<(f64, Step)>>>()?;
    let rules = Rules::default();
    let with = |now: &[(f64, Step)]| more(rates, content_gb, now, (case.storage, &rules));
    let plain = with(&now)?;
    let blob_gb = |size_gb: f64| case.storage.blob_gb(size_gb).unwrap_or(0.0);
    let blobs_gb = |files: &[(f64, Step)]| files.iter().map(|(size_gb, _)| blob_gb(*size_gb)).sum::<f64>();
    let left_gb = Some(case.left.1).filter(|_| group.iter().any(|at| case.left.0.contains(at)));
    let free_blobs_gb = || case.storage.blobs_gb().unwrap_or(f64::INFINITY) - case.limits.blob_gb;
    let most_gb = left_gb.map_or_else(free_blobs_gb, |[_, blobs_gb]| blobs_gb) + blobs_gb(&now);
    // Where its blobs have no room, smaller ones beside those that are there may.
    let beside = || beside_grown(rates, content_gb, (&now, &[]), (case.storage, &rules));
    let is_over = blobs_gb(&plain.files) > most_gb;
    let plain = if is_over { beside().filter(|one| blobs_gb(&one.files) <= most_gb).unwrap_or(plain) } else { plain };
    // Where there is no room for that, files that are part empty give some back first and keep their limits, as little as has room: smaller ones then carry
    // as much.
    let others = case.smaller.iter().filter(|(at, _)| !group.contains(at));
    let back_gb: f64 = others.map(|(at, size_gb)| case.files[*at].size_gb - size_gb).sum();
    let free_gb = || case.storage.space_gb().map_or(f64::INFINITY, |space| space - case.limits.file_gb);
    let free_gb = left_gb.map_or_else(free_gb, |[files_gb, _]| files_gb) + back_gb;
    let has_blobs = |more: &More| blobs_gb(&more.files) <= most_gb;
    let has_no_room = plain.changes() > 0 && (plain.taken_gb(&now) > free_gb || !has_blobs(&plain));
    let smaller = smaller(&places, &now, case);
    let less = |part: u32| {
        let sizes = smaller(part)?;
        let has_room = |less: &More| less.added > 0 && less.taken_gb(&now) <= free_gb && has_blobs(less);
        // What gives back does not grow.
        let less = beside_grown(rates, content_gb, (&sizes, &[]), (case.storage, &rules)).filter(has_room)?;
        Some((less, sizes))
    };
    let coarse = (case.gives_back..=STEPS_BACK).filter(|_| has_no_room).find(|step| less(step * FINE_STEPS).is_some());
    let fine = coarse.and_then(|step| {
        let from = if step == case.gives_back && step > 1 { step * FINE_STEPS } else { (step - 1) * FINE_STEPS + 1 };
        (from..=step * FINE_STEPS).find_map(less)
    });
    let with_less = fine.map(|(less, sizes)| {
        let sizes = places.iter().zip(&sizes).map(|(at, (size_gb, _))| (*at, *size_gb));
        (less, sizes.filter(|(at, size_gb)| *size_gb < case.files[*at].size_gb).collect())
    });
    let (more, shrunk) = with_less.unwrap_or((plain, Vec::new()));
    let of = |limit: fn(&Step) -> Option<f64>| together(&more.files, limit, rules.imbalance);
    let all = Step { iops: of(|step| step.iops), mb_per_s: of(|step| step.mb_per_s), ..more.step.clone() };
    // One that keeps its rows does more with the others, as far as its limits let it.
    let lets = |at: &usize| alike::lets(&case.files[*at], case.limits.files[*at].step.as_ref()?);
    let by_full = full.iter().filter_map(lets).map(|(times, _)| times).fold(f64::INFINITY, f64::min);
    let most_times = nearest(most_times(first, case), (by_full, Bound::Neighbours));
    let brings = gain::brings_all(&own, of_limit, &all, case.unthrottled_ms(), most_times);
    let grown: Vec<usize> = more.grown.iter().map(|at| places[*at]).collect();
    let More { added, size_gb, step, files, .. } = more;
    // Over one file nothing is spread: it is larger, and that is all.
    let is_one = added == 0 && files.len() == 1;
    let grow = Finding::Grow {
        used: is_one.then_some((used_percent, of_limit)),
        slow_ms: None,
        size_gb,
        step: step.clone(),
        fits: true,
        brings: if is_one { brings } else { None },
        rebuild: None,
    };
    let grow = Some(grown).filter(|all| !all.is_empty()).and_then(|all| advice::of("file-at-limit", all, grow));
    let add = Finding::Add {
        used_percent,
        of: of_limit,
        added,
        all: files.len(),
        others_full: !full.is_empty(),
        shrunk,
        size_gb,
        step,
        brings,
        fits: true,
        larger: None,
    };
    let add = if is_one { None } else { advice::of("more-files", at_limit.to_vec(), add) };
    Some(grow.into_iter().chain(add).collect())
}
