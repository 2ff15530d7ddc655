//! Checkpoints: a thread on the clock that copies the log into the file, so that no session has to. It makes passes
//! beside the writers, paced by the device, until little came meanwhile. The last pass holds the writers' turn, so that the
//! next one finds a log that is copied whole and starts it over; it waits for nothing itself, but no later log is durable
//! before what it wrote is.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use plimsoll_clock::spawn;
use plimsoll_measurement::Moment;
use rusqlite::{Connection, OpenFlags};

use crate::charge::{self, Work};
use crate::checkpointer::{Checkpointer, Orders, is_last, threshold};
use crate::fair_lock::FairLock;
use crate::server::Server;

/// Starts the thread for a file.
pub fn start(
    server: Arc<Server>,
    vfs: String,
    path: PathBuf,
    writer_lock: Arc<FairLock>,
) -> std::io::Result<Checkpointer> {
    let orders = Arc::<Orders>::default();
    let theirs = Arc::clone(&orders);
    let clock = Arc::clone(&server.clock);
    let thread = spawn(&clock, "checkpointer", move || work(&server, &vfs, &path, &writer_lock, &theirs))?;
    Ok(Checkpointer { orders, thread })
}

fn work(server: &Server, vfs: &str, path: &std::path::Path, writer_lock: &FairLock, orders: &Orders) {
    *orders.waiter.lock() = Some(server.clock.waiter());
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let Ok(connection) = Connection::open_with_flags_and_vfs(path, flags, vfs) else { return };
    if connection.pragma_update(None, "cache_size", 2).is_err() {
        return;
    }
    let file = server.file(path);
    while !orders.stop.load(Ordering::Acquire) {
        if !orders.wanted.load(Ordering::Acquire) {
            server.clock.park();
            continue;
        }
        // A pass that fails leaves the log as it is, which the next one copies.
        let frames = || server.state().files[file as usize].wal.len() as u64;
        let begins_at = threshold(server.state().pool.limit()) as u64;
        loop {
            let there = frames();
            let due = pass(server, file, &connection, Work { copies: true, ..Work::default() });
            server.clock.sleep_until(due);
            if is_last(begins_at, frames().saturating_sub(there), frames()) || orders.stop.load(Ordering::Acquire) {
                break;
            }
        }
        let held = writer_lock.hold(server.clock.as_ref());
        let due = pass(server, file, &connection, Work { copies: true, hurried: true, ..Work::default() });
        {
            let log = &mut server.state().files[file as usize];
            log.gate = log.gate.max(due);
            let now = server.clock.now();
            log.copied_early.retain(|_, durable| *durable > now);
        }
        orders.wanted.store(false, Ordering::Release);
        drop(held);
        server.clock.sleep_until(due);
    }
}

/// One pass; gives when what it wrote is durable.
fn pass(server: &Server, file: u32, connection: &Connection, work: Work) -> Moment {
    charge::install(Box::new(work));
    let passed = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
    let mut work = charge::take().unwrap_or_default();
    charge::continue_panic();
    drop(passed);
    // A pass that can't copy the log whole ends without a sync.
    server.write_run(file, &mut work);
    work.due
}
