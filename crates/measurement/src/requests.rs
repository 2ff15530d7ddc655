//! What requests came to, as a run record keeps it: by kind, by second, by phase, and what was waited for meanwhile.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::histogram::LatencyHistogramData;
use crate::views::WaitClass;
use crate::vocabulary::Name;

/// What a kind of request came to in a repetition.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct RequestKind {
    /// Its name: `insert`, `direct-select`, ...
    pub kind: String,
    /// Requests that were answered before the end of their phase.
    pub operations: u64,
    /// Requests that were under way at the end of their phase and answered after it: their times count, and nothing else of them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub drained: u64,
    /// Rows that the target had to look at, as far as the request says.
    pub rows_examined: u64,
    /// Rows that came back or were changed.
    pub rows: u64,
    /// Data content of the rows that came back, or that were written where the test knows it; statements that change rows count none.
    pub content_bytes: u64,
    /// Requests that failed, by class.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<String, u64>,
    /// Attempts that were made again after an error that passes; the waits in between are part of a request's time.
    #[serde(default)]
    pub retries: u64,
    /// Response times: from the intended start where requests had a schedule, else from the start.
    pub times: LatencyHistogramData,
    /// The same without the waits between attempts; only where an attempt was made again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times_without_waits: Option<LatencyHistogramData>,
    /// The same from the real start, which leaves out what requests waited for others; only beside a schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times_uncorrected: Option<LatencyHistogramData>,
}

/// A part of a repetition of requests, with one rate, one number of sessions and one size of batches. What was due in
/// it and not begun at its end is given up, and does not burden the next.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Phase {
    /// What is tried in it: `200/s`, `4 sessions`, `1000 rows`; `all` where there is nothing to choose.
    pub label: String,
    /// Start of the phase, seconds after the repetition's first.
    pub started_seconds: f64,
    /// How long it took.
    pub seconds: f64,
    /// Sessions that made requests.
    pub sessions: u32,
    /// Requests a second by the schedule, on average; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_asked: Option<f64>,
    /// Rows of a batch, where requests are batches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch_rows: Option<u64>,
    /// Requests that were answered before its end.
    pub operations: u64,
    /// Requests that were under way at its end and answered after it: their times count, and nothing else of them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub drained: u64,
    /// Requests that failed.
    pub errors: u64,
    /// Answers a second.
    pub rate: f64,
    /// Data content per minute; MB is 2^20 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mb_per_minute: Option<f64>,
    /// Requests that were due and not begun at its end; absent without a schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backlog: Option<u64>,
    /// Response times of all kinds: from the intended start where there was a schedule.
    pub times: LatencyHistogramData,
    /// The same without the waits between attempts; only where an attempt was made again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times_without_waits: Option<LatencyHistogramData>,
    /// The same from the real start; only beside a schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times_uncorrected: Option<LatencyHistogramData>,
    /// How late requests started, measured from their intended start; only beside a schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_lag: Option<LatencyHistogramData>,
    /// Whether it met the goal of a search for the highest rate; absent where there is no search, or where it had too few response
    /// times for the percentile of the goal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holds: Option<bool>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A time in which no request of any session was answered.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Stall {
    /// When it began, seconds after the repetition's start.
    pub started_seconds: f64,
    /// How long it lasted, to a hundredth of a second.
    pub seconds: f64,
}

/// What a session waited for.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct WaitDelta {
    /// The wait as the engine or the lab calls it.
    pub wait: String,
    /// What it is for; absent where the engine doesn't tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<Name<WaitClass>>,
    /// How long in all.
    pub seconds: f64,
    /// How often; absent where that is not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// Its part of the elapsed time, in percent.
    pub elapsed_percent: f64,
    /// Of its time what was waited for a CPU, after what was waited for was there; absent where that is not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal_seconds: Option<f64>,
    /// The longest since the engine counts them, which may have been before the test: since the session began on SQL Server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_seconds: Option<f64>,
}

/// What was read from and written to a file of the engine.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct FileDelta {
    /// The file, or the kind of files where the engine counts by kind.
    pub file: String,
    /// The database that it belongs to; absent where the engine doesn't tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database: Option<String>,
    /// Where it lies, as the server calls the place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// What is in it: `data` or `log`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// How large it was at the end; absent where the engine doesn't tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// From the first look at its counters to the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elapsed_seconds: Option<f64>,
    /// Reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads: Option<u64>,
    /// Writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writes: Option<u64>,
    /// Bytes read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_bytes: Option<u64>,
    /// Bytes written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_bytes: Option<u64>,
    /// Sum of the times that reads took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_stall_seconds: Option<f64>,
    /// Sum of the times that writes took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_stall_seconds: Option<f64>,
    /// MB (2^20 bytes) read in a second of the elapsed time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_mb_per_second: Option<f64>,
    /// MB (2^20 bytes) written in a second of the elapsed time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_mb_per_second: Option<f64>,
    /// Mean time of a read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_latency_ms: Option<f64>,
    /// Mean time of a write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_latency_ms: Option<f64>,
    /// How far it used what it alone is held to; absent where no such limit is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<FileUse>,
}

/// How far a file used what it alone is held to, by intervals between two samples (reference, 5.5). An engine counts an I/O once that
/// storage may count as several, so the use of the limit of I/Os is a lower bound where they are large.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct FileUse {
    /// The source of the limits.
    pub source: String,
    /// How large the file was at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// Reads and writes that it may do in a second, at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_iops: Option<f64>,
    /// MB (2^20 bytes) that it may read and write in a second, at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_mb_per_second: Option<f64>,
    /// Reads and writes in a second in the busiest interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub highest_iops: Option<f64>,
    /// MB (2^20 bytes) in a second in the busiest interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub highest_mb_per_second: Option<f64>,
    /// Intervals in which its use is known.
    pub intervals: u64,
    /// Of them those in which it did 90 % of the I/Os that it might, or more.
    pub intervals_near_iops: u64,
    /// Of them those in which it read and wrote 90 % of the bytes that it might, or more.
    pub intervals_near_mb_per_second: u64,
}

/// What was answered in every second of a repetition, by the second in which it was.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Seconds {
    /// Requests.
    pub operations: Vec<u64>,
    /// Rows that came back or were changed.
    pub rows: Vec<u64>,
    /// Data content of the rows that came back, or that were written where the test knows it; statements that change rows count none.
    pub content_bytes: Vec<u64>,
    /// Requests that failed.
    pub errors: Vec<u64>,
    /// Rows that the target had to look at, as far as requests say.
    #[serde(default)]
    pub rows_examined: Vec<u64>,
    /// Requests that failed, by class; classes that never came are absent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub errors_by_class: BTreeMap<String, Vec<u64>>,
    /// The response time in microseconds that half of the second's requests did not exceed; null where none was answered.
    #[serde(default)]
    pub latency_us_p50: Vec<Option<f64>>,
    /// The same for 99 in 100.
    #[serde(default)]
    pub latency_us_p99: Vec<Option<f64>>,
}

impl Seconds {
    /// Counts an answered request.
    pub fn answered(&mut self, second: usize, rows_examined: u64, rows: u64, content_bytes: u64) {
        self.reach(second + 1);
        self.operations[second] += 1;
        self.rows_examined[second] += rows_examined;
        self.rows[second] += rows;
        self.content_bytes[second] += content_bytes;
    }

    /// Counts a failed request.
    pub fn failed(&mut self, second: usize, class: &str) {
        self.reach(second + 1);
        self.errors[second] += 1;
        let of_class = self.errors_by_class.entry(class.to_owned()).or_default();
        if of_class.len() <= second {
            of_class.resize(second + 1, 0);
        }
        of_class[second] += 1;
    }

    /// Adds the counts of another. Percentiles are not counts: they are made of histograms and set.
    pub fn merge(&mut self, other: &Self) {
        let add = |sum: &mut Vec<u64>, more: &Vec<u64>| {
            if sum.len() < more.len() {
                sum.resize(more.len(), 0);
            }
            sum.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        };
        self.reach(other.operations.len());
        add(&mut self.operations, &other.operations);
        add(&mut self.rows_examined, &other.rows_examined);
        add(&mut self.rows, &other.rows);
        add(&mut self.content_bytes, &other.content_bytes);
        add(&mut self.errors, &other.errors);
        for (class, more) in &other.errors_by_class {
            add(self.errors_by_class.entry(class.clone()).or_default(), more);
        }
    }

    /// Makes room for so many seconds; those that were not reached have counts of zero, which is what happened in them.
    fn reach(&mut self, seconds: usize) {
        // All columns have one length, and mostly nothing is to be done.
        if self.operations.len() >= seconds && self.errors.len() >= seconds {
            return;
        }
        let columns =
            [&mut self.operations, &mut self.rows_examined, &mut self.rows, &mut self.content_bytes, &mut self.errors];
        for column in columns.into_iter().filter(|column| column.len() < seconds) {
            column.resize(seconds, 0);
        }
    }

    /// True if nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }
}
