//! The parameters of tests. Each is declared once, by the kind of step that knows it or among the [`shared`] ones; definitions, `--set`
//! and the documentation read the declarations.

mod kind;
pub mod shared;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use plimsoll_engine::{Error, ErrorKind};
use plimsoll_measurement::units;

pub use self::kind::{Kind, ParameterValue};

/// A parameter that a test may have.
#[derive(Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its key in a definition and in `--set`.
    pub name: &'static str,
    /// What values it takes.
    pub kind: Kind,
    /// One sentence.
    pub about: &'static str,
    /// True for a volume: it is divided by the scale of the target.
    pub scales: bool,
    /// Its value where a definition gives none; one without a default has to be given.
    pub default: Option<&'static str>,
    /// What it was called before, and words for values that have another one now.
    pub formerly: Option<(&'static str, &'static [[&'static str; 2]])>,
}

impl Parameter {
    /// One that has to be given.
    pub const fn new(name: &'static str, kind: Kind, about: &'static str) -> Self {
        Self { name, kind, about, scales: false, default: None, formerly: None }
    }

    /// One that is divided by a target's scale.
    #[must_use]
    pub const fn scaling(self) -> Self {
        Self { scales: true, ..self }
    }

    /// One with a value where none is given.
    #[must_use]
    pub const fn or(self, default: &'static str) -> Self {
        Self { default: Some(default), ..self }
    }

    /// One that had another name, and perhaps other words for its values: `[old, new]`.
    #[must_use]
    pub const fn formerly(self, name: &'static str, words: &'static [[&'static str; 2]]) -> Self {
        Self { formerly: Some((name, words)), ..self }
    }

    fn is(&self, name: &str) -> bool {
        self.name == name || self.formerly.is_some_and(|(old, _)| old == name)
    }

    /// A value as it was read from a text, under either name.
    fn read(&self, name: &str, text: &str) -> Result<ParameterValue, String> {
        let words = self.formerly.map_or(&[][..], |(_, words)| words);
        let text = words.iter().find(|[old, _]| *old == text).map_or(text, |[_, new]| new);
        self.kind.parse(text).map_err(|why| format!("{name} = {text}: {why}"))
    }

    /// The value in a run's record, which an older release may have written.
    pub fn recorded(&self, parameters: &BTreeMap<String, serde_json::Value>) -> Option<serde_json::Value> {
        let of_old = || {
            let (name, words) = self.formerly?;
            let value = parameters.get(name)?;
            let word = words.iter().find(|[old, _]| value == old);
            Some(word.map_or_else(|| value.clone(), |[_, new]| (*new).into()))
        };
        parameters.get(self.name).cloned().or_else(of_old)
    }
}

/// Knows parameters.
pub trait Known {
    /// The parameters of a test.
    fn own(&self) -> Vec<&'static Parameter>;

    /// Those of any test.
    fn all(&self) -> Vec<&'static Parameter>;
}

/// The parameters of one test, by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Parameters {
    values: BTreeMap<&'static str, (&'static Parameter, ParameterValue)>,
    /// Those that the user chose for this run.
    by_hand: BTreeSet<&'static str>,
    /// Those that the user gave by an older name.
    by_old_name: BTreeSet<&'static str>,
}

impl Parameters {
    /// Reads `text` as the value of `name` for a test with these steps, and keeps it.
    ///
    /// # Errors
    /// A sentence that says what would have been right: for an unknown name the nearest one, for a value its range.
    pub fn set(&mut self, name: &str, text: &str, known: &impl Known) -> Result<(), String> {
        self.take(name, text, known).map(drop)
    }

    fn take(&mut self, name: &str, text: &str, known: &impl Known) -> Result<&'static str, String> {
        let parameter = find(name, known)?;
        self.values.insert(parameter.name, (parameter, parameter.read(name, text)?));
        if parameter.name != name {
            self.by_old_name.insert(parameter.name);
        }
        Ok(parameter.name)
    }

    /// The same with a value that the user chose for this run: it is taken as it is or refused, never fitted to a target.
    ///
    /// # Errors
    /// Those of [`Self::set`].
    pub fn set_by_hand(&mut self, name: &str, text: &str, known: &impl Known) -> Result<(), String> {
        let own = self.take(name, text, known)?;
        self.by_hand.insert(own);
        // A time that was chosen is meant as it is said.
        if name == "duration"
            && !self.by_hand.contains("scale_duration")
            && let Some((_, scaled)) = self.values.get_mut("scale_duration")
        {
            *scaled = ParameterValue::Choice("no".to_owned());
        }
        Ok(())
    }

    /// A sentence for each parameter that was given by its older name.
    pub fn notices(&self) -> impl Iterator<Item = String> {
        let renamed = self.by_old_name.iter().filter_map(|name| Some((self.values.get(name)?.0.formerly?.0, *name)));
        renamed.map(|(old, new)| {
            format!("the parameter '{old}' is called '{new}' now: use that name, the old one will go")
        })
    }

    /// A size in bytes; 0 if the test has none.
    pub fn bytes(&self, name: &str) -> u64 {
        match self.value(name) {
            Some(ParameterValue::Bytes(value)) => *value,
            _ => 0,
        }
    }

    /// A number, the first if there are several; 0 if the test has none.
    pub fn count(&self, name: &str) -> u64 {
        match self.value(name) {
            Some(ParameterValue::Count(value) | ParameterValue::Ramp(value, _)) => *value,
            Some(ParameterValue::Levels(levels)) => levels.first().copied().unwrap_or(0),
            _ => 0,
        }
    }

    /// The value of a parameter as it was read.
    pub fn value(&self, name: &str) -> Option<&ParameterValue> {
        self.values.get(name).map(|(_, value)| value)
    }

    /// A time; zero if the test has none.
    pub fn duration(&self, name: &str) -> Duration {
        match self.value(name) {
            Some(ParameterValue::Duration(value)) => *value,
            _ => Duration::ZERO,
        }
    }

    /// A word; empty if the test has none.
    pub fn choice(&self, name: &str) -> &str {
        match self.value(name) {
            Some(ParameterValue::Choice(word)) => word,
            _ => "",
        }
    }

    /// Sizes in bytes; none if the test has none.
    pub fn sizes(&self, name: &str) -> &[u64] {
        match self.value(name) {
            Some(ParameterValue::Sizes(sizes)) => sizes,
            _ => &[],
        }
    }

    /// The same parameters but for a size.
    pub(crate) fn with_bytes(mut self, parameter: &'static Parameter, bytes: u64) -> Self {
        self.values.insert(parameter.name, (parameter, ParameterValue::Bytes(bytes)));
        self
    }

    /// How many tables the volume is spread over: as asked for, else one per GB as the seeds had, at least ten.
    pub(crate) fn tables(&self) -> u64 {
        match self.count("tables") {
            0 => self.bytes("volume").div_ceil(1 << 30).max(FEWEST_TABLES),
            tables => tables,
        }
    }

    /// Puts the values of others in place of these.
    pub fn overlay(&mut self, others: &Self) {
        self.values.extend(others.values.clone());
        self.by_old_name.extend(&others.by_old_name);
    }

    /// The parameters for a target with volumes divided by `scale`: sizes are divided too, as far as each allows, and spread
    /// over as many tables as the whole volume.
    #[must_use]
    pub fn scaled(&self, scale: u64) -> Self {
        let mut scaled = self.clone();
        if scale == 1 {
            return scaled;
        }
        if let Some((_, tables)) = scaled.values.get_mut("tables") {
            *tables = ParameterValue::Count(self.tables());
        }
        for (parameter, value) in scaled.values.values_mut().filter(|(parameter, _)| parameter.scales) {
            match (parameter.kind, value) {
                (Kind::Bytes(least, _), ParameterValue::Bytes(bytes)) => *bytes = (*bytes / scale).max(least),
                (Kind::Sizes(least, _), ParameterValue::Sizes(sizes)) => {
                    for bytes in sizes.iter_mut() {
                        *bytes = (*bytes / scale).max(least);
                    }
                    sizes.dedup();
                }
                _ => {}
            }
        }
        if self.choice("scale_duration") == "yes"
            && let Some((_, ParameterValue::Duration(duration))) = scaled.values.get_mut("duration")
        {
            let shortest = Duration::from_secs(1);
            *duration = (*duration / u32::try_from(scale).unwrap_or(u32::MAX)).max(shortest);
        }
        scaled
    }

    /// # Errors
    /// If a size of a series, or one that was set by hand, would be too small on a target with volumes divided by `scale`. Two
    /// of a series could become one.
    pub(crate) fn check_scale(&self, scale: u64) -> plimsoll_engine::Result<()> {
        for (parameter, value) in self.values.values().filter(|(parameter, _)| scale > 1 && parameter.scales) {
            let (least, sizes) = match (parameter.kind, value) {
                (Kind::Sizes(least, _), ParameterValue::Sizes(sizes)) => (least, sizes.as_slice()),
                (Kind::Bytes(least, _), ParameterValue::Bytes(size)) if self.by_hand.contains(parameter.name) => {
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
        self.values.iter().map(|(name, (_, value))| (*name, value))
    }

    /// True if `name`, or what is called so by now, has a value.
    pub fn contains(&self, name: &str) -> bool {
        self.values.values().any(|(parameter, _)| parameter.is(name))
    }
}

/// Fewest points of a repetition: below, a series shows nothing (reference, A19).
const FEWEST_TABLES: u64 = 10;

fn find(name: &str, known: &impl Known) -> Result<&'static Parameter, String> {
    let own = known.own();
    own.iter().find(|parameter| parameter.is(name)).copied().ok_or_else(|| {
        let names: Vec<&str> = own.iter().map(|parameter| parameter.name).collect();
        let other_test = known.all().iter().any(|parameter| parameter.name == name);
        let problem = if other_test { "this test does not use" } else { "there is no" };
        format!("{problem} parameter '{name}', {}", hint(name, &names, "it has none"))
    })
}

/// What was meant by a word that is none of those that are known, for the end of a sentence.
pub fn hint(word: &str, known: &[&str], none: &str) -> String {
    match nearest(word, known) {
        Some(near) => format!("did you mean '{near}'?"),
        None if known.is_empty() => none.to_owned(),
        None => format!("known names: {}", known.join(", ")),
    }
}

/// The candidate that is most like `word`, if one is like it at all.
pub fn nearest<'a>(word: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let scored = candidates.iter().map(|candidate| (strsim::jaro_winkler(word, candidate), *candidate));
    scored.filter(|(score, _)| *score > 0.75).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use crate::definition::find_builtin;

    #[test]
    fn sizes_shrink_each_by_itself_or_not_at_all() {
        let mut import = find_builtin("import").unwrap().parameters(false);
        import.set("sizes", "64MiB,128MiB,1GiB", &find_builtin("import").unwrap().steps).unwrap();
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
    fn older_names_are_read_and_told() {
        let select = find_builtin("direct-select").unwrap();
        let mut parameters = select.parameters_at(false, 64);
        assert_eq!((parameters.choice("scale_duration"), parameters.notices().count()), ("yes", 0));
        parameters.set("shrink", "volumes", &select.steps).unwrap();
        assert_eq!((parameters.choice("scale_duration"), parameters.contains("shrink")), ("no", true));
        let notices: Vec<String> = parameters.notices().collect();
        assert!(notices.len() == 1 && notices[0].contains("'shrink' is called 'scale_duration'"), "{notices:?}");
        assert!(parameters.set("shrink", "some", &select.steps).is_err());
        let (copy, change) = (find_builtin("copy").unwrap(), find_builtin("level-change").unwrap());
        let mut old = copy.parameters(false);
        old.set("way", "backup", &copy.steps).unwrap();
        assert_eq!(old.choice("copy_method"), "backup");
        let mut old = change.parameters(false);
        old.set("give_up", "2s", &change.steps).unwrap();
        assert_eq!(old.duration("timeout").as_secs(), 2);
        // A run of an older release is held against one of now.
        let shrink = copy.steps.kinds.parameters().into_iter().find(|one| one.name == "scale_duration").unwrap();
        let record = [("shrink".to_owned(), "all".into())].into();
        assert_eq!(shrink.recorded(&record), Some("yes".into()));
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
        // Both together scale the duration, in either order.
        assert!((seconds(&[("duration", "64s"), ("scale_duration", "yes")]) - 1.0).abs() < 1e-9);
        assert!((seconds(&[("scale_duration", "yes"), ("duration", "64s")]) - 1.0).abs() < 1e-9);
        let checked = |volume: &str, scale: u64| {
            let mut parameters = select.parameters_at(false, scale);
            parameters.set_by_hand("volume", volume, &select.steps).unwrap();
            parameters.check_scale(scale).map_err(|error| error.message)
        };
        assert_eq!(checked("20MiB", 64).unwrap_err(), "volume: 20.0 MB is less than 64.0 MB, the least on this target");
        assert_eq!((checked("64MiB", 64), checked("1MiB", 1)), (Ok(()), Ok(())));
    }
}
