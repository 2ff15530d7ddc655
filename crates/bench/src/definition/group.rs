//! Groups of tests: which belong together, and what they have in common that differs from the tests alone. They are data,
//! like the tests.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Definition, find_builtin};
use crate::parameters::hint;

/// The groups, in the order in which they are listed.
const GROUPS: &[&str] = &[
    include_str!("../../definitions/groups/quick.toml"),
    include_str!("../../definitions/groups/unlimited.toml"),
    include_str!("../../definitions/groups/limited.toml"),
    include_str!("../../definitions/groups/scale.toml"),
];

type Written = BTreeMap<String, toml::Value>;

/// A group of tests.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
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
    pub parameters: Written,
    /// Parameters of one, which go before those of all.
    #[serde(default)]
    pub test: BTreeMap<String, Written>,
    /// The TOML text.
    #[serde(skip)]
    pub text: String,
}

/// The groups.
///
/// # Panics
/// If one of them is wrong, which a test excludes.
pub fn groups() -> Vec<Group> {
    let parse = |text: &&str| {
        let group: Group = toml::from_str(text).expect("groups are tested");
        Group { about: group.about.trim().to_owned(), text: (*text).to_owned(), ..group }
    };
    GROUPS.iter().map(parse).collect()
}

/// The group of that name; the error names the nearest one.
pub fn find_group(name: &str) -> Result<Group, String> {
    let groups = groups();
    let names: Vec<&str> = groups.iter().map(|group| group.name.as_str()).collect();
    let unknown = || format!("there is no group '{name}', {}", hint(name, &names, "there is none"));
    groups.iter().find(|group| group.name == name).cloned().ok_or_else(unknown)
}

impl Group {
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
        let of_all =
            self.parameters.iter().filter(|(name, _)| definition.parameters.contains(name)).collect::<Vec<_>>();
        for (name, value) in of_all.into_iter().chain(self.test.get(&definition.name).into_iter().flatten()) {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            definition.parameters.set(name, &text, &definition.steps)?;
        }
        definition.repetitions = self.repetitions;
        definition.group = Some(self.name.clone());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::ParameterValue;

    #[test]
    fn every_test_takes_what_its_groups_say() {
        for group in groups() {
            assert!(group.test.keys().all(|test| group.tests.contains(test)), "{group:?}");
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
