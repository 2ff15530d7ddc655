//! Units: sizes, durations and counts as people write them, and the seeds' MB per minute.
//!
//! MB is 2^20 bytes everywhere (so is the `M` in `100M`); decimal units are never used, so a figure means one thing.

use std::time::Duration;

/// Bytes in one MB, as in every published reference figure.
pub const MB: u64 = 1 << 20;

/// Why a size, duration or count could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// Nothing there.
    #[error("the value is empty")]
    Empty,
    /// Not a number in front of the unit.
    #[error("'{0}' does not start with a digit")]
    NotANumber(String),
    /// An unknown unit.
    #[error("unknown unit '{unit}', expected one of {expected}")]
    UnknownUnit {
        /// What was written.
        unit: String,
        /// What would have been understood.
        expected: &'static str,
    },
    /// More than 2^63.
    #[error("'{0}' is out of range")]
    OutOfRange(String),
}

const SIZE_UNITS: &[(&str, u64)] = &[
    ("", 1),
    ("b", 1),
    ("k", 1 << 10),
    ("kb", 1 << 10),
    ("kib", 1 << 10),
    ("m", 1 << 20),
    ("mb", 1 << 20),
    ("mib", 1 << 20),
    ("g", 1 << 30),
    ("gb", 1 << 30),
    ("gib", 1 << 30),
    ("t", 1 << 40),
    ("tb", 1 << 40),
    ("tib", 1 << 40),
];
const COUNT_UNITS: &[(&str, u64)] = &[("", 1), ("k", 1_000), ("m", 1_000_000)];
const DURATION_UNITS_NANOS: &[(&str, u64)] = &[
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("", 1_000_000_000),
    ("m", 60_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Reads `4KiB`, `100MB`, `1.5g` or `4096` as bytes. All units are binary.
pub fn parse_bytes(text: &str) -> Result<u64, UnitError> {
    parse_scaled(text, SIZE_UNITS, "B, KiB, MiB, GiB, TiB (binary; also K, MB, ...)")
}

/// Reads `10k`, `2m` or `500` as a count (decimal).
pub fn parse_count(text: &str) -> Result<u64, UnitError> {
    parse_scaled(text, COUNT_UNITS, "k (thousand), m (million)")
}

/// Reads `30s`, `5m`, `1.5h`, `200ms`, `1h30m` or `30` (seconds).
pub fn parse_duration(text: &str) -> Result<Duration, UnitError> {
    let mut sum = 0_u64;
    let (mut rest, mut unit) = (text.trim(), String::new());
    loop {
        // A number behind a unit is of the next part.
        let begins =
            |(at, pair): (usize, &[u8])| (pair[0].is_ascii_alphabetic() && pair[1].is_ascii_digit()).then_some(at + 1);
        let end = rest.as_bytes().windows(2).enumerate().find_map(begins);
        let (part, more) = rest.split_at(end.unwrap_or(rest.len()));
        let nanos = parse_scaled(part, DURATION_UNITS_NANOS, "ns, us, ms, s, m, h")?;
        let of_part = part.trim_start_matches(|c: char| !c.is_ascii_alphabetic()).to_ascii_lowercase();
        let size = |name: &str| DURATION_UNITS_NANOS.iter().find(|(unit, _)| *unit == name).map(|(_, scale)| *scale);
        // Each unit is smaller than the one before, and has its name.
        if !unit.is_empty() && (of_part.is_empty() || size(&of_part) >= size(&unit)) {
            return Err(UnitError::NotANumber(text.trim().to_owned()));
        }
        sum = sum.checked_add(nanos).ok_or_else(|| UnitError::OutOfRange(text.trim().to_owned()))?;
        if more.is_empty() {
            return Ok(Duration::from_nanos(sum));
        }
        (rest, unit) = (more, of_part);
    }
}

fn parse_scaled(text: &str, units: &[(&str, u64)], expected: &'static str) -> Result<u64, UnitError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(UnitError::Empty);
    }
    let digits = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
    let number = text[..digits].replace('_', "");
    let unit = text[digits..].trim().to_ascii_lowercase();
    if number.is_empty() {
        return Err(UnitError::NotANumber(text.to_owned()));
    }
    let scale = units.iter().find(|(name, _)| *name == unit).map(|(_, scale)| *scale);
    let scale = scale.ok_or(UnitError::UnknownUnit { unit, expected })?;
    let out_of_range = || UnitError::OutOfRange(text.to_owned());
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(scale).filter(|v| i64::try_from(*v).is_ok()).ok_or_else(out_of_range);
    }
    let fraction: f64 = number.parse().map_err(|_| UnitError::NotANumber(text.to_owned()))?;
    let value = (fraction * scale as f64).round();
    if value < 9.2e18 { Ok(value as u64) } else { Err(out_of_range()) }
}

/// Bytes as a person reads them: `512 B`, `4.0 KB`, `1.00 GB` (binary).
pub fn format_bytes(bytes: u64) -> String {
    const STEPS: [(&str, u64); 4] = [("TB", 1 << 40), ("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)];
    match STEPS.iter().find(|(_, size)| bytes >= *size) {
        Some((unit, size)) => format!("{} {unit}", format_significant(bytes as f64 / *size as f64)),
        None => format!("{bytes} B"),
    }
}

/// A gain in percent as it is told everywhere, in tenths: `8`, `2.5`.
pub fn tenths(percent: f64) -> String {
    let text = format!("{:.1}", (percent * 10.0).round() / 10.0);
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// Three digits, without zeros that say nothing: `0.5`, `25`.
pub fn significant(value: f64) -> String {
    let text = format_significant(value);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// A number with about three significant digits: `0.123`, `4.56`, `78.9`, `1,234`.
pub fn format_significant(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() {
        return "n/a".to_owned();
    }
    if size == 0.0 {
        return "0".to_owned();
    }
    // What is rounded up to the next power of ten has a decimal less.
    let rounded = format!("{size:.*}", decimals(size)).parse().ok().filter(|rounded| *rounded > 0.0);
    format_decimals(value, decimals(rounded.unwrap_or(size)))
}

/// A number as it was given, with three decimals at most: `127.9`, `129.01`, `1,024`. One that is too small for those as the others are.
pub fn format_given(value: f64) -> String {
    let text = format_decimals(value, 3);
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text.trim_start_matches('-') == "0" || !value.is_finite() { format_significant(value) } else { text.to_owned() }
}

/// Decimals of a number above zero with three significant digits.
fn decimals(size: f64) -> usize {
    match size {
        100.0.. => 0,
        10.0.. => 1,
        1.0.. => 2,
        _ => (2 - size.log10().floor() as i32).clamp(3, 9) as usize,
    }
}

/// A number with so many decimals, and its thousands in groups: `1,234.0`.
pub fn format_decimals(value: f64, decimals: usize) -> String {
    let digits = format!("{:.decimals$}", value.abs());
    let whole = digits.find('.').unwrap_or(digits.len());
    let mut text = if value < 0.0 { "-".to_owned() } else { String::new() };
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && place < whole && (whole - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A duration as a person reads it: `850 ms`, `12.3 s`, `4 min 05 s`, `2 h 50 min`.
pub fn format_seconds(seconds: f64) -> String {
    if seconds < 0.001 {
        format!("{:.0} us", seconds * 1e6)
    } else if seconds < 1.0 {
        format!("{:.0} ms", seconds * 1e3)
    } else if seconds < 99.95 {
        format!("{seconds:.1} s")
    } else if seconds < 3600.0 {
        format!("{} min {:02} s", (seconds / 60.0) as u64, (seconds % 60.0) as u64)
    } else {
        format!("{} h {:02} min", (seconds / 3600.0) as u64, (seconds % 3600.0 / 60.0) as u64)
    }
}

/// The seeds' unit of rate: MB of data content per minute. `None` if no time has passed.
pub fn mb_per_minute(bytes: u64, seconds: f64) -> Option<f64> {
    (seconds > 0.0).then(|| bytes as f64 / MB as f64 / seconds * 60.0)
}

/// How long so many bytes take at a rate, in seconds. `None` if nothing moves.
pub fn seconds_at(bytes: u64, mb_per_minute: f64) -> Option<f64> {
    (mb_per_minute > 0.0).then(|| bytes as f64 / MB as f64 / mb_per_minute * 60.0)
}

/// MB per second from MB per minute.
pub fn mb_per_second(mb_per_minute: f64) -> f64 {
    mb_per_minute / 60.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn people_write_sizes_in_many_ways() {
        assert_eq!(parse_bytes("4KiB"), Ok(4096));
        assert_eq!(parse_bytes("100 MB"), Ok(100 * MB));
        assert_eq!(parse_bytes("1.5g"), Ok(3 << 29));
        assert_eq!(parse_bytes("0"), Ok(0));
        assert_eq!(parse_count("10k"), Ok(10_000));
        assert_eq!(parse_duration("5m"), Ok(Duration::from_mins(5)));
        assert_eq!(parse_duration("200ms"), Ok(Duration::from_millis(200)));
        assert_eq!(parse_duration("3m30s"), Ok(Duration::from_secs(210)));
        assert_eq!(parse_duration("1h30m5.5s"), Ok(Duration::from_millis(5_405_500)));
        for text in ["3m30", "30s3m", "3m3m", "3mx", "3m 30 s m"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        assert_eq!(parse_bytes(" "), Err(UnitError::Empty));
        assert_eq!(parse_bytes("-5"), Err(UnitError::NotANumber("-5".into())));
        assert_eq!(parse_bytes("1000000000000 TiB"), Err(UnitError::OutOfRange("1000000000000 TiB".into())));
        let error = parse_bytes("5 elephants").unwrap_err().to_string();
        assert!(error.contains("elephants") && error.contains("MiB"), "{error}");
    }

    /// Fixtures stated in the reference: 24, 36, 48 MB/min are 0.4, 0.6, 0.8 MB/s; 114 is 1.90; 37 GB in 170 min.
    #[test]
    fn rates_agree_with_the_reference() {
        for (per_minute, per_second) in [(24.0, 0.4), (36.0, 0.6), (48.0, 0.8), (114.0, 1.90)] {
            assert!((mb_per_second(per_minute) - per_second).abs() < 1e-9);
        }
        let rate = mb_per_minute(37 * 1024 * MB, 170.0 * 60.0).unwrap();
        assert!((rate - 222.9).abs() < 0.05, "{rate}");
        assert_eq!(mb_per_minute(5, 0.0), None);
    }

    #[test]
    fn numbers_are_printed_for_people() {
        assert_eq!(format_significant(1_234_567.0), "1,234,567");
        assert_eq!(format_significant(0.0123), "0.0123");
        assert_eq!(format_significant(-4.5), "-4.50");
        let given = [127.9, 129.01, 128.003_906_25, 1024.0, 0.5, 1e-4, 0.0].map(format_given);
        assert_eq!(given, ["127.9", "129.01", "128.004", "1,024", "0.5", "0.000100", "0"]);
        let rounded_up = [0.009_999_9, 0.999_96, 9.999, -99.97, 1e-12].map(format_significant);
        assert_eq!(rounded_up, ["0.0100", "1.00", "10.0", "-100", "0.000000000"]);
        assert_eq!(format_bytes(1 << 30), "1.00 GB");
        assert_eq!(format_bytes(512), "512 B");
        assert_eq!(format_seconds(245.0), "4 min 05 s");
        assert_eq!(format_seconds(10_200.0), "2 h 50 min");
    }

    proptest! {
        #[test]
        fn no_text_makes_a_parser_panic(text in "\\PC{0,24}") {
            let _ = (parse_bytes(&text), parse_count(&text), parse_duration(&text));
        }

        #[test]
        fn whole_sizes_survive(n in 0_u64..1 << 20) {
            prop_assert_eq!(parse_bytes(&format!("{n}KiB")), Ok(n << 10));
            prop_assert_eq!(parse_bytes(&format!("{n}")), Ok(n));
        }
    }
}
