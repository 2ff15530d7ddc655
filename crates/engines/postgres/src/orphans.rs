//! Orphans: working sessions whose run died. Their names say whose they are; the run's lease says whether it lives.

use std::time::Duration;

use plimsoll_clock::Clock;
use plimsoll_engine::database::Workspace;
use plimsoll_engine::error::Result;
use postgres::Client;
use postgres::error::SqlState;

use super::error::Errors;
use super::workspace::{self, WORK};

/// How long ended sessions may take to go: they undo what they were doing.
const END_ATTEMPTS: u32 = 200;
const END_PAUSE: Duration = Duration::from_millis(50);

/// Ends the working sessions of dead runs; returns how many. What we may not end stays.
pub(super) fn end_all(client: &mut Client, errors: &Errors, clock: &dyn Clock) -> Result<u32> {
    let mut ended = 0;
    for (run, pids) in working_sessions(client, errors)? {
        // Nobody can start to work for that run while we hold its lock.
        if workspace::try_lock(client, errors, &run, false)? {
            let count = end(client, errors, clock, &run, &pids);
            workspace::unlock(client, errors, &run)?;
            ended += count?;
        }
    }
    Ok(ended)
}

/// Working sessions of this database by run.
fn working_sessions(client: &mut Client, errors: &Errors) -> Result<Vec<(Workspace, Vec<i32>)>> {
    let failed = |error: postgres::Error| errors.running(&error);
    let sql = "SELECT application_name, array_agg(pid) FROM pg_stat_activity \
               WHERE datname = current_database() AND starts_with(application_name, $1) GROUP BY 1 ORDER BY 1";
    let mut found = Vec::new();
    for row in client.query(sql, &[&WORK]).map_err(failed)? {
        let name: &str = row.try_get(0).map_err(failed)?;
        if let Some(run) = name.strip_prefix(WORK).and_then(Workspace::from_name) {
            found.push((run, row.try_get(1).map_err(failed)?));
        }
    }
    Ok(found)
}

fn end(client: &mut Client, errors: &Errors, clock: &dyn Clock, run: &Workspace, pids: &[i32]) -> Result<u32> {
    let name = format!("{WORK}{run}");
    let mut ending: Vec<i32> = Vec::new();
    // The name is asked again: a number may have passed to another session in the meantime.
    let sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = $1 AND application_name = $2";
    for pid in pids {
        match client.query_opt(sql, &[pid, &name]) {
            Ok(Some(row)) if row.try_get(0).unwrap_or(false) => ending.push(*pid),
            Ok(_) => {}
            // Another user's session: it is not ours to end.
            Err(error) if error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) => {}
            Err(error) => return Err(errors.running(&error)),
        }
    }
    let sql = "SELECT count(*) FROM pg_stat_activity WHERE pid = ANY($1) AND application_name = $2";
    for _ in 0..END_ATTEMPTS {
        let row = client.query_one(sql, &[&ending, &name]).map_err(|error| errors.running(&error))?;
        if row.try_get::<_, i64>(0).map_err(|error| errors.running(&error))? == 0 {
            break;
        }
        clock.sleep(END_PAUSE);
    }
    Ok(ending.len() as u32)
}
