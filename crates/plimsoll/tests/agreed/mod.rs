//! Holds outputs of two releases against each other, value by value, and what differs against a list of what may.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// Old path and new path; see the table of whoever calls.
pub type Renames<'a> = &'a [(&'a str, &'a str)];

/// A value that is not what it was.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    pub output: String,
    /// As the new program names it.
    pub path: String,
    /// As JSON.
    pub old: String,
    /// As JSON; `None` if there is nothing at this path any more.
    pub new: Option<String>,
}

/// What may differ.
pub struct Agreed(Vec<Entry>);

struct Entry {
    output: String,
    path: String,
    values: Option<(String, Option<String>)>,
}

impl Entry {
    fn covers(&self, difference: &Difference) -> bool {
        let steps = |path: &str| path.split('.').map(str::to_owned).collect::<Vec<_>>();
        let (own, other) = (steps(&self.path), steps(&difference.path));
        (self.output == "*" || self.output == difference.output)
            && own.len() == other.len()
            && own.iter().zip(&other).all(|(own, other)| own == "*" || own == other)
            && self.values.as_ref().is_none_or(|(old, new)| *old == difference.old && *new == difference.new)
    }
}

impl Agreed {
    /// Reads a list. Each entry needs a reason; one without `*` needs its old value as well.
    pub fn read(text: &str) -> Self {
        let table: toml::Table = text.parse().expect("the list is TOML");
        let entries = table["difference"].as_array().expect("a list of differences");
        let words = |entry: &toml::Value, key: &str| entry.get(key).and_then(toml::Value::as_str).map(str::to_owned);
        let json = |value: &toml::Value| normal(&serde_json::to_value(value).expect("a value")).to_string();
        let entry = |entry: &toml::Value| {
            let (output, path) = (words(entry, "output").expect("output"), words(entry, "path").expect("path"));
            assert!(words(entry, "reason").is_some_and(|reason| !reason.is_empty()), "{output} {path}: no reason");
            let values = entry.get("old").map(|old| (json(old), entry.get("new").map(json)));
            assert!(values.is_some() || path.contains('*') || output == "*", "{output} {path}: no old value");
            Entry { output, path, values }
        };
        Self(entries.iter().map(entry).collect())
    }

    /// Fails with what differs and is not in the list, written as it would stand there; and with what stands there in vain, of
    /// the outputs that `looked_at` accepts.
    #[track_caller]
    pub fn check(&self, found: &[Difference], looked_at: impl Fn(&str) -> bool) {
        let surprises = found.iter().filter(|difference| !self.0.iter().any(|entry| entry.covers(difference)));
        let surprises: Vec<String> = surprises.map(Difference::as_toml).collect();
        assert!(
            surprises.is_empty(),
            "{} differences that nobody agreed to:\n{}",
            surprises.len(),
            surprises.join("\n")
        );
        let own = self.0.iter().filter(|entry| entry.output != "*" && looked_at(&entry.output));
        let idle: Vec<String> = own
            .filter(|entry| !found.iter().any(|difference| entry.covers(difference)))
            .map(|entry| format!("{} {}", entry.output, entry.path))
            .collect();
        assert!(idle.is_empty(), "agreed to, but not different:\n{}", idle.join("\n"));
    }
}

impl Difference {
    fn as_toml(&self) -> String {
        let new = self.new.as_ref().map(|new| format!("new = {new}\n")).unwrap_or_default();
        let Self { output, path, old, .. } = self;
        format!("[[difference]]\noutput = \"{output}\"\npath = \"{path}\"\nold = {old}\n{new}reason = \"\"\n")
    }
}

/// Every value of `old` that `new` doesn't have where the renames put it. What `new` has beyond that is no difference.
pub fn differences(output: &str, old: &Value, new: &Value, renames: Renames<'_>) -> Vec<Difference> {
    let (mut then, mut now) = (BTreeMap::new(), BTreeMap::new());
    leaves(old, &mut Vec::new(), &mut then);
    leaves(new, &mut Vec::new(), &mut now);
    let mut found = Vec::new();
    for (path, old) in then {
        let path = renames.iter().fold(path, |path, (from, to)| renamed(path, from, to)).join(".");
        // With renames they are those of version 1.
        let old = if !renames.is_empty() && path.contains("latency_us_") { microseconds(old) } else { old };
        let new = now.get(&path.split('.').map(str::to_owned).collect::<Vec<_>>());
        if new != Some(&old) {
            let new = new.map(Value::to_string);
            found.push(Difference { output: output.to_owned(), path, old: old.to_string(), new });
        }
    }
    found
}

/// Response times of version 1 were in milliseconds, made of whole nanoseconds.
fn microseconds(milliseconds: Value) -> Value {
    milliseconds.as_f64().map_or(milliseconds, |ms| ((ms * 1e6).round() / 1e3).into())
}

/// Values without parts, by their paths. An absent value is the same as null.
fn leaves(value: &Value, path: &mut Vec<String>, into: &mut BTreeMap<Vec<String>, Value>) {
    let mut step = |step: String, value: &Value| {
        // Dots belong to paths.
        path.push(step.replace('.', "_"));
        leaves(value, path, into);
        path.pop();
    };
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| step(name.clone(), value)),
        Value::Array(items) => items.iter().enumerate().for_each(|(index, value)| step(index.to_string(), value)),
        Value::Null => {}
        leaf => drop(into.insert(path.clone(), normal(leaf))),
    }
}

/// A number however it is written; of a sentence its figures, as its words may get better.
fn normal(leaf: &Value) -> Value {
    match leaf {
        Value::Number(number) => number.as_f64().map_or(leaf.clone(), Value::from),
        Value::String(text) if text.contains(' ') => figures(text).into_iter().collect(),
        Value::Array(items) => items.clone().into(),
        other => other.clone(),
    }
}

/// The path with the new steps in place of the old ones, where the old ones are.
fn renamed(path: Vec<String>, from: &str, to: &str) -> Vec<String> {
    let from: Vec<&str> = from.split('.').collect();
    let matches = |steps: &[String]| steps.iter().zip(&from).all(|(step, from)| *from == "*" || step == from);
    let Some(at) = path.windows(from.len()).position(matches) else { return path };
    let any = from.iter().zip(&path[at..]).filter(|(from, _)| **from == "*");
    let mut any: Vec<String> = any.map(|(_, step)| step.clone()).rev().collect();
    let new = to.split('.').map(|step| if step == "*" { any.pop().expect("as many `*`") } else { step.to_owned() });
    let new: Vec<String> = new.collect();
    [&path[..at], &new, &path[at + from.len()..]].concat()
}

/// Numbers in a text, as they are written, without those of one digit, which stand in words and headings as well.
fn figures(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !(c.is_alphanumeric() || ".-+:_".contains(c)));
    let trimmed = words.map(|word| word.trim_end_matches(['.', ':']).trim_start_matches('+'));
    trimmed.filter(|word| word.len() > 1 && word.parse::<f64>().is_ok_and(f64::is_finite)).map(str::to_owned).collect()
}

/// One difference at most: the figures of `old` that do not occur in `new`.
pub fn figures_gone(output: &str, old: &str, new: &str) -> Vec<Difference> {
    let now: BTreeSet<String> = figures(new).into_iter().collect();
    let gone: BTreeSet<String> = figures(old).into_iter().filter(|figure| !now.contains(figure)).collect();
    let old = Value::from(gone.iter().cloned().collect::<Vec<_>>()).to_string();
    let (output, path) = (output.to_owned(), "figures".to_owned());
    if gone.is_empty() { Vec::new() } else { vec![Difference { output, path, old, new: None }] }
}

/// The cells of a line of CSV.
pub fn cells(line: &str) -> Vec<String> {
    let (mut cells, mut quoted) = (vec![String::new()], false);
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            c => cells.last_mut().expect("one at least").push(c),
        }
    }
    cells
}

/// A cell as a value: empty is unknown.
pub fn cell(text: &str) -> Value {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite()).map(Value::from);
    if text.is_empty() { Value::Null } else { number.unwrap_or_else(|| text.into()) }
}

/// Changes the first figure with a fraction by its last bits, and says where it is.
pub fn nudge(value: &mut Value) -> Option<String> {
    fn walk(value: &mut Value, path: &mut Vec<String>) -> bool {
        let mut try_step = |step: String, value: &mut Value| {
            path.push(step);
            let done = walk(value, path);
            if !done {
                path.pop();
            }
            done
        };
        match value {
            Value::Object(fields) => fields.iter_mut().any(|(name, value)| try_step(name.clone(), value)),
            Value::Array(items) => items.iter_mut().enumerate().any(|(at, value)| try_step(at.to_string(), value)),
            Value::Number(number) if number.as_f64().is_some_and(|figure| figure.fract() != 0.0) => {
                *value = (number.as_f64().expect("just seen") * (1.0 + 1e-15)).into();
                true
            }
            _ => false,
        }
    }
    let mut path = Vec::new();
    walk(value, &mut path).then(|| path.join("."))
}

#[test]
fn renames_move_values_and_keep_figures() {
    let old = serde_json::json!([{"truth": {"value": 2, "x": null}, "points": [{"index": 0, "iops": 7.5}, {"index": 1, "iops": 8.5}]}]);
    let new = serde_json::json!([{"expected": {"value": 2.0}, "basis": "measured",
        "points": [{"index": 0, "metrics": {"iops": 7.5}}, {"index": 1, "metrics": {"iops": 9.5}}]}]);
    let renames = [("truth", "expected"), ("points.*.iops", "points.*.metrics.iops")];
    let found = differences("a.json", &old, &new, &renames);
    let expected = Difference {
        output: "a.json".into(),
        path: "0.points.1.metrics.iops".into(),
        old: "8.5".into(),
        new: Some("9.5".into()),
    };
    assert_eq!(found, [expected]);
    let entry =
        "[[difference]]\noutput = \"a.json\"\npath = \"0.points.1.metrics.iops\"\nold = 8.5\nnew = 9.5\nreason = \"x\"";
    Agreed::read(entry).check(&found, |_| true);
    let in_vain = std::panic::catch_unwind(|| Agreed::read(entry).check(&[], |_| true));
    let other = std::panic::catch_unwind(|| Agreed::read(&entry.replace("9.5", "9.6")).check(&found, |_| true));
    assert!(in_vain.is_err() && other.is_err(), "only what is listed, and all that is listed");
}

#[test]
fn sentences_are_held_by_their_figures() {
    let old = serde_json::json!({"evidence": ["storage stood still for 12.5 % of 60 s", "data_io"]});
    let new = serde_json::json!({"evidence": ["Storage stalled for 12.5 % of the 60 s.", "data_io"]});
    assert!(differences("a", &old, &new, &[]).is_empty());
    let worse = serde_json::json!({"evidence": ["Storage stalled for 13.5 % of the 60 s.", "log"]});
    assert_eq!(differences("a", &old, &worse, &[]).len(), 2);
    assert_eq!(figures("a1 2 12. -0.5 +7.25 2015-01-31 1/64 (ca. 1e6)"), ["12", "-0.5", "7.25", "64", "1e6"]);
}

#[test]
fn lines_of_csv_have_cells() {
    assert_eq!(cells("a,\"b,c\",,1"), ["a", "b,c", "", "1"]);
}
