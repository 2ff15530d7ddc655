//! The text of a scenario: its keys can be set one by one, and its cases and variations make several scenarios of it.

use std::collections::BTreeMap;
use std::path::Path;

use super::Scenario;
use super::error::ScenarioError;
use super::resolve::resolve;
use super::tables::Tables;

/// The tables in which a key without a table in front is looked for.
const TABLES: [(&str, &[&str]); 6] = [
    (
        "workload",
        &["sessions", "think_time", "rate", "cpu_time", "reads", "read_size", "changes", "log_size", "other_wait"],
    ),
    ("cpu", &["cores"]),
    ("buffer_pool", &["pages", "page_size", "skew"]),
    ("background_writer", &["dirty_share", "hysteresis", "pages_per_write", "writes_in_flight"]),
    ("log", &["writes_in_flight", "block_size", "rate_limit"]),
    ("run", &["warm_up", "duration", "replications", "seed"]),
];

/// The figures of a case that can be published.
pub const PUBLISHED: [&str; 6] =
    ["requests_per_s", "cpu_percent", "log_wait_percent", "page_wait_percent", "data_write_ms", "log_write_ms"];

/// A grid has no more cases.
const MOST_CASES: usize = 1_000;

/// One of several scenarios of a document.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// What tells it apart; empty where there is only one.
    pub name: String,
    /// The keys that it sets.
    pub set: Vec<(String, toml::Value)>,
    /// What was published of it, by the names of [`PUBLISHED`].
    pub published: BTreeMap<String, f64>,
}

/// A key with the values that it takes one after another.
#[derive(Debug, Clone, PartialEq)]
pub struct Variation {
    /// As it was given.
    pub key: String,
    /// As they were given.
    pub values: Vec<String>,
}

/// A scenario's text.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    file: String,
    table: toml::Table,
    cases: Vec<Case>,
}

impl Document {
    /// Reads a text. `file` is for messages, and for the name where the text has none.
    ///
    /// # Errors
    /// What is wrong, with file and line.
    pub fn parse(file: &str, text: &str) -> Result<Self, ScenarioError> {
        let at = |error: &toml::de::Error| {
            let start = error.span().map_or(0, |span| span.start.min(text.len()));
            let line = 1 + text.get(..start).unwrap_or_default().matches('\n').count();
            let problem = error.message().replace('\n', ", ");
            ScenarioError::new(format!("{file}:{line}"), problem, "docs/SIMULATE.md lists the keys of a scenario")
        };
        let tables: Tables = toml::from_str(text).map_err(|error| at(&error))?;
        let mut table: toml::Table = toml::from_str(text).map_err(|error| at(&error))?;
        table.remove("cases");
        if tables.cases.len() > MOST_CASES {
            let problem = format!("there are {} of them", tables.cases.len());
            return Err(ScenarioError::new(format!("{file}: cases"), problem, format!("give {MOST_CASES} at most")));
        }
        let mut cases = Vec::new();
        for case in tables.cases {
            if let Some(name) = case.published.keys().find(|name| !PUBLISHED.contains(&name.as_str())) {
                let problem = format!("'{name}' is no figure of a case");
                let hint = format!("known: {}", PUBLISHED.join(", "));
                return Err(ScenarioError::new(format!("{file}: cases '{}'", case.name), problem, hint));
            }
            if let Some((name, value)) = case.published.iter().find(|(_, value)| !value.is_finite()) {
                let problem = format!("{name} = {value} is no figure");
                let hint = "leave out what was not published";
                return Err(ScenarioError::new(format!("{file}: cases '{}'", case.name), problem, hint));
            }
            cases.push(Case { name: case.name, set: case.set.into_iter().collect(), published: case.published });
        }
        let document = Self { file: file.to_owned(), table, cases };
        document.scenario(&document.table)?;
        Ok(document)
    }

    /// Sets a key: `files.log.size`, or `sessions` where only one table has such a key; the name of files means their size.
    ///
    /// # Errors
    /// An unknown key, one that several tables have, or one that a case sets: that would win.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), ScenarioError> {
        if let Some(case) = self.cases.iter().find(|case| case.set.iter().any(|(other, _)| is_same(other, key))) {
            let problem = format!("the case '{}' sets it as well", case.name);
            return Err(ScenarioError::new(key, problem, "change it in the scenario's text"));
        }
        set(&mut self.table, key, read(value))
    }

    /// Makes a case for each value, of each case that there is.
    ///
    /// # Errors
    /// If there are too many, or no values.
    pub fn vary(&mut self, variation: &Variation) -> Result<(), ScenarioError> {
        let Variation { key, values } = variation;
        let before = if self.cases.is_empty() { vec![Case::plain()] } else { std::mem::take(&mut self.cases) };
        if values.is_empty() || before.len() * values.len() > MOST_CASES {
            let problem = format!("it makes {} cases", before.len() * values.len());
            return Err(ScenarioError::new(key, problem, format!("give 1 to {MOST_CASES} values in all")));
        }
        for case in before {
            for value in values {
                let mut case = case.clone();
                let part = format!("{key} {value}");
                case.name = if case.name.is_empty() { part } else { format!("{}, {part}", case.name) };
                case.set.push((key.clone(), read(value)));
                // Another scenario than the one of which it was published.
                case.published.clear();
                self.cases.push(case);
            }
        }
        Ok(())
    }

    /// The scenarios, each with the case that it is.
    ///
    /// # Errors
    /// What is wrong with one of them, and which key is about it.
    pub fn scenarios(&self) -> Result<Vec<(Case, Scenario)>, ScenarioError> {
        if self.cases.is_empty() {
            return Ok(vec![(Case::plain(), self.scenario(&self.table)?)]);
        }
        let scenario = |case: &Case| {
            let mut table = self.table.clone();
            for (key, value) in &case.set {
                set(&mut table, key, value.clone())?;
            }
            Ok((case.clone(), self.scenario(&table)?))
        };
        let of_case = |case: &Case| {
            scenario(case).map_err(|error: ScenarioError| ScenarioError {
                place: format!("{} (case '{}')", error.place, case.name),
                ..error
            })
        };
        self.cases.iter().map(of_case).collect()
    }

    /// The text with everything that was set, as it can be kept beside a result.
    pub fn text_of(&self, case: &Case) -> String {
        let mut table = self.table.clone();
        for (key, value) in &case.set {
            // It was set before without an error.
            let _ = set(&mut table, key, value.clone());
        }
        table.to_string()
    }

    fn scenario(&self, table: &toml::Table) -> Result<Scenario, ScenarioError> {
        let stem = Path::new(&self.file).file_stem().and_then(|stem| stem.to_str()).unwrap_or(&self.file);
        let tables: Tables = table.clone().try_into().map_err(|error: toml::de::Error| {
            let problem = error.to_string().trim().replace('\n', ", ");
            ScenarioError::new(&self.file, problem, "docs/SIMULATE.md lists the keys of a scenario")
        })?;
        resolve(&tables, stem).map_err(|error| error.in_file(&self.file))
    }
}

impl Case {
    /// The document as it stands.
    fn plain() -> Self {
        Self { name: String::new(), set: Vec::new(), published: BTreeMap::new() }
    }
}

/// A value as TOML, else as text: `32GB` needs no quotes.
fn read(value: &str) -> toml::Value {
    let parsed = toml::from_str::<toml::Table>(&format!("value = {value}")).ok();
    parsed.and_then(|mut table| table.remove("value")).unwrap_or_else(|| value.into())
}

/// Whether two keys may set the same: `log` and `files.log.size`, `sessions` and `workload.sessions`.
fn is_same(one: &str, other: &str) -> bool {
    let parts = |key: &str| {
        let key = key.strip_prefix("files.").and_then(|rest| rest.strip_suffix(".size")).unwrap_or(key);
        key.rsplit('.').next().unwrap_or(key).to_owned()
    };
    one == other || (parts(one) == parts(other) && (!one.contains('.') || !other.contains('.')))
}

fn set(table: &mut toml::Table, key: &str, value: toml::Value) -> Result<(), ScenarioError> {
    let files = table.get("files").and_then(toml::Value::as_table);
    let path: Vec<&str> = if key.contains('.') {
        key.split('.').collect()
    } else if files.is_some_and(|files| files.contains_key(key)) {
        vec!["files", key, "size"]
    } else {
        let homes: Vec<&str> = TABLES.iter().filter(|(_, keys)| keys.contains(&key)).map(|(table, _)| *table).collect();
        match homes[..] {
            [home] => vec![home, key],
            [] => {
                let mut all: Vec<&str> = TABLES.iter().flat_map(|(_, keys)| *keys).copied().collect();
                all.sort_unstable();
                all.dedup();
                let hint = format!("name files, a key as in disks.NAME.latency, or one of {}", all.join(", "));
                return Err(ScenarioError::new(key, "there is no such key", hint));
            }
            _ => {
                let hint = format!(
                    "write one of {}",
                    homes.iter().map(|home| format!("{home}.{key}")).collect::<Vec<_>>().join(", ")
                );
                return Err(ScenarioError::new(key, "several tables have such a key", hint));
            }
        }
    };
    let (last, tables) = path.split_last().unwrap_or((&"", &[]));
    let mut at = table;
    for name in tables {
        let next = at.entry(*name).or_insert_with(|| toml::Table::new().into());
        let Some(next) = next.as_table_mut() else {
            return Err(ScenarioError::new(
                key,
                format!("'{name}' is no table"),
                "docs/SIMULATE.md lists the keys of a scenario",
            ));
        };
        at = next;
    }
    at.insert((*last).to_owned(), value);
    Ok(())
}
