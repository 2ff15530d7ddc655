//! What a file has and what a larger one brings, in words.

use plimsoll_plan::Step;
use plimsoll_plan::gain::{Bound, Brings};

use crate::model::format::quantity;

/// Files that are named in a sentence; a table has all.
pub(super) const MOST_NAMED: usize = 5;

/// What a larger file brings: an interval, as nobody knows how much more is wanted.
pub(super) fn gains(brings: &Brings) -> String {
    let why = match brings.bound {
        Bound::Limit => String::new(),
        Bound::Other(of) => format!(" (then its {} are used up)", of.name()),
        Bound::UnderWay => " (as many under way make no more)".to_owned(),
        Bound::LogRate => " (the log may grow no faster)".to_owned(),
        Bound::Waits => " (sessions wait for it no more than that)".to_owned(),
        Bound::Neighbours => " (then others of its filegroup stand at their limits)".to_owned(),
    };
    let rate =
        format!(", and do 0 to {} more, depending on how much is wanted{why}", quantity(brings.most_percent, "%"));
    let times = brings.ms.map(|[now, least, most]| {
        let [least, most] = [least, most].map(|ms| quantity(ms, "ms"));
        let between = if least == most { least } else { format!("{least} to {most}") };
        format!("; with as many under way, a read or write would take {between} in place of {}", quantity(now, "ms"))
    });
    rate + &times.unwrap_or_default()
}

/// `2,300 IOPS and 150 MB/s`.
pub(super) fn has(step: &Step) -> Option<String> {
    let parts = [step.iops.map(|iops| quantity(iops, "IOPS")), step.mb_per_s.map(|rate| quantity(rate, "MB/s"))];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(" and "))
}
