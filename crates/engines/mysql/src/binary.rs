//! Parameters in the protocol's binary form: a bit for each NULL, the types, the values.

use plimsoll_engine::{Result, Value};

use super::error::statement;
use super::packet::put_text;
use super::rows::kind;
use super::time::civil;

/// Behind a type: its values have no sign.
const UNSIGNED: u8 = 0x80;
/// Bytes of the longest money: a sign, 15 digits, a point and four more.
const MONEY_BYTES: usize = 21;

/// Appends parameters. They say of which type they are; the server makes of them what the statement wants.
pub(super) fn put_parameters(values: &[Value<'_>], out: &mut Vec<u8>) -> Result<()> {
    if values.is_empty() {
        return Ok(());
    }
    let nulls = out.len();
    out.resize(nulls + values.len().div_ceil(8), 0);
    // The types follow, always: a session's statements may be given others each time.
    out.push(1);
    for (index, value) in values.iter().enumerate() {
        let (kind, sign) = match value {
            Value::Null => {
                out[nulls + index / 8] |= 1 << (index % 8);
                (kind::NULL, 0)
            }
            Value::Bit(_) => (kind::TINY, 0),
            Value::TinyInt(_) => (kind::TINY, UNSIGNED),
            Value::SmallInt(_) => (kind::SHORT, 0),
            Value::Int(_) => (kind::LONG, 0),
            Value::BigInt(_) => (kind::LONGLONG, 0),
            Value::Float(_) => (kind::DOUBLE, 0),
            Value::Money(_) => (kind::NEWDECIMAL, 0),
            Value::DateTime(_) => (kind::DATETIME, 0),
            Value::Text(_) => (kind::VAR_STRING, 0),
        };
        out.extend_from_slice(&[kind, sign]);
    }
    for value in values {
        match *value {
            Value::Null => {}
            Value::Bit(bit) => out.push(u8::from(bit)),
            Value::TinyInt(number) => out.push(number),
            Value::SmallInt(number) => out.extend_from_slice(&number.to_le_bytes()),
            Value::Int(number) => out.extend_from_slice(&number.to_le_bytes()),
            Value::BigInt(number) => out.extend_from_slice(&number.to_le_bytes()),
            Value::Float(number) => out.extend_from_slice(&number.to_le_bytes()),
            Value::Money(units) => {
                let mut text = Vec::with_capacity(MONEY_BYTES);
                put_money(units, &mut text);
                put_text(out, &text);
            }
            Value::DateTime(ms) => {
                let at = civil(ms).ok_or_else(|| statement("a time lies beyond what a datetime can hold"))?;
                out.push(11);
                out.extend_from_slice(&at.year().to_le_bytes());
                out.extend([at.month(), at.day(), at.hour(), at.minute(), at.second()].map(|part| part as u8));
                out.extend_from_slice(&(at.subsec_nanosecond() / 1_000).to_le_bytes());
            }
            Value::Text(text) => put_text(out, text.as_bytes()),
        }
    }
    Ok(())
}

pub(super) fn put_integer(number: i64, out: &mut Vec<u8>) {
    if number < 0 {
        out.push(b'-');
    }
    put_digits(number.unsigned_abs(), 1, out);
}

/// Appends digits, with zeros in front up to so many.
pub(super) fn put_digits(mut number: u64, least: usize, out: &mut Vec<u8>) {
    let mut digits = [b'0'; 20];
    let mut first = digits.len();
    while number > 0 || digits.len() - first < least {
        first -= 1;
        digits[first] = b'0' + (number % 10) as u8;
        number /= 10;
    }
    out.extend_from_slice(&digits[first..]);
}

/// Appends ten-thousandths as a decimal.
pub(super) fn put_money(units: i64, out: &mut Vec<u8>) {
    if units < 0 {
        out.push(b'-');
    }
    let units = units.unsigned_abs();
    put_digits(units / 10_000, 1, out);
    out.push(b'.');
    put_digits(units % 10_000, 4, out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parameters_have_nulls_types_and_values() {
        let mut out = Vec::new();
        put_parameters(&[], &mut out).unwrap();
        assert!(out.is_empty());
        put_parameters(&[Value::Int(-2), Value::Null, Value::Text("ab"), Value::TinyInt(200)], &mut out).unwrap();
        let expected = [
            &[0b10, 1][..],
            &[kind::LONG, 0, kind::NULL, 0, kind::VAR_STRING, 0, kind::TINY, UNSIGNED],
            &[0xfe, 0xff, 0xff, 0xff],
            &[2, b'a', b'b'],
            &[200],
        ];
        assert_eq!(out, expected.concat());
        assert!(put_parameters(&[Value::DateTime(i64::MAX)], &mut Vec::new()).is_err());
    }

    proptest! {
        #[test]
        fn numbers_are_written_as_they_are(number: i64) {
            let mut out = Vec::new();
            put_integer(number, &mut out);
            prop_assert_eq!(String::from_utf8(out).unwrap(), number.to_string());
            let mut out = Vec::new();
            put_money(number, &mut out);
            let sign = if number < 0 { "-" } else { "" };
            let units = number.unsigned_abs();
            prop_assert_eq!(String::from_utf8(out).unwrap(), format!("{sign}{}.{:04}", units / 10_000, units % 10_000));
        }
    }
}
