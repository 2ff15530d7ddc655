//! Rows in the protocol's binary form: decoded for sessions, and only counted for requests.

use std::io;

use jiff::civil::DateTime;
use plimsoll_engine::statements::AnswerColumn;
use plimsoll_engine::{ColumnType, Result, Row, Value};

use super::error::statement;
use super::packet::Reader;
use super::time::milliseconds;

/// Types by their numbers in the protocol.
pub(super) mod kind {
    pub(crate) const TINY: u8 = 1;
    pub(crate) const SHORT: u8 = 2;
    pub(crate) const LONG: u8 = 3;
    pub(crate) const FLOAT: u8 = 4;
    pub(crate) const DOUBLE: u8 = 5;
    pub(crate) const NULL: u8 = 6;
    pub(crate) const TIMESTAMP: u8 = 7;
    pub(crate) const LONGLONG: u8 = 8;
    pub(crate) const INT24: u8 = 9;
    pub(crate) const DATE: u8 = 10;
    pub(crate) const TIME: u8 = 11;
    pub(crate) const DATETIME: u8 = 12;
    pub(crate) const YEAR: u8 = 13;
    pub(crate) const DECIMAL: u8 = 0;
    pub(crate) const NEWDECIMAL: u8 = 246;
    pub(crate) const VAR_STRING: u8 = 253;
}

/// Values of this column have no sign.
const UNSIGNED: u16 = 32;
/// Ten-thousandths in one.
const MONEY: i128 = 10_000;
const MONEY_DECIMALS: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) kind: u8,
    pub(super) unsigned: bool,
}

impl Column {
    /// Takes a column's packet apart: six names, then what is fixed.
    pub(super) fn of(packet: &[u8]) -> io::Result<Self> {
        let mut reader = Reader(packet);
        for _ in 0..6 {
            reader.text()?;
        }
        reader.length()?;
        reader.bytes(6)?;
        let kind = reader.u8()?;
        let flags = reader.u16()?;
        Ok(Self { kind, unsigned: flags & UNSIGNED != 0 })
    }

    /// The server's word for what the column holds. Numbers of all widths have one word here, and so have all texts: no manual
    /// says which of them an answer has.
    const fn word(self) -> &'static str {
        match self.kind {
            kind::DECIMAL | kind::NEWDECIMAL => "decimal",
            kind::FLOAT | kind::DOUBLE => "double",
            kind::DATE => "date",
            kind::TIME => "time",
            kind::DATETIME | kind::TIMESTAMP => "datetime",
            kind::NULL => "null",
            _ if self.is_integer() => "bigint",
            _ => "varchar",
        }
    }

    /// Bytes of a value; `None` if they stand in front of it.
    const fn width(self) -> Option<usize> {
        match self.kind {
            kind::TINY => Some(1),
            kind::SHORT | kind::YEAR => Some(2),
            kind::LONG | kind::INT24 | kind::FLOAT => Some(4),
            kind::LONGLONG | kind::DOUBLE => Some(8),
            kind::NULL => Some(0),
            _ => None,
        }
    }

    const fn is_integer(self) -> bool {
        matches!(self.kind, kind::TINY | kind::SHORT | kind::LONG | kind::INT24 | kind::LONGLONG | kind::YEAR)
    }

    const fn is_decimal(self) -> bool {
        matches!(self.kind, kind::DECIMAL | kind::NEWDECIMAL)
    }

    /// Texts, and what else comes as one.
    const fn is_text(self) -> bool {
        self.kind == 15 || (self.kind >= 245 && self.kind != kind::NEWDECIMAL && self.kind != 255)
    }

    const fn is_moment(self) -> bool {
        matches!(self.kind, kind::DATETIME | kind::TIMESTAMP | kind::DATE)
    }

    /// Whether it can be read as this.
    const fn fits(self, asked: ColumnType) -> bool {
        match asked {
            ColumnType::Bit | ColumnType::TinyInt | ColumnType::SmallInt | ColumnType::Int | ColumnType::BigInt => {
                self.is_integer() || self.is_decimal() || self.kind == kind::NULL
            }
            ColumnType::Float => matches!(self.kind, kind::DOUBLE | kind::FLOAT | kind::NULL),
            ColumnType::Money => self.is_decimal() || self.kind == kind::NULL,
            ColumnType::DateTime => self.is_moment() || self.kind == kind::NULL,
            ColumnType::Text(_) => self.is_text() || self.kind == kind::NULL,
        }
    }
}

/// A column's packet as an answer's column.
pub(super) fn described(packet: &[u8]) -> io::Result<AnswerColumn> {
    let kind = Column::of(packet)?.word().to_owned();
    let mut reader = Reader(packet);
    // Before its name stand those of the catalogue, the database, and the table in two ways.
    for _ in 0..4 {
        reader.text()?;
    }
    Ok(AnswerColumn { name: String::from_utf8_lossy(reader.text()?).into_owned(), kind })
}

/// What a value of a column counts, and how long it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    width: Option<usize>,
    /// `None` for as many bytes as it has.
    content: Option<u8>,
    /// Columns beyond those asked for count nothing, as they are not looked at.
    counts: bool,
}

/// The sizes of a result's columns: those that were asked for, if they were; else by the types that the server states.
pub(super) fn sizes(asked: Option<&[ColumnType]>, columns: &[Column]) -> Result<Box<[Size]>> {
    if let Some(asked) = asked {
        check(asked, columns)?;
    }
    let size = |(index, column): (usize, &Column)| {
        let content = match asked {
            Some(asked) => asked.get(index).map(|kind| kind.content_bytes()),
            None => Some(of_column(*column)),
        };
        Size { width: column.width(), content: content.flatten(), counts: content.is_some() }
    };
    Ok(columns.iter().enumerate().map(size).collect())
}

/// An error if a result can't be read as what was asked for.
fn check(asked: &[ColumnType], columns: &[Column]) -> Result<()> {
    if columns.len() < asked.len() {
        return Err(statement("a query returned fewer columns than were asked for"));
    }
    match asked.iter().zip(columns).find(|(kind, column)| !column.fits(**kind)) {
        Some((kind, column)) => Err(misread(*kind, *column)),
        None => Ok(()),
    }
}

fn misread(asked: ColumnType, column: Column) -> plimsoll_engine::error::Error {
    statement(format_args!("a value of the server's type {} can't be read as {asked:?}", column.kind))
}

/// The closest type of ours; what has none counts as the text that it comes as.
const fn of_column(column: Column) -> Option<u8> {
    match column.kind {
        kind::TINY => Some(1),
        kind::SHORT | kind::YEAR => Some(2),
        kind::LONG | kind::INT24 | kind::FLOAT => Some(4),
        kind::LONGLONG | kind::DOUBLE | kind::DATETIME | kind::TIMESTAMP | kind::DATE | kind::TIME => Some(8),
        _ => None,
    }
}

/// The content of a row: a bit for each NULL from the third bit on, then the values. `None` if it is no such thing.
pub(super) fn content_bytes(row: &[u8], sizes: &[Size]) -> Option<u64> {
    let (nulls, mut rest) = row.split_at_checked((sizes.len() + 9) / 8)?;
    let mut content = 0;
    for (index, size) in sizes.iter().enumerate() {
        if nulls[(index + 2) / 8] & (1 << ((index + 2) % 8)) != 0 {
            continue;
        }
        let length = match (size.width, rest) {
            (Some(width), _) => width,
            // Most texts are short.
            (None, [length @ 0..=0xfa, after @ ..]) => {
                rest = after;
                usize::from(*length)
            }
            (None, _) => {
                let mut reader = Reader(rest);
                let length = usize::try_from(reader.length().ok()?).ok()?;
                rest = reader.0;
                length
            }
        };
        rest = rest.get(length..)?;
        if size.counts {
            content += size.content.map_or(length as u64, u64::from);
        }
    }
    Some(content)
}

pub(super) fn decode(bytes: &[u8], columns: &[Column], asked: &[ColumnType], row: &mut Row) -> Result<()> {
    check(asked, columns)?;
    let mut reader = Reader(bytes);
    let nulls = reader.bytes((columns.len() + 9) / 8).map_err(statement)?;
    for (index, (column, asked)) in columns.iter().zip(asked).enumerate() {
        if nulls[(index + 2) / 8] & (1 << ((index + 2) % 8)) != 0 {
            row.push(Value::Null);
            continue;
        }
        let value = match column.width() {
            Some(width) => reader.bytes(width),
            None => reader.text(),
        };
        let value = value.map_err(statement)?;
        row.push(self::value(*asked, *column, value).ok_or_else(|| misread(*asked, *column))?);
    }
    Ok(())
}

fn value(asked: ColumnType, column: Column, bytes: &[u8]) -> Option<Value<'_>> {
    Some(match asked {
        ColumnType::Bit => Value::Bit(integer(column, bytes)? != 0),
        ColumnType::TinyInt | ColumnType::SmallInt | ColumnType::Int | ColumnType::BigInt => {
            Value::of_whole(asked, integer(column, bytes)?)?
        }
        ColumnType::Float if column.kind == kind::FLOAT => {
            Value::Float(f32::from_le_bytes(bytes.try_into().ok()?).into())
        }
        ColumnType::Float => Value::Float(f64::from_le_bytes(bytes.try_into().ok()?)),
        ColumnType::Money => Value::Money(units(bytes)?),
        ColumnType::DateTime => Value::DateTime(moment(bytes)?),
        ColumnType::Text(_) => Value::Text(std::str::from_utf8(bytes).ok()?),
    })
}

/// An integer of any width; sums come as decimals.
fn integer(column: Column, bytes: &[u8]) -> Option<i64> {
    Some(match (column.kind, column.unsigned) {
        (kind::DECIMAL | kind::NEWDECIMAL, _) => {
            let units = i128::from(units(bytes)?);
            if units % MONEY != 0 {
                return None;
            }
            (units / MONEY) as i64
        }
        (kind::TINY, true) => i64::from(*bytes.first()?),
        (kind::TINY, false) => i64::from(*bytes.first()? as i8),
        (kind::SHORT, true) | (kind::YEAR, _) => u16::from_le_bytes(bytes.try_into().ok()?).into(),
        (kind::SHORT, false) => i16::from_le_bytes(bytes.try_into().ok()?).into(),
        (kind::LONG | kind::INT24, true) => u32::from_le_bytes(bytes.try_into().ok()?).into(),
        (kind::LONG | kind::INT24, false) => i32::from_le_bytes(bytes.try_into().ok()?).into(),
        (kind::LONGLONG, true) => u64::from_le_bytes(bytes.try_into().ok()?).try_into().ok()?,
        (kind::LONGLONG, false) => i64::from_le_bytes(bytes.try_into().ok()?),
        _ => return None,
    })
}

/// A decimal's text as ten-thousandths; `None` for what 64 bits of them can't hold exactly.
fn units(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    let (mut sum, mut decimals) = (0_i128, None);
    for byte in digits {
        match (byte, &mut decimals) {
            (b'.', None) => decimals = Some(0),
            (b'0'..=b'9', None) => sum = sum.checked_mul(10)?.checked_add(i128::from(byte - b'0'))?,
            (b'0'..=b'9', Some(count)) if *count < MONEY_DECIMALS => {
                sum = sum.checked_mul(10)?.checked_add(i128::from(byte - b'0'))?;
                *count += 1;
            }
            // Finer than money.
            (b'0', Some(_)) => {}
            _ => return None,
        }
    }
    for _ in decimals.unwrap_or(0)..MONEY_DECIMALS {
        sum = sum.checked_mul(10)?;
    }
    i64::try_from(if negative { -sum } else { sum }).ok()
}

/// A moment's bytes (date, then time, then microseconds, each only if it is not zero) as milliseconds since 1970.
fn moment(bytes: &[u8]) -> Option<i64> {
    let mut reader = Reader(bytes);
    let (year, [month, day]) = (reader.u16().ok()?, reader.array().ok()?);
    let [hour, minute, second] = if reader.0.is_empty() { [0; 3] } else { reader.array().ok()? };
    let microseconds = if reader.0.is_empty() { 0 } else { reader.u32().ok()? };
    let nanoseconds = i32::try_from(microseconds).ok().filter(|us| us % 1_000 == 0)?.checked_mul(1_000)?;
    let [month, day, hour, minute, second] = [month, day, hour, minute, second].map(|part| part as i8);
    milliseconds(DateTime::new(year as i16, month, day, hour, minute, second, nanoseconds).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn column(kind: u8) -> Column {
        Column { kind, unsigned: false }
    }

    #[test]
    fn decimals_are_exact() {
        for (text, expected) in [
            ("123.4500", Some(1_234_500)),
            ("-0.0001", Some(-1)),
            ("7", Some(70_000)),
            ("1.20000", Some(12_000)),
            ("0.00001", None),
            ("-922337203685477.5808", Some(i64::MIN)),
            ("922337203685477.5808", None),
            ("1e5", None),
        ] {
            assert_eq!(units(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn a_row_counts_by_type_and_length() {
        let columns = [column(kind::LONG), column(kind::LONGLONG), column(kind::VAR_STRING), column(kind::VAR_STRING)];
        // The second is NULL.
        let row = [&[0b1000][..], &[1, 2, 3, 4], &[3], b"abc", &[1], b"x"].concat();
        let asked = [ColumnType::Int, ColumnType::BigInt, ColumnType::Text(5)];
        assert_eq!(content_bytes(&row, &sizes(Some(&asked), &columns).unwrap()), Some(4 + 3));
        assert_eq!(content_bytes(&row, &sizes(None, &columns).unwrap()), Some(4 + 3 + 1));
        for length in 0..row.len() {
            assert_eq!(content_bytes(&row[..length], &sizes(None, &columns).unwrap()), None, "{length}");
        }
        let mut decoded = Row::default();
        decode(&row, &columns, &asked, &mut decoded).unwrap();
        assert_eq!(decoded.get(0), Value::Int(0x0403_0201));
        assert_eq!((decoded.get(1), decoded.get(2)), (Value::Null, Value::Text("abc")));
        assert!(sizes(Some(&[ColumnType::Text(1)]), &columns[..1]).is_err());
        assert!(sizes(Some(&asked), &columns[..2]).is_err());
    }

    proptest! {
        #[test]
        fn strange_bytes_do_no_harm(bytes: Vec<u8>) {
            let kinds = [kind::TINY, kind::LONGLONG, kind::DATETIME, kind::NEWDECIMAL, kind::VAR_STRING, kind::DOUBLE];
            for kind in kinds {
                let columns = [column(kind)];
                let _ = content_bytes(&bytes, &sizes(None, &columns).unwrap());
                for asked in [ColumnType::Bit, ColumnType::BigInt, ColumnType::Money, ColumnType::DateTime, ColumnType::Text(3)] {
                    let _ = decode(&bytes, &columns, &[asked], &mut Row::default());
                }
            }
            let _ = Column::of(&bytes);
        }
    }
}
