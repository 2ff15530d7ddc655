//! The layer between SQLite and its files, in C's terms. It is a VFS of our own in front of SQLite's `unix-excl`, which
//! does the real I/O, the locks, and an index of the log in plain memory (one process only, and lost with it).
//!
//! This module and its two children are the only place of the crate with `unsafe` in it. What they rest on:
//! - SQLite calls a file's methods from one thread at a time (connections are opened without mutexes and belong to one
//!   session), and only between xOpen and xClose. Connections have files of their own; what they share is in [`Server`],
//!   behind its lock.
//! - A [`File`] is memory of SQLite's, `szOsFile` bytes large and aligned to 8: our part first, the inner file's behind it.
//! - Buffers that SQLite hands over are as long as it says, and nobody else touches them during the call.
//! - The registered VFS outlives all connections opened by it: whoever opens them holds the [`Registered`].
//! - No panic crosses into SQLite: what a callback does beyond passing a call on runs under [`charge::guard`].

#![expect(unsafe_code, reason = "SQLite's file interface is C")]

mod map;
mod methods;

use std::ffi::{CStr, CString, c_char, c_int};
use std::path::Path;
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::ffi;

pub use map::Map;

use crate::charge::guard;
use crate::file::OpenFile;
use crate::raw::Purpose;
use crate::server::{Server, log_path};
use methods::{File, METHODS};

/// SQLite's VFS that does the real work.
const INNER: &CStr = c"unix-excl";

/// What SQLite's file system layer knows of itself.
struct Context {
    inner: *mut ffi::sqlite3_vfs,
    server: Arc<Server>,
    random: AtomicU64,
}

/// A registered VFS; it is unregistered when this is dropped.
#[derive(Debug)]
pub struct Registered {
    name: CString,
    vfs: Box<ffi::sqlite3_vfs>,
    context: *mut Context,
}

// SAFETY: the pointers are to heap memory that this owns (and to SQLite's own VFS, which lives as long as the process);
// nothing in them is bound to a thread.
unsafe impl Send for Registered {}
// SAFETY: no method of a shared `Registered` writes to what it owns.
unsafe impl Sync for Registered {}

impl Registered {
    /// Registers a VFS for the server's files. `None` if SQLite has no VFS to put it in front of.
    pub fn new(server: Arc<Server>) -> Option<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        let name = format!("plimsoll-lab-{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        let name = CString::new(name).ok()?;
        // SAFETY: the name is a C string; SQLite initialises itself.
        let inner = unsafe { ffi::sqlite3_vfs_find(INNER.as_ptr()) };
        // SAFETY: SQLite's own VFS is never freed.
        let inner_vfs = unsafe { inner.as_ref() }?;
        let random = AtomicU64::new(server.seed);
        let context = Box::into_raw(Box::new(Context { inner, server, random }));
        let mut vfs = Box::new(ffi::sqlite3_vfs {
            iVersion: 2,
            szOsFile: size_of::<File>() as c_int + inner_vfs.szOsFile,
            mxPathname: inner_vfs.mxPathname,
            pNext: null_mut(),
            zName: name.as_ptr(),
            pAppData: context.cast(),
            xOpen: Some(open),
            xDelete: Some(delete),
            xAccess: Some(access),
            xFullPathname: Some(full_path),
            // Extensions are never loaded: rusqlite leaves that switched off.
            xDlOpen: None,
            xDlError: None,
            xDlSym: None,
            xDlClose: None,
            xRandomness: Some(randomness),
            xSleep: Some(sleep),
            xCurrentTime: Some(current_time),
            xGetLastError: Some(last_error),
            xCurrentTimeInt64: Some(current_time_milliseconds),
            xSetSystemCall: None,
            xGetSystemCall: None,
            xNextSystemCall: None,
        });
        // SAFETY: the structure lives in a box until it is unregistered in `drop`.
        let code = unsafe { ffi::sqlite3_vfs_register(&raw mut *vfs, 0) };
        let registered = Self { name, vfs, context };
        (code == ffi::SQLITE_OK).then_some(registered)
    }

    pub fn name(&self) -> &str {
        self.name.to_str().unwrap_or_default()
    }

    /// Seeds SQLite's random numbers, which are the process's: what has been drawn from them before no longer matters.
    pub fn seed_randomness(seed: u64) {
        // SAFETY: this operation takes an int and a pointer to a connection, which may be null.
        unsafe {
            ffi::sqlite3_test_control(
                ffi::SQLITE_TESTCTRL_PRNG_SEED,
                (seed ^ (seed >> 32)) as c_int | 1,
                null_mut::<ffi::sqlite3>(),
            )
        };
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        // SAFETY: it was registered, and no connection that was opened by it lives any more (see the module).
        unsafe { ffi::sqlite3_vfs_unregister(&raw mut *self.vfs) };
        // SAFETY: it came from `Box::into_raw` and is freed here only.
        drop(unsafe { Box::from_raw(self.context) });
    }
}

/// The context of a VFS of ours.
///
/// # Safety
/// `vfs` must be one that [`Registered::new`] registered and that is still registered.
unsafe fn context<'a>(vfs: *mut ffi::sqlite3_vfs) -> &'a Context {
    // SAFETY: as promised by the caller; the context lives as long as its VFS.
    unsafe { &*(*vfs).pAppData.cast::<Context>() }
}

unsafe extern "C" fn open(
    vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    // SAFETY: SQLite passes the VFS it found, a file of `szOsFile` bytes, and a name that is null or lives as long as the
    // file is open. The inner file lies behind our part of that memory.
    unsafe {
        let file = file.cast::<File>();
        (*file).base.pMethods = std::ptr::null();
        let context = context(vfs);
        let inner = File::inner(file);
        let Some(inner_open) = (*context.inner).xOpen else { return ffi::SQLITE_CANTOPEN };
        let code = inner_open(context.inner, name, inner, flags, out_flags);
        if code != ffi::SQLITE_OK {
            return code;
        }
        let purpose = match flags {
            flags if flags & ffi::SQLITE_OPEN_MAIN_DB != 0 => Purpose::Main,
            flags if flags & ffi::SQLITE_OPEN_WAL != 0 => Purpose::Log,
            flags if flags & ffi::SQLITE_OPEN_MAIN_JOURNAL != 0 => Purpose::Journal,
            _ => Purpose::Temporary,
        };
        let path = if name.is_null() {
            None
        } else if purpose == Purpose::Log {
            // The log belongs to the file that it is named after.
            Some(ffi::sqlite3_filename_database(name))
        } else {
            Some(name)
        };
        let path = path.map(|path| CStr::from_ptr(path).to_string_lossy().into_owned());
        let opened = guard(|| opened(&context.server, purpose, path.as_deref().map(Path::new)));
        let Some(opened) = opened else {
            if let Some(close) = (*inner).pMethods.as_ref().and_then(|methods| methods.xClose) {
                close(inner);
            }
            return ffi::SQLITE_CANTOPEN;
        };
        (*file).open = Box::into_raw(Box::new(opened));
        (*file).base.pMethods = &raw const METHODS;
        ffi::SQLITE_OK
    }
}

/// Finds what the server knows of the file.
fn opened(server: &Arc<Server>, purpose: Purpose, path: Option<&Path>) -> OpenFile {
    let (Some(path), Purpose::Main | Purpose::Log) = (path, purpose) else {
        return OpenFile::new(Arc::clone(server), purpose, 0, None);
    };
    let is_new = purpose == Purpose::Main && std::fs::metadata(path).is_ok_and(|metadata| metadata.len() == 0);
    if is_new {
        server.forget(path);
    }
    let number = server.file(path);
    let map = {
        let file = &mut server.state().files[number as usize];
        let known = if purpose == Purpose::Main { &mut file.map } else { &mut file.log_map };
        known.upgrade().or_else(|| {
            let log = (purpose == Purpose::Log).then(|| log_path(path));
            let map = Map::new(log.as_deref().unwrap_or(path)).map(Arc::new)?;
            *known = Arc::downgrade(&map);
            Some(map)
        })
    };
    OpenFile::new(Arc::clone(server), purpose, number, map)
}

unsafe extern "C" fn delete(vfs: *mut ffi::sqlite3_vfs, name: *const c_char, sync_directory: c_int) -> c_int {
    // SAFETY: SQLite passes the VFS it found and a C string.
    unsafe {
        let context = context(vfs);
        let name_text = CStr::from_ptr(name).to_string_lossy();
        if context.server.faults.is_dark() {
            return ffi::SQLITE_IOERR_DELETE;
        }
        if let Some(database) = name_text.strip_suffix("-wal") {
            guard(|| context.server.log_is_deleted(Path::new(database)));
        }
        // The directory is never synced: durability is modelled.
        let _ = sync_directory;
        (*context.inner).xDelete.map_or(ffi::SQLITE_IOERR_DELETE, |delete| delete(context.inner, name, 0))
    }
}

unsafe extern "C" fn access(vfs: *mut ffi::sqlite3_vfs, name: *const c_char, flags: c_int, out: *mut c_int) -> c_int {
    // SAFETY: SQLite's arguments go on to SQLite's own VFS.
    unsafe {
        let inner = context(vfs).inner;
        (*inner).xAccess.map_or(ffi::SQLITE_IOERR_ACCESS, |access| access(inner, name, flags, out))
    }
}

unsafe extern "C" fn full_path(
    vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    length: c_int,
    out: *mut c_char,
) -> c_int {
    // SAFETY: SQLite's arguments go on to SQLite's own VFS.
    unsafe {
        let inner = context(vfs).inner;
        (*inner).xFullPathname.map_or(ffi::SQLITE_CANTOPEN, |full| full(inner, name, length, out))
    }
}

unsafe extern "C" fn randomness(vfs: *mut ffi::sqlite3_vfs, length: c_int, out: *mut c_char) -> c_int {
    // SAFETY: SQLite passes a buffer of `length` bytes.
    unsafe {
        let random = &context(vfs).random;
        for index in 0..usize::try_from(length).unwrap_or(0) {
            let state = random.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
            let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            out.add(index).write((mixed >> 56) as c_char);
        }
        length
    }
}

unsafe extern "C" fn sleep(vfs: *mut ffi::sqlite3_vfs, microseconds: c_int) -> c_int {
    // SAFETY: SQLite passes the VFS it found.
    let clock = unsafe { &context(vfs).server.clock };
    let micros = u64::try_from(microseconds).unwrap_or(0);
    guard(|| clock.sleep(std::time::Duration::from_micros(micros)));
    microseconds
}

unsafe extern "C" fn current_time_milliseconds(vfs: *mut ffi::sqlite3_vfs, out: *mut ffi::sqlite3_int64) -> c_int {
    /// Milliseconds from the beginning of the Julian day number to 1970.
    const JULIAN_TO_UNIX: i64 = 210_866_760_000_000;
    // SAFETY: SQLite passes the VFS it found and a place for the result.
    unsafe {
        let clock = &context(vfs).server.clock;
        match guard(|| clock.timestamp(clock.now()).as_millisecond()) {
            Some(milliseconds) => {
                *out = JULIAN_TO_UNIX + milliseconds;
                ffi::SQLITE_OK
            }
            None => ffi::SQLITE_ERROR,
        }
    }
}

unsafe extern "C" fn current_time(vfs: *mut ffi::sqlite3_vfs, out: *mut f64) -> c_int {
    let mut milliseconds = 0;
    // SAFETY: as SQLite called us.
    unsafe {
        let code = current_time_milliseconds(vfs, &raw mut milliseconds);
        *out = milliseconds as f64 / 86_400_000.0;
        code
    }
}

unsafe extern "C" fn last_error(_: *mut ffi::sqlite3_vfs, _: c_int, _: *mut c_char) -> c_int {
    0
}
