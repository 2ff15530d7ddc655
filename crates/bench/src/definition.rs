//! Test definitions: TOML that says what a test does, with which parameters. The built-in ones are embedded; a user's own
//! file is read by the same code. What is wrong in one is said with file, line and the nearest right word.

mod custom;
mod draws;
mod group;
mod reader;

use plimsoll_measurement::units;
use plimsoll_measurement::vocabulary::Vocabulary as _;
use toml::de::DeTable;
use xxhash_rust::xxh3::xxh3_64;

pub use self::custom::REQUEST_KEYS;
pub use self::group::{Group, find_group, groups};
pub use self::reader::DefinitionError;
use self::reader::{Read, Reader, entries, find, float};
use crate::parameters::{Known, Parameters, hint};
use crate::step::kind::{Kinds, Steps};
use crate::step::kinds::BUILT_IN;
use crate::workload::custom::CustomWorkload;
use crate::workload::mix::{Kind, Mix};

/// The built-in definitions: file name and text, in the order in which they are listed.
const BUILTIN: &[(&str, &str)] = &[
    ("read-scan.toml", include_str!("../definitions/read-scan.toml")),
    ("read-scan-weak.toml", include_str!("../definitions/read-scan-weak.toml")),
    ("client-read.toml", include_str!("../definitions/client-read.toml")),
    ("probe.toml", include_str!("../definitions/probe.toml")),
    ("write-chunk.toml", include_str!("../definitions/write-chunk.toml")),
    ("cpu-join.toml", include_str!("../definitions/cpu-join.toml")),
    ("memory.toml", include_str!("../definitions/memory.toml")),
    ("retest.toml", include_str!("../definitions/retest.toml")),
    ("insert.toml", include_str!("../definitions/insert.toml")),
    ("insert-delete.toml", include_str!("../definitions/insert-delete.toml")),
    ("direct-select.toml", include_str!("../definitions/direct-select.toml")),
    ("indirect-select.toml", include_str!("../definitions/indirect-select.toml")),
    ("update.toml", include_str!("../definitions/update.toml")),
    ("mix-a.toml", include_str!("../definitions/mix-a.toml")),
    ("mix-b.toml", include_str!("../definitions/mix-b.toml")),
    ("bulk-load.toml", include_str!("../definitions/bulk-load.toml")),
    ("cached-read.toml", include_str!("../definitions/cached-read.toml")),
    ("scale.toml", include_str!("../definitions/scale.toml")),
    ("insert-latency.toml", include_str!("../definitions/insert-latency.toml")),
    ("import.toml", include_str!("../definitions/import.toml")),
    ("copy.toml", include_str!("../definitions/copy.toml")),
    ("restore.toml", include_str!("../definitions/restore.toml")),
    ("level-change.toml", include_str!("../definitions/level-change.toml")),
];

/// Every key a definition may have, with a sentence for the documentation.
pub const KEYS: &[(&str, &str)] = &[
    ("name", "Name of the test, as on the command line: letters, digits and hyphens."),
    ("title", "A few words for tables and charts."),
    ("about", "What the test does and why. A text for readers only."),
    (
        "steps",
        "What a repetition does, in order: scan, write, join, memory, requests, commits, import, copy, restore, level-change.",
    ),
    ("repetitions", "Number of repetitions, 1 to 26. They are labelled a, b, c..."),
    (
        "mix",
        "Kinds of requests and their weights: insert, delete, direct-select, indirect-select, update, table-select, bulk-load.",
    ),
    ("request", "Your own requests in place of a mix, each written as [[request]]; see below."),
    ("variables", "Whole numbers that ranges and texts may use, such as scale = 10. `--set scale=100` changes one."),
    ("copies", "Number of copies of each table. '{n}' in a text stands for a copy's number, from 1 on."),
    ("existing", "true: requests read existing tables and write nothing."),
    ("writes", "true: requests also write to existing tables. The run then needs --allow-writes."),
    (
        "setup",
        "statements = [...] to run once before the first repetition. A statement with '{n}' runs for every copy.",
    ),
    ("cleanup", "statements = [...] to run once after the last repetition, even if that failed."),
    ("parameters", "Parameters of the steps, listed below."),
    ("short", "Values that `--short` uses instead, for a first look of about 20 s."),
    (
        "scaled",
        "Values for a target with scaled volumes, such as the lab. They override both; sizes are divided by the scale.",
    ),
];

/// What requests of a definition's own do unless it says otherwise.
const USUAL: &[(&str, &str)] = &[("sessions", "8"), ("duration", "60s")];
/// How long they last in the short form.
const SHORT_DURATION: &str = "20s";
/// Parameters that are no business of requests of a definition's own.
const OF_LOADED_TABLES: [&str; 6] = ["volume", "tables", "cache", "keys", "batch", "at_most"];

/// A test.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    /// Its name.
    pub name: String,
    /// A few words.
    pub title: String,
    /// What it does and why.
    pub about: String,
    /// What a repetition does, in order.
    pub steps: Steps,
    /// Kinds of requests and their weights.
    pub mix: Mix,
    /// Requests of its own, in place of a mix.
    pub own: Option<CustomWorkload>,
    /// How often, unless the user says otherwise.
    pub repetitions: u32,
    /// Its parameters.
    pub parameters: Parameters,
    /// What its short form has in their place.
    pub short: Parameters,
    /// What a target with smaller volumes has in their place.
    pub scaled: Parameters,
    /// The group as part of which it is run.
    pub group: Option<String>,
    /// The TOML text.
    pub text: String,
}

/// The built-in definitions.
///
/// # Panics
/// If one of them is wrong, which a test excludes.
pub fn builtin() -> Vec<Definition> {
    let parse = |(file, text): &(&str, &str)| Definition::parse(file, text).expect("built-in definitions are tested");
    BUILTIN.iter().map(parse).collect()
}

/// Names of the built-in definitions.
pub fn builtin_names() -> Vec<&'static str> {
    BUILTIN.iter().filter_map(|(file, _)| file.strip_suffix(".toml")).collect()
}

/// The built-in definition of that name; the error names the nearest one.
pub fn find_builtin(name: &str) -> Result<Definition, String> {
    builtin()
        .into_iter()
        .find(|definition| definition.name == name)
        .ok_or_else(|| format!("there is no test '{name}', {}", hint(name, &builtin_names(), "none is built in")))
}

impl Definition {
    /// Reads a definition. `file` is only used in errors; a statement may have a text for an engine of any name.
    pub fn parse(file: &str, text: &str) -> Result<Self, DefinitionError> {
        Self::parse_of(BUILT_IN, file, text)
    }

    /// The same, but texts are for these engines and no others.
    pub fn parse_for(file: &str, text: &str, engines: &[&str]) -> Result<Self, DefinitionError> {
        Self::read(Reader { file, text, engines: Some(engines), kinds: BUILT_IN })
    }

    /// The same for engines of any name, of steps of these kinds.
    ///
    /// # Errors
    /// What is wrong, with its line.
    pub fn parse_of(kinds: Kinds, file: &str, text: &str) -> Result<Self, DefinitionError> {
        Self::read(Reader { file, text, engines: None, kinds })
    }

    fn read(reader: Reader<'_>) -> Result<Self, DefinitionError> {
        let text = reader.text;
        let document = DeTable::parse(text).map_err(|error| reader.error(error.span(), error.message()))?;
        reader.definition(document.get_ref())
    }

    /// Reads a value that the user gives by `--set`: of a parameter into `parameters`, or of a variable of this definition.
    ///
    /// # Errors
    /// A sentence that says what would have been right.
    pub fn set(&mut self, parameters: &mut Parameters, name: &str, text: &str) -> Result<(), String> {
        let Some(own) = &mut self.own else { return parameters.set(name, text, &self.steps) };
        if let Some(variable) = own.variables.get_mut(name) {
            *variable = units::parse_count(text).map_err(|error| format!("{name} = {text}: {error}"))?;
            return Ok(());
        }
        if parameters.contains(name) {
            return parameters.set(name, text, &self.steps);
        }
        let known: Vec<&str> =
            own.variables.keys().map(String::as_str).chain(parameters.iter().map(|(name, _)| name)).collect();
        Err(format!("there is no parameter or variable '{name}', {}", hint(name, &known, "none is known")))
    }

    /// True if a parameter that the definition has means something to it: batches are those of bulk loads.
    pub fn heeds(&self, name: &str) -> bool {
        name != "batch" || self.mix.kinds().contains(&Kind::BulkLoad)
    }

    /// Whether these parameters can be run together.
    ///
    /// # Errors
    /// A sentence if they contradict each other.
    pub fn check(&self, parameters: &Parameters) -> Result<(), String> {
        self.steps.iter().try_for_each(|step| (step.check)(parameters))
    }

    /// The hash of the text, as the run record keeps it.
    pub fn hash(&self) -> String {
        format!("{:016x}", xxh3_64(self.text.as_bytes()))
    }

    /// The parameters of the full or the short form.
    pub fn parameters(&self, short: bool) -> Parameters {
        let mut parameters = self.parameters.clone();
        if short {
            parameters.overlay(&self.short);
        }
        parameters
    }

    /// The same for a target of this scale. Sizes are still those of full volumes.
    pub fn parameters_at(&self, short: bool, scale: u64) -> Parameters {
        let mut parameters = self.parameters(short);
        if scale > 1 {
            parameters.overlay(&self.scaled);
        }
        parameters
    }
}

impl Reader<'_> {
    fn definition(&self, document: &DeTable<'_>) -> Read<Definition> {
        let known: Vec<&str> = KEYS.iter().map(|(key, _)| *key).collect();
        self.known(document, &known, "")?;
        let name = self.string(document, "name")?;
        let steps = self.steps(document)?;
        let own = self.own(document, &steps)?;
        let mut parameters = Parameters::default();
        let known = steps.own();
        let defaults = known.iter().filter_map(|parameter| Some((parameter.name, parameter.default?)));
        let usual = if own.is_some() { USUAL } else { &[] };
        for (name, value) in defaults.chain(usual.iter().copied()) {
            // One of tables that a definition does not load is none of this test.
            if !(own.is_some() && OF_LOADED_TABLES.contains(&name)) {
                parameters.set(name, value, &steps).map_err(|problem| self.error(None, problem))?;
            }
        }
        self.fill(document, "parameters", &steps, &mut parameters)?;
        if own.is_none() {
            self.all_given(&steps, &parameters)?;
        }
        let mut short = Parameters::default();
        if own.is_some() {
            short.set("duration", SHORT_DURATION, &steps).map_err(|problem| self.error(None, problem))?;
        }
        self.fill(document, "short", &steps, &mut short)?;
        let mut scaled = Parameters::default();
        self.fill(document, "scaled", &steps, &mut scaled)?;
        let text = |key: &str| {
            let is_given = find(document, key).is_some();
            if is_given || own.is_none() { self.string(document, key) } else { Ok(name.clone()) }
        };
        Ok(Definition {
            title: text("title")?,
            about: text("about")?.trim().to_owned(),
            repetitions: self.repetitions(document)?,
            mix: self.mix(document, &steps, own.is_some())?,
            name,
            own,
            steps,
            parameters,
            short,
            scaled,
            group: None,
            text: self.text.to_owned(),
        })
    }

    /// Without a mix the requests are the definition's own.
    fn mix(&self, document: &DeTable<'_>, steps: &Steps, own: bool) -> Read<Mix> {
        let found = find(document, "mix");
        let wanted = steps.iter().any(|step| step.makes_requests);
        if own {
            return found.map_or(Ok(Mix::default()), |(_, span, _)| {
                self.fail(Some(span), "a definition has a mix or requests of its own, not both")
            });
        }
        let (span, value) = match found {
            None if wanted => {
                return self.fail(None, "the key 'mix' is missing: which requests are made, how often; or [[request]]");
            }
            None => return Ok(Mix::default()),
            Some((_, span, _)) if !wanted => {
                return self.fail(Some(span), "'mix' belongs to the step 'requests', which is not there");
            }
            Some((_, span, value)) => (span, value),
        };
        let Some(table) = value.get_ref().as_table() else {
            return self.fail(Some(span), "'mix' must be a table such as [mix] insert = 20");
        };
        let mut weights = Vec::new();
        for (name, span, value) in entries(table) {
            let kind = Kind::named(name).ok_or_else(|| {
                let hint = hint(name, &Kind::ALL.iter().map(|kind| kind.name()).collect::<Vec<_>>(), "there is none");
                self.error(Some(span.clone()), format!("unknown request '{name}', {hint}"))
            })?;
            let number = float(value);
            let number = number.ok_or_else(|| self.error(Some(span), format!("the weight of {name} is no number")))?;
            weights.push((kind, number));
        }
        // In the order of the file.
        Mix::new(weights).map_err(|problem| self.error(Some(span), problem))
    }

    fn steps(&self, document: &DeTable<'_>) -> Read<Steps> {
        let Some((_, key_span, value)) = find(document, "steps") else {
            return self.fail(None, "the key 'steps' is missing");
        };
        let list = value.get_ref().as_array().filter(|list| !list.is_empty());
        let list = list.ok_or_else(|| self.error(Some(key_span), "'steps' must be a list such as [\"scan\"]"))?;
        let mut steps = Vec::new();
        for item in list {
            let word = item.get_ref().as_str().unwrap_or_default();
            let step = self.kinds.0.iter().copied().find(|step| step.name == word).ok_or_else(|| {
                let names: Vec<&str> = self.kinds.0.iter().map(|step| step.name).collect();
                self.error(Some(item.span()), format!("unknown step '{word}', {}", hint(word, &names, "there is none")))
            })?;
            if steps.contains(&step) {
                return self.fail(Some(item.span()), format!("the step '{word}' stands there twice"));
            }
            steps.push(step);
        }
        Ok(Steps { steps, kinds: self.kinds })
    }

    fn fill(&self, document: &DeTable<'_>, section: &str, steps: &Steps, parameters: &mut Parameters) -> Read<()> {
        let Some((_, span, value)) = find(document, section) else { return Ok(()) };
        let table = self.table(span, value, section)?;
        let is_own = find(document, "request").is_some();
        for (key, key_span, value) in entries(table) {
            if is_own && OF_LOADED_TABLES.contains(&key) {
                let problem = format!("'{key}' is of tables that a test loads, and requests of your own have none");
                return self.fail(Some(key_span), problem);
            }
            let text = self.text(key, value)?;
            parameters.set(key, &text, steps).map_err(|problem| self.error(Some(key_span), problem))?;
        }
        Ok(())
    }

    /// A parameter without a value would be 0, which means something else.
    fn all_given(&self, steps: &Steps, parameters: &Parameters) -> Read<()> {
        match steps.own().into_iter().find(|parameter| !parameters.contains(parameter.name)) {
            None => Ok(()),
            Some(parameter) => {
                self.fail(None, format!("[parameters] lacks '{}' ({})", parameter.name, parameter.kind.describe()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GOOD: &str = include_str!("../definitions/read-scan.toml");

    fn problem(text: &str) -> String {
        Definition::parse("my.toml", text).unwrap_err().to_string()
    }

    #[test]
    fn the_built_in_definitions_are_right_and_named_like_their_files() {
        let names: Vec<String> = builtin().into_iter().map(|definition| definition.name).collect();
        assert_eq!(names, builtin_names());
    }

    #[test]
    fn what_is_wrong_is_said_with_line_and_suggestion() {
        let cases = [
            (
                GOOD.replace("repetitions", "repetition"),
                "my.toml:7: unknown key 'repetition', did you mean 'repetitions'?",
            ),
            (
                GOOD.replace("tables = 0", "table = 0"),
                "my.toml:12: there is no parameter 'table', did you mean 'tables'?",
            ),
            (GOOD.replace("\"2GiB\"", "0"), "my.toml:10: volume = 0: the value must lie between 1.00 MB and"),
            (GOOD.replace("\"2GiB\"", "\"2 apples\""), "my.toml:10: volume = 2 apples: unknown unit 'apples'"),
            (GOOD.replace("seed = 1", "rows = 1"), "my.toml:15: this test does not use parameter 'rows'"),
            (GOOD.replace("\"scan\"", "\"scna\""), "my.toml:6: unknown step 'scna', did you mean 'scan'?"),
            (GOOD.replace("\"cold\"", "\"tepid\""), "my.toml:14: cache = tepid: the value must be one of cold, warm"),
            (GOOD.replace("repetitions = 3", "repetitions = 0"), "my.toml:7: 'repetitions' must be a whole number"),
            (GOOD.replace("tables = 0\n", ""), "my.toml:1: [parameters] lacks 'tables'"),
            (GOOD.replace("name = \"read-scan\"", "name = \"Read Scan\""), "my.toml:1: 'name' must not be empty"),
            (GOOD.replace("[parameters]", "[parameters"), "my.toml:9: "),
            (String::new(), "my.toml:1: the key 'name' is missing"),
        ];
        for (text, expected) in cases {
            let problem = problem(&text);
            assert!(problem.starts_with(expected), "{problem}\nexpected {expected}");
        }
    }

    #[test]
    fn the_short_form_replaces_only_what_it_names() {
        let definition = find_builtin("read-scan").unwrap();
        assert_eq!(definition.parameters(true).bytes("volume"), 200 << 20);
        assert_eq!(definition.parameters(true).choice("cache"), "cold");
        assert_eq!(definition.parameters(false).bytes("volume"), 2 << 30);
        let scaled = definition.parameters_at(true, 64);
        assert_eq!((scaled.bytes("volume"), scaled.choice("cache")), (36 << 30, "cold"));
        assert_eq!(definition.parameters_at(true, 1), definition.parameters(true));
        assert!(find_builtin("read-scam").unwrap_err().contains("did you mean 'read-scan'"));
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in "\\PC{0,200}", cut in 0_usize..400) {
            let _ = Definition::parse("x", &text);
            let cut = (0..=cut.min(GOOD.len())).rev().find(|at| GOOD.is_char_boundary(*at)).unwrap_or(0);
            let _ = Definition::parse("x", &format!("{}{text}{}", &GOOD[..cut], &GOOD[cut..]));
        }
    }
}
