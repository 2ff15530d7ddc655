//! A scenario: the server, its workload, its files on disks at a date, and how long and how often it is simulated.
//!
//! [`Document`] is the text with its tables, in which keys can be replaced; [`Scenario`] is what the model runs.

mod document;
mod error;
mod quantity;
mod resolve;
mod storage;
mod tables;

pub use document::{Case, Document, Variation};
pub use error::ScenarioError;
pub use storage::{Ceiling, Storage, StoredFile};

use crate::events::Nanos;

/// Where requests come from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Source {
    /// Each session asks again after a pause.
    Closed {
        /// Mean pause in nanoseconds, exponential.
        think_ns: f64,
    },
    /// They come at random at a rate.
    Open {
        /// Requests a second.
        per_s: f64,
    },
}

/// What a request needs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Request {
    /// Mean CPU time in nanoseconds, exponential.
    pub cpu_ns: f64,
    /// Mean number of reads that the buffer pool can't answer.
    pub reads: f64,
    /// Bytes of such a read.
    pub read_bytes: u64,
    /// Mean number of pages that it changes.
    pub changes: f64,
    /// Mean of what it waits for beside CPU, pages and log, in nanoseconds, exponential.
    pub other_ns: f64,
}

/// The pages that requests change, and the background writer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PoolSpec {
    /// Pages that requests change.
    pub pages: u32,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// How uneven changes are: page = pages x u^skew for a uniform u, so 1 is even.
    pub skew: f64,
    /// The writer starts above this share of dirty pages.
    pub dirty_share: f64,
    /// It stops at `dirty_share` x (1 - hysteresis).
    pub hysteresis: f64,
    /// The most neighbouring pages in one write.
    pub pages_per_write: u32,
    /// The most writes under way over all files.
    pub writes_in_flight: u32,
}

/// The log.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogSpec {
    /// Block writes under way at most.
    pub writes_in_flight: u32,
    /// Bytes of a block at most.
    pub block_bytes: u64,
    /// Bytes that a commit adds.
    pub commit_bytes: u64,
}

/// How long and how often.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunLength {
    /// Simulated before anything counts.
    pub warm_up_ns: Nanos,
    /// Simulated after that.
    pub duration_ns: Nanos,
    /// A replication for each.
    pub seeds: Vec<u64>,
}

/// What the model runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// Sessions; in an open loop the most that work at a time.
    pub sessions: u32,
    /// Where requests come from.
    pub source: Source,
    /// What each of them needs.
    pub request: Request,
    /// CPU cores.
    pub cores: u32,
    /// Pages and background writer.
    pub pool: PoolSpec,
    /// Log.
    pub log: LogSpec,
    /// Files and disks.
    pub storage: Storage,
    /// How long and how often.
    pub run: RunLength,
}
