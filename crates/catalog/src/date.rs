//! A calendar date, as TOML writes it without quotes.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A day of the Gregorian calendar. Dates order as time does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "toml::value::Datetime", into = "String")]
pub struct Date {
    /// Year, four digits.
    pub year: u16,
    /// Month, 1 to 12.
    pub month: u8,
    /// Day of the month, from 1.
    pub day: u8,
}

/// The parser has refused days that do not exist; here a time of day is refused, since facts are dated by the day.
impl TryFrom<toml::value::Datetime> for Date {
    type Error = String;

    fn try_from(given: toml::value::Datetime) -> Result<Self, Self::Error> {
        match given {
            toml::value::Datetime { date: Some(date), time: None, offset: None } => {
                Ok(Self { year: date.year, month: date.month, day: date.day })
            }
            other => Err(format!("'{other}' is not a date, expected one like 2015-01-31")),
        }
    }
}

impl From<Date> for String {
    fn from(date: Date) -> Self {
        date.to_string()
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}
