//! What the server lets this user see of it while a test runs, found out by asking.

use plimsoll_engine::{Capability, ErrorKind, Result};

use super::connection::Connection;

/// Something that a sampler uses.
struct Privilege {
    name: &'static str,
    /// Gives true if it is there. One that can't be asked is not.
    sql: &'static str,
    cost: &'static str,
    remedy: &'static str,
}

const PRIVILEGES: [Privilege; 7] = [
    Privilege {
        name: "sessions of others",
        sql: "SELECT pg_has_role(current_user, 'pg_read_all_stats', 'usage')",
        cost: "while another user is connected, how many sessions of others are at work is left out",
        remedy: "GRANT pg_read_all_stats TO user, or pg_monitor, which has it",
    },
    Privilege {
        name: "track_activities",
        sql: "SELECT current_setting('track_activities')::bool",
        cost: "what sessions do and wait for is left out",
        remedy: "ALTER SYSTEM SET track_activities = on; SELECT pg_reload_conf()",
    },
    Privilege {
        name: "track_counts",
        sql: "SELECT current_setting('track_counts')::bool",
        cost: "pages that were looked for and not found, and commits, are left out",
        remedy: "ALTER SYSTEM SET track_counts = on; SELECT pg_reload_conf()",
    },
    Privilege {
        name: "track_io_timing",
        sql: "SELECT current_setting('track_io_timing')::bool",
        cost: "how long reads of data files take is left out",
        remedy: "ALTER SYSTEM SET track_io_timing = on; SELECT pg_reload_conf(); pg_test_timing tells what that costs",
    },
    Privilege {
        name: "track_wal_io_timing",
        sql: "SELECT current_setting('track_wal_io_timing')::bool",
        cost: "how long writes and syncs of the log take is left out",
        remedy: "from version 14 on: ALTER SYSTEM SET track_wal_io_timing = on; SELECT pg_reload_conf()",
    },
    Privilege {
        name: "position of the log",
        sql: "SELECT pg_is_in_recovery() OR pg_current_wal_lsn() IS NOT NULL",
        cost: "bytes of the log are left out",
        remedy: "GRANT EXECUTE ON FUNCTION pg_current_wal_lsn() TO user",
    },
    Privilege {
        name: "counts of log writes",
        sql: "SELECT current_setting('server_version_num')::int >= 140000",
        cost: "writes and syncs of the log are left out",
        remedy: "version 14 or later has them",
    },
];

/// Asks for all of them.
pub(super) fn detect(connection: &mut Connection) -> Result<Vec<Capability>> {
    let mut capabilities = Vec::new();
    for Privilege { name, sql, cost, remedy } in PRIVILEGES {
        let works = match connection.row(sql, &[]) {
            Ok(row) => row.is_true(0),
            Err(error) if error.kind == ErrorKind::Lost => return Err(error),
            Err(_) => false,
        };
        capabilities.push(Capability { name, works, cost, remedy: (!works).then(|| remedy.to_owned()) });
    }
    Ok(capabilities)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    #[test]
    fn the_documents_have_the_table_of_capabilities() {
        let mut table = "| capability | without it | what gives it |\n|---|---|---|\n".to_owned();
        for Privilege { name, cost, remedy, .. } in PRIVILEGES {
            let _ = writeln!(table, "| {name} | {cost} | {remedy} |");
        }
        let document = include_str!("../../../../docs/ENGINES.md");
        assert!(document.contains(&table), "docs/ENGINES.md should have this table:\n{table}");
    }
}
