//! Values and rows in the canonical encoding: it settles what "the same rows" and "data content" mean on every engine.
//!
//! | type | encoding (little endian) | content bytes |
//! |---|---|---|
//! | bit, tinyint | one byte | 1 |
//! | smallint, int, bigint | two's complement by width | 2, 4, 8 |
//! | float | IEEE 754 bits | 8 |
//! | money | i64 of ten-thousandths | 8 |
//! | datetime | i64 of milliseconds since 1970-01-01 | 8 |
//! | text | its bytes (printable ASCII, no trailing blanks) | its length |
//!
//! In a checksum each value is preceded by one byte that tells NULL (0) from a value (1), and a text by its length as
//! u32; that framing is not content. A row's hash is XXH3-64 over its encoding; a table's checksum is the wrapping sum
//! of its rows' hashes, so it does not depend on the order in which an engine returns them.

use xxhash_rust::xxh3::xxh3_64;

use crate::table::ColumnType;

/// One value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// Unknown.
    Null,
    /// True or false.
    Bit(bool),
    /// 0 to 255.
    TinyInt(u8),
    /// 16 bits.
    SmallInt(i16),
    /// 32 bits.
    Int(i32),
    /// 64 bits.
    BigInt(i64),
    /// 64 bits, floating.
    Float(f64),
    /// Ten-thousandths.
    Money(i64),
    /// Milliseconds since 1970-01-01T00:00:00Z.
    DateTime(i64),
    /// ASCII text.
    Text(&'a str),
}

impl Value<'_> {
    /// Size of the value in the canonical encoding; NULL has none.
    pub const fn content_bytes(&self) -> u64 {
        match self {
            Self::Null => 0,
            Self::Bit(_) | Self::TinyInt(_) => 1,
            Self::SmallInt(_) => 2,
            Self::Int(_) => 4,
            Self::BigInt(_) | Self::Float(_) | Self::Money(_) | Self::DateTime(_) => 8,
            Self::Text(text) => text.len() as u64,
        }
    }

    /// A whole number of any width.
    pub fn whole(self) -> Option<i64> {
        match self {
            Self::TinyInt(number) => Some(number.into()),
            Self::SmallInt(number) => Some(number.into()),
            Self::Int(number) => Some(number.into()),
            Self::BigInt(number) => Some(number),
            _ => None,
        }
    }

    /// A whole number as one of this type; `None` if it does not fit, or the type is for something else.
    pub fn of_whole(kind: ColumnType, number: i64) -> Option<Self> {
        match kind {
            ColumnType::TinyInt => number.try_into().ok().map(Self::TinyInt),
            ColumnType::SmallInt => number.try_into().ok().map(Self::SmallInt),
            ColumnType::Int => number.try_into().ok().map(Self::Int),
            ColumnType::BigInt => Some(Self::BigInt(number)),
            _ => None,
        }
    }

    /// The type that it is of; `None` for NULL, which is of all.
    pub const fn kind(&self) -> Option<ColumnType> {
        Some(match self {
            Self::Null => return None,
            Self::Bit(_) => ColumnType::Bit,
            Self::TinyInt(_) => ColumnType::TinyInt,
            Self::SmallInt(_) => ColumnType::SmallInt,
            Self::Int(_) => ColumnType::Int,
            Self::BigInt(_) => ColumnType::BigInt,
            Self::Float(_) => ColumnType::Float,
            Self::Money(_) => ColumnType::Money,
            Self::DateTime(_) => ColumnType::DateTime,
            Self::Text(_) => ColumnType::Text(u16::MAX),
        })
    }

    fn encode(&self, into: &mut Vec<u8>) {
        into.push(u8::from(!matches!(self, Self::Null)));
        match self {
            Self::Null => {}
            Self::Bit(bit) => into.push(u8::from(*bit)),
            Self::TinyInt(number) => into.push(*number),
            Self::SmallInt(number) => into.extend_from_slice(&number.to_le_bytes()),
            Self::Int(number) => into.extend_from_slice(&number.to_le_bytes()),
            Self::BigInt(number) | Self::Money(number) | Self::DateTime(number) => {
                into.extend_from_slice(&number.to_le_bytes());
            }
            Self::Float(number) => into.extend_from_slice(&number.to_bits().to_le_bytes()),
            Self::Text(text) => {
                into.extend_from_slice(&(text.len() as u32).to_le_bytes());
                into.extend_from_slice(text.as_bytes());
            }
        }
    }
}

/// A row that is filled again and again without allocating: fixed-size values beside one buffer for all texts.
#[derive(Debug, Clone, Default)]
pub struct Row {
    cells: Vec<Cell>,
    text: String,
    encoded: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
enum Cell {
    Value(Value<'static>),
    Text { start: u32, end: u32 },
}

impl Row {
    /// Forgets the values and keeps the memory.
    pub fn clear(&mut self) {
        self.cells.clear();
        self.text.clear();
    }

    /// Appends a value.
    pub fn push(&mut self, value: Value<'_>) {
        let cell = match value {
            Value::Text(text) => {
                self.push_text(|buffer| buffer.push_str(text));
                return;
            }
            Value::Null => Value::Null,
            Value::Bit(v) => Value::Bit(v),
            Value::TinyInt(v) => Value::TinyInt(v),
            Value::SmallInt(v) => Value::SmallInt(v),
            Value::Int(v) => Value::Int(v),
            Value::BigInt(v) => Value::BigInt(v),
            Value::Float(v) => Value::Float(v),
            Value::Money(v) => Value::Money(v),
            Value::DateTime(v) => Value::DateTime(v),
        };
        self.cells.push(Cell::Value(cell));
    }

    /// Appends a text that `write` puts at the end of the buffer.
    pub fn push_text(&mut self, write: impl FnOnce(&mut String)) {
        let start = self.text.len() as u32;
        write(&mut self.text);
        self.cells.push(Cell::Text { start, end: self.text.len() as u32 });
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// True if there are no values.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// The value at `index`.
    ///
    /// # Panics
    /// If there are fewer values.
    pub fn get(&self, index: usize) -> Value<'_> {
        match self.cells[index] {
            Cell::Value(value) => value,
            Cell::Text { start, end } => Value::Text(&self.text[start as usize..end as usize]),
        }
    }

    /// All values in order.
    pub fn values(&self) -> impl Iterator<Item = Value<'_>> {
        (0..self.cells.len()).map(|index| self.get(index))
    }

    /// The row's data content in bytes.
    pub fn content_bytes(&self) -> u64 {
        self.values().map(|value| value.content_bytes()).sum()
    }

    /// The row's hash over the canonical encoding.
    pub fn checksum(&mut self) -> u64 {
        let mut encoded = std::mem::take(&mut self.encoded);
        encoded.clear();
        for value in self.values() {
            value.encode(&mut encoded);
        }
        let hash = xxh3_64(&encoded);
        self.encoded = encoded;
        hash
    }
}

/// Checksum and size of many rows; the order of the rows does not matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RowSummary {
    /// Rows seen.
    pub rows: u64,
    /// Their data content.
    pub content_bytes: u64,
    /// Wrapping sum of their hashes.
    pub checksum: u64,
}

impl RowSummary {
    /// Counts a row.
    pub fn add(&mut self, row: &mut Row) {
        self.rows += 1;
        self.content_bytes += row.content_bytes();
        self.checksum = self.checksum.wrapping_add(row.checksum());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Row {
        let mut row = Row::default();
        row.push(Value::Int(7));
        row.push(Value::Bit(true));
        row.push(Value::Text("abc"));
        row.push(Value::Null);
        row.push(Value::Money(-12_345));
        row
    }

    #[test]
    fn content_is_the_sum_of_the_values() {
        assert_eq!(sample().content_bytes(), 4 + 1 + 3 + 8);
    }

    /// The checksum is part of the contract between engines and stored manifests: it must never change.
    #[test]
    fn the_checksum_is_fixed() {
        assert_eq!(format!("{:016x}", sample().checksum()), "53e6a131e52662a8");
    }

    #[test]
    fn order_of_rows_is_no_matter_but_order_of_values_is() {
        let (mut a, mut b) = (sample(), Row::default());
        b.push(Value::Int(8));
        let (mut one, mut two) = (RowSummary::default(), RowSummary::default());
        one.add(&mut a);
        one.add(&mut b);
        two.add(&mut b);
        two.add(&mut a);
        assert_eq!(one, two);
        let mut swapped = Row::default();
        for index in [1, 0, 2, 3, 4] {
            swapped.push(sample().get(index));
        }
        assert_ne!(swapped.checksum(), sample().checksum());
    }
}
