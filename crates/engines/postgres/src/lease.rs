//! The lease on a place: an advisory lock of a session that does nothing else, so it falls when its client dies.

use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use plimsoll_clock::Clock;
use plimsoll_engine::database::{ClaimMode, Lease, Workspace};
use plimsoll_engine::error::{Error, ErrorKind, Result};
use postgres::Client;

use super::connect::Connector;
use super::error::Errors;
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
    client: Option<Client>,
}

impl PostgresLease {
    /// Takes the lease if nothing stands against it.
    pub(super) fn claim(
        connector: &Arc<Connector>,
        clock: &Arc<dyn Clock>,
        workspace: &Workspace,
        mode: ClaimMode,
    ) -> Result<Option<Self>> {
        let errors = &connector.errors;
        let mut client = workspace::lease_connection(connector, workspace)?;
        let shared = mode == ClaimMode::Shared;
        if !workspace::try_lock(&mut client, errors, workspace, shared)? {
            return Ok(None);
        }
        let owner = workspace::owner(&mut client, errors, workspace)?;
        let (connector, clock) = (Arc::clone(connector), Arc::clone(clock));
        // From here on the lock is given back whatever happens.
        let mut lease = Self { connector, clock, workspace: workspace.clone(), shared, client: Some(client) };
        match owner {
            Owner::We => Ok(Some(lease)),
            Owner::Somebody => Err(workspace::foreign(workspace)),
            Owner::Nobody if shared => Ok(None),
            // Under the lock, so that no two programs make it and none removes it in between.
            Owner::Nobody => {
                lease.with_client(|client, errors| workspace::create(client, errors, workspace))?;
                Ok(Some(lease))
            }
        }
    }

    fn with_client<T>(&mut self, work: impl FnOnce(&mut Client, &Errors) -> Result<T>) -> Result<T> {
        match &mut self.client {
            Some(client) => work(client, &self.connector.errors),
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
        self.client = self.client.take().and_then(|client| answering(client, ""));
        if self.client.is_some() {
            return Ok(());
        }
        let mut client = workspace::lease_connection(&self.connector, &self.workspace)?;
        let errors = &self.connector.errors;
        let mut attempt = 1;
        while !workspace::try_lock(&mut client, errors, &self.workspace, self.shared)? {
            if attempt == RENEW_ATTEMPTS {
                return Err(Error::new(ErrorKind::Busy, format!("somebody else took the lease on {}", self.workspace))
                    .hint("another run works with the same data; start again when it has ended"));
            }
            attempt += 1;
            self.clock.sleep(RENEW_PAUSE);
        }
        match workspace::owner(&mut client, errors, &self.workspace)? {
            Owner::We => {}
            Owner::Somebody => return Err(workspace::foreign(&self.workspace)),
            Owner::Nobody => {
                let message = format!("{} was removed while its lease was lost", self.workspace);
                return Err(Error::new(ErrorKind::Missing, message).hint("start again"));
            }
        }
        self.client = Some(client);
        Ok(())
    }

    fn share(&mut self) -> Result<()> {
        if self.shared {
            return Ok(());
        }
        let workspace = self.workspace.clone();
        // A session is never in its own way, so it may hold both for a moment.
        let taken = self.with_client(|client, errors| workspace::try_lock(client, errors, &workspace, true))?;
        if !taken {
            return Err(self.lost());
        }
        self.with_client(|client, errors| workspace::unlock(client, errors, &workspace))?;
        self.shared = true;
        Ok(())
    }
}

impl Drop for PostgresLease {
    /// Unlocks before closing: the server may end the session a moment after we have gone, and the next claim should not
    /// have to wait for that.
    fn drop(&mut self) {
        // If it fails the session is dead and the lock with it.
        drop(self.client.take().and_then(|client| answering(client, "SELECT pg_advisory_unlock_all()")));
    }
}

/// The session, if it answers this in time. A server that is frozen is left alone with it, in a thread of its own.
fn answering(mut client: Client, sql: &'static str) -> Option<Client> {
    let (sender, receiver) = mpsc::channel();
    let ask = move || {
        if client.batch_execute(sql).is_ok() {
            // Who no longer waits has given it up.
            let _ = sender.send(client);
        }
    };
    thread::Builder::new().name("lease".to_owned()).spawn(ask).ok()?;
    receiver.recv_timeout(PATIENCE).ok()
}
