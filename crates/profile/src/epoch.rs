//! Whether counters of two reads can be compared at all. This is found before anything is subtracted.

use crate::known::Read;
use crate::slot::Reason;
use crate::snapshot::{Edge, Snapshot};

/// A server that says its uptime says a start that differs by as much from read to read.
const STAMP_TOLERANCE_US: u64 = 2_000_000;
/// So far the server's clock and ours may be apart at the ends of an interval, by the network and by slow answers.
const CLOCK_TOLERANCE_US: u64 = 1_000_000;
/// And by so much of the interval, as clocks that run at different speeds are.
const CLOCK_TOLERANCE_PARTS: u64 = 100;

/// How the counters of a read go on from those of the read before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Beginning {
    /// They are the same counters.
    Same,
    /// They began at zero after the read before.
    Zero,
    /// Nobody can say.
    Unknown,
}

/// The time between two reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Interval {
    /// How long it is. By the server's clock, and by ours where the server's was set.
    pub us: Option<u64>,
    /// By how much the server's clock went further than ours.
    pub apart_us: Option<i64>,
}

impl Interval {
    /// Between reads that ended at these moments, by the server's clock and by ours.
    pub(crate) fn between(from: (i64, Option<u64>), to: (i64, Option<u64>)) -> Self {
        let by_server = to.0.saturating_sub(from.0);
        let own_us = to.1.zip(from.1).and_then(|(to, from)| to.checked_sub(from)).filter(|us| *us > 0);
        let mut interval = Self { us: own_us, apart_us: own_us.map(|us| by_server.saturating_sub_unsigned(us)) };
        if interval.step_us().is_none() {
            interval.us = u64::try_from(by_server).ok().filter(|us| *us > 0).or(own_us);
        }
        interval
    }

    /// By how much the server's clock was set meanwhile, if it is more than clocks and answers are apart by themselves.
    pub(crate) fn step_us(self) -> Option<i64> {
        let tolerance = CLOCK_TOLERANCE_US + self.us? / CLOCK_TOLERANCE_PARTS;
        self.apart_us.filter(|apart| apart.unsigned_abs() > tolerance)
    }
}

/// Whether two stamps say the same. One that is derived from the clock moves with it, by what the clock went further than ours.
fn is_same(old: i64, new: i64, is_derived: bool, apart_us: Option<i64>) -> bool {
    let moved = new.saturating_sub(old);
    let is_near = |moved: i64| moved.unsigned_abs() <= STAMP_TOLERANCE_US;
    old == new || is_derived && (is_near(moved) || apart_us.is_some_and(|apart| is_near(moved.saturating_sub(apart))))
}

/// What happened to the server between two edges. Stamps that are missing on a side say nothing.
fn event(before: &Edge, after: &Edge, apart_us: Option<i64>) -> Option<Reason> {
    let (old, new) = (&before.server, &after.server);
    let is_same = |old, new| is_same(old, new, after.are_stamps_derived, apart_us);
    let is_reset = before.reset_us.zip(after.reset_us).is_some_and(|(old, new)| !is_same(old, new));
    if old.identity != new.identity {
        Some(Reason::Failover)
    } else if old.version != new.version {
        Some(Reason::Upgrade)
    } else if !is_same(old.started_us, new.started_us) {
        Some(Reason::Restart)
    } else {
        is_reset.then_some(Reason::Reset)
    }
}

/// Whether the server was another one at the end of a read than at its beginning.
pub(crate) fn is_torn(snapshot: &Snapshot) -> bool {
    event(&snapshot.start, &snapshot.end, None).is_some()
}

/// Whether a stamp after the last read is news. Another server has another clock. And without a clock of ours nobody can tell a restart from
/// a clock that was set, where the start is derived from it.
pub(crate) fn are_stamps_proof(event: Option<Reason>, snapshot: &Snapshot, apart_us: Option<i64>) -> bool {
    let is_blind = snapshot.start.are_stamps_derived && apart_us.is_none();
    event.is_none_or(|event| event != Reason::Failover && !is_blind)
}

/// What happened since the read before, and how counters go on. `latest_us` is the latest moment that the server's clock showed in
/// a read: only a stamp after it is certain to be news, even if the clock was set back.
pub(crate) fn between(
    last: &Read,
    snapshot: &Snapshot,
    latest_us: i64,
    apart_us: Option<i64>,
) -> (Option<Reason>, Beginning) {
    let Some(event) = event(&last.end, &snapshot.start, apart_us) else { return (None, Beginning::Same) };
    let (old, new) = (last.end.reset_us, snapshot.start.reset_us);
    let are_derived = snapshot.start.are_stamps_derived;
    let is_same = old.zip(new).is_some_and(|(old, new)| is_same(old, new, are_derived, apart_us));
    let is_after = |stamp: i64| stamp > latest_us && stamp <= snapshot.end.clock_us;
    let is_news = are_stamps_proof(Some(event), snapshot, apart_us) && new.is_some_and(is_after);
    let beginning = match event {
        // The same stamp on counters that go on proves that they outlived the server.
        Reason::Restart if is_same => Beginning::Same,
        _ if is_news => Beginning::Zero,
        _ => Beginning::Unknown,
    };
    (Some(event), beginning)
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000;

    #[test]
    fn a_clock_that_was_set_is_found_by_ours() {
        let of = |from: (i64, Option<u64>), to: (i64, Option<u64>)| {
            let interval = Interval::between(from, to);
            (interval.us, interval.step_us())
        };
        let minute = |from: i64, to: i64| of((from * S, Some(7)), (to * S, Some(60_000_007)));
        assert_eq!(minute(100, 160), (Some(60_000_000), None));
        assert_eq!(minute(100, 40), (Some(60_000_000), Some(-120 * S)));
        assert_eq!(minute(100, 3760), (Some(60_000_000), Some(3600 * S)));
        assert_eq!(minute(100, 161), (Some(61_000_000), None), "slow answers are no step");
        // Ours began anew with our process.
        assert_eq!(of((100, Some(900)), (40, Some(5))), (None, None));
        assert_eq!(of((100, None), (160, None)), (Some(60), None));
    }

    #[test]
    fn a_stamp_that_is_derived_from_the_clock_moves_with_it() {
        let derived = |to: i64, apart: Option<i64>| is_same(10 * S, to * S, true, apart.map(|apart| apart * S));
        assert!(derived(11, None) && !derived(13, None));
        assert!(derived(3611, Some(3600)) && derived(10, Some(3600)) && !derived(3611, Some(60)));
        assert!(is_same(10, 10, false, None) && !is_same(10, 11, false, Some(1)), "one that is stored does not");
    }
}
