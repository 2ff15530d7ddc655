//! Loading by `COPY ... FROM STDIN (FORMAT binary)`: no conversion on the server, and no allocation by row here.
//!
//! One transaction, several COPY statements: an error is heard only at the end of one. A full disk must not
//! be found out when a hundred gigabytes have been sent in vain.

use plimsoll_engine::{ColumnType, Error, ErrorKind, Result, Row, RowSource, RowSummary, Table, Value};
use postgres_types::private::BytesMut;

use super::connection::Connection;
use super::wire;

/// Bytes of one write: far less than the sockets hold, so that the server has work while the next one is made.
const WRITE_BYTES: usize = 64 * 1024;
/// Bytes of one COPY statement.
const PIECE_BYTES: usize = 64 << 20;
/// Signature, no flags, no extension.
const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
const TRAILER: [u8; 2] = (-1i16).to_be_bytes();
const NULL: [u8; 4] = (-1i32).to_be_bytes();

/// Loads all rows, or none.
pub(super) fn load(connection: &mut Connection, table: &Table, rows: &mut dyn RowSource) -> Result<RowSummary> {
    let columns: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
    let sql = format!("COPY {} ({}) FROM STDIN (FORMAT binary)", table.name, columns.join(", "));
    connection.work("BEGIN")?;
    let loaded = pieces(connection, &sql, &table.types(), rows);
    // After an error the server takes COMMIT for ROLLBACK, without a complaint.
    let ended = connection.work(if loaded.is_ok() { "COMMIT" } else { "ROLLBACK" });
    connection.link.line.shrink();
    loaded.and_then(|row_summary| ended.map(|_| row_summary))
}

fn pieces(
    connection: &mut Connection,
    sql: &str,
    kinds: &[ColumnType],
    rows: &mut dyn RowSource,
) -> Result<RowSummary> {
    let (mut row_summary, mut row) = (RowSummary::default(), Row::default());
    let mut more = true;
    while more {
        let mut sent = 0;
        connection.copy(sql, &mut |buffer| {
            if sent == 0 {
                buffer.extend_from_slice(HEADER);
            }
            while buffer.len() < WRITE_BYTES {
                row.clear();
                more = sent < PIECE_BYTES && rows.next(&mut row)?;
                if !more {
                    buffer.extend_from_slice(&TRAILER);
                    // A full piece is followed by another one.
                    more = sent >= PIECE_BYTES;
                    return Ok(false);
                }
                encode(&row, kinds, buffer)?;
                row_summary.add(&mut row);
            }
            sent += buffer.len();
            Ok(true)
        })?;
    }
    Ok(row_summary)
}

/// Appends a row: the number of fields, then each with its length in front.
fn encode(row: &Row, kinds: &[ColumnType], into: &mut BytesMut) -> Result<()> {
    if row.len() != kinds.len() {
        return Err(Error::new(ErrorKind::Internal, "a row of a load has another number of values than the table"));
    }
    into.extend_from_slice(&(kinds.len() as i16).to_be_bytes());
    for (value, kind) in row.values().zip(kinds) {
        match (value, kind) {
            (Value::Null, _) => into.extend_from_slice(&NULL),
            (Value::Bit(bit), ColumnType::Bit) => field(into, [u8::from(bit)]),
            (Value::TinyInt(number), ColumnType::TinyInt) => field(into, i16::from(number).to_be_bytes()),
            (Value::SmallInt(number), ColumnType::SmallInt) => field(into, number.to_be_bytes()),
            (Value::Int(number), ColumnType::Int) => field(into, number.to_be_bytes()),
            (Value::BigInt(number), ColumnType::BigInt) => field(into, number.to_be_bytes()),
            (Value::Float(number), ColumnType::Float) => field(into, number.to_be_bytes()),
            (Value::Money(units), ColumnType::Money) => {
                let (bytes, length) = wire::numeric(units);
                text(into, &bytes[..length]);
            }
            (Value::DateTime(ms), ColumnType::DateTime) => match wire::timestamp(ms) {
                Some(microseconds) => field(into, microseconds.to_be_bytes()),
                None => return Err(super::error::statement("a time lies beyond what a timestamp can hold")),
            },
            (Value::Text(string), ColumnType::Text(_)) => text(into, string.as_bytes()),
            (value, kind) => {
                return Err(Error::new(
                    ErrorKind::Internal,
                    format!("a load puts {value:?} into a column of {kind:?}"),
                ));
            }
        }
    }
    Ok(())
}

#[inline]
fn field<const N: usize>(into: &mut BytesMut, bytes: [u8; N]) {
    into.extend_from_slice(&(N as i32).to_be_bytes());
    into.extend_from_slice(&bytes);
}

#[inline]
fn text(into: &mut BytesMut, bytes: &[u8]) {
    into.extend_from_slice(&(bytes.len() as i32).to_be_bytes());
    into.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_its_fields_with_their_lengths() {
        let mut row = Row::default();
        for value in [Value::Int(-2), Value::Null, Value::Text("ab"), Value::TinyInt(200), Value::Bit(true)] {
            row.push(value);
        }
        let kinds = [ColumnType::Int, ColumnType::Money, ColumnType::Text(9), ColumnType::TinyInt, ColumnType::Bit];
        let mut bytes = BytesMut::new();
        encode(&row, &kinds, &mut bytes).unwrap();
        let expected = [
            &[0, 5][..],
            &[0, 0, 0, 4, 0xff, 0xff, 0xff, 0xfe],
            &[0xff; 4],
            &[0, 0, 0, 2, b'a', b'b'],
            &[0, 0, 0, 2, 0, 200],
            &[0, 0, 0, 1, 1],
        ];
        assert_eq!(bytes[..], expected.concat());
    }

    #[test]
    fn a_row_that_is_not_the_tables_is_a_fault_of_ours() {
        let mut row = Row::default();
        row.push(Value::Int(1));
        for kinds in [&[ColumnType::BigInt][..], &[ColumnType::Int, ColumnType::Int]] {
            assert_eq!(encode(&row, kinds, &mut BytesMut::new()).unwrap_err().kind, ErrorKind::Internal);
        }
    }
}
