//! Types and values (MS-TDS 2.2.5.4 and 2.2.5.5).

use std::io;

use super::bytes::{Reader, bad, put_wide, wide};

/// The collation of the document's examples: `Latin1_General`, code page 1252.
pub(super) const COLLATION: [u8; 5] = [0x09, 0x04, 0xD0, 0x00, 0x34];
/// A length that stands for NULL, or for a type without a largest length.
const NO_LENGTH: u16 = 0xFFFF;
/// A value without an end that is known.
const UNKNOWN_LENGTH: u64 = 0xFFFF_FFFF_FFFF_FFFE;
const NULL_LENGTH: u64 = 0xFFFF_FFFF_FFFF_FFFF;

/// A type, with what its values' form depends on. Lengths are in bytes; `MAX` has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `tinyint`, `smallint`, `int`, `bigint` that can't be NULL, by their bytes.
    Integer(u8),
    /// The same where it can.
    IntegerNull(u8),
    /// `bit NOT NULL`.
    Bit,
    /// `bit NULL`.
    BitNull,
    /// `real` (4) or `float` (8), `NOT NULL`.
    Float(u8),
    /// The same where it can be NULL.
    FloatNull(u8),
    /// `money NOT NULL`.
    Money,
    /// `money` (8) or `smallmoney` (4) that can be NULL.
    MoneyNull(u8),
    /// `datetime NOT NULL`.
    DateTime,
    /// `datetime` that can be NULL.
    DateTimeNull,
    /// `date`.
    Date,
    /// `datetime2` with so many decimals.
    DateTime2(u8),
    /// `decimal` of so many digits, so many of them decimals.
    Decimal(u8, u8),
    /// `varchar`; `None` for `MAX`.
    VarChar(Option<u16>),
    /// `char`.
    Char(u16),
    /// `nvarchar`; `None` for `MAX`.
    NVarChar(Option<u16>),
    /// `varbinary`; `None` for `MAX`.
    VarBinary(Option<u16>),
    /// `uniqueidentifier`.
    Guid,
}

/// Types that a byte says all of.
const OF_ONE_BYTE: [(u8, Kind); 10] = [
    (0x30, Kind::Integer(1)),
    (0x34, Kind::Integer(2)),
    (0x38, Kind::Integer(4)),
    (0x7F, Kind::Integer(8)),
    (0x32, Kind::Bit),
    (0x3B, Kind::Float(4)),
    (0x3E, Kind::Float(8)),
    (0x3C, Kind::Money),
    (0x3D, Kind::DateTime),
    (0x28, Kind::Date),
];

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub enum Datum {
    /// NULL.
    Null,
    /// `bit`.
    Bit(bool),
    /// All whole numbers.
    Integer(i64),
    /// `real` and `float`.
    Float(f64),
    /// Ten-thousandths.
    Money(i64),
    /// `datetime`: days since 1900-01-01, three-hundredths of a second.
    DateTime(i32, u32),
    /// `date` and `datetime2`: days since 0001-01-01, units of the type's last decimal.
    DateTime2(u32, u64),
    /// `decimal`: the digits without the point.
    Decimal(i128),
    /// All texts.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

impl From<&str> for Datum {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<i64> for Datum {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: Kind,
}

impl Column {
    /// A column.
    pub fn new(name: &str, kind: Kind) -> Self {
        Self { name: name.to_owned(), kind }
    }
}

/// Bytes of the part of a day with so many decimals.
const fn time_bytes(scale: u8) -> usize {
    match scale {
        0..=2 => 3,
        3..=4 => 4,
        _ => 5,
    }
}

impl Kind {
    /// True if a column of it can be NULL.
    pub(super) const fn can_be_null(self) -> bool {
        !matches!(self, Self::Integer(_) | Self::Bit | Self::Float(_) | Self::Money | Self::DateTime)
    }

    /// `TYPE_INFO`.
    pub(super) fn put(self, out: &mut Vec<u8>) {
        let mut with_length = |token: u8, length: u8| out.extend_from_slice(&[token, length]);
        match self {
            Self::IntegerNull(bytes) => with_length(0x26, bytes),
            Self::BitNull => with_length(0x68, 1),
            Self::FloatNull(bytes) => with_length(0x6D, bytes),
            Self::MoneyNull(bytes) => with_length(0x6E, bytes),
            Self::DateTimeNull => with_length(0x6F, 8),
            Self::DateTime2(scale) => with_length(0x2A, scale),
            Self::Decimal(precision, scale) => {
                out.extend_from_slice(&[0x6A, decimal_bytes(precision), precision, scale]);
            }
            Self::VarChar(length) => put_text_type(0xA7, length, out),
            Self::Char(length) => put_text_type(0xAF, Some(length), out),
            Self::NVarChar(length) => put_text_type(0xE7, length, out),
            Self::VarBinary(length) => {
                out.push(0xA5);
                out.extend_from_slice(&length.unwrap_or(NO_LENGTH).to_le_bytes());
            }
            Self::Guid => with_length(0x24, 16),
            _ => out.extend(OF_ONE_BYTE.iter().filter(|(_, kind)| *kind == self).map(|(token, _)| *token)),
        }
    }

    /// Reads `TYPE_INFO`.
    pub(super) fn read(reader: &mut Reader<'_>) -> io::Result<Self> {
        let token = reader.u8()?;
        if let Some((_, kind)) = OF_ONE_BYTE.iter().find(|(of, _)| *of == token) {
            return Ok(*kind);
        }
        let mut length = || reader.u8();
        Ok(match token {
            0x26 => Self::IntegerNull(length()?),
            0x6D => Self::FloatNull(length()?),
            0x6E => Self::MoneyNull(length()?),
            0x2A => Self::DateTime2(length()?),
            0x6A | 0x6C => {
                length()?;
                Self::Decimal(length()?, length()?)
            }
            0x24 | 0x68 | 0x6F => {
                length()?;
                match token {
                    0x24 => Self::Guid,
                    0x68 => Self::BitNull,
                    _ => Self::DateTimeNull,
                }
            }
            0xA7 | 0xAF | 0xE7 | 0xEF => {
                let length = reader.u16()?;
                reader.take(COLLATION.len())?;
                let most = (length != NO_LENGTH).then_some(length);
                match token {
                    0xA7 => Self::VarChar(most),
                    0xAF => Self::Char(length),
                    _ => Self::NVarChar(most),
                }
            }
            0xA5 => {
                let length = reader.u16()?;
                Self::VarBinary((length != NO_LENGTH).then_some(length))
            }
            _ => return Err(bad(&format!("type 0x{token:02X} is not known here"))),
        })
    }

    pub(super) fn put_value(self, value: &Datum, out: &mut Vec<u8>) -> io::Result<()> {
        let short = |bytes: &[u8], out: &mut Vec<u8>| {
            if self.can_be_null() {
                out.push(bytes.len() as u8);
            }
            out.extend_from_slice(bytes);
        };
        match (self, value) {
            (Self::VarChar(None) | Self::NVarChar(None) | Self::VarBinary(None), Datum::Null) => {
                out.extend_from_slice(&NULL_LENGTH.to_le_bytes());
            }
            (Self::VarChar(_) | Self::NVarChar(_) | Self::VarBinary(_) | Self::Char(_), Datum::Null) => {
                out.extend_from_slice(&NO_LENGTH.to_le_bytes());
            }
            (_, Datum::Null) if self.can_be_null() => out.push(0),
            (Self::Integer(bytes) | Self::IntegerNull(bytes), Datum::Integer(number)) => {
                short(&number.to_le_bytes()[..usize::from(bytes)], out);
            }
            (Self::Bit | Self::BitNull, Datum::Bit(bit)) => short(&[u8::from(*bit)], out),
            (Self::Float(4) | Self::FloatNull(4), Datum::Float(number)) => short(&(*number as f32).to_le_bytes(), out),
            (Self::Float(_) | Self::FloatNull(_), Datum::Float(number)) => short(&number.to_le_bytes(), out),
            (Self::MoneyNull(4), Datum::Money(units)) => short(&(*units as i32).to_le_bytes(), out),
            (Self::Money | Self::MoneyNull(_), Datum::Money(units)) => {
                // Two halves, the upper one first.
                let bytes = units.to_le_bytes();
                short(&[&bytes[4..], &bytes[..4]].concat(), out);
            }
            (Self::DateTime | Self::DateTimeNull, Datum::DateTime(days, thirds)) => {
                short(&[days.to_le_bytes(), thirds.to_le_bytes()].concat(), out);
            }
            (Self::Date, Datum::DateTime2(days, _)) => short(&days.to_le_bytes()[..3], out),
            (Self::DateTime2(scale), Datum::DateTime2(days, units)) => {
                short(&[&units.to_le_bytes()[..time_bytes(scale)], &days.to_le_bytes()[..3]].concat(), out);
            }
            (Self::Decimal(precision, _), Datum::Decimal(digits)) => {
                let magnitude = digits.unsigned_abs().to_le_bytes();
                let sign = u8::from(*digits >= 0);
                short(&[&[sign], &magnitude[..usize::from(decimal_bytes(precision)) - 1]].concat(), out);
            }
            (Self::VarChar(most), Datum::Text(text)) => put_long(most, text.as_bytes(), out),
            (Self::Char(length), Datum::Text(text)) => {
                put_long(Some(length), format!("{text:<width$}", width = usize::from(length)).as_bytes(), out);
            }
            (Self::NVarChar(most), Datum::Text(text)) => {
                let mut bytes = Vec::new();
                put_wide(&mut bytes, text);
                put_long(most, &bytes, out);
            }
            (Self::VarBinary(most), Datum::Bytes(bytes)) => put_long(most, bytes, out),
            (Self::Guid, Datum::Bytes(bytes)) => short(bytes, out),
            _ => return Err(bad(&format!("{value:?} is no value of {self:?}"))),
        }
        Ok(())
    }

    pub(super) fn read_value(self, reader: &mut Reader<'_>) -> io::Result<Datum> {
        if matches!(self, Self::VarChar(_) | Self::NVarChar(_) | Self::VarBinary(_) | Self::Char(_)) {
            let bytes = match self {
                Self::VarChar(None) | Self::NVarChar(None) | Self::VarBinary(None) => read_parts(reader)?,
                _ => match reader.u16()? {
                    NO_LENGTH => None,
                    length => Some(reader.take(length.into())?.to_vec()),
                },
            };
            let Some(bytes) = bytes else { return Ok(Datum::Null) };
            return Ok(match self {
                Self::NVarChar(_) => Datum::Text(wide(&bytes)?),
                Self::VarBinary(_) => Datum::Bytes(bytes),
                _ => Datum::Text(String::from_utf8(bytes).map_err(|_| bad("a text is not ASCII"))?),
            });
        }
        let length = if self.can_be_null() { usize::from(reader.u8()?) } else { self.fixed_bytes() };
        if length == 0 {
            return Ok(Datum::Null);
        }
        let bytes = reader.take(length)?;
        let number = |bytes: &[u8]| {
            let mut all = [0; 8];
            all[..bytes.len()].copy_from_slice(bytes);
            u64::from_le_bytes(all)
        };
        Ok(match self {
            Self::Integer(_) | Self::IntegerNull(_) if length == 1 => Datum::Integer(i64::from(bytes[0])),
            Self::Integer(_) | Self::IntegerNull(_) => {
                let shift = 64 - 8 * length as u32;
                Datum::Integer((number(bytes) << shift) as i64 >> shift)
            }
            Self::Bit | Self::BitNull => Datum::Bit(bytes[0] != 0),
            Self::Float(_) | Self::FloatNull(_) if length == 4 => {
                Datum::Float(f64::from(f32::from_bits(number(bytes) as u32)))
            }
            Self::Float(_) | Self::FloatNull(_) => Datum::Float(f64::from_bits(number(bytes))),
            Self::Money | Self::MoneyNull(_) if length == 4 => Datum::Money(i64::from(number(bytes) as i32)),
            Self::Money | Self::MoneyNull(_) => Datum::Money((number(&bytes[..4]) << 32 | number(&bytes[4..])) as i64),
            Self::DateTime | Self::DateTimeNull => {
                Datum::DateTime(number(&bytes[..4]) as i32, number(&bytes[4..]) as u32)
            }
            Self::Date => Datum::DateTime2(number(bytes) as u32, 0),
            Self::DateTime2(scale) => {
                let (time, days) = bytes.split_at(time_bytes(scale));
                Datum::DateTime2(number(days) as u32, number(time))
            }
            Self::Decimal(..) => {
                let mut all = [0; 16];
                all[..length - 1].copy_from_slice(&bytes[1..]);
                let magnitude = i128::from_le_bytes(all);
                Datum::Decimal(if bytes[0] == 0 { -magnitude } else { magnitude })
            }
            _ => Datum::Bytes(bytes.to_vec()),
        })
    }

    const fn fixed_bytes(self) -> usize {
        match self {
            Self::Integer(bytes) | Self::Float(bytes) => bytes as usize,
            Self::Bit => 1,
            _ => 8,
        }
    }
}

fn put_text_type(token: u8, length: Option<u16>, out: &mut Vec<u8>) {
    out.push(token);
    out.extend_from_slice(&length.unwrap_or(NO_LENGTH).to_le_bytes());
    out.extend_from_slice(&COLLATION);
}

/// Bytes of a decimal with its sign.
const fn decimal_bytes(precision: u8) -> u8 {
    match precision {
        0..=9 => 5,
        10..=19 => 9,
        20..=28 => 13,
        _ => 17,
    }
}

/// Bytes behind their length; those without a largest length come in parts (2.2.5.2.3).
fn put_long(most: Option<u16>, bytes: &[u8], out: &mut Vec<u8>) {
    if most.is_some() {
        out.extend_from_slice(&(bytes.len() as u16).to_le_bytes());
        out.extend_from_slice(bytes);
        return;
    }
    out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    for part in bytes.chunks(1000) {
        out.extend_from_slice(&(part.len() as u32).to_le_bytes());
        out.extend_from_slice(part);
    }
    out.extend_from_slice(&[0; 4]);
}

fn read_parts(reader: &mut Reader<'_>) -> io::Result<Option<Vec<u8>>> {
    let total = reader.u64()?;
    if total == NULL_LENGTH {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    loop {
        match reader.u32()? {
            0 => break,
            length => bytes.extend_from_slice(reader.take(length as usize)?),
        }
    }
    if total != UNKNOWN_LENGTH && total != bytes.len() as u64 {
        return Err(bad("the parts of a value are not as long as they should be"));
    }
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back() {
        let cases = [
            (Kind::Integer(1), Datum::Integer(255)),
            (Kind::Integer(8), Datum::Integer(i64::MIN)),
            (Kind::IntegerNull(2), Datum::Integer(-2)),
            (Kind::IntegerNull(4), Datum::Null),
            (Kind::Bit, Datum::Bit(true)),
            (Kind::BitNull, Datum::Null),
            (Kind::Float(8), Datum::Float(-0.5)),
            (Kind::FloatNull(4), Datum::Float(0.25)),
            (Kind::Money, Datum::Money(-12_345)),
            (Kind::MoneyNull(4), Datum::Money(-1)),
            (Kind::DateTime, Datum::DateTime(-1, 300)),
            (Kind::Date, Datum::DateTime2(719_162, 0)),
            (Kind::DateTime2(3), Datum::DateTime2(719_162, 86_399_999)),
            (Kind::DateTime2(7), Datum::Null),
            (Kind::Decimal(38, 4), Datum::Decimal(-12_345_678_901_234_567_890)),
            (Kind::VarChar(Some(10)), Datum::from("abc")),
            (Kind::VarChar(None), Datum::Text("x".repeat(2500))),
            (Kind::NVarChar(Some(20)), Datum::from("zwölf")),
            (Kind::NVarChar(None), Datum::Null),
            (Kind::VarBinary(Some(3)), Datum::Bytes(vec![0, 1])),
            (Kind::Guid, Datum::Bytes(vec![7; 16])),
        ];
        for (kind, value) in cases {
            let mut bytes = Vec::new();
            kind.put(&mut bytes);
            kind.put_value(&value, &mut bytes).unwrap();
            let mut reader = Reader(&bytes);
            assert_eq!(Kind::read(&mut reader).unwrap(), kind);
            assert_eq!(kind.read_value(&mut reader).unwrap(), value);
            assert!(reader.is_empty(), "{kind:?}");
        }
    }

    #[test]
    fn what_is_no_value_is_refused() {
        assert!(Kind::Integer(4).put_value(&Datum::Null, &mut Vec::new()).is_err());
        assert!(Kind::Bit.put_value(&Datum::Integer(1), &mut Vec::new()).is_err());
    }
}
