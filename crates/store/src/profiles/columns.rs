//! Measures and identities as columns of tables.

use std::fmt::Write as _;

use plimsoll_profile::{Item, Measure, Values};
use rusqlite::Row;

/// The number that stands for the exact rest.
pub(crate) const REST: i64 = 0;

/// The names of all measures, as columns.
pub(crate) fn names() -> String {
    Measure::ALL.map(Measure::name).join(", ")
}

/// Places for the values of all measures, from this number on.
pub(crate) fn places(first: usize) -> String {
    (first..first + Measure::ALL.len()).fold(String::new(), |mut places, number| {
        let _ = write!(places, "{}?{number}", if number == first { "" } else { ", " });
        places
    })
}

/// By measure; a whole number beyond what SQLite can hold is the largest that it can.
pub(crate) fn of_values(values: &Values) -> impl Iterator<Item = Option<i64>> + '_ {
    Measure::ALL.into_iter().map(|measure| values.get(measure).map(whole))
}

/// The values of a row from a column on.
pub(crate) fn values(row: &Row<'_>, first: usize) -> rusqlite::Result<Values> {
    let mut values = Values::default();
    for (at, measure) in Measure::ALL.into_iter().enumerate() {
        if let Some(value) = row.get::<_, Option<i64>>(first + at)? {
            values.set(measure, value.unsigned_abs());
        }
    }
    Ok(values)
}

/// A whole number as SQLite holds it.
pub(crate) fn whole(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// An identity of 16 bytes.
pub(crate) fn blob(identity: u128) -> [u8; 16] {
    identity.to_be_bytes()
}

/// The item in a column.
pub(crate) fn item(row: &Row<'_>, at: usize) -> rusqlite::Result<Item> {
    row.get::<_, [u8; 16]>(at).map(|bytes| Item(u128::from_be_bytes(bytes)))
}
