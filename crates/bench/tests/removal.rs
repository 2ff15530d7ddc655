//! The end of a run beside others who look whether its place can be removed.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use plimsoll_bench::Interrupt;
use plimsoll_bench::run::place::remove_own;
use plimsoll_clock::{Clock as _, RealClock};
use plimsoll_engine::{ClaimMode, Credentials, Database, Engine as _, Target, Workspace};
use plimsoll_sqlite::Sqlite;

fn open(url: &str) -> Box<dyn Database> {
    Sqlite.open(&Target::parse(url).unwrap(), &Credentials::default(), Arc::new(RealClock::new())).unwrap()
}

/// A `clean` has the lease for as long as it looks, and a run that ended just then gave its place up.
#[test]
fn a_lease_that_passes_does_not_keep_the_place() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("c.db").display());
    let (database, another) = (open(&url), open(&url));
    let workspace = Workspace::run("removal").unwrap();
    let lease = another.claim(&workspace, ClaimMode::Exclusive).unwrap().unwrap();
    assert!(!database.remove(&workspace).unwrap(), "it is in use");
    let (interrupt, clock) = (Interrupt::default(), RealClock::new());
    thread::scope(|scope| {
        scope.spawn(move || {
            RealClock::new().sleep(Duration::from_millis(150));
            drop(lease);
        });
        remove_own(database.as_ref(), &workspace, &interrupt, &clock).unwrap();
    });
    assert!(database.workspaces().unwrap().is_empty());
}
