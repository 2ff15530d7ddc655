//! Dates of the Gregorian calendar as milliseconds since 1970 and back.

use jiff::SignedDuration;
use jiff::civil::DateTime;

const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

/// The calendar's form of milliseconds since 1970; `None` before the year 1 and after 9999.
pub(super) fn civil(ms: i64) -> Option<DateTime> {
    EPOCH.checked_add(SignedDuration::from_millis(ms)).ok().filter(|at| at.year() > 0)
}

/// Milliseconds since 1970; `None` before the year 1.
pub(super) fn milliseconds(at: DateTime) -> Option<i64> {
    (at.year() > 0).then(|| at.duration_since(EPOCH).as_millis() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_moments() {
        let at = |year, month, day, hour, ms| DateTime::new(year, month, day, hour, 0, 0, ms * 1_000_000).unwrap();
        for (ms, expected) in [
            (0, at(1970, 1, 1, 0, 0)),
            (-2_208_988_800_000, at(1900, 1, 1, 0, 0)),
            (951_782_400_000, at(2000, 2, 29, 0, 0)),
            (4_102_444_800_123, at(2100, 1, 1, 0, 123)),
        ] {
            assert_eq!(civil(ms), Some(expected));
            assert_eq!(milliseconds(expected), Some(ms));
        }
        assert_eq!((civil(i64::MAX), civil(i64::MIN)), (None, None));
        assert_eq!(milliseconds(at(0, 1, 1, 0, 0)), None);
    }

    proptest! {
        #[test]
        fn every_millisecond_comes_back(ms in -62_135_596_800_000_i64..=253_402_300_799_999) {
            prop_assert_eq!(civil(ms).and_then(milliseconds), Some(ms));
        }
    }
}
