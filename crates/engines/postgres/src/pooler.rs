//! Poolers between us and the server. One that hands the server's sessions from client to client, a transaction each (`PgBouncer`'s
//! `pool_mode=transaction`), would give our settings to others and our statements to sessions of others: a table's name would mean a table
//! of the user's, and a lease would stay with nobody.

use std::time::Duration;

use plimsoll_engine::server::link::Refused;
use plimsoll_engine::{Error, ErrorKind, Result};

use super::connection::Connection;
use super::statements::sql;

/// How often it is looked whether another client gets our session. A pooler gives the one that was used last, or the next one.
const LOOKS: usize = 3;
const PATIENCE: Duration = Duration::from_secs(5);

/// Lets a session pass that is the server's own: a server gives the number of its process at log-in (PostgreSQL manual, 55.2.1,
/// `BackendKeyData`), and a pooler can't know it. With `may_be_pooled`, also one that stays ours while another client works.
///
/// # Errors
/// [`ErrorKind::Safety`] if a pooler stands between, and those of the line.
pub(super) fn refuse(
    connection: &mut Connection,
    number: i32,
    may_be_pooled: bool,
    another: impl Fn() -> std::result::Result<Connection, Refused>,
) -> Result<()> {
    let own = session(connection)?;
    if own == number {
        return Ok(());
    }
    let address = connection.errors.address.clone();
    let refused = |what: &str| {
        Error::new(
            ErrorKind::Safety,
            format!("at {address} a connection pooler stands between plimsoll and the server{what}"),
        )
    };
    if !may_be_pooled {
        return Err(refused("").hint(
            "name the server's own port; a pooler that gives each client a session of its own (pool_mode=session) can be used with \
             pooler=session in the URL",
        ));
    }
    let shared = || {
        refused(", and the server's sessions pass from client to client").hint(
            "name the server's own port, or let the pooler give each client a session of its own (pool_mode=session)",
        )
    };
    // With one session for all of them, ours would wait for the other client's.
    connection.link.set_timeout(Some(PATIENCE));
    for _ in 0..LOOKS {
        // Without a session for another client there is only this one, which we have.
        let Ok(mut other) = another() else { break };
        other.run("BEGIN")?;
        let theirs = session(&mut other);
        let is_ours = session(connection).is_ok_and(|number| number == own);
        other.run("ROLLBACK")?;
        if theirs? == own || !is_ours {
            return Err(shared());
        }
    }
    connection.link.set_timeout(None);
    Ok(())
}

fn session(connection: &mut Connection) -> Result<i32> {
    connection.value(sql("number of the session"), &[])
}
