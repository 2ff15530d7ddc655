//! The record of a run: what was measured, under which conditions, with which spread. This is the JSON that scripts read
//! and the document that the store keeps; its schema is published in `docs/run.schema.json`.
//!
//! Keys carry their unit, times are UTC, unknown values are absent. Fields may be added within a major version.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::point::{Minute, Point};
use crate::requests::{FileDelta, Phase, RequestKind, Seconds, Stall, WaitDelta};
use crate::samples::{Ceiling, SampleGap, Samples, TimedMark};
use crate::verdict::Verdict;

/// Version of the record's schema: major changes break readers, minor ones add fields.
pub const SCHEMA_VERSION: &str = "2.0";

/// What stands in a warning of the record about something that the target does not show at all, whatever the run did.
pub const NOT_AVAILABLE: &str = " not available: ";

/// One execution of a test on a target.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct RunRecord {
    /// Version of this schema, `major.minor`.
    pub schema_version: String,
    /// Globally unique and sortable by time, so that stores can be merged.
    pub run_id: String,
    /// Name of the test.
    pub test: String,
    /// The target's URL without secrets.
    pub target: String,
    /// What kind of thing was measured.
    pub subject: Subject,
    /// How the figures came about.
    pub basis: Basis,
    /// Kind of the database: `postgresql`, `sqlite`, ...
    pub engine: String,
    /// The version that the server states; absent if the run never reached it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine_version: Option<String>,
    /// `real` or `virtual`.
    pub clock: String,
    /// Start of the run, RFC 3339 in UTC.
    pub started_at: String,
    /// End of the run; absent while it goes on and after it was killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
    /// Virtual seconds from start to end; absent in real time, where they are those of the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub virtual_seconds: Option<f64>,
    /// The campaign this run belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub campaign: Option<String>,
    /// What its user calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The parameters as they were used, after scaling.
    pub parameters: BTreeMap<String, serde_json::Value>,
    /// The test's definition in full.
    pub definition: Definition,
    /// Identifies the server and database without naming secrets, so that runs on one target can be found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_fingerprint: Option<String>,
    /// Settings that the target states about itself. They are shown beside the result and never enter it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
    /// Edition of the catalogue that the run was held against.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub catalog_edition: Option<String>,
    /// The day of that edition, where the target itself is built on it: the service may give something else today.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub catalog_edition_date: Option<String>,
    /// Version of the program that measured.
    pub build: String,
    /// What the figures are held against; unknown ceilings are absent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ceilings: Vec<Ceiling>,
    /// The repetitions a, b, c...
    pub repetitions: Vec<Repetition>,
    /// The headline figure; absent if nothing complete was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Figure>,
    /// The headline figure again and the others.
    #[serde(default)]
    pub results: Vec<Figure>,
    /// Figures that could not be made, each with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<AbsentFigure>,
    /// The CPU ladder in three blocks, for `cpu-join`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_table: Option<CpuTable>,
    /// What the lab knows to be true of the headline; absent elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<Expected>,
    /// Which limit bound.
    pub verdict: Verdict,
    /// What a reader has to know before trusting the figures.
    pub warnings: Vec<String>,
    /// Why the run failed or was stopped; absent when it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<RunFailure>,
    /// Why something that the run made is still at the target; absent where nothing is. The figures are as good as without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_behind: Option<RunFailure>,
    /// Everything that comes from the real machine of the client.
    pub host: Host,
}

/// What kind of thing a run is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Subject {
    /// A database, by the statements that it takes.
    #[default]
    Database,
    /// A volume, by reads and writes of a file or a device.
    Volume,
    /// A workload, as it was recorded from a server.
    Workload,
}

/// How the figures of a run came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// By work that was done and timed, also on modelled devices in virtual time.
    #[default]
    Measured,
    /// By a model that replays what was measured elsewhere.
    Simulated,
    /// By a formula, from what was measured elsewhere.
    Predicted,
    /// By another program; Plimsoll read its results.
    Imported,
}

impl Basis {
    const ALL: [Self; 4] = [Self::Measured, Self::Simulated, Self::Predicted, Self::Imported];

    /// The same in a word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Simulated => "simulated",
            Self::Predicted => "predicted",
            Self::Imported => "imported",
        }
    }

    /// That of a name.
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|basis| basis.name() == name)
    }
}

/// The definition a run was made from.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Definition {
    /// XXH3-64 hash of the text, 16 hexadecimal digits.
    pub hash: String,
    /// The definition's TOML text.
    pub text: String,
}

/// One repetition of a run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Repetition {
    /// `a`, `b`, `c`...
    pub label: String,
    /// False if it was interrupted or failed; what was measured is kept.
    pub complete: bool,
    /// Start of the repetition, seconds after the run's start.
    pub started_seconds: f64,
    /// When its time began to run, RFC 3339 in UTC: all seconds of points, phases, samples and stalls count from then. Absent
    /// before its first step measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<String>,
    /// How the cache was made cold, for tests that start cold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cold: Option<ColdStart>,
    /// The measured steps in order.
    pub points: Vec<Point>,
    /// Requests by kind, for tests that make them; of a search for the highest rate those at the rate that was found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<RequestKind>,
    /// The same second by second.
    #[serde(default, skip_serializing_if = "Seconds::is_empty")]
    pub seconds: Seconds,
    /// Times in which no request at all was answered, longer than chance explains; the longest thousand, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stalls: Vec<Stall>,
    /// What happened meanwhile and explains what is seen in figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<TimedMark>,
    /// Times without data, beside those of the samples.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<SampleGap>,
    /// The same by rate, number of sessions or size of batches, in the order in which they were tried.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<Phase>,
    /// What the session waited for, for tests that ask; the longest first. Absent where the engine does not tell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<WaitDelta>,
    /// What was read from and written to the engine's files meanwhile, for tests that ask.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileDelta>,
    /// What the engine and its machine said of themselves meanwhile, for each step of the test. Absent where nobody could be asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<Samples>,
    /// The points spread over minutes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub minutes: Vec<Minute>,
}

/// How a cold start was made, and what proves it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ColdStart {
    /// What was done, in order: `restart`, `copy`, `displace`, `reopen`, `drop-os-cache`, `database-copy`.
    pub methods: Vec<String>,
    /// What the service said of the memory in use before the first read, in percent of the level's; absent where none does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_percent_before: Option<f64>,
    /// Cache misses in percent of the pages that were read; from the measurement itself, absent without a counter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine_miss_percent: Option<f64>,
    /// Device bytes in percent of the pages that were read; absent where the device can't be watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_read_percent: Option<f64>,
    /// True if both figures above are known and at least 98.
    pub verified: bool,
    /// Seconds that were waited between provisioning and the test (`--settle`).
    #[serde(default)]
    pub settle_seconds: f64,
}

/// A figure with its spread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figure {
    /// What it is: `read_rate`, `write_rate`, `join_rate`, `memory`.
    pub metric: String,
    /// Estimate over the complete repetitions.
    pub value: f64,
    /// Unit as printed: `MB/min`, `MB`, `Mpairs/s`.
    pub unit: String,
    /// Lower end of the interval; absent with fewer than two repetitions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper end of the interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// Confidence of the interval. That of two repetitions is their range, with 0.5.
    pub confidence: f64,
    /// The value of each complete repetition, in their order; only the bound where the figure is one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<f64>,
    /// Complete repetitions behind the figure.
    pub repetitions: u32,
    /// Coefficient of variation over all points, in percent: how steady it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub point_cv_percent: Option<f64>,
    /// Says in a few words how the figure came about, where that isn't plain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// What the figure should be, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<Expected>,
}

/// The CPU ladder as the seeds printed it: times, reference multiples, DTU multiples.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct CpuTable {
    /// Run that counts as 1 in the second block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference_run: Option<String>,
    /// What the third block is anchored to: a run, or the catalogue's fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor: Option<String>,
    /// DTU of the anchor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor_dtu: Option<f64>,
    /// One row per rung and number of sessions.
    pub rows: Vec<CpuRow>,
}

/// One rung of the ladder. Compare along a row, never down a column: work grows with the square of N.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct CpuRow {
    /// Rows on each side of the join.
    pub join_rows: u64,
    /// Sessions that shared the join: 1, or one per CPU.
    pub sessions: u32,
    /// Median of the repetitions' times.
    pub seconds: f64,
    /// Mean of the repetitions' times.
    pub seconds_mean: f64,
    /// Shortest and longest time; of a single timing there is no range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds_range: Option<(f64, f64)>,
    /// Timings behind the row.
    pub timings: u32,
    /// Row pairs that met the condition.
    pub matches: u64,
    /// `T_ref(N)` / T(N).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference_multiple: Option<f64>,
    /// anchor DTU x `T_anchor(N)` / T(N).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dtu_multiple: Option<f64>,
    /// ln(T2/T1) / ln(N2/N1) against the rung below; about 2 where the plan is the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub growth_exponent: Option<f64>,
    /// CPU used in percent of the CPUs the rung ran on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_percent: Option<f64>,
    /// `plan-change`, `low-cpu`, `short` (too short to compare).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
}

/// What the lab knows to be true of a figure: computed from its limits and the rows, never measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Expected {
    /// The value the test should show.
    pub value: f64,
    /// Its unit.
    pub unit: String,
    /// How the limit that binds is known: `printed`, `derived` or `assumed`; `given` for a user's own hardware.
    pub basis: String,
    /// True if it rests on a figure that was printed for this very level and edition.
    #[serde(default)]
    pub published: bool,
    /// The limit that binds: `data_io`, `log_write`, `cpu`, `memory`, ...
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
    /// How the value comes about, in one sentence with the numbers in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// (measured - true) / true in percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_percent: Option<f64>,
}

/// Why a run failed or was stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunFailure {
    /// Class of the error: `connect`, `permission`, `disk-full`, `interrupted`, ...
    pub kind: String,
    /// One sentence.
    pub message: String,
    /// What to do next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The exit code that the program ends with for it.
    pub exit_code: u8,
}

/// A figure that could not be made.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct AbsentFigure {
    /// Name of its metric.
    pub metric: String,
    /// Why it is absent.
    pub reason: String,
}

/// What our own client needed in one phase of requests.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ClientPhase {
    /// The repetition.
    pub repetition: String,
    /// The phase, by its place in the repetition, from 0.
    pub phase: u32,
    /// The largest part of its time that a session needed for itself or waited for a CPU, in percent.
    pub busy_percent: f64,
    /// CPU time of the sessions' threads in percent of the CPUs that the client may use.
    pub cpu_percent: f64,
    /// True if a faster client would have been answered at twice the rate, or had no CPU left.
    pub was_the_limit: bool,
    /// CPU time of our whole process for each operation, where the phase was measured by itself: of a disk test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_us_per_operation: Option<f64>,
}

/// What comes from the real machine of the client: it differs between machines even where the result may not.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Host {
    /// Name of the machine that measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Operating system and architecture.
    pub platform: String,
    /// CPUs the client may use.
    pub cpus: u32,
    /// Real seconds from start to end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub real_seconds: Option<f64>,
    /// CPU seconds of our own process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_cpu_seconds: Option<f64>,
    /// Seconds spent on making or checking the data, cleaning up not included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preparation_seconds: Option<f64>,
    /// Whether our own client held the requests back; absent for tests that make none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<Client>,
    /// What sampling cost our own process; absent where nothing was sampled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampling: Option<SamplingCost>,
    /// Warnings that depend on the real machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// What it cost us to look at the engine and the machine during the repetitions.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct SamplingCost {
    /// Looks.
    pub looks: u32,
    /// CPU time of our own threads for them.
    pub cpu_seconds: f64,
    /// The same in percent of one core over the time in which was sampled.
    pub core_percent: f64,
}

/// Whether our own client held the requests back.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Client {
    /// `free`, `near-its-limit` or `was-the-limit` in the phases that the headline is from; the last makes rates lower bounds.
    pub verdict: String,
    /// Sentences a person can check.
    pub evidence: Vec<String>,
    /// The largest part of its time that a session needed for itself or waited for a CPU in those phases, in percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy_percent: Option<f64>,
    /// CPU time of the sessions' threads in percent of the CPUs that the client may use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_percent: Option<f64>,
    /// The same of the busiest thread, in percent of one CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_cpu_percent: Option<f64>,
    /// Time that the sessions' threads waited for a CPU, in percent of their time; absent where the system does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_queue_percent: Option<f64>,
    /// Sessions, or operations of a disk, that one thread had under way at most; absent where each has a thread of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions_per_thread: Option<u64>,
    /// How late a session that had slept began, which 99 of 100 did not exceed; only beside a schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wake_lag_us_p99: Option<f64>,
    /// The delay with which a session picked up an answer that had arrived; 99 of 100 did not exceed it. In this time
    /// the session could have run and waited for a CPU. Some answers of each session are looked at; absent where the
    /// system does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pickup_lag_us_p99: Option<f64>,
    /// What each phase needed; absent where a repetition has one phase.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<ClientPhase>,
    /// CPU time of the client for each request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_us_per_request: Option<f64>,
    /// What a request costs the client before it reaches the engine's driver: measured at the start, on nobody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_ns_per_request: Option<f64>,
    /// Bytes sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_bytes: Option<u64>,
    /// Bytes received.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received_bytes: Option<u64>,
}

impl RunRecord {
    /// True if the run ended by itself with all its repetitions complete.
    pub fn is_complete(&self) -> bool {
        self.ended_at.is_some() && self.error.is_none() && self.repetitions.iter().all(|r| r.complete)
    }
}

/// The JSON Schema of [`RunRecord`] as it is published in docs/.
pub fn json_schema() -> serde_json::Value {
    schemars::schema_for!(RunRecord).to_value()
}
