//! Values in PostgreSQL's binary form: numbers big endian, numeric in digits of base 10,000 (`numeric_send` in
//! `utils/adt/numeric.c`), timestamps in microseconds since 2000-01-01.

use plimsoll_engine::{ColumnType, Result, Row, Value};
use postgres_protocol::IsNull;
use postgres_types::Type;
use postgres_types::private::BytesMut;

use super::error::statement;
use super::wire_connection::Reader;

/// 2000-01-01T00:00:00Z in milliseconds since 1970.
const EPOCH_MS: i64 = 946_684_800_000;
/// Ten-thousandths in one; also the base of numeric's digits, so money has exactly one digit behind the point.
const BASE: u64 = 10_000;
/// Bytes of the longest money: a header of eight and five digits.
const NUMERIC_BYTES: usize = 18;
const NUMERIC_NEGATIVE: u16 = 0x4000;
const MONEY_DECIMALS: u8 = 4;

/// A timestamp's microseconds; `None` beyond the type's range.
pub(super) fn timestamp(ms: i64) -> Option<i64> {
    ms.checked_sub(EPOCH_MS)?.checked_mul(1_000)
}

/// Milliseconds since 1970; `None` for fractions of them and for infinity.
fn timestamp_ms(microseconds: i64) -> Option<i64> {
    (microseconds % 1_000 == 0).then(|| microseconds / 1_000 + EPOCH_MS)
}

/// Ten-thousandths as numeric: the bytes and how many of them count.
pub(super) fn numeric(units: i64) -> ([u8; NUMERIC_BYTES], usize) {
    let mut bytes = [0; NUMERIC_BYTES];
    bytes[7] = MONEY_DECIMALS;
    let mut digits = [0u16; 5];
    let (mut rest, mut first) = (units.unsigned_abs(), digits.len());
    while rest > 0 {
        first -= 1;
        digits[first] = (rest % BASE) as u16;
        rest /= BASE;
    }
    let last = digits.iter().rposition(|digit| *digit != 0).map_or(0, |index| index + 1);
    if last == 0 {
        return (bytes, 8);
    }
    let count = last - first;
    bytes[..2].copy_from_slice(&(count as i16).to_be_bytes());
    // The weight is the power of the base of the first digit; the last of the five stands behind the point.
    bytes[2..4].copy_from_slice(&(3 - first as i16).to_be_bytes());
    if units < 0 {
        bytes[4..6].copy_from_slice(&NUMERIC_NEGATIVE.to_be_bytes());
    }
    for (field, digit) in bytes[8..].chunks_exact_mut(2).zip(&digits[first..last]) {
        field.copy_from_slice(&digit.to_be_bytes());
    }
    (bytes, 8 + 2 * count)
}

/// Numeric as ten-thousandths; `None` for what 64 bits of them can't hold exactly.
fn numeric_units(bytes: &[u8]) -> Option<i64> {
    let word = |index: usize| Some(u16::from_be_bytes(bytes.get(2 * index..2 * index + 2)?.try_into().ok()?));
    let (count, weight, sign) = (word(0)?, i32::from(word(1)? as i16), word(2)?);
    let mut units: i128 = 0;
    for index in 0..count {
        let digit = i128::from(word(4 + usize::from(index))?);
        let power = weight - i32::from(index) + 1;
        match u32::try_from(power) {
            Ok(power) if digit != 0 => units += digit.checked_mul(i128::from(BASE).checked_pow(power)?)?,
            // Leading zeros or finer than a ten-thousandth.
            _ if digit == 0 => {}
            _ => return None,
        }
    }
    match sign {
        0 => i64::try_from(units).ok(),
        NUMERIC_NEGATIVE => i64::try_from(-units).ok(),
        _ => None,
    }
}

/// Appends a parameter, as whatever type the statement wants there; the error says why it doesn't fit.
pub(super) fn put(value: Value<'_>, ty: &Type, out: &mut BytesMut) -> std::result::Result<IsNull, String> {
    let integer = match value {
        Value::Null => return Ok(IsNull::Yes),
        Value::Bit(value) if *ty != Type::BOOL => Some(i64::from(value)),
        Value::TinyInt(value) => Some(value.into()),
        Value::SmallInt(value) => Some(value.into()),
        Value::Int(value) => Some(value.into()),
        Value::BigInt(value) => Some(value),
        _ => None,
    };
    let large = |value: i64| format!("{value} is too large for the type {ty}");
    let unfit = || format!("a value does not fit the type {ty}");
    match (value, integer) {
        (_, Some(value)) => match *ty {
            Type::INT2 => out.extend_from_slice(&i16::try_from(value).map_err(|_| large(value))?.to_be_bytes()),
            Type::INT4 => out.extend_from_slice(&i32::try_from(value).map_err(|_| large(value))?.to_be_bytes()),
            Type::INT8 => out.extend_from_slice(&value.to_be_bytes()),
            Type::FLOAT8 => out.extend_from_slice(&(value as f64).to_be_bytes()),
            Type::NUMERIC => {
                let (bytes, length) = numeric(value.checked_mul(BASE as i64).ok_or_else(unfit)?);
                out.extend_from_slice(&bytes[..length]);
            }
            _ => return Err(unfit()),
        },
        (Value::Bit(value), _) => out.extend_from_slice(&[u8::from(value)]),
        (Value::Float(value), _) if *ty == Type::FLOAT8 => out.extend_from_slice(&value.to_be_bytes()),
        (Value::Money(units), _) if *ty == Type::NUMERIC => {
            let (bytes, length) = numeric(units);
            out.extend_from_slice(&bytes[..length]);
        }
        (Value::DateTime(ms), _) if *ty == Type::TIMESTAMP || *ty == Type::TIMESTAMPTZ => {
            out.extend_from_slice(&timestamp(ms).ok_or_else(unfit)?.to_be_bytes());
        }
        (Value::Text(text), _) if is_text(ty) => out.extend_from_slice(text.as_bytes()),
        _ => return Err(unfit()),
    }
    Ok(IsNull::No)
}

fn is_text(ty: &Type) -> bool {
    [Type::TEXT, Type::VARCHAR, Type::BPCHAR, Type::NAME, Type::UNKNOWN].contains(ty)
}

/// Puts a row's first values into `row`, as values of the types that were asked for; they came in columns of these types.
pub(super) fn decode(message: &[u8], columns: &[Type], kinds: &[ColumnType], row: &mut Row) -> Result<()> {
    row.clear();
    let mut reader = Reader::of(message);
    let count = reader.u16().map_err(statement)?;
    if usize::from(count) < kinds.len() || columns.len() < kinds.len() {
        return Err(statement("a query returned fewer columns than were asked for"));
    }
    for (kind, ty) in kinds.iter().zip(columns) {
        let found = match reader.value().map_err(statement)? {
            Some(raw) => value(*kind, ty, raw),
            None => Some(Value::Null),
        };
        row.push(found.ok_or_else(|| statement(format_args!("a value of type {ty} can't be read as {kind:?}")))?);
    }
    Ok(())
}

/// Whether a column of type `ty` can be read as this.
pub(super) fn fits(kind: ColumnType, ty: &Type) -> bool {
    let is_integer = || [Type::INT2, Type::INT4, Type::INT8, Type::NUMERIC].contains(ty);
    match kind {
        ColumnType::Bit => *ty == Type::BOOL || is_integer(),
        ColumnType::TinyInt | ColumnType::SmallInt | ColumnType::Int | ColumnType::BigInt => is_integer(),
        ColumnType::Float => *ty == Type::FLOAT8,
        ColumnType::Money => *ty == Type::NUMERIC,
        ColumnType::DateTime => *ty == Type::TIMESTAMP || *ty == Type::TIMESTAMPTZ,
        ColumnType::Text(_) => is_text(ty),
    }
}

fn value<'a>(kind: ColumnType, ty: &Type, raw: &'a [u8]) -> Option<Value<'a>> {
    Some(match kind {
        ColumnType::Bit if *ty == Type::BOOL => Value::Bit(*raw.first()? != 0),
        ColumnType::Bit => Value::Bit(integer(ty, raw)? != 0),
        ColumnType::TinyInt => Value::TinyInt(integer(ty, raw)?.try_into().ok()?),
        ColumnType::SmallInt => Value::SmallInt(integer(ty, raw)?.try_into().ok()?),
        ColumnType::Int => Value::Int(integer(ty, raw)?.try_into().ok()?),
        ColumnType::BigInt => Value::BigInt(integer(ty, raw)?),
        ColumnType::Float if *ty == Type::FLOAT8 => Value::Float(f64::from_be_bytes(raw.try_into().ok()?)),
        ColumnType::Money if *ty == Type::NUMERIC => Value::Money(numeric_units(raw)?),
        ColumnType::DateTime if *ty == Type::TIMESTAMP || *ty == Type::TIMESTAMPTZ => {
            Value::DateTime(timestamp_ms(i64::from_be_bytes(raw.try_into().ok()?))?)
        }
        ColumnType::Text(_) if is_text(ty) => Value::Text(std::str::from_utf8(raw).ok()?),
        _ => return None,
    })
}

/// An integer of any width; sums come as numeric.
fn integer(ty: &Type, raw: &[u8]) -> Option<i64> {
    match *ty {
        Type::INT2 => Some(i16::from_be_bytes(raw.try_into().ok()?).into()),
        Type::INT4 => Some(i32::from_be_bytes(raw.try_into().ok()?).into()),
        Type::INT8 => Some(i64::from_be_bytes(raw.try_into().ok()?)),
        Type::NUMERIC => numeric_units(raw).filter(|units| units % BASE as i64 == 0).map(|units| units / BASE as i64),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numeric_is_what_the_server_sends() {
        // numeric_send(123.4500): 2 digits, weight 0, positive, scale 4.
        let (bytes, length) = numeric(1_234_500);
        assert_eq!(bytes[..length], [0, 2, 0, 0, 0, 0, 0, 4, 0, 123, 0x11, 0x94]);
        // numeric_send(-0.0001): 1 digit, weight -1.
        let (bytes, length) = numeric(-1);
        assert_eq!(bytes[..length], [0, 1, 0xff, 0xff, 0x40, 0, 0, 4, 0, 1]);
        let (bytes, length) = numeric(0);
        assert_eq!(bytes[..length], [0, 0, 0, 0, 0, 0, 0, 4]);
    }

    #[test]
    fn what_money_cannot_hold_is_refused() {
        let finer = [0, 1, 0xff, 0xfe, 0, 0, 0, 8, 0, 1];
        let nan = [0, 0, 0, 0, 0xc0, 0, 0, 0];
        let huge = [0, 1, 0, 100, 0, 0, 0, 0, 0, 1];
        let short = [0, 9, 0, 0, 0, 0, 0, 4];
        for bytes in [&finer[..], &nan, &huge, &short] {
            assert_eq!(numeric_units(bytes), None);
        }
        assert_eq!((timestamp_ms(1), timestamp_ms(i64::MAX), timestamp_ms(i64::MIN)), (None, None, None));
    }

    proptest! {
        #[test]
        fn money_and_time_come_back(units: i64, ms in -9_000_000_000_000_000i64..9_000_000_000_000_000) {
            let (bytes, length) = numeric(units);
            prop_assert_eq!(numeric_units(&bytes[..length]), Some(units));
            prop_assert_eq!(timestamp(ms).and_then(timestamp_ms), Some(ms));
        }

        #[test]
        fn strange_bytes_do_no_harm(bytes: Vec<u8>) {
            for ty in [Type::NUMERIC, Type::INT4, Type::TIMESTAMP, Type::BOOL, Type::TEXT] {
                for kind in [ColumnType::Bit, ColumnType::BigInt, ColumnType::Money, ColumnType::DateTime, ColumnType::Text(3)] {
                    let _ = value(kind, &ty, &bytes);
                }
            }
        }
    }
}
