//! The image of a page before a transaction changes it: from the log's newest frame of it, else from the file. It is read past
//! the model, because a real server has it in memory.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rusqlite::ffi;

use crate::raw::Raw;
use crate::state::FileState;
use crate::vfs::Map;

/// Pages of a file as they were.
pub struct Before<'a, P> {
    /// The log, and the same mapped.
    pub raw: &'a mut dyn Raw,
    pub map: Option<&'a Map>,
    pub log: &'a FileState,
    /// Gives the path of the file.
    pub path: P,
}

impl<'a, P: Fn() -> Option<&'a Path>> Before<'a, P> {
    /// Copies the image of a page; false if there is none, because the page is new.
    pub fn copy(&mut self, page: u32, image: &mut [u8]) -> bool {
        if let Some(offset) = self.log.wal.newest(page) {
            let (begin, pending) = &self.log.pending;
            let held_back =
                offset.checked_sub(*begin).and_then(|from| pending.get(from as usize..)?.get(..image.len()));
            if let Some(bytes) = held_back {
                image.copy_from_slice(bytes);
                return true;
            }
            let is_mapped = self.map.is_some_and(|map| map.copy(offset, image));
            return is_mapped || self.raw.read(image, offset) == ffi::SQLITE_OK;
        }
        let offset = u64::from(page.saturating_sub(1)) * image.len() as u64;
        match self.log.map.upgrade() {
            Some(map) if offset + image.len() as u64 > map.len() => false,
            Some(map) if map.copy(offset, image) => true,
            // Where nothing can be mapped.
            _ => (self.path)()
                .and_then(|path| File::open(path).ok())
                .is_some_and(|file| file.read_exact_at(image, offset).is_ok()),
        }
    }
}
