//! The modelled database server that all files and sessions of an opened target share: its clock, its hardware, one
//! buffer pool, and what it counts. No lock is held while anybody waits.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use plimsoll_clock::Clock;
use plimsoll_hardware::{CpuWork, Io, Kind, Machine, Role, Spec};
use plimsoll_measurement::Moment;

use crate::charge::{self, Work};
use crate::counters::{Counters, Statements};
use crate::fault::Faults;
use crate::locks::Locks;
use crate::pool::{PageOf, Pool, Version};
use crate::readahead::{Sizes, Stream};
use crate::state::{FileState, State};
use crate::waits::Wait;
use crate::wal::HEADER_BYTES;

/// In real time a wait is cut into pieces, so that a cancellation ends it soon.
const LONGEST_NAP: Duration = Duration::from_millis(50);

/// The number of pages for which a session may owe CPU time in the midst of a statement.
const CPU_SLICE_PAGES: u64 = 16;

/// How far ahead of the device a checkpoint may book its writes: else one checkpoint would put seconds of I/O before the
/// next read.
pub const CHECKPOINT_QUEUE: Duration = Duration::from_millis(10);

#[derive(Debug)]
pub struct Server {
    pub clock: Arc<dyn Clock>,
    /// Bytes of a page, on whatever hardware.
    pub page_bytes: u64,
    /// What CPU costs at present.
    pub prices: Prices,
    /// Seed of everything that is random.
    pub seed: u64,
    /// Whether time is virtual: then a wait is never cut.
    is_virtual: bool,
    pub faults: Faults,
    /// Locks that transactions take by key.
    pub locks: Locks,
    state: Mutex<State>,
}

/// What work of the CPU costs at present, in picoseconds: to be had without the server's lock. 0 if it costs nothing.
#[derive(Debug, Default)]
pub struct Prices {
    step: AtomicU64,
    statement: AtomicU64,
    client: AtomicBool,
}

impl Prices {
    fn set(&self, spec: &Spec) {
        let cpu = &spec.cpu;
        self.client.store(spec.client.is_some(), Ordering::Relaxed);
        self.step.store(cpu.step_ps.unwrap_or(0), Ordering::Relaxed);
        self.statement.store(cpu.statement_ps, Ordering::Relaxed);
    }

    /// Of a step of SQLite's virtual machine.
    pub fn step_ps(&self) -> u64 {
        self.step.load(Ordering::Relaxed)
    }

    /// Of a statement, whatever it does.
    pub fn statement_ps(&self) -> u64 {
        self.statement.load(Ordering::Relaxed)
    }

    /// Whether a statement costs its client something.
    pub fn has_client(&self) -> bool {
        self.client.load(Ordering::Relaxed)
    }

    /// Whether anything costs the server something.
    pub fn is_limited(&self) -> bool {
        self.step_ps() > 0 || self.statement_ps() > 0
    }
}

/// Where the write-ahead log of a database file is.
pub fn log_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    PathBuf::from(name)
}

impl Server {
    pub fn new(spec: Spec, seed: u64, clock: Arc<dyn Clock>, faults: Faults) -> Self {
        let machine = Machine::new(&spec, seed);
        let pages = spec.memory.map(|bytes| bytes / spec.page_bytes);
        let (page_bytes, prices) = (spec.page_bytes, Prices::default());
        prices.set(&spec);
        let state = State {
            read_ahead: Sizes::of(page_bytes, spec.memory),
            spec,
            machine,
            pool: Pool::new(pages),
            files: Vec::new(),
            numbers: BTreeMap::new(),
            version: 0,
            counters: Counters::default(),
            memory: BTreeMap::new(),
            statements: Statements::default(),
        };
        Self {
            is_virtual: clock.kind() == "virtual",
            clock,
            page_bytes,
            prices,
            seed,
            faults,
            locks: Locks::default(),
            state: Mutex::new(state),
        }
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// From now on the server has this hardware. Sessions stay, and what they wait for already comes when it was to come;
    /// everything that begins now is the new hardware's. Memory that gets smaller pushes pages out; on another machine,
    /// where the database has moved to, it is empty.
    pub fn become_like(&self, spec: Spec, is_another: bool) {
        let now = self.clock.now();
        let mut guard = self.state();
        let state = &mut *guard;
        state.machine.become_like(now, &spec, self.seed);
        if is_another {
            state.pool.clear();
        }
        state.pool.set_limit(spec.memory.map(|bytes| bytes / spec.page_bytes));
        state.note_memory(now);
        state.read_ahead = Sizes::of(self.page_bytes, spec.memory);
        self.prices.set(&spec);
        state.spec = spec;
    }

    pub fn file(&self, path: &Path) -> u32 {
        let mut state = self.state();
        if let Some(number) = state.numbers.get(path) {
            return *number;
        }
        let number = state.files.len() as u32;
        state.files.push(FileState::new(self.page_bytes));
        state.numbers.insert(path.to_owned(), number);
        number
    }

    /// Tells the hardware how large the open files are together, for blobs, because their limits follow from that.
    pub fn resize(&self) {
        let now = self.clock.now();
        let mut state = self.state();
        // The size that the specification gives is what was set aside for the file.
        let set_aside = state
            .spec
            .device(Role::Data)
            .volume
            .disks
            .iter()
            .filter_map(|disk| Some(disk.blob.as_ref()?.file_bytes))
            .max();
        let bytes = state.file_bytes().max(set_aside.unwrap_or(0));
        // A file that is too large for every tier keeps the limits of the largest.
        let device = state.machine.device(Role::Data);
        let _fits = state.machine.resize(now, device, bytes);
    }

    /// Forgets the file at `path`, which was removed or is made anew.
    pub fn forget(&self, path: &Path) {
        let mut state = self.state();
        if let Some(number) = state.numbers.get(path).copied() {
            state.pool.forget_file(number);
            state.files[number as usize] = FileState::new(self.page_bytes);
            self.faults.forget(number);
        }
    }

    /// The power comes back after it was lost: what was not durable is kept, lost or torn as the seed says, and memory is
    /// empty. Every file must be closed.
    ///
    /// # Errors
    /// If a file can't be written.
    pub fn power_on(&self) -> std::io::Result<()> {
        let mut state = self.state();
        let paths: Vec<(PathBuf, u32)> = state.numbers.iter().map(|(path, number)| (path.clone(), *number)).collect();
        for (path, number) in paths {
            self.faults.settle(&path, (number, false))?;
            self.faults.settle(&log_path(&path), (number, true))?;
            state.files[number as usize] = FileState::new(self.page_bytes);
        }
        state.pool.clear();
        self.faults.power_on();
        Ok(())
    }

    /// Waits until `moment` for a reason. A session that holds up others only notes it. A cancellation ends the wait in
    /// real time.
    pub fn wait(&self, work: &mut Work, moment: Moment, reason: Wait) {
        if work.hurried {
            work.due = work.due.max(moment);
            return;
        }
        let start = self.clock.now();
        let moment = self.faults.thaw(moment);
        if moment <= start {
            return;
        }
        self.sleep(moment, &work.cancelled);
        let end = self.clock.now();
        work.new_waits.add(reason, end.since(start));
        work.computing_since = end;
    }

    /// The client makes a statement, which the server hears of only then.
    pub fn wait_for_client(&self, work: &Work) {
        if !self.prices.has_client() {
            return;
        }
        let start = self.clock.now();
        let made = self.state().machine.request(start);
        self.sleep(made, &work.cancelled);
        let end = self.clock.now();
        let mut state = self.state();
        state.counters.client_wait += end.since(start);
        state.counters.client_cpu_nanos += state.spec.client.map_or(0, |client| client.request_ps / 1000);
    }

    /// The present moment, for callers that want to know how long computing takes. Where CPU is not limited it takes no
    /// time in the model. In real time a clock that is asked for nothing is most of what a short statement costs more
    /// in the lab.
    pub fn computing_now(&self) -> Moment {
        if self.is_virtual || self.prices.is_limited() { self.clock.now() } else { Moment::default() }
    }

    /// Notes that a statement has ended which began at `begun`, by [`Server::computing_now`].
    pub fn statement_ended(&self, number: Option<usize>, begun: Moment, work: &mut Work) {
        let now = self.computing_now();
        let waited = work.new_waits.total();
        let mut state = self.state();
        if state.pool.limit().is_some() {
            state.note_memory(self.clock.now());
        }
        if !waited.is_zero() {
            let new = std::mem::take(&mut work.new_waits);
            state.counters.waits.add_all(&new);
            work.waits.add_all(&new);
        }
        if let Some(number) = number {
            state.statements.count(number, now.since(begun).max(waited), work.pages_read - work.pages_before);
        }
    }

    /// The log of the database file at `path` is deleted.
    pub fn log_is_deleted(&self, path: &Path) {
        let file = self.file(path);
        let log = &mut self.state().files[file as usize];
        log.wal.restart();
        log.pending.1.clear();
        log.unsynced = 0;
        log.records.clear();
        self.faults.cut((file, true), 0);
    }

    /// Waits until `moment`, or in real time until `cancelled`.
    pub fn sleep(&self, moment: Moment, cancelled: &AtomicBool) {
        if self.is_virtual {
            self.clock.sleep_until(moment);
            return;
        }
        loop {
            let now = self.clock.now();
            if now >= moment || cancelled.load(Ordering::Relaxed) {
                return;
            }
            self.clock.sleep_until(moment.min(now.after(LONGEST_NAP)));
        }
    }

    /// A page is read by the running statement: found in the pool, or fetched from the device and waited for. `version`
    /// is that of a frame of the log; without one the page comes from the file itself.
    pub fn read_page(&self, file: u32, page: u32, version: Option<Version>, stream: Option<&mut Stream>) {
        charge::with(|work| {
            let now = self.clock.now();
            let mut state = self.state();
            if work.copies && state.pool.holds_any(PageOf { file, page }) {
                return;
            }
            state.counters.pages_looked_up += 1;
            let version = version.unwrap_or_else(|| {
                // Whoever reads what is not durable yet may not report it before it is, wherever it lies.
                if let Some(durable) = state.files[file as usize].copied_early.get(&page) {
                    work.durable = work.durable.max(*durable);
                }
                state.files[file as usize].version(page)
            });
            let of = PageOf { file, page };
            let pages_before = work.pages_read;
            let (mut ready, came) = match state.pool.touch(of, version) {
                Some(found) => (found.ready, found.unread),
                None => (self.fetch(&mut state, work, now, file, page..page + 1, Some(version)), true),
            };
            let read_ahead = state.read_ahead;
            if let Some((from, to)) = stream.and_then(|stream| stream.advance(page, came, read_ahead)) {
                self.prefetch(&mut state, work, now, file, from..to);
            }
            work.uncharged_pages += work.pages_read - pages_before;
            if work.uncharged_pages >= CPU_SLICE_PAGES {
                let pages = std::mem::take(&mut work.uncharged_pages);
                let done = state.compute(work, now, CpuWork { pages, ..CpuWork::default() });
                ready = ready.max(done);
            }
            drop(state);
            if ready > now {
                self.wait(work, ready, Wait::DataRead);
            }
        });
    }

    /// Books the read of neighbouring pages in one I/O and takes them into the pool. It takes them in the version of
    /// the file itself, or in the one that was found in the log.
    fn fetch(
        &self,
        state: &mut State,
        work: &mut Work,
        now: Moment,
        file: u32,
        pages: Range<u32>,
        version: Option<Version>,
    ) -> Moment {
        let count = u64::from(pages.end - pages.start);
        let (offset, bytes) = ((u64::from(pages.start) - 1) * self.page_bytes, count * self.page_bytes);
        let done = state.submit(now, Role::Data, Io { kind: Kind::Read, offset, bytes });
        let at = self.faults.delay(now, done.at);
        state.counters.data_reads.add(bytes, at.since(now));
        state.files[file as usize].operations[0].add(bytes, at.since(now));
        state.counters.pages_read += count;
        work.pages_read += count;
        for page in pages {
            if let Some(version) = version {
                state.pool.insert(PageOf { file, page }, version, at);
            } else {
                let version = state.files[file as usize].version(page);
                state.pool.insert_ahead(PageOf { file, page }, version, at);
            }
        }
        at
    }

    /// Asks for pages of the file itself that are not in the pool, neighbours together.
    fn prefetch(&self, state: &mut State, work: &mut Work, now: Moment, file: u32, pages: Range<u32>) {
        let last = state.files[file as usize].map.upgrade().map_or(0, |map| map.len() / self.page_bytes) as u32;
        let end = pages.end.min(last + 1);
        let (mut page, io_pages) = (pages.start, state.read_ahead.io_pages);
        while page < end {
            let longest = page..end.min(page + io_pages);
            let missing = longest.take_while(|page| !state.pool.holds_any(PageOf { file, page: *page })).count() as u32;
            if missing > 0 {
                self.fetch(state, work, now, file, page..page + missing, None);
            }
            page += missing.max(1);
        }
    }

    /// Books the write of the neighbouring pages that a checkpoint has written last.
    pub fn write_run(&self, file: u32, work: &mut Work) {
        let Some((first, count)) = work.run.take() else { return };
        let now = self.clock.now();
        let page_bytes = self.page_bytes;
        let io =
            Io { kind: Kind::Write, offset: (u64::from(first) - 1) * page_bytes, bytes: u64::from(count) * page_bytes };
        let at = {
            let mut state = self.state();
            // A page may not be in the file before the log that it comes from is durable; later log is no matter.
            let start = now.max(work.durable);
            let done = state.submit(start, Role::Data, io);
            let at = self.faults.delay(now, done.at);
            state.counters.data_writes.add(io.bytes, at.since(now));
            state.files[file as usize].operations[1].add(io.bytes, at.since(now));
            at
        };
        work.due = work.due.max(at);
        let latest = Moment::from_nanos(at.as_nanos().saturating_sub(CHECKPOINT_QUEUE.as_nanos() as u64));
        self.wait(work, latest, Wait::WriterLock);
    }

    /// Books a write of log that is to be durable; it is not so before what went before it, nor before a checkpoint
    /// that it overwrites the log of.
    pub fn sync_log(&self, file: u32) {
        let now = self.clock.now();
        let mut guard = self.state();
        let state = &mut *guard;
        let device = state.machine.device(Role::Log);
        let log = &mut state.files[file as usize];
        let (offset, bytes) =
            (log.log_bytes, std::mem::take(&mut log.unsynced) + log.records.take_bytes(self.page_bytes));
        log.log_bytes += bytes;
        if bytes == 0 {
            // In real time a checkpoint may just have synced what a session wrote, which waits for it all the same.
            let durable = log.log_durable;
            charge::with(|work| work.durable = work.durable.max(durable));
            return;
        }
        let durable = charge::with(|work| {
            let done = state.machine.submit(now, device, Io { kind: Kind::Write, offset, bytes });
            let at = self.faults.delay(now, done.at).max(log.log_durable).max(log.gate);
            state.counters.log_writes.add(bytes, at.since(now));
            log.operations[2].add(bytes, at.since(now));
            work.log_bytes += bytes;
            work.throttled_nanos += done.throttled.as_nanos() as u64;
            work.durable = work.durable.max(at);
            at
        });
        let durable = durable.unwrap_or(now);
        log.log_durable = log.log_durable.max(durable);
        if (offset, bytes) == (0, HEADER_BYTES) {
            // A log that starts over: were frames in it before its header is, the old header would vouch for what is left
            // of the old frames. SQLite syncs the header first for that, and this sync is not waited for.
            log.gate = log.gate.max(durable);
        }
        log.wal.synced(durable);
        self.faults.synced((file, true), now, durable);
    }
}
