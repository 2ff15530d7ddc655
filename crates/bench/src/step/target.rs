//! The database that is measured, and the run's own place in it.

use std::sync::Arc;

use plimsoll_engine::{
    Cancel, Cold, ColdFollower, Database, Lease, RequestAccess, Requester, Result, Session, Table, Workspace,
};

use crate::interrupt::{CancelGuard, Interrupt};

/// A database with a place of the run's own.
pub struct Target<'a> {
    /// The database.
    pub database: &'a dyn Database,
    /// The run's own place.
    pub workspace: &'a Workspace,
    /// Leases to renew after a restart of the server.
    pub lease: &'a mut (dyn Lease + 'static),
    /// What may be done to make the cache cold.
    pub cold: &'a Cold,
    /// Whether a data set is kept for later runs.
    pub keep_data: bool,
    /// Requests to stop, which cancel statements.
    pub interrupt: &'a Interrupt,
}

impl<'a> Target<'a> {
    /// The same place at another database.
    pub(crate) fn at<'b>(&'b mut self, database: &'b dyn Database) -> Target<'b> {
        Target { database, lease: &mut *self.lease, ..*self }
    }

    /// Size of the database's pages.
    pub fn page_bytes(&self) -> u64 {
        self.database.description().page_bytes
    }

    /// A session in the run's place (or another one). An interrupt cancels its statements.
    pub fn session(&self, workspace: &Workspace) -> Result<(Box<dyn Session>, CancelGuard)> {
        self.session_with(workspace, RequestAccess::OWN)
    }

    /// The same, for a session that may reach existing tables.
    pub fn session_with(
        &self,
        workspace: &Workspace,
        access: RequestAccess,
    ) -> Result<(Box<dyn Session>, CancelGuard)> {
        self.interrupt.check()?;
        let session = self.database.session_with(workspace, self.workspace, access)?;
        let watched = self.interrupt.watch(session.canceller());
        Ok((session, watched))
    }

    /// Makes sessions in a place that make requests, and which an interrupt cancels; also from other threads.
    pub fn requesters(
        &self,
        workspace: &'a Workspace,
        access: RequestAccess,
    ) -> impl Fn() -> Result<(Box<dyn Requester>, CancelGuard)> + Sync + use<'a> {
        let (database, run, interrupt) = (self.database, self.workspace, self.interrupt);
        move || watched(interrupt, || database.requester(workspace, run, access))
    }

    /// The same in place of sessions that were lost: each is tried once.
    pub fn replacements(
        &self,
        workspace: &'a Workspace,
        access: RequestAccess,
    ) -> impl Fn() -> Result<(Box<dyn Requester>, CancelGuard)> + Sync + use<'a> {
        let (database, run, interrupt) = (self.database, self.workspace, self.interrupt);
        move || watched(interrupt, || database.replacement(workspace, run, access))
    }

    /// Makes tables cold; says what was done, and what the run should say of it.
    pub(crate) fn make_cold(
        &mut self,
        (workspace, lease): (&Workspace, Option<&mut (dyn Lease + 'static)>),
        tables: &[Table],
        shared: bool,
    ) -> Result<(Vec<String>, Vec<String>)> {
        let cold = Cold { shared, ..self.cold.clone() };
        let leases = [Some(&mut *self.lease), lease];
        let mut follower = Follower { interrupt: self.interrupt, watched: None, leases, warnings: Vec::new() };
        let done = self.database.make_cold(workspace, self.workspace, tables, &cold, &mut follower)?;
        Ok((done, follower.warnings))
    }
}

/// A session that an interrupt cancels.
fn watched(
    interrupt: &Interrupt,
    open: impl FnOnce() -> Result<Box<dyn Requester>>,
) -> Result<(Box<dyn Requester>, CancelGuard)> {
    interrupt.check()?;
    let requester = open()?;
    let watched = interrupt.watch(requester.canceller());
    Ok((requester, watched))
}

/// Lets an interrupt end a cold start, and renews the leases as soon as a restarted server answers.
struct Follower<'a> {
    interrupt: &'a Interrupt,
    watched: Option<CancelGuard>,
    leases: [Option<&'a mut (dyn Lease + 'static)>; 2],
    warnings: Vec<String>,
}

impl ColdFollower for Follower<'_> {
    fn working(&mut self, cancel: Arc<dyn Cancel>) {
        self.watched = Some(self.interrupt.watch(cancel));
    }

    fn check(&mut self) -> Result<()> {
        self.interrupt.check()
    }

    fn restarted(&mut self) -> Result<()> {
        self.leases.iter_mut().flatten().try_for_each(|lease| lease.renew())
    }

    fn warn(&mut self, warning: String) {
        self.warnings.push(warning);
    }
}
