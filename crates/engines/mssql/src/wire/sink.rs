//! Where the driver puts the values of a row: into a row of ours, by the types that were asked for, or into a count.

use std::borrow::Cow;

use mssql_tds::datatypes::column_values::{
    SqlDate, SqlDateTime, SqlDateTime2, SqlDateTimeOffset, SqlMoney, SqlSmallDateTime, SqlSmallMoney, SqlTime, SqlXml,
};
use mssql_tds::datatypes::decoder::DecimalParts;
use mssql_tds::datatypes::row_writer::RowWriter;
use mssql_tds::datatypes::sql_json::SqlJson;
use mssql_tds::datatypes::sql_string::{EncodingType, SqlString};
use mssql_tds::datatypes::sql_vector::SqlVector;
use plimsoll_engine::{ColumnType, Row, Value};
use uuid::Uuid;

use super::values;

/// Takes the values of one row after the other.
pub(super) trait Take {
    fn take(&mut self, column: usize, value: Value<'_>);

    /// A value of a type that has no name among ours, of so many bytes.
    fn take_other(&mut self, column: usize, kind: &'static str, bytes: usize);

    fn take_text(&mut self, column: usize, bytes: &[u8], encoding: EncodingType);
}

pub(super) struct IntoRow<'a> {
    pub(super) columns: &'a [ColumnType],
    pub(super) row: &'a mut Row,
    /// The first value that could not be read as what was asked for.
    pub(super) fault: Option<String>,
}

impl IntoRow<'_> {
    fn refuse(&mut self, column: usize, kind: &str) {
        self.row.push(Value::Null);
        let asked = self.columns.get(column);
        self.fault.get_or_insert_with(|| match asked {
            Some(asked) => format!("a value of type {kind} can't be read as {asked:?}"),
            None => format!("a value of type {kind} was not asked for"),
        });
    }
}

impl Take for IntoRow<'_> {
    fn take(&mut self, column: usize, value: Value<'_>) {
        let Some(asked) = self.columns.get(column) else {
            // Columns beyond those that were asked for are not looked at.
            return;
        };
        match as_asked(*asked, value) {
            Some(value) => self.row.push(value),
            None => self.refuse(column, name_of(value)),
        }
    }

    fn take_other(&mut self, column: usize, kind: &'static str, _: usize) {
        if column < self.columns.len() {
            self.refuse(column, kind);
        }
    }

    fn take_text(&mut self, column: usize, bytes: &[u8], encoding: EncodingType) {
        match self.columns.get(column) {
            Some(ColumnType::Text(_)) => self.row.push_text(|buffer| buffer.push_str(&text(bytes, encoding))),
            Some(_) => self.refuse(column, "text"),
            None => {}
        }
    }
}

/// A value as the type that was asked for, where nothing is lost by that.
fn as_asked(asked: ColumnType, value: Value<'_>) -> Option<Value<'_>> {
    let whole = value.whole();
    match (asked, value) {
        (_, Value::Null)
        | (ColumnType::Bit, Value::Bit(_))
        | (ColumnType::Float, Value::Float(_))
        | (ColumnType::Money, Value::Money(_))
        | (ColumnType::DateTime, Value::DateTime(_)) => Some(value),
        (ColumnType::Float, _) => whole.map(|number| Value::Float(number as f64)),
        _ => Value::of_whole(asked, whole?),
    }
}

const fn name_of(value: Value<'_>) -> &'static str {
    match value {
        Value::Null => "NULL",
        Value::Bit(_) => "bit",
        Value::TinyInt(_) => "tinyint",
        Value::SmallInt(_) => "smallint",
        Value::Int(_) => "int",
        Value::BigInt(_) => "bigint",
        Value::Float(_) => "float",
        Value::Money(_) => "money",
        Value::DateTime(_) => "datetime",
        Value::Text(_) => "text",
    }
}

/// Text by its encoding. What is plain ASCII, as our own data is, is taken as it is.
fn text(bytes: &[u8], encoding: EncodingType) -> Cow<'_, str> {
    match encoding {
        EncodingType::Utf16 => Cow::Owned(SqlString::decode(bytes, encoding)),
        EncodingType::LcidBased(_) if !bytes.is_ascii() => Cow::Owned(SqlString::decode(bytes, encoding)),
        _ => String::from_utf8_lossy(bytes),
    }
}

/// Counts rows' data content: by the types that were asked for, or by those that come.
pub(super) struct IntoCount<'a> {
    pub(super) columns: Option<&'a [ColumnType]>,
    pub(super) content_bytes: u64,
}

impl IntoCount<'_> {
    fn counts(&self, column: usize) -> bool {
        self.columns.is_none_or(|columns| column < columns.len())
    }
}

impl Take for IntoCount<'_> {
    fn take(&mut self, column: usize, value: Value<'_>) {
        if matches!(value, Value::Null) || !self.counts(column) {
            return;
        }
        let asked = self.columns.and_then(|columns| columns[column].content_bytes());
        self.content_bytes += asked.map_or_else(|| value.content_bytes(), u64::from);
    }

    fn take_other(&mut self, column: usize, _: &'static str, bytes: usize) {
        if self.counts(column) {
            self.content_bytes += bytes as u64;
        }
    }

    fn take_text(&mut self, column: usize, bytes: &[u8], _: EncodingType) {
        // As DATALENGTH has it: two bytes for each UTF-16 unit of an nvarchar.
        if self.counts(column) {
            self.content_bytes += bytes.len() as u64;
        }
    }
}

pub(super) struct Sink<T>(pub(super) T);

/// A decimal without decimals as a whole number, if it fits; sums of integers come so.
fn whole(parts: &DecimalParts) -> Option<i64> {
    let magnitude = i128::try_from(parts.magnitude()).ok()?;
    let scaled = magnitude / 10_i128.checked_pow(u32::from(parts.scale))?;
    let is_whole = scaled * 10_i128.checked_pow(u32::from(parts.scale))? == magnitude;
    let signed = if parts.is_positive { scaled } else { -scaled };
    i64::try_from(signed).ok().filter(|_| is_whole)
}

fn fraction(parts: &DecimalParts) -> f64 {
    let magnitude = parts.magnitude() as f64 / 10_f64.powi(i32::from(parts.scale));
    if parts.is_positive { magnitude } else { -magnitude }
}

/// What values of the driver's types are among ours.
macro_rules! taken {
    ($($method:ident $kind:ty, $val:pat => $value:expr;)+) => {
        $(fn $method(&mut self, col: usize, $val: $kind) {
            self.0.take(col, $value);
        })+
    };
}

/// What has no name among ours: its own, and its bytes.
macro_rules! others {
    ($($method:ident $kind:ty, $val:pat => $name:literal $bytes:expr;)+) => {
        $(fn $method(&mut self, col: usize, $val: $kind) {
            self.0.take_other(col, $name, $bytes);
        })+
    };
}

impl<T: Take> RowWriter for Sink<T> {
    taken! {
        write_bool bool, val => Value::Bit(val);
        write_u8 u8, val => Value::TinyInt(val);
        write_i16 i16, val => Value::SmallInt(val);
        write_i32 i32, val => Value::Int(val);
        write_i64 i64, val => Value::BigInt(val);
        write_f32 f32, val => Value::Float(f64::from(val));
        write_f64 f64, val => Value::Float(val);
        write_decimal DecimalParts, val => whole(&val).map_or_else(|| Value::Float(fraction(&val)), Value::BigInt);
        write_numeric DecimalParts, val => whole(&val).map_or_else(|| Value::Float(fraction(&val)), Value::BigInt);
        write_date SqlDate, val => Value::DateTime(values::milliseconds_of_days(i64::from(val.get_days())));
        write_datetime SqlDateTime, val => Value::DateTime(values::milliseconds_of_old(&val));
        write_datetime2 SqlDateTime2, val => Value::DateTime(values::milliseconds_of(&val));
        write_money SqlMoney, val => Value::Money(values::units_of(&val));
        write_smallmoney SqlSmallMoney, val => Value::Money(i64::from(val.int_val));
    }

    others! {
        write_bytes Cow<'_, [u8]>, val => "varbinary" val.len();
        write_time SqlTime, _ => "time" 5;
        write_smalldatetime SqlSmallDateTime, _ => "smalldatetime" 4;
        write_datetimeoffset SqlDateTimeOffset, _ => "datetimeoffset" 10;
        write_uuid Uuid, _ => "uniqueidentifier" 16;
        write_xml SqlXml, val => "xml" val.bytes.len();
        write_json SqlJson, val => "json" val.bytes.len();
        write_vector SqlVector, val => "vector" usize::from(val.dimension_count()) * val.base_type().element_size_bytes();
    }

    fn write_null(&mut self, col: usize) {
        self.0.take(col, Value::Null);
    }

    fn write_string(&mut self, col: usize, bytes: Cow<'_, [u8]>, encoding_type: EncodingType) {
        self.0.take_text(col, &bytes, encoding_type);
    }

    fn end_row(&mut self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_fit_where_nothing_is_lost() {
        assert_eq!(as_asked(ColumnType::BigInt, Value::Int(7)), Some(Value::BigInt(7)));
        assert_eq!(as_asked(ColumnType::TinyInt, Value::Int(256)), None);
        assert_eq!(as_asked(ColumnType::Float, Value::BigInt(3)), Some(Value::Float(3.0)));
        assert_eq!(as_asked(ColumnType::Int, Value::Float(1.0)), None);
        assert_eq!(as_asked(ColumnType::Money, Value::Null), Some(Value::Null));
    }

    #[test]
    fn what_can_not_be_read_is_said_once_and_the_row_keeps_its_width() {
        let mut row = Row::default();
        let columns = [ColumnType::Int, ColumnType::Bit];
        let mut sink = IntoRow { columns: &columns, row: &mut row, fault: None };
        sink.take(0, Value::Float(0.5));
        sink.take_other(1, "xml", 9);
        sink.take(2, Value::Int(1));
        assert_eq!(sink.fault.as_deref(), Some("a value of type float can't be read as Int"));
        assert_eq!(row.len(), 2);
    }
}
