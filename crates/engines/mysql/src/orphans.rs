//! Orphans: working sessions of runs that died. A working session holds a lock with the name of its run and its own
//! number; the run's lease says whether it lives.

use std::time::Duration;

use plimsoll_clock::Clock;
use plimsoll_engine::database::{Workspace, WorkspaceKind};
use plimsoll_engine::error::{ErrorKind, Result};

use super::connection::Connection;
use super::workspace;

/// How long ended sessions may take to go: they undo what they were doing.
const END_ATTEMPTS: u32 = 200;
const END_PAUSE: Duration = Duration::from_millis(50);

/// Ends the working sessions of dead runs; returns how many. What we may not see or end stays.
pub(super) fn end_all(connection: &mut Connection, clock: &dyn Clock) -> Result<u32> {
    let names = connection.ask("SHOW DATABASES LIKE 'plimsoll\\_%'")?;
    let runs = names.into_iter().flatten().flatten().filter_map(|name| Workspace::from_name(&name));
    let mut ended = 0;
    for run in runs.filter(|workspace| workspace.kind() == WorkspaceKind::Run) {
        // Nobody can start to work for that run while we hold its lock.
        if !working(connection, &run)?.is_empty() && workspace::try_lock(connection, &run, false)? {
            let count = end(connection, clock, &run);
            workspace::unlock(connection, &run)?;
            ended += count?;
        }
    }
    Ok(ended)
}

/// Numbers of the sessions that work for a run.
fn working(connection: &mut Connection, run: &Workspace) -> Result<Vec<String>> {
    let lock = workspace::work(run);
    let sql = format!("SELECT ID FROM information_schema.PROCESSLIST WHERE IS_USED_LOCK(CONCAT('{lock}', ID)) = ID");
    Ok(connection.ask(&sql)?.into_iter().flatten().flatten().collect())
}

fn end(connection: &mut Connection, clock: &dyn Clock, run: &Workspace) -> Result<u32> {
    let mut ending = Vec::new();
    for id in working(connection, run)? {
        match connection.run(&format!("KILL {id}")) {
            Ok(_) => ending.push(id),
            // Another user's session is not ours to end; one that has gone is gone.
            Err(error) if matches!(error.kind, ErrorKind::Permission | ErrorKind::Statement) => {}
            Err(error) => return Err(error),
        }
    }
    for _ in 0..END_ATTEMPTS {
        let left = working(connection, run)?;
        if !ending.iter().any(|id| left.contains(id)) {
            break;
        }
        clock.sleep(END_PAUSE);
    }
    Ok(ending.len() as u32)
}
