//! How many statements a request is made of, by the definition of its test, and which of them are made by a session that holds others up.

use plimsoll_measurement::RunRecord;

/// First words of what changes rows.
const WRITES: [&str; 4] = ["insert", "update", "delete", "replace"];

/// That of them which makes rows. Others change rows, and so pages, that are there.
const MAKES: [&str; 2] = ["insert", "replace"];

/// Statements of a request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Statements {
    /// Of all requests on average, with the beginnings and ends of their transactions.
    pub each: f64,
    /// Of one that writes in a transaction of several, those behind its beginning: where one session writes at a time, it does so until the end. 0
    /// where writes are no such transactions.
    pub in_turn: f64,
    /// Those of all requests on average that write: each changes a page at least.
    pub writing: f64,
    /// The part of these that makes rows, for which there may be new pages; all where the definition does not say it.
    pub making: f64,
}

/// One kind of requests.
struct Kind {
    weight: f64,
    statements: f64,
    is_transaction: bool,
    writing: f64,
    making: f64,
}

impl Statements {
    /// One statement.
    pub const ONE: Self = Self { each: 1.0, in_turn: 0.0, writing: 0.0, making: 1.0 };

    /// Of a run's definition.
    pub fn of(record: &RunRecord) -> Self {
        let Ok(definition) = record.definition.text.parse::<toml::Table>() else { return Self::ONE };
        let requests = definition.get("request").and_then(toml::Value::as_array);
        let mut kinds: Vec<Kind> = requests.into_iter().flatten().filter_map(Kind::of).collect();
        let mix = definition.get("mix").and_then(toml::Value::as_table);
        kinds.extend(mix.into_iter().flatten().filter_map(|(kind, weight)| Kind::built_in(kind, weight)));
        let mean = |of: &dyn Fn(&Kind) -> f64, counts: &dyn Fn(&&Kind) -> bool| {
            let all: Vec<&Kind> = kinds.iter().filter(counts).collect();
            let weight: f64 = all.iter().map(|kind| kind.weight).sum();
            (weight > 0.0).then(|| all.iter().map(|kind| kind.weight * of(kind)).sum::<f64>() / weight)
        };
        let of_all = |of: &dyn Fn(&Kind) -> f64| mean(of, &|_| true);
        let each = of_all(&|kind| kind.statements + if kind.is_transaction { 2.0 } else { 0.0 });
        let in_turn =
            mean(&|kind| if kind.is_transaction { kind.statements + 1.0 } else { 0.0 }, &|kind| kind.writing > 0.0);
        let writing = of_all(&|kind| kind.writing).unwrap_or(0.0);
        let making = of_all(&|kind| kind.making).filter(|_| writing > 0.0).map_or(1.0, |making| making / writing);
        Self { each: each.unwrap_or(1.0), in_turn: in_turn.unwrap_or(0.0), writing, making }
    }
}

impl Kind {
    fn of(request: &toml::Value) -> Option<Self> {
        let all = request.get("statements")?.as_array()?;
        let times = |one: &toml::Value| one.get("times").and_then(number).unwrap_or(1.0);
        let statements: f64 = all.iter().map(times).sum();
        let is_one = request.get("transaction").and_then(toml::Value::as_bool).unwrap_or(true);
        let that_begin = |with: &[&str]| all.iter().filter(|one| begins(one, with)).map(times).sum::<f64>();
        Some(Self {
            weight: request.get("weight").and_then(number).unwrap_or(1.0),
            statements,
            is_transaction: is_one && statements > 1.0,
            writing: that_begin(&WRITES),
            making: that_begin(&MAKES),
        })
    }

    /// One of our own, of a single statement that has its name.
    fn built_in(kind: &str, weight: &toml::Value) -> Option<Self> {
        let word = kind.split('-').next().unwrap_or_default();
        let is_one_of = |words: &[&str]| if words.contains(&word) { 1.0 } else { 0.0 };
        Some(Self {
            weight: number(weight)?,
            statements: 1.0,
            is_transaction: false,
            writing: is_one_of(&WRITES),
            making: is_one_of(&MAKES),
        })
    }
}

/// Whether a statement begins with one of these words, in any engine's text.
fn begins(statement: &toml::Value, words: &[&str]) -> bool {
    let begins = |text: &str| {
        let word = text.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
        words.contains(&word.as_str())
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
        let Statements { each, in_turn, .. } = Statements::of(&RunRecord { definition, ..RunRecord::default() });
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

    #[test]
    fn each_statement_that_writes_changes_a_page_and_some_make_rows() {
        let of = |text: &str| {
            let definition = plimsoll_measurement::Definition { text: text.to_owned(), ..Default::default() };
            let Statements { writing, making, .. } = Statements::of(&RunRecord { definition, ..RunRecord::default() });
            (writing, making)
        };
        assert_eq!(of("[mix]\nupdate = 3\ninsert = 1\ndirect-select = 4"), (0.5, 0.25));
        let five = "[[request]]\nweight = 1\nstatements = [{ any = \"UPDATE t SET a = 1\", times = 5 }]\n";
        let reads = "[[request]]\nweight = 9\nstatements = [\"SELECT 1\"]\n";
        assert_eq!(of(&format!("{five}{reads}")), (0.5, 0.0));
        // Of a test that says neither, any change may be one of new pages.
        assert_eq!(of("steps = [\"load\"]"), (0.0, 1.0));
    }
}
