//! The files beneath the modelled ones.

use std::ffi::c_int;

/// The file beneath, as the operating system has it. Codes are SQLite's.
pub trait Raw {
    /// Reads; what lies behind the end is zero and gives `SQLITE_IOERR_SHORT_READ`.
    fn read(&mut self, into: &mut [u8], offset: u64) -> c_int;
    fn write(&mut self, data: &[u8], offset: u64) -> c_int;
    fn truncate(&mut self, length: u64) -> c_int;
    fn size(&mut self) -> Result<u64, c_int>;
}

/// What a file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    Main,
    /// Its write-ahead log.
    Log,
    Journal,
    Temporary,
}
