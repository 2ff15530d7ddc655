//! One test's headline by level, with campaigns, editions, versions or days side by side: the chart of several campaigns over the
//! tiers of a service.

use plimsoll_measurement::{Figure, RunRecord};

use super::families::Family;
use super::order::{distinct, grouped};
use crate::model::format::plain;

/// Levels by what was measured there in each series.
#[derive(Debug)]
pub struct Levels<'a> {
    /// What tells a level's values apart: campaigns, editions, versions or days.
    pub series: Vec<String>,
    /// Levels with values that can be seen at one scale, the lowest first: name, and for each series that has one the
    /// value.
    pub panels: Vec<Vec<Level<'a>>>,
}

/// A level.
pub type Level<'a> = (String, Vec<(usize, &'a RunRecord, &'a Figure)>);

/// What may tell a level's runs apart, the first that does.
const APART: [fn(&RunRecord) -> Option<&str>; 4] = [
    |record| record.campaign.as_deref(),
    |record| edition(&record.target),
    |record| record.engine_version.as_deref(),
    |record| record.started_at.get(..10),
];

/// A value of less than this part of the largest one can't be read beside it: levels far apart have panels of their own.
const READABLE: f64 = 1.0 / 8.0;

/// The levels of a family of runs. `None` where there are no two levels, or no level has two values that can be told apart. Of several
/// runs of a level in one series the last counts.
pub fn levels<'a>(family: &Family<'a>) -> Option<Levels<'a>> {
    APART.into_iter().find_map(|series_of| by(family, series_of))
}

fn by<'a>(family: &Family<'a>, series_of: fn(&RunRecord) -> Option<&str>) -> Option<Levels<'a>> {
    let own: Vec<&str> = family.iter().map(|(record, _)| series_of(record)).collect::<Option<_>>()?;
    let series = distinct(own.iter().copied());
    let place = |own: &str| series.iter().position(|known| *known == own).unwrap_or_default();
    let all = family.iter().zip(&own).rev().map(|((record, figure), own)| (place(own), *record, *figure));
    // The newest comes first, and counts.
    let mut levels: Vec<Level<'a>> = grouped(all.map(|value| (plain(level(&value.1.target)), value)));
    for (_, values) in &mut levels {
        values.sort_by_key(|(at, ..)| *at);
        values.dedup_by_key(|(at, ..)| *at);
    }
    let order = distinct(family.iter().map(|(record, _)| plain(level(&record.target))));
    levels.sort_by_key(|(name, _)| order.iter().position(|known| known == name));
    let start = common_start(&levels);
    for (name, _) in &mut levels {
        name.drain(..start);
    }
    let is_side_by_side = levels.len() > 1 && levels.iter().any(|(_, values)| values.len() > 1);
    is_side_by_side.then(|| Levels { series: series.into_iter().map(plain).collect(), panels: panels(levels) })
}

/// A target without its edition and options.
fn level(target: &str) -> &str {
    target.split(['@', '?']).next().filter(|_| edition(target).is_some()).unwrap_or(target)
}

/// How much of the names is the same in all: whole parts, up to a slash.
fn common_start(levels: &[Level<'_>]) -> usize {
    let Some((first, _)) = levels.first() else { return 0 };
    let ends = first.match_indices('/').map(|(at, _)| at + 1);
    ends.filter(|end| levels.iter().all(|(name, _)| name.starts_with(&first[..*end]))).max().unwrap_or(0)
}

/// The edition of a level of the lab.
fn edition(target: &str) -> Option<&str> {
    target.strip_prefix("lab:")?.split_once('@')?.1.split('?').next()
}

/// Levels at scales at which they can be read, in their order.
fn panels(levels: Vec<Level<'_>>) -> Vec<Vec<Level<'_>>> {
    let highest = |(_, values): &Level<'_>| values.iter().map(|(.., figure)| figure.value).fold(0.0, f64::max);
    let (mut panels, mut rest) = (Vec::new(), levels);
    while !rest.is_empty() {
        let top = rest.iter().map(highest).fold(0.0, f64::max);
        let (panel, lower) = rest.into_iter().partition(|level| highest(level) >= READABLE * top);
        panels.insert(0, panel);
        rest = lower;
    }
    panels
}
