//! A calendar date, as TOML writes it without quotes.

use serde::Deserialize;
use std::fmt;
use std::str::FromStr;

/// A day of the Gregorian calendar. Dates order as time does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "toml::value::Datetime")]
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

/// `2018-12-18`.
impl FromStr for Date {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let given: Result<toml::value::Datetime, _> = text.trim().parse();
        given.map_err(|_| format!("'{text}' is not a date, expected one like 2018-12-18")).and_then(Self::try_from)
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

impl Date {
    /// Days since 1 March of year 0, so that the distance of two dates is a difference (H. Hinnant, "chrono-compatible
    /// low-level date algorithms", `days_from_civil`: years begin in March, which puts the leap day at the end).
    pub(crate) fn day_number(self) -> i64 {
        let (year, month) = (i64::from(self.year), i64::from(self.month));
        let year = if month <= 2 { year - 1 } else { year };
        let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + i64::from(self.day) - 1;
        365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + day_of_year
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_of_dates_counts_leap_days() {
        let date = |year, month, day| Date { year, month, day }.day_number();
        assert_eq!(date(2015, 2, 2) - date(2015, 1, 31), 2);
        assert_eq!(date(2015, 1, 1) - date(2014, 12, 31), 1);
        assert_eq!(date(2016, 3, 1) - date(2016, 2, 28), 2);
        assert_eq!(date(2100, 3, 1) - date(2100, 2, 28), 1);
        assert_eq!(date(2000, 3, 1) - date(1970, 1, 1), 11_017);
        assert_eq!(date(0, 3, 1), 0);
    }
}
