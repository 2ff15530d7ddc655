//! Rows in the form of the bulk protocol (MS-TDS 2.2.6.1 and 2.2.7.19), written by ourselves as the table's columns
//! want them. The driver's own way makes a value of each and costs several times as much CPU.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use async_trait::async_trait;
use mssql_tds::connection::bulk_copy::BulkLoadRow;
use mssql_tds::core::TdsResult;
use mssql_tds::datatypes::bulk_copy_metadata::BulkCopyColumnMetadata;
use mssql_tds::message::bulk_load::StreamingBulkLoadWriter;
use plimsoll_engine::{Error, Row, RowSource, RowSummary, Value};

use super::cancel::Canceller;
use super::values;

/// How a column's values are written. Types by their numbers in MS-TDS 2.2.5.4.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Form {
    kind: Kind,
    /// True if a length of one byte goes before the value.
    has_length: bool,
    /// True if the column may be NULL, whatever its form would allow.
    can_be_null: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Bit,
    Integer(u8),
    Float,
    Money,
    /// A `datetime2` with so many decimals.
    DateTime(u8),
    /// A `varchar` or `char`, with a length of two bytes.
    Narrow,
    /// An `nvarchar` or `nchar`, with a length of two bytes.
    Wide,
}

impl Form {
    /// The form of a column; `None` for a type that no column of ours has.
    pub(super) fn of(column: &BulkCopyColumnMetadata) -> Option<Self> {
        let length = column.length as u8;
        let can_be_null = column.is_nullable;
        let fixed = |kind| Some(Self { kind, has_length: false, can_be_null });
        let nullable = |kind| Some(Self { kind, has_length: true, can_be_null });
        match column.tds_type {
            0x30 => fixed(Kind::Integer(1)),
            0x32 => fixed(Kind::Bit),
            0x34 => fixed(Kind::Integer(2)),
            0x38 => fixed(Kind::Integer(4)),
            0x7F => fixed(Kind::Integer(8)),
            0x3E => fixed(Kind::Float),
            0x3C => fixed(Kind::Money),
            0x26 if matches!(length, 1 | 2 | 4 | 8) => nullable(Kind::Integer(length)),
            0x68 => nullable(Kind::Bit),
            0x6D if length == 8 => nullable(Kind::Float),
            0x6E if length == 8 => nullable(Kind::Money),
            0x2A => nullable(Kind::DateTime(column.scale)),
            0xA7 | 0xAF if !column.length_type.is_plp() => fixed(Kind::Narrow),
            0xE7 | 0xEF if !column.length_type.is_plp() => fixed(Kind::Wide),
            _ => None,
        }
    }

    /// Appends a value; false if it can't be one of this column.
    fn write(self, value: Value<'_>, out: &mut Vec<u8>) -> bool {
        if matches!(value, Value::Null) {
            match self.kind {
                _ if !self.can_be_null => return false,
                Kind::Narrow | Kind::Wide => out.extend_from_slice(&[0xFF, 0xFF]),
                _ if self.has_length => out.push(0),
                _ => return false,
            }
            return true;
        }
        let whole = match value {
            Value::Bit(bit) => Some(bit.into()),
            value => value.whole(),
        };
        match (self.kind, value) {
            (Kind::Bit, Value::Bit(bit)) => self.put(&[u8::from(bit)], out),
            (Kind::Integer(bytes), _) => {
                let Some(number) = whole.filter(|number| fits(*number, bytes)) else { return false };
                self.put(&number.to_le_bytes()[..usize::from(bytes)], out);
            }
            (Kind::Float, Value::Float(number)) => self.put(&number.to_le_bytes(), out),
            (Kind::Money, Value::Money(units)) => {
                // The upper half goes first.
                let mut halves = [0; 8];
                halves[..4].copy_from_slice(&((units >> 32) as i32).to_le_bytes());
                halves[4..].copy_from_slice(&(units as i32).to_le_bytes());
                self.put(&halves, out);
            }
            (Kind::DateTime(scale), Value::DateTime(milliseconds)) => {
                let (days, ticks) = values::days_and_ticks(milliseconds);
                // Units of 100 ns are seven decimals; a column has fewer, and as many bytes as hold them.
                let units = ticks / 10_u64.pow(u32::from(7 - scale.min(7)));
                let width = match scale {
                    0..=2 => 3,
                    3..=4 => 4,
                    _ => 5,
                };
                let mut bytes = [0; 8];
                bytes[..width].copy_from_slice(&units.to_le_bytes()[..width]);
                bytes[width..width + 3].copy_from_slice(&days.to_le_bytes()[..3]);
                self.put(&bytes[..width + 3], out);
            }
            (Kind::Narrow, Value::Text(text)) if text.is_ascii() => {
                let Ok(length) = u16::try_from(text.len()) else { return false };
                out.extend_from_slice(&length.to_le_bytes());
                out.extend_from_slice(text.as_bytes());
            }
            (Kind::Wide, Value::Text(text)) => {
                let Ok(length) = u16::try_from(text.encode_utf16().count() * 2) else { return false };
                out.extend_from_slice(&length.to_le_bytes());
                out.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
            }
            _ => return false,
        }
        true
    }

    fn put(self, bytes: &[u8], out: &mut Vec<u8>) {
        if self.has_length {
            out.push(bytes.len() as u8);
        }
        out.extend_from_slice(bytes);
    }
}

/// A tinyint has no sign, all others have one.
fn fits(number: i64, bytes: u8) -> bool {
    match bytes {
        1 => u8::try_from(number).is_ok(),
        2 => i16::try_from(number).is_ok(),
        4 => i32::try_from(number).is_ok(),
        _ => true,
    }
}

/// A row as it goes onto the line; without bytes, the load has to end.
pub(super) struct Encoded(Option<Vec<u8>>, usize);

/// What the driver says when we end a load; it is replaced by our own reason.
pub(super) const STOPPED: &str = "the load was stopped";

#[async_trait]
impl BulkLoadRow for Encoded {
    async fn write_to_packet(
        &self,
        writer: &mut StreamingBulkLoadWriter<'_>,
        column_index: &mut usize,
    ) -> TdsResult<()> {
        let Some(bytes) = &self.0 else { return Err(mssql_tds::error::Error::UsageError(STOPPED.to_owned())) };
        writer.write_raw_bytes(bytes).await?;
        *column_index = self.1;
        Ok(())
    }
}

/// Why a load ended early.
#[derive(Debug)]
pub(super) enum Stop {
    /// The source of the rows had to give up.
    Source(Error),
    /// A value is none of its column.
    Value(usize),
    /// Somebody cancelled.
    Cancelled,
}

/// What became of the rows of a load, for the thread that started it.
#[derive(Debug, Default)]
pub(super) struct Progress {
    pub(super) row_summary: Cell<RowSummary>,
    pub(super) stop: RefCell<Option<Stop>>,
}

pub(super) struct Rows<'a> {
    pub(super) source: &'a mut dyn RowSource,
    pub(super) forms: Vec<Form>,
    pub(super) row: Row,
    pub(super) progress: Rc<Progress>,
    pub(super) canceller: &'a Canceller,
    pub(super) has_ended: bool,
    /// Bytes of the last row, as a guess for the next.
    pub(super) usual_bytes: usize,
}

impl Rows<'_> {
    fn encode(&mut self) -> Result<Option<Vec<u8>>, Stop> {
        if self.canceller.is_cancelled() {
            return Err(Stop::Cancelled);
        }
        self.row.clear();
        if !self.source.next(&mut self.row).map_err(Stop::Source)? {
            return Ok(None);
        }
        let mut bytes = Vec::with_capacity(self.usual_bytes);
        if self.row.len() != self.forms.len() {
            return Err(Stop::Value(self.row.len().min(self.forms.len())));
        }
        for (index, (form, value)) in self.forms.iter().zip(self.row.values()).enumerate() {
            if !form.write(value, &mut bytes) {
                return Err(Stop::Value(index));
            }
        }
        self.usual_bytes = bytes.len() + 16;
        let mut row_summary = self.progress.row_summary.get();
        row_summary.add(&mut self.row);
        self.progress.row_summary.set(row_summary);
        Ok(Some(bytes))
    }
}

impl Iterator for Rows<'_> {
    type Item = Encoded;

    fn next(&mut self) -> Option<Encoded> {
        if self.has_ended {
            return None;
        }
        match self.encode() {
            Ok(Some(bytes)) => Some(Encoded(Some(bytes), self.forms.len())),
            Ok(None) => {
                self.has_ended = true;
                None
            }
            Err(stop) => {
                self.has_ended = true;
                self.progress.stop.replace(Some(stop));
                Some(Encoded(None, 0))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(kind: Kind, has_length: bool, value: Value<'_>) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        Form { kind, has_length, can_be_null: true }.write(value, &mut out).then_some(out)
    }

    /// By MS-TDS 2.2.5.5.
    #[test]
    fn values_have_the_documents_form() {
        assert_eq!(bytes(Kind::Integer(4), false, Value::Int(-2)), Some(vec![0xFE, 0xFF, 0xFF, 0xFF]));
        assert_eq!(bytes(Kind::Integer(1), true, Value::TinyInt(200)), Some(vec![1, 200]));
        assert_eq!(bytes(Kind::Money, false, Value::Money(1)), Some(vec![0, 0, 0, 0, 1, 0, 0, 0]));
        assert_eq!(bytes(Kind::Money, true, Value::Money(-1)), Some(vec![8, 255, 255, 255, 255, 255, 255, 255, 255]));
        // 1970-01-01 00:00:00.001 with three decimals: one unit, and 719,162 days.
        assert_eq!(bytes(Kind::DateTime(3), true, Value::DateTime(1)), Some(vec![7, 1, 0, 0, 0, 0x3A, 0xF9, 0x0A]));
        assert_eq!(bytes(Kind::Narrow, false, Value::Text("ab")), Some(vec![2, 0, b'a', b'b']));
        assert_eq!(bytes(Kind::Wide, false, Value::Text("ä")), Some(vec![2, 0, 0xE4, 0]));
    }

    #[test]
    fn nothing_is_written_as_what_it_is_not() {
        assert_eq!(bytes(Kind::Integer(1), false, Value::Int(256)), None);
        assert_eq!(bytes(Kind::Integer(4), false, Value::Null), None);
        assert_eq!(bytes(Kind::Narrow, false, Value::Text("ä")), None);
        assert_eq!(bytes(Kind::Bit, true, Value::Int(1)), None);
        assert_eq!(bytes(Kind::Narrow, false, Value::Null), Some(vec![0xFF, 0xFF]));
        assert_eq!(bytes(Kind::Bit, true, Value::Null), Some(vec![0]));
        let strict = Form { kind: Kind::Bit, has_length: true, can_be_null: false };
        assert!(!strict.write(Value::Null, &mut Vec::new()));
    }
}
