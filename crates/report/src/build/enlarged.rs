//! The files that are to grow, as a table and as statements.

use plimsoll_plan::advice::AT_LIMIT_PERCENT;
use plimsoll_plan::rules::used;
use plimsoll_plan::statements::Steps;
use plimsoll_plan::storage::LimitOf;
use plimsoll_plan::{Advice, DatabaseFile, FileKind, Finding, Limits, Step};

use super::of_plan::Plan;
use crate::model::{Table, number, text};

/// Why a file grows that stands at no limit.
const SPREAD: &str = "Rows are spread over it as well, by its size. They come into it once indexes are rebuilt.";

/// The statements that enlarge them, as far as they fit at all.
pub fn statements(advised: &[Advice], (files, limits): (&[DatabaseFile], &Limits), free_gb: Option<f64>) -> String {
    let mut steps = Steps::default();
    let at_its_limit = |at: usize| {
        let (percent, of) = used(&files[at], &limits.files[at])?;
        let once = files[at].at_limit.is_some_and(|seen| seen.intervals == 1 && seen.of != Some(1));
        let once = if once { " In 1 interval alone: see first whether that comes again." } else { "" };
        (percent >= AT_LIMIT_PERCENT).then(|| format!("It stands at its limit of {}.{once}", of.name()))
    };
    for one in advised.iter().filter(|one| !one.is_alternative) {
        let Some(at) = one.files.first() else { continue };
        match &one.finding {
            Finding::Grow { size_gb, slow_ms, fits: true, .. } => {
                let reason = match slow_ms {
                    None => SPREAD.to_owned(),
                    Some(_) => "It is slow, and probably stands at a limit for parts of the time.".to_owned(),
                };
                for other in &one.files {
                    let own = at_its_limit(*other).filter(|_| slow_ms.is_none());
                    let reason = own.as_deref().unwrap_or(if other == at { &reason } else { SPREAD });
                    steps.enlarge(&files[*other], *size_gb, reason);
                }
            }
            finding @ Finding::Add { fits: true, .. } => steps.more(finding, *at, files),
            _ => {}
        }
    }
    // What has no room at all is left out already.
    steps.text(free_gb, None)
}

/// A file that is to grow.
pub(super) struct Row<'a> {
    file: &'a DatabaseFile,
    used: Option<(f64, LimitOf)>,
    size_gb: f64,
    step: Option<Step>,
    most_percent: Option<f64>,
    fits: bool,
}

/// The files that are to grow, those that come first above: how large they are, how large they should be, and what that brings. With layouts those
/// that the statements of these enlarge, and what is advised and has no room.
pub(super) fn rows<'a>(plan: &Plan<'a>) -> Vec<Row<'a>> {
    let Plan { files, storage, limits, advised, layouts, .. } = *plan;
    let row = |at: usize, size_gb: f64, step: Option<Step>| {
        let (file, used) = (&files[at], used(&files[at], &limits.files[at]));
        Row { file, used, size_gb, step, most_percent: None, fits: true }
    };
    let stated = |at: usize| layouts.map(|found| found.grown.iter().find(|(grown, _)| *grown == at));
    let mut all = Vec::new();
    let mut seen = Vec::new();
    for one in advised.iter().filter(|one| !one.is_alternative) {
        let Finding::Grow { size_gb, step, brings, fits, .. } = &one.finding else { continue };
        for at in &one.files {
            let most_percent = brings.map(|brings| brings.most_percent);
            let fits = stated(*at).map_or(*fits, |stated| stated.is_some());
            all.push(Row { most_percent, fits, ..row(*at, *size_gb, Some(step.clone())) });
            seen.push(*at);
        }
    }
    let rest = layouts.iter().flat_map(|found| &found.grown).filter(|(at, _)| !seen.contains(at));
    // A log of a layout does what the layout brings it; of data files that is of all together.
    let gain = |at: usize| {
        let own = layouts.iter().flat_map(|found| &found.gains).find(|gain| gain.file == at);
        own.filter(|_| files[at].kind == FileKind::Log).map(|gain| gain.brings.most_percent)
    };
    all.extend(
        rest.map(|(at, size_gb)| Row {
            most_percent: gain(*at),
            ..row(*at, *size_gb, storage.step(*size_gb).cloned())
        }),
    );
    all
}

pub(super) fn table(rows: &[Row<'_>]) -> Option<Table> {
    let are_some_out = rows.iter().any(|row| !row.fits);
    let fits = |row: &Row<'_>| are_some_out.then(|| if row.fits { "yes" } else { "no" }.to_owned());
    Table::of(
        rows,
        &[
            (text("database"), &|row: &&Row<'_>| row.file.database.as_str().into()),
            (text("file"), &|row: &&Row<'_>| row.file.name.as_str().into()),
            (number("used", "%"), &|row: &&Row<'_>| row.used.map(|(percent, _)| percent).into()),
            (text("of its"), &|row: &&Row<'_>| row.used.map(|(_, of)| of.name().to_owned()).into()),
            (number("now", "GB").given(), &|row: &&Row<'_>| row.file.size_gb.into()),
            (number("enlarge to", "GB").given(), &|row: &&Row<'_>| row.size_gb.into()),
            (number("then", "IOPS"), &|row: &&Row<'_>| row.step.as_ref().and_then(|step| step.iops).into()),
            (number("then", "MB/s").spare(1), &|row: &&Row<'_>| {
                row.step.as_ref().and_then(|step| step.mb_per_s).into()
            }),
            (number("more, up to", "%"), &|row: &&Row<'_>| row.most_percent.into()),
            (text("fits"), &|row: &&Row<'_>| fits(row).into()),
        ],
    )
}
