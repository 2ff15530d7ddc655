//! What is read of a target while something else works there.

use std::path::PathBuf;
use std::time::Duration;

use plimsoll_measurement::{Ceiling, Counter, Files, Reading, Views};

use crate::error::Result;
use crate::queries::QuerySampler;
use crate::snapshots::{SnapshotJob, SnapshotReader, SnapshotTables};

/// The readers of a target, as far as it has something to read and lets us.
pub trait Telemetry {
    /// A reader of the whole server's counters and gauges while something else works, over a line of its own. `None` where the engine
    /// has nothing to read, or the user may not; [`Database::capabilities`](crate::Database::capabilities) says what is lost then.
    ///
    /// # Errors
    /// If the target can't be asked.
    fn server_sampler(&self) -> Result<Option<Box<dyn Sampler>>> {
        Ok(None)
    }

    /// A reader of what the server has counted by statement, over a line of its own. `None` where the engine has none, or we know none.
    ///
    /// # Errors
    /// If the target can't be asked, or lacks what the counts need: an extension, a setting, a right.
    fn query_sampler(&self) -> Result<Option<Box<dyn QuerySampler>>> {
        Ok(None)
    }

    /// A reader of the snapshots that a job at the server has put into these tables. `None` where we know no such job.
    ///
    /// # Errors
    /// If the target can't be asked, or the tables are not there or not ours.
    fn query_snapshots(&self, tables: &SnapshotTables) -> Result<Option<SnapshotReader>> {
        let _ = tables;
        Ok(None)
    }

    /// The statements by which whoever looks after the server installs such a job. `None` where we know none.
    ///
    /// # Errors
    /// If the target can't be asked, or counts no statements.
    fn query_job(&self, job: &SnapshotJob) -> Result<Option<String>> {
        let _ = job;
        Ok(None)
    }

    /// Counters of the engine's processes: device bytes, CPU. `None` for a server elsewhere or without permission.
    fn process_sampler(&self) -> Option<Box<dyn Sampler>> {
        None
    }

    /// True if the engine still answers. An engine with a server says so within `patience`.
    fn answers(&self, patience: Duration) -> bool {
        let _ = patience;
        self.server_sampler().and_then(|sampler| sampler.map_or(Ok(Vec::new()), |mut sampler| sampler.sample())).is_ok()
    }

    /// The processes at the top of the engine's, if they are on this machine and may be looked at.
    fn server_pids(&self) -> Vec<u32> {
        Vec::new()
    }

    /// Where the engine keeps its files, as far as they are on this machine and may be looked at.
    fn folders(&self) -> Folders {
        Folders::default()
    }

    /// What the target's figures are held against now, as far as somebody says so. Unknown ceilings are left out.
    fn ceilings(&self) -> Vec<Ceiling> {
        Vec::new()
    }
}

/// Folders of an engine on this machine; `None` where that is not known.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Folders {
    /// Where tables and indexes are.
    pub data: Option<PathBuf>,
    /// Where the log is that a commit waits for.
    pub log: Option<PathBuf>,
}

/// Gauges of sessions by what they do.
pub const SESSION_GAUGES: [Counter; 8] = [
    Counter::SessionsOnCpu,
    Counter::SessionsReadingData,
    Counter::SessionsWritingData,
    Counter::SessionsWritingLog,
    Counter::SessionsWaitingForLocks,
    Counter::SessionsWaitingForClients,
    Counter::SessionsAsleep,
    Counter::SessionsWaitingForOthers,
];

/// A reader of counters.
pub trait Sampler: Send {
    /// Reads the counters. What can't be read is left out; only a lost source is an error.
    fn sample(&mut self) -> Result<Vec<Reading>> {
        Ok(Vec::new())
    }

    /// Reads [`Counter::MemoryPercent`] where that takes a question of its own, which only a caller that wants the answer pays for.
    /// `None` where [`Sampler::sample`] has it, or nobody does.
    fn sample_memory(&mut self) -> Result<Option<Reading>> {
        Ok(None)
    }

    /// Counts what sessions do at this moment, and nothing else: several times between two [`Sampler::sample`]s. `None` where the
    /// engine adds up waits itself, or shows no sessions.
    fn glance(&mut self) -> Option<Result<Vec<Reading>>> {
        None
    }

    /// What sessions of ours waited for at the last [`Sampler::sample`] or [`Sampler::glance`], by the engine's own names, with how many did.
    fn seen(&mut self) -> Vec<(String, f64)> {
        Vec::new()
    }

    /// Files each of which has limits of its own, as the last [`Sampler::sample`] saw them; `None` where no file has any.
    fn files(&mut self) -> Option<Files> {
        None
    }

    /// I/O of all files that the user may see, of whatever database, in a window by the clock of who counts it: the sizes where the engine has
    /// them, and no counters for files on a disk of the server's own. `None` where nothing counts by file.
    fn all_files(&mut self) -> Result<Option<Files>> {
        Ok(None)
    }

    /// Reads what the engine shows about itself beside counters. Empty where it shows nothing.
    fn views(&mut self) -> Result<Views> {
        Ok(Views::default())
    }
}
