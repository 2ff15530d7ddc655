//! Making tables cold: by a restart if a command is given, else by emptying the server's cache. That hits everybody
//! there, so it is done only if the target says so. Writing a table anew would leave it in the cache, so otherwise
//! nothing is done, which the run says, and the reads say how cold it was.

use plimsoll_clock::Clock;
use plimsoll_engine::server::restart::restart;
use plimsoll_engine::{Cold, ColdFollower, Error, ErrorKind, Result, Value, Workspace};

use super::abilities::{Abilities, Ability, PRIVILEGES};
use super::connect::Connector;
use super::control::Control;
use super::sql::{self, Product};
use plimsoll_engine::server::place::{CONTROL, WORK};

/// Makes everything cold for the run, and says what was done.
pub(super) fn make_cold(
    connector: &Connector,
    clock: &dyn Clock,
    (product, abilities): (Product, Abilities),
    run: &Workspace,
    cold: &Cold,
    follower: &mut dyn ColdFollower,
) -> Result<Vec<String>> {
    if cold.restart_command.is_some() && product == Product::Database {
        return Err(Error::new(ErrorKind::Unsupported, "a database in Azure has no server that could be restarted")
            .hint("leave out --restart-command"));
    }
    let mut done = restart(cold, clock, follower, || started_at(connector))?;
    if !done.is_empty() {
        return Ok(done);
    }
    if !connector.drop_clean_buffers {
        follower.warn(
            "nothing was done to make the tables cold: give --restart-command, or dropCleanBuffers=true in the target if the cache \
             of the whole server may be emptied, which others there feel"
                .to_owned(),
        );
    } else if !abilities.has(Ability::DropBuffers) {
        let known = PRIVILEGES.iter().find(|known| known.ability == Ability::DropBuffers);
        let grant = known.map_or_else(String::new, |known| known.remedy(product, &connector.errors.user));
        follower.warn(format!(
            "nothing was done to make the tables cold: the server's cache is not emptied here ({grant})"
        ));
    } else {
        let mut control = Control::connect(connector, &format!("{WORK}{run}"))?;
        follower.working(control.wire.canceller());
        // Only pages that are in the files already can be dropped. What a server says of its permissions need not be all.
        if abilities.has(Ability::Checkpoint) {
            attempt(&mut control, sql::CHECKPOINT.sql(), follower)?;
        }
        follower.check()?;
        if attempt(&mut control, sql::DROP_BUFFERS.sql(), follower)? {
            done.push("drop-clean-buffers".to_owned());
        }
    }
    Ok(done)
}

/// Runs a text; the run says so if the server refuses.
fn attempt(control: &mut Control, text: &str, follower: &mut dyn ColdFollower) -> Result<bool> {
    match control.run(text) {
        Ok(_) => Ok(true),
        Err(error) if matches!(error.kind, ErrorKind::Lost | ErrorKind::Cancelled) => Err(error),
        Err(error) => {
            follower.warn(format!("the server refuses {text}: {}", error.message));
            Ok(false)
        }
    }
}

/// When the server was started, in its own words. Asked by a session that ends at once: one that stays would hold up a
/// restart.
fn started_at(connector: &Connector) -> Result<String> {
    let mut control = Control::connect(connector, CONTROL)?;
    let rows = control.rows(sql::STARTED, &[])?;
    match rows.first().map(|row| row.get(0)) {
        Some(Value::DateTime(moment)) => Ok(moment.to_string()),
        _ => Err(Error::new(ErrorKind::Permission, "the server does not say when it was started")
            .hint("GRANT VIEW SERVER STATE, issued in master, lets the user see it")),
    }
}
