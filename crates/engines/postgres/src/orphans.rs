//! Orphans: working sessions whose run died. Their names say whose they are; the run's lease says whether it lives.

use std::time::Duration;

use plimsoll_clock::Clock;
use plimsoll_engine::database::Workspace;
use plimsoll_engine::error::{ErrorKind, Result};

use super::connection::Connection;
use super::workspace::{self, WORK};

/// How long ended sessions may take to go: they undo what they were doing.
const END_ATTEMPTS: u32 = 200;
const END_PAUSE: Duration = Duration::from_millis(50);

/// Ends the working sessions of dead runs; returns how many. What we may not end stays.
pub(super) fn end_all(connection: &mut Connection, clock: &dyn Clock) -> Result<u32> {
    let sql = "SELECT application_name, string_agg(pid::text, ',') FROM pg_stat_activity \
               WHERE datname = current_database() AND starts_with(application_name, $1) GROUP BY 1 ORDER BY 1";
    let mut ended = 0;
    for row in connection.rows(sql, &[WORK])? {
        let run = row.text(0).and_then(|name| name.strip_prefix(WORK)).and_then(Workspace::from_name);
        let (Some(run), Some(pids)) = (run, row.text(1)) else { continue };
        // Nobody can start to work for that run while we hold its lock.
        if workspace::try_lock(connection, &run, false)? {
            let count = end(connection, clock, &run, pids);
            workspace::unlock(connection, &run)?;
            ended += count?;
        }
    }
    Ok(ended)
}

fn end(connection: &mut Connection, clock: &dyn Clock, run: &Workspace, pids: &str) -> Result<u32> {
    let name = format!("{WORK}{run}");
    let mut ending: Vec<&str> = Vec::new();
    // The name is asked again: a number may have passed to another session in the meantime.
    let sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = $1 AND application_name = $2";
    for pid in pids.split(',') {
        match connection.rows(sql, &[pid, &name]) {
            Ok(rows) if rows.first().is_some_and(|row| row.is_true(0)) => ending.push(pid),
            Ok(_) => {}
            // Another user's session: it is not ours to end.
            Err(error) if error.kind == ErrorKind::Permission => {}
            Err(error) => return Err(error),
        }
    }
    let sql = "SELECT count(*) FROM pg_stat_activity WHERE pid = ANY($1) AND application_name = $2";
    let pids = format!("{{{}}}", ending.join(","));
    for _ in 0..END_ATTEMPTS {
        if connection.value::<u64>(sql, &[&pids, &name])? == 0 {
            break;
        }
        clock.sleep(END_PAUSE);
    }
    Ok(ending.len() as u32)
}
