//! Times and ranges as they are typed: by the clock of the server that was watched, in UTC.

use std::ops::Range;

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use plimsoll_measurement::units;

use crate::failure::Failure;

/// A day, in microseconds.
const DAY_US: i64 = 24 * 3_600_000_000;

/// A wrong time, with what can be typed.
fn wrong(text: &str) -> Failure {
    Failure::usage(format!("'{text}' is no time"))
        .hint("such as 14:00, 2026-03-01T14:00, -30m (half an hour before the end of what is kept), end, or a mark; all in UTC")
}

/// A moment. `end_us` is where what is kept ends: a time without a date is the last one until then, and `-30m` is half an hour before.
pub fn moment(text: &str, end_us: i64) -> Result<i64, Failure> {
    let text = text.trim();
    if let Some(ago) = text.strip_prefix('-') {
        let ago = units::parse_duration(ago).map_err(|_| wrong(text))?;
        return Ok(end_us.saturating_sub(i64::try_from(ago.as_micros()).unwrap_or(i64::MAX)));
    }
    if matches!(text, "end" | "now") {
        return Ok(end_us);
    }
    let plain = text.trim_end_matches(['Z', 'z']);
    let in_utc = |at: DateTime| {
        let at = at.to_zoned(TimeZone::UTC).ok().map(|at| at.timestamp().as_microsecond());
        at.ok_or_else(|| wrong(text))
    };
    // A time is part of a date with a time too, so that it is tried last.
    if let Ok(at) = plain.parse::<DateTime>() {
        return in_utc(at);
    }
    if let Ok(day) = plain.parse::<Date>() {
        return in_utc(day.to_datetime(Time::midnight()));
    }
    let time = plain.parse::<Time>().map_err(|_| wrong(text))?;
    let last = jiff::Timestamp::from_microsecond(end_us).map_err(|_| wrong(text))?;
    let at = in_utc(last.to_zoned(TimeZone::UTC).date().to_datetime(time))?;
    Ok(if at > end_us { at - DAY_US } else { at })
}

/// `FROM..TO`, where either may be missing, of moments as `moment` reads them.
pub fn range(
    text: &str,
    whole: &Range<i64>,
    moment: impl Fn(&str) -> Result<i64, Failure>,
) -> Result<Range<i64>, Failure> {
    let Some((from, to)) = text.split_once("..") else {
        return Err(Failure::usage(format!("'{text}' is no range of time"))
            .hint("such as 14:00..14:30, -2h..-1h, or -30m.. up to the end"));
    };
    let of = |text: &str, missing| if text.is_empty() { Ok(missing) } else { moment(text) };
    checked(of(from, whole.start)?..of(to, whole.end)?, text)
}

/// An error for a range without a moment in it.
pub fn checked(range: Range<i64>, text: &str) -> Result<Range<i64>, Failure> {
    if range.is_empty() {
        return Err(Failure::usage(format!("{text} ends before it begins")).hint("name the earlier time first"));
    }
    Ok(range)
}

/// A moment for people and for scripts: to the second.
pub fn shown(us: i64) -> String {
    jiff::Timestamp::from_microsecond(us).map_or_else(|_| String::new(), |at| format!("{at:.0}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_before_the_end_of_what_is_kept() {
        let end = moment("2026-03-02T12:00", 0).unwrap();
        let of = |text: &str| shown(moment(text, end).unwrap());
        assert_eq!(of("-90s"), "2026-03-02T11:58:30Z");
        assert_eq!((of("11:30").as_str(), of("13:30:15").as_str()), ("2026-03-02T11:30:00Z", "2026-03-01T13:30:15Z"));
        assert_eq!((of("2026-02-28").as_str(), of("end").as_str()), ("2026-02-28T00:00:00Z", "2026-03-02T12:00:00Z"));
        assert_eq!(of("2026-02-28 05:06:07Z"), "2026-02-28T05:06:07Z");
        for text in ["soon", "-", "25:00", ""] {
            assert!(moment(text, end).is_err(), "{text}");
        }
    }

    #[test]
    fn ranges_may_be_open() {
        let end = moment("2026-03-02T12:00", 0).unwrap();
        let whole = end - DAY_US..end;
        let of = |text: &str| {
            range(text, &whole, |text| moment(text, end)).map(|range| (end - range.end, range.end - range.start))
        };
        assert_eq!(of("-2h..-1h").unwrap(), (3_600_000_000, 3_600_000_000));
        assert_eq!((of("-1h..").unwrap(), of("..").unwrap()), ((0, 3_600_000_000), (0, DAY_US)));
        assert!(of("-1h..-2h").is_err() && of("-1h").is_err());
    }
}
