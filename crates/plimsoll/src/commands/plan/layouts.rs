//! The search for layouts, as `plimsoll plan mi --layouts` has it: how each database goes on, and which of them fit together.

use std::collections::BTreeSet;

use plimsoll_plan::choice::{self, Choice};
use plimsoll_plan::judgement::{self, Judgement};
use plimsoll_plan::layout::{self, Layout, Need, Rules};
use plimsoll_plan::limits::Limits;
use plimsoll_plan::rules::space::{self, Bundle};
use plimsoll_plan::rules::used;
use plimsoll_plan::statements::Steps;
use plimsoll_plan::trial::{Trial, trial};
use plimsoll_plan::{Advice, DatabaseFile, FileKind, Finding, Storage};
use plimsoll_report::layouts::Found;

use crate::failure::Failure;

/// Databases that layouts are searched for: ten times what an instance can have (resource limits, 2026-08-10).
const MOST_DATABASES: usize = 1000;

/// Databases of which those are searched for that fit together, where all do not: as many as an instance can have.
const MOST_TOGETHER: usize = 100;

/// Layouts that are tried under load.
const MOST_TRIALS: usize = 20;

/// Layouts that carry what the files were seen to do, as far as what was judged of them lets them change.
pub(super) fn search(
    (files, limits): (&[DatabaseFile], &Limits),
    storage: &Storage<'_>,
    judged: &Judgement,
    rules: Rules,
) -> Result<Found, Failure> {
    if !files.iter().any(|file| file.iops.is_some() || file.mb_per_s.is_some()) {
        return Err(Failure::usage("--layouts: the list does not say what the files do")
            .hint("add columns iops and mb_per_s, those at the busiest time"));
    }
    let needs = layout::needs(files, judged);
    if needs.len() > MOST_DATABASES {
        return Err(Failure::usage(format!("--layouts: the list has more than {MOST_DATABASES} databases"))
            .hint("an instance has 100 at most: make a list for each"));
    }
    let mut found = Found { rules, ..Found::default() };
    for need in needs {
        let front = layout::front(&need, storage, &found.rules);
        match choice::choose(&need.database, (files, judged), &front, storage, &found.rules) {
            Choice::AsItIs => found.as_they_are.push(need.database),
            Choice::NoUse => found.held.push(need.database),
            Choice::Spread => found.spread.push(need.database),
            Choice::Groups => found.of_groups.push(need.database),
            Choice::Enlarge(enlarged) => found.enlarged.push(enlarged),
            Choice::Layout if front.is_empty() => {
                // Where data files have a layout without the log, it is the log that no size carries.
                let without = Need { log: [0.0; 2], ..need.clone() };
                let is_log = !layout::front(&without, storage, &found.rules).is_empty();
                let all = if is_log { &mut found.without_log } else { &mut found.without_layout };
                all.push(need.database);
            }
            Choice::Layout => {
                found.needs.push(need);
                found.fronts.push(front);
            }
        }
    }
    // Those of the server itself need no layout, and grow where that is advised.
    let mut seen = BTreeSet::new();
    for file in files.iter().filter(|file| file.is_of_system() && seen.insert(file.database.to_lowercase())) {
        if let Choice::Enlarge(one) = choice::choose(&file.database, (files, judged), &[], storage, &found.rules) {
            found.enlarged.push(one);
        }
    }
    leave_out(&mut found, (files, limits), storage, judged);
    fit_together(&mut found, (files, limits), storage);
    let free_gb = storage.space_gb().map(|space| space - limits.file_gb);
    let mut steps = steps(&found, files, judged, storage);
    // A layout that can't be reached in the space is none: what is advised without layouts is done then.
    let out = steps.without_room(free_gb, storage.raise_gb());
    if found.pairs().any(|(need, _)| out.iter().any(|(database, _)| database.eq_ignore_ascii_case(&need.database))) {
        leave(&mut found, |need| out.iter().any(|(database, _)| database.eq_ignore_ascii_case(&need.database)));
        steps = self::steps(&found, files, judged, storage);
    }
    let gains = |(need, layout): (&Need, &Layout)| choice::gains(need, layout, (files, judged), storage);
    found.gains = found.pairs().flat_map(gains).collect();
    found.statements = steps.text(free_gb, storage.raise_gb());
    Ok(found)
}

/// Takes the layouts of some databases back.
fn leave(found: &mut Found, is_out: impl Fn(&Need) -> bool) {
    let kept: Vec<usize> = (0..found.needs.len()).filter(|at| !is_out(&found.needs[*at])).collect();
    let out = found.needs.iter().filter(|need| is_out(need)).map(|need| need.database.clone());
    found.out_of_reach.extend(out);
    found.chosen = found.chosen.as_ref().map(|all| kept.iter().filter_map(|at| all.get(*at).copied()).collect());
    found.fronts = kept.iter().map(|at| found.fronts[*at].clone()).collect();
    found.needs = kept.iter().map(|at| found.needs[*at].clone()).collect();
}

/// The statements of all that was found.
fn steps(found: &Found, files: &[DatabaseFile], judged: &Judgement, storage: &Storage<'_>) -> Steps {
    let mut steps = Steps::default();
    for (at, size_gb) in found.enlarged.iter().flat_map(|one| &one.files) {
        steps.enlarge(&files[*at], *size_gb, "What was seen leaves too little of its limits.");
    }
    // Those with several filegroups have no layout, nor those whose layout is out of reach: they go on by what is advised.
    for one in judged.advice.iter().filter(|one| !one.is_alternative) {
        let Some(first) = one.files.first() else { continue };
        let mut without = found.of_groups.iter().chain(&found.out_of_reach).chain(&found.spread);
        if !without.any(|database| database.eq_ignore_ascii_case(&files[*first].database)) {
            continue;
        }
        match &one.finding {
            Finding::Grow { size_gb, fits: true, .. } => {
                for at in &one.files {
                    steps.enlarge(&files[*at], *size_gb, "It stands at its limits, or the files beside it do.");
                }
            }
            finding => steps.more(finding, *first, files),
        }
    }
    for (need, layout) in found.pairs() {
        let like_gb = |size_gb: f64| storage.step(size_gb).map(|step| storage.begins_gb(step));
        steps.layout(&need.database, files, layout, &like_gb);
    }
    steps
}

/// How much of its limits a file uses, in percent.
fn percent(at: usize, files: &[DatabaseFile], limits: &Limits) -> f64 {
    used(&files[at], &limits.files[at]).map_or(0.0, |(percent, _)| percent)
}

/// Leaves out files that are to grow and have no room to, whatever the space is raised to. Those that use most of their limits come first, and
/// data files of a database grow together or not at all.
fn leave_out(
    found: &mut Found,
    (files, limits): (&[DatabaseFile], &Limits),
    storage: &Storage<'_>,
    judged: &Judgement,
) {
    let most = |all: &[(usize, f64)]| all.iter().map(|(at, _)| percent(*at, files, limits)).fold(0.0, f64::max);
    let kinds = found.enlarged.iter().flat_map(|one| {
        let is_data = |(at, _): &(usize, f64)| files[*at].kind == FileKind::Data;
        let (data, mut kinds): (Vec<_>, Vec<Vec<(usize, f64)>>) =
            (one.files.iter().copied().filter(is_data).collect::<Vec<_>>(), Vec::new());
        for file in data {
            let is_beside = |other: &&mut Vec<(usize, f64)>| files[other[0].0].filegroup == files[file.0].filegroup;
            match kinds.iter_mut().find(is_beside) {
                Some(group) => group.push(file),
                None => kinds.push(vec![file]),
            }
        }
        kinds.push(one.files.iter().copied().filter(|file| !is_data(file)).collect());
        kinds
    });
    let mut sizes: Vec<Vec<(usize, f64)>> = kinds.filter(|all| !all.is_empty()).collect();
    sizes.sort_by(|a, b| most(b).total_cmp(&most(a)));
    let places = |all: &[(usize, f64)]| all.iter().map(|(at, _)| *at).collect();
    let wanted: Vec<Bundle> =
        sizes.into_iter().map(|sizes| Bundle { files: places(&sizes), sizes, ..Bundle::default() }).collect();
    let fit = space::fit(files, limits, storage, &wanted);
    // What a layout changes gives back what that says.
    let is_changed =
        |at: &usize| found.needs.iter().any(|need| need.database.eq_ignore_ascii_case(&files[*at].database));
    let kept = judged.advice.iter().filter(|one| !one.files.iter().any(is_changed));
    found.back_gb = judgement::back_gb(kept, files);
    found.room_after = fit.after(&wanted, found.back_gb);
    for one in &mut found.enlarged {
        let (fits, rest): (Vec<(usize, f64)>, Vec<_>) =
            one.files.iter().copied().partition(|(at, _)| fit.first.contains(at));
        one.files = fits;
        one.space_gb -= rest.iter().map(|(at, size_gb)| size_gb - files[*at].size_gb).sum::<f64>();
        found.without_room.extend(rest.into_iter().map(|(at, _)| at));
    }
    found.enlarged.retain(|one| !one.files.is_empty());
}

/// Chooses a layout for each database: for all, where they fit into the space, or into the most that it can be raised to; else for those that
/// fit, first for those that use most of their limits. The files of the others have no room.
fn fit_together(found: &mut Found, (files, limits): (&[DatabaseFile], &Limits), storage: &Storage<'_>) {
    let is_of = |file: &DatabaseFile, need: &Need| need.database.eq_ignore_ascii_case(&file.database);
    let grown = |at: usize| found.enlarged.iter().flat_map(|one| &one.files).find(|(grown, _)| *grown == at);
    let together = |kept: &[usize], space_gb: Option<f64>| {
        // What has no layout takes its room all the same.
        let has_layout = |file: &DatabaseFile| {
            file.kind != FileKind::Container && kept.iter().any(|at| is_of(file, &found.needs[*at]))
        };
        let (mut apart_gb, mut apart_blobs_gb, mut apart_files) = (0.0, 0.0, 0);
        for (at, file) in files.iter().enumerate().filter(|(_, file)| !has_layout(file)) {
            let size_gb = grown(at).map_or(file.size_gb, |(_, size_gb)| *size_gb);
            let blob_gb = storage.blob_gb(size_gb).filter(|_| !file.is_of_tempdb());
            (apart_gb, apart_blobs_gb, apart_files) =
                (apart_gb + size_gb, apart_blobs_gb + blob_gb.unwrap_or(0.0), apart_files + 1);
        }
        let space_gb = space_gb.map_or(f64::INFINITY, |space| space - apart_gb);
        let blobs_gb = storage.blobs_gb().map_or(f64::INFINITY, |blobs| blobs - apart_blobs_gb);
        let most_files = storage.tier.files.unwrap_or(u32::MAX).saturating_sub(apart_files);
        let fronts: Vec<&Vec<Layout>> = kept.iter().map(|at| &found.fronts[*at]).collect();
        let chosen = layout::together(&fronts, space_gb, blobs_gb, most_files);
        chosen.filter(|_| space_gb >= 0.0 && blobs_gb >= 0.0)
    };
    let all: Vec<usize> = (0..found.needs.len()).collect();
    let most_gb = storage.most_gb().or(storage.space_gb());
    let mut kept = all.clone();
    let mut chosen = together(&kept, storage.space_gb()).or_else(|| together(&kept, most_gb));
    if chosen.is_none() && all.len() <= MOST_TOGETHER {
        let most = |need: usize| {
            let own = (0..files.len()).filter(|at| is_of(&files[*at], &found.needs[need]));
            own.map(|at| percent(at, files, limits)).fold(0.0, f64::max)
        };
        let mut order = all.clone();
        order.sort_by(|a, b| most(*b).total_cmp(&most(*a)));
        kept.clear();
        for one in order {
            kept.push(one);
            match together(&kept, most_gb) {
                Some(fits) => chosen = Some(fits),
                None => _ = kept.pop(),
            }
        }
    }
    if chosen.is_none() {
        kept.clear();
    }
    let is_tight = |at: &usize| percent(*at, files, limits) * (1.0 + found.rules.headroom_percent / 100.0) > 100.0;
    let is_out = |at: &usize| all.iter().any(|need| !kept.contains(need) && is_of(&files[*at], &found.needs[*need]));
    let without_room: Vec<usize> = (0..files.len()).filter(is_out).filter(is_tight).collect();
    found.needs = kept.iter().map(|at| found.needs[*at].clone()).collect();
    found.fronts = kept.iter().map(|at| found.fronts[*at].clone()).collect();
    found.without_room.extend(without_room);
    found.chosen = chosen;
}

/// Tries the first layouts of each database under load, for as long as people wait: of many databases none.
pub(super) fn tried(mut found: Found, storage: &Storage<'_>) -> Found {
    let most = MOST_TRIALS / found.needs.len().max(1);
    let of = |(need, front): (&Need, &Vec<Layout>)| -> Vec<Trial> {
        front.iter().take(most).map(|layout| trial(need, layout, storage, &found.rules, 1)).collect()
    };
    found.trials = found.needs.iter().zip(&found.fronts).map(of).collect();
    found
}

/// Layouts where no size of a file has enough and nobody asked for them.
pub(super) fn unasked(
    (files, limits): (&[DatabaseFile], &Limits),
    storage: &Storage<'_>,
    judged: &Judgement,
    rules: Rules,
) -> Option<Found> {
    let has_none = |one: &Advice| matches!(one.finding, Finding::Add { .. } | Finding::Elsewhere { .. });
    judged.advice.iter().any(has_none).then(|| search((files, limits), storage, judged, rules).ok())?
}

/// Advice that layouts have another answer for is an alternative.
pub(super) fn answered(advised: &mut [Advice], files: &[DatabaseFile], found: &Found) {
    let has_layout = |at: usize| found.pairs().any(|(need, _)| need.database.eq_ignore_ascii_case(&files[at].database));
    let is_enlarged = |at: usize| found.enlarged.iter().flat_map(|one| &one.files).any(|(grown, _)| *grown == at);
    let is_other = |at: usize, size_gb: f64| {
        let mut grown = found.enlarged.iter().flat_map(|one| &one.files);
        has_layout(at) || grown.any(|(other, other_gb)| *other == at && (other_gb - size_gb).abs() > 0.5)
    };
    let has_statements = !found.statements.is_empty();
    for one in advised.iter_mut() {
        let Some(at) = one.files.first() else {
            one.is_alternative |= matches!(one.finding, Finding::Short { .. }) && has_statements;
            continue;
        };
        one.is_alternative |= match &one.finding {
            Finding::Grow { size_gb, .. } => one.files.iter().any(|at| is_other(*at, *size_gb)),
            Finding::Add { .. } => has_layout(*at) || one.files.iter().any(|at| is_enlarged(*at)),
            Finding::Fewer { .. } | Finding::Equal { .. } | Finding::LogFirst => has_layout(*at),
            // The statements of layouts say what space they take.
            Finding::Space { .. } | Finding::Short { .. } => has_statements,
            _ => false,
        };
    }
}
