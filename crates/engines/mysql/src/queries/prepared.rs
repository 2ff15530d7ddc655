//! Executions by the binary protocol, which MariaDB counts all together and by no digest: how much of the work is in no row.

use plimsoll_engine::queries::share_in_words;
use plimsoll_measurement::counters::{Measure, Row, Total};

/// What the server had counted at a reading, since its counters began, or between two readings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Counted {
    /// By the binary protocol.
    executions: u64,
    us: u64,
    /// In rows.
    listed: u64,
    /// Of all statements, where that is known.
    total_us: Option<u64>,
}

impl Counted {
    /// By the binary protocol.
    pub(super) fn of(executions: u64, us: u64) -> Self {
        Self { executions, us, ..Self::default() }
    }

    /// What a reading has beside that.
    pub(super) fn with(self, rows: &[Row], total: Option<Total>) -> Self {
        let listed = rows.iter().filter_map(|row| row.values.get(Measure::Executions));
        Self { listed: listed.fold(0, u64::saturating_add), total_us: total.map(|total| total.us), ..self }
    }

    /// What was counted since then; `None` if something began anew.
    fn since(self, before: Self) -> Option<Self> {
        Some(Self {
            executions: self.executions.checked_sub(before.executions)?,
            us: self.us.checked_sub(before.us)?,
            listed: self.listed.checked_sub(before.listed)?,
            total_us: match self.total_us.zip(before.total_us) {
                Some((now, before)) => Some(now.checked_sub(before)?),
                None => None,
            },
        })
    }

    fn plus(self, more: Self) -> Self {
        Self {
            executions: self.executions.saturating_add(more.executions),
            us: self.us.saturating_add(more.us),
            listed: self.listed.saturating_add(more.listed),
            total_us: self.total_us.zip(more.total_us).map(|(one, other)| one.saturating_add(other)),
        }
    }
}

/// Readings so far.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Prepared {
    last: Option<Counted>,
    /// Since the first reading.
    since: Option<Counted>,
}

impl Prepared {
    /// The next reading.
    pub(super) fn read(&mut self, now: Counted) {
        // Where something began anew, that time is left out.
        if let Some(grown) = self.last.and_then(|last| now.since(last)) {
            self.since = Some(self.since.map_or(grown, |since| since.plus(grown)));
        }
        self.last = Some(now);
    }

    /// How much is in no row, if that is worth a word: since the first reading, and after a single one since the counters began.
    pub(super) fn sentence(&self) -> Option<String> {
        let counted = self.since.or(self.last)?;
        let executions = (counted.executions, counted.executions.saturating_add(counted.listed));
        let what = "by statements that clients prepared (binary protocol), which MariaDB counts in no row: coverage lacks them";
        share_in_words(executions, counted.total_us.map(|total_us| (counted.us, total_us)), what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(executions: u64, us: u64, listed: u64, total_us: u64) -> Counted {
        Counted { executions, us, listed, total_us: Some(total_us) }
    }

    #[test]
    fn a_noticeable_part_is_said_of_the_time_since_the_first_reading() {
        let mut prepared = Prepared::default();
        assert_eq!(prepared.sentence(), None);
        prepared.read(counted(100, 900, 300, 1_000));
        let said = prepared.sentence().unwrap();
        assert!(said.starts_with("25.0 % of the executions and 90.0 % of the time are by statements"), "{said}");
        prepared.read(counted(101, 901, 400, 2_000));
        assert_eq!(prepared.sentence(), None, "1 of 101 and 1 of 1,000 is nothing");
        prepared.read(counted(111, 931, 490, 3_000));
        let said = prepared.sentence().unwrap();
        assert!(said.starts_with("5.47 % of the executions and 1.55 % of the time"), "{said}");
        // A restart.
        prepared.read(counted(0, 0, 5, 10));
        prepared.read(counted(0, 0, 5, 20));
        assert_eq!(prepared.sentence().unwrap(), said.replace("1.55", "1.54"));
    }

    #[test]
    fn time_that_is_not_known_is_not_said() {
        let mut prepared = Prepared::default();
        prepared.read(Counted { total_us: None, ..counted(1, 5, 1, 0) });
        assert!(prepared.sentence().unwrap().starts_with("50.0 % of the executions are by statements"));
        prepared.read(Counted { total_us: None, ..counted(1, 5, 1, 0) });
        assert_eq!(prepared.sentence(), None, "nothing was executed");
    }
}
