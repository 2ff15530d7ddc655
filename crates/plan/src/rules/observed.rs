//! What was seen of an instance beside its files.

/// What was seen of an instance beside its files; absent where nobody looked.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Observed {
    /// What sessions waited for.
    pub waits: Option<WaitShares>,
    /// How much of its CPU was used, in percent.
    pub cpu_percent: Option<f64>,
}

/// Shares of the time that sessions waited for anything, in percent. The server's own threads that wait for work do not count.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct WaitShares {
    /// Pages of data files: `PAGEIOLATCH`.
    pub data: f64,
    /// The log: `WRITELOG`.
    pub log: f64,
    /// The governor of the log's rate: `INSTANCE_LOG_RATE_GOVERNOR`.
    pub governor: f64,
}
