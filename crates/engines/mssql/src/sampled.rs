//! Waits of SQL Server by what they are waits for, and what its sessions do now.
//!
//! Source: Microsoft's pages on `sys.dm_os_wait_stats`, on the limits of a logical server and on `sys.query_store_wait_stats`.

use plimsoll_measurement::Metric;

/// Beginnings of the names of waits; the first that fits counts.
const WAITS: [(&str, Metric); 14] = [
    ("LOG_RATE_GOVERNOR", Metric::LogRateGovernorWaitSeconds),
    ("POOL_LOG_RATE_GOVERNOR", Metric::LogRateGovernorWaitSeconds),
    ("INSTANCE_LOG_RATE_GOVERNOR", Metric::LogRateGovernorWaitSeconds),
    ("HADR_THROTTLE_LOG_RATE_", Metric::LogRateGovernorWaitSeconds),
    ("RBIO_RG_", Metric::LogRateGovernorWaitSeconds),
    ("WRITELOG", Metric::LogWriteWaitSeconds),
    ("LOGBUFFER", Metric::LogWriteWaitSeconds),
    ("LOGMGR_FLUSH", Metric::LogWriteWaitSeconds),
    ("PAGEIOLATCH_", Metric::DataReadWaitSeconds),
    ("LCK_M_", Metric::LockWaitSeconds),
    ("ASYNC_NETWORK_IO", Metric::ClientWaitSeconds),
    ("NET_WAITFOR_PACKET", Metric::ClientWaitSeconds),
    ("THREADPOOL", Metric::WorkerWaitSeconds),
    ("WAITFOR", Metric::SleepWaitSeconds),
];

/// Metrics of waits. What nobody has waited for yet is not in the view, and is 0.
pub(super) const METRICS: [Metric; 7] = [
    Metric::LogRateGovernorWaitSeconds,
    Metric::LogWriteWaitSeconds,
    Metric::DataReadWaitSeconds,
    Metric::LockWaitSeconds,
    Metric::ClientWaitSeconds,
    Metric::WorkerWaitSeconds,
    Metric::SleepWaitSeconds,
];

/// Gauges of sessions.
pub(super) const GAUGES: [Metric; 7] = [
    Metric::SessionsOnCpu,
    Metric::SessionsReadingData,
    Metric::SessionsWritingLog,
    Metric::SessionsWaitingForLocks,
    Metric::SessionsWaitingForClients,
    Metric::SessionsAsleep,
    Metric::SessionsWaitingForOthers,
];

/// What a wait is for, where that is of use.
pub(super) fn metric_of(wait: &str) -> Option<Metric> {
    // Other waits of the server's own begin so.
    let known = |(name, _): &&(&str, Metric)| wait == *name || (name.ends_with('_') && wait.starts_with(name));
    WAITS.iter().find(known).map(|(_, metric)| *metric)
}

/// What a session counts as, by its status and what it waits for.
pub(super) fn gauge_of(status: &str, wait: Option<&str>) -> Option<Metric> {
    match status {
        "running" | "runnable" => Some(Metric::SessionsOnCpu),
        // It has an open transaction and no request.
        "sleeping" | "dormant" => Some(Metric::SessionsWaitingForClients),
        "suspended" | "pending" | "rollback" => Some(match wait.and_then(metric_of) {
            Some(Metric::DataReadWaitSeconds) => Metric::SessionsReadingData,
            Some(Metric::LogWriteWaitSeconds) => Metric::SessionsWritingLog,
            Some(Metric::LockWaitSeconds) => Metric::SessionsWaitingForLocks,
            Some(Metric::ClientWaitSeconds) => Metric::SessionsWaitingForClients,
            Some(Metric::SleepWaitSeconds) => Metric::SessionsAsleep,
            _ if wait == Some("SOS_SCHEDULER_YIELD") => Metric::SessionsOnCpu,
            _ => Metric::SessionsWaitingForOthers,
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_known_by_their_names_and_families() {
        for (wait, expected) in [
            ("LOG_RATE_GOVERNOR", Some(Metric::LogRateGovernorWaitSeconds)),
            ("HADR_THROTTLE_LOG_RATE_SEND_RECV_QUEUE_SIZE", Some(Metric::LogRateGovernorWaitSeconds)),
            ("RBIO_RG_STORAGE", Some(Metric::LogRateGovernorWaitSeconds)),
            ("WRITELOG", Some(Metric::LogWriteWaitSeconds)),
            ("PAGEIOLATCH_EX", Some(Metric::DataReadWaitSeconds)),
            ("PAGELATCH_EX", None),
            ("LCK_M_RS_S", Some(Metric::LockWaitSeconds)),
            ("ASYNC_NETWORK_IO", Some(Metric::ClientWaitSeconds)),
            ("THREADPOOL", Some(Metric::WorkerWaitSeconds)),
            ("WAITFOR", Some(Metric::SleepWaitSeconds)),
            ("WAITFOR_TASKSHUTDOWN", None),
            ("SOS_SCHEDULER_YIELD", None),
        ] {
            assert_eq!(metric_of(wait), expected, "{wait}");
        }
        assert!(WAITS.iter().all(|(_, metric)| METRICS.contains(metric)));
    }

    #[test]
    fn sessions_are_counted_by_status_and_wait() {
        for (status, wait, expected) in [
            ("running", None, Some(Metric::SessionsOnCpu)),
            ("runnable", Some("PAGEIOLATCH_SH"), Some(Metric::SessionsOnCpu)),
            ("suspended", Some("SOS_SCHEDULER_YIELD"), Some(Metric::SessionsOnCpu)),
            ("suspended", Some("PAGEIOLATCH_SH"), Some(Metric::SessionsReadingData)),
            ("suspended", Some("WRITELOG"), Some(Metric::SessionsWritingLog)),
            ("suspended", Some("LOG_RATE_GOVERNOR"), Some(Metric::SessionsWaitingForOthers)),
            ("suspended", Some("CXPACKET"), Some(Metric::SessionsWaitingForOthers)),
            ("sleeping", None, Some(Metric::SessionsWaitingForClients)),
            ("background", Some("LCK_M_X"), None),
        ] {
            assert_eq!(gauge_of(status, wait), expected, "{status} {wait:?}");
        }
    }
}
