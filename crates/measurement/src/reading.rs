//! Readings: what a counter said, and the window in which it was asked.
//!
//! A reading that failed is absent, never zero; a reading without its window can't be turned into a rate honestly.

use std::time::Duration;

/// A point in time on the run's clock: nanoseconds since that clock's epoch. In virtual time it never touches the wall.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Moment(u64);

impl Moment {
    /// The moment that lies this many nanoseconds after the clock's epoch.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the clock's epoch.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The time from `earlier` to this moment; zero if `earlier` is later.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// This moment, moved into the future; at the end of time it stays there.
    #[must_use]
    pub fn after(self, wait: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX)))
    }
}

/// The window in which a value was read: asked at `start`, answered at `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// When the source was asked.
    pub start: Moment,
    /// When it had answered.
    pub end: Moment,
}

/// What a reading counts. All are cumulative counters unless their description says "now".
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Counter {
    /// Pages that the engine did not find in its own cache.
    CacheMissPages,
    /// Bytes fetched from the block device on the engine's behalf.
    DeviceReadBytes,
    /// Bytes sent to the block device on the engine's behalf.
    DeviceWriteBytes,
    /// Bytes written to the engine's log.
    LogWriteBytes,
    /// CPU time of the engine's processes or of the session's thread.
    EngineCpuSeconds,
    /// CPU time of our own process.
    ClientCpuSeconds,
    /// Time that sessions waited because a governor let no more log through.
    LogRateGovernorWaitSeconds,
    /// Time that sessions waited for the log to be durable, a governor's part excepted.
    LogWriteWaitSeconds,
    /// Time that sessions waited for pages from a device.
    DataReadWaitSeconds,
    /// Time that sessions waited for others' locks.
    LockWaitSeconds,
    /// Time that sessions computed or waited for CPU.
    CpuWaitSeconds,
    /// Reads of data files at the device.
    DataReads,
    /// Writes of data files at the device.
    DataWrites,
    /// Writes of the log at the device.
    LogWrites,
    /// Sum of the times that reads of data files took.
    DataReadStallSeconds,
    /// Sum of the times that writes of data files took.
    DataWriteStallSeconds,
    /// Sum of the times that writes of the log took.
    LogWriteStallSeconds,
    /// CPU in use in the last finished interval of the engine's statistics, in percent of its limit.
    CpuPercent,
    /// Data I/O in the last finished interval, in percent of its limit.
    DataIoPercent,
    /// Log writes in the last finished interval, in percent of their limit.
    LogWritePercent,
    /// Memory in use now, in percent of the engine's limit, where the engine reports one.
    MemoryPercent,
    /// Pages that the engine looked for in its own cache, found or not.
    CacheLookupPages,
    /// Transactions that were committed.
    Commits,
    /// Time that sessions which had an answer or a request under way waited for their client.
    ClientWaitSeconds,
    /// Time that sessions waited for the right to write, where there is one writer at a time.
    WriteTurnWaitSeconds,
    /// Time that sessions waited for a worker or a connection of a pool.
    WorkerWaitSeconds,
    /// Time that sessions slept because a statement asked for it.
    SleepWaitSeconds,
    /// Sessions of ours that work now and wait for nothing. An engine without sessions of others counts all, here and below.
    SessionsOnCpu,
    /// Sessions that wait for data pages now.
    SessionsReadingData,
    /// Sessions that wait now for the log to be durable.
    SessionsWritingLog,
    /// Sessions that wait for others' locks now.
    SessionsWaitingForLocks,
    /// Sessions that are in the middle of something and wait for their client now.
    SessionsWaitingForClients,
    /// Sessions that sleep now because a statement asked for it.
    SessionsAsleep,
    /// Sessions that work now and wait for anything else.
    SessionsWaitingForOthers,
    /// Sessions that are not ours and use something now: they neither sleep nor wait for their client or a lock.
    SessionsOfOthers,
}

impl Counter {
    /// Whether sessions that are counted so use nothing of the server meanwhile.
    pub const fn is_rest(self) -> bool {
        matches!(self, Self::SessionsAsleep | Self::SessionsWaitingForClients | Self::SessionsWaitingForLocks)
    }

    /// The metric's name as scripts see it, unit last.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CacheMissPages => "cache_miss_pages",
            Self::DeviceReadBytes => "device_read_bytes",
            Self::DeviceWriteBytes => "device_write_bytes",
            Self::LogWriteBytes => "log_write_bytes",
            Self::EngineCpuSeconds => "engine_cpu_seconds",
            Self::ClientCpuSeconds => "client_cpu_seconds",
            Self::LogRateGovernorWaitSeconds => "log_rate_governor_wait_seconds",
            Self::LogWriteWaitSeconds => "log_write_wait_seconds",
            Self::DataReadWaitSeconds => "data_read_wait_seconds",
            Self::LockWaitSeconds => "lock_wait_seconds",
            Self::CpuWaitSeconds => "cpu_wait_seconds",
            Self::DataReads => "data_reads",
            Self::DataWrites => "data_writes",
            Self::LogWrites => "log_writes",
            Self::DataReadStallSeconds => "data_read_stall_seconds",
            Self::DataWriteStallSeconds => "data_write_stall_seconds",
            Self::LogWriteStallSeconds => "log_write_stall_seconds",
            Self::CpuPercent => "cpu_percent",
            Self::DataIoPercent => "data_io_percent",
            Self::LogWritePercent => "log_write_percent",
            Self::MemoryPercent => "memory_percent",
            Self::CacheLookupPages => "cache_lookup_pages",
            Self::Commits => "commits",
            Self::ClientWaitSeconds => "client_wait_seconds",
            Self::WriteTurnWaitSeconds => "write_turn_wait_seconds",
            Self::WorkerWaitSeconds => "worker_wait_seconds",
            Self::SleepWaitSeconds => "sleep_wait_seconds",
            Self::SessionsOnCpu => "sessions_on_cpu",
            Self::SessionsReadingData => "sessions_reading_data",
            Self::SessionsWritingLog => "sessions_writing_log",
            Self::SessionsWaitingForLocks => "sessions_waiting_for_locks",
            Self::SessionsWaitingForClients => "sessions_waiting_for_clients",
            Self::SessionsAsleep => "sessions_asleep",
            Self::SessionsWaitingForOthers => "sessions_waiting_for_others",
            Self::SessionsOfOthers => "sessions_of_others",
        }
    }
}

/// One value of one metric, with the window of its read.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// What was read.
    pub metric: Counter,
    /// The value in the metric's unit.
    pub value: f64,
    /// When it was read.
    pub window: Window,
}

/// The growth of `metric` from `before` to `after`. `None` where either side lacks it or the counter went backwards
/// (the server restarted, the view was reset): a gap, not a zero.
pub fn growth(metric: Counter, before: &[Reading], after: &[Reading]) -> Option<f64> {
    let find = |readings: &[Reading]| readings.iter().find(|reading| reading.metric == metric).map(|r| r.value);
    let delta = find(after)? - find(before)?;
    (delta >= 0.0).then_some(delta)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(value: f64) -> Vec<Reading> {
        let window = Window { start: Moment::default(), end: Moment::default() };
        vec![Reading { metric: Counter::CacheMissPages, value, window }]
    }

    #[test]
    fn growth_is_absent_when_a_side_is_missing_or_the_counter_was_reset() {
        assert_eq!(growth(Counter::CacheMissPages, &reading(5.0), &reading(12.0)), Some(7.0));
        assert_eq!(growth(Counter::CacheMissPages, &reading(5.0), &[]), None);
        assert_eq!(growth(Counter::CacheMissPages, &reading(5.0), &reading(1.0)), None);
        assert_eq!(growth(Counter::LogWriteBytes, &reading(5.0), &reading(12.0)), None);
    }

    #[test]
    fn moments_saturate_instead_of_wrapping() {
        let late = Moment::from_nanos(u64::MAX);
        assert_eq!(late.after(Duration::from_secs(1)), late);
        assert_eq!(Moment::default().since(late), Duration::ZERO);
    }
}
