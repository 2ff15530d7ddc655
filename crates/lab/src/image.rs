//! The image of a page before a transaction changes it: from the log's newest frame of it, else from the file. It is read past
//! the model, because a real server has it in memory.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rusqlite::ffi;

use crate::raw::Raw;
use crate::state::FileState;
use crate::vfs::Map;

/// Copies the image of a page; false if there is none, because the page is new. The log is `raw`, mapped as `map`; the file is
/// at the path that `path` gives.
pub fn before<'a>(
    image: &mut [u8],
    page: u32,
    log: &FileState,
    (raw, map): (&mut dyn Raw, Option<&Map>),
    path: impl FnOnce() -> Option<&'a Path>,
) -> bool {
    if let Some(offset) = log.wal.newest(page) {
        let (begin, pending) = &log.pending;
        let held_back = offset.checked_sub(*begin).and_then(|from| pending.get(from as usize..)?.get(..image.len()));
        if let Some(bytes) = held_back {
            image.copy_from_slice(bytes);
            return true;
        }
        return map.is_some_and(|map| map.copy(offset, image)) || raw.read(image, offset) == ffi::SQLITE_OK;
    }
    let offset = u64::from(page - 1) * image.len() as u64;
    match log.map.upgrade() {
        Some(map) if offset + image.len() as u64 > map.len() => false,
        Some(map) if map.copy(offset, image) => true,
        // Where nothing can be mapped.
        _ => {
            path().and_then(|path| File::open(path).ok()).is_some_and(|file| file.read_exact_at(image, offset).is_ok())
        }
    }
}
