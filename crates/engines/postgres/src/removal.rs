//! What is ours is removed wherever sessions have been: of several hosts the first may have failed, and work again.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_engine::server::place::{self, CONTROL};
use plimsoll_engine::{Error, ErrorKind, Result, Workspace, WorkspaceKind, WorkspaceStatus};

use super::connect::Connector;
use super::connection::Connection;
use super::identity::ALONE;
use super::statements::{filled, sql};
use super::{copies, workspace};

/// How long removing waits for a lock, unless it was interrupted.
const LOCK_PATIENCE: Duration = Duration::from_mins(1);

/// Why nothing is removed at a standby.
const OF_STANDBY: &str =
    "this server is a standby: it is removed at the primary, and goes here where the standby follows";

/// How often a standby is asked whether it has followed, and after which pause: five seconds in all.
const STANDBY_TRIES: u32 = 50;
const STANDBY_PAUSE: Duration = Duration::from_millis(100);

/// Removes a place; `false` where somebody works in it.
///
/// # Errors
/// Also if it may still be at a server where sessions have been.
pub(super) fn remove(connector: &Arc<Connector>, workspace: &Workspace) -> Result<bool> {
    let removed = remove_at(connector, workspace)?;
    let left = connector.left();
    for host in &left {
        remove_left(&Arc::new(host.clone()), workspace)?;
    }
    // Behind an address that moves there is nothing to connect to.
    if let (true, Ok(mut connection)) = (left.is_empty(), connector.connect(CONTROL)) {
        connector.identity.check_same(&mut connection)?;
    }
    Ok(removed)
}

/// The same at a host that sessions have left. Of a standby its primary drops it.
fn remove_left(host: &Arc<Connector>, workspace: &Workspace) -> Result<()> {
    let removed = host
        .connect(CONTROL)
        .and_then(|mut connection| is_standby(&mut connection))
        .and_then(|is_standby| if is_standby { goes(host, workspace) } else { remove_at(host, workspace).map(drop) });
    removed.map_err(|error| {
        let message = format!(
            "sessions were at {} before, and what was made there is still there: {}",
            host.errors.address, error.message
        );
        Error { message, ..error }
    })
}

/// Waits until a standby has not got a place any more that its primary dropped.
fn goes(standby: &Arc<Connector>, workspace: &Workspace) -> Result<()> {
    for _ in 0..STANDBY_TRIES {
        if !list(standby)?.iter().any(|status| status.workspace == *workspace) {
            return Ok(());
        }
        standby.clock.sleep(STANDBY_PAUSE);
    }
    let message = "it is a standby now, and has not followed where that was removed";
    Err(Error::new(ErrorKind::Lost, message).hint(ALONE))
}

/// All places at a server.
pub(super) fn list(connector: &Arc<Connector>) -> Result<Vec<WorkspaceStatus>> {
    let mut connection = connector.connect(CONTROL)?;
    let mut found = workspace::list(&mut connection, &connector.intents)?;
    found.extend(copies::list(&mut connection, connector)?);
    if is_standby(&mut connection)? {
        for status in &mut found {
            status.not_ours.get_or_insert_with(|| Error::safety(OF_STANDBY));
        }
    }
    Ok(found)
}

/// Whether what is made there comes from a primary.
fn is_standby(connection: &mut Connection) -> Result<bool> {
    Ok(connection.row(sql("whether it is a standby"), &[])?.is_true(0))
}

fn remove_at(connector: &Arc<Connector>, workspace: &Workspace) -> Result<bool> {
    place::remove(connector.as_ref(), workspace, |connection| {
        let patience = connector.route.lines.patience_for_locks(LOCK_PATIENCE).as_secs().to_string();
        connection.set(&filled("patience for locks", &[("seconds", &patience)]))?;
        // What is found to be in the way of removing would not be the reason.
        if connection.row(sql("whether it can be written"), &[])?.text(0) == Some("on") {
            return Err(Error::new(ErrorKind::Permission, "the database takes no writes: its sessions are read-only")
                .hint("see default_transaction_read_only, and whether the server is a standby"));
        }
        if workspace.kind() != WorkspaceKind::Copy {
            return workspace::drop_schema(connection, workspace).map(|()| true);
        }
        // Its run may work from another database, where our lock says nothing.
        if workspace::is_locked_anywhere(connection, &workspace.leased_by())? {
            return Ok(false);
        }
        copies::drop_database(connection, connector, workspace).map(|()| true)
    })
}
