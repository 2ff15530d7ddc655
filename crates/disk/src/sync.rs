//! How a write is made durable after it: the system's calls, for threads that block. The crate that has the others has no
//! `sync_file_range`, so that one is called here.

#![cfg_attr(
    target_os = "linux",
    expect(unsafe_code, reason = "a call of the system that takes numbers alone and touches no memory of ours")
)]

use std::fs::File;
use std::io;

use plimsoll_measurement::SyncMode;
use rustix::fs::{fdatasync, fsync};

/// What follows a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durable {
    /// `fdatasync`: its data, and what is needed to read it.
    Data,
    /// `fsync`: all of the file.
    All,
    /// `sync_file_range`: the pages of the file, of which the device may still have some in its cache.
    Range,
}

impl Durable {
    /// What a cell asks for after each write; `None` where nothing follows it.
    pub fn of(mode: Option<SyncMode>) -> Option<Self> {
        match mode {
            Some(SyncMode::Fdatasync) => Some(Self::Data),
            Some(SyncMode::Fsync) => Some(Self::All),
            Some(SyncMode::SyncFileRange) => Some(Self::Range),
            _ => None,
        }
    }

    /// Waits until what was written is so durable.
    pub fn sync(self, file: &File) -> io::Result<()> {
        match self {
            Self::Data => fdatasync(file).map_err(Into::into),
            Self::All => fsync(file).map_err(Into::into),
            Self::Range => range(file),
        }
    }
}

/// Writes the dirty pages of all of the file, and waits for them and for those under way.
#[cfg(target_os = "linux")]
pub const RANGE_FLAGS: u32 =
    libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER;

#[cfg(target_os = "linux")]
fn range(file: &File) -> io::Result<()> {
    use std::os::fd::AsRawFd as _;

    // SAFETY: the descriptor is open as long as the file is borrowed, and the call takes no memory.
    let outcome = unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, RANGE_FLAGS) };
    if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(not(target_os = "linux"))]
fn range(_: &File) -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "only Linux has sync_file_range"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mode_that_syncs_does_so_and_what_is_no_file_says_why_not() {
        assert_eq!([SyncMode::None, SyncMode::ODsync].map(|mode| Durable::of(Some(mode))), [None, None]);
        let file = tempfile::tempfile().unwrap();
        let device = File::open("/dev/null").unwrap();
        for mode in [SyncMode::Fdatasync, SyncMode::Fsync, SyncMode::SyncFileRange] {
            let durable = Durable::of(Some(mode)).unwrap();
            durable.sync(&file).unwrap();
            assert!(durable.sync(&device).is_err(), "{}", mode.name());
        }
    }
}
