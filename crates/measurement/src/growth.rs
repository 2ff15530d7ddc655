//! What a file did between two looks at its counters, which only grow.

use crate::reading::Window;
use crate::views::FileRow;

impl Window {
    /// Seconds from the middle of this window to the middle of a later one; never zero. `None` if that one doesn't come after this.
    pub fn seconds_until(self, later: Self) -> Option<f64> {
        let middle = |window: Self| window.start.after(window.end.since(window.start) / 2);
        let (start, end) = (middle(self), middle(later));
        (later.start >= self.end && end > start).then(|| end.since(start).as_nanos() as f64 / 1e9)
    }
}

/// By how much counters of a file grew; what is unknown on a side is so between them.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct FileGrowth {
    /// Reads.
    pub reads: Option<u64>,
    /// Writes.
    pub writes: Option<u64>,
    /// Bytes read.
    pub read_bytes: Option<u64>,
    /// Bytes written.
    pub write_bytes: Option<u64>,
    /// Sum of the times that reads took.
    pub read_stall_seconds: Option<f64>,
    /// Sum of the times that writes took.
    pub write_stall_seconds: Option<f64>,
}

impl FileGrowth {
    /// Between two looks. `None` if a counter went backwards: it began anew, and nothing is known of the time between.
    pub fn between(old: &FileRow, new: &FileRow) -> Option<Self> {
        let count = |of: fn(&FileRow) -> Option<u64>| match of(new).zip(of(old)) {
            Some((new, old)) => new.checked_sub(old).map(Some),
            None => Some(None),
        };
        let time = |of: fn(&FileRow) -> Option<f64>| match of(new).zip(of(old)) {
            Some((new, old)) => Some(new - old).filter(|growth| *growth >= 0.0).map(Some),
            None => Some(None),
        };
        Some(Self {
            reads: count(|row| row.reads)?,
            writes: count(|row| row.writes)?,
            read_bytes: count(|row| row.read_bytes)?,
            write_bytes: count(|row| row.write_bytes)?,
            read_stall_seconds: time(|row| row.read_stall_seconds)?,
            write_stall_seconds: time(|row| row.write_stall_seconds)?,
        })
    }

    /// Reads and writes together; a log may be written only.
    pub fn ios(&self) -> Option<u64> {
        self.reads.into_iter().chain(self.writes).reduce(u64::saturating_add)
    }

    /// Bytes of both together.
    pub fn bytes(&self) -> Option<u64> {
        self.read_bytes.into_iter().chain(self.write_bytes).reduce(u64::saturating_add)
    }

    /// Mean time of a read, in ms.
    pub fn read_ms(&self) -> Option<f64> {
        mean_ms(self.read_stall_seconds, self.reads)
    }

    /// Mean time of a write, in ms.
    pub fn write_ms(&self) -> Option<f64> {
        mean_ms(self.write_stall_seconds, self.writes)
    }
}

fn mean_ms(stall_seconds: Option<f64>, count: Option<u64>) -> Option<f64> {
    let (stall, count) = (stall_seconds?, count.filter(|count| *count > 0)?);
    Some(1e3 * stall / count as f64)
}

impl FileRow {
    /// Whether two looks are at the same file: by what a new name doesn't change, where the engine has that.
    pub fn is_same(&self, other: &Self) -> bool {
        match (&self.handle, &other.handle) {
            (Some(one), Some(other)) => one == other,
            _ => self.name == other.name && self.kind == other.kind && self.database == other.database,
        }
    }
}
