//! Places: databases that bear our mark, and the named locks that stand for the lease on each.
//!
//! The server has named locks (`GET_LOCK`) that are exclusive and fall with their session. A lease is made of several
//! of them. There is one for a session that has the place for itself, one of many for each session that shares it, and
//! a gate that is held only while somebody looks at the others and takes one. Names are as long as all versions take
//! (64 bytes), and never to change, as programs of different versions must respect each other's leases.

use std::time::Duration;

use plimsoll_clock::Clock;
use plimsoll_engine::server::place::{Keeper, Keepers, Owner, without_others};
use plimsoll_engine::{Error, ErrorKind, Result, Workspace, WorkspaceKind, WorkspaceStatus};

use super::connect::Connector;
use super::connection::Connection;
use super::error::{Errors, statement};
use super::statements::{fill, of_place, of_table, text};

/// A table of this name, with a comment of ours, is in each of our databases. It says what a database is for, and we never touch
/// one without it.
pub(super) const MARK_TABLE: &str = "plimsoll_mark";
/// Most leases that share a place.
const SHARES: u32 = 32;
/// How long the gate may be held by others, in seconds: a few round trips.
const GATE_SECONDS: u32 = 30;
/// So long a session that holds locks may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// A name that a statement asked for isn't there any more.
pub(super) const NO_SUCH_TABLE: u16 = 1146;

fn gate(workspace: &Workspace) -> String {
    format!("{workspace}.gate")
}

fn exclusive(workspace: &Workspace) -> String {
    format!("{workspace}.exclusive")
}

/// What the names of locks that sessions share begin with; a number follows.
fn shared(workspace: &Workspace) -> String {
    format!("{workspace}.shared")
}

/// The name that a working session holds for its run; its number follows.
pub(super) fn work(run: &Workspace) -> String {
    format!("{run}.work")
}

/// True if a query says 1.
fn is_true(connection: &mut Connection, sql: &str) -> Result<bool> {
    Ok(connection.ask_one(sql)?.as_deref() == Some("1"))
}

fn take(connection: &mut Connection, lock: &str, seconds: u32) -> Result<bool> {
    is_true(connection, &fill("take a lock", &[("lock", lock), ("seconds", &seconds.to_string())]))
}

fn give_back(connection: &mut Connection, lock: &str) -> Result<()> {
    connection.set(&fill("give a lock back", &[("lock", lock)])).map(drop)
}

/// Works with a place's locks while nobody else does.
fn at_the_gate<T>(
    connection: &mut Connection,
    workspace: &Workspace,
    work: impl FnOnce(&mut Connection) -> Result<T>,
) -> Result<T> {
    if !take(connection, &gate(workspace), GATE_SECONDS)? {
        return Err(Error::new(
            ErrorKind::Busy,
            format!("the lease on {workspace} is being taken by others all the time"),
        )
        .hint("another program holds our lock; see what SHOW PROCESSLIST says, then try again"));
    }
    let outcome = work(connection);
    // If it fails the session is dead and its locks with it.
    let given_back = give_back(connection, &gate(workspace));
    outcome.and_then(|value| given_back.map(|()| value))
}

/// True if no session but our own holds a lease on the place.
fn is_free(connection: &mut Connection, workspace: &Workspace) -> Result<bool> {
    let (exclusive, shared, last) = (exclusive(workspace), shared(workspace), (SHARES - 1).to_string());
    is_true(connection, &fill("are all locks free", &[("exclusive", &exclusive), ("shared", &shared), ("last", &last)]))
}

/// Takes one of the locks for sessions that share.
fn share(connection: &mut Connection, workspace: &Workspace) -> Result<bool> {
    for number in 0..SHARES {
        if take(connection, &format!("{}{number}", shared(workspace)), 0)? {
            return Ok(true);
        }
    }
    Err(statement(format_args!("{SHARES} others read {workspace} already"))
        .hint("start again when some of them have ended"))
}

impl Keepers for Connector {
    type Keeper = Connection;

    fn clock(&self) -> &dyn Clock {
        self.clock.as_ref()
    }

    /// It neither works nor is in any of our databases.
    fn keeper(&self, name: &str) -> Result<Connection> {
        let mut connection = self.connect(name)?;
        connection.set(connection.server.product.text("settings of a session"))?;
        Ok(connection)
    }
}

impl Keeper for Connection {
    const NOUN: &'static str = "database";
    const RENEW_PATIENCE: Duration = Duration::from_secs(5);

    fn owner(&mut self, workspace: &Workspace) -> Result<Owner> {
        Ok(match self.ask_one(&of_place("owner of a database", workspace))?.as_deref() {
            None => Owner::Nobody,
            Some("ours") => Owner::We,
            Some("empty") => Owner::Unfinished,
            Some(_) => Owner::Somebody,
        })
    }

    fn make(&mut self, workspace: &Workspace, found: Owner) -> Result<()> {
        if found == Owner::Nobody {
            self.set(&of_place("make a database", workspace))?;
        }
        self.set(&Self::marking(workspace)).map(drop).inspect_err(|_| {
            // It is empty, and nobody but us can have made it: better none than one without a mark.
            let _ = self.run(&of_place("remove a database", workspace));
        })
    }

    fn marking(workspace: &Workspace) -> String {
        of_place("mark a database", workspace)
    }

    fn try_lock(&mut self, workspace: &Workspace, shared: bool) -> Result<bool> {
        at_the_gate(self, workspace, |connection| {
            let own = exclusive(workspace);
            if shared {
                let is_free = is_true(connection, &fill("is a lock free", &[("lock", &own)]))?;
                return Ok(is_free && share(connection, workspace)?);
            }
            Ok(is_free(connection, workspace)? && take(connection, &own, 0)?)
        })
    }

    fn lower(&mut self, workspace: &Workspace) -> Result<bool> {
        at_the_gate(self, workspace, |connection| {
            let shares = share(connection, workspace)?;
            give_back(connection, &exclusive(workspace)).map(|()| shares)
        })
    }

    fn unlock(&mut self, workspace: &Workspace) -> Result<()> {
        give_back(self, &exclusive(workspace))
    }

    fn leave(&mut self, _: &Workspace) {
        self.link.set_timeout(Some(PATIENCE));
        // If it fails the session is dead and its locks with it.
        let _ = self.set(text("give all locks back"));
    }

    fn answers(&mut self) -> bool {
        self.link.set_timeout(Some(PATIENCE));
        let answers = self.ping();
        self.link.set_timeout(None);
        answers
    }

    /// A working session holds a lock with the name of its run and its own number.
    fn working(&mut self) -> Result<Vec<(Workspace, Vec<i64>)>> {
        let mut found = Vec::new();
        for run in names(self)?.into_iter().filter(|workspace| workspace.kind() == WorkspaceKind::Run) {
            let sql = fill("sessions with a lock", &[("lock", &work(&run))]);
            let ids: Vec<i64> = self.column(&sql)?.iter().filter_map(|id| id.parse().ok()).collect();
            if !ids.is_empty() {
                found.push((run, ids));
            }
        }
        Ok(found)
    }

    /// Numbers are given once, so what has gone is nobody else.
    fn end(&mut self, _: &Workspace, session: i64) -> Result<bool> {
        match self.run(&fill("end a session", &[("session", &session.to_string())])) {
            Ok(_) => Ok(true),
            // Another user's session is not ours to end; one that has gone is gone.
            Err(error) if matches!(error.kind, ErrorKind::Permission | ErrorKind::Statement) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn is_working(&mut self, run: &Workspace, session: i64) -> Result<bool> {
        let (lock, session) = (format!("{}{session}", work(run)), session.to_string());
        is_true(self, &fill("has a session a lock", &[("lock", &lock), ("session", &session)]))
    }
}

/// Places by their names, whosoever they are.
fn names(connection: &mut Connection) -> Result<Vec<Workspace>> {
    let names = connection.column(text("databases by our names"))?;
    Ok(names.iter().filter_map(|name| Workspace::from_name(name)).collect())
}

/// Every database with a name and a mark of ours, and whether anybody holds a lease on it.
pub(super) fn list(connection: &mut Connection) -> Result<Vec<WorkspaceStatus>> {
    let mut workspaces = Vec::new();
    for workspace in names(connection)? {
        if matches!(connection.owner(&workspace)?, Owner::We | Owner::Unfinished) {
            // This session holds none.
            let leased = !is_free(connection, &workspace.leased_by())?;
            workspaces.push(WorkspaceStatus { workspace, leased });
        }
    }
    workspaces.sort_by(|one, other| one.workspace.cmp(&other.workspace));
    Ok(workspaces)
}

/// Drops the database of a place with its tables. Only tables and procedures by our names are ours: if anything else is in it or
/// depends on a table in it, nothing is dropped. The mark goes last.
pub(super) fn drop_database(connection: &mut Connection, workspace: &Workspace) -> Result<()> {
    without_others::<Connection>(
        workspace,
        &connection.column(&of_place("what is not ours in a database", workspace))?,
    )?;
    let tables = connection.column(&of_place("tables of a database", workspace))?;
    connection.run(text("without foreign keys"))?;
    let dropped = tables
        .iter()
        .map(|table| of_table("remove a table", workspace, table))
        .chain([of_place("remove a database", workspace)])
        .try_for_each(|sql| connection.run(&sql).map(drop));
    let errors = connection.errors.clone();
    dropped.map_err(|error| dropping(&errors, workspace, error))
}

fn dropping(errors: &Errors, workspace: &Workspace, error: Error) -> Error {
    if error.kind == ErrorKind::Permission {
        let message =
            format!("the database {workspace} can't be removed by this user of {}: {}", errors.address, error.message);
        return Error::new(ErrorKind::Permission, message)
            .hint("run plimsoll clean as the user that made it, or as one with the right to drop databases");
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Part of the contract between versions.
    #[test]
    fn names_of_locks_never_change_and_are_short_enough() {
        let workspace = Workspace::run(&"x".repeat(32)).unwrap();
        let own = Workspace::data(1);
        assert_eq!(exclusive(&own), "plimsoll_data_0000000000000001.exclusive");
        assert_eq!((shared(&own), SHARES), ("plimsoll_data_0000000000000001.shared".to_owned(), 32));
        assert_eq!((gate(&own), work(&own)).0, "plimsoll_data_0000000000000001.gate");
        let [working, sharing] = [(work(&workspace), u32::MAX), (shared(&workspace), SHARES - 1)]
            .map(|(name, number)| format!("{name}{number}"));
        for name in [gate(&workspace), exclusive(&workspace), working, sharing] {
            assert!(name.len() <= 64, "{name}");
        }
    }

    /// So is the mark.
    #[test]
    fn the_mark_never_changes() {
        let marking = Connection::marking(&Workspace::data(1));
        let mark = "plimsoll: measurement data, may be removed";
        assert!(marking.contains(&format!(".`{MARK_TABLE}` (")) && marking.contains(&format!("= '{mark}'")));
        let owner = of_place("owner of a database", &Workspace::data(1));
        assert!(owner.contains(&format!("`TABLE_NAME` = '{MARK_TABLE}' AND `TABLE_COMMENT` = '{mark}'")), "{owner}");
    }
}
