//! Dumps as SQL, a statement a line: `CREATE TABLE ...;`, `INSERT INTO t VALUES(1,'it''s',0.5,NULL);`, `CREATE INDEX ...;`.
//! Texts are quoted as SQL does it, floats are as short as they can be and still come back the same. SQLite's own shell
//! reads them too.

use std::fmt::Write as _;
use std::io::BufRead;

use plimsoll_engine::{Error, ErrorKind, Result, Row, Value};

use super::errors::unreadable;

const INSERT: &str = "INSERT INTO ";
const VALUES: &str = " VALUES(";

/// The statement that inserts a row, in place of what was in `line`.
pub fn write_row(line: &mut String, table: &str, row: &Row) {
    line.clear();
    line.push_str(INSERT);
    line.push_str(table);
    line.push_str(VALUES);
    for (index, value) in row.values().enumerate() {
        if index > 0 {
            line.push(',');
        }
        // Writing into a string can't fail.
        let _ = match value {
            Value::Null => write!(line, "NULL"),
            Value::Bit(bit) => write!(line, "{}", u8::from(bit)),
            Value::TinyInt(number) => write!(line, "{number}"),
            Value::SmallInt(number) => write!(line, "{number}"),
            Value::Int(number) => write!(line, "{number}"),
            Value::BigInt(number) | Value::Money(number) | Value::DateTime(number) => write!(line, "{number}"),
            Value::Float(number) if number.is_infinite() => {
                write!(line, "{}9e999", if number < 0.0 { "-" } else { "" })
            }
            Value::Float(number) => write!(line, "{number:?}"),
            Value::Text(text) => write!(line, "'{}'", text.replace('\'', "''")),
        };
    }
    line.push_str(");\n");
}

/// The statements of a dump, one at hand.
pub struct Statements<'a> {
    reader: &'a mut dyn BufRead,
    /// The next one without its end; empty if it was taken.
    next: String,
    is_at_end: bool,
}

impl<'a> Statements<'a> {
    pub fn new(reader: &'a mut dyn BufRead) -> Self {
        Self { reader, next: String::new(), is_at_end: false }
    }

    /// Has the next statement at hand; false at the end.
    fn fill(&mut self) -> Result<bool> {
        if !self.next.is_empty() || self.is_at_end {
            return Ok(!self.next.is_empty());
        }
        let mut bytes = Vec::new();
        loop {
            let read = self.reader.read_until(b';', &mut bytes).map_err(|error| unreadable(&error))?;
            // A semicolon within a text ends nothing: quotes cut what is there into an even number of parts.
            let is_whole = bytes.ends_with(b";") && bytes.split(|byte| *byte == b'\'').count() % 2 == 1;
            if is_whole {
                break;
            }
            if read == 0 {
                self.is_at_end = true;
                let rest = bytes.trim_ascii();
                return if rest.is_empty() { Ok(false) } else { Err(broken("it ends within a statement")) };
            }
        }
        bytes.pop();
        let text = String::from_utf8(bytes).map_err(|_| broken("it is no UTF-8"))?;
        text.trim_start().clone_into(&mut self.next);
        Ok(true)
    }

    /// Takes the next statement if it is no row.
    pub fn definition(&mut self) -> Result<Option<String>> {
        if !self.fill()? || self.next.starts_with(INSERT) {
            return Ok(None);
        }
        Ok(Some(std::mem::take(&mut self.next)))
    }

    /// The table of the next statement if it is a row.
    pub fn table(&mut self) -> Result<Option<&str>> {
        self.fill()?;
        Ok(self.next.strip_prefix(INSERT).and_then(|rest| rest.split_once(VALUES)).map(|(table, _)| table))
    }

    /// How many values the row has that [`Statements::table`] told of.
    pub fn values(&self) -> Result<usize> {
        let (_, values) = self.next.split_once(VALUES).ok_or_else(|| broken("a row is missing"))?;
        let mut count = 0;
        each_value(values, |_| count += 1)?;
        Ok(count)
    }

    /// Takes the row that [`Statements::table`] told of.
    pub fn take_row(&mut self, row: &mut Row) -> Result<()> {
        let text = std::mem::take(&mut self.next);
        let (_, values) = text.split_once(VALUES).ok_or_else(|| broken("a row is missing"))?;
        each_value(values, |value| row.push(value))
    }
}

/// Calls `each` with the values of a list and its closing bracket.
fn each_value(list: &str, mut each: impl FnMut(Value<'_>)) -> Result<()> {
    let mut rest = list;
    loop {
        rest = if let Some(text) = rest.strip_prefix('\'') {
            let end = end_of_text(text).ok_or_else(|| broken("a text has no end"))?;
            let inside = &text[..end];
            if inside.contains('\'') {
                each(Value::Text(&inside.replace("''", "'")));
            } else {
                each(Value::Text(inside));
            }
            &text[end + 1..]
        } else {
            let end = rest.find([',', ')']).ok_or_else(|| broken("a list has no end"))?;
            each(number(&rest[..end])?);
            &rest[end..]
        };
        match rest.as_bytes().first() {
            Some(b',') => rest = &rest[1..],
            Some(b')') => return Ok(()),
            _ => return Err(broken("a value is followed by neither a comma nor a bracket")),
        }
    }
}

/// Where the quote is that ends a text: one that no other follows.
fn end_of_text(text: &str) -> Option<usize> {
    let mut from = 0;
    loop {
        let quote = from + text[from..].find('\'')?;
        if text.as_bytes().get(quote + 1) != Some(&b'\'') {
            return Some(quote);
        }
        from = quote + 2;
    }
}

fn number(text: &str) -> Result<Value<'static>> {
    if text == "NULL" {
        return Ok(Value::Null);
    }
    let whole = text.parse().ok().map(Value::BigInt);
    let number = whole.or_else(|| text.parse().ok().map(Value::Float));
    number.ok_or_else(|| broken("a value is neither a number nor a text"))
}

fn broken(what: &str) -> Error {
    Error::new(ErrorKind::Statement, format!("the dump can't be read: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let mut row = Row::default();
        let values = [
            Value::BigInt(i64::MIN),
            Value::Null,
            Value::Text("it's; a 'text'),\n"),
            Value::Text(""),
            Value::Text("'"),
            Value::Float(0.1),
            Value::Float(1e300),
            Value::Float(-3.0),
            Value::Float(f64::NEG_INFINITY),
            Value::BigInt(7),
        ];
        for value in values {
            row.push(value);
        }
        let (mut dump, mut line) = ("CREATE TABLE t (a);\n".to_owned(), String::new());
        for _ in 0..2 {
            write_row(&mut line, "t", &row);
            dump.push_str(&line);
        }
        dump.push_str("CREATE INDEX i ON t (a);\n");
        let mut reader = dump.as_bytes();
        let mut statements = Statements::new(&mut reader);
        assert_eq!(statements.table().unwrap(), None);
        assert_eq!(statements.definition().unwrap().unwrap(), "CREATE TABLE t (a)");
        for _ in 0..2 {
            assert_eq!(statements.definition().unwrap(), None);
            assert_eq!(statements.table().unwrap(), Some("t"));
            assert_eq!(statements.values().unwrap(), values.len());
            let mut read = Row::default();
            statements.take_row(&mut read).unwrap();
            assert_eq!(read.values().collect::<Vec<_>>(), values);
        }
        assert_eq!(statements.definition().unwrap().unwrap(), "CREATE INDEX i ON t (a)");
        assert_eq!(statements.definition().unwrap(), None);
        assert_eq!(statements.table().unwrap(), None);
    }

    #[test]
    fn a_dump_that_is_cut_off_is_an_error() {
        for (text, server_error) in [
            ("CREATE TABLE t (a)", "it ends within a statement"),
            ("INSERT INTO t VALUES(1,'a;", "it ends within a statement"),
            ("INSERT INTO t VALUES(1;", "a list has no end"),
            ("INSERT INTO t VALUES(x);", "a value is neither a number nor a text"),
            ("INSERT INTO t VALUES('a'1);", "a value is followed by neither a comma nor a bracket"),
        ] {
            let mut reader = text.as_bytes();
            let mut statements = Statements::new(&mut reader);
            let error = statements.table().map(drop).and_then(|()| statements.values()).unwrap_err();
            assert_eq!(error.message, format!("the dump can't be read: {server_error}"), "{text}");
        }
    }
}
