//! Connections that work for a run, and what cancels their statements.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_engine::database::{Cancel, Workspace};
use plimsoll_engine::error::{Error, ErrorKind, Result};
use plimsoll_engine::request::RequestAccess;
use plimsoll_engine::server::place::WORK;
use plimsoll_engine::server::socket::Breaker;

use super::connect::Connector;
use super::connection::Connection;
use super::workspace::{settings, work};

/// How long a cancellation may hold up the thread that makes it.
const CANCEL_PATIENCE: Duration = Duration::from_secs(2);

/// A connection that works in a place for a run: it holds the run's name, so that it is ended when the run's lease is gone.
pub(super) fn connect(
    connector: &Connector,
    workspace: &Workspace,
    run: &Workspace,
    access: RequestAccess,
) -> Result<Connection> {
    // Whoever may only read is where the user's sessions are; a session that writes is in our own place, and reaches others
    // by their names with the database in front.
    let usual = connector.database().filter(|_| access.read_only());
    let database = usual.unwrap_or_else(|| workspace.name());
    let mut connection = connector.connect_in(database, &format!("{WORK}{run}"))?;
    let settings = settings(&connection);
    connection.run(&settings)?;
    if access.read_only() {
        connection.run("SET SESSION TRANSACTION READ ONLY")?;
    }
    let held = connection.ask_one(&format!("SELECT GET_LOCK(CONCAT('{}', CONNECTION_ID()), 0)", work(run)))?;
    if held.as_deref() == Some("1") {
        Ok(connection)
    } else {
        Err(Error::new(ErrorKind::Busy, "somebody else holds the lock by which a session is known")
            .hint("another program took a lock of ours; see what it is, then try again"))
    }
}

/// Cancels over a connection of its own, protected like the session's.
pub(super) struct KillQuery {
    connector: Arc<Connector>,
    id: u32,
    breaker: Option<Breaker>,
}

impl KillQuery {
    /// Cancels the statements of that connection.
    pub(super) fn of(connection: &Connection, connector: &Arc<Connector>) -> Arc<Self> {
        Arc::new(Self { connector: Arc::clone(connector), id: connection.id, breaker: connection.breaker() })
    }
}

impl Cancel for KillQuery {
    fn cancel(&self) {
        // A server that can't be reached has nothing to cancel, or will notice by itself that we are gone.
        if let Ok(mut connection) = self.connector.connect_within("plimsoll cancel", CANCEL_PATIENCE) {
            connection.set_timeout(Some(CANCEL_PATIENCE));
            let _ = connection.run(&format!("KILL QUERY {}", self.id));
        }
    }

    fn sever(&self) {
        self.breaker.iter().for_each(Breaker::shut);
    }
}
