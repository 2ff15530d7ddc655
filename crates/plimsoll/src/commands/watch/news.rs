//! Statements that are new: seen in a range, and not at the same time of the day before. Where that time was not watched in whole nothing is new:
//! it is not known. Of those that are new it is said if they ran at the same time a week before.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use plimsoll_measurement::counters::Item;
use plimsoll_profile::{Record, Status};

use super::names::{self, SHORT_TEXT};
use super::stored::Kept;
use super::sums::Sums;
use crate::failure::Failure;
use crate::settings::Settings;

/// In microseconds.
const HOUR_US: i64 = 3_600_000_000;
const DAY_US: i64 = 24 * HOUR_US;
/// A week before is so long before the day before.
const REST_OF_WEEK_US: i64 = 6 * DAY_US;

/// From this part on, the time of the day before was watched.
const WATCHED_PERCENT: u64 = 90;

/// So many are named.
const MOST_NAMED: usize = 3;

/// Since when a statement is new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// It ran before, and not at the same time of the day before.
    DayBefore,
    /// The same, and it ran at the same time a week before: some work is that of a day of the week.
    WeekBefore,
    /// It was never seen before, since the server is watched.
    Ever,
}

impl Since {
    /// In JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::DayBefore | Self::WeekBefore => "since_day_before",
            Self::Ever => "never_seen_before",
        }
    }
}

impl Since {
    /// Whether it is known to have run at the same time a week before.
    pub fn ran_week_before(self) -> bool {
        self == Self::WeekBefore
    }
}

/// What is new in a range.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct News {
    /// The time that it is held against; `None` if that was not watched, and then nothing is new.
    pub before: Option<Range<i64>>,
    new: BTreeMap<Item, Since>,
    /// What is new, in a sentence.
    pub sentence: Option<String>,
}

/// Whole hours of the day before that a range is in. Of a range of more than a day it is the day before its begin.
fn day_before(range: &Range<i64>) -> Range<i64> {
    let hour = |us: i64| us.div_euclid(HOUR_US).saturating_mul(HOUR_US);
    let end = hour(range.end.saturating_add(HOUR_US - 1)).saturating_sub(DAY_US);
    hour(range.start).saturating_sub(DAY_US)..end.min(range.start)
}

/// How much of a time a record is of, in microseconds, if every statement that ran then is in it.
fn watched_us(record: &Record, time: &Range<i64>) -> u64 {
    let bucket = &record.bucket;
    let has_rest = bucket.other.is_some() || bucket.other_nested.is_some();
    if has_rest || bucket.status.has(Status::PARTIAL) {
        return 0;
    }
    let within = record.about.end_us.min(time.end).saturating_sub(bucket.start_us.max(time.start));
    bucket.covered_us.min(u64::try_from(within).unwrap_or(0))
}

/// Statements that ended in a record, or were seen in it.
fn ran(record: &Record) -> impl Iterator<Item = Item> {
    let ended = record.bucket.sums.keys().map(|key| key.item);
    ended.chain(record.waits.keys().filter_map(|(item, _)| *item))
}

/// Statements with a noticeable part of the time that were not seen then, as those that are named for their text, the most first.
fn find(all: &Sums, seen: &BTreeSet<Item>, is_older: impl Fn(Item) -> bool) -> Vec<(Item, f64, Since)> {
    let noticeable = all.noticeable();
    let clients = all.by_query.iter().filter(|((item, is_nested), _)| !is_nested && !seen.contains(item));
    let noticed = clients.filter_map(|((item, _), sum)| {
        let since = if is_older(*item) { Since::DayBefore } else { Since::Ever };
        Some((*item, noticeable(sum)?, since))
    });
    let mut new: Vec<_> = noticed.collect();
    new.sort_by(|one, other| other.1.total_cmp(&one.1));
    new
}

fn sentence(new: &[(String, f64, Since)]) -> Option<String> {
    let percent = |share: f64| names::percent(Some(share));
    let [(name, share, since)] = new else {
        let named: Vec<String> =
            new.iter().take(MOST_NAMED).map(|(name, share, _)| format!("'{name}' ({})", percent(*share))).collect();
        let never = match new.iter().filter(|(.., since)| *since == Since::Ever).count() {
            0 => String::new(),
            all if all == new.len() => ", and were never seen before".to_owned(),
            some => format!(", and {some} of them were never seen before"),
        };
        let weekly = match new.iter().filter(|(.., since)| since.ran_week_before()).count() {
            0 => String::new(),
            all if all == new.len() => ", but a week before".to_owned(),
            some => format!(", and {some} of them did a week before"),
        };
        let more = if new.len() > MOST_NAMED { ", and others" } else { "" };
        return (!new.is_empty()).then(|| {
            format!(
                "{} statements did not run at the same time of the day before{weekly}{never}: {}{more}.",
                new.len(),
                named.join(", ")
            )
        });
    };
    let share = percent(*share);
    Some(match since {
        Since::Ever => {
            format!("'{name}' is new, with {share} of the time: it was never seen since the server is watched.")
        }
        Since::DayBefore | Since::WeekBefore => {
            let weekly = if since.ran_week_before() { ", but did a week before" } else { "" };
            format!("'{name}', with {share} of the time, did not run at the same time of the day before{weekly}.")
        }
    })
}

impl News {
    /// What is new in a range of what is kept, of which these are the sums.
    pub fn of(kept: &Kept, range: &Range<i64>, sums: &Sums) -> Result<Self, Failure> {
        let Some(first_seen) = kept.first_seen()? else { return Ok(Self::default()) };
        // The same text is one statement: tables that are made anew have others for the server.
        let same = names::same_text(&kept.texts);
        let one = |item: Item| *same.get(&item).unwrap_or(&item);
        let before = day_before(range);
        let (mut watched, mut seen) = (0_u64, BTreeSet::new());
        kept.records(&before, |record| {
            watched = watched.saturating_add(watched_us(&record, &before));
            seen.extend(ran(&record).map(one));
        })?;
        if watched.saturating_mul(100) < before.end.abs_diff(before.start).saturating_mul(WATCHED_PERCENT) {
            return Ok(Self::default());
        }
        let older = first_seen.into_iter().filter(|(_, us)| *us < range.start);
        let older: BTreeSet<Item> = older.map(|(item, _)| one(item)).collect();
        let mut new = find(&sums.as_one(&same), &seen, |item| older.contains(&item));
        // Without a text nobody knows whether it is that of another one.
        new.retain(|(item, ..)| same.contains_key(item));
        if new.iter().any(|(.., since)| *since == Since::DayBefore) {
            let week_before = before.start.saturating_sub(REST_OF_WEEK_US)..before.end.saturating_sub(REST_OF_WEEK_US);
            let mut seen = BTreeSet::new();
            kept.records(&week_before, |record| seen.extend(ran(&record).map(one)))?;
            for (item, _, since) in &mut new {
                if *since == Since::DayBefore && seen.contains(item) {
                    *since = Since::WeekBefore;
                }
            }
        }
        let named: Vec<_> = new
            .iter()
            .map(|(item, share, since)| (names::name(*item, &kept.texts, SHORT_TEXT), *share, *since))
            .collect();
        let by_text: BTreeMap<Item, Since> = new.into_iter().map(|(item, _, since)| (item, since)).collect();
        let items = sums.by_query.keys().filter_map(|(item, _)| Some((*item, *by_text.get(&one(*item))?)));
        Ok(Self { before: Some(before), new: items.collect(), sentence: sentence(&named) })
    }

    /// The same of a server that is being watched. If what is kept can't be read, nothing is known.
    pub fn of_target(target: &str, range: &Range<i64>, sums: &Sums, settings: &Settings) -> Self {
        let kept = Kept::find(Some(target), settings);
        kept.and_then(|kept| Self::of(&kept, range, sums)).unwrap_or_default()
    }

    /// Since when a statement is new; `None` if it is not, or if that is not known.
    pub fn since(&self, item: Item) -> Option<Since> {
        self.new.get(&item).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::super::sums::Sum;
    use super::*;
    use plimsoll_measurement::counters::{Measure, Values};
    use plimsoll_profile::bucket::{Bucket, Other};
    use plimsoll_profile::{About, bucket};

    fn record(start_us: i64, end_us: i64) -> Record {
        let bucket = Bucket {
            start_us,
            length_us: 60_000_000,
            covered_us: end_us.abs_diff(start_us),
            status: Status::EXACT,
            explained_us: None,
            total_us: None,
            sums: BTreeMap::new(),
            other: None,
            other_nested: None,
        };
        Record { bucket, about: About { end_us, ..About::default() }, waits: BTreeMap::new(), counted: BTreeMap::new() }
    }

    #[test]
    fn a_range_is_held_against_whole_hours_of_the_day_before() {
        let at = |hours: i64, minutes: i64| hours * HOUR_US + minutes * 60_000_000;
        assert_eq!(day_before(&(at(49, 20)..at(49, 25))), at(25, 0)..at(26, 0));
        assert_eq!(day_before(&(at(49, 50)..at(50, 10))), at(25, 0)..at(27, 0));
        assert_eq!(day_before(&(at(49, 0)..at(50, 0))), at(25, 0)..at(26, 0));
        assert_eq!(day_before(&(at(49, 30)..at(99, 30))), at(25, 0)..at(49, 30), "no more than what came before");
    }

    #[test]
    fn what_may_hide_a_statement_was_not_watched() {
        let time = 1_000..2_000;
        assert_eq!((watched_us(&record(900, 1_400), &time), watched_us(&record(1_900, 2_500), &time)), (400, 100));
        let mut partial = record(1_000, 1_500);
        partial.bucket.status = Status::PARTIAL;
        let mut cut = record(1_000, 1_500);
        let sum = bucket::Sum { values: Values::default(), status: Status::EXACT, longest_us: None };
        cut.bucket.other = Some(Other { sums: 3, sum });
        let mut begun = record(1_000, 1_500);
        begun.bucket.covered_us = 0;
        assert_eq!([partial, cut, begun].map(|record| watched_us(&record, &time)), [0, 0, 0]);
    }

    #[test]
    fn a_statement_is_new_that_is_noticeable_and_was_not_seen() {
        let mut all = Sums { covered_us: 1_000_000, ..Sums::default() };
        for (item, us) in [(1, 6_000), (2, 3_000), (3, 950), (4, 50)] {
            let values = Values::of([(Measure::Executions, 1), (Measure::ElapsedUs, us)]);
            all.by_query.insert((Item(item), false), Sum { values, status: Status::EXACT });
            // What runs within another one has its time there.
            all.by_query.insert((Item(item + 10), true), Sum { values, status: Status::EXACT });
        }
        let found = find(&all, &BTreeSet::from([Item(2)]), |item| item == Item(3));
        assert_eq!(found, [(Item(1), 60.0, Since::Ever), (Item(3), 9.5, Since::DayBefore)]);
    }

    #[test]
    fn one_is_told_with_its_share_and_several_are_counted() {
        let of = |name: &str, share, since| (name.to_owned(), share, since);
        let (a, b) = (of("a", 60.0, Since::Ever), of("b", 9.5, Since::DayBefore));
        assert_eq!(sentence(&[]), None);
        assert!(sentence(std::slice::from_ref(&a)).unwrap().contains("never seen"));
        assert!(
            sentence(std::slice::from_ref(&b)).unwrap().ends_with("did not run at the same time of the day before.")
        );
        assert_eq!(
            sentence(&[a.clone(), b]).unwrap(),
            "2 statements did not run at the same time of the day before, and 1 of them were never seen before: 'a' (60.0 %), 'b' (9.50 %)."
        );
        let weekly = of("c", 2.0, Since::WeekBefore);
        assert!(
            sentence(std::slice::from_ref(&weekly)).unwrap().ends_with("of the day before, but did a week before.")
        );
        let two = sentence(&[weekly.clone(), of("d", 1.0, Since::DayBefore)]).unwrap();
        assert!(two.contains("of the day before, and 1 of them did a week before: 'c'"), "{two}");
        let four = sentence(&[a.clone(), a.clone(), a.clone(), a]).unwrap();
        assert!(four.contains("4 statements") && four.ends_with("'a' (60.0 %), and others."), "{four}");
    }
}
