//! How many bytes SQLite stores for a row ("Record Format" and "B-tree Pages" in SQLite's description of its file format).
//!
//! A record is a header (its own length and a serial type for each column, all varints) and the values. An integer
//! takes 0, 1, 2, 3, 4, 6 or 8 bytes by its value, whatever the column says. The key, an `INTEGER PRIMARY KEY`, is
//! stored as NULL, because it is the cell's row id.

use plimsoll_engine::{Row, Value};

use crate::records::RECORD_BYTES;

/// Bytes of a variable-length integer: seven bits each, nine bytes at most.
pub const fn varint_bytes(value: u64) -> u64 {
    let bits = (u64::BITS - value.leading_zeros()) as u64;
    match bits {
        0 => 1,
        57.. => 9,
        _ => bits.div_ceil(7),
    }
}

/// Bytes that an integer takes in a record; 0 and 1 are in the header alone.
const fn integer_bytes(value: i64) -> u64 {
    let magnitude = (if value < 0 { !value } else { value }) as u64;
    match magnitude {
        0 | 1 if value >= 0 => 0,
        0..=0x7f => 1,
        0x80..=0x7fff => 2,
        0x8000..=0x007f_ffff => 3,
        0x0080_0000..=0x7fff_ffff => 4,
        0x8000_0000..=0x7fff_ffff_ffff => 6,
        _ => 8,
    }
}

/// Bytes of a float: one without a fraction is stored as an integer where that is shorter.
fn float_bytes(value: f64) -> u64 {
    let whole = value as i64;
    // Zero has two signs, and neither is a fraction.
    let is_whole = (whole as f64).to_bits() == (value + 0.0).to_bits() && whole.unsigned_abs() < 1 << 62;
    if is_whole { integer_bytes(whole) } else { 8 }
}

/// Bytes of the record of a row that has the key as its first value.
pub fn payload_bytes(row: &Row) -> u64 {
    let (mut types, mut body) = (0, 0);
    for (column, value) in row.values().enumerate() {
        let (header, bytes) = match value {
            _ if column == 0 => (1, 0),
            Value::Null => (1, 0),
            Value::Bit(value) => (1, integer_bytes(value.into())),
            Value::TinyInt(value) => (1, integer_bytes(value.into())),
            Value::SmallInt(value) => (1, integer_bytes(value.into())),
            Value::Int(value) => (1, integer_bytes(value.into())),
            Value::BigInt(value) | Value::Money(value) | Value::DateTime(value) => (1, integer_bytes(value)),
            Value::Float(value) => (1, float_bytes(value)),
            Value::Text(text) => (varint_bytes(13 + 2 * text.len() as u64), text.len() as u64),
        };
        types += header;
        body += bytes;
    }
    let mut header = types + varint_bytes(types);
    if varint_bytes(header) > varint_bytes(types) {
        header += 1;
    }
    header + body
}

/// Bytes that a row costs the log when it is put into a table: those that SQLite stores, and those of its record.
pub const fn logged_bytes(key: u64, payload: u64) -> u64 {
    RECORD_BYTES + varint_bytes(payload) + varint_bytes(key) + payload
}

/// Bytes of a leaf's cell, its pointer included; `None` if a part of the record would go to overflow pages.
pub fn leaf_cell_bytes(key: u64, payload: u64, page_bytes: u64) -> Option<u64> {
    let cell = (varint_bytes(payload) + varint_bytes(key) + payload).max(4);
    (payload + 35 <= page_bytes).then_some(cell + 2)
}

/// Bytes of an inner page's cell, its pointer included: a child and the largest key beneath it.
pub const fn inner_cell_bytes(key: u64) -> u64 {
    4 + varint_bytes(key) + 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::Connection;

    #[test]
    fn varints_grow_by_seven_bits() {
        for (value, bytes) in [(0, 1), (127, 1), (128, 2), (16_383, 2), (16_384, 3), (1 << 21, 4), (1 << 56, 9)] {
            assert_eq!(varint_bytes(value), bytes, "{value}");
        }
        assert_eq!((varint_bytes((1 << 56) - 1), varint_bytes(u64::MAX)), (8, 9));
    }

    /// SQLite itself says what a record takes: `dbstat` shows the payload of a table's only row.
    #[test]
    fn a_record_is_as_long_as_sqlite_makes_it() {
        let text = "x".repeat(300);
        let integers = [0, 1, 2, -1, -2, 127, 128, -128, -129, 32_767, 32_768, 8_388_607, 8_388_608, -8_388_609];
        let large = [2_147_483_647, 2_147_483_648, (1 << 47) - 1, 1 << 47, -(1 << 47), -(1 << 47) - 1, i64::MIN];
        let values: Vec<Value<'_>> = integers
            .into_iter()
            .chain(large)
            .map(Value::BigInt)
            .chain([0.0, -0.0, 1.0, 0.5, 1e15, -3.0, 1e300, 70_000.0].map(Value::Float))
            .chain([0, 1, 57, 58, 300].map(|length| Value::Text(&text[..length])))
            .chain([Value::Bit(true), Value::TinyInt(200), Value::SmallInt(-300), Value::Int(70_000)])
            .collect();
        let wide: Vec<Value<'_>> = (0..140).map(Value::BigInt).collect();
        let rows = values.iter().map(|value| vec![*value]).chain([wide]);
        for values in rows {
            let connection = Connection::open_in_memory().unwrap();
            let columns: Vec<String> = values
                .iter()
                .enumerate()
                .map(|(index, value)| match value {
                    Value::Float(_) => format!("c{index} REAL"),
                    Value::Text(_) => format!("c{index} TEXT"),
                    _ => format!("c{index} INTEGER"),
                })
                .collect();
            let create = format!("CREATE TABLE t (k INTEGER PRIMARY KEY, {})", columns.join(", "));
            connection.execute_batch(&create).unwrap();
            let placeholders = vec!["?"; values.len() + 1].join(", ");
            let mut insert = connection.prepare(&format!("INSERT INTO t VALUES ({placeholders})")).unwrap();
            insert.raw_bind_parameter(1, 1).unwrap();
            let mut row = Row::default();
            row.push(Value::Int(1));
            for (index, value) in values.iter().enumerate() {
                row.push(*value);
                match *value {
                    Value::Float(float) => insert.raw_bind_parameter(index + 2, float),
                    Value::Text(text) => insert.raw_bind_parameter(index + 2, text),
                    Value::Bit(bit) => insert.raw_bind_parameter(index + 2, bit),
                    Value::TinyInt(integer) => insert.raw_bind_parameter(index + 2, integer),
                    Value::SmallInt(integer) => insert.raw_bind_parameter(index + 2, integer),
                    Value::Int(integer) => insert.raw_bind_parameter(index + 2, integer),
                    Value::BigInt(integer) => insert.raw_bind_parameter(index + 2, integer),
                    _ => unreachable!(),
                }
                .unwrap();
            }
            insert.raw_execute().unwrap();
            let sql = "SELECT sum(payload) FROM dbstat WHERE name = 't'";
            let stored: u64 = connection.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap() as u64;
            assert_eq!(payload_bytes(&row), stored, "{values:?}");
        }
    }

    #[test]
    fn a_record_that_does_not_fit_a_page_has_no_cell() {
        assert_eq!(leaf_cell_bytes(1, 4096 - 35, 4096), Some(4096 - 35 + 2 + 1 + 2));
        assert_eq!(leaf_cell_bytes(1, 4096 - 34, 4096), None);
        assert_eq!(inner_cell_bytes(16_384), 9);
    }
}
