//! How much of all work is in no row, in words.

use plimsoll_measurement::units;

/// From this part on, in percent.
const NOTICEABLE_PERCENT: f64 = 5.0;

/// `20.0 % of the executions and 30.0 % of the time are WHAT`, of a part and all of executions, and of time where that is known. `None` if both
/// are less than 5 %.
pub fn share_in_words(executions: (u64, u64), time_us: Option<(u64, u64)>, what: &str) -> Option<String> {
    let percent = |(part, all): (u64, u64)| (all > 0).then(|| 100.0 * part.min(all) as f64 / all as f64);
    let shares = [(percent(executions), "executions"), (time_us.and_then(percent), "time")];
    let known: Vec<(f64, &str)> = shares.iter().filter_map(|(share, of)| Some(((*share)?, *of))).collect();
    if !known.iter().any(|(share, _)| *share >= NOTICEABLE_PERCENT) {
        return None;
    }
    let parts = known.iter().map(|(share, of)| format!("{} % of the {of}", units::format_significant(*share)));
    Some(format!("{} are {what}", parts.collect::<Vec<_>>().join(" and ")))
}
