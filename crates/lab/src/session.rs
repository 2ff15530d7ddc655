//! What a session of the lab adds to one of SQLite. It queues for the right to write before a statement, pays for CPU,
//! and waits for the log after it has passed the right to write on.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use plimsoll_clock::windowed;
use plimsoll_engine::{Error, ErrorKind, Result};
use plimsoll_hardware::CpuWork;
use plimsoll_measurement::{Counter, Moment, Reading, Views};
use plimsoll_sqlite::modelled::{Follower, Modelled};
use rusqlite::Connection;

use crate::charge::{self, Work};
use crate::checkpoint;
use crate::checkpointer::threshold;
use crate::fair_lock::FairLock;
use crate::lab_lock;
use crate::server::{Server, log_path};
use crate::vfs::Registered;
use crate::waits::Wait;

/// Steps of SQLite's virtual machine between two looks at the CPU in a long statement.
const STEPS: i32 = 1000;

/// CPU time that a long statement may owe before it waits for it, in picoseconds: half a millisecond.
const CPU_SLICE_PS: u64 = 500_000_000;

/// Statements with numbers that a session has at hand.
const KNOWN_STATEMENTS: usize = 16;

/// Pages of SQLite's private cache, which every connection has beside the pool: as few as it works with.
pub const PRIVATE_PAGES: i32 = 2;

/// SQLite on the modelled server.
#[derive(Debug)]
pub struct Hardware {
    /// Opens files. It goes first: it holds on to the server.
    pub vfs: Registered,
    pub server: Arc<Server>,
}

impl Modelled for Hardware {
    fn vfs(&self) -> &str {
        self.vfs.name()
    }

    fn follow(
        &self,
        path: &Path,
        connection: &mut Connection,
        cancelled: &Arc<AtomicBool>,
    ) -> Result<Box<dyn Follower>> {
        let failed = |error: rusqlite::Error| Error::new(ErrorKind::Statement, format!("SQLite: {error}"));
        connection.pragma_update(None, "cache_size", PRIVATE_PAGES).map_err(failed)?;
        connection.pragma_update(None, "cache_spill", false).map_err(failed)?;
        connection.pragma_update(None, "wal_autocheckpoint", 0).map_err(failed)?;
        if self.server.prices.step_ps() > 0 {
            let server = Arc::clone(&self.server);
            let steps = move || charge::guard(|| charge_steps(&server)).is_none();
            connection.progress_handler(STEPS, Some(steps)).map_err(failed)?;
        }
        lab_lock::register(connection, Arc::clone(&self.server)).map_err(failed)?;
        let file = self.server.file(path);
        self.server.resize();
        let writer_lock = {
            let shared = &mut self.server.state().files[file as usize].shared;
            shared.sessions += 1;
            Arc::clone(&shared.writer_lock)
        };
        let work = Work { cancelled: Arc::clone(cancelled), ..Work::default() };
        Ok(Box::new(LabSession {
            server: Arc::clone(&self.server),
            vfs: self.vfs.name().to_owned(),
            path: path.to_owned(),
            file,
            writer_lock,
            writing: false,
            log_bytes_before: 0,
            begun: Moment::default(),
            statement: None,
            known: Vec::new(),
            work: Some(Box::new(work)),
        }))
    }
}

/// A long statement has done [`STEPS`] more steps.
fn charge_steps(server: &Server) {
    charge::with(|work| {
        work.owed_steps += STEPS as u64;
        if work.owed_steps * server.prices.step_ps() >= CPU_SLICE_PS {
            let steps = std::mem::take(&mut work.owed_steps);
            work.charged_steps += steps;
            pay(server, work, CpuWork { steps, ..CpuWork::default() });
        }
    });
}

/// Waits for the CPU time of this and of the pages read. What the real machine needed for the work itself is part of it.
fn pay(server: &Server, work: &mut Work, cpu: CpuWork) {
    let cpu = CpuWork { pages: std::mem::take(&mut work.uncharged_pages), ..cpu };
    if cpu == CpuWork::default() {
        return;
    }
    let since = work.computing_since;
    let done = server.state().compute(work, since, cpu);
    server.wait(work, done, Wait::Cpu);
}

#[derive(Debug)]
struct LabSession {
    server: Arc<Server>,
    vfs: String,
    path: PathBuf,
    file: u32,
    writer_lock: Arc<FairLock>,
    /// True while the right to write is this session's.
    writing: bool,
    /// Bytes that the session had written to the log when the right became its own.
    log_bytes_before: u64,
    /// When the running statement began.
    begun: Moment,
    /// By which number the running statement is counted.
    statement: Option<usize>,
    /// Texts of statements of late with their numbers.
    known: Vec<(String, usize)>,
    work: Option<Box<Work>>,
}

impl LabSession {
    fn number(&mut self, sql: &str) -> Option<usize> {
        if let Some((_, number)) = self.known.iter().find(|(text, _)| text == sql) {
            return Some(*number);
        }
        let number = self.server.state().statements.number(sql)?;
        if self.known.len() >= KNOWN_STATEMENTS {
            self.known.clear();
        }
        self.known.push((sql.to_owned(), number));
        Some(number)
    }

    /// Passes the right to write on, and has the log copied if it has grown enough.
    fn pass_turn(&mut self) {
        if !std::mem::take(&mut self.writing) {
            return;
        }
        let state = &mut *self.server.state();
        let file = &mut state.files[self.file as usize];
        if file.wal.len() >= threshold(state.pool.limit()) {
            if file.shared.checkpointer.is_none() {
                let (server, writer_lock) = (Arc::clone(&self.server), Arc::clone(&self.writer_lock));
                // Without a thread for it the log is copied when the last session ends.
                file.shared.checkpointer =
                    checkpoint::start(server, self.vfs.clone(), self.path.clone(), writer_lock).ok();
            }
            if let Some(checkpointer) = &file.shared.checkpointer {
                checkpointer.request();
            }
        }
        self.writer_lock.release();
    }

    /// Waits until everything is durable that the statement wrote, or read from others.
    fn wait_for_log(&self, work: &mut Work) -> Result<()> {
        let throttled = std::mem::take(&mut work.throttled_nanos);
        // Mostly there is nothing to be waited for, and no need to ask for the time.
        let durable = std::mem::take(&mut work.durable);
        if durable == Moment::default() {
            return Ok(());
        }
        let now = self.server.clock.now();
        if durable <= now {
            return Ok(());
        }
        let durable = self.server.faults.thaw(durable);
        // One wait for two reasons; the governor's part comes first.
        self.server.sleep(durable, &work.cancelled);
        let end = self.server.clock.now();
        let waited = end.since(now);
        let governed = Duration::from_nanos(throttled).min(waited);
        work.new_waits.add(Wait::LogRateGovernor, governed);
        work.new_waits.add(Wait::LogWrite, waited.saturating_sub(governed));
        if self.server.faults.power_was_lost_before(durable) {
            return Err(Error::new(ErrorKind::Lost, "the power was lost before the transaction was durable"));
        }
        if end < durable {
            return Err(Error::new(ErrorKind::Cancelled, "cancelled before the transaction was durable"));
        }
        Ok(())
    }
}

impl Follower for LabSession {
    fn begin(&mut self, sql: &str, writes: bool) -> Result<()> {
        let Some(mut work) = self.work.take() else {
            return Err(Error::new(ErrorKind::Internal, "a statement began within another"));
        };
        self.server.wait_for_client(&work);
        self.begun = self.server.computing_now();
        self.statement = self.number(sql);
        work.pages_before = work.pages_read;
        work.may_write = self.writing;
        work.computing_since = self.begun;
        if self.server.faults.may_freeze() {
            let now = self.server.clock.now();
            self.server.wait(&mut work, now, Wait::Cpu);
        }
        if self.server.prices.statement_ps() > 0 {
            // Receiving and planning it come before its work, and nobody's lock is held meanwhile.
            pay(&self.server, &mut work, CpuWork { statements: 1, ..CpuWork::default() });
        }
        if writes && !self.writing {
            let waited = self.writer_lock.take(self.server.clock.as_ref());
            self.writing = true;
            self.log_bytes_before = work.log_bytes;
            if !waited.is_zero() {
                work.new_waits.add(Wait::WriterLock, waited);
                work.computing_since = self.server.computing_now();
            }
        }
        work.may_write = self.writing;
        charge::install(work);
        Ok(())
    }

    fn end(&mut self, steps: u64, autocommit: bool) -> Result<()> {
        let Some(mut work) = charge::take() else {
            return Err(Error::new(ErrorKind::Internal, "a statement ended that had not begun"));
        };
        charge::continue_panic();
        let charged = std::mem::take(&mut work.charged_steps);
        work.owed_steps = 0;
        if self.server.prices.step_ps() > 0 {
            pay(&self.server, &mut work, CpuWork { steps: steps.saturating_sub(charged), ..CpuWork::default() });
        }
        if autocommit {
            if self.writing && work.log_bytes > self.log_bytes_before {
                self.server.state().counters.commits += 1;
            }
            self.pass_turn();
        }
        let outcome = if self.writing { Ok(()) } else { self.wait_for_log(&mut work) };
        if autocommit {
            work.locks.clear();
        }
        self.server.statement_ended(self.statement, self.begun, &mut work);
        self.work = Some(work);
        outcome
    }

    fn read_page(&self, number: u32, into: &mut [u8]) -> Result<()> {
        let failed = || Error::new(ErrorKind::Statement, format!("page {number} can't be read"));
        let (in_log, map) = {
            let file = &self.server.state().files[self.file as usize];
            (file.wal.newest(number), file.map.upgrade())
        };
        let offset = (u64::from(number) - 1) * self.server.page_bytes;
        match (in_log, map) {
            (Some(offset), _) => File::open(log_path(&self.path)).and_then(|log| log.read_exact_at(into, offset)),
            (None, Some(map)) if map.copy(offset, into) => Ok(()),
            (None, _) => File::open(&self.path).and_then(|file| file.read_exact_at(into, offset)),
        }
        .map_err(|_| failed())
    }

    fn sample(&mut self) -> Vec<Reading> {
        let Some(work) = &self.work else { return Vec::new() };
        let ((), window) = windowed(self.server.clock.as_ref(), || ());
        let reading = |metric, value| Reading { metric, value, window };
        let mut readings = vec![
            reading(Counter::CacheMissPages, work.pages_read as f64),
            reading(Counter::LogWriteBytes, work.log_bytes as f64),
            reading(Counter::EngineCpuSeconds, work.cpu_nanos as f64 / 1e9),
        ];
        readings.extend(work.waits.readings(window));
        readings
    }

    fn views(&mut self) -> Views {
        let waits = self.work.as_ref().map_or_else(Vec::new, |work| work.waits.rows());
        Views { waits, ..Views::default() }
    }
}

impl Drop for LabSession {
    fn drop(&mut self) {
        // A panic in the midst of a statement leaves its account behind.
        drop(charge::take());
        self.pass_turn();
        let checkpointer = {
            let shared = &mut self.server.state().files[self.file as usize].shared;
            shared.sessions = shared.sessions.saturating_sub(1);
            if shared.sessions == 0 { shared.checkpointer.take() } else { None }
        };
        if let Some(checkpointer) = checkpointer {
            checkpointer.stop();
        }
    }
}
