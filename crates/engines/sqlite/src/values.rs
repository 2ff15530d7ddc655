//! Values on their way into SQLite and back.

use plimsoll_engine::{ColumnType, Error, ErrorKind, Result, Value};
use rusqlite::Statement;
use rusqlite::types::{Null, ValueRef};

/// Binds parameter `number`, from 1. SQLite would turn a NaN into NULL without a word, so it is refused.
pub(super) fn bind(statement: &mut Statement<'_>, number: usize, value: Value<'_>) -> rusqlite::Result<()> {
    match value {
        Value::Null => statement.raw_bind_parameter(number, Null),
        Value::Bit(bit) => statement.raw_bind_parameter(number, bit),
        Value::TinyInt(integer) => statement.raw_bind_parameter(number, integer),
        Value::SmallInt(integer) => statement.raw_bind_parameter(number, integer),
        Value::Int(integer) => statement.raw_bind_parameter(number, integer),
        Value::BigInt(integer) | Value::Money(integer) | Value::DateTime(integer) => {
            statement.raw_bind_parameter(number, integer)
        }
        Value::Float(float) if float.is_nan() => {
            Err(rusqlite::Error::ToSqlConversionFailure("NaN can't be stored".into()))
        }
        Value::Float(float) => statement.raw_bind_parameter(number, float),
        Value::Text(text) => statement.raw_bind_parameter(number, text),
    }
}

/// Reads a column as the type that was asked for.
pub(super) fn decode(stored: ValueRef<'_>, kind: ColumnType) -> Result<Value<'_>> {
    let value = match (kind, stored) {
        (_, ValueRef::Null) => Some(Value::Null),
        (ColumnType::Bit, ValueRef::Integer(0)) => Some(Value::Bit(false)),
        (ColumnType::Bit, ValueRef::Integer(1)) => Some(Value::Bit(true)),
        (ColumnType::Money, ValueRef::Integer(integer)) => Some(Value::Money(integer)),
        (ColumnType::DateTime, ValueRef::Integer(integer)) => Some(Value::DateTime(integer)),
        (kind, ValueRef::Integer(integer)) => Value::of_whole(kind, integer),
        (ColumnType::Float, ValueRef::Real(float)) => Some(Value::Float(float)),
        (ColumnType::Text(_), ValueRef::Text(bytes)) => std::str::from_utf8(bytes).ok().map(Value::Text),
        _ => None,
    };
    value.ok_or_else(|| {
        let stored = stored.data_type();
        Error::new(ErrorKind::Statement, format!("SQLite returned a value of type {stored} that is no {kind:?}"))
    })
}

/// Data content of a value of which no type is known.
pub(super) const fn content_bytes(stored: ValueRef<'_>) -> u64 {
    match stored {
        ValueRef::Null => 0,
        ValueRef::Integer(_) | ValueRef::Real(_) => 8,
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.len() as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_its_type_is_an_error() {
        assert_eq!(decode(ValueRef::Integer(255), ColumnType::TinyInt).unwrap(), Value::TinyInt(255));
        assert_eq!(decode(ValueRef::Null, ColumnType::TinyInt).unwrap(), Value::Null);
        for (stored, kind) in [
            (ValueRef::Integer(256), ColumnType::TinyInt),
            (ValueRef::Integer(2), ColumnType::Bit),
            (ValueRef::Real(1.0), ColumnType::BigInt),
            (ValueRef::Text(b"\xff"), ColumnType::Text(9)),
        ] {
            assert_eq!(decode(stored, kind).unwrap_err().kind, ErrorKind::Statement);
        }
    }
}
