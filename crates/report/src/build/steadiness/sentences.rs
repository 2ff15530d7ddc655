//! What was found, in sentences that a person can check against the chart.

use plimsoll_analysis::segments::Pattern;
use plimsoll_analysis::{DEFAULT_CONFIDENCE, summary};

use super::findings::{Level, Steadiness};
use super::series::Series;
use crate::model::format::{count, ends, number, plain, quantity, seconds, signed_percent};

/// The pattern for a cell.
pub(super) const fn pattern(pattern: &Pattern) -> &'static str {
    match pattern {
        Pattern::None => "one level",
        Pattern::OutliersOnly => "one level, single points off",
        Pattern::Undecided => "undecided",
        Pattern::Step(_) => "the level changes",
        Pattern::Drift(_) => "drifts",
        Pattern::TwoLevel(_) => "flips between two levels",
        Pattern::WarmUp(_) => "warms up",
    }
}

/// The sentences: what it did, single points, the rolling mean, why it was never steady, what its mean is worth.
pub(super) fn of(one: &Steadiness) -> Vec<String> {
    let (outliers, unit) = (one.found.outliers.len(), one.series.unit);
    let mut sentences = vec![format!("{} {}.", subject(&one.series), what(one))];
    if outliers > 0 && one.found.pattern != Pattern::OutliersOnly {
        let are = if outliers == 1 { "point is" } else { "points are" };
        sentences.push(format!("{outliers} single {are} far off and left out of this."));
    }
    if let Some((low, high)) = one.rolling().and_then(|(low, high)| Some((number(low)?, number(high)?))) {
        sentences.push(format!("Its rolling mean of ten points went from {low} to {high} {unit}."));
    }
    if let Some(reason) = one.unsteady() {
        sentences.push(format!("It never reached a steady state: {reason}."));
    }
    if let Some(sample) = one.steady_mean() {
        let interval = sample.interval(DEFAULT_CONFIDENCE);
        let ends = interval.and_then(|(low, high)| ends(sample.mean, low, high));
        let ends = ends.map_or_else(String::new, |ends| format!(", {ends}"));
        let has_parts = matches!(one.found.pattern, Pattern::Step(_) | Pattern::WarmUp(_));
        sentences.push(format!(
            "{} has a mean of {}{ends} (95 % interval within this repetition), and is worth {} independent points.",
            if has_parts { "What is steady of it" } else { "It" },
            quantity(sample.mean, unit),
            number(sample.effective_points).unwrap_or_default()
        ));
    }
    sentences
}

/// Which repetition and phase it is of, as the beginning of a sentence.
pub(super) fn subject(series: &Series) -> String {
    let of = if series.metric == "latency_p50" { ", median response time," } else { "" };
    let repetition = plain(&series.repetition);
    match &series.phase {
        Some(phase) if of.is_empty() => format!("Repetition {repetition}, {},", plain(phase)),
        Some(phase) => format!("Repetition {repetition}, {}{of}", plain(phase)),
        None => format!("Repetition {repetition}{of}"),
    }
}

fn what(one: &Steadiness) -> String {
    let (points, (start, end), unit) = (count(one.points(), "point"), one.span(), one.series.unit);
    let length = seconds(end - start);
    match (&one.found.pattern, &one.levels()[..]) {
        (Pattern::None, _) => format!("kept its level over {points} in {length}"),
        (Pattern::OutliersOnly, _) => {
            let off = count(one.found.outliers.len(), "single point");
            format!("kept its level over {points} in {length} but for {off}")
        }
        (Pattern::Step(_), levels) => {
            let changes = one.changes_seconds().into_iter().zip(levels.windows(2)).map(|(at, pair)| {
                let (from, to, after) = (amount(&pair[0]), quantity(pair[1].value, unit), seconds(at - start));
                format!("from {from} to {to} after {after}{}", relative(pair))
            });
            format!("moved {}", changes.collect::<Vec<_>>().join(", then "))
        }
        (Pattern::Drift(_), _) => one.drift().map_or_else(
            || "rises or falls all the time".to_owned(),
            |drift| {
                let verb = if drift[0] < 0.0 { "falls" } else { "rises" };
                let [percent, low, high] = drift.map(|percent| signed_percent(percent).unwrap_or_default());
                format!("{verb} all the time, by {percent} a minute (95 % interval {low} to {high})")
            },
        ),
        (Pattern::TwoLevel(_), [low, high]) => format!(
            "flips between {} and {}: {} and {} of the time, {}; it stays {} at the lower level and {} at the higher \
             (medians)",
            amount(low),
            quantity(high.value, unit),
            share(low),
            share(high),
            count(low.dwell_seconds.len() + high.dwell_seconds.len() - 1, "flip"),
            dwell(low),
            dwell(high)
        ),
        (Pattern::WarmUp(_), [level]) => format!(
            "warmed up for {} until it was at {}",
            seconds(one.warm_up_seconds().unwrap_or_default()),
            quantity(level.value, unit)
        ),
        _ => {
            format!("shows more than noise usually does and less than would prove a change, over {points} in {length}")
        }
    }
}

fn amount(level: &Level) -> String {
    number(level.value).unwrap_or_default()
}

fn relative(pair: &[Level]) -> String {
    if pair[0].value <= 0.0 {
        return String::new();
    }
    signed_percent(100.0 * (pair[1].value / pair[0].value - 1.0)).map_or_else(String::new, |text| format!(" ({text})"))
}

fn share(level: &Level) -> String {
    format!("{:.0} %", level.share_percent)
}

fn dwell(level: &Level) -> String {
    summary::median(&level.dwell_seconds).map_or_else(String::new, seconds)
}
