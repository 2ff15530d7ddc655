//! What a collector reads of a source at one time: its rows, and at both ends of the read what tells whether two reads can be compared.
//!
//! The ends matter. The stamps are read before the first row and once more after the last, in the statements of the rows if possible.
//! If they differ, the server was restarted or reset in the middle of the read, and rows of two lives are mixed.

use serde::{Deserialize, Serialize};

use super::measure::{Measure, Values};

/// What kind of rows a snapshot has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Statements that ended.
    Queries,
    /// What was waited for.
    Waits,
    /// Reads and writes of files.
    Files,
    /// Other counters.
    Counters,
}

impl Source {
    /// All of them, in their order.
    pub const ALL: [Self; 4] = [Self::Queries, Self::Waits, Self::Files, Self::Counters];

    /// Whether a row may sum up several things. It gets less when one of them goes, as a wait of all tables does when a table is dropped.
    pub const fn has_sums(self) -> bool {
        !matches!(self, Self::Queries)
    }
}

/// A row of the source, by the server's own identity: a hash of all columns that tell one row from another. Two rows of one query have
/// different ones. It is never a query's, because a sum over rows that come and go is no counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RowId(pub u128);

/// What rows are summed under: a query, and in other sources a wait, a file or a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Item(pub u128);

/// A query's plan, by the server's hash of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Plan(pub u64);

/// The server that answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Server {
    /// What stays the same while it is the same server, and is another one on another node of the same name.
    pub identity: String,
    /// Its version.
    pub version: String,
    /// When it was started.
    pub started_us: i64,
}

/// Rows that a server dropped to make room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Evictions {
    /// It never drops a row.
    Never,
    /// Times that it dropped some, since the source's counters began.
    Counted(u64),
    /// It may drop rows and does not say so.
    Untold,
}

/// The server's own sum of the time spent on behalf of statements, whatever becomes of their rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Total {
    /// The sum.
    pub us: u64,
    /// When it began at zero, where the server says so.
    pub began_us: Option<i64>,
}

/// What was read at one end of a read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edge {
    /// The server's clock.
    pub clock_us: i64,
    /// Who answered.
    pub server: Server,
    /// When the source's counters began at zero: the last reset, or the server's start if counters don't outlive it. `None` if the
    /// server does not say.
    pub reset_us: Option<i64>,
    /// Whether start and reset are computed from the time that the server is up. Then they differ a little from read to read, and move with
    /// its clock. Stamps that the server has stored never do.
    pub are_stamps_derived: bool,
    /// Rows dropped.
    pub evictions: Evictions,
    /// The server's sum of what the rows should explain.
    pub total: Option<Total>,
}

/// The counters of one row.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The row's identity.
    pub id: RowId,
    /// What it is summed under.
    pub item: Item,
    /// The plan, where rows have one.
    pub plan: Option<Plan>,
    /// When the row's counters began at zero, where the server says so.
    pub created_us: Option<i64>,
    /// The counters.
    pub values: Values,
    /// The longest execution since the row was created.
    pub longest_us: Option<u64>,
    /// Whether a caller's row has counted the same work, as with statements of a procedure: it explains no time once more.
    pub is_nested: bool,
}

/// All that was read of a source at one time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// What was read.
    pub source: Source,
    /// Before the first row.
    pub start: Edge,
    /// After the last row.
    pub end: Edge,
    /// When the read ended by a clock of ours that never jumps. It shows when the server's does. `None` if nobody looked.
    pub own_us: Option<u64>,
    /// Whether every row of the source was returned: no filter, no cap.
    pub is_complete: bool,
    /// What the server's total sums up: elapsed time or CPU time.
    pub total_of: Measure,
    /// The rows.
    pub rows: Vec<Row>,
}
