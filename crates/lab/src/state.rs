//! What changes on a modelled server: its hardware's queues, its pool, its counters, and what it knows of each file.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Weak};

use plimsoll_hardware::{CpuWork, Done, Io, Machine, Role, Spec};
use plimsoll_measurement::Moment;

use crate::charge::Work;
use crate::checkpointer::Checkpointer;
use crate::counters::{Counters, Operations, Statements};
use crate::fair_lock::FairLock;
use crate::pool::{Pool, Version};
use crate::readahead::Sizes;
use crate::records::Records;
use crate::vfs::Map;
use crate::wal::{Frame, Wal};

/// Memory is noted as often as the finer of the resource views has rows, for as long as the coarser one reaches back.
pub(crate) const MEMORY_INTERVAL_NANOS: u64 = 15_000_000_000;
const MEMORY_INTERVALS: usize = 14 * 24 * 60 * 4;

/// What changes.
#[derive(Debug)]
pub struct State {
    /// What the hardware is at present.
    pub spec: Spec,
    pub read_ahead: Sizes,
    /// The hardware with its queues.
    pub machine: Machine,
    pub pool: Pool,
    /// The files, by number.
    pub files: Vec<FileState>,
    /// Numbers of the files by path.
    pub(crate) numbers: BTreeMap<PathBuf, u32>,
    /// The last version that was given to a page.
    pub version: Version,
    pub counters: Counters,
    /// Pages in memory at the end of each interval, by number of the interval.
    pub(crate) memory: BTreeMap<u64, usize>,
    pub statements: Statements,
}

/// A database file with its log.
#[derive(Debug)]
pub struct FileState {
    pub wal: Wal,
    /// Log that was written by SQLite and not yet to the file, and where it begins.
    pub pending: (u64, Vec<u8>),
    /// Bytes of log since the last sync that are no charged pages.
    pub unsynced: u64,
    /// The charged pages among the log since the last sync.
    pub records: Records,
    /// How long the modelled log is.
    pub log_bytes: u64,
    /// When the log up to its last sync is durable.
    pub log_durable: Moment,
    /// No log may be durable before this moment: a checkpoint has to be first.
    pub gate: Moment,
    /// Versions of the pages in the file itself.
    pub versions: Vec<Version>,
    /// Pages in the file itself that a checkpoint copied from log that is durable only then.
    pub copied_early: BTreeMap<u32, Moment>,
    /// The file mapped into memory, while it is open.
    pub map: Weak<Map>,
    /// The log mapped into memory, while it is open.
    pub log_map: Weak<Map>,
    /// Reads of the file, writes of the file, and writes of its log.
    pub operations: [Operations; 3],
    pub shared: Shared,
}

/// What the sessions on a file share.
#[derive(Debug, Default)]
pub struct Shared {
    /// The right to write.
    pub writer_lock: Arc<FairLock>,
    pub sessions: u32,
    /// The checkpointer, once there was something for it to do.
    pub checkpointer: Option<Checkpointer>,
}

impl State {
    /// Books an I/O on the device that files of a role lie on.
    pub fn submit(&mut self, now: Moment, role: Role, io: Io) -> Done {
        let device = self.machine.device(role);
        self.machine.submit(now, device, io)
    }

    /// Books CPU time; gives when it is done.
    pub fn compute(&mut self, work: &mut Work, now: Moment, cpu: CpuWork) -> Moment {
        // Others wait for whoever may write: he goes first.
        let done = if work.may_write { self.machine.compute_first(now, cpu) } else { self.machine.compute(now, cpu) };
        let nanos = u64::try_from(self.spec.cpu.time_ps(cpu) / 1000).unwrap_or(u64::MAX);
        work.cpu_nanos += nanos;
        self.counters.cpu_nanos += nanos;
        done
    }

    /// Bytes of the open files together.
    pub fn file_bytes(&self) -> u64 {
        self.files.iter().filter_map(|file| file.map.upgrade()).map(|map| map.len()).sum()
    }

    /// Notes how much memory is in use in this interval; the last note counts.
    pub fn note_memory(&mut self, now: Moment) {
        let interval = now.as_nanos() / MEMORY_INTERVAL_NANOS;
        let pages = self.pool.pages();
        if self.memory.insert(interval, pages).is_none() && self.memory.len() > MEMORY_INTERVALS {
            self.memory.pop_first();
        }
    }
}

impl FileState {
    pub fn new(page_bytes: u64) -> Self {
        Self {
            wal: Wal::new(page_bytes),
            pending: (0, Vec::new()),
            unsynced: 0,
            records: Records::default(),
            log_bytes: 0,
            log_durable: Moment::default(),
            gate: Moment::default(),
            versions: Vec::new(),
            copied_early: BTreeMap::new(),
            map: Weak::new(),
            log_map: Weak::new(),
            operations: [Operations::default(); 3],
            shared: Shared::default(),
        }
    }

    /// The version of a page in the file itself.
    pub fn version(&self, page: u32) -> Version {
        self.versions.get(page as usize).copied().unwrap_or(0)
    }

    /// Notes that the file itself holds this version of a page now.
    pub fn set_version(&mut self, page: u32, version: Version) {
        let page = page as usize;
        if self.versions.len() <= page {
            self.versions.resize((page + 1).next_power_of_two(), 0);
        }
        self.versions[page] = version;
    }

    /// Notes that a checkpoint copied a frame into the file itself.
    pub fn copied(&mut self, frame: Frame, now: Moment) {
        self.set_version(frame.page, frame.version);
        match frame.durable {
            Some(durable) if durable > now => self.copied_early.insert(frame.page, durable),
            _ => self.copied_early.remove(&frame.page),
        };
    }
}
