//! The lease on a place: an advisory lock of a session that does nothing else, so it falls when its client dies.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_clock::Clock;
use plimsoll_engine::database::{ClaimMode, Lease, Workspace};
use plimsoll_engine::error::{Error, ErrorKind, Result};

use super::connect::Connector;
use super::connection::Connection;
use super::workspace::{self, Owner};

/// After a lost connection the server may take a moment to notice, and holds the lock until then.
const RENEW_ATTEMPTS: u32 = 100;
const RENEW_PAUSE: Duration = Duration::from_millis(50);

/// So long a session that holds a lock may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// A lock on a place's name.
pub(super) struct PostgresLease {
    connector: Arc<Connector>,
    clock: Arc<dyn Clock>,
    workspace: Workspace,
    shared: bool,
    /// `None` only while it is being renewed, or when that failed.
    connection: Option<Connection>,
}

impl PostgresLease {
    /// Takes the lease if nothing stands against it.
    pub(super) fn claim(
        connector: &Arc<Connector>,
        clock: &Arc<dyn Clock>,
        workspace: &Workspace,
        mode: ClaimMode,
    ) -> Result<Option<Self>> {
        let mut connection = workspace::lease_connection(connector, workspace)?;
        let shared = mode == ClaimMode::Shared;
        if !workspace::try_lock(&mut connection, workspace, shared)? {
            return Ok(None);
        }
        let owner = workspace::owner(&mut connection, workspace)?;
        let (connector, clock) = (Arc::clone(connector), Arc::clone(clock));
        // From here on the lock is given back whatever happens.
        let mut lease = Self { connector, clock, workspace: workspace.clone(), shared, connection: Some(connection) };
        match owner {
            Owner::We => Ok(Some(lease)),
            Owner::Somebody => Err(workspace::foreign(workspace)),
            Owner::Nobody if shared => Ok(None),
            // Under the lock, so that no two programs make it and none removes it in between.
            Owner::Nobody => {
                lease.with_connection(|connection| workspace::create(connection, workspace))?;
                Ok(Some(lease))
            }
        }
    }

    fn with_connection<T>(&mut self, work: impl FnOnce(&mut Connection) -> Result<T>) -> Result<T> {
        match &mut self.connection {
            Some(connection) => work(connection),
            None => Err(self.lost()),
        }
    }

    fn lost(&self) -> Error {
        Error::new(ErrorKind::Lost, format!("the lease on {} was lost", self.workspace))
            .hint("look into the server's log for the reason, then start again; plimsoll clean removes what is left")
    }
}

impl Lease for PostgresLease {
    fn renew(&mut self) -> Result<()> {
        // A session that still answers still has its lock.
        if let Some(connection) = &mut self.connection {
            connection.set_timeout(Some(PATIENCE));
            if connection.run("").is_ok() {
                connection.set_timeout(None);
                return Ok(());
            }
        }
        self.connection = None;
        let mut connection = workspace::lease_connection(&self.connector, &self.workspace)?;
        let mut attempt = 1;
        while !workspace::try_lock(&mut connection, &self.workspace, self.shared)? {
            if attempt == RENEW_ATTEMPTS {
                return Err(Error::new(ErrorKind::Busy, format!("somebody else took the lease on {}", self.workspace))
                    .hint("another run works with the same data; start again when it has ended"));
            }
            attempt += 1;
            self.clock.sleep(RENEW_PAUSE);
        }
        match workspace::owner(&mut connection, &self.workspace)? {
            Owner::We => {}
            Owner::Somebody => return Err(workspace::foreign(&self.workspace)),
            Owner::Nobody => {
                let message = format!("{} was removed while its lease was lost", self.workspace);
                return Err(Error::new(ErrorKind::Missing, message).hint("start again"));
            }
        }
        self.connection = Some(connection);
        Ok(())
    }

    fn share(&mut self) -> Result<()> {
        if self.shared {
            return Ok(());
        }
        let workspace = self.workspace.clone();
        // A session is never in its own way, so it may hold both for a moment.
        let taken = self.with_connection(|connection| workspace::try_lock(connection, &workspace, true))?;
        if !taken {
            return Err(self.lost());
        }
        self.with_connection(|connection| workspace::unlock(connection, &workspace))?;
        self.shared = true;
        Ok(())
    }
}

impl Drop for PostgresLease {
    /// Unlocks before closing: the server may end the session a moment after we have gone, and the next claim should not
    /// have to wait for that.
    fn drop(&mut self) {
        if let Some(connection) = &mut self.connection {
            connection.set_timeout(Some(PATIENCE));
            // If it fails the session is dead and the lock with it.
            let _ = connection.run("SELECT pg_advisory_unlock_all()");
        }
    }
}
