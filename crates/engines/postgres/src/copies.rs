//! Databases of our own, by which whole ones are copied: how they are known, listed and dropped.

use plimsoll_engine::server::place::{CONTROL, Keeper as _, Owner, foreign, why_not_ours, without_others};
use plimsoll_engine::{Error, ErrorKind, Result, Workspace, WorkspaceStatus};

use super::connect::Connector;
use super::connection::Connection;
use super::statements::{QUOTING, filled, sql};
use super::workspace;

/// Every database with a name of ours, under the lease of its run.
pub(super) fn list(connection: &mut Connection, connector: &Connector) -> Result<Vec<WorkspaceStatus>> {
    let mut statuses = Vec::new();
    for row in connection.rows(sql("databases by our names"), &[])? {
        let Some(workspace) = row.text(0).and_then(Workspace::from_name) else { continue };
        let leased = workspace::is_locked_anywhere(connection, &workspace.leased_by())?;
        let owner = workspace::owner(row.text(1), &workspace);
        let not_ours = why_not_ours(&owner, &connector.intents, &workspace)?.map(Error::safety);
        statuses.push(WorkspaceStatus { leased, workspace, not_ours });
    }
    Ok(statuses)
}

/// Makes a database by this statement in place of one that may be there, and marks it.
pub(super) fn make(connection: &mut Connection, connector: &Connector, copy: &Workspace, sql: &str) -> Result<()> {
    let mark = connector.intents.begin(copy.name())?;
    connection.run(sql).map_err(|error| match error.kind {
        ErrorKind::Permission => error
            .hint(format!("ALTER ROLE {} CREATEDB lets the user make databases", QUOTING.name(&connector.errors.user))),
        _ => error,
    })?;
    connection.run(&Connection::marking(copy, &mark))?;
    connector.intents.made(&mark)
}

/// Drops a database if it is there, after our own sessions that are still in it. An error, and it stays, if it or anything in it is not
/// ours, or if anybody else is in it.
pub(super) fn drop_database(connection: &mut Connection, connector: &Connector, copy: &Workspace) -> Result<()> {
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
    connection.rows(sql("end our sessions in a database"), &[copy.name()])?;
    if let Err(error) = connection.run(&filled("drop a database", &[("database", copy.name())])) {
        return Err(in_use(connection, copy, error));
    }
    connector.intents.over(copy.name());
    Ok(())
}

/// The error of a database that could not be dropped, by who is in it.
fn in_use(connection: &mut Connection, copy: &Workspace, error: Error) -> Error {
    let there = if error.kind == ErrorKind::Busy {
        connection.rows(sql("who is in a database"), &[copy.name()]).unwrap_or_default()
    } else {
        Vec::new()
    };
    let users: Vec<&str> = there.iter().filter_map(|row| row.text(0)).collect();
    if users.is_empty() {
        return error;
    }
    let message = format!("the database {copy} is kept, as sessions of others are in it: {}", users.join(", "));
    Error::new(ErrorKind::Safety, message).hint("once they have left it, plimsoll clean removes it")
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
    let mut others = strangers(&mut inside, &place)?;
    match inside.owner(&place)? {
        Owner::Nobody => {}
        Owner::Somebody(reason) => others.push(format!("the schema {place}, as {reason}")),
        _ => others.extend(workspace::strangers(&mut inside, &place)?),
    }
    without_others::<Connection>(copy, &others)
}

/// What is not ours in the database of a session, outside of its run's schema: whatever stands in any of the server's catalogues.
fn strangers(inside: &mut Connection, place: &Workspace) -> Result<Vec<String>> {
    let catalogues = inside.rows(sql("catalogues of objects"), &[])?;
    let names = catalogues.iter().filter_map(|row| row.text(0));
    let objects: Vec<String> = names.map(|name| filled("objects of a catalogue", &[("catalogue", name)])).collect();
    let rows = inside.rows(&objects.join(" UNION ALL "), &[])?;
    let [classes, numbers] = [0, 1].map(|column| {
        let all: Vec<&str> = rows.iter().filter_map(|row| row.text(column)).collect();
        format!("{{{}}}", all.join(","))
    });
    let rows = inside.rows(sql("what is not ours in a database"), &[place.name(), &classes, &numbers])?;
    Ok(rows.iter().filter_map(|row| row.text(0).map(str::to_owned)).collect())
}
