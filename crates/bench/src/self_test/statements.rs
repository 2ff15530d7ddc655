//! The statements of an engine, sent once each as they stand.

use plimsoll_engine::{AnswerColumn, Entry, SelfTest, Shape, Statements, Touches, Value, Workspace, statements};
use plimsoll_measurement::{Check, CheckKind, CheckResult};
use toml::Value as Toml;

use super::course::{Course, INTERRUPTED, failed};
use super::patience::within;

/// Names in place of those that examples have.
#[derive(Clone, Copy)]
pub(super) struct Places<'a> {
    /// The workspace, which has the table of the examples.
    pub there: &'a str,
    /// One that is not there, and the mark that it is to bear.
    pub new: &'a str,
    pub mark: &'a str,
    /// Whether the table of the examples is there.
    pub has_table: bool,
}

impl Places<'_> {
    fn put_into(self, text: &str) -> String {
        let text = text.replace(statements::EXAMPLE_MARK, self.mark);
        let text = text.replace(statements::EXAMPLE_PLACE, self.there);
        text.replace(statements::EXAMPLE_NEW_PLACE, self.new)
    }

    /// Whether an example names no place but these two, so that nothing is done to one that somebody has.
    fn are_all(self, gap: &str, text: &str) -> bool {
        let rest = text.replace(self.mark, "").replace(self.new, "").replace(self.there, "");
        !Workspace::is_named_in(&rest)
            && (!["workspace", "schema"].contains(&gap) || [self.there, self.new].contains(&text))
    }
}

/// A connection, and a new one after it was lost.
pub(super) struct Sender {
    test: Option<Box<dyn SelfTest>>,
    /// Kept beside the connection, which may be lost.
    statements: &'static Statements,
    edition: Option<String>,
    words: Vec<(&'static str, String)>,
}

impl Sender {
    /// By this connection.
    pub fn new(test: Box<dyn SelfTest>) -> Self {
        let (statements, edition) = (test.statements(), test.edition().map(str::to_owned));
        let words = test.words();
        Self { test: Some(test), statements, edition, words }
    }

    /// Gives the connection up.
    pub fn close(&mut self) {
        self.test = None;
    }

    /// Sends all that touch this, in their order; `why_not` keeps them from being sent.
    pub fn send_all(&mut self, course: &mut Course<'_>, touches: Touches, places: Places<'_>, why_not: Option<&str>) {
        let entries: Vec<&Entry> = self.statements.entries().iter().filter(|it| it.touches == touches).collect();
        for (at, entry) in entries.iter().enumerate() {
            (course.tell)(&format!("statement {} of {}: {}", at + 1, entries.len(), entry.name));
            let check = described(entry);
            let is_lacking = self.test.as_ref().is_some_and(|test| test.lacks(entry));
            if is_lacking || !entry.is_in(self.edition.as_deref()) {
                course.keep(Check { result: CheckResult::NotInEdition, ..check }, "");
                continue;
            }
            let lacks_table = (!places.has_table && needs_table(entry)).then_some("there was no table to try it on");
            match (why_not.or(lacks_table), course.stopped()) {
                (Some(why), _) => course.skip(check, why),
                (None, Some(why)) => course.cut(check, why),
                (None, None) => self.send(course, entry, check, places),
            }
        }
    }

    fn send(&mut self, course: &mut Course<'_>, entry: &Entry, check: Check, places: Places<'_>) {
        let of_server = |gap: &str| self.words.iter().find(|(name, _)| *name == gap).map(|(_, word)| word.clone());
        let example = entry.example.iter();
        let words: Vec<(&str, String)> = example
            .map(|(gap, word)| (gap.as_str(), of_server(gap).unwrap_or_else(|| places.put_into(word))))
            .collect();
        let words: Vec<(&str, &str)> = words.iter().map(|(gap, word)| (*gap, word.as_str())).collect();
        let texts: Vec<Toml> = entry.values.iter().map(|value| placed(value, places)).collect();
        let values: Vec<Value<'_>> = texts.iter().map(value).collect();
        let given = words.iter().copied().chain(texts.iter().filter_map(|text| Some(("", text.as_str()?))));
        if entry.touches == Touches::Workspace && !given.into_iter().all(|(gap, text)| places.are_all(gap, text)) {
            return course.skip(check, "it names a place that is not of this self-test");
        }
        let sql = match self.statements.example(entry, &words) {
            Ok(sql) => sql,
            Err(gap) => return course.skip(check, &format!("nothing is known for {gap}")),
        };
        if self.test.is_none() {
            self.test = course.database.self_test().ok().flatten();
        }
        let Some(test) = &mut self.test else {
            course.lost = Some("the server does not let us in again");
            return course.cut(check, "the server does not let us in again");
        };
        let cancel = test.canceller();
        let _watched = cancel.clone().map(|cancel| course.interrupt.watch(cancel));
        let start = course.clock.now();
        let (answer, late) = within(course.patience, cancel, || test.send(entry, &sql, &values));
        let ms = Some(course.ms_since(start));
        if answer.is_err() {
            // The next one gets a connection of its own, if there is one to be had.
            self.test = None;
        }
        let check = match answer {
            Ok(Ok(shape)) => compared(Check { ms, ..check }, &entry.answer, &shape),
            Ok(Err(refused)) if course.was_interrupted(&refused.error) => {
                return course.cut(check, INTERRUPTED);
            }
            Err(error) if course.was_interrupted(&error) => return course.cut(check, INTERRUPTED),
            Ok(Err(refused)) => {
                let code = Some(refused.code).filter(|code| !code.is_empty());
                Check { ms, code, at: refused.at, ..failed(check, &refused.error, late) }
            }
            Err(error) => Check { ms, ..failed(check, &error, late) },
        };
        course.keep(check, &entry.sql);
    }
}

/// True for a statement that works on the table of the examples.
fn needs_table(entry: &Entry) -> bool {
    let names = |text: &str| text.replace(statements::EXAMPLE_PLACE, "").contains(statements::EXAMPLE_TABLE);
    entry.example.values().any(|word| names(word)) || entry.values.iter().filter_map(Toml::as_str).any(names)
}

/// What is known of a statement before it is sent.
fn described(entry: &Entry) -> Check {
    Check {
        kind: CheckKind::Statement,
        name: entry.name.clone(),
        purpose: entry.purpose.clone(),
        editions: entry.editions.clone(),
        source: Some(entry.source.clone()),
        permission: entry.permission.clone(),
        documented: entry.answer.iter().map(told).collect(),
        ..Check::default()
    }
}

fn told(column: &AnswerColumn) -> String {
    format!("{} {}", column.name, column.kind).trim().to_owned()
}

/// The answer held against the documented one: the number of columns, and their types without lengths.
fn compared(check: Check, documented: &[AnswerColumn], shape: &Shape) -> Check {
    let bare = |column: &AnswerColumn| column.kind.split('(').next().unwrap_or_default().trim().to_lowercase();
    let is_same = documented.iter().map(bare).eq(shape.columns.iter().map(bare));
    let null = |at: &usize| shape.rows > 0 && shape.filled.get(*at) == Some(&false);
    let only_null = (0..documented.len().min(shape.columns.len())).filter(null);
    Check {
        result: if is_same { CheckResult::Worked } else { CheckResult::OtherShape },
        only_null: only_null.map(|at| documented[at].name.clone()).collect(),
        seen: shape.columns.iter().map(told).collect(),
        rows: Some(shape.rows),
        ..check
    }
}

fn placed(value: &Toml, places: Places<'_>) -> Toml {
    match value {
        Toml::String(text) => Toml::String(places.put_into(text)),
        other => other.clone(),
    }
}

/// A value of an example as a parameter. What TOML has and a parameter can't be is NULL.
fn value(of: &Toml) -> Value<'_> {
    match of {
        Toml::String(text) => Value::Text(text),
        Toml::Integer(number) => Value::BigInt(*number),
        Toml::Float(number) => Value::Float(*number),
        Toml::Boolean(bit) => Value::Bit(*bit),
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, kind: &str) -> AnswerColumn {
        AnswerColumn { name: name.to_owned(), kind: kind.to_owned() }
    }

    #[test]
    fn examples_get_names_of_the_self_test_and_no_others() {
        let places = Places {
            there: "plimsoll_run_1",
            new: "plimsoll_run_1b",
            mark: "mark of plimsoll_run_1b",
            has_table: true,
        };
        let put = |text: &str| places.put_into(text);
        assert_eq!(put("[plimsoll_run_example].[example]"), "[plimsoll_run_1].[example]");
        assert_eq!(put(statements::EXAMPLE_MARK), "mark of plimsoll_run_1b");
        for (gap, text, is_fine) in [
            ("workspace", "plimsoll_run_1", true),
            ("workspace", "plimsoll_run_1b", true),
            ("workspace", "dbo", false),
            ("workspace", "plimsoll_run_x", false),
            ("", "[plimsoll_run_1].[t]", true),
            ("resource", "plimsoll lease plimsoll_run_x", false),
            ("mark", "mark of plimsoll_run_1b", true),
            ("from", "plimsoll_data_x", false),
        ] {
            assert_eq!(places.are_all(gap, text), is_fine, "{gap} {text}");
        }
    }

    #[test]
    fn an_answer_is_as_documented_by_number_and_types() {
        let documented = [column("name", "nvarchar(60)"), column("reads", "bigint")];
        let come = |columns: &[AnswerColumn]| Shape { columns: columns.to_vec(), rows: 1, filled: vec![true, false] };
        let result = |columns: &[AnswerColumn]| compared(Check::default(), &documented, &come(columns));
        let same = result(&[column("", "NVARCHAR"), column("", "bigint")]);
        assert_eq!((same.result, same.only_null), (CheckResult::Worked, vec!["reads".to_owned()]));
        assert_eq!(same.seen, ["NVARCHAR", "bigint"]);
        for other in [&[column("", "nvarchar")][..], &[column("", "nvarchar"), column("", "int")], &[]] {
            assert_eq!(result(other).result, CheckResult::OtherShape);
        }
        let no_rows = Shape { rows: 0, filled: vec![false, false], ..come(&documented) };
        assert!(compared(Check::default(), &documented, &no_rows).only_null.is_empty());
    }
}
