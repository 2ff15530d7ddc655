//! Pages on their way from one file to another, past SQLite. They go in large I/Os, several at once. So the limits
//! decide, and the latency of one I/O is waited for once, at the end.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use plimsoll_engine::{Cancel, Error, ErrorKind, Result};
use plimsoll_hardware::{Io, Kind, LARGEST_IO_BYTES, Role};
use plimsoll_measurement::Moment;
use rusqlite::ffi;

use super::errors::{unreadable, unwritable};
use crate::charge::{self, Work};
use crate::fault::{Act, What};
use crate::raw::Purpose;
use crate::server::Server;
use crate::waits::Wait;

/// How far ahead of the present I/Os are booked: longer than all but the rarest latency, so that a device never idles.
const AHEAD: Duration = Duration::from_millis(50);

/// Reads that are under way at least: on a slow device one takes longer than that, and the next has to wait behind it.
const FEWEST: usize = 2;

/// The devices that pages come from and go to; past no device nothing takes time.
#[derive(Debug, Clone, Copy)]
pub struct Way {
    pub read: Option<Role>,
    pub write: Option<Role>,
}

pub struct Flag(pub Arc<AtomicBool>);

impl Cancel for Flag {
    fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Moves all pages of a file into a new one; `look` hears after each I/O how many bytes are there.
pub fn move_file(
    server: &Server,
    cancelled: &Arc<AtomicBool>,
    (from, to): (&Path, &Path),
    way: Way,
    look: &mut dyn FnMut(u64) -> Result<()>,
) -> Result<()> {
    cancelled.store(false, Ordering::Relaxed);
    let source = File::open(from).map_err(|error| unreadable(&error))?;
    let length = source.metadata().map_err(|error| unreadable(&error))?.len();
    let target = OpenOptions::new().write(true).create_new(true).open(to).map_err(|error| unwritable(&error))?;
    let mut moving = Moving { server, cancelled, work: Work { cancelled: Arc::clone(cancelled), ..Work::default() } };
    let outcome = moving.all(&source, &target, length, way, look);
    drop(moving);
    if outcome.is_err() {
        // A part of a database is of no use, and whoever has asked for it hears the reason.
        let _ = fs::remove_file(to);
    }
    outcome
}

struct Moving<'a> {
    server: &'a Server,
    cancelled: &'a AtomicBool,
    work: Work,
}

impl Moving<'_> {
    fn all(
        &mut self,
        source: &File,
        target: &File,
        length: u64,
        way: Way,
        look: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<()> {
        let mut buffer = vec![0; LARGEST_IO_BYTES as usize];
        let (mut asked, mut written) = (0, 0);
        let mut reads: VecDeque<(u64, Moment)> = VecDeque::new();
        let mut last = self.server.clock.now();
        while written < length {
            let soon = self.server.clock.now().after(AHEAD);
            while asked < length && (reads.len() < FEWEST || reads.back().is_some_and(|(_, ready)| *ready < soon)) {
                let bytes = LARGEST_IO_BYTES.min(length - asked);
                let ready = self.book(way.read, Io { kind: Kind::Read, offset: asked, bytes })?;
                reads.push_back((bytes, ready));
                asked += bytes;
                if way.read.is_none() {
                    break;
                }
            }
            let Some((bytes, ready)) = reads.pop_front() else { break };
            self.wait(ready)?;
            let piece = &mut buffer[..bytes as usize];
            source.read_exact_at(piece, written).map_err(|error| unreadable(&error))?;
            let done = self.book(way.write, Io { kind: Kind::Write, offset: written, bytes })?;
            target.write_all_at(piece, written).map_err(|error| unwritable(&error))?;
            written += bytes;
            last = last.max(done);
            self.wait(Moment::from_nanos(done.as_nanos().saturating_sub(AHEAD.as_nanos() as u64)))?;
            look(written)?;
        }
        self.wait(last)
    }

    /// Books an I/O, and says when it is done.
    fn book(&mut self, role: Option<Role>, io: Io) -> Result<Moment> {
        let now = self.server.clock.now();
        let Some(role) = role else { return Ok(now) };
        let what = if io.kind == Kind::Read { What::Read } else { What::Write(io.bytes) };
        // Faults strike what is charged.
        charge::install(Box::default());
        let act = self.server.faults.on(what, Purpose::Main);
        drop(charge::take());
        match act {
            Act::Go => {}
            Act::Fail(ffi::SQLITE_FULL) => return Err(Error::new(ErrorKind::DiskFull, "the data device is full")),
            Act::Fail(_) | Act::Tear(_) => return Err(Error::new(ErrorKind::Statement, "an I/O of the move failed")),
        }
        let mut state = self.server.state();
        let done = state.submit(now, role, io);
        let at = self.server.faults.delay(now, done.at);
        if role == Role::Data {
            let counters = &mut state.counters;
            let operations = if io.kind == Kind::Read { &mut counters.data_reads } else { &mut counters.data_writes };
            operations.add(io.bytes, at.since(now));
        }
        Ok(at)
    }

    fn wait(&mut self, moment: Moment) -> Result<()> {
        self.server.wait(&mut self.work, moment, Wait::DataRead);
        if self.cancelled.load(Ordering::Relaxed) {
            return Err(Error::new(ErrorKind::Cancelled, "cancelled while a database was moved"));
        }
        Ok(())
    }
}

impl Drop for Moving<'_> {
    /// What was waited for is the server's, as that of a statement is.
    fn drop(&mut self) {
        self.server.statement_ended(None, Moment::default(), &mut self.work);
    }
}
