//! What is known of a source from the reads so far: the last counters of every row, for the life of the epoch.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use crate::coverage::Account;
use crate::measure::Values;
use crate::snapshot::{Edge, Evictions, Row, RowId, Snapshot, Source};

/// So many rows are remembered that the last read did not have. A row that is forgotten is new when it is seen again, and only a stamp or a
/// complete read can then credit it.
const MOST_ABSENT_ROWS: usize = 100_000;

/// What is known of a source. It can be stored, so that a profiler that was started again goes on with a gap of its true length.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Known {
    /// The last read, if there was one.
    pub(crate) last: Option<Read>,
    /// The number of the epoch, from 1.
    pub(crate) epoch: u64,
    /// The latest moment that the server's clock showed in a read.
    pub(crate) latest_us: i64,
    pub(crate) account: Account,
    rows: HashMap<RowId, Seen>,
    /// Whether whoever kept it last has ended.
    #[serde(default)]
    is_left: bool,
    /// What changed since somebody last kept it.
    #[serde(skip)]
    unkept: Unkept,
}

/// Rows that are not as they were kept, and whether all that were kept are void.
#[derive(Debug, Clone, Default)]
struct Unkept {
    is_anew: bool,
    rows: HashSet<RowId>,
}

/// What is known without its rows: small, and another one after each read.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Head {
    last: Option<Read>,
    epoch: u64,
    latest_us: i64,
    account: Account,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_left: bool,
}

/// A row as it is kept, apart from the others.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct KeptRow {
    /// When it was seen, unless that is the last read of all: what most rows were seen in need not be written again and again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sight: Option<Sight>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    created_us: Option<i64>,
    values: Values,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    longest_us: Option<u64>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_gone: bool,
}

/// What changed since it was last kept: whoever adds this to what he has kept has all that is known.
#[derive(Debug, Clone)]
pub struct Changes {
    /// In place of the one before.
    pub head: Head,
    /// Whether all rows kept before are void.
    pub is_anew: bool,
    /// Rows to be kept in place of those before; `None` for one that is void.
    pub rows: Vec<(RowId, Option<KeptRow>)>,
}

/// A read without its rows.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Read {
    pub source: Source,
    pub start: Edge,
    pub end: Edge,
    pub is_complete: bool,
    pub sight: Sight,
}

/// When a row was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sight {
    /// The number of the read.
    pub number: u64,
    pub start_us: i64,
    pub end_us: i64,
    /// Our clock begins anew with our process, so that it is not stored.
    #[serde(skip)]
    pub own_us: Option<u64>,
    /// As they were before the row was read.
    pub evictions: Evictions,
}

impl Sight {
    pub(crate) fn of(snapshot: &Snapshot, number: u64) -> Self {
        Self {
            number,
            start_us: snapshot.start.clock_us,
            end_us: snapshot.end.clock_us,
            own_us: snapshot.own_us,
            evictions: snapshot.start.evictions,
        }
    }

    /// Whether a row may have been dropped between this sight and the end of a later read.
    pub(crate) fn may_be_evicted_until(self, end: &Edge) -> bool {
        match (self.evictions, end.evictions) {
            (Evictions::Never, Evictions::Never) => false,
            (Evictions::Counted(before), Evictions::Counted(after)) => before != after,
            _ => true,
        }
    }
}

/// A row as it was last seen.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Seen {
    pub sight: Sight,
    pub created_us: Option<i64>,
    pub values: Values,
    pub longest_us: Option<u64>,
    /// Whether a complete read did not have it since.
    pub is_gone: bool,
}

impl Known {
    /// Rows that are remembered.
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    pub(crate) fn seen(&self, row: RowId) -> Option<Seen> {
        self.rows.get(&row).copied()
    }

    pub(crate) fn keep(&mut self, row: &Row, sight: Sight) {
        let &Row { id, created_us, values, longest_us, .. } = row;
        let seen = Seen { sight, created_us, values, longest_us, is_gone: false };
        let old = self.rows.insert(id, seen);
        let is_same = old.is_some_and(|old| {
            let was_there = old.sight.number + 1 == sight.number && !old.is_gone;
            was_there && (old.created_us, old.values, old.longest_us) == (created_us, values, longest_us)
        });
        if !is_same {
            self.unkept.rows.insert(id);
        }
    }

    /// Nothing of the rows is valid any more.
    pub(crate) fn forget_rows(&mut self) {
        self.rows.clear();
        self.unkept = Unkept { is_anew: true, rows: HashSet::new() };
    }

    /// The read of this number did not have rows of the one before: from now on it has to be kept when they were seen.
    pub(crate) fn has_read(&mut self, number: u64) {
        let missed = self.rows.iter().filter(|(_, seen)| seen.sight.number + 1 == number).map(|(row, _)| *row);
        self.unkept.rows.extend(missed);
    }

    /// What changed since [`was_kept`](Self::was_kept) was last told.
    pub fn changes(&self) -> Changes {
        let last = self.last.as_ref().map(|last| last.sight.number);
        let kept = |row: &RowId| {
            let &Seen { sight, created_us, values, longest_us, is_gone } = self.rows.get(row)?;
            let sight = (Some(sight.number) != last).then_some(sight);
            Some(KeptRow { sight, created_us, values, longest_us, is_gone })
        };
        let mut rows: Vec<_> = self.unkept.rows.iter().map(|row| (*row, kept(row))).collect();
        rows.sort_by_key(|(row, _)| *row);
        let &Self { epoch, latest_us, account, is_left, .. } = self;
        let head = Head { last: self.last.clone(), epoch, latest_us, account, is_left };
        Changes { head, is_anew: self.unkept.is_anew, rows }
    }

    /// The changes are kept.
    pub fn was_kept(&mut self) {
        self.unkept = Unkept::default();
    }

    /// What was kept.
    pub fn of_kept(head: Head, rows: impl IntoIterator<Item = (RowId, KeptRow)>) -> Self {
        let Head { last, epoch, latest_us, account, is_left } = head;
        let sight = last.as_ref().map(|last| last.sight);
        let seen = |(id, row): (RowId, KeptRow)| {
            let KeptRow { sight: own, created_us, values, longest_us, is_gone } = row;
            Some((id, Seen { sight: own.or(sight)?, created_us, values, longest_us, is_gone }))
        };
        let rows = rows.into_iter().filter_map(seen).collect();
        Self { last, epoch, latest_us, account, rows, is_left, unkept: Unkept::default() }
    }

    /// Tells whoever reads what is kept next whether this one has ended: then nobody else goes on from it.
    pub const fn leave(&mut self, is_left: bool) {
        self.is_left = is_left;
    }

    /// Whether whoever kept it last has ended.
    pub const fn is_left(&self) -> bool {
        self.is_left
    }

    /// The number of the last read, from 1; 0 before the first.
    pub fn reads(&self) -> u64 {
        self.last.as_ref().map_or(0, |last| last.sight.number)
    }

    /// When the last read ended, by the server's clock.
    pub fn read_us(&self) -> Option<i64> {
        self.last.as_ref().map(|last| last.sight.end_us)
    }

    /// Rows that a complete read, the one of this number, did not have: where they were last seen. They are gone from now on, and remembered
    /// if one that comes back `goes_on`, or has a stamp.
    pub(crate) fn lost_in(&mut self, number: u64, goes_on: bool) -> Vec<(RowId, Sight)> {
        let missing = self.rows.iter_mut().filter(|(_, seen)| !seen.is_gone && seen.sight.number != number);
        let mut lost: Vec<(RowId, Sight)> = missing
            .map(|(row, seen)| {
                seen.is_gone = true;
                (*row, seen.sight)
            })
            .collect();
        // The order of a map is not the same from run to run.
        lost.sort_by_key(|(row, _)| *row);
        self.unkept.rows.extend(lost.iter().map(|(row, _)| *row));
        // Without a stamp, one that comes back can't be told from a new one.
        self.rows.retain(|_, seen| !seen.is_gone || goes_on || seen.created_us.is_some());
        lost
    }

    /// Forgets rows if too many are remembered that the read of this number did not have: those of the oldest reads.
    pub(crate) fn bound(&mut self, number: u64) {
        let absent = self.rows.values().map(|seen| seen.sight.number).filter(|seen| *seen != number);
        let mut absent: Vec<u64> = absent.collect();
        if absent.len() > MOST_ABSENT_ROWS {
            let excess = absent.len() - MOST_ABSENT_ROWS;
            let newest_forgotten = *absent.select_nth_unstable(excess - 1).1;
            self.unkept.rows.extend(
                self.rows.iter().filter(|(_, seen)| seen.sight.number <= newest_forgotten).map(|(row, _)| *row),
            );
            self.rows.retain(|_, seen| seen.sight.number > newest_forgotten);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::{Item, RowId};

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut known = Known::default();
        let most = MOST_ABSENT_ROWS as u128;
        let row = |id| Row {
            id: RowId(id),
            item: Item(0),
            plan: None,
            created_us: None,
            values: Values::default(),
            longest_us: None,
            is_nested: false,
        };
        let sight = |number| Sight { number, start_us: 0, end_us: 0, own_us: None, evictions: Evictions::Untold };
        for id in 0..most + 20 {
            known.keep(&row(id), sight(if id < 30 { 1 } else { 2 }));
        }
        known.bound(2);
        assert_eq!(known.rows() as u128, most + 20, "those of the last read are all kept");
        known.bound(3);
        assert_eq!(known.rows() as u128, most - 10);
        assert!(known.seen(RowId(29)).is_none() && known.seen(RowId(30)).is_some());
    }
}
