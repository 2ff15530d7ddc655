//! A database file in memory: pages that the pool holds are copied from here, without a system call.

use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use memmap2::{MmapOptions, MmapRaw};

/// Address space that is set aside, so that a growing file need not be mapped anew. It takes no memory.
const RESERVED_BYTES: u64 = 64 << 30;

/// A file, mapped for reading.
#[derive(Debug)]
pub struct Map {
    memory: MmapRaw,
    /// Bytes that the file has: what lies behind must not be touched.
    length: AtomicU64,
}

impl Map {
    /// Maps the file at `path`; `None` if that can't be done, which costs speed only. The file is opened anew: SQLite's
    /// `unix-excl` holds its locks within the process, so closing this handle ends none of them.
    pub fn new(path: &Path) -> Option<Self> {
        let file = File::open(path).ok()?;
        let length = file.metadata().ok()?.len();
        let reserved = usize::try_from(length.checked_mul(2)?.max(RESERVED_BYTES)).ok()?;
        let memory = MmapOptions::new().len(reserved).map_raw_read_only(&file).ok()?;
        Some(Self { memory, length: AtomicU64::new(length) })
    }

    /// Bytes that the file has.
    pub fn len(&self) -> u64 {
        self.length.load(Ordering::Acquire)
    }

    /// The file was written up to `end`.
    pub fn grow(&self, end: u64) {
        self.length.fetch_max(end, Ordering::AcqRel);
    }

    /// The file was cut.
    pub fn cut(&self, length: u64) {
        self.length.fetch_min(length, Ordering::AcqRel);
    }

    /// Copies bytes of the file; false if they are not all within it.
    pub fn copy(&self, offset: u64, into: &mut [u8]) -> bool {
        let Some(end) = offset.checked_add(into.len() as u64) else { return false };
        if end > self.len() || end > self.memory.len() as u64 {
            return false;
        }
        // SAFETY: the stretch lies within the mapping and within the file, of which only SQLite's connections of this
        // server write and cut, and they note it here: nobody cuts a file that another session reads (SQLite's locks). A
        // page that is being written is not read at the same time (likewise). `into` is another memory.
        unsafe {
            let from = self.memory.as_ptr().add(offset as usize);
            std::ptr::copy_nonoverlapping(from, into.as_mut_ptr(), into.len());
        }
        true
    }
}
