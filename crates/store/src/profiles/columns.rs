//! Measures and identities as columns of tables.

use plimsoll_profile::{Item, Measure, Values};
use rusqlite::Row;

/// The number that stands for the exact rest.
pub(crate) const REST: i64 = 0;

/// Bits of a byte of a number of variable length; the highest says that more follow.
const BITS: u32 = 7;
const MORE: u8 = 1 << BITS;

fn put(mut number: u64, bytes: &mut Vec<u8>) {
    while number >= u64::from(MORE) {
        bytes.push(number as u8 | MORE);
        number >>= BITS;
    }
    bytes.push(number as u8);
}

fn take(bytes: &mut std::slice::Iter<'_, u8>) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..u64::BITS).step_by(BITS as usize) {
        let byte = *bytes.next()?;
        number |= u64::from(byte & !MORE) << shift;
        if byte & MORE == 0 {
            return Some(number);
        }
    }
    None
}

/// Measures as they are stored: a third of what columns take, as most are unknown and the others small.
pub(crate) fn packed(values: &Values) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(64);
    put(values.iter().fold(0, |known, (measure, _)| known | 1 << measure as u64), &mut bytes);
    values.iter().for_each(|(_, value)| put(value, &mut bytes));
    bytes
}

/// Measures as they were stored. One that a later release knows is left out.
pub(crate) fn unpacked(bytes: &[u8]) -> Values {
    let mut values = Values::default();
    let mut bytes = bytes.iter();
    let known = take(&mut bytes).unwrap_or(0);
    for measure in Measure::ALL.into_iter().filter(|measure| known & 1 << *measure as u64 != 0) {
        match take(&mut bytes) {
            Some(value) => values.set(measure, value),
            None => break,
        }
    }
    values
}

/// A whole number as SQLite holds it; one that is beyond is the largest that it can hold.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measures_come_back_and_what_is_not_known_stays_so() {
        let all = Measure::ALL.map(|measure| (measure, u64::MAX >> (measure as u32 * 2)));
        for values in [Values::of([]), Values::of([(Measure::Rows, 0), (Measure::SampledUs, 128)]), Values::of(all)] {
            assert_eq!(unpacked(&packed(&values)), values);
        }
        assert_eq!(packed(&Values::of([(Measure::Executions, 5)])), [1, 5]);
        assert_eq!(unpacked(&[0xff, 0xff]), Values::default(), "half a number is none");
    }
}
