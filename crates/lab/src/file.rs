//! The files of a database as SQLite reads and writes them. A read comes from the pool or is charged to a device.
//! Writes to the log are charged at its sync, all of them as one write, by the records that the changed pages stand for. Pages that a checkpoint writes go to the device
//! neighbours together. The bytes themselves are in real files, which are never synced: durability is modelled.

use std::ffi::c_int;
use std::sync::Arc;

use plimsoll_hardware::{Io, Kind, Role};
use plimsoll_measurement::Moment;
use rusqlite::ffi;

use crate::charge::{self, Work};
use crate::fault::{Act, What};
use crate::freelist;
use crate::image::Before;
use crate::pool::PageOf;
use crate::raw::{Purpose, Raw};
use crate::readahead::Stream;
use crate::server::{CHECKPOINT_QUEUE, Server};
use crate::state::FileState;
use crate::vfs::Map;
use crate::waits::Wait;
use crate::wal::{Part, page_number};

/// Log that is held back at most, before it goes to the real file in one write: as much as stays in a core's own cache.
const LARGEST_PENDING: usize = 64 << 10;

#[derive(Debug)]
pub struct OpenFile {
    purpose: Purpose,
    server: Arc<Server>,
    /// Number of the database file it belongs to.
    file: u32,
    map: Option<Arc<Map>>,
    stream: Stream,
    /// Room for the image of a page.
    image: Vec<u8>,
}

impl OpenFile {
    /// Opens a file that belongs to the database file of this number.
    pub fn new(server: Arc<Server>, purpose: Purpose, file: u32, map: Option<Arc<Map>>) -> Self {
        Self { purpose, server, file, map, stream: Stream::default(), image: Vec::new() }
    }

    /// Reads. Gives SQLite's code.
    pub fn read(&mut self, raw: &mut dyn Raw, into: &mut [u8], offset: u64) -> c_int {
        match self.server.faults.on(What::Read, self.purpose) {
            Act::Go => {}
            Act::Fail(code) | Act::Tear(code) => return code,
        }
        match self.purpose {
            Purpose::Main => self.read_page(raw, into, offset),
            Purpose::Log => self.read_log(raw, into, offset),
            Purpose::Journal | Purpose::Temporary => {
                let io = Io { kind: Kind::Read, offset, bytes: into.len() as u64 };
                self.temporary(io);
                raw.read(into, offset)
            }
        }
    }

    fn read_page(&mut self, raw: &mut dyn Raw, into: &mut [u8], offset: u64) -> c_int {
        let page_bytes = self.server.page_bytes;
        if into.len() as u64 == page_bytes && offset.is_multiple_of(page_bytes) {
            let page = (offset / page_bytes) as u32 + 1;
            self.server.read_page(self.file, page, None, Some(&mut self.stream));
        }
        self.copy(raw, into, offset)
    }

    /// What the real file has, from memory if it is mapped.
    fn copy(&self, raw: &mut dyn Raw, into: &mut [u8], offset: u64) -> c_int {
        match &self.map {
            Some(map) if map.copy(offset, into) => ffi::SQLITE_OK,
            _ => raw.read(into, offset),
        }
    }

    fn read_log(&mut self, raw: &mut dyn Raw, into: &mut [u8], offset: u64) -> c_int {
        let (part, code) = {
            let mut state = self.server.state();
            let log = &mut state.files[self.file as usize];
            let reaches_pending = !log.pending.1.is_empty() && offset + into.len() as u64 > log.pending.0;
            let code = if reaches_pending { flush(&self.server, raw, self.file, log) } else { ffi::SQLITE_OK };
            let part = match log.wal.part(offset, into.len()) {
                Part::Page(index) => Err(log.wal.frame(index)),
                part => Ok(part),
            };
            (part, code)
        };
        if code != ffi::SQLITE_OK {
            return code;
        }
        if let Err(Some(frame)) = part {
            charge::frame_read(self.file, frame);
            // Whoever reads what is not durable yet may not report it before it is.
            charge::with(|work| work.durable = work.durable.max(frame.durable.unwrap_or_default()));
            self.server.read_page(self.file, frame.page, Some(frame.version), None);
        }
        let code = self.copy(raw, into, offset);
        if let (Ok(Part::Whole(index)), ffi::SQLITE_OK, Some(page)) = (part, code, page_number(into)) {
            let mut state = self.server.state();
            state.version += 1;
            let version = state.version;
            let log = &mut state.files[self.file as usize];
            log.wal.set(index, page, version);
            log.wal.synced(Moment::default());
        }
        code
    }

    /// Writes. Gives SQLite's code.
    pub fn write(&mut self, raw: &mut dyn Raw, data: &[u8], offset: u64) -> c_int {
        match self.server.faults.on(What::Write(data.len() as u64), self.purpose) {
            Act::Go => {}
            Act::Fail(code) => return code,
            Act::Tear(code) => {
                // Half of it reaches the file.
                raw.write(&data[..data.len() / 2], offset);
                return code;
            }
        }
        match self.purpose {
            Purpose::Main => self.write_page(raw, data, offset),
            Purpose::Log => self.write_log(raw, data, offset),
            Purpose::Journal | Purpose::Temporary => {
                self.temporary(Io { kind: Kind::Write, offset, bytes: data.len() as u64 });
                raw.write(data, offset)
            }
        }
    }

    fn write_log(&mut self, raw: &mut dyn Raw, data: &[u8], offset: u64) -> c_int {
        let charged = charge::is_on();
        let mut guard = self.server.state();
        let state = &mut *guard;
        let log = &mut state.files[self.file as usize];
        let mut bytes = data.len() as u64;
        match log.wal.part(offset, data.len()) {
            Part::Header => {
                log.wal.restart();
                log.log_bytes = 0;
            }
            Part::FrameHeader(index) => {
                log.wal.announce(index, data);
                bytes = if charged { 0 } else { bytes };
            }
            Part::Page(index) => {
                if let Some(page) = log.wal.announced(index).filter(|_| charged) {
                    let (numbers, file) = (&state.numbers, self.file);
                    let path = || numbers.iter().find(|(_, number)| **number == file).map(|(path, _)| path.as_path());
                    let mut before = Before { raw, map: self.map.as_deref(), log, path };
                    self.image.resize(data.len(), 0);
                    let is_there = before.copy(page, &mut self.image);
                    if page == 1 && is_there {
                        let free = freelist::taken(&self.image, data, |page, into| before.copy(page, into));
                        log.records.note_free(free);
                    }
                    log.records.note(page, is_there.then_some(self.image.as_slice()), data);
                    bytes = 0;
                }
                state.version += 1;
                if let Some(page) = log.wal.write(index, state.version) {
                    let of = PageOf { file: self.file, page };
                    // What is written is in memory; what is provisioned past the model is not.
                    if charged {
                        state.pool.insert(of, state.version, Moment::default());
                    } else {
                        state.pool.forget(of);
                    }
                }
            }
            Part::Whole(_) | Part::Other => {}
        }
        log.unsynced += bytes;
        let (begin, pending) = &mut log.pending;
        let follows = *begin + pending.len() as u64 == offset;
        if !pending.is_empty() && (!follows || pending.len() + data.len() > LARGEST_PENDING) {
            let code = flush(&self.server, raw, self.file, log);
            if code != ffi::SQLITE_OK {
                return code;
            }
        }
        let (begin, pending) = &mut log.pending;
        if pending.is_empty() {
            *begin = offset;
        }
        pending.extend_from_slice(data);
        ffi::SQLITE_OK
    }

    fn write_page(&mut self, raw: &mut dyn Raw, data: &[u8], offset: u64) -> c_int {
        if self.server.faults.may_lose_power() {
            let all = self.server.state().files[self.file as usize].log_durable;
            let not_before = charge::with(|work| work.durable).unwrap_or(all);
            self.server.faults.before_write(raw, (self.file, false), data, offset, not_before);
        }
        let code = raw.write(data, offset);
        if code != ffi::SQLITE_OK {
            return code;
        }
        if let Some(map) = &self.map {
            map.grow(offset + data.len() as u64);
        }
        let page_bytes = self.server.page_bytes;
        let of = PageOf { file: self.file, page: (offset / page_bytes) as u32 + 1 };
        if let Some(frame) = charge::frame_of(of) {
            let now = self.server.clock.now();
            self.server.state().files[self.file as usize].copied(frame, now);
            charge::with(|work| self.checkpoint_page(work, of.page));
        } else {
            // Past the log: a load that is provisioned, or SQLite's first page of a new file.
            let mut state = self.server.state();
            state.version += 1;
            let version = state.version;
            state.files[self.file as usize].set_version(of.page, version);
            state.pool.forget(of);
        }
        code
    }

    /// A checkpoint writes a page: neighbours go together.
    fn checkpoint_page(&self, work: &mut Work, page: u32) {
        let io_pages = self.server.state().read_ahead.io_pages;
        match &mut work.run {
            Some((first, count)) if *first + *count == page && *count < io_pages => *count += 1,
            _ => {
                self.server.write_run(self.file, work);
                work.run = Some((page, 1));
            }
        }
    }

    /// Reads or writes a temporary file or a journal. Writes are not waited for beyond a short queue.
    fn temporary(&self, io: Io) {
        charge::with(|work| {
            let now = self.server.clock.now();
            let mut state = self.server.state();
            let role = if self.purpose == Purpose::Journal { Role::Log } else { Role::Temp };
            let at = self.server.faults.delay(now, state.submit(now, role, io).at);
            match io.kind {
                Kind::Read => {
                    state.counters.data_reads.add(io.bytes, at.since(now));
                    drop(state);
                    self.server.wait(work, at, Wait::DataRead);
                }
                Kind::Write => {
                    state.counters.data_writes.add(io.bytes, at.since(now));
                    drop(state);
                    let queue = CHECKPOINT_QUEUE.as_nanos() as u64;
                    let latest = Moment::from_nanos(at.as_nanos().saturating_sub(queue));
                    self.server.wait(work, latest, Wait::DataRead);
                }
            }
        });
    }

    /// Makes durable what was written, in the model. Gives SQLite's code.
    pub fn sync(&mut self, raw: &mut dyn Raw) -> c_int {
        match self.server.faults.on(What::Sync, self.purpose) {
            Act::Go => {}
            Act::Fail(code) | Act::Tear(code) => return code,
        }
        match self.purpose {
            Purpose::Log => {
                let code = self.flush(raw);
                if code == ffi::SQLITE_OK {
                    self.server.sync_log(self.file);
                }
                code
            }
            Purpose::Main => {
                let start = self.server.clock.now();
                let due = charge::with(|work| {
                    self.server.write_run(self.file, work);
                    let due = work.due.max(start);
                    self.server.wait(work, due, Wait::WriterLock);
                    due
                });
                self.server.faults.synced((self.file, false), start, due.unwrap_or(start));
                ffi::SQLITE_OK
            }
            Purpose::Journal | Purpose::Temporary => ffi::SQLITE_OK,
        }
    }

    /// Cuts the file. Gives SQLite's code.
    pub fn truncate(&mut self, raw: &mut dyn Raw, length: u64) -> c_int {
        match self.server.faults.on(What::Write(0), self.purpose) {
            Act::Go => {}
            Act::Fail(code) | Act::Tear(code) => return code,
        }
        if self.purpose == Purpose::Log {
            let code = self.flush(raw);
            if code != ffi::SQLITE_OK {
                return code;
            }
            if length == 0 {
                self.server.state().files[self.file as usize].wal.restart();
            }
        }
        if let Some(map) = &self.map {
            map.cut(length);
        }
        self.server.faults.cut((self.file, self.purpose == Purpose::Log), length);
        raw.truncate(length)
    }

    pub fn size(&mut self, raw: &mut dyn Raw) -> Result<u64, c_int> {
        match self.flush(raw) {
            ffi::SQLITE_OK => raw.size(),
            code => Err(code),
        }
    }

    /// Puts the log that is held back into the real file.
    pub fn flush(&mut self, raw: &mut dyn Raw) -> c_int {
        if self.purpose != Purpose::Log {
            return ffi::SQLITE_OK;
        }
        flush(&self.server, raw, self.file, &mut self.server.state().files[self.file as usize])
    }
}

fn flush(server: &Server, raw: &mut dyn Raw, file: u32, log: &mut FileState) -> c_int {
    let (begin, pending) = &mut log.pending;
    if pending.is_empty() {
        return ffi::SQLITE_OK;
    }
    server.faults.before_write(raw, (file, true), pending, *begin, log.gate);
    let code = raw.write(pending, *begin);
    if let (ffi::SQLITE_OK, Some(map)) = (code, log.log_map.upgrade()) {
        map.grow(*begin + pending.len() as u64);
    }
    pending.clear();
    code
}
