//! Another level for a lab: asked for by name, in effect when the database has moved. Within a tier a level is a matter
//! of limits and in effect at once. Another tier is another machine, to which the service moves all pages, unless both are known
//! to have the same storage. They move at
//! the rate that was published for that, or as fast as the devices on both sides let it. Sessions stay open over a
//! change. (A real service cuts them when it switches over; what that does to a client is a matter of faults.)

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use plimsoll_clock::{Spawned, spawn};
use plimsoll_engine::{Error, ErrorKind, Expected, Levels, Result, Workspaces as _};
use plimsoll_hardware::{Io, Kind, LARGEST_IO_BYTES, Machine, Role};
use plimsoll_measurement::Moment;
use plimsoll_sqlite::SqliteDatabase;

use crate::address::{Address, Subject};
use crate::level::{self, Level};
use crate::server::Server;
use crate::truth;

/// How far ahead of the present I/Os of a move are booked.
const AHEAD: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub struct Changes {
    state: Mutex<State>,
    stop: AtomicBool,
}

#[derive(Debug)]
struct State {
    present: String,
    tier: String,
    /// Other tiers to which no pages move from here.
    in_place: Vec<String>,
    /// The level that is on its way, and the thread that brings it.
    coming: Option<(String, Option<Spawned>)>,
    asked: Vec<Asked>,
}

/// A level that was asked for.
#[derive(Debug)]
struct Asked {
    level: Level,
    /// Bytes that had to move for it.
    bytes: u64,
}

impl Changes {
    pub fn new(level: &Level) -> Self {
        let name = level.published.as_ref().map_or_else(|| level.name.clone(), |level| level.level.clone());
        let mut state =
            State { present: name, tier: String::new(), in_place: Vec::new(), coming: None, asked: Vec::new() };
        state.stand_on(level);
        Self { state: Mutex::new(state), stop: AtomicBool::new(false) }
    }

    /// Ends a change that is under way, and waits for its end.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        let coming = self.state.lock().coming.take();
        if let Some((_, Some(thread))) = coming {
            // A panic in there has been reported where it happened.
            let _ = thread.join();
        }
    }

    /// How long a change from one level to another should have taken: what had to move is known, how long that takes is
    /// computed.
    pub fn expect(&self, from: &Level, to: &str) -> Option<Expected> {
        let state = self.state.lock();
        let asked: Vec<(&Level, u64)> = state
            .asked
            .iter()
            .filter(|asked| name_of(&asked.level).is_some_and(|name| name.eq_ignore_ascii_case(to)))
            .map(|asked| (&asked.level, asked.bytes))
            .collect();
        truth::level_change(from, &asked)
    }
}

impl State {
    /// The database is on a machine of this level's tier.
    fn stand_on(&mut self, level: &Level) {
        let published = level.published.as_ref();
        self.tier = published.map(|level| level.tier.clone()).unwrap_or_default();
        self.in_place = published.map(|level| level.in_place.clone()).unwrap_or_default();
    }

    fn is_another_tier(&self, level: &Level) -> bool {
        level.published.as_ref().is_none_or(|level| level.tier != self.tier)
    }
}

fn name_of(level: &Level) -> Option<&str> {
    level.published.as_ref().map(|level| level.level.as_str())
}

#[derive(Debug)]
pub struct LabLevels {
    pub inner: SqliteDatabase,
    pub server: Arc<Server>,
    pub address: Address,
    pub changes: Arc<Changes>,
}

impl LabLevels {
    /// A level of the same service and edition.
    fn find(&self, name: &str) -> Result<Level> {
        let Subject::Level { service, edition, .. } = &self.address.subject else {
            return Err(Error::new(ErrorKind::Unsupported, "hardware of one's own has no levels"));
        };
        let mut address = self.address.clone();
        let edition = match edition {
            Some(edition) => Some(edition.clone()),
            // The edition that the present level was found in.
            None => level::find(&self.address)?.edition,
        };
        address.subject = Subject::Level { service: service.clone(), level: name.to_owned(), edition };
        let found = level::find(&address)?;
        if found.published.is_none() {
            return Err(Error::new(ErrorKind::Usage, format!("'{name}' is no level of a database service")));
        }
        Ok(found)
    }

    /// Bytes of everything that is in the database: what every place of ours has.
    fn bytes(&self) -> Result<u64> {
        let workspaces = self.inner.workspaces()?;
        let ours = workspaces.iter().filter(|status| status.not_ours.is_none());
        Ok(ours.map(|status| self.server.database_bytes(&self.inner.path(&status.workspace))).sum())
    }

    fn has_to_move(&self, level: &Level) -> bool {
        let state = self.changes.state.lock();
        state.is_another_tier(level)
            && level.published.as_ref().is_none_or(|level| !state.in_place.contains(&level.tier))
    }
}

impl Levels for LabLevels {
    fn current(&mut self) -> Result<Option<String>> {
        Ok(Some(self.changes.state.lock().present.clone()))
    }

    fn ask(&mut self, level: &str) -> Result<()> {
        let to = self.find(level)?;
        let moves = self.has_to_move(&to);
        let bytes = if moves { self.bytes()? } else { 0 };
        let name = name_of(&to).unwrap_or(level).to_owned();
        let mut state = self.changes.state.lock();
        if let Some((coming, _)) = &state.coming {
            return Err(Error::new(ErrorKind::Busy, format!("the level is being changed to {coming}"))
                .hint("wait until that is in effect, then ask again"));
        }
        if state.present == name {
            return Ok(());
        }
        state.asked.push(Asked { level: to.clone(), bytes });
        if !moves {
            let is_another = state.is_another_tier(&to);
            state.stand_on(&to);
            self.server.become_like(to.spec, is_another);
            state.present = name;
            return Ok(());
        }
        state.coming = Some((name.clone(), None));
        drop(state);
        let (server, changes) = (Arc::clone(&self.server), Arc::clone(&self.changes));
        let clock = Arc::clone(&self.server.clock);
        let thread = spawn(&clock, "level change", move || {
            if move_pages(&server, &to, bytes, &changes.stop) {
                let mut state = changes.state.lock();
                state.stand_on(&to);
                server.become_like(to.spec, true);
                (state.present, state.coming) = (name, None);
            }
        });
        let mut state = self.changes.state.lock();
        match thread {
            Ok(thread) => {
                if let Some((_, bringing)) = &mut state.coming {
                    *bringing = Some(thread);
                }
                Ok(())
            }
            Err(error) => {
                state.coming = None;
                Err(Error::new(ErrorKind::Internal, format!("the change of level can't be started: {error}")))
            }
        }
    }

    fn moves_bytes(&mut self, level: &str) -> Option<u64> {
        let level = self.find(level).ok()?;
        if self.has_to_move(&level) { self.bytes().ok() } else { Some(0) }
    }
}

/// Moves so many bytes to another machine; false if it was stopped. They take what the service moves databases with, else the
/// data devices of both machines.
fn move_pages(server: &Server, to: &Level, bytes: u64, stop: &AtomicBool) -> bool {
    let mut other = Machine::new(&to.spec, server.seed);
    let (mut moved, mut last) = (0, server.clock.now());
    while moved < bytes {
        let now = server.clock.now();
        let piece = LARGEST_IO_BYTES.min(bytes - moved);
        let io = |kind| Io { kind, offset: moved, bytes: piece };
        let done = {
            let mut state = server.state();
            if state.spec.is_apart(Role::Movement) {
                state.submit(now, Role::Movement, io(Kind::Write)).at
            } else {
                let read = state.submit(now, Role::Data, io(Kind::Read)).at;
                read.max(other.submit(now, other.device(Role::Data), io(Kind::Write)).at)
            }
        };
        let done = server.faults.delay(now, done);
        (moved, last) = (moved + piece, last.max(done));
        server.sleep(Moment::from_nanos(done.as_nanos().saturating_sub(AHEAD.as_nanos() as u64)), stop);
        if stop.load(Ordering::Relaxed) {
            return false;
        }
    }
    server.sleep(last, stop);
    !stop.load(Ordering::Relaxed)
}
