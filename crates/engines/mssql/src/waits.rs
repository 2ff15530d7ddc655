//! Waits of SQL Server by what they are waits for (`data/waits.toml`), and what its sessions do now.

use std::collections::HashMap;
use std::sync::LazyLock;

use plimsoll_engine::data::rows;
use plimsoll_measurement::{Counter, WaitClass};
use serde::Deserialize;

#[derive(Deserialize)]
struct Known {
    class: WaitClass,
    names: Vec<String>,
    #[cfg_attr(not(test), expect(dead_code, reason = "for readers of the table, and its test"))]
    source: String,
}

/// The table. A test reads it as well, so that it can't be empty.
static KNOWN: LazyLock<Vec<Known>> = LazyLock::new(|| rows(include_str!("../data/waits.toml")));

/// Its names with their classes.
static NAMES: LazyLock<Vec<(&str, WaitClass)>> = LazyLock::new(|| {
    KNOWN.iter().flat_map(|known| known.names.iter().map(|name| (name.as_str(), known.class))).collect()
});

/// Those that are whole names; the others are beginnings.
static WHOLE: LazyLock<HashMap<&str, WaitClass>> =
    LazyLock::new(|| NAMES.iter().copied().filter(|(name, _)| !name.ends_with('%')).collect());

/// What a wait is for. A whole name goes before a beginning.
pub fn class_of(wait: &str) -> WaitClass {
    let begins = |name: &str| name.strip_suffix('%').is_some_and(|beginning| wait.starts_with(beginning));
    let by_beginning = || NAMES.iter().find(|(name, _)| begins(name)).map(|(_, class)| *class);
    WHOLE.get(wait).copied().or_else(by_beginning).unwrap_or(WaitClass::Other)
}

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

/// The metric of a wait, where it is of use.
pub(super) fn metric_of(wait: &str) -> Option<Counter> {
    match class_of(wait) {
        WaitClass::LogRateGovernor => Some(Counter::LogRateGovernorWaitSeconds),
        WaitClass::LogWrite => Some(Counter::LogWriteWaitSeconds),
        WaitClass::DataRead => Some(Counter::DataReadWaitSeconds),
        WaitClass::Lock => Some(Counter::LockWaitSeconds),
        WaitClass::Client => Some(Counter::ClientWaitSeconds),
        WaitClass::Workers => Some(Counter::WorkerWaitSeconds),
        WaitClass::Sleep => Some(Counter::SleepWaitSeconds),
        WaitClass::DataSpill | WaitClass::Cpu | WaitClass::Parallelism | WaitClass::Idle | WaitClass::Other => None,
    }
}

/// What a session counts as, by its status and what it waits for.
pub(super) fn gauge_of(status: &str, wait: Option<&str>) -> Option<Counter> {
    match status {
        "running" | "runnable" => Some(Counter::SessionsOnCpu),
        // It has an open transaction and no request.
        "sleeping" | "dormant" => Some(Counter::SessionsWaitingForClients),
        "suspended" | "pending" | "rollback" => Some(match wait.map_or(WaitClass::Other, class_of) {
            // A request is one row, however many threads it has: while the first one waits for the others, those work.
            WaitClass::Cpu | WaitClass::Parallelism => Counter::SessionsOnCpu,
            WaitClass::DataRead => Counter::SessionsReadingData,
            WaitClass::DataSpill => Counter::SessionsWritingData,
            WaitClass::LogWrite | WaitClass::LogRateGovernor => Counter::SessionsWritingLog,
            WaitClass::Lock => Counter::SessionsWaitingForLocks,
            WaitClass::Client => Counter::SessionsWaitingForClients,
            WaitClass::Sleep | WaitClass::Idle => Counter::SessionsAsleep,
            WaitClass::Workers | WaitClass::Other => Counter::SessionsWaitingForOthers,
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
            ("HADR_SYNC_COMMIT", Some(Counter::LogWriteWaitSeconds)),
            ("PAGEIOLATCH_EX", Some(Counter::DataReadWaitSeconds)),
            ("PAGELATCH_EX", None),
            ("LCK_M_RS_S", Some(Counter::LockWaitSeconds)),
            ("ASYNC_NETWORK_IO", Some(Counter::ClientWaitSeconds)),
            ("THREADPOOL", Some(Counter::WorkerWaitSeconds)),
            ("WAITFOR", Some(Counter::SleepWaitSeconds)),
            ("WAITFOR_TASKSHUTDOWN", None),
            ("SOS_SCHEDULER_YIELD", None),
            ("CXPACKET", None),
        ] {
            assert_eq!(metric_of(wait), expected, "{wait}");
            assert!(class_of(wait) != WaitClass::Idle, "{wait}");
            assert!(expected.is_none_or(|metric| METRICS.contains(&metric)));
        }
    }

    #[test]
    fn idle_waits_are_told_from_those_of_work() {
        for wait in [
            "SOS_WORK_DISPATCHER",
            "DISPATCHER_QUEUE_SEMAPHORE",
            "REQUEST_FOR_DEADLOCK_SEARCH",
            "CLR_AUTO_EVENT",
            "SLEEP_TASK",
            "LOGMGR_QUEUE",
            "BROKER_TASK_STOP",
            "HADR_WORK_QUEUE",
            "QDS_PERSIST_TASK_MAIN_LOOP_SLEEP",
            "DIRTY_PAGE_POLL",
        ] {
            assert!(class_of(wait) == WaitClass::Idle && metric_of(wait).is_none(), "{wait}");
        }
        // Names that look like the others, and are limits or work.
        for wait in ["RESOURCE_GOVERNOR_IDLE", "IO_QUEUE_LIMIT", "SLEEP_BPOOL_FLUSH", "QDS_STMT", "A_NEW_ONE", "LOG"] {
            assert!(class_of(wait) != WaitClass::Idle && metric_of(wait).is_none(), "{wait}");
        }
    }

    #[test]
    fn a_name_stands_once_and_has_a_source() {
        let names: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
        assert!(names.len() > 100);
        for (at, name) in names.iter().enumerate() {
            assert!(!names[..at].contains(name), "{name} is there twice");
            let of_a_name = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
            assert!(name.trim_end_matches('%').chars().all(of_a_name), "{name}");
        }
        for known in KNOWN.iter() {
            let is_page = known.source.starts_with("relational-databases/") || known.source.starts_with("https://");
            assert!(is_page && !known.names.is_empty(), "{:?}", known.names);
        }
    }

    #[test]
    fn sessions_are_counted_by_status_and_wait() {
        for (status, wait, expected) in [
            ("running", None, Some(Counter::SessionsOnCpu)),
            ("runnable", Some("PAGEIOLATCH_SH"), Some(Counter::SessionsOnCpu)),
            ("suspended", Some("SOS_SCHEDULER_YIELD"), Some(Counter::SessionsOnCpu)),
            ("suspended", Some("CXPACKET"), Some(Counter::SessionsOnCpu)),
            ("suspended", Some("CXCONSUMER"), Some(Counter::SessionsOnCpu)),
            ("suspended", Some("PAGEIOLATCH_SH"), Some(Counter::SessionsReadingData)),
            ("suspended", Some("IO_COMPLETION"), Some(Counter::SessionsWritingData)),
            ("suspended", Some("WRITELOG"), Some(Counter::SessionsWritingLog)),
            ("suspended", Some("HADR_SYNC_COMMIT"), Some(Counter::SessionsWritingLog)),
            ("suspended", Some("LOG_RATE_GOVERNOR"), Some(Counter::SessionsWritingLog)),
            ("suspended", Some("RESOURCE_SEMAPHORE"), Some(Counter::SessionsWaitingForOthers)),
            ("suspended", None, Some(Counter::SessionsWaitingForOthers)),
            ("suspended", Some("SP_SERVER_DIAGNOSTICS_SLEEP"), Some(Counter::SessionsAsleep)),
            ("sleeping", None, Some(Counter::SessionsWaitingForClients)),
            ("background", Some("LCK_M_X"), None),
        ] {
            assert_eq!(gauge_of(status, wait), expected, "{status} {wait:?}");
        }
    }
}
