//! Databases of our own, by which whole ones are copied: how they are known, listed and dropped.

use plimsoll_engine::server::place::{CONTROL, Keeper as _, Owner, foreign, why_not_ours, without_others};
use plimsoll_engine::{Error, ErrorKind, Result, Workspace, WorkspaceStatus};

use super::connect::Connector;
use super::connection::Connection;
use super::statements::{filled_for, sql};
use super::workspace;

/// Every database with a name of ours, under the lease of its run.
pub(super) fn list(connection: &mut Connection, connector: &Connector) -> Result<Vec<WorkspaceStatus>> {
    let mut statuses = Vec::new();
    for row in connection.rows(sql("databases by our names"), &[])? {
        let Some(workspace) = row.text(0).and_then(Workspace::from_name) else { continue };
        let leased = workspace::is_locked_anywhere(connection, &workspace.leased_by())?;
        let owner = workspace::owner(row.text(1), &workspace);
        let not_ours = why_not_ours(&owner, &connector.intents, &workspace)?;
        statuses.push(WorkspaceStatus { leased, workspace, not_ours });
    }
    Ok(statuses)
}

/// Makes a database by this statement in place of one that may be there, and marks it.
pub(super) fn make(connection: &mut Connection, connector: &Connector, copy: &Workspace, sql: &str) -> Result<()> {
    let mark = connector.intents.begin(copy.name())?;
    connection.run(sql)?;
    connection.run(&Connection::marking(copy, &mark))?;
    connector.intents.made(&mark)
}

/// Drops a database if it is there, with the sessions that are still in it. An error, and it stays, if it or anything in it is not
/// ours.
pub(super) fn drop_database(
    connection: &mut Connection,
    connector: &Connector,
    copy: &Workspace,
    version: u32,
) -> Result<()> {
    let rows = connection.rows(sql("mark of a database"), &[copy.name()])?;
    let Some(row) = rows.first() else { return Ok(()) };
    let owner = workspace::owner(row.text(0), copy);
    if let Some(reason) = why_not_ours(&owner, &connector.intents, copy)? {
        return Err(foreign::<Connection>(copy, &reason));
    }
    // Of one that was half removed nobody can see anything.
    if !row.is_true(1) {
        check_whole(connector, copy)?;
        // Looking into it took a while.
        if connection.owner(copy)? != owner {
            return Err(foreign::<Connection>(copy, "its mark was changed just now"));
        }
    }
    connection.run(&filled_for("drop a database", version, &[("database", copy.name())])).map(drop)?;
    connector.intents.over(copy.name());
    Ok(())
}

/// An error if anything in a database of ours is not ours, or may not be seen.
fn check_whole(connector: &Connector, copy: &Workspace) -> Result<()> {
    let place = copy.leased_by();
    let mut inside = connector.to(copy.name()).connect(CONTROL).map_err(|error| match error.kind {
        ErrorKind::Permission | ErrorKind::Connect | ErrorKind::Missing => {
            let message = format!("the database {copy} is kept, as what is in it can't be seen: {}", error.message);
            Error::new(ErrorKind::Permission, message).hint(format!(
                "GRANT CONNECT ON DATABASE {copy} to this user, or run plimsoll clean as the user that made it"
            ))
        }
        _ => error,
    })?;
    let rows = inside.rows(sql("what is not ours in a database"), &[place.name()])?;
    let others: Vec<String> = rows.iter().filter_map(|row| row.text(0).map(str::to_owned)).collect();
    without_others::<Connection>(copy, &others)?;
    match inside.owner(&place)? {
        Owner::Nobody => Ok(()),
        _ => workspace::check_whole(&mut inside, &place),
    }
}
