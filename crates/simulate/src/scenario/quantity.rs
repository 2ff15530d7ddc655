//! Sizes, times and bandwidths as scenarios write them: with a unit, as text.

use plimsoll_measurement::units::{parse_bytes, parse_duration};
use serde::{Deserialize, Deserializer, de::Error};

/// Bytes: `8KiB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size(pub u64);

/// Nanoseconds: `6.8ms`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span(pub u64);

/// Bytes a second: `22MB/s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bandwidth(pub u64);

fn text<'de, D: Deserializer<'de>>(deserializer: D, example: &str) -> Result<String, D::Error> {
    let value = toml::Value::deserialize(deserializer)?;
    let text = value.as_str().map(str::to_owned);
    text.ok_or_else(|| D::Error::custom(format!("expected text with a unit, such as \"{example}\", not {value}")))
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        parse_bytes(&text(deserializer, "8KiB")?).map(Self).map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let span = parse_duration(&text(deserializer, "5ms")?).map_err(D::Error::custom)?;
        u64::try_from(span.as_nanos()).map(Self).map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Bandwidth {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = text(deserializer, "22MB/s")?;
        let bytes = text.trim().strip_suffix("/s");
        let bytes =
            bytes.ok_or_else(|| D::Error::custom(format!("'{text}' is no bandwidth: write it as \"22MB/s\"")))?;
        parse_bytes(bytes).map(Self).map_err(D::Error::custom)
    }
}
