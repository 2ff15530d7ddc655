//! How values are shown, the same way by every face: numbers with three digits, units, intervals, dates, the en dash for the unknown.

use plimsoll_measurement::Basis;
use plimsoll_measurement::units::{
    format_bytes, format_decimals, format_given, format_seconds, format_significant, tenths,
};

use super::table::{Bound, Cell, Column, Content, Form, Value};

/// Stands for a value that nobody knows.
pub const UNKNOWN: &str = "–";

/// Unit of sizes that are shown as they are best read.
pub const BYTES: &str = "bytes";

/// A cell by its column, without its flags.
pub fn cell(cell: &Cell, column: &Column) -> String {
    match &cell.content {
        Content::Absent => UNKNOWN.to_owned(),
        Content::Text(text) => text.clone(),
        Content::Time(at) => minute(at),
        Content::Count(count) if column.form == Form::Scaled && column.unit == BYTES => format_bytes(*count),
        Content::Count(count) => whole(*count),
        Content::Value(one) if column.form == Form::Signed => signed(one.value),
        Content::Value(one) if column.form == Form::Scaled => seconds(one.value),
        Content::Value(one) if column.form == Form::Given => format_given(one.value),
        Content::Value(one) => {
            let text = number(one.value).unwrap_or_default();
            let unit = if column.form == Form::Bare || one.unit.is_empty() || one.unit == column.unit {
                String::new()
            } else {
                format!(" {}", one.unit)
            };
            let ends = ends_of(one).map_or_else(String::new, |ends| format!(" ({ends})"));
            format!("{}{text}{unit}{ends}", bound(one.bound))
        }
    }
}

fn signed(value: f64) -> String {
    let sign = if value > 0.0 { "+" } else { "" };
    if value.abs() < 10.0 { format!("{value:+.2}") } else { format!("{sign}{}", number(value).unwrap_or_default()) }
}

/// The same with the signs of its flags.
pub fn marked(one: &Cell, column: &Column) -> String {
    one.flags.iter().fold(cell(one, column), |text, flag| format!("{text} {}", flag_symbol(flag)))
}

/// The heading of a column: its label, and its unit where that isn't the one of the column before.
pub fn heading(columns: &[Column], at: usize) -> String {
    let column = &columns[at];
    let before = at.checked_sub(1).map(|before| &columns[before]);
    let is_said = before.is_some_and(|before| {
        before.unit == column.unit && before.group == column.group && before.form != Form::Scaled
    });
    if column.unit.is_empty() || column.form == Form::Scaled || is_said {
        return column.label.clone();
    }
    format!("{}, {}", column.label, column.unit)
}

/// What stands behind a name where its figures were not measured.
pub const fn marked_basis(basis: Basis) -> &'static str {
    match basis {
        Basis::Measured => "",
        Basis::Simulated => " (simulated)",
        Basis::Predicted => " (predicted)",
        Basis::Imported => " (imported)",
    }
}

/// A figure with its unit, and on which side the target's own lies where that is known.
pub fn value(one: &Value) -> String {
    format!("{}{}", bound(one.bound), quantity(one.value, &one.unit))
}

const fn bound(bound: Option<Bound>) -> &'static str {
    match bound {
        Some(Bound::AtLeast) => "at least ",
        Some(Bound::AtMost) => "at most ",
        None => "",
    }
}

/// The interval's ends: `570 to 610`; `None` unless both are known.
pub fn ends_of(one: &Value) -> Option<String> {
    ends(one.value, one.low?, one.high?)
}

pub use plimsoll_measurement::foreign::plain;

/// A length of time: `2 min 05 s`, `0 s`.
pub fn seconds(length: f64) -> String {
    if !length.is_finite() {
        UNKNOWN.to_owned()
    } else if length > 0.0 {
        format_seconds(length)
    } else {
        "0 s".to_owned()
    }
}

/// `read_rate` as a heading: `Read rate`.
pub fn title(name_of: &str) -> String {
    capital(&name(name_of))
}

/// `read_rate` within a sentence: `read rate`.
pub fn name(name: &str) -> String {
    let words: Vec<String> = plain(name).split('_').map(spelled).collect();
    words.join(" ")
}

/// The text with a capital at its beginning.
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Abbreviations in capitals, as people write them.
fn spelled(word: &str) -> String {
    if ["cpu", "dtu", "io", "iops"].contains(&word) { word.to_uppercase() } else { word.to_owned() }
}

/// A number for people; `None` if it is not finite.
pub fn number(value: f64) -> Option<String> {
    value.is_finite().then(|| if value.abs() < UNREADABLE { format_significant(value) } else { format!("{value:.2e}") })
}

/// A gain in percent, in tenths as its evidence has it; `None` if it is not finite.
pub fn gain(percent: f64) -> Option<String> {
    if percent.abs() < UNREADABLE { Some(tenths(percent)) } else { number(percent) }
}

/// From here on a number has more digits than anybody reads.
const UNREADABLE: f64 = 1e15;

/// A count, every digit of it.
pub fn whole(count: u64) -> String {
    if count < 100 { count.to_string() } else { format_significant(count as f64) }
}

/// A share in percent: `98.9 %`.
pub fn percent(value: f64) -> Option<String> {
    number(value).map(|text| format!("{text} %"))
}

/// A difference in percent, with its sign: `+1.20 %`. Hundredths of a percent are the finest that is shown.
pub fn signed_percent(value: f64) -> Option<String> {
    let hundredths = (value * 100.0).round() / 100.0;
    match hundredths {
        0.0 => Some("±0 %".to_owned()),
        small if small.abs() < 1.0 => Some(format!("{small:+.2} %")),
        _ => percent(value).map(|text| if value > 0.0 { format!("+{text}") } else { text }),
    }
}

/// A number with its unit.
pub fn quantity(amount: f64, unit: &str) -> String {
    number(amount).map_or_else(|| UNKNOWN.to_owned(), |text| format!("{text} {}", plain(unit)))
}

/// A number without a fraction.
pub fn rounded(value: f64) -> String {
    quantity(value.round(), "").trim_end().to_owned()
}

/// A size of a file, or of several: as it was given, since limits change at exact sizes.
pub fn gigabytes(gb: f64) -> String {
    format!("{} GB", format_given(gb))
}

/// Two ends around a value: `570 to 610`, or `±<0.1` where both are shown as the value is: less than its last place.
pub fn ends(value: f64, low: f64, high: f64) -> Option<String> {
    let texts = [number(low)?, number(high)?];
    let decimals = |text: &String| text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let is_plain = texts.iter().all(|text| !text.contains('e'));
    // Nothing but zero itself is shown as 0.
    if texts[0] == texts[1] && number(value).as_ref() == Some(&texts[0]) && texts[0] != "0" && is_plain {
        return Some(format!("±<{:.*}", decimals(&texts[0]), 0.1_f64.powi(decimals(&texts[0]) as i32)));
    }
    // The finer end says how many decimals both have, unless the ends are of different magnitudes.
    let (coarser, finer) = (decimals(&texts[0]).min(decimals(&texts[1])), decimals(&texts[0]).max(decimals(&texts[1])));
    let finer = (is_plain && finer - coarser <= 1).then_some(finer);
    let [low, high] = finer.map_or(texts, |finer| [low, high].map(|end| format_decimals(end, finer)));
    Some(format!("{low} to {high}"))
}

/// A confidence of 0.95 as `95 %`.
pub fn confidence(share: f64) -> String {
    if !(0.0..=1.0).contains(&share) {
        return format!("{UNKNOWN} %");
    }
    let text = format!("{:.1}", share * 100.0);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

/// Names in a sentence: the first ones, and how many more there are.
pub fn listed<T: AsRef<str>>(names: &[T], most: usize) -> String {
    let named: Vec<&str> = names.iter().take(most).map(AsRef::as_ref).collect();
    match names.len().checked_sub(most) {
        Some(more @ 1..) => format!("{} and {more} more", named.join(", ")),
        _ => named.join(", "),
    }
}

/// `1 repetition`, `3 repetitions`.
pub fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// An RFC 3339 moment in UTC as `2026-03-01 10:00:00 UTC`; anything else as it stands.
pub fn moment(timestamp: &str) -> String {
    let shaped = timestamp.is_ascii() && timestamp.len() >= 20 && timestamp.as_bytes()[10] == b'T';
    if shaped && timestamp.ends_with('Z') {
        return plain(&format!("{} {} UTC", &timestamp[..10], &timestamp[11..19]));
    }
    plain(timestamp)
}

/// The same to the minute and without the zone, for columns that name it.
pub fn minute(timestamp: &str) -> String {
    let moment = moment(timestamp);
    moment.strip_suffix(" UTC").and_then(|text| text.get(..16)).map_or_else(|| moment.clone(), str::to_owned)
}

/// Flags, their signs wherever colour would not be enough, and their meanings for legends and tooltips.
const FLAGS: [(&str, &str, &str); 5] = [
    ("plan-change", "◆", "the time does not grow with the square of N: the plan may have changed"),
    ("low-cpu", "▽", "the CPUs were not fully used"),
    ("short", "∘", "too short to compare: other times weigh more than CPU"),
    ("source-read", "□", "the source had to be read from storage while it was written"),
    ("goal-missed", "✕", "the goal of the search was not met"),
];

/// The sign of a flag.
pub fn flag_symbol(flag: &str) -> &'static str {
    FLAGS.iter().find(|(name, ..)| *name == flag).map_or("†", |(_, sign, _)| sign)
}

/// What a flag means; the flag itself where nobody knows.
pub fn flag_meaning(flag: &str) -> String {
    FLAGS.iter().find(|(name, ..)| *name == flag).map_or_else(|| plain(flag), |(.., meaning)| (*meaning).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_outside_cannot_drive_a_terminal() {
        assert_eq!(plain("a\u{1b}[31mb\nc\u{202e}d"), "a\u{fffd}[31mb c\u{fffd}d");
    }

    #[test]
    fn moments_are_shortened_only_when_they_are_utc() {
        assert_eq!(moment("2026-03-01T10:00:00.25Z"), "2026-03-01 10:00:00 UTC");
        assert_eq!(moment("2026-03-01T10:00:00+02:00"), "2026-03-01T10:00:00+02:00");
        assert_eq!(moment(""), "");
    }

    #[test]
    fn differences_are_no_finer_than_they_mean() {
        let shown = [0.00998, 0.002, -0.5, 2.0, 119.4].map(|value| signed_percent(value).unwrap());
        assert_eq!(shown, ["+0.01 %", "±0 %", "-0.50 %", "+2.00 %", "+119 %"]);
    }

    #[test]
    fn ends_that_are_shown_as_the_value_are_said_to_be_nearer_than_its_last_place() {
        assert_eq!(ends(12.3, 12.28, 12.32).unwrap(), "±<0.1");
        assert_eq!(ends(12.3, 12.28, 12.38).unwrap(), "12.3 to 12.4");
        assert_eq!(ends(1.0, 0.998, 1.01).unwrap(), "0.998 to 1.010", "both ends have the same decimals");
        assert_eq!(ends(500.0, 95.3, 1_234.0).unwrap(), "95.3 to 1,234.0");
        assert_eq!(ends(8.0, 0.0, 24.2).unwrap(), "0.0 to 24.2");
        assert_eq!(ends(1_288.0, 0.439, 3_777_862.659).unwrap(), "0.439 to 3,777,863");
        assert_eq!(ends(1_234.0, 1_233.9, 1_234.1).unwrap(), "±<1");
        assert_eq!(ends(0.0456, 0.0456, 0.0456).unwrap(), "±<0.0001");
        // A value outside of its ends is no exact one.
        assert_eq!(ends(15.0, 12.3, 12.3).unwrap(), "12.3 to 12.3");
    }

    #[test]
    fn what_is_not_finite_is_unknown() {
        assert_eq!(quantity(f64::NAN, "MB"), UNKNOWN);
        assert_eq!(percent(f64::INFINITY), None);
        assert_eq!(number(-1e300).unwrap(), "-1.00e300");
        assert_eq!(confidence(0.95), "95 %");
        assert_eq!(confidence(0.999), "99.9 %");
    }
}
