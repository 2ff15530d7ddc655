//! Places in memory and the leases on them, which all that open a name in this process have in common.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use plimsoll_engine::{
    ClaimMode, Cold, ColdFollower, Database, Description, Error, ErrorKind, Lease, Moves, RequestAccess, Result,
    Session, Sessions, Table, Telemetry, WeakIsolation, Workspace, WorkspaceStatus, Workspaces,
};
use rusqlite::{Connection, OpenFlags};

use super::session::{MemorySession, failed};

/// Every name that was opened.
static STORES: LazyLock<Mutex<HashMap<String, Arc<Store>>>> = LazyLock::new(Mutex::default);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The places of a name.
#[derive(Default)]
pub struct Store {
    workspaces: Mutex<BTreeMap<Workspace, Kept>>,
}

/// A place.
struct Kept {
    /// What it is named by; a place that is made again has another one.
    uri: String,
    /// A database without files lives as long as a connection does.
    _keeper: Connection,
    /// What is not marked is somebody else's.
    is_marked: bool,
    /// How many share it, or that one has it alone.
    shared: u32,
    exclusive: bool,
}

impl Kept {
    fn is_leased(&self) -> bool {
        self.exclusive || self.shared > 0
    }

    fn check(&self, workspace: &Workspace) -> Result<()> {
        if self.is_marked {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Safety, format!("{workspace} is not ours")).hint("give it another name"))
    }
}

fn connect(uri: &str) -> Result<Connection> {
    let flags = OpenFlags::default() | OpenFlags::SQLITE_OPEN_URI;
    Connection::open_with_flags(uri, flags).map_err(failed)
}

impl Store {
    /// That of a name.
    pub fn of(name: &str) -> Arc<Self> {
        Arc::clone(lock(&STORES).entry(name.to_owned()).or_default())
    }

    /// Makes a place; without the mark it is one that is not ours.
    pub fn make(&self, workspace: &Workspace, is_marked: bool) -> Result<Connection> {
        static MADE: AtomicU64 = AtomicU64::new(0);
        let uri = format!("file:/{workspace}-{}?vfs=memdb", MADE.fetch_add(1, Ordering::Relaxed));
        let (keeper, connection) = (connect(&uri)?, connect(&uri)?);
        let kept = Kept { uri, _keeper: keeper, is_marked, shared: 0, exclusive: false };
        lock(&self.workspaces).insert(workspace.clone(), kept);
        Ok(connection)
    }

    /// A connection to a place.
    pub fn connect(&self, workspace: &Workspace) -> Result<Connection> {
        let uri = lock(&self.workspaces).get(workspace).map(|kept| kept.uri.clone());
        connect(&uri.ok_or_else(|| Error::new(ErrorKind::Missing, format!("there is no place {workspace}")))?)
    }
}

/// An opened name.
pub struct MemoryDatabase {
    store: Arc<Store>,
    description: Description,
}

/// Opens a name.
pub fn open(name: &str) -> MemoryDatabase {
    let weak_isolation = WeakIsolation::NoEffect("readers never meet what is not committed".to_owned());
    let description = Description {
        local: true,
        embedded: true,
        fingerprint: format!("memory {name}"),
        ..Description::new("memory", rusqlite::version().to_owned(), 4096, weak_isolation)
    };
    MemoryDatabase { store: Store::of(name), description }
}

impl Database for MemoryDatabase {
    fn description(&self) -> &Description {
        &self.description
    }
}

impl Workspaces for MemoryDatabase {
    fn claim(&self, workspace: &Workspace, mode: ClaimMode) -> Result<Option<Box<dyn Lease>>> {
        let exclusive = mode == ClaimMode::Exclusive;
        if exclusive && !lock(&self.store.workspaces).contains_key(workspace) {
            self.store.make(workspace, true)?;
        }
        let mut workspaces = lock(&self.store.workspaces);
        let Some(kept) = workspaces.get_mut(workspace) else { return Ok(None) };
        kept.check(workspace)?;
        if kept.exclusive || exclusive && kept.shared > 0 {
            return Ok(None);
        }
        kept.exclusive = exclusive;
        kept.shared += u32::from(!exclusive);
        let lease = MemoryLease { store: Arc::clone(&self.store), workspace: workspace.clone(), exclusive };
        Ok(Some(Box::new(lease)))
    }

    fn workspaces(&self) -> Result<Vec<WorkspaceStatus>> {
        let workspaces = lock(&self.store.workspaces);
        let status = |(workspace, kept): (&Workspace, &Kept)| WorkspaceStatus {
            workspace: workspace.clone(),
            leased: kept.is_leased(),
            not_ours: kept.check(workspace).err(),
        };
        Ok(workspaces.iter().map(status).collect())
    }

    fn remove(&self, workspace: &Workspace) -> Result<bool> {
        let mut workspaces = lock(&self.store.workspaces);
        let Some(kept) = workspaces.get(workspace) else { return Ok(true) };
        kept.check(workspace)?;
        let is_free = !kept.is_leased();
        if is_free {
            workspaces.remove(workspace);
        }
        Ok(is_free)
    }

    fn free_bytes(&self) -> Option<u64> {
        None
    }

    /// Memory is never cold.
    fn make_cold(
        &self,
        _: &Workspace,
        _: &Workspace,
        _: &[Table],
        cold: &Cold,
        follower: &mut dyn ColdFollower,
    ) -> Result<Vec<String>> {
        if cold.restart_command.is_some() {
            return Err(Error::new(ErrorKind::Usage, "there is no server to restart").hint("leave out the command"));
        }
        follower.check()?;
        Ok(Vec::new())
    }
}

impl Sessions for MemoryDatabase {
    fn session_with(&self, workspace: &Workspace, _run: &Workspace, access: RequestAccess) -> Result<Box<dyn Session>> {
        access.refuse_existing("memory")?;
        Ok(Box::new(MemorySession(self.store.connect(workspace)?)))
    }
}

impl Telemetry for MemoryDatabase {}

impl Moves for MemoryDatabase {}

struct MemoryLease {
    store: Arc<Store>,
    workspace: Workspace,
    exclusive: bool,
}

impl Lease for MemoryLease {
    /// It can't be lost.
    fn renew(&mut self) -> Result<()> {
        Ok(())
    }

    fn share(&mut self) -> Result<()> {
        if let Some(kept) = lock(&self.store.workspaces).get_mut(&self.workspace).filter(|_| self.exclusive) {
            (kept.exclusive, kept.shared) = (false, 1);
            self.exclusive = false;
        }
        Ok(())
    }
}

impl Drop for MemoryLease {
    fn drop(&mut self) {
        if let Some(kept) = lock(&self.store.workspaces).get_mut(&self.workspace) {
            kept.exclusive &= !self.exclusive;
            kept.shared -= u32::from(!self.exclusive);
        }
    }
}
