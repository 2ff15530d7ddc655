//! A cell of a disk test: which operations were made on a test file, how many at a time, and how they were made durable.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::vocabulary;
use crate::vocabulary::Name;

vocabulary! {
    /// What is done to the file.
    Operation {
        /// Reads alone.
        Read = "read",
        /// Writes alone.
        Write = "write",
        /// Reads and writes, drawn by a share.
        Mixed = "mixed",
    }
}

vocabulary! {
    /// In which order blocks are taken.
    Access {
        /// Each block is drawn by itself, and all alike often.
        Random = "random",
        /// One block after the other, and from the beginning again after the last.
        Sequential = "sequential",
    }
}

vocabulary! {
    /// Which part of the file a thread works on.
    Offsets {
        /// Each thread has a region of its own.
        Own = "own",
        /// All threads work on the whole file; sequential ones take turns.
        Shared = "shared",
    }
}

vocabulary! {
    /// How a write is made durable before it counts as complete.
    SyncMode {
        /// Not at all: the device may still have it in its cache.
        None = "none",
        /// The file is opened with `O_DSYNC`: each write returns when its data is durable.
        ODsync = "o_dsync",
        /// `fdatasync` after each write.
        Fdatasync = "fdatasync",
        /// `fsync` after each write.
        Fsync = "fsync",
        /// `sync_file_range` after each write: it waits for the file's pages and leaves the device's cache as it is.
        SyncFileRange = "sync_file_range",
    }
}

/// Name of the figure that says how long [`COMMITS`] commits of one session wait for the log.
pub const COMMITS_TIME: &str = "commits_50000_time";
/// So many commits.
pub const COMMITS: u32 = 50_000;

/// Name of the figure that says which rate a disk has at its knee.
pub const KNEE_RATE: &str = "knee_iops";

/// How the names of the response times at a knee begin. Their notes say how many were under way there.
pub const KNEE_TIMES: &str = "knee_latency";

/// What was done at a point of a disk test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// The class that the suite puts it in, such as `OR`; the name of the work where a suite has no classes.
    pub label: String,
    /// Reads, writes or both.
    pub operation: Name<Operation>,
    /// Reads in percent of all operations.
    pub read_percent: u32,
    /// In which order blocks are taken.
    pub access: Name<Access>,
    /// Which part of the file a thread works on.
    pub offsets: Name<Offsets>,
    /// How writes are made durable.
    pub sync: Name<SyncMode>,
    /// Bytes of an operation.
    pub block_bytes: u64,
    /// Threads that make operations.
    pub threads: u32,
    /// Operations that each thread has under way at a time.
    pub queue_depth: u32,
    /// Blocks that an operation writes before its one sync; absent for one block.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub writes_per_sync: u32,
    /// Label of the cell beside which it ran, at the same time and on a part of the file of its own; absent where it ran by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<String>,
}

const fn one() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields so")]
const fn is_one(count: &u32) -> bool {
    *count == 1
}

impl Cell {
    /// Bytes that an operation reads or writes.
    pub fn operation_bytes(&self) -> u64 {
        self.block_bytes.saturating_mul(u64::from(self.writes_per_sync))
    }

    /// Whether it ran at the same time as others: beside another cell, or with others beside it. In a record `next` is the cell of the
    /// point behind it: what runs beside a cell follows it at once.
    pub fn is_among_others(&self, next: Option<&Self>) -> bool {
        self.beside.is_some() || next.is_some_and(|next| next.beside.as_ref() == Some(&self.label))
    }

    /// True for one write at a time that is durable before the next begins, as one session's commits are written to a log.
    pub fn is_log(&self) -> bool {
        let is_alone = self.threads == 1 && self.queue_depth == 1 && self.writes_per_sync == 1;
        let is_durable = !matches!(self.sync.known(), None | Some(SyncMode::None | SyncMode::SyncFileRange));
        is_alone && is_durable && self.operation == Operation::Write && self.access == Access::Sequential
    }

    /// What is done, in words: `random read 8 KiB`, `random 70 % read 8 KiB`.
    pub fn work(&self) -> String {
        let what = match self.operation.known() {
            Some(Operation::Mixed) => format!("{} % read", self.read_percent),
            _ => self.operation.to_string(),
        };
        let sync = if self.sync == SyncMode::None { String::new() } else { format!(" {}", self.sync) };
        format!("{} {what} {}{sync}", self.access, self.block_size())
    }

    /// What it is called beside others: what it does, or its class and block where the suite has classes, and how much is under way.
    pub fn name(&self) -> String {
        let work = self.work();
        let what = if self.label.is_empty() || self.label == work {
            work
        } else {
            format!("{} {}", self.label, self.block_size())
        };
        format!("{what}, {} x {}", self.threads, self.queue_depth)
    }

    /// The beginning of the names of its figures: `random_read_8k_t4_q32`, with the class before it where there is one. Two cells
    /// that do the same in the same class have the same.
    pub fn key(&self) -> String {
        let operation = match self.operation.known() {
            Some(Operation::Mixed) => format!("read{}", self.read_percent),
            _ => self.operation.to_string(),
        };
        let sync = if self.sync == SyncMode::None { String::new() } else { format!("_{}", self.sync) };
        let block = self.block("k", "m", "b");
        let class = if self.label == self.work() { String::new() } else { format!("{}_", slug(&self.label)) };
        let beside = self.beside.as_ref().map(|label| format!("_beside_{}", slug(label))).unwrap_or_default();
        format!("{class}{}_{operation}_{block}{sync}_t{}_q{}{beside}", self.access, self.threads, self.queue_depth)
    }

    /// Its block for people: `8 KiB`, `8 x 8 KiB` for several with one sync.
    pub fn block_size(&self) -> String {
        self.block(" KiB", " MiB", " bytes")
    }

    fn block(&self, kilo: &str, mega: &str, one: &str) -> String {
        let several = match self.writes_per_sync {
            1 => String::new(),
            writes if kilo.starts_with(' ') => format!("{writes} x "),
            writes => format!("{writes}x"),
        };
        several + &one_block(self.block_bytes, kilo, mega, one)
    }
}

/// A block or the unit of a stripe for people: `8 KiB`, `1 MiB`, `512 bytes`.
pub fn size_of_block(bytes: u64) -> String {
    one_block(bytes, " KiB", " MiB", " bytes")
}

fn one_block(bytes: u64, kilo: &str, mega: &str, one: &str) -> String {
    match bytes {
        bytes if bytes > 0 && bytes.is_multiple_of(1 << 20) => format!("{}{mega}", bytes >> 20),
        bytes if bytes > 0 && bytes.is_multiple_of(1 << 10) => format!("{}{kilo}", bytes >> 10),
        bytes => format!("{bytes}{one}"),
    }
}

/// A text as a part of a name: letters and digits, the rest as lines between them.
fn slug(text: &str) -> String {
    let parts = text.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty());
    parts.map(str::to_lowercase).collect::<Vec<String>>().join("_")
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} x {}", self.work(), self.threads, self.queue_depth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_has_a_name_for_people_and_one_for_figures() {
        let cell = Cell {
            label: "OR".to_owned(),
            operation: Operation::Read.into(),
            read_percent: 100,
            access: Access::Random.into(),
            offsets: Offsets::Shared.into(),
            sync: SyncMode::None.into(),
            block_bytes: 8192,
            threads: 4,
            queue_depth: 32,
            writes_per_sync: 1,
            beside: None,
        };
        assert_eq!(
            (cell.to_string().as_str(), cell.key().as_str()),
            ("random read 8 KiB, 4 x 32", "or_random_read_8k_t4_q32")
        );
        assert_eq!(cell.name(), "OR 8 KiB, 4 x 32");
        assert_eq!(Cell { label: cell.work(), ..cell.clone() }.name(), "random read 8 KiB, 4 x 32");
        let mixed = Cell {
            operation: Operation::Mixed.into(),
            read_percent: 70,
            sync: SyncMode::ODsync.into(),
            block_bytes: 1 << 20,
            ..cell.clone()
        };
        assert_eq!(mixed.key(), "or_random_read70_1m_o_dsync_t4_q32");
        assert_eq!(mixed.work(), "random 70 % read 1 MiB o_dsync");
        let group = Cell {
            operation: Operation::Write.into(),
            sync: SyncMode::Fsync.into(),
            writes_per_sync: 512,
            beside: Some("log, 50 % reads".to_owned()),
            ..cell
        };
        assert_eq!(group.work(), "random write 512 x 8 KiB fsync");
        assert_eq!(group.key(), "or_random_write_512x8k_fsync_t4_q32_beside_log_50_reads");
        assert_eq!(group.operation_bytes(), 4 << 20);
    }

    #[test]
    fn a_log_is_written_one_durable_block_after_the_other() {
        let text = r#"{"label": "log", "operation": "write", "read_percent": 0, "access": "sequential", "offsets": "own", "sync": "o_dsync",
                       "block_bytes": 8192, "threads": 1, "queue_depth": 1}"#;
        let log: Cell = serde_json::from_str(text).unwrap();
        assert!(log.is_log() && log.writes_per_sync == 1, "records of earlier releases have neither key");
        assert_eq!(serde_json::to_value(&log).unwrap().as_object().unwrap().len(), 9);
        for other in [
            Cell { sync: SyncMode::None.into(), ..log.clone() },
            Cell { sync: SyncMode::SyncFileRange.into(), ..log.clone() },
            Cell { threads: 2, ..log.clone() },
            Cell { writes_per_sync: 2, ..log.clone() },
            Cell { access: Access::Random.into(), ..log },
        ] {
            assert!(!other.is_log(), "{other}");
        }
    }
}
