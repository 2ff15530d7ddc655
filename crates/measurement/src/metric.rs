//! The metrics of points and figures, each declared once. Each has its name in records with the unit last, its label
//! for people, its unit, which direction is better, and where the documents explain it. `docs/METRICS.md` is this
//! table.

use std::collections::BTreeMap;
use std::fmt::Write;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::vocabulary;
use crate::vocabulary::{Name, Vocabulary};

vocabulary! {
    /// Which direction of a metric is better.
    Better {
        /// More is better.
        Higher = "higher",
        /// Less is better.
        Lower = "lower",
        /// Neither: it describes the work or the conditions.
        Neither = "neither",
    }
}

/// What is declared of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Declared {
    /// What people read.
    pub label: &'static str,
    /// Unit of the values: `bytes`, `MB/min`, `us`; empty for plain counts.
    pub unit: &'static str,
    /// Which direction is better.
    pub better: Better,
    /// True if values are whole numbers, which are kept exactly up to 2^53.
    pub is_whole: bool,
    /// The page below `docs/` that explains it, with the anchor of the section.
    pub page: &'static str,
}

/// Declares the metrics: the enum with its names, and the table.
macro_rules! metrics {
    ($($(#[$doc:meta])* $one:ident = $name:literal, $label:literal, $unit:literal, $better:ident, $kind:ident, $page:literal;)*) => {
        vocabulary! {
            /// Something that a point or a figure has a value of.
            Metric {
                $($(#[$doc])* $one = $name,)*
            }
        }

        impl Metric {
            /// What is declared of it.
            pub const fn declared(self) -> Declared {
                match self {
                    $(Self::$one => Declared {
                        label: $label,
                        unit: $unit,
                        better: Better::$better,
                        is_whole: metrics!(@is_whole $kind),
                        page: $page,
                    },)*
                }
            }
        }
    };
    (@is_whole whole) => { true };
    (@is_whole real) => { false };
}

metrics! {
    /// Rows read, written or matched over.
    Rows = "rows", "Rows", "rows", Neither, whole, "TESTS.md#what-a-point-holds";
    /// Data content: the sum of the values' sizes in the canonical encoding.
    ContentBytes = "content_bytes", "Data content", "bytes", Neither, whole, "TESTS.md#what-a-point-holds";
    /// Data content per minute; MB is 2^20 bytes.
    MbPerMinute = "mb_per_minute", "Rate", "MB/min", Higher, real, "TESTS.md#what-a-point-holds";
    /// Engine pages read or written, in bytes.
    PageBytes = "page_bytes", "Engine pages", "bytes", Neither, whole, "TESTS.md#what-a-point-holds";
    /// Bytes that crossed the block device.
    DeviceBytes = "device_bytes", "Device traffic", "bytes", Neither, whole, "TESTS.md#what-a-point-holds";
    /// Pages that the engine did not have in its cache.
    CacheMissPages = "cache_miss_pages", "Cache misses", "pages", Lower, whole, "TESTS.md#what-a-point-holds";
    /// Bytes written to the engine's log.
    LogBytes = "log_bytes", "Log written", "bytes", Neither, whole, "TESTS.md#what-a-point-holds";
    /// Pages of the chunk's source that had to be read; above zero the point is flagged.
    SourceMissPages = "source_miss_pages", "Source pages read", "pages", Lower, whole, "TESTS.md#what-a-point-holds";
    /// CPU time that the engine used for the point.
    CpuSeconds = "cpu_seconds", "Engine CPU time", "s", Neither, real, "TESTS.md#what-a-point-holds";
    /// CPU used in percent of the CPUs the point ran on.
    CpuPercent = "cpu_percent", "Engine CPU", "%", Neither, real, "TESTS.md#what-a-point-holds";
    /// Ladder: rows on each side of the join.
    JoinRows = "join_rows", "Rows on each side", "rows", Neither, whole, "TESTS.md#what-a-point-holds";
    /// Ladder: row pairs that met the join condition, the check of correctness.
    Matches = "matches", "Matches", "pairs", Neither, whole, "TESTS.md#what-a-point-holds";
    /// Sessions that worked at the point.
    Sessions = "sessions", "Sessions", "sessions", Neither, whole, "TESTS.md#what-a-point-holds";
    /// Memory: size of the working set in pages, as bytes.
    SetBytes = "set_bytes", "Working set", "bytes", Neither, whole, "TESTS.md#what-a-point-holds";
    /// Memory: keyed accesses in the counted pass.
    Accesses = "accesses", "Accesses", "accesses", Neither, whole, "TESTS.md#what-a-point-holds";
    /// Memory: passes over the set until its misses stood still, the counted one included.
    Passes = "passes", "Passes", "passes", Neither, whole, "TESTS.md#what-a-point-holds";
    /// Requests that were answered.
    Operations = "operations", "Answered requests", "requests", Higher, whole, "TESTS.md#what-a-point-holds";
    /// Requests that failed.
    Errors = "errors", "Failed requests", "requests", Lower, whole, "TESTS.md#what-a-point-holds";
    /// Requests a second that the schedule asked for.
    AskedPerSecond = "asked_per_s", "Requests asked for", "1/s", Neither, real, "TESTS.md#what-a-point-holds";
    /// Response time that half of the requests did not exceed.
    LatencyUsP50 = "latency_us_p50", "Median response time", "us", Lower, real, "TESTS.md#what-a-point-holds";
    /// Mean response time, where a record has no more of it: of imported results.
    LatencyUsMean = "latency_us_mean", "Mean response time", "us", Lower, real, "TESTS.md#what-a-point-holds";
    /// Response time that 99 of 100 requests did not exceed.
    LatencyUsP99 = "latency_us_p99", "99th percentile of response times", "us", Lower, real, "TESTS.md#what-a-point-holds";
    /// Memory: what the engine reports as used, in percent of its limit, at the end of the point.
    MemoryPercent = "memory_percent", "Memory in use", "%", Neither, real, "TESTS.md#what-a-point-holds";
    /// Disk: operations that completed in a second.
    Iops = "iops", "I/Os a second", "1/s", Higher, real, "DISKS.md#what-a-cell-shows";
    /// Disk: bytes that were read and written in a second.
    BytesPerS = "bytes_per_s", "Throughput", "bytes/s", Higher, real, "DISKS.md#what-a-cell-shows";
}

/// The metrics of a point: unknown ones are absent, never zero.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema)]
#[schemars(transparent)]
pub struct Metrics(BTreeMap<Name<Metric>, f64>);

/// A value that may be unknown, from any of the numbers that are measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Value(Option<f64>);

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self(value.is_finite().then_some(value))
    }
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self(Some(value as f64))
    }
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self(None), Into::into)
    }
}

impl Metrics {
    /// The value of a metric, if it is known.
    pub fn get(&self, metric: Metric) -> Option<f64> {
        self.0.get(&Name::Known(metric)).copied()
    }

    /// The value of a metric that counts.
    pub fn count(&self, metric: Metric) -> Option<u64> {
        self.get(metric).map(|value| value as u64)
    }

    /// Sets the value of a metric, or takes it away where it is unknown or no finite number.
    pub fn set(&mut self, metric: Metric, value: impl Into<Value>) {
        match value.into().0 {
            Some(value) => self.0.insert(metric.into(), value),
            None => self.0.remove(&Name::Known(metric)),
        };
    }

    /// All metrics with their values: in the order of their declaration, then those of newer releases.
    pub fn iter(&self) -> impl Iterator<Item = (&Name<Metric>, f64)> {
        self.0.iter().map(|(metric, value)| (metric, *value))
    }
}

impl Serialize for Metrics {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let number = |metric: &Name<Metric>, value: f64| {
            let is_whole = metric.known().is_some_and(|metric| metric.declared().is_whole) && value.fract() == 0.0;
            if is_whole && value >= 0.0 { serde_json::Value::from(value as u64) } else { value.into() }
        };
        serializer.collect_map(self.iter().map(|(metric, value)| (metric, number(metric, value))))
    }
}

impl<'de> Deserialize<'de> for Metrics {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = BTreeMap::<String, Option<f64>>::deserialize(deserializer)?;
        let known = read.into_iter().filter_map(|(name, value)| Some((Name::read(&name), value?)));
        Ok(Self(known.collect()))
    }
}

/// The table of all metrics as Markdown, as it is published in `docs/METRICS.md`.
pub fn markdown() -> String {
    let mut text = "# Metrics\n\n\
        Points and figures of a run record have values of these metrics. The program makes this table, and a test compares both.\n\
        `PLIMSOLL_UPDATE_DOCS=1 cargo test -p plimsoll-measurement --test schema` writes it anew. A record of a newer release may have\n\
        more metrics; readers keep what they do not know.\n\n\
        | Metric | Label | Unit | Better | Explained in |\n|---|---|---|---|---|\n".to_owned();
    for metric in Metric::ALL {
        let Declared { label, unit, better, page, .. } = metric.declared();
        let name = metric.name();
        let better = better.name();
        let _ = writeln!(text, "| `{name}` | {label} | {unit} | {better} | [{page}]({page}) |");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_exact_and_metrics_of_newer_releases_survive() {
        let mut metrics = Metrics::default();
        metrics.set(Metric::ContentBytes, (1_u64 << 53) - 1);
        metrics.set(Metric::MbPerMinute, 12.5);
        metrics.set(Metric::Rows, None::<u64>);
        metrics.set(Metric::CpuPercent, f64::NAN);
        let text = serde_json::to_string(&metrics).unwrap();
        assert_eq!(text, r#"{"content_bytes":9007199254740991,"mb_per_minute":12.5}"#);
        let newer = text.replace('}', r#","of_a_newer_release":7.5}"#);
        let read: Metrics = serde_json::from_str(&newer).unwrap();
        assert_eq!(read.count(Metric::ContentBytes), Some(9_007_199_254_740_991));
        assert_eq!(read.get(Metric::Rows), None);
        assert_eq!(serde_json::to_string(&read).unwrap(), newer);
    }

    #[test]
    fn no_two_metrics_share_a_name_and_each_has_a_label() {
        for (at, metric) in Metric::ALL.iter().enumerate() {
            assert_eq!(Metric::named(metric.name()), Some(*metric));
            assert!(!metric.declared().label.is_empty() && Metric::ALL[at] == *metric);
        }
    }
}
