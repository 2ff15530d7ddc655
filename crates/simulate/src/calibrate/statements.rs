//! How many statements a request is made of, by the definition of its test, and which of them are made by a session that holds others up.

use plimsoll_measurement::RunRecord;

/// First words of what changes rows.
const WRITES: [&str; 4] = ["insert", "update", "delete", "replace"];

/// Statements of a request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Statements {
    /// Of all requests on average, with the beginnings and ends of their transactions.
    pub each: f64,
    /// Of one that writes in a transaction of several, those behind its beginning: where one session writes at a time, it does so until the end. 0
    /// where writes are no such transactions.
    pub in_turn: f64,
}

/// One kind of requests.
struct Kind {
    weight: f64,
    statements: f64,
    is_transaction: bool,
    writes: bool,
}

impl Statements {
    /// One statement.
    pub const ONE: Self = Self { each: 1.0, in_turn: 0.0 };

    /// Of a run's definition.
    pub fn of(record: &RunRecord) -> Self {
        let Ok(definition) = record.definition.text.parse::<toml::Table>() else { return Self::ONE };
        let requests = definition.get("request").and_then(toml::Value::as_array);
        let kinds: Vec<Kind> = requests.into_iter().flatten().filter_map(Kind::of).collect();
        let mean = |of: &dyn Fn(&Kind) -> f64, counts: &dyn Fn(&&Kind) -> bool| {
            let all: Vec<&Kind> = kinds.iter().filter(counts).collect();
            let weight: f64 = all.iter().map(|kind| kind.weight).sum();
            (weight > 0.0).then(|| all.iter().map(|kind| kind.weight * of(kind)).sum::<f64>() / weight)
        };
        let each = mean(&|kind| kind.statements + if kind.is_transaction { 2.0 } else { 0.0 }, &|_| true);
        let in_turn = mean(&|kind| if kind.is_transaction { kind.statements + 1.0 } else { 0.0 }, &|kind| kind.writes);
        Self { each: each.unwrap_or(1.0), in_turn: in_turn.unwrap_or(0.0) }
    }
}

impl Kind {
    fn of(request: &toml::Value) -> Option<Self> {
        let all = request.get("statements")?.as_array()?;
        let times = |one: &toml::Value| one.get("times").and_then(number).unwrap_or(1.0);
        let statements: f64 = all.iter().map(times).sum();
        let is_one = request.get("transaction").and_then(toml::Value::as_bool).unwrap_or(true);
        Some(Self {
            weight: request.get("weight").and_then(number).unwrap_or(1.0),
            statements,
            is_transaction: is_one && statements > 1.0,
            writes: all.iter().any(writes),
        })
    }
}

/// Whether a statement changes rows, in any engine's words.
fn writes(statement: &toml::Value) -> bool {
    let begins = |text: &str| {
        let word = text.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
        WRITES.contains(&word.as_str())
    };
    match statement {
        toml::Value::String(text) => begins(text),
        toml::Value::Table(texts) => texts.values().filter_map(toml::Value::as_str).any(begins),
        _ => false,
    }
}

fn number(value: &toml::Value) -> Option<f64> {
    value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> (f64, f64) {
        let definition = plimsoll_measurement::Definition { text: text.to_owned(), ..Default::default() };
        let Statements { each, in_turn } = Statements::of(&RunRecord { definition, ..RunRecord::default() });
        (each, in_turn)
    }

    #[test]
    fn a_transaction_has_a_beginning_and_an_end_of_its_own() {
        assert_eq!(of("[mix]\nupdate = 1"), (1.0, 0.0));
        let three = "[[request]]\nstatements = [\"SELECT 1\", \"SELECT 2\", \"UPDATE t SET a = 1\"]\n";
        assert_eq!(of(three), (5.0, 4.0));
        assert_eq!(of(&format!("{three}transaction = false\n")), (3.0, 0.0));
        // What reads holds nobody up, and one statement made three times is three.
        let reads = "[[request]]\nweight = 3\nstatements = [{ any = \"SELECT 1\", times = 3 }]\n";
        assert_eq!(of(reads), (5.0, 0.0));
        assert_eq!(
            of("[[request]]\nstatements = [{ sqlite = \"DELETE FROM t\", mysql = \"DELETE t FROM t\" }]\n"),
            (1.0, 0.0)
        );
        let one = "[[request]]\nstatements = [\"SELECT 1\"]\nweight = 5\n";
        assert_eq!(of(&format!("{three}{one}")), (10.0 / 6.0, 4.0));
    }
}
