//! What the engine says about itself.

use std::collections::BTreeMap;

use plimsoll_engine::{Description, Result, WeakIsolation, cpus_of_machine};
use rusqlite::Connection;

use super::errors::from_sqlite;
use super::location::Location;
use super::options::{Options, survives_a_kill};
use super::texts::text;

/// What the sessions will use: SQLite is asked through a connection without a file, the rest is made sure of when a
/// session opens.
pub(super) fn describe(location: &Location, options: &Options) -> Result<Description> {
    let failed = |error| from_sqlite(error, location.folder());
    let connection = Connection::open_in_memory().map_err(failed)?;
    options.apply(&connection).map_err(failed)?;
    let pragma = |name: &str| {
        connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).map(|value| value.to_string())
    };
    let threadsafe: String = connection.query_row(text("threads"), [], |row| row.get(0)).map_err(failed)?;
    let settings = BTreeMap::from([
        ("cache_size".to_owned(), pragma("cache_size").map_err(failed)?),
        ("journal_mode".to_owned(), options.journal_mode.to_owned()),
        ("mmap_size".to_owned(), options.mmap_bytes.to_string()),
        ("page_size".to_owned(), options.page_bytes.to_string()),
        ("synchronous".to_owned(), options.synchronous.to_owned()),
        ("temp_store".to_owned(), "memory".to_owned()),
        ("threadsafe".to_owned(), threadsafe.trim_start_matches("THREADSAFE=").to_owned()),
        ("wal_autocheckpoint".to_owned(), pragma("wal_autocheckpoint").map_err(failed)?),
    ]);
    let weak_isolation =
        WeakIsolation::NoEffect("read uncommitted needs SQLite's shared cache, which is not used".to_owned());
    Ok(Description {
        settings,
        local: true,
        embedded: true,
        cpus: cpus_of_machine(),
        fingerprint: location.fingerprint()?,
        warnings: warnings(location, options),
        ..Description::new("sqlite", rusqlite::version().to_owned(), options.page_bytes, weak_isolation)
    })
}

fn warnings(location: &Location, options: &Options) -> Vec<String> {
    let mut warnings = Vec::new();
    if options.synchronous == "off" {
        warnings.push("synchronous=off: a crash of the machine may damage the file or lose commits".to_owned());
    }
    if !survives_a_kill(options.journal_mode) {
        let mode = options.journal_mode;
        warnings.push(format!("journal_mode={mode}: a crash within a transaction damages the file"));
    }
    if location.in_memory() {
        warnings.push(format!("the folder {} is in memory, not on a disk", location.folder().display()));
    }
    warnings
}
