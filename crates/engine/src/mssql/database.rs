//! An opened SQL Server database.

use std::sync::Arc;

use plimsoll_clock::Clock;

use super::cold;
use super::connect::Connector;
use super::describe::{self, Server};
use super::lease::MssqlLease;
use super::orphans;
use super::place::{self, CONTROL, Control, Owner};
use super::session::MssqlSession;
use crate::capability::Capability;
use crate::database::{
    ClaimMode, Cold, ColdFollower, Database, Description, Lease, Place, PlaceStatus, Sampler, Session,
};
use crate::error::Result;
use crate::request::{RequestAccess, Requester};
use crate::table::Table;

/// Holds no connection: whoever asks something of the database gets a fresh one, which a restart can't have broken.
pub(super) struct MssqlDatabase {
    connector: Arc<Connector>,
    clock: Arc<dyn Clock>,
    server: Server,
}

impl MssqlDatabase {
    /// Connects and asks the server who it is.
    pub(super) fn open(connector: Connector, clock: Arc<dyn Clock>) -> Result<Self> {
        let server = describe::describe(&mut Control::connect(&connector, CONTROL)?, &connector)?;
        Ok(Self { connector: Arc::new(connector), clock, server })
    }

    fn control(&self) -> Result<Control<'_>> {
        Control::connect(&self.connector, CONTROL)
    }

    fn working(&self, place: &Place, run: &Place, access: RequestAccess) -> Result<MssqlSession> {
        MssqlSession::open(&self.connector, &self.clock, place, run, access, self.server.abilities)
    }
}

impl Database for MssqlDatabase {
    fn description(&self) -> &Description {
        &self.server.description
    }

    fn capabilities(&self) -> Vec<Capability> {
        self.server.capabilities.clone()
    }

    fn claim(&self, place: &Place, mode: ClaimMode) -> Result<Option<Box<dyn Lease>>> {
        let lease = MssqlLease::claim(&self.connector, &self.clock, place, mode)?;
        Ok(lease.map(|lease| Box::new(lease) as Box<dyn Lease>))
    }

    fn session(&self, place: &Place, run: &Place) -> Result<Box<dyn Session>> {
        self.session_with(place, run, RequestAccess::OWN)
    }

    fn session_with(&self, place: &Place, run: &Place, access: RequestAccess) -> Result<Box<dyn Session>> {
        Ok(Box::new(self.working(place, run, access)?))
    }

    fn requester(&self, place: &Place, run: &Place, access: RequestAccess) -> Result<Box<dyn Requester>> {
        Ok(Box::new(self.working(place, run, access)?))
    }

    fn places(&self) -> Result<Vec<PlaceStatus>> {
        self.control()?.list()
    }

    fn end_orphans(&self) -> Result<u32> {
        orphans::end_all(&mut self.control()?, self.clock.as_ref())
    }

    fn remove(&self, place: &Place) -> Result<bool> {
        let mut control = Control::connect(&self.connector, &place::lease_name(place))?;
        if control.owner(place)? == Owner::Somebody {
            return Err(place::foreign(place));
        }
        if !control.try_lock(place, false)? {
            return Ok(false);
        }
        orphans::end_all(&mut control, self.clock.as_ref())?;
        // Asked again under the lock.
        let removed = match control.owner(place)? {
            Owner::We => control.drop_schema(place),
            Owner::Somebody => Err(place::foreign(place)),
            Owner::Nobody => Ok(()),
        };
        // The session's end would do the same, a moment later.
        let _ = control.unlock(place);
        removed.map(|()| true)
    }

    fn free_bytes(&self) -> Option<u64> {
        self.server.free_bytes
    }

    fn make_cold(
        &self,
        _: &Place,
        run: &Place,
        _: &[Table],
        cold: &Cold,
        follower: &mut dyn ColdFollower,
    ) -> Result<Vec<String>> {
        let server = (self.server.product, self.server.abilities);
        cold::make_cold(&self.connector, self.clock.as_ref(), server, run, cold, follower)
    }

    /// The server's processes are elsewhere; what it counts itself, sessions tell.
    fn process_sampler(&self) -> Option<Box<dyn Sampler>> {
        None
    }
}
