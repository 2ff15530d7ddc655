//! What should not be true of a slot (`watch --fail-if 'share(query) > 40 %'`): each slot of which it is true is told and marked, and the
//! exit code is 1.

use plimsoll_measurement::counters::Measure;
use plimsoll_report::model::format;

use super::limits;
use super::metrics::BY_SAMPLES;
use super::names::{SHORT_TEXT, Texts, name, percent};
use super::sums::{Sum, Sums};
use crate::commands::condition::Condition;
use crate::failure::Failure;

/// The figures of a slot: their names, and the unit that they are in.
const FIGURES: [(&str, Figure, &str); 4] = [
    ("share(query)", Figure::Share, "%"),
    ("mean(query)", Figure::Mean, "ms"),
    ("active", Figure::Active, ""),
    ("known", Figure::Known, "%"),
];

/// A slot with less than one in so many sessions active is idle.
const IDLE: u64 = 100;

/// A figure of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Figure {
    /// The share of the time that the statement with most of it has.
    Share,
    /// How long an execution of the statement with the longest ones takes on average.
    Mean,
    /// Sessions that are active on average.
    Active,
    /// Coverage: how much of the database time statements explain.
    Known,
}

/// What should not be true, and of how many slots it was.
#[derive(Debug, Clone)]
pub struct Alert {
    condition: Condition,
    figure: Figure,
    limit: f64,
    slots: u64,
    is_known: bool,
}

impl Alert {
    /// Reads one.
    ///
    /// # Errors
    /// If it is none.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        let wrong = |problem: String| {
            Failure::usage(format!("--fail-if '{text}': {problem}")).hint(
                "such as --fail-if 'share(query) > 40 %', 'mean(query) > 20ms', 'active > 8' (sessions) or 'known < 50 %'",
            )
        };
        let condition = Condition::parse(text).map_err(&wrong)?;
        let found = FIGURES.into_iter().find(|(name, ..)| *name == condition.figure);
        let (name, figure, unit) =
            found.ok_or_else(|| wrong(format!("a slot has no figure '{}'", condition.figure)))?;
        if figure == Figure::Mean && !condition.is_time() {
            return Err(wrong(format!("'{}' is not a time with a unit", condition.wanted)));
        }
        let in_unit = if unit.is_empty() { "no unit" } else { unit };
        let limit = condition.in_unit(unit).ok_or_else(|| wrong(format!("{name} is in {in_unit}")))?;
        if matches!(figure, Figure::Share | Figure::Mean) && !condition.is_above() {
            return Err(wrong(format!("{name} is that of the statement with most: hold it against > or >=")));
        }
        Ok(Self { condition, figure, limit, slots: 0, is_known: false })
    }

    /// Holds a slot against it: a sentence if it is true. What is not known is not.
    pub fn judge(&mut self, sums: &Sums, texts: &Texts) -> Option<String> {
        let (value, said) = self.figure.of(sums, texts)?;
        self.is_known = true;
        let is_true = self.condition.is_true(value, self.limit);
        self.slots += u64::from(is_true);
        is_true.then(|| format!("'{}' is true: {said}", self.condition.text))
    }

    /// Of how many slots it was true.
    pub const fn slots(&self) -> u64 {
        self.slots
    }

    /// How it stood in all slots.
    pub fn summary(&self, of: u64) -> String {
        let text = &self.condition.text;
        match (self.is_known, self.slots) {
            (false, _) => format!("'{text}' is not known: no slot had that figure"),
            (true, 0) => format!("'{text}' was true in none of {of} slots"),
            (true, slots) => format!("'{text}' was true in {slots} of {of} slots"),
        }
    }
}

impl Figure {
    /// Its value in a slot, and a sentence.
    fn of(self, sums: &Sums, texts: &Texts) -> Option<(f64, String)> {
        let listed = || sums.by_query.iter().filter(|((_, is_nested), _)| !is_nested);
        let most = |of: &dyn Fn(&Sum) -> Option<f64>| {
            let all = listed().filter_map(|((item, _), sum)| Some((of(sum)?, *item)));
            all.max_by(|one, other| one.0.total_cmp(&other.0))
        };
        match self {
            Self::Share => {
                // As the summary ranks them: where statements count little of the time themselves, by what sessions were seen at work on.
                let is_seen = sums.best_metric() == BY_SAMPLES;
                let seen_us = limits::seen_us(sums) as f64;
                let seen = |sum: &Sum| sum.values.get(Measure::SampledUs).map(|us| 100.0 * us as f64 / seen_us);
                let counted = |sum: &Sum| sums.share_percent(sum.elapsed_us());
                let (value, item) = most(if is_seen { &seen } else { &counted })?;
                let of = match (is_seen, sums.explained) {
                    (true, _) => "the time of sessions",
                    (false, Some(_)) => "the database time",
                    (false, None) => "the time of all statements",
                };
                Some((value, format!("'{}' has {} of {of}", name(item, texts, SHORT_TEXT), percent(Some(value)))))
            }
            Self::Mean => {
                let (us, item) = most(&|sum| {
                    let executions = sum.values.get(Measure::Executions).filter(|count| *count > 0)?;
                    Some(sum.values.get(Measure::ElapsedUs)? as f64 / executions as f64)
                })?;
                let took = format::seconds(us / 1e6);
                Some((us / 1e3, format!("'{}' takes {took} on average", name(item, texts, SHORT_TEXT))))
            }
            Self::Active => {
                let value = sums.active_sessions()?;
                Some((value, format!("{value:.2} sessions were active")))
            }
            Self::Known => {
                // Of next to nothing no part is worth a word: what is left then is our own log-in.
                let is_idle = sums.database_us().saturating_mul(IDLE) < sums.covered_us;
                let value = sums.coverage_percent().filter(|_| !is_idle)?;
                Some((value, format!("{} of the database time is known", percent(Some(value)))))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_engine::QueryText;
    use plimsoll_measurement::counters::{Item, Values};
    use plimsoll_profile::Status;

    use super::*;

    fn slot() -> (Sums, Texts) {
        let mut sums = Sums { covered_us: 10_000_000, explained: Some((8_000_000, 10_000_000)), ..Sums::default() };
        for (item, executions, us) in [(1, 100, 6_000_000), (2, 1, 2_000_000)] {
            let values = Values::of([(Measure::Executions, executions), (Measure::ElapsedUs, us)]);
            sums.by_query.insert((Item(item), false), Sum { values, status: Status::EXACT });
        }
        // What runs within another one is in the time of that.
        let within = Values::of([(Measure::Executions, 1), (Measure::ElapsedUs, 9_000_000)]);
        sums.by_query.insert((Item(3), true), Sum { values: within, status: Status::EXACT });
        let text =
            |item, text: &str| (item, QueryText { item, database: None, text: Some(text.to_owned()), object: None });
        (sums, Texts::from([text(Item(1), "SELECT a"), text(Item(2), "SELECT b")]))
    }

    fn said(text: &str) -> Option<String> {
        let (sums, texts) = slot();
        Alert::parse(text).unwrap().judge(&sums, &texts)
    }

    #[test]
    fn a_slot_is_held_against_what_should_not_be_true() {
        assert_eq!(
            said("share(query) > 40 %").unwrap(),
            "'share(query) > 40 %' is true: 'SELECT a' has 60.0 % of the database time"
        );
        assert_eq!(said("share(query) > 60"), None);
        assert!(said("share(query) >= 60%").is_some());
        assert_eq!(said("mean(query) > 1s").unwrap(), "'mean(query) > 1s' is true: 'SELECT b' takes 2.0 s on average");
        assert_eq!(said("mean(query) > 2000ms"), None);
        assert_eq!(said("active >= 1").unwrap(), "'active >= 1' is true: 1.00 sessions were active");
        assert_eq!(said("Known < 90 %").unwrap(), "'Known < 90 %' is true: 80.0 % of the database time is known");
        assert_eq!(said("known < 80%"), None);
    }

    #[test]
    fn what_is_not_known_is_not_true_and_is_said_at_the_end() {
        let mut alert = Alert::parse("known < 90 %").unwrap();
        assert_eq!(alert.judge(&Sums::default(), &Texts::new()), None);
        assert_eq!(alert.summary(1), "'known < 90 %' is not known: no slot had that figure");
        let (sums, texts) = slot();
        assert!(alert.judge(&sums, &texts).is_some());
        assert_eq!((alert.slots(), alert.summary(2).as_str()), (1, "'known < 90 %' was true in 1 of 2 slots"));
    }

    #[test]
    fn what_is_no_condition_of_a_slot_is_refused() {
        for text in ["", "share", "speed > 3", "share(query) < 3", "mean(query) > 20", "active > 3 %", "known < 2ms"] {
            assert!(Alert::parse(text).is_err(), "{text}");
        }
    }
}
