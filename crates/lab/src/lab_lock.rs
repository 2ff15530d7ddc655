//! The statement that locks a key: SQLite has none, so a transaction of the lab that should hold one up asks for it by
//! `SELECT lab_lock(:key)`. It is held to the transaction's end, the wait for the log to be durable included, as engines hold
//! their row locks until a commit is acknowledged.
//!
//! A session asks for keys in ascending order and before it has the right to write; else it gets an error. So no circle can
//! form: every key that a session waits for is higher than what it has, and whoever has the right to write waits for no key.

use std::sync::Arc;

use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;

use crate::charge::{self, Work};
use crate::server::Server;
use crate::waits::Wait;

/// Lets the statements of a connection take locks.
pub fn register(connection: &Connection, server: Arc<Server>) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DIRECTONLY;
    connection.create_scalar_function("lab_lock", 1, flags, move |arguments| {
        let key: i64 = arguments.get(0)?;
        let refused = |why: String| rusqlite::Error::UserFunctionError(why.into());
        match charge::guard(|| charge::with(|work| lock(&server, work, key)).unwrap_or(Ok(()))) {
            Some(taken) => taken.map(|()| key).map_err(refused),
            // Its panic goes on as soon as SQLite has returned.
            None => Err(refused("lab_lock was broken off".to_owned())),
        }
    })
}

/// Takes a lock for the running transaction; nothing happens if it has it.
fn lock(server: &Server, work: &mut Work, key: i64) -> Result<(), String> {
    if work.locks.iter().any(|lock| lock.key == key) {
        return Ok(());
    }
    if work.may_write {
        return Err(format!(
            "lab_lock({key}) comes too late: the transaction has the right to write, for which others may wait who have the lock; \
             take locks first, after BEGIN and not after BEGIN IMMEDIATE"
        ));
    }
    if let Some(last) = work.locks.last().filter(|last| last.key > key) {
        return Err(format!(
            "lab_lock({key}) after lab_lock({}): a transaction takes locks in ascending order, or two could wait for each other",
            last.key
        ));
    }
    let (lock, waited) = server.locks.take(key, server.clock.as_ref());
    work.locks.push(lock);
    if !waited.is_zero() {
        work.new_waits.add(Wait::Lock, waited);
        work.computing_since = server.computing_now();
    }
    Ok(())
}
