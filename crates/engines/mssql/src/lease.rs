//! The lease on a place: an application lock of a session that does nothing else, so it falls when its client dies.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_clock::Clock;
use plimsoll_engine::database::{ClaimMode, Lease, Workspace};
use plimsoll_engine::error::{Error, ErrorKind, Result};

use super::connect::Connector;
use super::wire::Wire;
use super::workspace::{self, Control, Owner};

/// After a lost connection the server may take a moment to notice, and holds the lock until then.
const RENEW_PATIENCE: Duration = Duration::from_secs(75);
const RENEW_PAUSE: Duration = Duration::from_millis(100);

/// A lock on a place's name.
pub(super) struct MssqlLease {
    connector: Arc<Connector>,
    clock: Arc<dyn Clock>,
    workspace: Workspace,
    shared: bool,
    /// `None` only while it is being renewed, or when that failed.
    wire: Option<Box<dyn Wire>>,
}

impl MssqlLease {
    /// Takes the lease if nothing stands against it.
    pub(super) fn claim(
        connector: &Arc<Connector>,
        clock: &Arc<dyn Clock>,
        workspace: &Workspace,
        mode: ClaimMode,
    ) -> Result<Option<Self>> {
        let mut control = Control::connect(connector, &workspace::lease_name(workspace))?;
        let shared = mode == ClaimMode::Shared;
        if !control.try_lock(workspace, shared)? {
            return Ok(None);
        }
        match control.owner(workspace)? {
            Owner::We => {}
            Owner::Somebody => return Err(workspace::foreign(workspace)),
            Owner::Nobody if shared => return Ok(None),
            // Under the lock, so that no two programs make it and none removes it in between.
            Owner::Nobody => control.create(workspace)?,
        }
        let wire = Some(control.wire);
        let (connector, clock) = (Arc::clone(connector), Arc::clone(clock));
        Ok(Some(Self { connector, clock, workspace: workspace.clone(), shared, wire }))
    }

    /// Does something on the lease's own connection.
    fn with_control<T>(&mut self, work: impl FnOnce(&mut Control<'_>, &Workspace) -> Result<T>) -> Result<T> {
        let Some(wire) = self.wire.take() else { return Err(self.lost()) };
        let mut control = Control { wire, errors: &self.connector.errors };
        let done = work(&mut control, &self.workspace);
        self.wire = Some(control.wire);
        done
    }

    fn lost(&self) -> Error {
        Error::new(ErrorKind::Lost, format!("the lease on {} was lost", self.workspace))
            .hint("look into the server's log for the reason, then start again; plimsoll clean removes what is left")
    }
}

impl Lease for MssqlLease {
    fn renew(&mut self) -> Result<()> {
        // A session that still answers still has its lock.
        if self.with_control(|control, _| control.run("SELECT 1")).is_ok() {
            return Ok(());
        }
        self.wire = None;
        let connector = Arc::clone(&self.connector);
        let mut control = Control::connect(&connector, &workspace::lease_name(&self.workspace))?;
        let give_up = self.clock.now().after(RENEW_PATIENCE);
        loop {
            match control.try_lock(&self.workspace, self.shared) {
                Ok(true) => break,
                // Who stands in the gate may be about to leave it.
                Ok(false) => {}
                Err(error) if error.kind == ErrorKind::Busy => {}
                Err(error) => return Err(error),
            }
            if self.clock.now() >= give_up {
                return Err(Error::new(ErrorKind::Busy, format!("somebody else took the lease on {}", self.workspace))
                    .hint("another run works with the same data; start again when it has ended"));
            }
            self.clock.sleep(RENEW_PAUSE);
        }
        match control.owner(&self.workspace)? {
            Owner::We => {}
            Owner::Somebody => return Err(workspace::foreign(&self.workspace)),
            Owner::Nobody => {
                let message = format!("{} was removed while its lease was lost", self.workspace);
                return Err(Error::new(ErrorKind::Missing, message).hint("start again"));
            }
        }
        self.wire = Some(control.wire);
        Ok(())
    }

    fn share(&mut self) -> Result<()> {
        if self.shared {
            return Ok(());
        }
        let taken = self.with_control(|control, workspace| {
            control.in_gate(workspace, |control| {
                control.unlock(workspace)?;
                control.take(workspace, true)
            })
        })?;
        if !taken {
            return Err(self.lost());
        }
        self.shared = true;
        Ok(())
    }
}

impl Drop for MssqlLease {
    /// Unlocks before closing: the server may end the session a moment after we have gone, and the next claim should not
    /// have to wait for that.
    fn drop(&mut self) {
        // If it fails the session is dead and the lock with it.
        let unlock = |control: &mut Control<'_>, workspace: &Workspace| control.unlock(workspace);
        let _ = self.with_control(unlock);
    }
}
