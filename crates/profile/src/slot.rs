//! What happened between two reads of a source, and what is not known of it.

use serde::{Deserialize, Serialize};

use crate::coverage::Coverage;
use crate::measure::Values;
use crate::snapshot::{Item, Plan, RowId, Source};
use crate::status::Status;

/// What one row counted since it was last seen.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Delta {
    /// The row.
    pub row: RowId,
    /// What it is summed under.
    pub item: Item,
    /// Its plan.
    pub plan: Option<Plan>,
    /// From when on this was counted, by the server's clock: the end of the read that last had the row.
    pub since_us: i64,
    /// How long that is. `None` if the server's clock went backwards and no other was looked at.
    pub interval_us: Option<u64>,
    /// How much.
    pub values: Values,
    /// How far it can be believed.
    pub status: Status,
    /// The longest execution of the interval, if it is longer than any before: only then does the server's maximum say it.
    pub longest_us: Option<u64>,
    /// No execution of the interval took longer.
    pub longest_at_most_us: Option<u64>,
    /// Whether a caller's row has counted the same work.
    pub is_nested: bool,
}

/// Why something is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Nothing was read before.
    First,
    /// Another server answers under the same name.
    Failover,
    /// Another version of the server, whose counters may count something else.
    Upgrade,
    /// The server was started again.
    Restart,
    /// The source's counters were set back to zero.
    Reset,
    /// Rows were dropped, among them perhaps some that nobody saw. Those that came back may hide what they had counted before.
    Eviction,
    /// The read did not return all rows.
    Partial,
    /// The row is new to us, and when its counters began is not known.
    FirstSight,
    /// The row began anew or was dropped: what it had counted since it was last seen is lost.
    Ended,
    /// A counter of the row got less, though the row is said to be the same, or is a sum of which a part may be gone.
    Contradiction,
    /// Two rows of one read have the same identity.
    Duplicate,
    /// The server's own total grew by more than the rows explain. What a killed statement did, for example, is in no row.
    Unexplained,
}

/// Work that may have been done and is in no delta.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unknown {
    /// Why.
    pub reason: Reason,
    /// The row, or any.
    pub row: Option<RowId>,
    /// From when, by the server's clock.
    pub from_us: i64,
    /// To when. A clock that went backwards makes it the earlier one.
    pub to_us: i64,
}

/// A time between two reads of a source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Slot {
    /// What was read.
    pub source: Source,
    /// The number of the epoch that the read belongs to, from 1. Counters of different epochs are never compared.
    pub epoch: u64,
    /// Why this read began an epoch, or was after an event that counters outlived.
    pub event: Option<Reason>,
    /// The end of the read before, by the server's clock.
    pub start_us: i64,
    /// The end of this read.
    pub end_us: i64,
    /// The measured time between. `None` for the first read, and if the clock went backwards and no other was looked at.
    pub interval_us: Option<u64>,
    /// By how much the server's clock was set forward meanwhile, or backward if less than zero.
    pub clock_step_us: Option<i64>,
    /// What holds for the whole slot.
    pub status: Status,
    /// What rows counted; of a row that counted nothing there is none.
    pub deltas: Vec<Delta>,
    /// What is not known.
    pub unknown: Vec<Unknown>,
    /// Times that the server dropped rows; `None` where it does not say.
    pub evictions: Option<u64>,
    /// How much of the server's time the deltas explain.
    pub coverage: Coverage,
}
