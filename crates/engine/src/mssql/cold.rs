//! Making tables cold: by a restart if a command is given, else by emptying the server's cache where that is allowed. Writing a
//! table anew would leave it in the cache, so where neither is possible nothing is done, and the reads say how cold it was.

use plimsoll_clock::Clock;

use super::connect::Connector;
use super::describe::{Abilities, Ability};
use super::place::{CONTROL, Control, WORK};
use super::sql::{self, Product};
use crate::database::{Cold, ColdFollower, Place};
use crate::error::{Error, ErrorKind, Result};
use crate::restart;
use crate::table::ColumnType;
use crate::value::Value;

/// Makes everything cold for the run, and says what was done.
pub(super) fn make_cold(
    connector: &Connector,
    clock: &dyn Clock,
    (product, abilities): (Product, Abilities),
    run: &Place,
    cold: &Cold,
    follower: &mut dyn ColdFollower,
) -> Result<Vec<String>> {
    let mut done = Vec::new();
    follower.check()?;
    if let Some(command) = &cold.restart_command {
        if product == Product::Database {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "a database in Azure has no server that could be restarted",
            )
            .hint("leave out --restart-command"));
        }
        restart::restart(command, clock, follower, || started_at(connector))?;
        done.push("restart".to_owned());
    } else if abilities.has(Ability::DropBuffers) {
        let mut control = Control::connect(connector, &format!("{WORK}{run}"))?;
        follower.working(control.wire.canceller());
        // Only pages that are in the files already can be dropped.
        if abilities.has(Ability::Checkpoint) {
            control.run(sql::CHECKPOINT.sql)?;
        }
        follower.check()?;
        match control.run(sql::DROP_BUFFERS.sql) {
            Ok(_) => done.push("drop-clean-buffers".to_owned()),
            Err(error) if matches!(error.kind, ErrorKind::Lost | ErrorKind::Cancelled) => return Err(error),
            // What a server says of its permissions need not be all.
            Err(error) => tracing::debug!(%error, "the cache is not emptied"),
        }
    }
    Ok(done)
}

/// When the server was started, in its own words. Asked by a session that ends at once: one that stays would hold up a
/// restart.
fn started_at(connector: &Connector) -> Result<String> {
    let mut control = Control::connect(connector, CONTROL)?;
    let rows = control.rows(sql::STARTED, &[], &[ColumnType::DateTime])?;
    match rows.first().map(|row| row.get(0)) {
        Some(Value::DateTime(moment)) => Ok(moment.to_string()),
        _ => Err(Error::new(ErrorKind::Permission, "the server does not say when it was started")
            .hint("GRANT VIEW SERVER STATE lets the user see it")),
    }
}
