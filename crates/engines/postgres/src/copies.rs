//! Databases of our own, by which whole ones are copied: how they are known, listed and dropped.

use plimsoll_engine::{Error, ErrorKind, Result, Workspace, WorkspaceStatus};

use super::connection::Connection;
use super::workspace;

/// The limit of connections that our databases have, and by which they are known. Unlike a comment it is there from the moment
/// in which the database is. ("Plim" on a telephone, cut to what nobody would choose.)
pub(super) const MARK: u32 = 7546;

/// The condition that a row of `pg_database` with a name of ours bears it. After a removal that was cut short there is -2 instead,
/// and the database can only be dropped (`DATCONNLIMIT_INVALID_DB` in PostgreSQL's `pg_database.h`).
const BEARS_MARK: &str = "datconnlimit IN (7546, -2)";

/// First version with `WITH (FORCE)`.
const FORCE_SINCE: u32 = 130_000;

/// Every database with a name and the mark of ours; under the lease of its run.
pub(super) fn list(connection: &mut Connection) -> Result<Vec<WorkspaceStatus>> {
    let sql = format!(
        "SELECT datname::text FROM pg_database WHERE datname LIKE 'plimsoll\\_copy\\_%' AND {BEARS_MARK} ORDER BY 1"
    );
    let rows = connection.rows(&sql, &[])?;
    let found = rows.iter().filter_map(|row| Workspace::from_name(row.text(0)?));
    found
        .map(|workspace| {
            let leased = workspace::is_locked_anywhere(connection, &workspace.leased_by())?;
            Ok(WorkspaceStatus { leased, workspace })
        })
        .collect()
}

/// Drops a database if it is there and bears our mark, with the sessions that are still in it.
pub(super) fn drop_database(connection: &mut Connection, copy: &Workspace, version: u32) -> Result<()> {
    let sql = format!("SELECT {BEARS_MARK} FROM pg_database WHERE datname = $1");
    match connection.rows(&sql, &[copy.name()])?.first() {
        None => return Ok(()),
        Some(row) if row.is_true(0) => {}
        Some(_) => {
            let message = format!("the database {copy} does not bear our mark, so it is not touched");
            return Err(Error::new(ErrorKind::Safety, message)
                .hint(format!("if it is ours after all: ALTER DATABASE {copy} CONNECTION LIMIT {MARK}")));
        }
    }
    let force = if version >= FORCE_SINCE { " WITH (FORCE)" } else { "" };
    connection.run(&format!("DROP DATABASE IF EXISTS {copy}{force}")).map(drop)
}
