//! The lab: SQLite, a real SQL engine, on modelled hardware with known limits. Its file system layer charges every
//! read, write and sync to devices with queues. Its statements pay for CPU, its sessions share one buffer pool, and all
//! of it runs in real or in virtual time. `docs/LAB.md` says what is modelled, what is left out, and how exact it is.

mod address;
mod cells;
mod charge;
mod checkpoint;
mod checkpointer;
mod counters;
mod database;
mod fair_lock;
mod fault;
mod file;
mod fingerprint;
mod freelist;
mod home;
mod image;
mod lab_lock;
pub mod level;
mod levels;
mod locks;
mod pool;
mod raw;
mod readahead;
mod records;
mod sampler;
mod scale;
pub mod scenario;
mod server;
mod session;
mod state;
mod transfer;
mod truth;

mod vfs;
mod waits;
mod wal;

use std::sync::Arc;

use plimsoll_clock::{Clock, RealClock, VirtualClock};
use plimsoll_engine::target::Notation;
use plimsoll_engine::{Credentials, Database, Engine, Result, Target};

pub use address::Address;
pub use database::LabDatabase;
pub use home::{leftovers, remove_leftovers};

/// The engine of `lab:` targets.
#[derive(Debug, Clone, Copy, Default)]
pub struct Lab;

impl Engine for Lab {
    fn products(&self) -> &'static [&'static str] {
        &["lab"]
    }

    fn notation(&self) -> Notation {
        Notation { schemes: self.schemes(), is_path: true, ..Notation::default() }
    }

    fn schemes(&self) -> &'static [&'static str] {
        &["lab"]
    }

    fn clock(&self, target: &Target, on_stall: Box<dyn Fn(&str) + Send + Sync>) -> Result<Arc<dyn Clock>> {
        let address = Address::parse(target.url().expose())?;
        Ok(if address.is_virtual {
            Arc::new(VirtualClock::with_watchdog(on_stall))
        } else {
            Arc::new(RealClock::new())
        })
    }

    fn open(&self, target: &Target, credentials: &Credentials, clock: Arc<dyn Clock>) -> Result<Box<dyn Database>> {
        Ok(Box::new(LabDatabase::open(target.url().expose(), clock)?.noting(&credentials.intents)))
    }
}
