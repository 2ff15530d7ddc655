//! The search for layouts, as `plimsoll plan mi --layouts` has it: how each database goes on, and which of them fit together.

use std::collections::BTreeSet;

use plimsoll_plan::choice::{self, Choice, Enlarged};
use plimsoll_plan::judgement::Judgement;
use plimsoll_plan::layout::{self, Layout, Need, Rules};
use plimsoll_plan::limits::Limits;
use plimsoll_plan::trial::{Trial, trial};
use plimsoll_plan::{Advice, DatabaseFile, Finding, Storage};
use plimsoll_report::layouts::Found;

use super::room::{self, Given, Wishes};
use crate::failure::Failure;

/// Databases that layouts are searched for: ten times what an instance can have (resource limits, 2026-08-10).
const MOST_DATABASES: usize = 1000;

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
            Choice::Groups => found.of_groups.push(need.database),
            Choice::Unknown => found.of_unknown.push(need.database),
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
        match choice::choose(&file.database, (files, judged), &[], storage, &found.rules) {
            Choice::Enlarge(one) => found.enlarged.push(one),
            Choice::AsItIs | Choice::NoUse => {}
            _ => found.advised.extend(choice::advised(&file.database, (files, judged), true)),
        }
    }
    let unlaid: Vec<Enlarged> =
        found.unlaid().filter_map(|database| choice::advised(database, (files, judged), true)).collect();
    found.advised.extend(unlaid);
    let given = Given { files, limits, storage, judged };
    let mut wishes = Wishes { enlarged: found.enlarged.clone(), advised: found.advised.clone() };
    room::settle(&mut found, &wishes, given);
    room::fit_together(&mut found, &mut wishes, given);
    room::settle(&mut found, &wishes, given);
    let free_gb = storage.space_gb().map(|space| space - limits.file_gb);
    // A layout that can't be reached in the space is none: what is advised without layouts is done then.
    let mut steps = room::steps(&found, given);
    loop {
        let mut out: Vec<String> = room::without_blobs(&found, given);
        out.extend(steps.without_room(free_gb, storage.raise_gb()).into_iter().map(|(database, _)| database));
        let is_out = |need: &Need| out.iter().any(|database| database.eq_ignore_ascii_case(&need.database));
        if !found.pairs().any(|(need, _)| is_out(need)) {
            break;
        }
        room::leave(&mut found, &mut wishes, given, is_out);
        steps = room::steps(&found, given);
    }
    let gains = |(need, layout): (&Need, &Layout)| choice::gains(need, layout, (files, judged), storage);
    found.gains = found.pairs().flat_map(gains).collect();
    found.statements = steps.text(free_gb, storage.raise_gb());
    found.raised_gb = steps.raised_gb(free_gb, storage.raise_gb());
    found.grown = steps.enlarged(files, free_gb, storage.raise_gb());
    // What others gave up may have left room, and what further files carry needs none.
    let enlarged = found.enlarged.iter().chain(&found.advised);
    let further = enlarged.flat_map(|one| &one.further).flat_map(|place| &judged.advice[*place].files);
    let served: BTreeSet<usize> = further.chain(found.grown.iter().map(|(grown, _)| grown)).copied().collect();
    let mut seen = BTreeSet::new();
    found.without_room.retain(|at| !served.contains(at) && seen.insert(*at));
    Ok(found)
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

/// Layouts where no size of a file has enough, or has room, and nobody asked for them.
pub(super) fn unasked(
    (files, limits): (&[DatabaseFile], &Limits),
    storage: &Storage<'_>,
    judged: &Judgement,
    rules: Rules,
) -> Option<Found> {
    let has_none = |one: &Advice| {
        matches!(one.finding, Finding::Add { .. } | Finding::Elsewhere { .. } | Finding::Grow { fits: false, .. })
    };
    judged.advice.iter().any(has_none).then(|| search((files, limits), storage, judged, rules).ok())?
}

/// Advice that layouts have another answer for is an alternative. That files can be smaller which layouts change is none.
pub(super) fn answered(advised: &mut Vec<Advice>, files: &[DatabaseFile], found: &Found) {
    let has_layout = |at: usize| found.pairs().any(|(need, _)| need.database.eq_ignore_ascii_case(&files[at].database));
    let without_layout = || found.enlarged.iter().chain(&found.advised);
    let is_enlarged = |at: usize| without_layout().flat_map(|one| &one.files).any(|(grown, _)| *grown == at);
    let is_other = |at: usize, size_gb: f64| {
        let mut grown = without_layout().flat_map(|one| &one.files);
        has_layout(at) || grown.any(|(other, other_gb)| *other == at && (other_gb - size_gb).abs() > 0.5)
    };
    // What others took the room of.
    let is_out = |at: usize| found.without_room.contains(&at) && !is_enlarged(at);
    let has_statements = !found.statements.is_empty();
    let is_left_out = |files: &[usize]| files.iter().any(|at| is_out(*at));
    let is_done = |at: usize, size_gb: f64| {
        found.grown.iter().any(|(other, other_gb)| *other == at && (other_gb - size_gb).abs() <= 0.5)
    };
    for (place, one) in advised.iter_mut().enumerate() {
        // A layout of another database may make room.
        if let Finding::Grow { size_gb, fits, .. } = &mut one.finding {
            *fits |= one.files.iter().all(|at| is_done(*at, *size_gb));
            *fits &= !is_left_out(&one.files);
        }
        let is_done = without_layout().any(|one| one.further.contains(&place));
        if let Finding::Add { fits, .. } = &mut one.finding {
            *fits = is_done || (*fits && !is_left_out(&one.files));
        }
        let Some(at) = one.files.first() else {
            one.is_alternative |= matches!(one.finding, Finding::Short { .. }) && has_statements;
            continue;
        };
        one.is_alternative |= match &one.finding {
            Finding::Grow { size_gb, .. } => one.files.iter().any(|at| is_other(*at, *size_gb)),
            Finding::Add { .. } => !is_done && one.files.iter().any(|at| has_layout(*at) || is_enlarged(*at)),
            Finding::Fewer { .. } | Finding::Equal { .. } | Finding::LogFirst => has_layout(*at),
            // The statements of layouts say what space they take.
            Finding::Space { .. } | Finding::Short { .. } => has_statements,
            _ => false,
        };
    }
    let is_changed = |at: usize| has_layout(at) || is_enlarged(at) || found.without_room.contains(&at);
    let is_kept =
        |one: &Advice| !matches!(one.finding, Finding::Shrink { .. }) || !one.files.iter().any(|at| is_changed(*at));
    // Further files, which are named by their places, come before what can be smaller.
    advised.retain(is_kept);
}
