//! When the log of a database is what holds it back next.

use plimsoll_plan::advice::{ABOVE_PERCENT, AT_LIMIT_PERCENT};
use plimsoll_plan::rules::used_of;
use plimsoll_plan::{DatabaseFile, FileKind, Limits};

use crate::model::format::quantity;

/// From this part of its limits on a log is soon the next one.
const BUSY_PERCENT: f64 = 50.0;

/// When the log of a data file's database stands at its limits, once it is enlarged where it stands at them now, if that is before what the data
/// file brings is used up.
pub(super) fn log_next(at: usize, (files, limits): (&[DatabaseFile], &Limits), most_percent: f64) -> Option<String> {
    let is_own = |other: &usize| files[*other].kind == FileKind::Log && files[*other].is_beside(&files[at]);
    let log = (0..files.len()).find(is_own).filter(|_| files[at].kind == FileKind::Data)?;
    let (file, of_file) = (&files[log], &limits.files[log]);
    let now = of_file.step.as_ref().and_then(|step| used_of(file, step));
    let is_full = now.is_some_and(|(percent, _)| (AT_LIMIT_PERCENT..ABOVE_PERCENT).contains(&percent));
    let larger = of_file.next.as_ref().filter(|_| is_full).and_then(|next| used_of(file, &next.step));
    let by_file = larger.or(now).map(|(percent, of)| (percent, format!("at its {}", of.name())));
    let by_rate = file
        .mb_per_s
        .zip(limits.log_mb_per_s)
        .map(|(seen, most)| (100.0 * seen / most, format!("at {}, by which logs may grow,", quantity(most, "MB/s"))));
    // A log that does more than that was read as well.
    let known =
        by_file.into_iter().chain(by_rate).filter(|(percent, _)| (BUSY_PERCENT..ABOVE_PERCENT).contains(percent));
    let (used_percent, stands) = known.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let more_percent = (100.0 * (100.0 / used_percent - 1.0)).max(0.0);
    (more_percent < most_percent).then(|| {
        let (label, more) = (file.label(), quantity(more_percent, "%"));
        format!(" Where as much more is written, the log {label} stands {stands} after {more}.")
    })
}
