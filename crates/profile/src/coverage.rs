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
    /// What deltas explain of the slot. `None` if a row does not say how long its work took.
    pub explained_us: Option<u64>,
    /// What they explain of earlier slots, of rows that reads had missed: it was called unknown then. It is estimated, by how long each slot
    /// was and by how much was unknown of it.
    pub late_us: u64,
    /// The server's total of the slot. `None` if it is not known to be one counter on both sides.
    pub total_us: Option<u64>,
    /// The least and the most that the total of the slot can be, as rows are read some time within a read.
    pub total_range_us: Option<(u64, u64)>,
}

impl Coverage {
    /// Explained time in percent of the total, up to 100. If there was nothing to explain, all is explained.
    pub fn percent(&self) -> Option<f64> {
        Some(percent(self.explained_us?, self.total_us?))
    }

    /// The least and the most that [`percent`](Self::percent) can be.
    pub fn range_percent(&self) -> Option<(f64, f64)> {
        let (explained, (least, most)) = self.explained_us.zip(self.total_range_us)?;
        Some((percent(explained, most), percent(explained, least)))
    }

    /// What nobody explains.
    pub fn unknown_us(&self) -> Option<u64> {
        Some(self.total_us?.saturating_sub(self.explained_us?))
    }
}

/// A part of a total in percent, up to 100; all of nothing is 100.
pub fn percent(part_us: u64, total_us: u64) -> f64 {
    if part_us >= total_us { 100.0 } else { 100.0 * part_us as f64 / total_us as f64 }
}

/// Whether a server's total goes on from one read to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Continuity {
    /// It is the same server.
    Same,
    /// It was restarted, so that only the same stamp proves it.
    IfStamped,
    /// It is another server.
    Another,
}

/// What of the server's total is accounted for so far.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct Account {
    /// The total up to which all is told to be explained or unknown: the least and the most that it can be, between the ends of the last read.
    accounted_us: Option<(u64, u64)>,
    /// What is unknown since the last read that had all rows, and may be explained late.
    open_us: Option<u64>,
}

/// The total at the two ends of a read.
fn ends(read: (&Edge, &Edge)) -> Option<(u64, u64)> {
    let (start, end) = (read.0.total?.us, read.1.total?.us);
    (start <= end).then_some((start, end))
}

impl Account {
    /// Begins to count at a read, at whatever point of it.
    pub(crate) fn begin(&mut self, read: (&Edge, &Edge), is_complete: bool) {
        self.accounted_us = ends(read);
        self.open_us = is_complete.then_some(0);
    }

    /// Holds what deltas explain against the total between two reads, each given by its ends.
    pub(crate) fn settle(
        &mut self,
        coverage: &mut Coverage,
        before: (&Edge, &Edge),
        now: (&Edge, &Edge),
        continuity: Continuity,
        is_complete: bool,
    ) {
        let began = |edge: &Edge| edge.total.and_then(|total| total.began_us);
        let is_same = match continuity {
            Continuity::Same => began(before.1) == began(now.0),
            Continuity::IfStamped => began(before.1).is_some() && began(before.1) == began(now.0),
            Continuity::Another => false,
        };
        let known = self.accounted_us.zip(ends(before).zip(ends(now)));
        let Some((accounted, ((old_start, old_end), (start, end)))) = known.filter(|_| is_same) else {
            return self.begin(now, is_complete);
        };
        let is_growing = start >= old_end && began(now.0) == began(now.1);
        let Some(first_guess) = coverage.explained_us.filter(|_| is_growing) else {
            return self.begin(now, is_complete);
        };
        let (least, most) = accounted;
        // What is more than the total grew is late, too, whatever the stamps of rows say.
        let is_late = coverage.late_us > 0 || first_guess > end - least;
        let all = first_guess.saturating_add(coverage.late_us);
        let explained = if is_late { divided(first_guess, all, start - least, self.open_us) } else { first_guess };
        coverage.late_us = all - explained;
        coverage.explained_us = Some(explained);
        let reached = (start.max(least.saturating_add(explained)), end.min(most.saturating_add(explained)));
        // Either what is explained may be all there was, or there was more, or, by a server that contradicts itself, less.
        let (total, reached) = if reached.0 <= reached.1 {
            (explained, reached)
        } else if most.saturating_add(explained) < start {
            (start - most, (start, start))
        } else {
            (end - least, (end, end))
        };
        coverage.total_us = Some(total);
        coverage.total_range_us = Some((start - old_end, end - old_start));
        self.accounted_us = Some(reached);
        let unknown_us = coverage.unknown_us().unwrap_or(0);
        let still_open_us = self.open_us.map(|open| open.saturating_sub(coverage.late_us).saturating_add(unknown_us));
        self.open_us = if is_complete { Some(0) } else { still_open_us };
    }
}

/// Of all that is explained, some of it late, the part that is of the slot. By time is the first guess. The slot can't have more than the
/// total grew, and earlier ones not more than was unknown of them, where that is known.
fn divided(first_guess: u64, all: u64, grown_us: u64, open_us: Option<u64>) -> u64 {
    let least = open_us.map_or(0, |open| all.saturating_sub(open));
    first_guess.clamp(least, grown_us.min(all).max(least))
}
