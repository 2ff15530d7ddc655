//! Lays a test file out with real writes: a block that was only reserved reads as zeros and never touches the device.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use plimsoll_engine::{Error, Result as Checked};

use crate::buffer::{Buffers, place};

/// The mark has so much of the file for itself, so that what follows is aligned to anything.
pub const HEADER_BYTES: u64 = 1 << 20;

/// Tells how far the layout has come, and may end it.
pub type Progress<'a> = &'a mut dyn FnMut(u64, u64) -> Checked<()>;

/// Bytes of a write.
const CHUNK: u64 = 4 << 20;

/// Blocks that are tried, from the smallest that a device may have.
const BLOCKS: [u64; 8] = [512, 1 << 10, 2 << 10, 4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10];

/// Why a layout ended early.
pub enum Stopped {
    /// The system refused a write.
    Refused(io::Error),
    /// Whoever follows the progress has ended it.
    Ended(Error),
}

impl Stopped {
    /// As an error, where the system's is made one by `of_system`.
    pub fn into_error(self, of_system: impl FnOnce(io::Error) -> Error) -> Error {
        match self {
            Self::Refused(error) => of_system(error),
            Self::Ended(error) => error,
        }
    }
}

/// Writes so many bytes behind the header. What is at each position depends on the seed alone.
pub fn write(file: &File, bytes: u64, seed: u64, progress: Progress<'_>) -> Result<(), Stopped> {
    let mut buffers = Buffers::new(1, CHUNK as usize, seed);
    let mut done = 0;
    while done < bytes {
        progress(done, bytes).map_err(Stopped::Ended)?;
        let length = CHUNK.min(bytes - done) as usize;
        let chunk = &mut buffers.slot(0)[..length];
        place(chunk, seed, HEADER_BYTES + done);
        file.write_all_at(chunk, HEADER_BYTES + done).map_err(Stopped::Refused)?;
        done += length as u64;
    }
    progress(bytes, bytes).map_err(Stopped::Ended)
}

/// The smallest block that can be read past the page cache from a file that has its header; `None` if none can.
pub fn alignment(file: &File) -> Option<u64> {
    let mut buffers = Buffers::new(1, 64 << 10, 0);
    BLOCKS.into_iter().find(|block| {
        let length = *block as usize;
        file.read_at(&mut buffers.slot(0)[..length], *block).is_ok_and(|read| read == length)
    })
}
