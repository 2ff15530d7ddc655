//! Readings: what a counter said, and the window in which it was asked.
//!
//! A reading that failed is absent, never zero; a reading without its window can't be turned into a rate honestly.

use std::time::Duration;

use crate::vocabulary;

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

vocabulary! {
    /// What a reading counts. All are cumulative counters unless their description says "now".
    Counter {
        /// Pages that the engine did not find in its own cache.
        CacheMissPages = "cache_miss_pages",
        /// Bytes fetched from the block device on the engine's behalf.
        DeviceReadBytes = "device_read_bytes",
        /// Bytes sent to the block device on the engine's behalf.
        DeviceWriteBytes = "device_write_bytes",
        /// Bytes written to the engine's log.
        LogWriteBytes = "log_write_bytes",
        /// CPU time of the engine's processes or of the session's thread.
        EngineCpuSeconds = "engine_cpu_seconds",
        /// CPU time of our own process.
        ClientCpuSeconds = "client_cpu_seconds",
        /// Bytes that statements wrote to temporary files.
        TempWriteBytes = "temp_write_bytes",
        /// Time that sessions waited because a governor let no more log through.
        LogRateGovernorWaitSeconds = "log_rate_governor_wait_seconds",
        /// Time that sessions waited for the log to be durable, a governor's part excepted.
        LogWriteWaitSeconds = "log_write_wait_seconds",
        /// Time that sessions waited for pages from a device.
        DataReadWaitSeconds = "data_read_wait_seconds",
        /// Time that sessions waited for others' locks.
        LockWaitSeconds = "lock_wait_seconds",
        /// Time that sessions computed or waited for CPU.
        CpuWaitSeconds = "cpu_wait_seconds",
        /// Reads of data files at the device.
        DataReads = "data_reads",
        /// Writes of data files at the device.
        DataWrites = "data_writes",
        /// Writes of the log at the device. Engines that count syncs by themselves don't count them here.
        LogWrites = "log_writes",
        /// Syncs of the log.
        LogSyncs = "log_syncs",
        /// Syncs of all files, where a server does not tell those of the log from others.
        FileSyncs = "file_syncs",
        /// Sum of the times that reads of data files took.
        DataReadStallSeconds = "data_read_stall_seconds",
        /// Sum of the times that writes of data files took.
        DataWriteStallSeconds = "data_write_stall_seconds",
        /// Sum of the times that writes of the log took.
        LogWriteStallSeconds = "log_write_stall_seconds",
        /// Sum of the times that syncs of the log took.
        LogSyncStallSeconds = "log_sync_stall_seconds",
        /// Syncs of a log of statements or rows that an engine keeps beside its own: MySQL's binary log.
        BinaryLogSyncs = "binary_log_syncs",
        /// Sum of the times that these syncs took.
        BinaryLogSyncStallSeconds = "binary_log_sync_stall_seconds",
        /// CPU in use in the last finished interval of the engine's statistics, in percent of its limit.
        CpuPercent = "cpu_percent",
        /// Data I/O in the last finished interval, in percent of its limit.
        DataIoPercent = "data_io_percent",
        /// Log writes in the last finished interval, in percent of their limit.
        LogWritePercent = "log_write_percent",
        /// Memory in use now, in percent of the engine's limit, where the engine reports one.
        MemoryPercent = "memory_percent",
        /// Pages that the engine looked for in its own cache, found or not.
        CacheLookupPages = "cache_lookup_pages",
        /// Transactions that were committed.
        Commits = "commits",
        /// Time that sessions which had an answer or a request under way waited for their client.
        ClientWaitSeconds = "client_wait_seconds",
        /// Time that sessions waited for the right to write, where there is one writer at a time.
        WriteTurnWaitSeconds = "write_turn_wait_seconds",
        /// Time that sessions waited for a worker or a connection of a pool.
        WorkerWaitSeconds = "worker_wait_seconds",
        /// Time that sessions slept because a statement asked for it.
        SleepWaitSeconds = "sleep_wait_seconds",
        /// Sessions of ours that work now and wait for nothing. An engine without sessions of others counts all, here and below.
        SessionsOnCpu = "sessions_on_cpu",
        /// Sessions that wait for data pages now.
        SessionsReadingData = "sessions_reading_data",
        /// Sessions that write data pages themselves now and wait for that, or for what they spill to temporary files and read from there.
        SessionsWritingData = "sessions_writing_data",
        /// Sessions that wait now for the log to be durable.
        SessionsWritingLog = "sessions_writing_log",
        /// Sessions of those that write or sync the log themselves now; the others wait for them.
        SessionsFlushingLog = "sessions_flushing_log",
        /// Sessions that wait for others' locks now.
        SessionsWaitingForLocks = "sessions_waiting_for_locks",
        /// Sessions that wait now for locks of tables, of definitions or by name, where the time that is waited for locks is that of rows alone.
        SessionsWaitingForTableLocks = "sessions_waiting_for_table_locks",
        /// Sessions of those that wait, in the end, for a session that is not ours.
        SessionsBlockedByOthers = "sessions_blocked_by_others",
        /// Sessions that are in the middle of something and wait for their client now.
        SessionsWaitingForClients = "sessions_waiting_for_clients",
        /// Sessions with a request that wait now because as many threads as the server allows are at work.
        SessionsWaitingForWorkers = "sessions_waiting_for_workers",
        /// Sessions that sleep now because a statement asked for it.
        SessionsAsleep = "sessions_asleep",
        /// Sessions that work now and wait for anything else.
        SessionsWaitingForOthers = "sessions_waiting_for_others",
        /// How much of the room in the log is taken now by changes of pages that are not written yet, in percent. Where it is full, sessions write
        /// pages before they go on.
        RedoLogPercent = "redo_log_percent",
        /// Sessions that are not ours and use something now: they neither sleep nor wait for their client or a lock.
        SessionsOfOthers = "sessions_of_others",
    }
}

impl Counter {
    /// Whether sessions that are counted so use nothing of the server meanwhile.
    pub const fn is_rest(self) -> bool {
        matches!(
            self,
            Self::SessionsAsleep
                | Self::SessionsWaitingForClients
                | Self::SessionsWaitingForLocks
                | Self::SessionsWaitingForTableLocks
                | Self::SessionsWaitingForWorkers
        )
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
