//! Loading by statements, for servers that can't take rows by the bulk protocol: many rows to a statement, all of them in one
//! transaction.

use std::fmt::Write as _;

use plimsoll_engine::{Error, ErrorKind, Row, RowSource, RowSummary, Table, Value};

use super::wire::{Fault, Outcome, Wire};
use super::{dialect, sql};

/// Rows of one statement; a server takes a thousand at most.
const ROWS_PER_STATEMENT: usize = 200;

/// Loads rows, all of them or none. The name is quoted.
pub(super) fn load(wire: &mut dyn Wire, name: &str, table: &Table, source: &mut dyn RowSource) -> Outcome<RowSummary> {
    wire.run(sql::BEGIN.sql())?;
    let loaded = insert(wire, name, table, source);
    if loaded.is_ok() {
        wire.run(sql::COMMIT.sql())?;
    } else if !wire.is_dead() {
        // The error that led here says more than one of the way back.
        let _ = wire.run(sql::ROLLBACK.sql());
    }
    loaded
}

fn insert(wire: &mut dyn Wire, name: &str, table: &Table, source: &mut dyn RowSource) -> Outcome<RowSummary> {
    let start = dialect::of(false).insert_start(name, table);
    let (mut row, mut row_summary, mut text, mut rows) = (Row::default(), RowSummary::default(), start.clone(), 0);
    loop {
        row.clear();
        let more = source.next(&mut row).map_err(Fault::Ours)?;
        if more {
            if row.len() != table.columns.len() {
                let message =
                    format!("a row to be loaded has {} values for {} columns", row.len(), table.columns.len());
                return Err(Fault::Ours(Error::new(ErrorKind::Internal, message)));
            }
            text.push_str(if rows == 0 { "(" } else { ", (" });
            for (index, value) in row.values().enumerate() {
                text.push_str(if index == 0 { "" } else { ", " });
                put(value, &mut text);
            }
            text.push(')');
            row_summary.add(&mut row);
            rows += 1;
        }
        if rows == ROWS_PER_STATEMENT || (!more && rows > 0) {
            wire.run(&text)?;
            start.clone_into(&mut text);
            rows = 0;
        }
        if !more {
            return Ok(row_summary);
        }
    }
}

/// Appends a value as it is written in a statement.
fn put(value: Value<'_>, text: &mut String) {
    let _ = match value {
        Value::Null => write!(text, "NULL"),
        Value::Bit(bit) => write!(text, "{}", u8::from(bit)),
        Value::TinyInt(number) => write!(text, "{number}"),
        Value::SmallInt(number) => write!(text, "{number}"),
        Value::Int(number) => write!(text, "{number}"),
        Value::BigInt(number) => write!(text, "{number}"),
        // With an exponent it is a float and no decimal.
        Value::Float(number) => write!(text, "{number:e}"),
        Value::Money(units) => write!(text, "{}", dialect::money(units)),
        Value::DateTime(milliseconds) => {
            let moment = jiff::Timestamp::from_millisecond(milliseconds).unwrap_or_default();
            write!(text, "'{}'", moment.strftime("%Y-%m-%dT%H:%M:%S%.3f"))
        }
        Value::Text(word) => write!(text, "{}'{}'", if word.is_ascii() { "" } else { "N" }, word.replace('\'', "''")),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_the_server_reads_them() {
        let mut text = String::new();
        for value in [
            Value::Null,
            Value::Bit(true),
            Value::BigInt(i64::MIN),
            Value::Float(0.1),
            Value::Float(f64::MAX),
            Value::Money(i64::MIN),
            Value::DateTime(-1),
            Value::Text("it's"),
            Value::Text("ä"),
        ] {
            put(value, &mut text);
            text.push(' ');
        }
        assert_eq!(
            text,
            "NULL 1 -9223372036854775808 1e-1 1.7976931348623157e308 CAST('-922337203685477.5808' AS money) \
             '1969-12-31T23:59:59.999' 'it''s' N'ä' "
        );
    }
}
