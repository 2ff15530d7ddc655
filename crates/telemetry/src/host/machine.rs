//! What all sources share: where the machine's files are, the clock, and how a missing source is described.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use plimsoll_clock::{Clock, windowed};
use plimsoll_engine::Capability;

use super::text::{Buffer, failure};
use super::tree::Tree;
use super::{Sampled, Source};

#[derive(Debug)]
pub(super) struct Machine {
    pub(super) clock: Arc<dyn Clock>,
    /// `/`, or for tests a folder that looks like it.
    pub(super) root: PathBuf,
    pub(super) proc: PathBuf,
    pub(super) buffer: Buffer,
    pub(super) tree: Tree,
    /// Why the processes could not be listed, if so.
    pub(super) unlisted: Option<String>,
    pub(super) ticks_per_second: u64,
}

impl Machine {
    pub(super) fn at(root: &Path, clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            root: root.to_owned(),
            proc: root.join("proc"),
            buffer: Buffer::default(),
            tree: Tree::default(),
            unlisted: None,
            ticks_per_second: ticks_per_second(),
        }
    }

    /// Looks for new processes, if any was started. `started` counts them.
    pub(super) fn list_processes(&mut self, started: Option<u64>) {
        let listed = self.tree.refresh(&self.proc, started, &mut self.buffer);
        self.unlisted = listed.err().map(|error| failure(&self.proc, &error));
    }

    /// Where a path of the machine is.
    pub(super) fn path(&self, absolute: &str) -> PathBuf {
        self.root.join(absolute.trim_start_matches('/'))
    }
}

#[cfg(target_os = "linux")]
fn ticks_per_second() -> u64 {
    rustix::param::clock_ticks_per_second()
}

/// Nothing is read where these would be needed.
#[cfg(not(target_os = "linux"))]
fn ticks_per_second() -> u64 {
    100
}

/// What is lost without a source.
#[derive(Debug, Clone, Copy)]
pub(super) struct Missing {
    pub(super) name: &'static str,
    /// What is lost, as a part of a sentence.
    pub(super) cost: &'static str,
}

impl Missing {
    pub(super) fn because(&self, reason: String) -> Capability {
        Capability { name: self.name, works: false, cost: self.cost, remedy: Some(reason), gives: &[] }
    }

    /// What `read` gives, with the window in which it did, unless it gives a reason.
    pub(super) fn unless<T>(&self, clock: &dyn Clock, read: impl FnOnce() -> Result<T, String>) -> Source<T> {
        let (value, window) = windowed(clock, read);
        value.map(|value| Sampled { value, window }).map_err(|reason| self.because(reason))
    }
}
