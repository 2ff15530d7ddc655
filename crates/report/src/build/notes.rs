//! What is to be known of a plan of files, beside what makes it doubtful.

use plimsoll_plan::advice::{ABOVE_PERCENT, AT_LIMIT_PERCENT};
use plimsoll_plan::rules::used;
use plimsoll_plan::{Activity, Advice, DatabaseFile, Storage};

use super::brings::MOST_NAMED;
use super::of_plan::Plan;
use super::{doubts, layouts};
use crate::model::format::{listed, quantity};

/// All notes on a plan.
pub fn all(plan: &Plan<'_>) -> Vec<String> {
    let Plan { files, storage, advised, .. } = *plan;
    let mut all: Vec<String> = unknown(storage).into_iter().chain(lower_bounds(plan)).collect();
    if !files.iter().any(DatabaseFile::is_of_tempdb) {
        all.push("The list has no tempdb, whose files count against the space, too.".to_owned());
    }
    all.extend(log_of_database(plan));
    let is_of_several = |one: &Advice| matches!(one.rule.id, "equal-files" | "fewer-files" | "more-files");
    let adds = plan.layouts.is_some_and(|found| found.statements.contains(" ADD FILE "));
    if (adds || advised.iter().any(is_of_several)) && files.iter().all(|file| file.filegroup.is_none()) {
        all.push(
            "The list does not say to which filegroups files belong. Rows are spread within one alone, and ADD FILE adds to the primary one \
             unless TO FILEGROUP names another."
                .to_owned(),
        );
    }
    all.extend(plan.layouts.iter().flat_map(|found| layouts::unknown(found, files)));
    all.extend(plan.remarks.iter().cloned());
    all.push(
        "This is for General Purpose, where files have limits of their own. On next-generation General Purpose they share limits, and size \
         brings them nothing."
            .to_owned(),
    );
    all
}

/// Files that stood at a limit where they were counted: they may have wanted more.
fn lower_bounds(plan: &Plan<'_>) -> Option<String> {
    let bounded = |one: &Activity| one.iops.bounded() + one.mb_per_s.bounded() > 0;
    let is_at_limit = |at: usize| {
        let percent = used(&plan.files[at], &plan.limits.files[at]).map_or(0.0, |(percent, _)| percent);
        // Far above it, other limits hold.
        percent < ABOVE_PERCENT && (percent >= AT_LIMIT_PERCENT || plan.activity.get(at).is_some_and(bounded))
    };
    let names: Vec<String> =
        (0..plan.files.len()).filter(|at| is_at_limit(*at)).map(|at| plan.files[at].label()).collect();
    (!names.is_empty()).then(|| {
        format!(
            "At a limit a file does no more than that, however much is wanted: what was seen of {} is the least.",
            listed(&names, MOST_NAMED)
        )
    })
}

/// That a database's log has a limit of its own, which nobody published exactly, of logs that come near it.
fn log_of_database(plan: &Plan<'_>) -> Option<String> {
    let [rate] = plan.storage.tier.log_rate.as_slice() else { return None };
    // All logs of an instance together may do no more than its own rate.
    let (low, high) = rate.database_low.zip(plan.storage.log_of_database_mb_per_s())?;
    let near = |file: &DatabaseFile| {
        let of_high = doubts::log_of_database(plan, file)?;
        let seen = quantity(file.grew_mb_per_s()?, "MB/s");
        let what = match of_high {
            of_high if of_high > doubts::MOST_PERCENT && file.written_mb_per_s.is_none() => "of which part was read",
            of_high if of_high > doubts::MOST_PERCENT => "so that it has other limits",
            doubts::ALL_PERCENT.. => "all that any size has",
            _ => "and may stand at it",
        };
        let did = if file.written_mb_per_s.is_some() { "wrote" } else { "did" };
        Some(format!("{} {did} {seen}, {what}", file.label()))
    };
    let is_parted = plan.files.iter().filter(|file| near(file).is_some()).all(|file| file.written_mb_per_s.is_some());
    let apart =
        if is_parted { "" } else { " What was read counts, too, where it is not known apart (written_mb_per_s)." };
    let names: Vec<String> = plan.files.iter().filter_map(near).collect();
    (!names.is_empty()).then(|| {
        format!(
            "The log of one database may grow by {low:.0} to {} by the size of its file; which size has how much is not published. {}.{apart}",
            quantity(high, "MB/s"),
            names.iter().take(MOST_NAMED).map(String::as_str).collect::<Vec<_>>().join("; ")
        )
    })
}

/// What nobody said or published, and what would say it.
pub fn unknown(storage: &Storage<'_>) -> Vec<String> {
    let mut all = Vec::new();
    if storage.space_gb().is_none() {
        all.push("How much space an instance has is not published for this day: --space says it.".to_owned());
    } else if storage.wishes.space_gb.is_none() {
        all.push(
            "The space is the most that such an instance can have: --space says how much it was given.".to_owned(),
        );
    }
    if storage.wishes.vcores.is_none() && storage.tier.log_rate.iter().any(|rate| rate.per_vcore.is_some()) {
        all.push("How fast logs may grow depends on the vCores: --vcores says how many there are.".to_owned());
    }
    all
}
