//! The lease on a place: locks of a session that does nothing else, so that they fall when its client dies. A thread looks whether that
//! session still has its locks, and takes them again if it was lost: a firewall, an administrator or a time-out may end it at any time
//! while all others work on.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use super::place::{Keeper, Keepers, Owner, UNMARKED, foreign, lease_name, unfit, unusable};
use crate::error::{Error, ErrorKind, Result};
use crate::workspace::{ClaimMode, Lease, Workspace, WorkspaceKind};

/// How often it is looked whether the locks are there.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// Pause between two tries to take the locks again.
const RENEW_PAUSE: Duration = Duration::from_millis(50);

/// A lease, and what looks after it.
pub struct ServerLease<K: Keepers> {
    locks: Arc<Mutex<Locks<K>>>,
    /// Its end ends the thread that looks.
    looks: Option<Sender<()>>,
}

/// The locks of a lease.
struct Locks<K: Keepers> {
    keepers: Arc<K>,
    workspace: Workspace,
    shared: bool,
    /// `None` while it is being renewed, or when that failed.
    keeper: Option<K::Keeper>,
    /// How often it was lost and taken again without anybody asking for that.
    losses: u64,
    /// Why it can't be taken again.
    refused: Option<Error>,
}

impl<K: Keepers + 'static> ServerLease<K> {
    /// Takes the lease as [`Workspaces::claim`](crate::Workspaces::claim) promises.
    ///
    /// # Errors
    /// If the place is not ours, or can't be made.
    pub fn claim(keepers: &Arc<K>, workspace: &Workspace, mode: ClaimMode) -> Result<Option<Box<dyn Lease>>> {
        let mut keeper = keepers.keeper(&lease_name(workspace))?;
        let shared = mode == ClaimMode::Shared;
        if !keeper.try_lock(workspace, shared)? {
            return Ok(None);
        }
        // From here on the locks are given back whatever happens.
        let (keepers, workspace) = (Arc::clone(keepers), workspace.clone());
        let mut locks = Locks { keepers, workspace, shared, keeper: Some(keeper), losses: 0, refused: None };
        let intents = locks.keepers.intents().clone();
        let name = locks.workspace.name().to_owned();
        // What is made is made under the lock, so that no two programs make it and none removes it in between.
        let (is_there, mark) = match locks.with_keeper(K::Keeper::owner)? {
            Owner::We => {
                // A run's own place was made by whoever uses it. A data set has stood there, open to others.
                let is_kept = locks.workspace.kind() == WorkspaceKind::Data;
                let unfit = if is_kept { locks.with_keeper(unfit::<K::Keeper>)? } else { None };
                return match unfit {
                    None => Ok(Some(Box::new(Self::looked_after(locks)))),
                    // A run that can do without it does.
                    Some(_) if shared => Ok(None),
                    Some(reason) => Err(unusable::<K::Keeper>(&locks.workspace, &reason)),
                };
            }
            Owner::Somebody(reason) => return Err(foreign::<K::Keeper>(&locks.workspace, &reason)),
            Owner::Nobody if shared => return Ok(None),
            Owner::Nobody => (false, intents.begin(&name)?),
            Owner::Unfinished => match intents.begun(&name)? {
                Some(_) if shared => return Ok(None),
                Some(mark) => (true, mark),
                None => return Err(foreign::<K::Keeper>(&locks.workspace, UNMARKED)),
            },
        };
        locks.with_keeper(|keeper, workspace| keeper.make(workspace, is_there, &mark))?;
        intents.made(&mark)?;
        Ok(Some(Box::new(Self::looked_after(locks))))
    }

    /// The lease with a thread that looks after it. Without one, or in virtual time, it is renewed when somebody asks for that.
    fn looked_after(locks: Locks<K>) -> Self {
        let is_real = locks.keepers.clock().kind() != "virtual";
        let locks = Arc::new(Mutex::new(locks));
        let (looks, ended) = channel();
        let weak = Arc::downgrade(&locks);
        let look = move || look_after(&weak, &ended);
        let thread = is_real.then(|| thread::Builder::new().name("lease".to_owned()).spawn(look));
        Self { locks, looks: thread.and_then(std::result::Result::ok).map(|_| looks) }
    }

    fn locks(&self) -> MutexGuard<'_, Locks<K>> {
        self.locks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes locks again that were lost, until the lease is given back or somebody else has it.
fn look_after<K: Keepers>(locks: &Weak<Mutex<Locks<K>>>, ended: &Receiver<()>) {
    while ended.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
        let Some(locks) = locks.upgrade() else { return };
        let mut locks = locks.lock().unwrap_or_else(PoisonError::into_inner);
        let is_given_back = || matches!(ended.try_recv(), Err(TryRecvError::Disconnected));
        match locks.renew(is_given_back) {
            Ok(was_lost) => locks.losses += u64::from(was_lost),
            Err(error) if is_passing(&error) => {}
            Err(error) => {
                locks.refused = Some(error);
                return;
            }
        }
    }
}

/// Whether the server may be there again later.
fn is_passing(error: &Error) -> bool {
    error.retry_after.is_some()
        || matches!(error.kind, ErrorKind::Lost | ErrorKind::Connect | ErrorKind::Cancelled | ErrorKind::Busy)
            && error.hint.as_deref() != Some(TAKEN)
}

/// What to do when somebody else was faster.
const TAKEN: &str = "another run works with the same data; start again when it has ended";

impl<K: Keepers> Locks<K> {
    fn with_keeper<T>(&mut self, work: impl FnOnce(&mut K::Keeper, &Workspace) -> Result<T>) -> Result<T> {
        match &mut self.keeper {
            Some(keeper) => work(keeper, &self.workspace),
            None => Err(self.lost()),
        }
    }

    fn lost(&self) -> Error {
        Error::new(ErrorKind::Lost, format!("the lease on {} was lost", self.workspace))
            .hint("look into the server's log for the reason, then start again; plimsoll clean removes what is left")
    }

    /// Takes the locks again if they were lost, and says whether they were.
    fn renew(&mut self, is_given_back: impl Fn() -> bool) -> Result<bool> {
        // A session that still answers still has its locks.
        self.keeper.take_if(|keeper| !keeper.answers());
        if self.keeper.is_some() {
            return Ok(false);
        }
        let mut keeper = self.keepers.replacement(&lease_name(&self.workspace))?;
        let give_up = self.keepers.clock().now().after(K::Keeper::RENEW_PATIENCE);
        loop {
            match keeper.try_lock(&self.workspace, self.shared) {
                Ok(true) => break,
                // Another session that is about to take or leave it may be done in a moment.
                Err(error) if error.kind != ErrorKind::Busy => return Err(error),
                _ if is_given_back() => return Err(self.lost()),
                _ => {}
            }
            if self.keepers.clock().now() >= give_up {
                return Err(Error::new(ErrorKind::Busy, format!("somebody else took the lease on {}", self.workspace))
                    .hint(TAKEN));
            }
            self.keepers.clock().sleep(RENEW_PAUSE);
        }
        match keeper.owner(&self.workspace)? {
            Owner::We => {}
            Owner::Unfinished => return Err(foreign::<K::Keeper>(&self.workspace, UNMARKED)),
            Owner::Somebody(reason) => return Err(foreign::<K::Keeper>(&self.workspace, &reason)),
            Owner::Nobody => {
                let message = format!("{} was not there any more when its lease was taken again", self.workspace);
                return Err(Error::new(ErrorKind::Missing, message).hint(
                    "somebody removed it, or renamed it or its database; 'plimsoll clean URL' finds it in the database that it is in now",
                ));
            }
        }
        self.keeper = Some(keeper);
        Ok(true)
    }
}

impl<K: Keepers + 'static> Lease for ServerLease<K> {
    fn renew(&mut self) -> Result<()> {
        let mut locks = self.locks();
        locks.renew(|| false)?;
        // Whoever asks knows of the loss.
        (locks.losses, locks.refused) = (0, None);
        Ok(())
    }

    fn losses(&mut self) -> Result<u64> {
        // Whoever holds them is at it.
        let Ok(mut locks) = self.locks.try_lock() else { return Ok(0) };
        match locks.refused.take() {
            Some(error) => Err(error),
            None => Ok(std::mem::take(&mut locks.losses)),
        }
    }

    fn share(&mut self) -> Result<()> {
        let mut locks = self.locks();
        if !locks.shared {
            if !locks.with_keeper(K::Keeper::lower)? {
                return Err(locks.lost());
            }
            locks.shared = true;
        }
        Ok(())
    }
}

impl<K: Keepers> Drop for Locks<K> {
    /// Unlocks before closing: the server may end the session a moment after we have gone, and the next claim should not
    /// have to wait for that.
    fn drop(&mut self) {
        if let Some(keeper) = &mut self.keeper {
            keeper.leave(&self.workspace);
        }
    }
}

impl<K: Keepers> Drop for ServerLease<K> {
    /// Whoever looks at this moment has done so before the locks are given back: after that nobody takes them again.
    fn drop(&mut self) {
        drop(self.looks.take());
        let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(mut keeper) = locks.keeper.take() {
            keeper.leave(&locks.workspace);
        }
    }
}
