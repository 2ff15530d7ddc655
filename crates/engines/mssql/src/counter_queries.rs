//! Waits of SQL Server by what they are waits for, and what its sessions do now.
//!
//! Source: Microsoft's pages on `sys.dm_os_wait_stats`, on the limits of a logical server and on `sys.query_store_wait_stats`.

use plimsoll_measurement::Counter;

/// Beginnings of the names of waits; the first that fits counts.
const WAITS: [(&str, Counter); 14] = [
    ("LOG_RATE_GOVERNOR", Counter::LogRateGovernorWaitSeconds),
    ("POOL_LOG_RATE_GOVERNOR", Counter::LogRateGovernorWaitSeconds),
    ("INSTANCE_LOG_RATE_GOVERNOR", Counter::LogRateGovernorWaitSeconds),
    ("HADR_THROTTLE_LOG_RATE_", Counter::LogRateGovernorWaitSeconds),
    ("RBIO_RG_", Counter::LogRateGovernorWaitSeconds),
    ("WRITELOG", Counter::LogWriteWaitSeconds),
    ("LOGBUFFER", Counter::LogWriteWaitSeconds),
    ("LOGMGR_FLUSH", Counter::LogWriteWaitSeconds),
    ("PAGEIOLATCH_", Counter::DataReadWaitSeconds),
    ("LCK_M_", Counter::LockWaitSeconds),
    ("ASYNC_NETWORK_IO", Counter::ClientWaitSeconds),
    ("NET_WAITFOR_PACKET", Counter::ClientWaitSeconds),
    ("THREADPOOL", Counter::WorkerWaitSeconds),
    ("WAITFOR", Counter::SleepWaitSeconds),
];

/// Metrics of waits. What nobody has waited for yet is not in the view, and is 0.
pub(super) const METRICS: [Counter; 7] = [
    Counter::LogRateGovernorWaitSeconds,
    Counter::LogWriteWaitSeconds,
    Counter::DataReadWaitSeconds,
    Counter::LockWaitSeconds,
    Counter::ClientWaitSeconds,
    Counter::WorkerWaitSeconds,
    Counter::SleepWaitSeconds,
];

/// What a wait is for, where that is of use.
pub(super) fn metric_of(wait: &str) -> Option<Counter> {
    // Other waits of the server's own begin so.
    let known = |(name, _): &&(&str, Counter)| wait == *name || (name.ends_with('_') && wait.starts_with(name));
    WAITS.iter().find(known).map(|(_, metric)| *metric)
}

/// What a session counts as, by its status and what it waits for.
pub(super) fn gauge_of(status: &str, wait: Option<&str>) -> Option<Counter> {
    match status {
        "running" | "runnable" => Some(Counter::SessionsOnCpu),
        // It has an open transaction and no request.
        "sleeping" | "dormant" => Some(Counter::SessionsWaitingForClients),
        "suspended" | "pending" | "rollback" => Some(match wait.and_then(metric_of) {
            Some(Counter::DataReadWaitSeconds) => Counter::SessionsReadingData,
            Some(Counter::LogWriteWaitSeconds) => Counter::SessionsWritingLog,
            Some(Counter::LockWaitSeconds) => Counter::SessionsWaitingForLocks,
            Some(Counter::ClientWaitSeconds) => Counter::SessionsWaitingForClients,
            Some(Counter::SleepWaitSeconds) => Counter::SessionsAsleep,
            _ if wait == Some("SOS_SCHEDULER_YIELD") => Counter::SessionsOnCpu,
            _ => Counter::SessionsWaitingForOthers,
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
            ("LOG_RATE_GOVERNOR", Some(Counter::LogRateGovernorWaitSeconds)),
            ("HADR_THROTTLE_LOG_RATE_SEND_RECV_QUEUE_SIZE", Some(Counter::LogRateGovernorWaitSeconds)),
            ("RBIO_RG_STORAGE", Some(Counter::LogRateGovernorWaitSeconds)),
            ("WRITELOG", Some(Counter::LogWriteWaitSeconds)),
            ("PAGEIOLATCH_EX", Some(Counter::DataReadWaitSeconds)),
            ("PAGELATCH_EX", None),
            ("LCK_M_RS_S", Some(Counter::LockWaitSeconds)),
            ("ASYNC_NETWORK_IO", Some(Counter::ClientWaitSeconds)),
            ("THREADPOOL", Some(Counter::WorkerWaitSeconds)),
            ("WAITFOR", Some(Counter::SleepWaitSeconds)),
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
            ("running", None, Some(Counter::SessionsOnCpu)),
            ("runnable", Some("PAGEIOLATCH_SH"), Some(Counter::SessionsOnCpu)),
            ("suspended", Some("SOS_SCHEDULER_YIELD"), Some(Counter::SessionsOnCpu)),
            ("suspended", Some("PAGEIOLATCH_SH"), Some(Counter::SessionsReadingData)),
            ("suspended", Some("WRITELOG"), Some(Counter::SessionsWritingLog)),
            ("suspended", Some("LOG_RATE_GOVERNOR"), Some(Counter::SessionsWaitingForOthers)),
            ("suspended", Some("CXPACKET"), Some(Counter::SessionsWaitingForOthers)),
            ("sleeping", None, Some(Counter::SessionsWaitingForClients)),
            ("background", Some("LCK_M_X"), None),
        ] {
            assert_eq!(gauge_of(status, wait), expected, "{status} {wait:?}");
        }
    }
}
