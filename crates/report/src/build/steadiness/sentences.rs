//! What was found, in sentences that a person can check against the chart.

use plimsoll_analysis::summary;

use super::findings::{Level, Steadiness};
use crate::model::format::seconds as format_seconds;
use crate::model::format::{count, ends, number, plain, quantity, signed_percent};

/// The pattern for a cell.
pub(super) fn pattern(name: &str) -> &'static str {
    match name {
        "none" => "one level",
        "outliers-only" => "one level, single points off",
        "step" => "the level changes",
        "drift" => "drifts",
        "two-level" => "flips between two levels",
        "warm-up" => "warms up",
        _ => "undecided",
    }
}

/// The sentences: what it did, single points, the rolling mean, why it was never steady, what its mean is worth.
pub(super) fn of(one: &Steadiness) -> Vec<String> {
    let mut sentences = vec![format!("{} {}.", subject(one), what(one))];
    if one.outliers > 0 && one.pattern != "outliers-only" {
        sentences.push(format!("{} far off and left out of this.", are(one.outliers)));
    }
    if let Some((low, high)) = one.rolling.and_then(|(low, high)| Some((number(low)?, number(high)?))) {
        sentences.push(format!("Its rolling mean of ten points went from {low} to {high} {}.", one.unit));
    }
    if let Some(reason) = one.unsteady {
        sentences.push(format!("It never reached a steady state: {reason}."));
    }
    if let Some(mean) = one.steady {
        let (low, high) = mean.interval;
        let ends = ends(mean.value, low, high).map_or_else(String::new, |ends| format!(", {ends}"));
        let part = if one.pattern == "step" || one.pattern == "warm-up" { "What is steady of it" } else { "It" };
        sentences.push(format!(
            "{part} has a mean of {}{ends} (95 % interval within this repetition), and is worth {} independent points.",
            quantity(mean.value, one.unit),
            number(mean.effective_points).unwrap_or_default()
        ));
    }
    sentences
}

fn are(points: usize) -> String {
    if points == 1 { "1 single point is".to_owned() } else { format!("{points} single points are") }
}

fn subject(one: &Steadiness) -> String {
    let of = if one.metric == "latency_p50" { ", median response time," } else { "" };
    match &one.phase {
        Some(phase) => {
            format!("Repetition {}, {}{}", plain(&one.repetition), plain(phase), if of.is_empty() { "," } else { of })
        }
        None => format!("Repetition {}{of}", plain(&one.repetition)),
    }
}

fn what(one: &Steadiness) -> String {
    let points = count(one.points, "point");
    let length = format_seconds(one.to_seconds - one.from_seconds);
    match (one.pattern, &one.levels[..]) {
        ("none", _) => format!("kept its level over {points} in {length}"),
        ("outliers-only", _) => {
            format!("kept its level over {points} in {length} but for {}", count(one.outliers, "single point"))
        }
        ("step", levels) => {
            let changes = one.changes_seconds.iter().zip(levels.windows(2)).map(|(at, pair)| {
                let at = format_seconds(at - one.from_seconds);
                format!(
                    "from {} to {} after {at}{}",
                    amount(&pair[0]),
                    quantity(pair[1].value, one.unit),
                    relative(pair)
                )
            });
            format!("changed its level {}", changes.collect::<Vec<_>>().join(", then "))
        }
        ("drift", _) => one.drift.map_or_else(
            || "rises or falls all the time".to_owned(),
            |drift| {
                let percent = |value: f64| signed_percent(value).unwrap_or_default();
                let verb = if drift.per_minute < 0.0 { "falls" } else { "rises" };
                format!(
                    "{verb} all the time, by {} a minute (95 % interval {} to {})",
                    percent(drift.percent_per_minute),
                    percent(drift.low_percent),
                    percent(drift.high_percent)
                )
            },
        ),
        ("two-level", [low, high]) => format!(
            "flips between {} and {}: {} and {} of the time, {}; it stays {} at the lower level and {} at the higher \
             (medians)",
            amount(low),
            quantity(high.value, one.unit),
            share(low),
            share(high),
            count(low.dwell_seconds.len() + high.dwell_seconds.len() - 1, "flip"),
            dwell(low),
            dwell(high)
        ),
        ("warm-up", [level]) => format!(
            "warmed up for {} until it was at {}",
            format_seconds(one.warm_up_seconds.unwrap_or_default()),
            quantity(level.value, one.unit)
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
    summary::median(&level.dwell_seconds).map_or_else(String::new, format_seconds)
}
