//! Orphans: working sessions of runs that died. Their names say which run they belong to; the run's lease says whether
//! it lives.

use std::collections::BTreeMap;
use std::time::Duration;

use plimsoll_clock::Clock;
use plimsoll_engine::database::Workspace;
use plimsoll_engine::error::{Error, ErrorKind, Result};
use plimsoll_engine::table::ColumnType;
use plimsoll_engine::value::Value;

use super::sql;
use super::workspace::{Control, WORK, text_of, whole};

/// How long ended sessions may take to go: they undo what they were doing, which takes about as long as doing it.
const END_PATIENCE: Duration = Duration::from_mins(10);
/// Pauses between looks, the first ones and those after some seconds.
const END_PAUSES: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(1)];
const SOON: Duration = Duration::from_secs(5);

/// Ends the working sessions of dead runs; returns how many. What we may not see or end stays.
pub(super) fn end_all(control: &mut Control<'_>, clock: &dyn Clock) -> Result<u32> {
    let mut ended = 0;
    for (run, sessions) in working_sessions(control)? {
        // Nobody can start to work for that run while we hold its lock.
        if control.try_lock(&run, false)? {
            let count = end(control, clock, &run, &sessions);
            control.unlock(&run)?;
            ended += count?;
        }
    }
    Ok(ended)
}

/// Working sessions of this database by run. Without permission nobody's but our own are to be seen.
fn working_sessions(control: &mut Control<'_>) -> Result<BTreeMap<Workspace, Vec<i64>>> {
    let rows = match control.rows(sql::WORKING_SESSIONS, &[], &[ColumnType::BigInt, ColumnType::Text(128)]) {
        Ok(rows) => rows,
        Err(error) if error.kind == ErrorKind::Lost => return Err(error),
        // A server without that view has no sessions that could be found.
        Err(_) => return Ok(BTreeMap::new()),
    };
    let mut found: BTreeMap<Workspace, Vec<i64>> = BTreeMap::new();
    for row in &rows {
        let run = text_of(row, 1).and_then(|name| Workspace::from_name(name.strip_prefix(WORK)?.trim_end()));
        if let (Some(session), Some(run)) = (whole(row, 0), run) {
            found.entry(run).or_default().push(session);
        }
    }
    Ok(found)
}

fn end(control: &mut Control<'_>, clock: &dyn Clock, run: &Workspace, sessions: &[i64]) -> Result<u32> {
    let name = format!("{WORK}{run}");
    let mut ended = 0;
    for session in sessions {
        let values = [Value::BigInt(*session), Value::Text(&name)];
        // The name is asked again: a number may have passed to another session in the meantime.
        if control.number(sql::IS_WORKING, &values)? != Some(1) {
            continue;
        }
        match control.run(&sql::kill(*session)) {
            Ok(_) => {}
            Err(error) if error.kind == ErrorKind::Lost => return Err(error),
            // Another user's session, or it went by itself: it is not ours to end.
            Err(_) => continue,
        }
        let start = clock.now();
        while control.number(sql::IS_WORKING, &values)? != Some(0) {
            let waited = clock.now().since(start);
            if waited >= END_PATIENCE {
                let message = format!("session {session} of {run}, whose run died, still undoes what it was doing");
                return Err(Error::new(ErrorKind::Busy, message)
                    .hint("a large transaction takes long to be rolled back; try again in some minutes"));
            }
            clock.sleep(END_PAUSES[usize::from(waited >= SOON)]);
        }
        ended += 1;
    }
    Ok(ended)
}
