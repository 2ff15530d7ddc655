//! Values as people write them: sizes, spans, rates with and without burst, latencies, neighbours.

use std::time::Duration;

use plimsoll_measurement::units::{UnitError, parse_bytes, parse_count, parse_duration};
use toml::de::DeValue;

use super::error::SpecError;
use super::table::Field;
use crate::{Burst, Latency, Limit, Neighbour, Rate};

/// A number and its unit: what stands before and what from the first character on that is no part of a number.
fn split(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '_'))).unwrap_or(text.len());
    (&text[..end], text[end..].trim())
}

/// Reads a text with a unit as a number of the unit's smallest part, unrounded, so that `0.8MiB` keeps its fraction.
fn scaled(
    field: &Field<'_>,
    text: &str,
    what: &str,
    example: &str,
    unit: impl Fn(&str) -> Result<f64, UnitError>,
) -> Result<f64, SpecError> {
    let text = text.trim();
    if text.starts_with('-') {
        return Err(field.error(format!("'{text}' must not be negative")));
    }
    let lower = text.to_ascii_lowercase();
    if ["inf", "nan", "+inf", "+nan"].iter().any(|word| lower.starts_with(word)) {
        return Err(field.error(format!("'{text}' is not a finite number")));
    }
    let (digits, name) = split(text);
    let bad = |problem: String| field.error(problem).hint(format!("such as \"{example}\""));
    if digits.is_empty() {
        return Err(bad(format!("'{text}' does not start with a digit")));
    }
    if name.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return Err(bad(format!("'{text}' is more than one number")));
    }
    if name.is_empty() {
        return Err(bad(format!("{what} needs a unit, such as {example}")));
    }
    let number: f64 = digits.replace('_', "").parse().map_err(|_| bad(format!("'{digits}' is not a number")))?;
    let one = unit(&format!("1{name}")).map_err(|error| bad(error.to_string()))?;
    Ok(number * one)
}

/// The text of a value that needs a unit; a bare number is refused with an example.
fn with_unit<'a>(field: &Field<'a>, what: &str, example: &str) -> Result<&'a str, SpecError> {
    match field.value() {
        DeValue::Integer(_) | DeValue::Float(_) => {
            field.number()?;
            Err(field.error(format!("{what} needs a unit, such as {example}")))
        }
        DeValue::String(_) => field.text(),
        _ => Err(field.mismatch(&format!("a text such as \"{example}\""))),
    }
}

/// A size in bytes: `"64KiB"`; at least 1.
pub(super) fn size(field: &Field<'_>) -> Result<u64, SpecError> {
    let example = "64KiB";
    let text = with_unit(field, "a size", example)?;
    let bytes = scaled(field, text, "a size", example, |one| parse_bytes(one).map(|bytes| bytes as f64))?.round();
    match bytes {
        bytes if bytes < 1.0 => Err(field.error("must be more than 0")),
        bytes if bytes > (1_u64 << 60) as f64 => Err(field.error(format!("'{text}' is more than there is anywhere"))),
        bytes => Ok(bytes as u64),
    }
}

/// A span in picoseconds: `"25ns"`.
pub(super) fn span_ps(field: &Field<'_>, what: &str, example: &str) -> Result<u64, SpecError> {
    span_in(1e3, field, what, example)
}

/// A span: `"60s"`.
pub(super) fn span(field: &Field<'_>, example: &str) -> Result<Duration, SpecError> {
    span_in(1.0, field, "a time", example).map(Duration::from_nanos)
}

/// A span in units of which a nanosecond has so many.
fn span_in(units: f64, field: &Field<'_>, what: &str, example: &str) -> Result<u64, SpecError> {
    let text = with_unit(field, what, example)?;
    let one = |one: &str| parse_duration(one).map(|span| span.as_nanos() as f64 * units);
    let span = scaled(field, text, what, example, one)?;
    let is_too_long = span >= (1_u64 << 63) as f64;
    if is_too_long {
        Err(field.error(format!("'{text}' is longer than the model can say")))
    } else {
        Ok(span.round() as u64)
    }
}

/// I/Os or bytes a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Ios,
    Bytes,
}

impl Unit {
    /// The smallest and the largest rate that make sense.
    fn bounds(self) -> (f64, f64, &'static str) {
        match self {
            Self::Ios => (0.01, 1e9, "between 0.01 and 1,000,000,000 I/Os a second"),
            Self::Bytes => (1024.0, (1_u64 << 44) as f64, "between 1KiB/s and 16TiB/s"),
        }
    }
}

/// `500`, `"10k"`, `"10MiB/s"`, `"48MiB/min"`, or a table `{ rate = …, burst = { rate = …, lasts = … } }`.
pub(super) fn limit(field: &Field<'_>, unit: Unit) -> Result<Limit, SpecError> {
    if !field.value().is_table() {
        return Ok(Limit::from(rate(field, unit)?));
    }
    let table = field.table()?;
    table.known(&["rate", "burst"])?;
    let base = rate(&table.need("rate")?, unit)?;
    let burst = table.read("burst", |field| burst(field, base, unit))?;
    let limit = Limit { rate: base, burst };
    field.check(limit.check())?;
    Ok(limit)
}

fn burst(field: &Field<'_>, base: Rate, unit: Unit) -> Result<Burst, SpecError> {
    let table = field.table()?;
    table.known(&["rate", "lasts", "credit"])?;
    let peak = rate(&table.need("rate")?, unit)?;
    match (table.get("lasts"), table.get("credit")) {
        (Some(lasts), None) => Ok(Burst::lasting(base, peak, span(&lasts, "30m")?)),
        (None, Some(credit)) if unit == Unit::Bytes => Ok(Burst { peak, credit: size(&credit)? }),
        (None, Some(credit)) => Ok(Burst { peak, credit: credit.count()? as u64 }),
        _ => Err(field.error("a burst needs either 'lasts' or 'credit'")),
    }
}

fn rate(field: &Field<'_>, unit: Unit) -> Result<Rate, SpecError> {
    let units = match (unit, field.value()) {
        (Unit::Ios, DeValue::String(text)) => parse_count(text).map_err(|e| field.error(e.to_string()))? as f64,
        (Unit::Ios, _) => field.number()?,
        (Unit::Bytes, _) => bandwidth(field)?,
    };
    let (low, high, words) = unit.bounds();
    if units <= 0.0 {
        return Err(field.error("a limit must be more than 0").hint("leave the key out if there is no limit"));
    }
    let rate = Rate::per_second(units).filter(|_| (low..=high).contains(&units));
    rate.ok_or_else(|| field.error(format!("a limit must be {words}")))
}

fn bandwidth(field: &Field<'_>) -> Result<f64, SpecError> {
    let example = "10MiB/s";
    let text = with_unit(field, "a bandwidth", example)?;
    let (size, per) = text.split_once('/').map_or((text, ""), |(size, per)| (size, per.trim()));
    let bytes = scaled(field, size, "a bandwidth", example, |one| parse_bytes(one).map(|bytes| bytes as f64))?;
    match per {
        "s" => Ok(bytes),
        "min" => Ok(bytes / 60.0),
        "" => Err(field.error(format!("a bandwidth is per second or minute, such as {example}"))),
        other => Err(field.error(format!("a bandwidth per '{other}' is unknown")).hint("'/s' or '/min'")),
    }
}

/// `"5ms"`, or a table of quantiles.
pub(super) fn latency(field: &Field<'_>) -> Result<Latency, SpecError> {
    let one = |field: &Field<'_>| {
        span(field, "5ms")
            .map_err(|error| SpecError { problem: error.problem.replace("a time needs", "a latency needs"), ..error })
    };
    let latency = if field.value().is_table() {
        let mut points = Vec::new();
        for (name, field) in field.table()?.fields() {
            let quantile = quantile(name).ok_or_else(|| {
                let error = field.error(format!("unknown key '{name}'"));
                error.hint("min, max, or a quantile such as p50, p99 or p99_9")
            })?;
            if field.value().is_table() {
                return Err(field.error(format!("'{name}' holds a table")).hint("write p99.9 as p99_9"));
            }
            points.push((quantile, one(&field)?));
        }
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        Latency::Quantiles(points)
    } else {
        Latency::Constant(one(field)?)
    };
    field.check(latency.check())?;
    Ok(latency)
}

/// `min`, `max`, `p50`, `p99_9` or `p99.9` as a share.
fn quantile(name: &str) -> Option<f64> {
    match name {
        "min" => Some(0.0),
        "max" => Some(1.0),
        _ => {
            let digits = name.strip_prefix('p')?.replace('_', ".");
            let percent: f64 = digits.parse().ok().filter(|_| digits.starts_with(|c: char| c.is_ascii_digit()))?;
            (0.0..=100.0).contains(&percent).then_some(percent / 100.0)
        }
    }
}

/// `{ rates = [0.25, 1.0], dwell = "60s" }` or `{ low = 0.8, high = 1.1, step = 0.01, every = "30s" }`.
pub(super) fn neighbour(field: &Field<'_>) -> Result<Neighbour, SpecError> {
    let table = field.table()?;
    let neighbour = if ["low", "high", "step", "every"].iter().any(|key| table.get(key).is_some()) {
        table.known(&["low", "high", "step", "every"])?;
        let number = |key: &str| table.need(key)?.number();
        let every = span(&table.need("every")?, "30s")?;
        Neighbour::Drift { low: number("low")?, high: number("high")?, step: number("step")?, every }
    } else {
        table.known(&["rates", "dwell"])?;
        let rates = table.need("rates")?;
        let factors = rates.list()?.iter().map(Field::number).collect::<Result<Vec<f64>, _>>()?;
        let rates: [f64; 2] = factors.try_into().map_err(|_| rates.error("a neighbour has two rates"))?;
        let dwell = table.need("dwell")?;
        let dwell = if dwell.value().is_array() {
            let spans = dwell.list()?.iter().map(|item| span(item, "60s")).collect::<Result<Vec<Duration>, _>>()?;
            spans.try_into().map_err(|_| dwell.error("one dwell for both rates, or one for each"))?
        } else {
            [span(&dwell, "60s")?; 2]
        };
        Neighbour::TwoState { rates, dwell }
    };
    field.check(neighbour.check())?;
    Ok(neighbour)
}
