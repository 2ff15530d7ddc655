//! How steady a run was: what the points or seconds of each repetition did over time, and which part of it kept its level.
//!
//! Method: `plimsoll_analysis::segments` and `autocorrelation`, with their sources. Here is what they are asked (the rate of
//! every chunk, table or second), and what their answers are in seconds, in shares of the time and in words.

mod bursts;
mod findings;
mod sentences;
mod series;

use plimsoll_analysis::segments::Pattern;
use plimsoll_measurement::RunRecord;

use super::order::grouped;
use crate::model::format::{self, count, plain, seconds};
use crate::model::{Table, number, text};

pub use findings::Steadiness;

/// What every repetition of a run did over time, in order, each phase by itself.
///
/// Series of fewer than twelve values are not judged and have no entry; so have steps with points that are different
/// things (rungs, working sets). What was interrupted is judged as far as it went.
pub fn steadiness(record: &RunRecord) -> Vec<Steadiness> {
    record.repetitions.iter().flat_map(series::of_repetition).filter_map(Steadiness::of).collect()
}

/// What has to be known of series before the figure is compared with another. There is a sentence for each kind: those
/// that never reached a steady state, by their reasons, and those that changed their level on the way. Nothing where
/// all were steady.
pub fn unsteady(all: &[Steadiness]) -> Vec<String> {
    let changed = |one: &Steadiness| matches!(one.found.pattern, Pattern::Step(_)).then_some(CHANGED);
    let reasons = all.iter().filter_map(|one| Some((one.unsteady().or_else(|| changed(one))?, ())));
    let whole = whole(all);
    let sentence = |(reason, all): (&str, Vec<()>)| {
        let what = if reason == CHANGED { "" } else { "never reached a steady state: " };
        format!("{} of {whole} {what}{reason}", all.len())
    };
    grouped(reasons).into_iter().map(sentence).collect()
}

/// Said of a level that changed early enough for the rest to be steady; the figure is of both.
const CHANGED: &str = "moved to another value in the middle and stayed there, and the figure covers both";

/// Series of a volume that fell to a lower level for good, as where the credit of a burst runs out: a sentence each, of many the first.
pub(crate) fn bursts(record: &RunRecord, all: &[Steadiness]) -> Vec<String> {
    bursts::sentences(record, all, MOST_REMARKS)
}

/// How many series there are, and of what.
fn whole(all: &[Steadiness]) -> String {
    let in_phases = all.iter().any(|one| one.series.phase.is_some());
    if in_phases { format!("{} phases of repetitions", all.len()) } else { count(all.len(), "repetition") }
}

/// What a reader has to know of series that did anything but keep their level, each in a paragraph; of many the first ones.
pub(crate) fn remarks(all: &[Steadiness]) -> Vec<String> {
    let kept =
        |one: &&Steadiness| matches!(one.found.pattern, Pattern::None | Pattern::OutliersOnly | Pattern::Undecided);
    let moved: Vec<&Steadiness> = all.iter().filter(|one| !kept(one)).collect();
    let more = moved.len().saturating_sub(MOST_REMARKS);
    let more = (more > 0).then(|| format!("{more} more of these series did not keep their level."));
    moved.iter().take(MOST_REMARKS).map(|one| sentences::of(one).join(" ")).chain(more).collect()
}

/// More paragraphs than this nobody reads.
const MOST_REMARKS: usize = 4;

/// Rows: the repetitions and their phases. `None` where nothing could be judged.
pub(crate) fn table(all: &[Steadiness]) -> Option<Table> {
    let level = |one: &Steadiness| {
        let levels: Vec<String> = one.levels().iter().filter_map(|level| format::number(level.value)).collect();
        (!levels.is_empty()).then(|| levels.join(" / "))
    };
    let steady = |one: &Steadiness| match (one.steady_seconds(), one.span()) {
        (None, _) => "never".to_owned(),
        (Some((from, to)), (start, end)) if from <= start && to >= end => "all".to_owned(),
        (Some((from, _)), (start, _)) => format!("from {}", seconds(from - start)),
    };
    Table::of(
        all,
        &[
            (text("Rep."), &|one| plain(&one.series.repetition).into()),
            (text("Phase"), &|one| one.series.phase.as_deref().map(plain).into()),
            (number("Points", ""), &|one| one.points().into()),
            (text("Found"), &|one| sentences::pattern(&one.found.pattern).into()),
            (number("Level", ""), &|one| level(one).into()),
            (text("Unit"), &|one| one.series.unit.into()),
            (text("Steady"), &|one| steady(one).into()),
            (number("Effective points", "").page("STATISTICS.md"), &|one| {
                one.steady_mean().map(|mean| mean.effective_points).into()
            }),
        ],
    )
}

#[cfg(test)]
mod tests;
