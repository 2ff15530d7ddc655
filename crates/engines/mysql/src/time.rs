//! Dates of the Gregorian calendar as milliseconds since 1970 and back (the method of counting days by eras of 400 years).

const DAY_MS: i64 = 86_400_000;

/// A moment as a calendar has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Civil {
    pub(super) year: u16,
    pub(super) month: u8,
    pub(super) day: u8,
    pub(super) hour: u8,
    pub(super) minute: u8,
    pub(super) second: u8,
    pub(super) millisecond: u16,
}

/// The calendar's form of milliseconds since 1970; `None` before the year 1 and after 9999.
pub(super) fn civil(ms: i64) -> Option<Civil> {
    let (days, of_day) = (ms.div_euclid(DAY_MS), ms.rem_euclid(DAY_MS));
    // Years begin in March, so that a leap day is the last one.
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (1..=9999).contains(&year).then_some(Civil {
        year: year as u16,
        month: month as u8,
        day: day as u8,
        hour: (of_day / 3_600_000) as u8,
        minute: (of_day / 60_000 % 60) as u8,
        second: (of_day / 1_000 % 60) as u8,
        millisecond: (of_day % 1_000) as u16,
    })
}

/// Milliseconds since 1970; `None` for a date that is none, such as the zero date.
pub(super) fn milliseconds(at: Civil) -> Option<i64> {
    let is_date = (1..=12).contains(&at.month) && (1..=31).contains(&at.day) && at.year > 0;
    if !is_date {
        return None;
    }
    let year = i64::from(at.year) - i64::from(at.month <= 2);
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let month = (i64::from(at.month) + 9) % 12;
    let day_of_year = (153 * month + 2) / 5 + i64::from(at.day) - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    let days = era * 146_097 + day_of_era - 719_468;
    let seconds = i64::from(at.hour) * 3_600 + i64::from(at.minute) * 60 + i64::from(at.second);
    Some(days * DAY_MS + seconds * 1_000 + i64::from(at.millisecond))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_moments() {
        let at =
            |year, month, day, hour, millisecond| Civil { year, month, day, hour, minute: 0, second: 0, millisecond };
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
        assert_eq!(milliseconds(at(0, 0, 0, 0, 0)), None);
    }

    proptest! {
        #[test]
        fn every_millisecond_comes_back(ms in -62_135_596_800_000_i64..=253_402_300_799_999) {
            prop_assert_eq!(civil(ms).and_then(milliseconds), Some(ms));
        }
    }
}
