//! A figure held against a value: `p99 > 20ms`, `share(query) > 40 %`.

use plimsoll_measurement::units::parse_duration;

/// The signs of a condition: whether it is above the value, and whether it is at it as well.
const SIGNS: [(&str, bool, bool); 4] =
    [(">=", true, true), ("<=", false, true), (">", true, false), ("<", false, false)];

/// What should not be true.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// As it was given.
    pub text: String,
    /// The figure, in small letters and with underscores.
    pub figure: String,
    /// The value as it was given, with its unit.
    pub wanted: String,
    is_above: bool,
    is_inclusive: bool,
    value: f64,
    /// The unit of the value.
    pub unit: Option<String>,
}

impl Condition {
    /// Reads one.
    ///
    /// # Errors
    /// What is wrong with it, without the text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let found = SIGNS.into_iter().find_map(|(sign, is_above, is_inclusive)| {
            text.split_once(sign).map(|(figure, value)| (figure.trim(), value.trim(), is_above, is_inclusive))
        });
        let Some((figure, wanted, is_above, is_inclusive)) = found else {
            return Err("it has none of >, >=, < and <=".to_owned());
        };
        let end = wanted.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '_'))).unwrap_or(wanted.len());
        let (number, unit) = (wanted[..end].replace('_', ""), wanted[end..].trim());
        // `1,000`, `1e308` and `0x10` are written otherwise, and begin no unit.
        let begins_none =
            unit.starts_with(',') || unit.get(1..).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        let value = number.parse::<f64>().ok().filter(|value| value.is_finite() && !begins_none);
        let value = value.ok_or_else(|| format!("'{wanted}' is no number"))?;
        let figure = figure.to_lowercase().replace(' ', "_");
        if figure.is_empty() {
            return Err("it names no figure".to_owned());
        }
        let unit = Some(unit.to_owned()).filter(|unit| !unit.is_empty());
        let (text, wanted) = (text.trim().to_owned(), wanted.to_owned());
        Ok(Self { text, figure, wanted, is_above, is_inclusive, value, unit })
    }

    /// Its value in a unit; a value without one is in any.
    pub fn in_unit(&self, wanted: &str) -> Option<f64> {
        match self.unit.as_deref() {
            None => Some(self.value),
            Some(unit) if unit == wanted => Some(self.value),
            // Per second, as people write it.
            Some("/s") if wanted == "1/s" => Some(self.value),
            Some(unit) if wanted == "ms" => in_ms(self.value, unit),
            Some(unit) if wanted == "s" => in_ms(self.value, unit).map(|ms| ms / 1e3),
            Some(_) => None,
        }
    }

    /// Whether its value is a time with a unit.
    pub fn is_time(&self) -> bool {
        self.unit.is_some() && self.in_unit("ms").is_some()
    }

    /// Whether it is true of a figure that is held against this limit.
    pub fn is_true(&self, figure: f64, limit: f64) -> bool {
        let is_beyond = if self.is_above { figure > limit } else { figure < limit };
        is_beyond || self.is_inclusive && figure.total_cmp(&limit).is_eq()
    }

    /// Whether it is true of large figures.
    pub const fn is_above(&self) -> bool {
        self.is_above
    }
}

/// A time in ms; `None` without a unit of time.
fn in_ms(value: f64, unit: &str) -> Option<f64> {
    let is_time = unit.chars().all(|c| c.is_ascii_alphabetic());
    let time = parse_duration(&format!("{value}{unit}")).ok().filter(|_| is_time)?;
    Some(time.as_secs_f64() * 1e3)
}
