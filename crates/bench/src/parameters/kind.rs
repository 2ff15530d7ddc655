//! What values a parameter takes, and how they are written.

use std::fmt::Display;
use std::time::Duration;

use plimsoll_measurement::units;

/// Levels that a run tries at most: each takes as long as the duration says.
const MOST_LEVELS: usize = 100;

/// Sizes that a run tries at most: a database is kept for each.
const MOST_SIZES: usize = 12;

/// Longest name.
const MOST_CHARACTERS: usize = 128;

/// The values a parameter takes, inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A size: `100MiB`.
    Bytes(u64, u64),
    /// A whole number: `10k`.
    Count(u64, u64),
    /// A time: `30s`.
    Duration(Duration, Duration),
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A number, several that are tried one after another, or a ramp from one to another: `8`, `1,2,4,8`, `100..1000`.
    Levels(u64, u64),
    /// Sizes that are tried one after another, or none: `64MiB, 256MiB`.
    Sizes(u64, u64),
    /// A name that a provider chose, or none.
    Text,
}

/// The value of a parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParameterValue {
    /// Bytes.
    Bytes(u64),
    /// A number.
    Count(u64),
    /// A time.
    Duration(Duration),
    /// A word.
    Choice(String),
    /// Numbers to be tried in turn, one at least.
    Levels(Vec<u64>),
    /// From one number steadily to another.
    Ramp(u64, u64),
    /// Bytes, to be tried in turn; rising, or none.
    Sizes(Vec<u64>),
}

impl ParameterValue {
    /// The value as a run record keeps it: bytes and counts as numbers, several as a list, a ramp as a text, times in seconds.
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Self::Bytes(value) | Self::Count(value) => (*value).into(),
            Self::Duration(value) => value.as_secs_f64().into(),
            Self::Choice(word) => word.as_str().into(),
            Self::Levels(levels) if levels.len() == 1 => levels[0].into(),
            Self::Levels(levels) => levels.as_slice().into(),
            Self::Ramp(from, to) => format!("{from}..{to}").into(),
            Self::Sizes(sizes) => sizes.as_slice().into(),
        }
    }
}

impl Kind {
    /// Reads a value and holds it against the range.
    pub(super) fn parse(self, text: &str) -> Result<ParameterValue, String> {
        match self {
            Self::Bytes(low, high) => bytes(text, low, high).map(ParameterValue::Bytes),
            Self::Count(low, high) => match units::parse_count(text).map_err(|error| error.to_string())? {
                value if (low..=high).contains(&value) => Ok(ParameterValue::Count(value)),
                _ => Err(outside(low, high)),
            },
            Self::Duration(low, high) => match units::parse_duration(text).map_err(|error| error.to_string())? {
                value if (low..=high).contains(&value) => Ok(ParameterValue::Duration(value)),
                _ => Err(outside(format!("{low:?}"), format!("{} min", high.as_secs() / 60))),
            },
            Self::Levels(low, high) => levels(text, low, high),
            Self::Sizes(low, high) => sizes(text, low, high),
            Self::Text if text.len() > MOST_CHARACTERS || text.contains(char::is_control) => {
                Err(format!("the value must be a name of {MOST_CHARACTERS} characters at most"))
            }
            Self::Text => Ok(ParameterValue::Choice(text.to_owned())),
            Self::Choice(words) if words.contains(&text) => Ok(ParameterValue::Choice(text.to_owned())),
            Self::Choice(words) => Err(format!("the value must be one of {}", words.join(", "))),
        }
    }

    /// The kind in words, for documentation.
    pub fn describe(self) -> String {
        match self {
            Self::Bytes(..) => "size, such as 100MiB".to_owned(),
            Self::Count(..) => "number".to_owned(),
            Self::Duration(..) => "time, such as 30s".to_owned(),
            Self::Choice(words) => words.join(" | "),
            Self::Levels(..) => "number, several such as 1,2,4, or 1..10".to_owned(),
            Self::Sizes(..) => "sizes, such as 64MiB, 256MiB; may be empty".to_owned(),
            Self::Text => "name; may be empty".to_owned(),
        }
    }
}

fn outside(low: impl Display, high: impl Display) -> String {
    format!("the value must lie between {low} and {high}")
}

fn bytes(text: &str, low: u64, high: u64) -> Result<u64, String> {
    match units::parse_bytes(text).map_err(|error| error.to_string())? {
        value if (low..=high).contains(&value) => Ok(value),
        _ => Err(outside(units::format_bytes(low), units::format_bytes(high))),
    }
}

/// Reads `64MiB, 256MiB`, or nothing.
fn sizes(text: &str, low: u64, high: u64) -> Result<ParameterValue, String> {
    let texts = text.split(',').map(str::trim).filter(|_| !text.trim().is_empty());
    let mut sizes = texts.map(|text| bytes(text, low, high)).collect::<Result<Vec<_>, String>>()?;
    sizes.sort_unstable();
    sizes.dedup();
    if sizes.len() > MOST_SIZES {
        return Err(format!("{} sizes are more than {MOST_SIZES}", sizes.len()));
    }
    Ok(ParameterValue::Sizes(sizes))
}

/// Reads `8`, `1,2,4,8` or `100..1000`.
fn levels(text: &str, low: u64, high: u64) -> Result<ParameterValue, String> {
    let number = |text: &str| {
        let value = units::parse_count(text.trim()).map_err(|error| error.to_string())?;
        // Half a request a second must not become none, which means as many as possible.
        let is_fraction = text.contains('.') && !text.trim().ends_with(['k', 'm', 'K', 'M']);
        if is_fraction {
            return Err("the value must be a whole number".to_owned());
        }
        if (low..=high).contains(&value) { Ok(value) } else { Err(outside(low, high)) }
    };
    if let Some((from, to)) = text.split_once("..") {
        return match (number(from)?, number(to)?) {
            (0, 0) => Err("a ramp from 0 to 0 never begins".to_owned()),
            (from, to) if from > to => Err(format!("a ramp rises: {to}..{from}")),
            (from, to) => Ok(ParameterValue::Ramp(from, to)),
        };
    }
    let levels = text.split(',').map(number).collect::<Result<Vec<_>, _>>()?;
    if levels.len() > MOST_LEVELS {
        return Err(format!("{} values are more than {MOST_LEVELS}", levels.len()));
    }
    if levels.len() > 1 && levels.contains(&0) {
        return Err("0 can't be one of several values".to_owned());
    }
    Ok(ParameterValue::Levels(levels))
}

#[cfg(test)]
mod tests {
    use super::{ParameterValue, levels, sizes};

    #[test]
    fn levels_are_one_or_several_or_a_ramp() {
        assert_eq!(levels("8", 0, 10), Ok(ParameterValue::Levels(vec![8])));
        assert_eq!(levels("1, 2,4", 0, 10), Ok(ParameterValue::Levels(vec![1, 2, 4])));
        assert_eq!(levels("1k..2k", 0, 10_000), Ok(ParameterValue::Ramp(1000, 2000)));
        for bad in [
            "",
            ",",
            "1,,2",
            "11",
            "1..11",
            "0..0",
            "10..1",
            "1,0",
            "..",
            "1..",
            "-1",
            "x",
            "0.4",
            "1.5",
            &"1,".repeat(200),
        ] {
            assert!(levels(bad, 0, 10).is_err(), "{bad}");
        }
    }

    #[test]
    fn sizes_are_none_or_several_that_rise() {
        let read = |text| sizes(text, 1 << 20, 1 << 40);
        assert_eq!(read(""), Ok(ParameterValue::Sizes(Vec::new())));
        assert_eq!(read("2MiB, 1MiB,2MiB"), Ok(ParameterValue::Sizes(vec![1 << 20, 2 << 20])));
        for bad in [",", "1MiB,", "1KiB", "x", &"1MiB,".repeat(20)] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
