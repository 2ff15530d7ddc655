//! The one place where counters are subtracted: what was known and a snapshot in, a slot of deltas out.
//!
//! Rows are compared by the server's own identity, and summed by query later: a sum over rows that come and go is no counter. What can't
//! be proven is declared unknown. Three things prove how much of a row's counters is new:
//! - it was seen before, is the same row, and no counter got less: the growth is;
//! - it began at zero after it was last seen (another creation stamp, or a counter of a statement got less): all of it is, and what it had
//!   counted in the end before that is lost;
//! - it was never seen, and its creation stamp lies after the last read, or the last read had all rows of the epoch: all of it is.

use std::fmt;

use crate::coverage::{Continuity, Coverage};
use crate::epoch::{self, Beginning, Interval};
use crate::known::{Known, Read, Seen, Sight};
use crate::measure::Values;
use crate::slot::{Delta, Reason, Slot, Unknown};
use crate::snapshot::{Evictions, Row, RowId, Snapshot};
use crate::status::Status;

/// Why a snapshot can't be used. Nothing of what was known is changed: the next read covers the time as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The server was restarted or reset in the middle of the read. Another read at once may be whole.
    Torn,
    /// By our own clock the read before ended later.
    OutOfOrder,
    /// It is of another source.
    OtherSource,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Torn => "the server was restarted or reset while it was read",
            Self::OutOfOrder => "the read ended before the one that is known",
            Self::OtherSource => "the read is of another source",
        })
    }
}

impl std::error::Error for Refusal {}

/// What happened since the last read. `slot_us` is how long a slot should be; from half as much more on it is a gap.
///
/// The result depends on nothing but the three arguments. What is known afterwards has the snapshot in it.
///
/// # Errors
/// A snapshot that mixes two lives of the server, that is older than what is known, or that is of another source.
pub fn diff(known: &mut Known, snapshot: &Snapshot, slot_us: u64) -> Result<Slot, Refusal> {
    let last = known.last.take();
    if let Some(refusal) = last.as_ref().map_or_else(|| torn(snapshot), |last| refusal(last, snapshot)) {
        known.last = last;
        return Err(refusal);
    }
    let number = last.as_ref().map_or(0, |last| last.sight.number) + 1;
    let sight = Sight::of(snapshot, number);
    let mut slot = match &last {
        None => first(known, snapshot, sight),
        Some(last) => next(known, last, snapshot, sight, slot_us),
    };
    known.has_read(number);
    known.bound(number);
    slot.deltas.sort_by_key(|delta| delta.row);
    slot.epoch = known.epoch;
    known.latest_us = known.latest_us.max(latest(snapshot));
    let (start, end) = (snapshot.start.clone(), snapshot.end.clone());
    known.last = Some(Read { source: snapshot.source, start, end, is_complete: snapshot.is_complete, sight });
    Ok(slot)
}

fn torn(snapshot: &Snapshot) -> Option<Refusal> {
    epoch::is_torn(snapshot).then_some(Refusal::Torn)
}

fn refusal(last: &Read, snapshot: &Snapshot) -> Option<Refusal> {
    let is_older = snapshot.own_us.zip(last.sight.own_us).is_some_and(|(now, before)| now < before);
    if last.source != snapshot.source {
        Some(Refusal::OtherSource)
    } else if is_older {
        Some(Refusal::OutOfOrder)
    } else {
        torn(snapshot)
    }
}

/// The latest moment that the server's clock showed in a read: it may be set back in the middle of one.
fn latest(snapshot: &Snapshot) -> i64 {
    snapshot.start.clock_us.max(snapshot.end.clock_us)
}

/// A slot without deltas.
fn empty(snapshot: &Snapshot, start_us: i64) -> Slot {
    Slot {
        source: snapshot.source,
        epoch: 0,
        event: None,
        start_us,
        end_us: snapshot.end.clock_us,
        interval_us: None,
        clock_step_us: None,
        status: Status::PARTIAL.when(!snapshot.is_complete),
        deltas: Vec::new(),
        unknown: Vec::new(),
        evictions: None,
        coverage: Coverage {
            of: snapshot.total_of,
            explained_us: Some(0),
            late_us: 0,
            total_us: None,
            total_range_us: None,
        },
    }
}

/// The first read is only a point to start from.
fn first(known: &mut Known, snapshot: &Snapshot, sight: Sight) -> Slot {
    known.epoch = 1;
    known.latest_us = latest(snapshot);
    for row in &snapshot.rows {
        known.keep(row, sight);
    }
    known.account.begin((&snapshot.start, &snapshot.end), snapshot.is_complete);
    let mut slot = empty(snapshot, snapshot.start.clock_us);
    slot.event = Some(Reason::First);
    slot.status |= Status::BASELINE;
    slot
}

fn next(known: &mut Known, last: &Read, snapshot: &Snapshot, sight: Sight, slot_us: u64) -> Slot {
    let end = (snapshot.end.clock_us, snapshot.own_us);
    let interval = Interval::between((last.sight.end_us, last.sight.own_us), end);
    let (event, beginning) = epoch::between(last, snapshot, known.latest_us, interval.apart_us);
    let mut slot = empty(snapshot, last.sight.end_us);
    (slot.event, slot.interval_us, slot.clock_step_us) = (event, interval.us, interval.step_us());
    slot.status |= Status::GAP.when(is_gap(interval.us, slot_us));
    if beginning != Beginning::Same {
        known.epoch += 1;
        known.forget_rows();
        slot.status |= if beginning == Beginning::Zero { Status::LOWER_BOUND } else { Status::BASELINE };
    }
    declare(&mut slot, last, snapshot, beginning);
    let are_stamps_proof = epoch::are_stamps_proof(event, snapshot, interval.apart_us);
    let latest_us = known.latest_us;
    let reading = Reading { last, snapshot, sight, beginning, are_stamps_proof, latest_us, slot_us };
    for row in &snapshot.rows {
        reading.take(known, row, &mut slot);
    }
    if snapshot.is_complete {
        // A sum that is not listed for a while goes on where it was, as when nobody looks at its parts meanwhile.
        for (row, seen) in known.lost_in(sight.number, snapshot.source.has_sums()) {
            slot.unknown.push(reading.unknown(Reason::Ended, Some(row), seen.start_us));
        }
    }
    declare_unseen(&mut slot);
    let continuity = match event {
        None | Some(Reason::Reset) => Continuity::Same,
        Some(Reason::Restart) => Continuity::IfStamped,
        Some(_) => Continuity::Another,
    };
    let (before, now) = ((&last.start, &last.end), (&snapshot.start, &snapshot.end));
    known.account.settle(&mut slot.coverage, before, now, continuity, snapshot.is_complete);
    slot.status |= Status::ESTIMATED.when(slot.coverage.late_us > 0);
    if slot.coverage.total_range_us.is_some_and(|(least, _)| slot.coverage.explained_us < Some(least)) {
        slot.unknown.push(reading.unknown(Reason::Unexplained, None, last.sight.start_us));
    }
    if event == Some(Reason::Failover) {
        // The other server's clock is another one.
        known.latest_us = latest(snapshot);
    }
    slot
}

fn is_gap(interval_us: Option<u64>, slot_us: u64) -> bool {
    interval_us.is_none_or(|us| us > slot_us.saturating_add(slot_us / 2))
}

/// Declares what may be missing whatever the rows say.
fn declare(slot: &mut Slot, last: &Read, snapshot: &Snapshot, beginning: Beginning) {
    let (from_us, to_us) = (last.sight.start_us, snapshot.end.clock_us);
    let mut unknown = |reason| slot.unknown.push(Unknown { reason, row: None, from_us, to_us });
    if let Some(event) = slot.event.filter(|_| beginning != Beginning::Same) {
        unknown(event);
    }
    if !snapshot.is_complete {
        unknown(Reason::Partial);
    }
    let counted = |evictions| if let Evictions::Counted(times) = evictions { Some(times) } else { None };
    slot.evictions = match beginning {
        Beginning::Same => counted(snapshot.end.evictions)
            .zip(counted(last.sight.evictions))
            .and_then(|(now, old)| now.checked_sub(old)),
        Beginning::Zero => counted(snapshot.end.evictions),
        Beginning::Unknown => None,
    };
    let is_certain = matches!(snapshot.end.evictions, Evictions::Never) || slot.evictions == Some(0);
    if !is_certain {
        unknown(Reason::Eviction);
    }
}

/// Rows that end though the server drops none were set back by somebody, and others may have been that nobody saw. A sum ends with what it
/// is of.
fn declare_unseen(slot: &mut Slot) {
    if slot.source.has_sums() {
        return;
    }
    let is_told = slot.unknown.iter().any(|unknown| unknown.row.is_none() && unknown.reason != Reason::Partial);
    let ended = slot.unknown.iter().filter(|unknown| unknown.reason == Reason::Ended);
    if let Some(unknown) = ended.min_by_key(|unknown| unknown.from_us).filter(|_| !is_told) {
        slot.unknown.push(Unknown { reason: Reason::Reset, row: None, ..*unknown });
    }
}

/// What rows of a snapshot are held against.
struct Reading<'r> {
    last: &'r Read,
    snapshot: &'r Snapshot,
    sight: Sight,
    beginning: Beginning,
    are_stamps_proof: bool,
    latest_us: i64,
    slot_us: u64,
}

/// How much of a row's counters is new, since which sight, and the status of that.
struct Growth {
    values: Values,
    since: Sight,
    status: Status,
    /// The longest execution of this growth alone.
    longest_us: Option<u64>,
}

impl Growth {
    /// All that a row has counted.
    fn whole(row: &Row, since: Sight, status: Status) -> Self {
        Self { values: row.values, since, status, longest_us: row.longest_us }
    }
}

impl Reading<'_> {
    fn unknown(&self, reason: Reason, row: Option<RowId>, from_us: i64) -> Unknown {
        Unknown { reason, row, from_us, to_us: self.snapshot.end.clock_us }
    }

    fn take(&self, known: &mut Known, row: &Row, slot: &mut Slot) {
        let seen = known.seen(row.id);
        if seen.is_some_and(|seen| seen.sight.number == self.sight.number) {
            slot.unknown.push(self.unknown(Reason::Duplicate, Some(row.id), self.last.sight.start_us));
            return;
        }
        known.keep(row, self.sight);
        let growth = match seen {
            // A row that is gone and comes back with its old stamp was never dropped.
            Some(seen) if !seen.is_gone || row.created_us == seen.created_us => self.of_seen(row, &seen, slot),
            _ => self.of_new(row, slot),
        };
        if let Some(growth) = growth.filter(|growth| growth.values.iter().any(|(_, value)| value > 0)) {
            self.add(row, &growth, slot);
        }
    }

    fn of_seen(&self, row: &Row, seen: &Seen, slot: &mut Slot) -> Option<Growth> {
        let since = seen.sight;
        let stamps = row.created_us.zip(seen.created_us);
        let is_other = stamps.is_some_and(|(now, before)| now != before);
        let grown = row.values.since(&seen.values).filter(|_| !is_other);
        if let Some(values) = grown {
            // Without stamps a row that was dropped, came back and overtook itself looks as if it had gone on. It has counted more then.
            let is_certain = stamps.is_some() || !since.may_be_evicted_until(&self.snapshot.end);
            if !is_certain && since.number != self.last.sight.number {
                // Rows were dropped in an earlier slot, and what is hidden may be of this one.
                slot.unknown.push(self.unknown(Reason::Eviction, Some(row.id), since.start_us));
            }
            // What is not listed may have begun anew, too.
            let may_hide = !is_certain || seen.is_gone && stamps.is_none();
            let status = Status::LOWER_BOUND.when(may_hide);
            let longest_us = row.longest_us.filter(|now| seen.longest_us.is_some_and(|before| *now > before));
            return Some(Growth { values, since, status, longest_us });
        }
        // A row that got less began anew, unless it is said to be the same, or is a sum of which a part went.
        let is_anew = is_other || stamps.is_none() && !self.snapshot.source.has_sums();
        let reason = match (is_anew, self.snapshot.source.has_sums()) {
            (true, true) => Reason::Reset,
            (true, false) => Reason::Ended,
            (false, _) => Reason::Contradiction,
        };
        slot.unknown.push(self.unknown(reason, Some(row.id), since.start_us));
        is_anew.then(|| Growth::whole(row, since, Status::LOWER_BOUND))
    }

    fn of_new(&self, row: &Row, slot: &mut Slot) -> Option<Growth> {
        let is_after =
            |stamp: i64| self.are_stamps_proof && stamp > self.latest_us && stamp <= self.snapshot.end.clock_us;
        let status = match self.beginning {
            Beginning::Zero => row.created_us.is_none_or(is_after).then_some(Status::LOWER_BOUND),
            Beginning::Same if self.last.is_complete => Some(Status::CREDITED),
            _ => row.created_us.is_some_and(is_after).then_some(Status::CREDITED),
        };
        // Where nobody can say how counters began, all rows are unknown together.
        if status.is_none() && self.beginning != Beginning::Unknown {
            slot.unknown.push(self.unknown(Reason::FirstSight, Some(row.id), self.last.sight.start_us));
        }
        status.map(|status| Growth::whole(row, self.last.sight, status))
    }

    fn add(&self, row: &Row, growth: &Growth, slot: &mut Slot) {
        let end = (self.snapshot.end.clock_us, self.snapshot.own_us);
        let interval_us = Interval::between((growth.since.end_us, growth.since.own_us), end).us;
        slot.deltas.push(Delta {
            row: row.id,
            item: row.item,
            plan: row.plan,
            since_us: growth.since.end_us,
            interval_us,
            values: growth.values,
            status: growth.status
                | Status::GAP.when(is_gap(interval_us, self.slot_us))
                | Status::PARTIAL.when(!self.snapshot.is_complete),
            longest_us: growth.longest_us,
            longest_at_most_us: row.longest_us,
            is_nested: row.is_nested,
        });
        if !row.is_nested {
            self.explain(&growth.since, growth.values.get(self.snapshot.total_of), interval_us, slot);
        }
    }

    /// Adds the time that a row explains; where one does not say it, nobody knows what all of them explain.
    fn explain(&self, since: &Sight, time: Option<u64>, interval_us: Option<u64>, slot: &mut Slot) {
        let Some((explained, time)) = slot.coverage.explained_us.zip(time) else {
            slot.coverage.explained_us = None;
            return;
        };
        let is_late = since.number != self.last.sight.number;
        let now = match (slot.interval_us, interval_us) {
            _ if !is_late => time,
            (Some(part), Some(whole)) => (u128::from(time) * u128::from(part.min(whole)) / u128::from(whole)) as u64,
            _ => time / 2,
        };
        slot.coverage.explained_us = Some(explained.saturating_add(now));
        slot.coverage.late_us = slot.coverage.late_us.saturating_add(time - now);
    }
}
