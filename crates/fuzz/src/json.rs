//! Inputs as JSON: valid documents in which values are huge, negative, missing, of another type, or many.

use serde_json::{Number, Value};

use crate::Random;

/// A document, and what was changed in it.
#[derive(Debug)]
pub struct Mutated {
    /// The document.
    pub value: Value,
    /// Path and what was done there.
    pub changes: Vec<String>,
}

/// Where a list is made long, it gets so many items.
const MANY: usize = 10_000;
/// A text gets no longer than this, in bytes.
const LONGEST_TEXT: usize = 4096;
/// A document has no more values than about this, so that one input does not take the time of thousands.
const MOST_VALUES: usize = 150_000;

/// One of the documents with one to six changes.
pub fn mutated(seeds: &[Value], random: &mut Random) -> Mutated {
    let mut mutated = Mutated { value: random.of(seeds).clone(), changes: Vec::new() };
    for _ in 0..=random.below(6) {
        let change = change(&mut mutated.value, random);
        mutated.changes.push(change);
    }
    mutated
}

/// Goes down from the root to a random value and changes it.
fn change(root: &mut Value, random: &mut Random) -> String {
    let mut path = String::new();
    let what = down(root, &mut path, random);
    format!("{path}: {what}")
}

/// Changes the value or one below it, and writes its path.
fn down(value: &mut Value, path: &mut String, random: &mut Random) -> String {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            let names: Vec<String> = fields.keys().cloned().collect();
            let name = random.of(&names);
            path.push('.');
            path.push_str(name);
            if random.once_in(12) {
                fields.remove(name);
                return "left out".to_owned();
            }
            fields.get_mut(name).map_or_else(String::new, |below| down(below, path, random))
        }
        Value::Array(items) if !items.is_empty() && !random.once_in(6) => {
            let at = random.below(items.len());
            path.push('.');
            path.push_str(&at.to_string());
            down(&mut items[at], path, random)
        }
        other => alter(other, random),
    }
}

fn alter(value: &mut Value, random: &mut Random) -> String {
    match &mut *value {
        Value::Array(items) => match random.below(6) {
            0 => items.clear(),
            1 => items.truncate(1),
            2 | 3 => {
                let part = random.of(&[1, 2, 100, MANY]).div_ceil(items.len().max(1));
                let size = items.iter().map(values).sum::<usize>().max(1);
                let copies = part.min(MOST_VALUES / size).max(1);
                *items = (0..copies).flat_map(|_| items.iter().cloned()).collect();
            }
            4 => items.reverse(),
            _ => items.push(scalar(random)),
        },
        Value::Object(fields) => {
            fields.insert("unknown".to_owned(), scalar(random));
        }
        Value::Number(_) if !random.once_in(8) => *value = number(random),
        Value::String(text) if random.once_in(2) => {
            *text = match random.below(4) {
                0 => String::new(),
                // Long, but not so long that one text takes the time of thousands.
                1 => text.repeat((1 << random.below(10)).min(LONGEST_TEXT / text.len().max(1)).max(1)),
                2 => format!("{text}<script>|\n\u{202e}\"',;=1+1\u{1b}[31m"),
                _ => "é😀e\u{301}\u{0}".repeat(1 + random.below(40)),
            }
        }
        other => *other = scalar(random),
    }
    let mut text = value.to_string();
    if let Some((end, _)) = text.char_indices().nth(80) {
        text.truncate(end);
    }
    text
}

fn values(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(values).sum::<usize>(),
        Value::Object(fields) => 1 + fields.values().map(values).sum::<usize>(),
        _ => 1,
    }
}

/// Any value without parts.
fn scalar(random: &mut Random) -> Value {
    match random.below(8) {
        0 => Value::Null,
        1 => Value::Bool(random.once_in(2)),
        2 => Value::String(String::new()),
        3 => Value::String("2015-01-31T00:00:00.000Z".to_owned()),
        4 => Value::Array(Vec::new()),
        _ => number(random),
    }
}

fn number(random: &mut Random) -> Value {
    const FLOATS: &[f64] = &[
        0.0,
        -0.0,
        1e-320,
        1e-9,
        0.5,
        0.999_999,
        1.5,
        99.95,
        -0.1,
        -7.5,
        1e15,
        1.8e19,
        9.3e18,
        -9.3e18,
        1e100,
        1e308,
        -1e308,
        f64::MAX,
        f64::MIN,
    ];
    const WHOLE: &[u64] = &[
        0,
        1,
        2,
        7,
        100,
        255,
        65_535,
        0x7fff_ffff,
        0xffff_ffff,
        1 << 32,
        1 << 53,
        i64::MAX as u64,
        1 << 63,
        u64::MAX - 1,
        u64::MAX,
    ];
    match random.below(4) {
        0 => Number::from_f64(*random.of(FLOATS)).map_or(Value::Null, Value::Number),
        1 => Value::from(-(random.below(1 << 40) as i64)),
        2 => Value::from(random.bits() >> random.below(64)),
        _ => Value::from(*random.of(WHOLE)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_change_in_every_way() {
        let seed = serde_json::json!({"a": [1, 2, {"b": "x"}], "c": {"d": 1.5}, "e": []});
        let all: Vec<Mutated> = (0..3000).map(|n| mutated(std::slice::from_ref(&seed), &mut Random::new(n))).collect();
        let has = |is: &dyn Fn(&Value) -> bool| all.iter().any(|mutated| is(&mutated.value));
        assert!(
            has(&|value| value.get("a").is_none()) && has(&|value| value["a"].as_array().is_some_and(Vec::is_empty))
        );
        assert!(has(&|value| value["a"].as_array().is_some_and(|items| items.len() >= MANY)));
        assert!(has(&|value| value["c"]["d"].is_string()) && has(&|value| value["c"]["d"] == u64::MAX));
        assert!(has(&|value| value["c"]["d"].as_f64().is_some_and(|number| number < 0.0)));
        assert!(all.iter().all(|mutated| !mutated.changes.is_empty()));
    }
}
