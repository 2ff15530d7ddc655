//! The methods of an open file.

use std::ffi::{c_int, c_void};

use rusqlite::ffi;

use crate::charge::guard;
use crate::file::OpenFile;
use crate::raw::Raw;

/// What a callback's argument points to.
type Pointer = *mut c_void;

/// A file in SQLite's memory; the inner file lies behind it.
#[repr(C, align(8))]
pub struct File {
    pub base: ffi::sqlite3_file,
    pub open: *mut OpenFile,
}

impl File {
    /// The inner file.
    ///
    /// # Safety
    /// `file` must be memory of `szOsFile` bytes of our VFS.
    pub unsafe fn inner(file: *mut Self) -> *mut ffi::sqlite3_file {
        // SAFETY: the inner file's memory follows ours, as `szOsFile` promises.
        unsafe { file.add(1).cast() }
    }
}

/// What a lab file says of itself, not what the host's disk does. It has sectors of 4 KiB, and a write that is cut off
/// by a loss of power damages nothing beside it. Without that SQLite pads every commit to whole sectors.
const SECTOR_BYTES: c_int = 4096;
const CHARACTERISTICS: c_int = ffi::SQLITE_IOCAP_POWERSAFE_OVERWRITE;

/// SQLite's own VFS writes less than 128 KiB at a time, since no page is larger.
const LARGEST_WRITE: usize = 64 << 10;

/// Version 2: with version 3 SQLite could read by memory map, past every charge.
pub static METHODS: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
    iVersion: 2,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(characteristics),
    xShmMap: Some(shm_map),
    xShmLock: Some(shm_lock),
    xShmBarrier: Some(shm_barrier),
    xShmUnmap: Some(shm_unmap),
    xFetch: None,
    xUnfetch: None,
};

/// The inner file with its methods.
struct Inner {
    file: *mut ffi::sqlite3_file,
    methods: &'static ffi::sqlite3_io_methods,
}

/// Our part of an open file, and the inner file.
///
/// # Safety
/// `file` must be open: SQLite calls methods only between xOpen and xClose, from one thread at a time.
unsafe fn parts<'a>(file: *mut ffi::sqlite3_file) -> (&'a mut OpenFile, Inner) {
    // SAFETY: as promised; the methods of SQLite's own VFS are static.
    unsafe {
        let file = file.cast::<File>();
        let inner = File::inner(file);
        (&mut *(*file).open, Inner { file: inner, methods: &*(*inner).pMethods })
    }
}

impl Raw for Inner {
    fn read(&mut self, into: &mut [u8], offset: u64) -> c_int {
        let length = into.len() as c_int;
        // SAFETY: the inner file is open, and the buffer has that length.
        self.methods.xRead.map_or(ffi::SQLITE_IOERR_READ, |read| unsafe {
            read(self.file, into.as_mut_ptr().cast(), length, offset as i64)
        })
    }

    fn write(&mut self, data: &[u8], offset: u64) -> c_int {
        let Some(write) = self.methods.xWrite else { return ffi::SQLITE_IOERR_WRITE };
        for (piece, number) in data.chunks(LARGEST_WRITE).zip(0..) {
            let at = offset + number * LARGEST_WRITE as u64;
            // SAFETY: the inner file is open, and the buffer has that length.
            let code = unsafe { write(self.file, piece.as_ptr().cast(), piece.len() as c_int, at as i64) };
            if code != ffi::SQLITE_OK {
                return code;
            }
        }
        ffi::SQLITE_OK
    }

    fn truncate(&mut self, length: u64) -> c_int {
        // SAFETY: the inner file is open.
        self.methods.xTruncate.map_or(ffi::SQLITE_IOERR_TRUNCATE, |cut| unsafe { cut(self.file, length as i64) })
    }

    fn size(&mut self) -> Result<u64, c_int> {
        let mut size = 0;
        // SAFETY: the inner file is open.
        let code = self
            .methods
            .xFileSize
            .map_or(ffi::SQLITE_IOERR_FSTAT, |length| unsafe { length(self.file, &raw mut size) });
        if code == ffi::SQLITE_OK { Ok(size as u64) } else { Err(code) }
    }
}

unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: SQLite closes a file once; what xOpen put there is freed here.
    unsafe {
        let (open, mut inner) = parts(file);
        guard(|| open.flush(&mut inner));
        let ours = file.cast::<File>();
        drop(Box::from_raw((*ours).open));
        (*ours).base.pMethods = std::ptr::null();
        inner.methods.xClose.map_or(ffi::SQLITE_IOERR_CLOSE, |close| close(inner.file))
    }
}

unsafe extern "C" fn read(file: *mut ffi::sqlite3_file, into: *mut c_void, length: c_int, offset: i64) -> c_int {
    let (Ok(length), Ok(offset)) = (usize::try_from(length), u64::try_from(offset)) else {
        return ffi::SQLITE_IOERR_READ;
    };
    // SAFETY: the file is open and the buffer is as long as SQLite says. It may not be initialised: it is made so.
    unsafe {
        let (open, mut inner) = parts(file);
        let into = std::slice::from_raw_parts_mut(into.cast::<u8>(), length);
        guard(|| open.read(&mut inner, into, offset)).unwrap_or(ffi::SQLITE_IOERR_READ)
    }
}

unsafe extern "C" fn write(file: *mut ffi::sqlite3_file, data: *const c_void, length: c_int, offset: i64) -> c_int {
    let (Ok(length), Ok(offset)) = (usize::try_from(length), u64::try_from(offset)) else {
        return ffi::SQLITE_IOERR_WRITE;
    };
    // SAFETY: the file is open and the buffer is as long as SQLite says.
    unsafe {
        let (open, mut inner) = parts(file);
        let data = std::slice::from_raw_parts(data.cast::<u8>(), length);
        guard(|| open.write(&mut inner, data, offset)).unwrap_or(ffi::SQLITE_IOERR_WRITE)
    }
}

unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, length: i64) -> c_int {
    // SAFETY: the file is open.
    unsafe {
        let (open, mut inner) = parts(file);
        let length = u64::try_from(length).unwrap_or(0);
        guard(|| open.truncate(&mut inner, length)).unwrap_or(ffi::SQLITE_IOERR_TRUNCATE)
    }
}

unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, _flags: c_int) -> c_int {
    // SAFETY: the file is open. The inner file is never synced: durability is modelled.
    unsafe {
        let (open, mut inner) = parts(file);
        guard(|| open.sync(&mut inner)).unwrap_or(ffi::SQLITE_IOERR_FSYNC)
    }
}

unsafe extern "C" fn file_size(file: *mut ffi::sqlite3_file, out: *mut ffi::sqlite3_int64) -> c_int {
    // SAFETY: the file is open, and `out` is a place for the result.
    unsafe {
        let (open, mut inner) = parts(file);
        match guard(|| open.size(&mut inner)) {
            Some(Ok(size)) => {
                *out = size as i64;
                ffi::SQLITE_OK
            }
            Some(Err(code)) => code,
            None => ffi::SQLITE_IOERR_FSTAT,
        }
    }
}

/// Passes a call on to the inner file's method of that name.
macro_rules! pass_on {
    ($name:ident, $method:ident, $missing:expr $(, $argument:ident: $type:ty)*) => {
        unsafe extern "C" fn $name(file: *mut ffi::sqlite3_file $(, $argument: $type)*) -> c_int {
            // SAFETY: the file is open, and SQLite's arguments go on to SQLite's own VFS.
            unsafe {
                let (_, inner) = parts(file);
                inner.methods.$method.map_or($missing, |method| method(inner.file $(, $argument)*))
            }
        }
    };
}

pass_on!(lock, xLock, ffi::SQLITE_IOERR_LOCK, level: c_int);
pass_on!(unlock, xUnlock, ffi::SQLITE_IOERR_UNLOCK, level: c_int);
pass_on!(check_reserved_lock, xCheckReservedLock, ffi::SQLITE_IOERR_CHECKRESERVEDLOCK, out: *mut c_int);
pass_on!(file_control, xFileControl, ffi::SQLITE_NOTFOUND, operation: c_int, argument: Pointer);
pass_on!(shm_map, xShmMap, ffi::SQLITE_IOERR_SHMMAP, region: c_int, size: c_int, extend: c_int, out: *mut *mut c_void);
pass_on!(shm_lock, xShmLock, ffi::SQLITE_IOERR_SHMLOCK, offset: c_int, count: c_int, flags: c_int);
pass_on!(shm_unmap, xShmUnmap, ffi::SQLITE_OK, delete: c_int);

unsafe extern "C" fn shm_barrier(file: *mut ffi::sqlite3_file) {
    // SAFETY: the file is open.
    unsafe {
        let (_, inner) = parts(file);
        if let Some(barrier) = inner.methods.xShmBarrier {
            barrier(inner.file);
        }
    }
}

unsafe extern "C" fn sector_size(_: *mut ffi::sqlite3_file) -> c_int {
    SECTOR_BYTES
}

unsafe extern "C" fn characteristics(_: *mut ffi::sqlite3_file) -> c_int {
    CHARACTERISTICS
}
