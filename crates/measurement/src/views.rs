//! What a database shows about itself beside plain counters: the use of its resources over time, waits, files and
//! statements. Everything but the resource rows is cumulative, like counters: growth says what a test did.

use serde::Deserialize;

use crate::reading::{Moment, Window};
use crate::vocabulary;

/// What an engine knows about itself; a list is empty where it doesn't know.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Views {
    /// Use of resources over finished intervals of 15 seconds, oldest first; an hour is kept.
    pub resources_15_s: Vec<ResourceRow>,
    /// The same over five minutes; 14 days are kept.
    pub resources_5_min: Vec<ResourceRow>,
    /// Waits by type.
    pub waits: Vec<WaitRow>,
    /// I/O by file.
    pub files: Vec<FileRow>,
    /// Statements by text.
    pub statements: Vec<StatementRow>,
    /// Other counters, each of which stands for itself.
    pub counters: Vec<CounterRow>,
}

/// Use of resources over an interval, in percent of their limits; `None` where there is no limit or nothing is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ResourceRow {
    /// End of the interval.
    pub end: Moment,
    /// CPU.
    pub cpu_percent: Option<f64>,
    /// Reads and writes of data files.
    pub data_io_percent: Option<f64>,
    /// Writes of the log.
    pub log_write_percent: Option<f64>,
    /// Memory in use at the end of the interval.
    pub memory_percent: Option<f64>,
}

vocabulary! {
    /// What a wait is for. Each engine knows its own names; nobody else goes by them.
    #[derive(Deserialize)]
    #[serde(rename_all = "snake_case")]
    WaitClass {
        /// The log takes no more: a limit that was set holds it.
        LogRateGovernor = "log_rate_governor",
        /// The log is written or synced, here or at a replica that a commit waits for.
        LogWrite = "log_write",
        /// A page comes from a data file.
        DataRead = "data_read",
        /// A statement reads or writes what is no page of a table: sorts and hashes that spill.
        DataSpill = "data_spill",
        /// A lock of a row, a table or a definition.
        Lock = "lock",
        /// The client, or the way to it.
        Client = "client",
        /// A thread that is free.
        Workers = "workers",
        /// A statement asked for it.
        Sleep = "sleep",
        /// CPU.
        Cpu = "cpu",
        /// The threads of one statement wait for each other.
        Parallelism = "parallelism",
        /// The server's own threads wait for work.
        Idle = "idle",
        /// Something else.
        Other = "other",
    }
}

impl WaitClass {
    /// True if the log is what is waited for.
    pub const fn is_log(self) -> bool {
        matches!(self, Self::LogWrite | Self::LogRateGovernor)
    }
}

/// A type of wait.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WaitRow {
    /// The engine's name for it.
    pub name: String,
    /// What it is for; `None` where the engine does not count all waits for the log, so that a sum of them would be too small.
    pub class: Option<WaitClass>,
    /// How often.
    pub count: u64,
    /// How long in all.
    pub seconds: f64,
    /// Of it the time in which what was waited for was there and a CPU was not.
    pub signal_seconds: Option<f64>,
    /// The longest of them, ever since they are counted.
    pub longest_seconds: Option<f64>,
}

/// What a file is held to by itself, whatever others do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FileLimit {
    /// So much.
    Known {
        /// Reads and writes in a second.
        iops: Option<f64>,
        /// Bytes of both in a second.
        bytes_per_second: Option<f64>,
    },
    /// What the newest edition of this service of the catalogue says of a file of its size.
    BySize(&'static str),
}

/// Files in a moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Files {
    /// They.
    pub rows: Vec<FileRow>,
    /// When they were read.
    pub window: Window,
}

/// I/O of a file at its device, cumulative; what the engine does not count is absent. A stall is the time from asking to
/// done.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FileRow {
    /// Its name, without folders, or the kind of files where the engine counts by kind.
    pub name: String,
    /// The database that it belongs to, where the engine says so.
    pub database: Option<String>,
    /// Where it lies, as the server calls the place.
    pub path: Option<String>,
    /// What stays the same when it is renamed, and no other file has.
    pub handle: Option<String>,
    /// `data` or `log`.
    pub kind: &'static str,
    /// How large it is.
    pub size_bytes: Option<u64>,
    /// What it alone is held to, if it is.
    pub limit: Option<FileLimit>,
    /// Reads.
    pub reads: Option<u64>,
    /// Their bytes.
    pub read_bytes: Option<u64>,
    /// Sum of the times they took.
    pub read_stall_seconds: Option<f64>,
    /// Writes.
    pub writes: Option<u64>,
    /// Their bytes.
    pub write_bytes: Option<u64>,
    /// Sum of the times they took.
    pub write_stall_seconds: Option<f64>,
    /// Syncs, where they are counted apart.
    pub syncs: Option<u64>,
    /// Sum of the times they took.
    pub sync_stall_seconds: Option<f64>,
    /// When these counters began at zero, in microseconds since 1970 by the server's clock, where the server says so.
    pub began_us: Option<i64>,
}

/// A counter that stands for itself, such as that of checkpoints.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CounterRow {
    /// What is counted.
    pub name: String,
    /// How much.
    pub count: u64,
    /// When it began at zero, as with files.
    pub began_us: Option<i64>,
}

/// A statement over all its executions.
#[derive(Debug, Clone, PartialEq)]
pub struct StatementRow {
    /// Its text.
    pub text: String,
    /// Executions.
    pub count: u64,
    /// Sum of the times from begin to end.
    pub seconds: f64,
    /// The longest.
    pub longest_seconds: f64,
    /// Pages that had to be fetched for it.
    pub pages_read: u64,
}
