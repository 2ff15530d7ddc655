//! What rusqlite offers no way to: SQLite's counters of a connection's page cache, and its own handle of the file. This
//! is the one place that calls SQLite's C interface.
#![expect(unsafe_code, reason = "sqlite3_db_status64 and sqlite3_file_control have no safe wrapper")]

use std::ffi::c_int;
use std::ptr::null_mut;

use rusqlite::{Connection, Error, Result, ffi};

/// Pages that this connection did not find in its cache and read. Pages reached through `mmap_size` are not counted, nor
/// are those of temporary tables in memory.
pub(super) fn cache_misses(connection: &Connection) -> Option<u64> {
    status(connection, ffi::SQLITE_DBSTATUS_CACHE_MISS)
}

/// Pages that this connection wrote: into the log in WAL mode, else into the database file. What a checkpoint copies is
/// not counted, nor is the rollback journal (SQLite's `pagerWalFrames` and `pager_write_pagelist`).
pub(super) fn cache_writes(connection: &Connection) -> Option<u64> {
    status(connection, ffi::SQLITE_DBSTATUS_CACHE_WRITE)
}

fn status(connection: &Connection, counter: c_int) -> Option<u64> {
    let (mut current, mut highest) = (0, 0);
    // SAFETY: the handle is valid as long as the connection is borrowed, a connection is not `Sync` and so is used by
    // this thread alone, and the other pointers are to locals. Zero as the last argument leaves the counter alone.
    let code = unsafe { ffi::sqlite3_db_status64(connection.handle(), counter, &raw mut current, &raw mut highest, 0) };
    if code == ffi::SQLITE_OK { u64::try_from(current).ok() } else { None }
}

/// Reads from the database file past the page cache, through the handle that SQLite has open. Opening and closing the
/// file ourselves would end the locks that this process holds on it (fcntl(2)).
pub(super) fn read_file(connection: &Connection, offset: u64, into: &mut [u8]) -> Result<()> {
    let mut file: *mut ffi::sqlite3_file = null_mut();
    let (offset, length) = (offset as i64, c_int::try_from(into.len()).unwrap_or(c_int::MAX));
    // SAFETY: as above; this control stores a pointer to the main database's file, which lives as long as the
    // connection. Its methods are set while it is open, and xRead writes no more than `length` bytes.
    let code = unsafe {
        let code = ffi::sqlite3_file_control(
            connection.handle(),
            c"main".as_ptr(),
            ffi::SQLITE_FCNTL_FILE_POINTER,
            (&raw mut file).cast(),
        );
        match file.as_ref().and_then(|file| file.pMethods.as_ref()).and_then(|methods| methods.xRead) {
            Some(read) if code == ffi::SQLITE_OK => read(file, into.as_mut_ptr().cast(), length, offset),
            _ => ffi::SQLITE_IOERR,
        }
    };
    if code == ffi::SQLITE_OK { Ok(()) } else { Err(Error::SqliteFailure(ffi::Error::new(code), None)) }
}
