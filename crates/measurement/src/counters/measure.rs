//! What counters measure, and a row's counters: whole numbers in microseconds, bytes, pages and counts, each known or absent.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What a counter counts. The name has the unit; what has none is a count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Statements that ended.
    Executions,
    /// Time from start to end of each.
    ElapsedUs,
    /// CPU time, of all CPUs that worked for it.
    CpuUs,
    /// Time that waited for reads of data.
    IoReadUs,
    /// Time that waited for writes of data.
    IoWriteUs,
    /// Rows returned or changed.
    Rows,
    /// Pages looked up in the cache.
    LogicalReadPages,
    /// Pages that the cache did not have.
    PhysicalReadPages,
    /// Pages changed.
    LogicalWritePages,
    /// Pages written to temporary files, and read from them.
    TempPages,
    /// Log that was made.
    LogBytes,
    /// Sorts and joins that did not fit into memory.
    Spills,
    /// Statements that ended with an error.
    Errors,
    /// Waits that ended.
    Waits,
    /// Time waited.
    WaitUs,
    /// Of that, time in which the session was ready and waited for a CPU.
    SignalUs,
    /// Reads of a file.
    Reads,
    /// Bytes of these.
    ReadBytes,
    /// Time that they took.
    ReadUs,
    /// Writes of a file.
    Writes,
    /// Bytes of these.
    WriteBytes,
    /// Time that they took.
    WriteUs,
    /// Time that reads and writes of a file were held back by a governor.
    QueuedUs,
    /// A counter that stands for itself; its item says which.
    Count,
    /// Time in which statements ran, whenever they end. Samples of sessions show what had not ended.
    ActiveUs,
    /// Time of statements that were seen to run, ended, and were counted nowhere: cancelled, failed or dropped.
    UnseenUs,
    /// Time in which samples of sessions saw the statement, its commit included: an estimate, as good as there are samples.
    SampledUs,
    /// Syncs of a file.
    Syncs,
    /// Time that they took.
    SyncUs,
}

impl Measure {
    /// All of them, in their order.
    pub const ALL: [Self; 29] = [
        Self::Executions,
        Self::ElapsedUs,
        Self::CpuUs,
        Self::IoReadUs,
        Self::IoWriteUs,
        Self::Rows,
        Self::LogicalReadPages,
        Self::PhysicalReadPages,
        Self::LogicalWritePages,
        Self::TempPages,
        Self::LogBytes,
        Self::Spills,
        Self::Errors,
        Self::Waits,
        Self::WaitUs,
        Self::SignalUs,
        Self::Reads,
        Self::ReadBytes,
        Self::ReadUs,
        Self::Writes,
        Self::WriteBytes,
        Self::WriteUs,
        Self::QueuedUs,
        Self::Count,
        Self::ActiveUs,
        Self::UnseenUs,
        Self::SampledUs,
        Self::Syncs,
        Self::SyncUs,
    ];

    /// Its name, as it is stored.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Executions => "executions",
            Self::ElapsedUs => "elapsed_us",
            Self::CpuUs => "cpu_us",
            Self::IoReadUs => "io_read_us",
            Self::IoWriteUs => "io_write_us",
            Self::Rows => "rows",
            Self::LogicalReadPages => "logical_read_pages",
            Self::PhysicalReadPages => "physical_read_pages",
            Self::LogicalWritePages => "logical_write_pages",
            Self::TempPages => "temp_pages",
            Self::LogBytes => "log_bytes",
            Self::Spills => "spills",
            Self::Errors => "errors",
            Self::Waits => "waits",
            Self::WaitUs => "wait_us",
            Self::SignalUs => "signal_us",
            Self::Reads => "reads",
            Self::ReadBytes => "read_bytes",
            Self::ReadUs => "read_us",
            Self::Writes => "writes",
            Self::WriteBytes => "write_bytes",
            Self::WriteUs => "write_us",
            Self::QueuedUs => "queued_us",
            Self::Count => "count",
            Self::ActiveUs => "active_us",
            Self::UnseenUs => "unseen_us",
            Self::SampledUs => "sampled_us",
            Self::Syncs => "syncs",
            Self::SyncUs => "sync_us",
        }
    }

    /// The measure of this name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|measure| measure.name() == name)
    }
}

/// One number for each measure that is known. It is stored by the names of measures, so that a new one changes nothing that was stored.
#[derive(Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "BTreeMap<Measure, u64>", into = "BTreeMap<Measure, u64>")]
pub struct Values {
    /// A bit for each measure that is known.
    known: u32,
    /// By measure; 0 where it is not known.
    values: [u64; Measure::ALL.len()],
}

impl Values {
    /// Of these measures; all others are unknown.
    pub fn of(known: impl IntoIterator<Item = (Measure, u64)>) -> Self {
        let mut all = Self::default();
        for (measure, value) in known {
            all.set(measure, value);
        }
        all
    }

    /// The value of a measure; `None` if it is not known.
    pub const fn get(&self, measure: Measure) -> Option<u64> {
        let at = measure as usize;
        if self.known & (1 << at) == 0 { None } else { Some(self.values[at]) }
    }

    /// Sets what is now known.
    pub const fn set(&mut self, measure: Measure, value: u64) {
        self.known |= 1 << measure as usize;
        self.values[measure as usize] = value;
    }

    /// What is known, in the order of measures.
    pub fn iter(&self) -> impl Iterator<Item = (Measure, u64)> {
        Measure::ALL.into_iter().filter_map(|measure| Some((measure, self.get(measure)?)))
    }

    /// By how much each measure grew that is known on both sides. `None` if a single one got less: then it is not the same counter.
    pub fn since(&self, before: &Self) -> Option<Self> {
        let mut grown = Self { known: self.known & before.known, ..Self::default() };
        for (at, value) in grown.values.iter_mut().enumerate() {
            if grown.known & (1 << at) != 0 {
                *value = self.values[at].checked_sub(before.values[at])?;
            }
        }
        Some(grown)
    }

    /// The sum with another, of measures that are known in both: a sum of which a part is unknown is unknown.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        let mut sum = Self { known: self.known & other.known, ..Self::default() };
        for (at, value) in sum.values.iter_mut().enumerate() {
            if sum.known & (1 << at) != 0 {
                *value = self.values[at].saturating_add(other.values[at]);
            }
        }
        sum
    }
}

impl From<BTreeMap<Measure, u64>> for Values {
    fn from(known: BTreeMap<Measure, u64>) -> Self {
        Self::of(known)
    }
}

impl From<Values> for BTreeMap<Measure, u64> {
    fn from(values: Values) -> Self {
        values.iter().collect()
    }
}

impl std::fmt::Debug for Values {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_measure_has_its_own_place() {
        for (at, measure) in Measure::ALL.into_iter().enumerate() {
            assert_eq!(measure as usize, at, "{measure:?}");
            assert_eq!(serde_json::to_value(measure).unwrap(), measure.name());
            assert_eq!(Measure::of_name(measure.name()), Some(measure));
        }
    }

    #[test]
    fn values_are_stored_by_name_and_what_is_unknown_is_absent() {
        let values = Values::of([(Measure::ElapsedUs, 7), (Measure::LogicalReadPages, 0)]);
        let text = serde_json::to_string(&values).unwrap();
        assert_eq!(text, r#"{"elapsed_us":7,"logical_read_pages":0}"#);
        assert_eq!(serde_json::from_str::<Values>(&text).unwrap(), values);
    }

    #[test]
    fn what_is_unknown_on_a_side_is_unknown_in_the_result() {
        let before = Values::of([(Measure::Executions, 3), (Measure::Rows, 0)]);
        let after = Values::of([(Measure::Executions, 5), (Measure::IoReadUs, 9)]);
        assert_eq!(after.since(&before), Some(Values::of([(Measure::Executions, 2)])));
        assert_eq!(after.plus(&before), Values::of([(Measure::Executions, 8)]));
        assert_eq!(before.get(Measure::Rows), Some(0), "a measured zero is known");
        assert_eq!(after.get(Measure::Rows), None);
    }

    #[test]
    fn one_measure_that_got_less_is_enough() {
        let before = Values::of([(Measure::Executions, 3), (Measure::Rows, 10)]);
        assert_eq!(Values::of([(Measure::Executions, 9), (Measure::Rows, 9)]).since(&before), None);
    }
}
