//! Databases of our own, by which whole ones are copied: how they are known, listed and dropped.

use plimsoll_engine::{Error, ErrorKind, Result, Workspace, WorkspaceStatus};

use super::connection::Connection;
use super::statements::{filled, filled_for};
use super::workspace;

/// The limit of connections that our databases have, and by which they are known. Unlike a comment it is there from the moment
/// in which the database is. ("Plim" on a telephone, cut to what nobody would choose.)
pub(super) const MARK: u32 = 7546;

/// Every database with a name and the mark of ours; under the lease of its run.
pub(super) fn list(connection: &mut Connection) -> Result<Vec<WorkspaceStatus>> {
    let rows = connection.rows(&filled("databases of ours", &[("mark", &MARK.to_string())]), &[])?;
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
    let owner = filled("owner of a database", &[("mark", &MARK.to_string())]);
    match connection.rows(&owner, &[copy.name()])?.first() {
        None => return Ok(()),
        Some(row) if row.is_true(0) => {}
        Some(_) => {
            let message = format!("the database {copy} does not bear our mark, so it is not touched");
            return Err(Error::new(ErrorKind::Safety, message)
                .hint(format!("if it is ours after all: ALTER DATABASE {copy} CONNECTION LIMIT {MARK}")));
        }
    }
    connection.run(&filled_for("drop a database", version, &[("database", copy.name())])).map(drop)
}
