//! Groups of tests: which belong together, and what they have in common that differs from the tests alone. They are data,
//! like the tests.

use toml::de::{DeTable, DeValue};

use super::reader::{DefinitionError, Entry, Read, Reader, entries};
use super::{BUILTIN, Definition, find_builtin};
use crate::parameters::hint;
use crate::step::kinds::BUILT_IN;

/// The groups, in the order in which they are listed.
const GROUPS: &[(&str, &str)] = &[
    ("quick.toml", include_str!("../../definitions/groups/quick.toml")),
    ("unlimited.toml", include_str!("../../definitions/groups/unlimited.toml")),
    ("limited.toml", include_str!("../../definitions/groups/limited.toml")),
    ("scale.toml", include_str!("../../definitions/groups/scale.toml")),
];

/// Every key a group has.
const KEYS: [&str; 7] = ["name", "title", "about", "tests", "repetitions", "parameters", "test"];

/// Parameters as they are written: names and values.
type Pairs = Vec<(String, String)>;

/// A group of tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Its name, as on the command line.
    pub name: String,
    /// A few words.
    pub title: String,
    /// What it is for.
    pub about: String,
    /// Names of its tests.
    pub tests: Vec<String>,
    /// How often each is repeated.
    pub repetitions: u32,
    /// Parameters of all its tests, as far as they have them.
    pub parameters: Pairs,
    /// Parameters of one, which go before those of all.
    pub of_test: Vec<(String, Pairs)>,
    /// The TOML text.
    pub text: String,
}

/// The groups.
///
/// # Panics
/// If one of them is wrong, which a test excludes.
pub fn groups() -> Vec<Group> {
    let parse = |(file, text): &(&str, &str)| Group::parse(file, text).expect("groups are tested");
    GROUPS.iter().map(parse).collect()
}

/// The group of that name; the error names the nearest one.
pub fn find_group(name: &str) -> Result<Group, String> {
    let groups = groups();
    let names: Vec<&str> = groups.iter().map(|group| group.name.as_str()).collect();
    match groups.iter().find(|group| group.name == name) {
        Some(group) => Ok(group.clone()),
        None => Err(format!("there is no group '{name}', {}", hint(name, &names, "there is none"))),
    }
}

impl Group {
    fn parse(file: &str, text: &str) -> Result<Self, DefinitionError> {
        let reader = Reader { file, text, engines: None, kinds: BUILT_IN };
        let document = DeTable::parse(text).map_err(|error| reader.error(error.span(), error.message()))?;
        reader.group(document.get_ref())
    }

    /// Gives a test what the group says; its short form and its form for scaled targets keep what they say themselves.
    ///
    /// # Errors
    /// A sentence if a built-in test is none of the group, or if it can't take a value.
    pub fn apply(&self, definition: &mut Definition) -> Result<(), String> {
        let is_builtin = find_builtin(&definition.name).is_ok();
        if is_builtin && !self.tests.contains(&definition.name) {
            let (name, group) = (&definition.name, &self.name);
            return Err(format!("{name} is no test of the group '{group}', which has {}", self.tests.join(", ")));
        }
        for (name, value) in &self.parameters {
            if definition.parameters.contains(name) {
                definition.parameters.set(name, value, &definition.steps)?;
            }
        }
        for (_, pairs) in self.of_test.iter().filter(|(test, _)| *test == definition.name) {
            for (name, value) in pairs {
                definition.parameters.set(name, value, &definition.steps)?;
            }
        }
        definition.repetitions = self.repetitions;
        definition.group = Some(self.name.clone());
        Ok(())
    }
}

impl Reader<'_> {
    fn group(&self, document: &DeTable<'_>) -> Read<Group> {
        self.known(document, &KEYS, "group")?;
        let tests = self.list(document, "tests")?.into_iter().map(|item| {
            let name = item
                .get_ref()
                .as_str()
                .filter(|name| BUILTIN.iter().any(|(file, _)| file.strip_suffix(".toml") == Some(name)));
            name.map(str::to_owned)
                .ok_or_else(|| self.error(Some(item.span()), "'tests' names one that is not built in"))
        });
        let mut group = Group {
            name: self.string(document, "name")?,
            title: self.string(document, "title")?,
            about: self.string(document, "about")?.trim().to_owned(),
            tests: tests.collect::<Result<_, _>>()?,
            repetitions: self.repetitions(document)?,
            parameters: Vec::new(),
            of_test: Vec::new(),
            text: self.text.to_owned(),
        };
        for (key, span, value) in entries(document) {
            match key {
                "parameters" => group.parameters = self.pairs(self.table(span, value, key)?)?,
                "test" => {
                    for (name, span, value) in entries(self.table(span, value, key)?) {
                        if !group.tests.iter().any(|test| test == name) {
                            return Err(self.error(Some(span), format!("'{name}' is none of the tests of the group")));
                        }
                        group.of_test.push((name.to_owned(), self.pairs(self.table(span, value, name)?)?));
                    }
                }
                _ => {}
            }
        }
        Ok(group)
    }

    fn pairs(&self, table: &DeTable<'_>) -> Read<Pairs> {
        let pair = |(name, span, value): Entry<'_>| match value.get_ref() {
            DeValue::String(text) => Ok((name.to_owned(), text.to_string())),
            DeValue::Integer(number) => Ok((name.to_owned(), number.as_str().to_owned())),
            _ => Err(self.error(Some(span), format!("'{name}' must be a number or a text"))),
        };
        entries(table).map(pair).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::ParameterValue;

    #[test]
    fn every_test_takes_what_its_groups_say() {
        for group in groups() {
            for test in &group.tests {
                let mut definition = find_builtin(test).unwrap();
                group.apply(&mut definition).unwrap();
                assert_eq!(definition.group.as_ref(), Some(&group.name));
            }
        }
        assert_eq!(groups().len(), 4);
        assert!(find_group("limitd").unwrap_err().contains("did you mean 'limited'"));
    }

    #[test]
    fn the_short_form_goes_before_the_group_and_the_group_before_the_test() {
        let mut insert = find_builtin("insert").unwrap();
        find_group("limited").unwrap().apply(&mut insert).unwrap();
        let (full, short) = (insert.parameters(false), insert.parameters(true));
        let ladder = ParameterValue::Levels(vec![50, 100, 200, 400, 800]);
        assert_eq!((full.value("rate"), short.value("rate")), (Some(&ladder), Some(&ladder)));
        assert_eq!((full.duration("duration").as_secs(), short.duration("duration").as_secs()), (1800, 20));
        assert_eq!((full.bytes("volume"), short.bytes("volume")), (100 << 20, 20 << 20));
        let mut scan = find_builtin("read-scan").unwrap();
        assert!(
            find_group("quick").unwrap().apply(&mut scan).unwrap_err().starts_with("read-scan is no test of the group")
        );
    }
}
