//! What keeps a larger file from doing more.

/// Why no size is asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Hindrance {
    /// The CPU is used up.
    Cpu,
    /// Sessions wait for the governor of the log's rate.
    Governor,
    /// As far as it was written, the log grows as fast as it may.
    LogRate {
        /// MB a second.
        limit_mb_per_s: f64,
        /// Whether that is the rate of one database, which no number of virtual cores raises.
        is_of_database: bool,
    },
    /// Sessions wait mostly for other storage, and hardly for such files.
    Unwaited {
        /// The share of such files in all waits, in percent.
        percent: f64,
    },
    /// Its size can't be set.
    Container,
    /// Each new database would be as large: it is a copy of this one.
    Model,
}
