//! What is ours is removed wherever sessions have been: of several hosts the first may have failed, and work again.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_engine::server::place::{self, CONTROL};
use plimsoll_engine::{Error, ErrorKind, Result, Workspace, WorkspaceKind};

use super::connect::Connector;
use super::statements::filled;
use super::{copies, workspace};

/// How long removing waits for a lock, unless it was interrupted.
const LOCK_PATIENCE: Duration = Duration::from_mins(1);

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
    let removed =
        host.is_standby().and_then(|is_standby| if is_standby { Ok(true) } else { remove_at(host, workspace) });
    removed.map(drop).map_err(|error| {
        if !matches!(error.kind, ErrorKind::Connect | ErrorKind::Lost) {
            return error;
        }
        let message = format!(
            "sessions were at {} before, and what was made there is still there: {}",
            host.errors.address, error.message
        );
        Error::new(error.kind, message)
    })
}

fn remove_at(connector: &Arc<Connector>, workspace: &Workspace) -> Result<bool> {
    place::remove(connector.as_ref(), workspace, |connection| {
        let patience = connector.route.lines.patience_for_locks(LOCK_PATIENCE).as_secs().to_string();
        connection.set(&filled("patience for locks", &[("seconds", &patience)]))?;
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
