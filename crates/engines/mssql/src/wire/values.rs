//! Values to and from the driver's own types.
//!
//! Money is two halves of a whole number of ten-thousandths; times count units of 100 ns whatever their scale is.

use mssql_tds::datatypes::column_values::{SqlDateTime, SqlDateTime2, SqlMoney, SqlTime};
use mssql_tds::datatypes::sql_string::{EncodingType, SqlString};
use mssql_tds::datatypes::sqltypes::SqlType;
use mssql_tds::message::parameters::rpc_parameters::{RpcParameter, StatusFlags};
use plimsoll_engine::value::Value;

/// Days from 0001-01-01 to 1970-01-01.
pub(super) const DAYS_TO_1970: i64 = 719_162;
/// Days from 1900-01-01 to 1970-01-01.
const DAYS_1900_TO_1970: i64 = 25_567;
pub(super) const MILLISECONDS_A_DAY: i64 = 86_400_000;
/// Units of 100 ns in a millisecond.
const TICKS_A_MILLISECOND: u64 = 10_000;
/// Decimals of a second that our columns keep.
pub(super) const SCALE: u8 = 3;
/// Longest texts that are no large objects, in the two kinds of text.
const LONGEST_NARROW: u16 = 8000;
const LONGEST_WIDE: u16 = 4000;

/// Parameter `number` (from 1) with its value.
pub(super) fn parameter(number: usize, value: &Value<'_>) -> RpcParameter {
    RpcParameter::new(Some(format!("@P{number}")), StatusFlags::NONE, sql_type(value))
}

/// A parameter of a procedure that is told by its order.
pub(super) fn unnamed(value: &Value<'_>) -> RpcParameter {
    RpcParameter::new(None, StatusFlags::NONE, sql_type(value))
}

/// A letter for the type under which a value is declared: what is prepared for some types is not for others.
pub(super) fn signature(value: &Value<'_>) -> u8 {
    match value {
        Value::Null => b'0',
        Value::Bit(_) => b'b',
        Value::TinyInt(_) => b't',
        Value::SmallInt(_) => b's',
        Value::Int(_) => b'i',
        Value::BigInt(_) => b'l',
        Value::Float(_) => b'f',
        Value::Money(_) => b'm',
        Value::DateTime(_) => b'd',
        Value::Text(text) => match (text.is_ascii(), is_long(text)) {
            (true, false) => b'c',
            (true, true) => b'C',
            (false, false) => b'n',
            (false, true) => b'N',
        },
    }
}

/// The driver's form of a value. Texts have one length for all, so that what was prepared for one serves them all.
fn sql_type(value: &Value<'_>) -> SqlType {
    match *value {
        // Converts to every type that a column of ours can have.
        Value::Null => SqlType::NVarchar(None, LONGEST_WIDE),
        Value::Bit(bit) => SqlType::Bit(Some(bit)),
        Value::TinyInt(number) => SqlType::TinyInt(Some(number)),
        Value::SmallInt(number) => SqlType::SmallInt(Some(number)),
        Value::Int(number) => SqlType::Int(Some(number)),
        Value::BigInt(number) => SqlType::BigInt(Some(number)),
        Value::Float(number) => SqlType::Float(Some(number)),
        Value::Money(units) => SqlType::Money(Some(money(units))),
        Value::DateTime(milliseconds) => SqlType::DateTime2(Some(date_time(milliseconds))),
        Value::Text(text) if text.is_ascii() => {
            let value = Some(SqlString::new(text.as_bytes().to_vec(), EncodingType::DelayedSet));
            if is_long(text) { SqlType::VarcharMax(value) } else { SqlType::Varchar(value, LONGEST_NARROW) }
        }
        Value::Text(text) => {
            let value = Some(SqlString::from_utf8_string(text.to_owned()));
            if is_long(text) { SqlType::NVarcharMax(value) } else { SqlType::NVarchar(value, LONGEST_WIDE) }
        }
    }
}

/// True for a text that is only carried as a large object.
fn is_long(text: &str) -> bool {
    if text.is_ascii() {
        text.len() > usize::from(LONGEST_NARROW)
    } else {
        text.encode_utf16().count() > usize::from(LONGEST_WIDE)
    }
}

fn money(units: i64) -> SqlMoney {
    SqlMoney { lsb_part: units as i32, msb_part: (units >> 32) as i32 }
}

/// Ten-thousandths.
pub(super) fn units_of(money: &SqlMoney) -> i64 {
    (i64::from(money.msb_part) << 32) | i64::from(money.lsb_part as u32)
}

fn date_time(milliseconds: i64) -> SqlDateTime2 {
    let (days, ticks) = days_and_ticks(milliseconds);
    SqlDateTime2 { days, time: SqlTime { time_nanoseconds: ticks, scale: SCALE } }
}

/// Days since 0001-01-01 and units of 100 ns since midnight. What lies before or behind the calendar is put at its ends.
pub(super) fn days_and_ticks(milliseconds: i64) -> (u32, u64) {
    let days = (DAYS_TO_1970 + milliseconds.div_euclid(MILLISECONDS_A_DAY)).clamp(0, 3_652_058);
    (days as u32, milliseconds.rem_euclid(MILLISECONDS_A_DAY) as u64 * TICKS_A_MILLISECOND)
}

/// Milliseconds since 1970-01-01.
pub(super) fn milliseconds_of(value: &SqlDateTime2) -> i64 {
    milliseconds_of_days(i64::from(value.days)) + (value.time.time_nanoseconds / TICKS_A_MILLISECOND) as i64
}

/// Milliseconds from 1970-01-01 to a day that is counted from 0001-01-01.
pub(super) const fn milliseconds_of_days(days: i64) -> i64 {
    (days - DAYS_TO_1970) * MILLISECONDS_A_DAY
}

/// Milliseconds since 1970-01-01 of the older type, which counts three-hundredths of a second and is shown rounded.
pub(super) fn milliseconds_of_old(value: &SqlDateTime) -> i64 {
    (i64::from(value.days) - DAYS_1900_TO_1970) * MILLISECONDS_A_DAY + (i64::from(value.time) * 10 + 1) / 3
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_values_have_known_forms() {
        assert_eq!(units_of(&SqlMoney { lsb_part: -1, msb_part: -1 }), -1);
        let one = money(-12_345);
        assert_eq!((one.lsb_part, one.msb_part), (-12_345, -1));
        // 1970-01-01 00:00:00.001
        assert_eq!(days_and_ticks(1), (719_162, 10_000));
        assert_eq!(days_and_ticks(-1), (719_161, 863_999_990_000));
        assert_eq!(milliseconds_of_old(&SqlDateTime { days: 25_567, time: 1 }), 3);
        assert_eq!(milliseconds_of_old(&SqlDateTime { days: 25_567, time: 300 }), 1000);
    }

    proptest! {
        #[test]
        fn money_and_times_come_back(units: i64, milliseconds in -62_135_596_800_000_i64..253_402_300_799_000) {
            prop_assert_eq!(units_of(&money(units)), units);
            prop_assert_eq!(milliseconds_of(&date_time(milliseconds)), milliseconds);
        }
    }
}
