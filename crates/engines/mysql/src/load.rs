//! Loading rows in one transaction: by `LOAD DATA LOCAL INFILE`, where the server asks for a file and gets the rows as
//! they are made. Or by `INSERT` of many rows where the server takes no files.

use plimsoll_engine::{ColumnType, Error, ErrorKind, Result, Row, RowSource, RowSummary, Table, Value, Workspace};

use super::binary::{put_digits, put_integer, put_money};
use super::connection::{Connection, Done};
use super::error::statement;
use super::statements::{of_table, quoted, text};
use super::time::civil;
use super::wire_connection::ServerError;

/// Bytes of one packet: far less than the sockets hold, so that the server has work while the next one is made.
const PACKET_BYTES: usize = 64 * 1024;
/// Bytes of one statement: a full disk must not be found out when a hundred gigabytes have been sent in vain.
const PIECE_BYTES: usize = 64 << 20;
/// Bytes of one `INSERT`: half of the smallest packet that a server is set to by default.
const INSERT_BYTES: usize = 512 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    File,
    Insert,
}

/// Loads all rows, or none.
pub(super) fn load(
    connection: &mut Connection,
    workspace: &Workspace,
    table: &Table,
    rows: &mut dyn RowSource,
    way: Way,
) -> Result<RowSummary> {
    connection.work(text("begin"))?;
    let loaded = match way {
        Way::File => by_file(connection, &of_table("load", workspace, &table.name), &table.types(), rows),
        Way::Insert => by_insert(connection, table, rows),
    };
    let ended = connection.work(if loaded.is_ok() { text("commit") } else { text("roll back") });
    connection.link.line.shrink();
    loaded.and_then(|row_summary| ended.map(|_| row_summary))
}

fn by_file(
    connection: &mut Connection,
    sql: &str,
    kinds: &[ColumnType],
    rows: &mut dyn RowSource,
) -> Result<RowSummary> {
    let (mut row_summary, mut row) = (RowSummary::default(), Row::default());
    let mut more = true;
    while more {
        let before = row_summary.rows;
        let mut sent = 0;
        let loaded = connection.query(sql, &mut |out| {
            let start = out.len();
            while out.len() - start < PACKET_BYTES {
                row.clear();
                more = sent < PIECE_BYTES && rows.next(&mut row)?;
                if !more {
                    // A full piece is followed by another one.
                    more = sent >= PIECE_BYTES;
                    return Ok(false);
                }
                put_line(&row, kinds, out)?;
                row_summary.add(&mut row);
            }
            sent += out.len() - start;
            Ok(true)
        });
        let done = loaded.map_err(|failed| connection.fail(failed))?;
        accepted(connection, done, row_summary.rows - before)?;
    }
    Ok(row_summary)
}

/// A server can't stop a client that sends a file, so it passes over rows that it doesn't take, and warns.
fn accepted(connection: &mut Connection, done: Done, rows: u64) -> Result<()> {
    if done.rows == rows && done.warnings == 0 {
        return Ok(());
    }
    let warnings = connection.ask(text("warnings"))?;
    Err(match warnings.first().map(Vec::as_slice) {
        Some([_, Some(code), Some(message)]) => {
            let server_error = ServerError { code: code.parse().unwrap_or(0), message: message.clone() };
            connection.errors.answered(&server_error)
        }
        _ => statement(format_args!("of {rows} rows the server took {}", done.rows)),
    })
}

fn by_insert(connection: &mut Connection, table: &Table, rows: &mut dyn RowSource) -> Result<RowSummary> {
    let begin = format!("INSERT INTO {} VALUES ", quoted(&table.name));
    let kinds = table.types();
    let (mut row_summary, mut row) = (RowSummary::default(), Row::default());
    let mut sql = Vec::with_capacity(INSERT_BYTES + 8 * 1024);
    loop {
        row.clear();
        let more = rows.next(&mut row)?;
        if (!more || sql.len() >= INSERT_BYTES) && !sql.is_empty() {
            // Only ASCII and texts went into it.
            let text = std::str::from_utf8(&sql).map_err(statement)?;
            connection.work(text)?;
            sql.clear();
        }
        if !more {
            return Ok(row_summary);
        }
        sql.extend_from_slice(if sql.is_empty() { begin.as_bytes() } else { b", " });
        put_values(&row, &kinds, &mut sql)?;
        row_summary.add(&mut row);
    }
}

/// A fault of ours: a row that is not the table's.
fn unfit(row: &Row, kinds: &[ColumnType]) -> Result<()> {
    if row.len() != kinds.len() {
        return Err(Error::new(ErrorKind::Internal, "a row of a load has another number of values than the table"));
    }
    let fits = |(value, kind): &(Value<'_>, &ColumnType)| {
        value.kind().is_none_or(|of| of == **kind || matches!((of, kind), (ColumnType::Text(_), ColumnType::Text(_))))
    };
    match row.values().zip(kinds).find(|pair| !fits(pair)) {
        Some((value, kind)) => {
            Err(Error::new(ErrorKind::Internal, format!("a load puts {value:?} into a column of {kind:?}")))
        }
        None => Ok(()),
    }
}

/// Appends a row as a line of a file: values between tabs, a backslash before what would else mean something.
fn put_line(row: &Row, kinds: &[ColumnType], out: &mut Vec<u8>) -> Result<()> {
    unfit(row, kinds)?;
    for (index, value) in row.values().enumerate() {
        if index > 0 {
            out.push(b'\t');
        }
        match value {
            Value::Null => out.extend_from_slice(b"\\N"),
            Value::Text(text) => put_escaped(text, b"\\\t\n\r\0", out),
            value => put_plain(value, out)?,
        }
    }
    out.push(b'\n');
    Ok(())
}

/// Appends a row as one of the values of an `INSERT`.
fn put_values(row: &Row, kinds: &[ColumnType], out: &mut Vec<u8>) -> Result<()> {
    unfit(row, kinds)?;
    for (index, value) in row.values().enumerate() {
        out.push(if index == 0 { b'(' } else { b',' });
        match value {
            Value::Null => out.extend_from_slice(b"NULL"),
            Value::Text(text) => {
                out.push(b'\'');
                put_escaped(text, b"\\'\0", out);
                out.push(b'\'');
            }
            Value::DateTime(_) => {
                out.push(b'\'');
                put_plain(value, out)?;
                out.push(b'\'');
            }
            value => put_plain(value, out)?,
        }
    }
    out.push(b')');
    Ok(())
}

/// Appends a text, with a backslash before each of these bytes.
fn put_escaped(text: &str, special: &[u8], out: &mut Vec<u8>) {
    let mut rest = text.as_bytes();
    while let Some(at) = rest.iter().position(|byte| special.contains(byte)) {
        out.extend_from_slice(&rest[..at]);
        // A zero is written as a digit; everything else stands for itself.
        out.extend_from_slice(&[b'\\', if rest[at] == 0 { b'0' } else { rest[at] }]);
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
}

/// Appends what has no sign in it that could mean something else.
fn put_plain(value: Value<'_>, out: &mut Vec<u8>) -> Result<()> {
    use std::io::Write as _;
    match value {
        Value::Bit(bit) => out.push(b'0' + u8::from(bit)),
        Value::TinyInt(number) => put_digits(number.into(), 1, out),
        Value::SmallInt(number) => put_integer(number.into(), out),
        Value::Int(number) => put_integer(number.into(), out),
        Value::BigInt(number) => put_integer(number, out),
        // The shortest text that means this number, never a long row of zeros. Writing to a vector can't fail.
        Value::Float(number) if number.is_finite() => drop(write!(out, "{number:e}")),
        Value::Float(_) => return Err(statement("a number that is infinite or none can't be stored")),
        Value::Money(units) => put_money(units, out),
        Value::DateTime(ms) => {
            let at = civil(ms).ok_or_else(|| statement("a time lies beyond what a datetime can hold"))?;
            for (number, least, end) in [
                (at.year() as u64, 4, b'-'),
                (at.month() as u64, 2, b'-'),
                (at.day() as u64, 2, b' '),
                (at.hour() as u64, 2, b':'),
                (at.minute() as u64, 2, b':'),
                (at.second() as u64, 2, b'.'),
            ] {
                put_digits(number, least, out);
                out.push(end);
            }
            put_digits(at.millisecond() as u64, 3, out);
        }
        Value::Null | Value::Text(_) => return Err(Error::new(ErrorKind::Internal, "a text is no number")),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [ColumnType; 6] = [
        ColumnType::Int,
        ColumnType::Money,
        ColumnType::Text(9),
        ColumnType::Float,
        ColumnType::Bit,
        ColumnType::DateTime,
    ];

    fn row() -> Row {
        let mut row = Row::default();
        for value in [
            Value::Int(-2),
            Value::Null,
            Value::Text("a'\tb\\"),
            Value::Float(1.5e300),
            Value::Bit(true),
            Value::DateTime(-1),
        ] {
            row.push(value);
        }
        row
    }

    #[test]
    fn a_row_is_a_line_or_a_list_of_values() {
        let mut out = Vec::new();
        put_line(&row(), &KINDS, &mut out).unwrap();
        let expected = "-2\t\\N\ta'\\\tb\\\\\t1.5e300\t1\t1969-12-31 23:59:59.999\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
        let mut out = Vec::new();
        put_values(&row(), &KINDS, &mut out).unwrap();
        let expected = "(-2,NULL,'a\\'\tb\\\\',1.5e300,1,'1969-12-31 23:59:59.999')";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn a_row_that_is_not_the_tables_is_a_fault_of_ours() {
        for kinds in [&KINDS[..5], &[ColumnType::BigInt; 6]] {
            assert_eq!(put_line(&row(), kinds, &mut Vec::new()).unwrap_err().kind, ErrorKind::Internal);
        }
        let mut infinite = Row::default();
        infinite.push(Value::Float(f64::INFINITY));
        assert!(put_line(&infinite, &[ColumnType::Float], &mut Vec::new()).is_err());
    }
}
