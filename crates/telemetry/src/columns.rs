//! Columns of samples from cumulative readings: rates, mean times, and what is of now. What is missing on a side of an
//! interval, or went backwards in it, is a gap and never a zero.

mod engine;
mod glanced;
mod host;
mod pieces;

pub use host::{CLIENT, SERVER};
use pieces::seconds;
use plimsoll_measurement::{Moment, Moments, Samples};

pub(crate) use self::glanced::{averaged, averaged_waits};
use crate::look::{Glance, Look};

/// Digits of a value that are kept: counters are no better, and records shall stay small.
const DIGITS: usize = 6;

/// The columns of these looks, with times after `from`; looks before it are left out but for the last one.
pub(crate) fn of(looks: &[Look], glances: &[Glance], from: Moment) -> Samples {
    let first = looks.iter().rposition(|look| look.at <= from).unwrap_or(0);
    let looks = &looks[first.min(looks.len())..];
    // Two looks at one moment, as at an end that falls on a second, have nothing between them.
    let mut kept: Vec<&Look> = Vec::with_capacity(looks.len());
    for look in looks {
        if kept.last().is_none_or(|last| look.at > last.at) {
            kept.push(look);
        }
    }
    let Some((start, rest)) = kept.split_first() else { return Samples::default() };
    let mut columns = engine::columns(&kept);
    columns.extend(engine::waits(&kept));
    columns.extend(host::columns(&kept));
    for value in columns.iter_mut().flat_map(|column| &mut column.values) {
        *value = value.filter(|value| value.is_finite()).map(rounded);
    }
    columns.retain(|column| column.values.iter().any(Option::is_some));
    Samples {
        phase: None,
        started_seconds: seconds(from, start.at),
        seconds: rest.iter().map(|look| seconds(from, look.at)).collect(),
        columns,
        moments: moments(glances, (start.at, rest.last().map_or(start.at, |last| last.at)), from),
        gaps: engine::gaps(&kept, from),
    }
}

/// What was seen after one look and up to another.
fn moments(glances: &[Glance], (after, up_to): (Moment, Moment), from: Moment) -> Moments {
    let within: Vec<&Glance> = glances.iter().filter(|glance| glance.at > after && glance.at <= up_to).collect();
    let columns = engine::moments(&within);
    if columns.is_empty() {
        return Moments::default();
    }
    Moments { seconds: within.iter().map(|glance| rounded(seconds(from, glance.at))).collect(), columns }
}

fn rounded(value: f64) -> f64 {
    format!("{value:.*e}", DIGITS - 1).parse().unwrap_or(value)
}

#[cfg(test)]
mod tests;
