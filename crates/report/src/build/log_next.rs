//! When the log of a database is what holds it back next.

use plimsoll_plan::advice::ABOVE_PERCENT;
use plimsoll_plan::rules::used_of;
use plimsoll_plan::{Advice, DatabaseFile, FileKind, Finding, Limits};

use crate::model::format::quantity;

/// When the log of a data file's database stands at its limits, once it is enlarged as is advised where there is room for that, if that is before
/// what the data file brings is used up.
pub(super) fn log_next(
    at: usize,
    advised: &[Advice],
    (files, limits): (&[DatabaseFile], &Limits),
    most_percent: f64,
) -> Option<String> {
    let is_own = |other: &usize| files[*other].kind == FileKind::Log && files[*other].is_beside(&files[at]);
    let log = (0..files.len()).find(is_own).filter(|_| files[at].kind == FileKind::Data)?;
    let (file, of_file) = (&files[log], &limits.files[log]);
    let grown = advised.iter().filter(|one| one.files.contains(&log)).find_map(|one| match &one.finding {
        Finding::Grow { step, fits: true, .. } => Some(step),
        _ => None,
    });
    let then = grown.or(of_file.step.as_ref()).and_then(|step| used_of(file, step));
    let by_file = then.map(|(percent, of)| (percent, format!("at its {}", of.name())));
    let by_rate = file
        .grew_mb_per_s()
        .zip(limits.log_mb_per_s)
        .map(|(seen, most)| (100.0 * seen / most, format!("at {}, by which logs may grow,", quantity(most, "MB/s"))));
    // A log that does more than that was read as well.
    let known = by_file.into_iter().chain(by_rate).filter(|(percent, _)| *percent < ABOVE_PERCENT);
    let (used_percent, stands) = known.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let more_percent = (100.0 * (100.0 / used_percent - 1.0)).max(0.0);
    (more_percent < most_percent).then(|| {
        let (label, more) = (file.label(), quantity(more_percent, "%"));
        format!(" Where as much more is written, the log {label} stands {stands} after {more}.")
    })
}
