//! How much of the server's own sum of database time the deltas of a slot explain: the measure of what a profiler can't see.
//!
//! Rows and total are not read at the same instant. The total is read at both ends of a read, so that each read leaves a range of it open.
//! What is accounted for is kept inside that range, as near as possible to what the deltas explain. So nothing is called unknown that
//! may lie between the ends of a read, and over many slots explained and unknown time sum up to the total.

use serde::{Deserialize, Serialize};

use crate::measure::Measure;
use crate::snapshot::Edge;

/// What the deltas of a slot explain, in time of the measure that the server's total sums up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverage {
    /// Elapsed time or CPU time.
    pub of: Measure,
    /// What deltas explain of the slot.
    pub explained_us: u64,
    /// What they explain of earlier slots, of rows that reads had missed: it was called unknown then. By the part of the time, so estimated.
    pub late_us: u64,
    /// The server's total of the slot. `None` if it is not known to be one counter on both sides.
    pub total_us: Option<u64>,
    /// The least and the most that the total of the slot can be, as rows are read some time within a read.
    pub total_range_us: Option<(u64, u64)>,
}

impl Coverage {
    /// Explained time in percent of the total, up to 100. If there was nothing to explain, all is explained.
    pub fn percent(&self) -> Option<f64> {
        self.total_us.map(|total| percent(self.explained_us, total))
    }

    /// The least and the most that [`percent`](Self::percent) can be.
    pub fn range_percent(&self) -> Option<(f64, f64)> {
        self.total_range_us.map(|(least, most)| (percent(self.explained_us, most), percent(self.explained_us, least)))
    }

    /// What nobody explains.
    pub fn unknown_us(&self) -> Option<u64> {
        self.total_us.map(|total| total.saturating_sub(self.explained_us))
    }
}

/// A part of a total in percent, up to 100; all of nothing is 100.
pub fn percent(part_us: u64, total_us: u64) -> f64 {
    if part_us >= total_us { 100.0 } else { 100.0 * part_us as f64 / total_us as f64 }
}

/// The total of a slot, the range that it lies in, and what of the server's total is accounted for by the slot's end: all in microseconds.
pub(crate) struct Account {
    pub total: Option<u64>,
    pub range: Option<(u64, u64)>,
    pub accounted: Option<u64>,
}

/// Holds what deltas explain against the total. `accounted_us` is what was accounted for at the slot's start; `is_same_server` says whether its counters can have gone on.
pub(crate) fn account(
    accounted_us: Option<u64>,
    before: (&Edge, &Edge),
    now: (&Edge, &Edge),
    is_same_server: bool,
    explained_us: u64,
) -> Account {
    let us = |edge: &Edge| edge.total.map(|total| total.us);
    let ends = us(now.0).zip(us(now.1)).filter(|(start, end)| start <= end);
    let began = |edge: &Edge| edge.total.and_then(|total| total.began_us);
    let is_same = is_same_server && began(before.1) == began(now.0) && began(now.0) == began(now.1);
    let grown = || {
        let ((start, end), accounted) = (ends?, accounted_us?);
        let (old_start, old_end) = us(before.0).zip(us(before.1))?;
        let is_growing = is_same && start >= old_end;
        is_growing.then(|| {
            let reached = accounted.saturating_add(explained_us).clamp(start, end);
            (reached - accounted, (start - old_end, end - old_start), reached)
        })
    };
    match grown() {
        Some((total, range, reached)) => Account { total: Some(total), range: Some(range), accounted: Some(reached) },
        // Where counting begins, any point of the read is as good as another.
        None => Account { total: None, range: None, accounted: ends.map(|(start, end)| start.midpoint(end)) },
    }
}
