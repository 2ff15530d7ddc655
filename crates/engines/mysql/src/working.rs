//! Connections that work for a run.

use plimsoll_engine::server::place::WORK;
use plimsoll_engine::{Error, ErrorKind, RequestAccess, Result, Workspace};

use super::connect::Connector;
use super::connection::Connection;
use super::statements::{fill, text};
use super::workspace::work;

/// A connection that works in a place for a run: it holds the run's name, so that it is ended when the run's lease is gone.
pub(super) fn connect(
    connector: &Connector,
    workspace: &Workspace,
    run: &Workspace,
    access: RequestAccess,
) -> Result<Connection> {
    // A session that may only read is where the user's sessions are; one that writes is in our own place, and reaches others
    // by their names with the database in front.
    let usual = connector.database().filter(|_| access.read_only());
    let database = usual.unwrap_or_else(|| workspace.name());
    let mut connection = connector.connect_in(database, &format!("{WORK}{run}"))?;
    connection.set(connection.server.product.text("settings of a session"))?;
    if access.read_only() {
        connection.set(text("read only"))?;
    }
    let held = connection.ask_one(&fill("take the lock of a session", &[("lock", &work(run))]))?;
    if held.as_deref() == Some("1") {
        Ok(connection)
    } else {
        Err(Error::new(ErrorKind::Busy, "somebody else holds the lock by which a session is known")
            .hint("another program took a lock of ours; see what it is, then try again"))
    }
}
