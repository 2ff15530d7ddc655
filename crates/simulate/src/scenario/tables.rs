//! The tables of a scenario as they are written, and the rules that each key obeys.

use std::collections::BTreeMap;

use plimsoll_catalog::Date;
use serde::Deserialize;

use super::error::ScenarioError;
use super::quantity::{Bandwidth, Size, Span};

/// Requests of a replication at a rate, which take minutes.
const MOST_REQUESTS: f64 = 1e9;

/// More sessions, pages or replications than these are a slip of the pen.
const MOST_SESSIONS: u32 = 1_000_000;
const MOST_PAGES: u32 = 1 << 27;
const MOST_REPLICATIONS: u32 = 26;
/// Files in all, disks, or caps.
const MOST_FILES: u64 = 1_000;
/// A day.
const LONGEST_NS: u64 = 86_400_000_000_000;
/// Mean reads or changes of a request.
const MOST_PAGES_OF_A_REQUEST: f64 = 1e6;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tables {
    pub name: Option<String>,
    pub workload: Workload,
    pub cpu: Cpu,
    #[serde(default)]
    pub buffer_pool: BufferPool,
    #[serde(default)]
    pub background_writer: BackgroundWriter,
    #[serde(default)]
    pub log: Log,
    pub disks: BTreeMap<String, DiskTable>,
    #[serde(default)]
    pub caps: BTreeMap<String, CapTable>,
    pub files: BTreeMap<String, FileTable>,
    pub run: Run,
    #[serde(default)]
    pub cases: Vec<CaseTable>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaseTable {
    pub name: String,
    #[serde(default)]
    pub set: toml::Table,
    #[serde(default)]
    pub published: BTreeMap<String, f64>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    pub sessions: u32,
    pub think_time: Option<Span>,
    pub rate: Option<f64>,
    pub cpu_time: Span,
    #[serde(default)]
    pub reads: f64,
    pub read_size: Option<Size>,
    #[serde(default)]
    pub changes: f64,
    pub log_size: Size,
    pub other_wait: Option<Span>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cpu {
    pub cores: u32,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BufferPool {
    pub pages: u32,
    pub page_size: Size,
    pub skew: f64,
}

impl Default for BufferPool {
    fn default() -> Self {
        Self { pages: 100_000, page_size: Size(8192), skew: 1.0 }
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BackgroundWriter {
    pub dirty_share: f64,
    pub hysteresis: f64,
    pub pages_per_write: u32,
    pub writes_in_flight: u32,
}

impl Default for BackgroundWriter {
    fn default() -> Self {
        Self { dirty_share: 0.5, hysteresis: 0.1, pages_per_write: 32, writes_in_flight: 1_000 }
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Log {
    pub writes_in_flight: u32,
    pub block_size: Size,
    pub rate_limit: Option<Bandwidth>,
}

impl Default for Log {
    fn default() -> Self {
        Self { writes_in_flight: 8, block_size: Size(60 << 10), rate_limit: None }
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiskTable {
    pub disk: Option<String>,
    pub date: Option<Date>,
    pub iops: Option<f64>,
    pub bandwidth: Option<Bandwidth>,
    pub size: Option<Size>,
    pub latency: Option<Span>,
    pub read_latency: Option<Span>,
    pub write_latency: Option<Span>,
    pub striped: Option<usize>,
    #[serde(default)]
    pub caps: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CapTable {
    pub iops: Option<f64>,
    pub bandwidth: Option<Bandwidth>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileTable {
    pub disk: String,
    pub size: Size,
    pub count: Option<usize>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    pub warm_up: Span,
    pub duration: Span,
    #[serde(default = "three")]
    pub replications: u32,
    #[serde(default = "one")]
    pub seed: u64,
}

const fn three() -> u32 {
    3
}

const fn one() -> u64 {
    1
}

/// The name of the group of files that is the log.
pub const LOG: &str = "log";

impl Tables {
    /// Whether the tables agree.
    pub fn check(&self) -> Result<(), ScenarioError> {
        let (workload, pool, writer) = (&self.workload, &self.buffer_pool, &self.background_writer);
        let whole = |key: &str, value: u64, most: u64| {
            let hint = format!("give a whole number from 1 to {most}");
            ((1..=most).contains(&value))
                .then_some(())
                .ok_or_else(|| ScenarioError::new(key, format!("{value} is not possible"), hint))
        };
        whole("workload.sessions", workload.sessions.into(), MOST_SESSIONS.into())?;
        whole("workload.log_size", workload.log_size.0, 1 << 30)?;
        whole("workload.read_size", workload.read_size.map_or(1, |size| size.0), 1 << 30)?;
        whole("cpu.cores", self.cpu.cores.into(), 10_000)?;
        whole("buffer_pool.pages", pool.pages.into(), MOST_PAGES.into())?;
        whole("buffer_pool.page_size", pool.page_size.0, 1 << 20)?;
        whole("background_writer.pages_per_write", writer.pages_per_write.into(), 4_096)?;
        whole("background_writer.writes_in_flight", writer.writes_in_flight.into(), MOST_SESSIONS.into())?;
        whole("log.writes_in_flight", self.log.writes_in_flight.into(), 10_000)?;
        whole("log.block_size", self.log.block_size.0, 1 << 30)?;
        whole("log.rate_limit", self.log.rate_limit.map_or(1, |rate| rate.0), 1 << 50)?;
        let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        whole("disks", count(self.disks.len()), MOST_FILES)?;
        whole("caps", count(self.caps.len()).max(1), MOST_FILES)?;
        let files = self.files.values().map(|file| count(file.count.unwrap_or(1)));
        whole("files", files.fold(0, u64::saturating_add), MOST_FILES)?;
        whole("run.warm_up", self.run.warm_up.0.max(1), LONGEST_NS)?;
        whole("run.duration", self.run.duration.0, LONGEST_NS)?;
        whole("run.replications", self.run.replications.into(), MOST_REPLICATIONS.into())?;
        let within = |key: &str, value: f64, (low, high): (f64, f64)| {
            let hint = format!("give a number from {low} to {high}");
            (low..=high)
                .contains(&value)
                .then_some(())
                .ok_or_else(|| ScenarioError::new(key, format!("{value} is not possible"), hint))
        };
        within("workload.reads", workload.reads, (0.0, MOST_PAGES_OF_A_REQUEST))?;
        within("workload.changes", workload.changes, (0.0, MOST_PAGES_OF_A_REQUEST))?;
        within("workload.rate", workload.rate.unwrap_or(1.0), (1e-6, 1e9))?;
        let seconds = self.run.warm_up.0.saturating_add(self.run.duration.0) as f64 / 1e9;
        if let Some(requests) = workload.rate.map(|rate| rate * seconds).filter(|count| *count > MOST_REQUESTS) {
            let problem =
                format!("{requests:.1e} requests would come in each replication, which takes hours to simulate");
            let hint = format!("a lower rate, or a shorter run.duration: at most {MOST_REQUESTS:.0e} requests");
            return Err(ScenarioError::new("workload.rate", problem, hint));
        }
        within("buffer_pool.skew", pool.skew, (1.0, 100.0))?;
        within("background_writer.dirty_share", writer.dirty_share, (0.0, 0.99))?;
        within("background_writer.hysteresis", writer.hysteresis, (0.0, 1.0))?;
        let clash = |key: &str, problem: &str, hint: &str| Err(ScenarioError::new(key, problem, hint));
        if workload.rate.is_some() && workload.think_time.is_some() {
            return clash(
                "workload",
                "rate and think_time exclude each other",
                "an open loop has a rate, a closed one think times",
            );
        }
        if self.log.block_size.0 < workload.log_size.0 {
            return clash(
                "log.block_size",
                "it is smaller than the log of one commit",
                "raise it to workload.log_size or more",
            );
        }
        if workload.cpu_time.0 == 0 && workload.think_time.is_none_or(|think| think.0 == 0) && workload.rate.is_none() {
            return clash(
                "workload",
                "without CPU time and think time nothing paces the sessions",
                "give cpu_time or think_time",
            );
        }
        Ok(())
    }
}
