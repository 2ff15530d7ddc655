//! A database file or a log in memory: what is read is copied from here, without a system call.

use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use memmap2::{MmapOptions, MmapRaw};

/// Address space that is set aside, so that a growing file need not be mapped anew. It takes no memory. Where a process
/// may have only so much of it, less will do.
const RESERVED_BYTES: [u64; 3] = [64 << 30, 1 << 30, 64 << 20];

#[derive(Debug)]
pub struct Map {
    /// `None` where nothing can be mapped, which costs speed only: what is modelled does not depend on it.
    memory: Option<MmapRaw>,
    /// Bytes that the file has: what lies behind must not be touched.
    length: AtomicU64,
}

impl Map {
    /// Maps the file at `path`; `None` if it can't be opened. It is opened anew: the locks between connections are within the
    /// process (`unix-excl`), so closing this handle ends none of them. It does end SQLite's lock against other processes,
    /// which the lease on the place keeps away.
    pub fn new(path: &Path) -> Option<Self> {
        let file = File::open(path).ok()?;
        let length = file.metadata().ok()?.len();
        let map = |reserved: u64| {
            let reserved = usize::try_from(length.checked_mul(2)?.max(reserved)).ok()?;
            MmapOptions::new().len(reserved).map_raw_read_only(&file).ok()
        };
        Some(Self { memory: RESERVED_BYTES.into_iter().find_map(map), length: AtomicU64::new(length) })
    }

    pub fn len(&self) -> u64 {
        self.length.load(Ordering::Acquire)
    }

    /// The file was written up to `end`.
    pub fn grow(&self, end: u64) {
        self.length.fetch_max(end, Ordering::AcqRel);
    }

    pub fn cut(&self, length: u64) {
        self.length.fetch_min(length, Ordering::AcqRel);
    }

    /// Copies bytes of the file; false if they are not all within it.
    pub fn copy(&self, offset: u64, into: &mut [u8]) -> bool {
        let (Some(memory), Some(end)) = (&self.memory, offset.checked_add(into.len() as u64)) else { return false };
        if end > self.len() || end > memory.len() as u64 {
            return false;
        }
        // SAFETY: the stretch lies within the mapping and within the file, of which only SQLite's connections of this
        // server write and cut, and they note it here: nobody cuts a file that another session reads (SQLite's locks). A
        // page that is being written is not read at the same time (likewise). `into` is another memory.
        unsafe {
            let from = memory.as_ptr().add(offset as usize);
            std::ptr::copy_nonoverlapping(from, into.as_mut_ptr(), into.len());
        }
        true
    }
}
