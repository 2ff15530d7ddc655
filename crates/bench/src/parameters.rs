//! The parameters of tests: one table that definitions, `--set` and the documentation all read.

mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use plimsoll_engine::{Error, ErrorKind};
use plimsoll_measurement::units;

pub use self::table::PARAMETERS;
use crate::step::{Step, scan};

const MINUTE: Duration = Duration::from_mins(1);

/// A parameter that a test may have.
#[derive(Debug)]
pub struct Parameter {
    /// Its key in a definition and in `--set`.
    pub name: &'static str,
    /// What values it takes.
    pub kind: Kind,
    /// One sentence.
    pub about: &'static str,
    /// True for a volume: it is divided by the scale of a target whose volumes are.
    pub scales: bool,
    /// The steps that read it.
    pub steps: &'static [Step],
    /// Its value where a definition gives none; one without a default has to be given.
    pub default: Option<&'static str>,
}

/// The values a parameter takes, inclusive.
#[derive(Debug, Clone, Copy)]
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
    /// A name of somebody else's choice, or none.
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

/// The parameters of one test, by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Parameters {
    values: BTreeMap<&'static str, ParameterValue>,
    /// Those that somebody chose for this run.
    by_hand: BTreeSet<&'static str>,
}

impl Parameters {
    /// Reads `text` as the value of `name` for a test with these steps, and keeps it.
    ///
    /// # Errors
    /// A sentence that says what would have been right: for an unknown name the nearest one, for a value its range.
    pub fn set(&mut self, name: &str, text: &str, steps: &[Step]) -> Result<(), String> {
        let parameter = find(name, steps)?;
        let value = parameter.kind.parse(text).map_err(|why| format!("{name} = {text}: {why}"))?;
        self.values.insert(parameter.name, value);
        Ok(())
    }

    /// The same with a value that somebody chose for this run: it is taken as it is or refused, never fitted to a target.
    ///
    /// # Errors
    /// Those of [`Self::set`].
    pub fn set_by_hand(&mut self, name: &str, text: &str, steps: &[Step]) -> Result<(), String> {
        self.set(name, text, steps)?;
        self.by_hand.insert(find(name, steps)?.name);
        // A time that was chosen is meant as it is said.
        if name == "duration" && self.contains("shrink") && !self.by_hand.contains("shrink") {
            self.values.insert("shrink", ParameterValue::Choice("volumes".to_owned()));
        }
        Ok(())
    }

    /// A size in bytes; 0 if the test has none.
    pub fn bytes(&self, name: &str) -> u64 {
        match self.values.get(name) {
            Some(ParameterValue::Bytes(value)) => *value,
            _ => 0,
        }
    }

    /// A number, the first if there are several; 0 if the test has none.
    pub fn count(&self, name: &str) -> u64 {
        match self.values.get(name) {
            Some(ParameterValue::Count(value) | ParameterValue::Ramp(value, _)) => *value,
            Some(ParameterValue::Levels(levels)) => levels.first().copied().unwrap_or(0),
            _ => 0,
        }
    }

    /// The value of a parameter as it was read.
    pub fn value(&self, name: &str) -> Option<&ParameterValue> {
        self.values.get(name)
    }

    /// A time; zero if the test has none.
    pub fn duration(&self, name: &str) -> Duration {
        match self.values.get(name) {
            Some(ParameterValue::Duration(value)) => *value,
            _ => Duration::ZERO,
        }
    }

    /// A word; empty if the test has none.
    pub fn choice(&self, name: &str) -> &str {
        match self.values.get(name) {
            Some(ParameterValue::Choice(word)) => word,
            _ => "",
        }
    }

    /// Sizes in bytes; none if the test has none.
    pub fn sizes(&self, name: &str) -> &[u64] {
        match self.values.get(name) {
            Some(ParameterValue::Sizes(sizes)) => sizes,
            _ => &[],
        }
    }

    /// The same parameters but for a size.
    pub(crate) fn with_bytes(mut self, name: &'static str, bytes: u64) -> Self {
        self.values.insert(name, ParameterValue::Bytes(bytes));
        self
    }

    /// Puts the values of others in place of these.
    pub fn overlay(&mut self, others: &Self) {
        self.values.extend(others.values.iter().map(|(name, value)| (*name, value.clone())));
    }

    /// The parameters for a target whose volumes are divided by `scale`: sizes are divided too, as far as each allows, and
    /// spread over as many tables as the whole volume.
    #[must_use]
    pub fn scaled(&self, scale: u64) -> Self {
        let mut scaled = self.clone();
        if scale == 1 {
            return scaled;
        }
        if self.contains("tables") {
            scaled.values.insert("tables", ParameterValue::Count(scan::tables(self)));
        }
        for parameter in PARAMETERS.iter().filter(|parameter| parameter.scales) {
            match (parameter.kind, scaled.values.get_mut(parameter.name)) {
                (Kind::Bytes(least, _), Some(ParameterValue::Bytes(bytes))) => *bytes = (*bytes / scale).max(least),
                (Kind::Sizes(least, _), Some(ParameterValue::Sizes(sizes))) => {
                    for bytes in sizes.iter_mut() {
                        *bytes = (*bytes / scale).max(least);
                    }
                    sizes.dedup();
                }
                _ => {}
            }
        }
        if self.choice("shrink") == "all"
            && let Some(ParameterValue::Duration(duration)) = scaled.values.get_mut("duration")
        {
            let shortest = Duration::from_secs(1);
            *duration = (*duration / u32::try_from(scale).unwrap_or(u32::MAX)).max(shortest);
        }
        scaled
    }

    /// # Errors
    /// If sizes of a series, or a size that was set by hand, would become smaller than they may be on a target whose volumes
    /// are divided by `scale`: two of a series could become one.
    pub(crate) fn check_scale(&self, scale: u64) -> plimsoll_engine::Result<()> {
        for parameter in PARAMETERS.iter().filter(|parameter| scale > 1 && parameter.scales) {
            let (least, sizes) = match (parameter.kind, self.values.get(parameter.name)) {
                (Kind::Sizes(least, _), Some(ParameterValue::Sizes(sizes))) => (least, sizes.as_slice()),
                (Kind::Bytes(least, _), Some(ParameterValue::Bytes(size))) if self.by_hand.contains(parameter.name) => {
                    (least, std::slice::from_ref(size))
                }
                _ => continue,
            };
            if let Some(small) = sizes.iter().find(|bytes| **bytes / scale < least) {
                let [small, least] = [*small, least.saturating_mul(scale)].map(units::format_bytes);
                let message = format!("{}: {small} is less than {least}, the least on this target", parameter.name);
                return Err(Error::new(ErrorKind::Usage, message)
                    .hint(format!("its volumes are divided by {scale}; give larger sizes")));
            }
        }
        Ok(())
    }

    /// All of them in order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &ParameterValue)> {
        self.values.iter().map(|(name, value)| (*name, value))
    }

    /// True if `name` has a value.
    pub fn contains(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }
}

fn find(name: &str, steps: &[Step]) -> Result<&'static Parameter, String> {
    let known = || PARAMETERS.iter().filter(|parameter| parameter.steps.iter().any(|step| steps.contains(step)));
    known().find(|parameter| parameter.name == name).ok_or_else(|| {
        let names: Vec<&str> = known().map(|parameter| parameter.name).collect();
        let other_test = PARAMETERS.iter().any(|parameter| parameter.name == name);
        let problem = if other_test { "this test does not use" } else { "there is no" };
        match nearest(name, &names) {
            Some(near) => format!("{problem} parameter '{name}', did you mean '{near}'?"),
            None => format!("{problem} parameter '{name}', known are {}", names.join(", ")),
        }
    })
}

/// The candidate that is most like `word`, if one is like it at all.
pub fn nearest<'a>(word: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let scored = candidates.iter().map(|candidate| (strsim::jaro_winkler(word, candidate), *candidate));
    scored.filter(|(score, _)| *score > 0.75).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, candidate)| candidate)
}

impl Kind {
    /// Reads a value and holds it against the range.
    fn parse(self, text: &str) -> Result<ParameterValue, String> {
        let range = |low: String, high: String| format!("the value must lie between {low} and {high}");
        match self {
            Self::Bytes(low, high) => match units::parse_bytes(text).map_err(|error| error.to_string())? {
                value if (low..=high).contains(&value) => Ok(ParameterValue::Bytes(value)),
                _ => Err(range(units::format_bytes(low), units::format_bytes(high))),
            },
            Self::Count(low, high) => match units::parse_count(text).map_err(|error| error.to_string())? {
                value if (low..=high).contains(&value) => Ok(ParameterValue::Count(value)),
                _ => Err(range(low.to_string(), high.to_string())),
            },
            Self::Duration(low, high) => match units::parse_duration(text).map_err(|error| error.to_string())? {
                value if (low..=high).contains(&value) => Ok(ParameterValue::Duration(value)),
                _ => Err(range(format!("{low:?}"), format!("{} min", high.as_secs() / MINUTE.as_secs()))),
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

/// Levels that a run tries at most: each takes as long as the duration says.
const MOST_LEVELS: usize = 100;

/// Sizes that a run tries at most: a database is kept for each.
const MOST_SIZES: usize = 12;

/// Longest name that somebody else may have chosen.
const MOST_CHARACTERS: usize = 128;

/// Reads `64MiB, 256MiB`, or nothing.
fn sizes(text: &str, low: u64, high: u64) -> Result<ParameterValue, String> {
    let texts = text.split(',').map(str::trim).filter(|_| !text.trim().is_empty());
    let sizes = texts.map(|text| match Kind::Bytes(low, high).parse(text)? {
        ParameterValue::Bytes(bytes) => Ok(bytes),
        _ => Err("the value must be a size".to_owned()),
    });
    let mut sizes = sizes.collect::<Result<Vec<_>, String>>()?;
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
        let range = || format!("the value must lie between {low} and {high}");
        if (low..=high).contains(&value) { Ok(value) } else { Err(range()) }
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
    use crate::definition::find_builtin;

    #[test]
    fn levels_are_one_or_several_or_a_ramp() {
        use super::{ParameterValue, levels};
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
        use super::{ParameterValue, sizes};
        let read = |text| sizes(text, 1 << 20, 1 << 40);
        assert_eq!(read(""), Ok(ParameterValue::Sizes(Vec::new())));
        assert_eq!(read("2MiB, 1MiB,2MiB"), Ok(ParameterValue::Sizes(vec![1 << 20, 2 << 20])));
        for bad in [",", "1MiB,", "1KiB", "x", &"1MiB,".repeat(20)] {
            assert!(read(bad).is_err(), "{bad}");
        }
        let mut import = find_builtin("import").unwrap().parameters(false);
        import.set("sizes", "64MiB,128MiB,1GiB", &[crate::step::Step::Import]).unwrap();
        assert_eq!(import.scaled(64).sizes("sizes"), [1 << 20, 2 << 20, 16 << 20]);
        import.check_scale(64).unwrap();
        let error = import.check_scale(128).unwrap_err();
        assert_eq!(error.message, "sizes: 64.0 MB is less than 128 MB, the least on this target");
    }

    #[test]
    fn sizes_shrink_as_far_as_they_may_and_nothing_else_does() {
        let scan = find_builtin("read-scan").unwrap().parameters_at(false, 64);
        let scaled = scan.scaled(64);
        assert_eq!(
            (scaled.bytes("volume"), scaled.count("tables")),
            ((36 << 30) / 64, 36),
            "tables of the full volume"
        );
        assert_eq!((scaled.choice("row"), scaled.count("seed")), ("410", 1));
        let scale = find_builtin("scale").unwrap();
        let seconds = |short| scale.parameters_at(short, 64).scaled(64).duration("duration").as_secs_f64();
        assert!((seconds(false) - 112.5).abs() < 1e-9 && (seconds(true) - 20.0).abs() < 1e-9);
        assert_eq!(scan.scaled(1), scan);
        let write = find_builtin("write-chunk").unwrap().parameters_at(false, 1024).scaled(1024);
        assert_eq!((write.bytes("chunk"), write.bytes("source")), (102_400, 1 << 14), "not below what is allowed");
    }

    #[test]
    fn what_was_set_by_hand_is_kept_or_refused() {
        let select = find_builtin("direct-select").unwrap();
        let seconds = |sets: &[(&str, &str)]| {
            let mut parameters = select.parameters_at(false, 64);
            for (name, value) in sets {
                parameters.set_by_hand(name, value, &select.steps).unwrap();
            }
            parameters.scaled(64).duration("duration").as_secs_f64()
        };
        assert!((seconds(&[]) - 1800.0 / 64.0).abs() < 1e-9);
        assert!((seconds(&[("duration", "30s")]) - 30.0).abs() < 1e-9);
        // Who says so as well gets it, in either order.
        assert!((seconds(&[("duration", "64s"), ("shrink", "all")]) - 1.0).abs() < 1e-9);
        assert!((seconds(&[("shrink", "all"), ("duration", "64s")]) - 1.0).abs() < 1e-9);
        let checked = |volume: &str, scale: u64| {
            let mut parameters = select.parameters_at(false, scale);
            parameters.set_by_hand("volume", volume, &select.steps).unwrap();
            parameters.check_scale(scale).map_err(|error| error.message)
        };
        assert_eq!(checked("20MiB", 64).unwrap_err(), "volume: 20.0 MB is less than 64.0 MB, the least on this target");
        assert_eq!((checked("64MiB", 64), checked("1MiB", 1)), (Ok(()), Ok(())));
    }
}
