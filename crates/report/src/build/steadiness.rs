//! How steady a run was: what the points or seconds of each repetition did over time, and which part of it kept its level.
//!
//! Method: `plimsoll_analysis::segments` and `autocorrelation`, with their sources. Here is what they are asked (the rate of
//! every chunk, table or second), and what their answers are in seconds, in shares of the time and in words.

mod findings;
mod sentences;
mod series;

use crate::model::format::seconds as format_seconds;
use plimsoll_analysis::autocorrelation::effective_sample;
use plimsoll_analysis::consistency::{DEFAULT_WINDOW, rolling_average};
use plimsoll_analysis::segments::{self, Pattern, Steady, Terms, TwoLevels};
use plimsoll_analysis::{DEFAULT_CONFIDENCE, summary};
use plimsoll_measurement::RunRecord;

use crate::model::format::{self, count, plain};
use crate::model::{Table, number, text};

pub use findings::{Drift, Level, Mean, Steadiness};
use series::Series;

/// What every repetition of a run did over time, in order, each phase by itself.
///
/// Series of fewer than twelve values are not judged and have no entry; so have steps with points that are different
/// things (rungs, working sets). What was interrupted is judged as far as it went.
pub fn steadiness(record: &RunRecord) -> Vec<Steadiness> {
    record.repetitions.iter().flat_map(series::of_repetition).filter_map(|series| judge(&series)).collect()
}

fn judge(series: &Series) -> Option<Steadiness> {
    let values: Vec<f64> = series.spots.iter().map(|spot| spot.value).collect();
    let found = segments::segments(&values, Terms::default())?;
    let (from_seconds, to_seconds) = (series.starts_at(0), series.ends_before(values.len()));
    let (steady, unsteady) = match found.steady {
        Steady::Reached { from, to } => (Some((from, to)), None),
        Steady::Never(reason) => (None, Some(reason.reason())),
    };
    // What is far off is no part of a level, and takes no part in its mean.
    let kept = |(from, to): (usize, usize)| -> Vec<f64> {
        (from..to).filter(|at| !found.outliers.contains(at)).map(|at| values[at]).collect()
    };
    let rolled = rolling_average(&values, DEFAULT_WINDOW);
    let whole_windows = rolled.get(DEFAULT_WINDOW..).and_then(summary::range);
    let mut judged = Steadiness {
        repetition: series.repetition.clone(),
        phase: series.phase.clone(),
        metric: series.metric,
        unit: series.unit,
        points: values.len(),
        from_seconds,
        to_seconds,
        pattern: found.pattern.name(),
        levels: levels(series, &kept((0, values.len())), &found.pattern),
        changes_seconds: changes(series, &found.pattern),
        drift: drift(series, &values, &found.pattern),
        warm_up_seconds: match &found.pattern {
            Pattern::WarmUp(warm_up) => Some(series.starts_at(warm_up.settled) - from_seconds),
            _ => None,
        },
        outliers: found.outliers.len(),
        rolling: whole_windows,
        steady_seconds: steady.map(|(from, to)| (series.starts_at(from), series.ends_before(to))),
        unsteady,
        steady: steady.and_then(|part| mean(&kept(part))),
        sentences: Vec::new(),
    };
    judged.sentences = sentences::of(&judged);
    Some(judged)
}

fn mean(values: &[f64]) -> Option<Mean> {
    let sample = effective_sample(values)?;
    let interval = sample.interval(DEFAULT_CONFIDENCE)?;
    Some(Mean { value: sample.mean, interval, effective_points: sample.effective_points })
}

/// Where it kept a level, and for which part of the time; `kept` are its values without those that are far off.
fn levels(series: &Series, kept: &[f64], pattern: &Pattern) -> Vec<Level> {
    let points = series.spots.len();
    let all = series.ends_before(points) - series.starts_at(0);
    let level = |value: f64, stays: &[(usize, usize)]| {
        let seconds = |(from, to): &(usize, usize)| series.ends_before(*to) - series.starts_at(*from);
        let dwell_seconds: Vec<f64> = stays.iter().map(seconds).collect();
        Level { value, share_percent: 100.0 * dwell_seconds.iter().sum::<f64>() / all, dwell_seconds }
    };
    match pattern {
        Pattern::None | Pattern::OutliersOnly | Pattern::Undecided => {
            summary::mean(kept).map(|mean| level(mean, &[(0, points)])).into_iter().collect()
        }
        Pattern::Step(changes) => {
            let starts = std::iter::once(0).chain(changes.iter().map(|change| change.index));
            let ends = changes.iter().map(|change| change.index).chain([points]);
            let means = changes.first().map(|change| change.before).into_iter();
            let means = means.chain(changes.iter().map(|change| change.after));
            starts.zip(ends).zip(means).map(|(stay, mean)| level(mean, &[stay])).collect()
        }
        Pattern::TwoLevel(levels) => {
            let [low, high] = stays(levels);
            vec![level(levels.low.mean, &low), level(levels.high.mean, &high)]
        }
        Pattern::Drift(_) => Vec::new(),
        Pattern::WarmUp(warm_up) => vec![level(warm_up.level, &[(warm_up.settled.min(points), points)])],
    }
}

/// From where to where a flipping series stayed at the lower and at the higher level.
fn stays(levels: &TwoLevels) -> [Vec<(usize, usize)>; 2] {
    let mut stays = [Vec::new(), Vec::new()];
    let mut dwells = [levels.low.dwells.iter(), levels.high.dwells.iter()];
    let mut from = 0;
    for turn in 0..=levels.switches {
        let level = (turn + usize::from(levels.starts_high)) % 2;
        let Some(points) = dwells[level].next() else { break };
        stays[level].push((from, from + points));
        from += points;
    }
    stays
}

fn changes(series: &Series, pattern: &Pattern) -> Vec<f64> {
    match pattern {
        Pattern::Step(changes) => changes.iter().map(|change| series.starts_at(change.index)).collect(),
        _ => Vec::new(),
    }
}

fn drift(series: &Series, values: &[f64], pattern: &Pattern) -> Option<Drift> {
    let Pattern::Drift(drift) = pattern else { return None };
    let minutes_each = (series.ends_before(values.len()) - series.starts_at(0)) / values.len() as f64 / 60.0;
    let mean = summary::mean(values).filter(|mean| *mean > 0.0)?;
    let percent = |per_point: f64| 100.0 * per_point / minutes_each / mean;
    Some(Drift {
        per_minute: drift.per_point / minutes_each,
        percent_per_minute: percent(drift.per_point),
        low_percent: percent(drift.low),
        high_percent: percent(drift.high),
    })
}

/// What has to be known of series before the figure is compared with another. There is a sentence for each kind: those
/// that never reached a steady state, by their reasons, and those that changed their level on the way. Nothing where
/// all were steady.
pub fn unsteady(all: &[Steadiness]) -> Vec<String> {
    let mut reasons: Vec<(&str, usize)> = Vec::new();
    for one in all {
        let reason = match (one.unsteady, one.pattern) {
            (Some(reason), _) => reason,
            (None, "step") => CHANGED,
            _ => continue,
        };
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, count)) => *count += 1,
            None => reasons.push((reason, 1)),
        }
    }
    let whole = whole(all);
    let sentence = |(reason, count): (&str, usize)| {
        let what = if reason == CHANGED { "" } else { "never reached a steady state: " };
        format!("{count} of {whole} {what}{reason}")
    };
    reasons.into_iter().map(sentence).collect()
}

/// Said of a level that changed early enough for the rest to be steady; the figure is of both.
const CHANGED: &str = "changed its level on the way, and the figure is of both levels";

/// How many series there are, and of what.
fn whole(all: &[Steadiness]) -> String {
    let in_phases = all.iter().any(|one| one.phase.is_some());
    if in_phases { format!("{} phases of repetitions", all.len()) } else { count(all.len(), "repetition") }
}

/// What a reader has to know of series that did anything but keep their level, each in a paragraph; of many the first ones.
pub(crate) fn remarks(all: &[Steadiness]) -> Vec<String> {
    let moved: Vec<&Steadiness> =
        all.iter().filter(|one| !matches!(one.pattern, "none" | "outliers-only" | "undecided")).collect();
    let more = moved.len().saturating_sub(MOST_REMARKS);
    let more = (more > 0).then(|| format!("{more} more of these series did not keep their level."));
    moved.iter().take(MOST_REMARKS).map(|one| one.sentences.join(" ")).chain(more).collect()
}

/// More paragraphs than this nobody reads.
const MOST_REMARKS: usize = 4;

/// Rows: the repetitions and their phases. `None` where nothing could be judged.
pub(crate) fn table(all: &[Steadiness]) -> Option<Table> {
    let level = |one: &Steadiness| {
        let levels: Vec<String> = one.levels.iter().filter_map(|level| format::number(level.value)).collect();
        (!levels.is_empty()).then(|| levels.join(" / "))
    };
    let steady = |one: &Steadiness| match one.steady_seconds {
        None => "never".to_owned(),
        Some((from, to)) if from <= one.from_seconds && to >= one.to_seconds => "all".to_owned(),
        Some((from, _)) => format!("from {}", format_seconds(from - one.from_seconds)),
    };
    Table::of(
        all,
        &[
            (text("Rep."), &|one| plain(&one.repetition).into()),
            (text("Phase"), &|one| one.phase.as_deref().map(plain).into()),
            (number("Points", ""), &|one| one.points.into()),
            (text("Found"), &|one| sentences::pattern(one.pattern).into()),
            (number("Level", ""), &|one| level(one).into()),
            (text("Unit"), &|one| one.unit.into()),
            (text("Steady"), &|one| steady(one).into()),
            (number("Effective points", "").page("STATISTICS.md"), &|one| {
                one.steady.map(|mean| mean.effective_points).into()
            }),
        ],
    )
}

#[cfg(test)]
mod tests;
