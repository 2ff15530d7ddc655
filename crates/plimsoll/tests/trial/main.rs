//! The whole contract on a server that somebody has: every test, changes counted by the server itself, and two clients that take each
//! other's leases. It makes schemas and a table of its own there and removes them.
//!
//! `PLIMSOLL_TEST_MSSQL_URL='mssql://user:password@host/database' cargo xtask trial` runs it and prints the tables.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::print_stdout, reason = "what was found is for the person who started it")]

#[path = "../common/mod.rs"]
mod common;

mod changes;
mod leases;
mod tests;

use std::sync::Arc;

use plimsoll_clock::RealClock;
use plimsoll_engine::{Credentials, Database, Engine as _, Target};
use plimsoll_mssql::Mssql;

/// The target, with its password.
fn url() -> String {
    std::env::var("PLIMSOLL_TEST_MSSQL_URL").expect("PLIMSOLL_TEST_MSSQL_URL holds the URL of a database for trials")
}

/// The server by the driver, beside the program.
fn open() -> Box<dyn Database> {
    let target = Target::parse(&url()).unwrap();
    Mssql.open(&target, &Credentials::default(), Arc::new(RealClock::new())).unwrap()
}

/// Names of all workspaces of ours, and whether each has a lease.
fn workspaces(database: &dyn Database) -> Vec<(String, bool)> {
    let found = database.workspaces().unwrap();
    found.into_iter().map(|status| (status.workspace.name().to_owned(), status.leased)).collect()
}
