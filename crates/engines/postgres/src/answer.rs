//! How much data content a row brings, without taking its values apart.

use plimsoll_engine::{ColumnType, Result};
use postgres_types::Type;

use super::error::statement;
use super::wire;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Size {
    /// So many bytes.
    Fixed(u8),
    /// As many as it has.
    Length,
}

/// The sizes of a statement's columns: those that were asked for, if they were; else by the types that the server states.
/// Columns beyond those asked for count nothing, as they are not looked at.
pub(super) fn sizes(asked: Option<&[ColumnType]>, stated: &[Type]) -> Result<Box<[Size]>> {
    let Some(asked) = asked else { return Ok(stated.iter().map(of_type).collect()) };
    if stated.len() < asked.len() {
        return Err(statement("a query returned fewer columns than were asked for"));
    }
    for (kind, ty) in asked.iter().zip(stated) {
        if !wire::fits(*kind, ty) {
            return Err(statement(format_args!("a value of type {ty} can't be read as {kind:?}")));
        }
    }
    Ok(asked.iter().map(|kind| of_kind(*kind)).collect())
}

/// As [`Value::content_bytes`](plimsoll_engine::Value::content_bytes) has it.
fn of_kind(kind: ColumnType) -> Size {
    match kind {
        ColumnType::Bit | ColumnType::TinyInt => Size::Fixed(1),
        ColumnType::SmallInt => Size::Fixed(2),
        ColumnType::Int => Size::Fixed(4),
        ColumnType::BigInt | ColumnType::Float | ColumnType::Money | ColumnType::DateTime => Size::Fixed(8),
        ColumnType::Text(_) => Size::Length,
    }
}

/// The closest type of ours; what has none counts as the text that it comes as.
fn of_type(ty: &Type) -> Size {
    match *ty {
        Type::BOOL => Size::Fixed(1),
        Type::INT2 => Size::Fixed(2),
        Type::INT4 | Type::FLOAT4 => Size::Fixed(4),
        Type::INT8 | Type::FLOAT8 | Type::MONEY | Type::TIMESTAMP | Type::TIMESTAMPTZ => Size::Fixed(8),
        _ => Size::Length,
    }
}

/// The content of a row: a number of values, each with its length in front, or -1 for NULL. `None` if it is no such thing.
pub(super) fn content_bytes(row: &[u8], sizes: &[Size]) -> Option<u64> {
    let mut rest = row.get(2..)?;
    let mut content = 0;
    for size in sizes {
        let (length, values) = rest.split_first_chunk::<4>()?;
        // NULL has no content.
        let length = match usize::try_from(i32::from_be_bytes(*length)) {
            Ok(length) => {
                content += match *size {
                    Size::Fixed(bytes) => u64::from(bytes),
                    Size::Length => length as u64,
                };
                length
            }
            Err(_) => 0,
        };
        rest = values.get(length..)?;
    }
    Some(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_counts_by_type_and_length() {
        let row =
            [&[0, 4][..], &[0, 0, 0, 4, 1, 2, 3, 4], &[0xff; 4], &[0, 0, 0, 3, b'a', b'b', b'c'], &[0, 0, 0, 1, b'x']]
                .concat();
        let sizes = [Size::Fixed(8), Size::Fixed(8), Size::Length];
        assert_eq!(content_bytes(&row, &sizes), Some(11));
        assert_eq!(content_bytes(&row, &[]), Some(0));
        for length in [0, 1, 3, 9, 13, 16] {
            assert_eq!(content_bytes(&row[..length], &sizes), None, "{length}");
        }
    }

    #[test]
    fn columns_are_checked_once() {
        let asked = [ColumnType::Bit, ColumnType::Text(5)];
        let sized = sizes(Some(&asked), &[Type::BOOL, Type::VARCHAR, Type::JSON]).unwrap();
        assert_eq!(*sized, [Size::Fixed(1), Size::Length]);
        assert!(sizes(Some(&asked), &[Type::BOOL]).is_err());
        assert!(sizes(Some(&asked), &[Type::BOOL, Type::INT4]).is_err());
        assert_eq!(*sizes(None, &[Type::INT2, Type::NUMERIC]).unwrap(), [Size::Fixed(2), Size::Length]);
    }
}
