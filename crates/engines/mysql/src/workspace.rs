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

/// A table of this name and comment is in each of our databases. It says what a database is for, and we never touch one without
/// it.
pub(super) const MARK_TABLE: &str = "plimsoll_mark";
const MARK: &str = "plimsoll: measurement data, may be removed";
/// Most leases that share a place.
const SHARES: u32 = 32;
/// How long the gate may be held by others, in seconds: a few round trips.
const GATE_SECONDS: u32 = 30;
/// So long a session that holds locks may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);
const TABLES_PER_DROP: usize = 64;
/// A name that a statement asked for isn't there any more.
pub(super) const NO_SUCH_TABLE: u16 = 1146;

fn gate(workspace: &Workspace) -> String {
    format!("{workspace}.gate")
}

fn exclusive(workspace: &Workspace) -> String {
    format!("{workspace}.exclusive")
}

fn shares(workspace: &Workspace) -> impl Iterator<Item = String> {
    (0..SHARES).map(move |number| format!("{workspace}.shared{number}"))
}

/// The name that a working session holds for its run; its number follows.
pub(super) fn work(run: &Workspace) -> String {
    format!("{run}.work")
}

/// Settings that keep the server from ending a session that is idle or slow, and from waiting for ever.
pub(super) fn settings(connection: &Connection) -> String {
    let ours = [
        // A year: the longest that there is.
        ("wait_timeout", "31536000"),
        ("net_read_timeout", "3600"),
        ("net_write_timeout", "3600"),
        // A session in the way of a DROP should not hold it up for ever.
        ("lock_wait_timeout", "60"),
        ("autocommit", "1"),
        // What doesn't fit is an error and no other value.
        ("sql_mode", "'STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'"),
    ];
    let all = ours.iter().chain(connection.server.product.settings());
    let all: Vec<String> = all.map(|(name, value)| format!("{name} = {value}")).collect();
    format!("SET SESSION {}", all.join(", "))
}

/// True if a query says 1.
fn is_true(connection: &mut Connection, sql: &str) -> Result<bool> {
    Ok(connection.ask_one(sql)?.as_deref() == Some("1"))
}

fn take(connection: &mut Connection, lock: &str, seconds: u32) -> Result<bool> {
    is_true(connection, &format!("SELECT GET_LOCK('{lock}', {seconds})"))
}

fn give_back(connection: &mut Connection, lock: &str) -> Result<()> {
    connection.run(&format!("SELECT RELEASE_LOCK('{lock}')")).map(drop)
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

/// The condition that no session but our own holds any of these locks.
fn free(locks: impl Iterator<Item = String>) -> String {
    let all: Vec<String> =
        locks.map(|lock| format!("COALESCE(IS_USED_LOCK('{lock}'), CONNECTION_ID()) = CONNECTION_ID()")).collect();
    all.join(" AND ")
}

/// Takes one of the locks for sessions that share.
fn share(connection: &mut Connection, workspace: &Workspace) -> Result<bool> {
    for lock in shares(workspace) {
        if take(connection, &lock, 0)? {
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
        let settings = settings(&connection);
        connection.run(&settings)?;
        Ok(connection)
    }
}

impl Keeper for Connection {
    const NOUN: &'static str = "database";
    const RENEW_PATIENCE: Duration = Duration::from_secs(5);

    fn owner(&mut self, workspace: &Workspace) -> Result<Owner> {
        let sql = format!(
            "SELECT CASE WHEN EXISTS (SELECT * FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{workspace}' \
             AND TABLE_NAME = '{MARK_TABLE}' AND TABLE_COMMENT = '{MARK}') THEN 'ours' \
             WHEN EXISTS (SELECT * FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{workspace}') \
             OR EXISTS (SELECT * FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = '{workspace}') \
             OR EXISTS (SELECT * FROM information_schema.EVENTS WHERE EVENT_SCHEMA = '{workspace}') THEN 'theirs' ELSE 'empty' END \
             FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = '{workspace}'"
        );
        Ok(match self.ask_one(&sql)?.as_deref() {
            None => Owner::Nobody,
            Some("ours") => Owner::We,
            Some("empty") => Owner::Unfinished,
            Some(_) => Owner::Somebody,
        })
    }

    fn make(&mut self, workspace: &Workspace, found: Owner) -> Result<()> {
        if found == Owner::Nobody {
            self.run(&format!("CREATE DATABASE {workspace} CHARACTER SET utf8mb4"))?;
        }
        let mark =
            format!("CREATE TABLE {workspace}.{MARK_TABLE} (a int PRIMARY KEY) ENGINE = InnoDB COMMENT = '{MARK}'");
        self.run(&mark).map(drop).inspect_err(|_| {
            // It is empty, and nobody but us can have made it: better none than one without a mark.
            let _ = self.run(&format!("DROP DATABASE {workspace}"));
        })
    }

    fn marking(workspace: &Workspace) -> String {
        format!("CREATE TABLE {workspace}.{MARK_TABLE} (a int) COMMENT = '{MARK}'")
    }

    fn try_lock(&mut self, workspace: &Workspace, shared: bool) -> Result<bool> {
        at_the_gate(self, workspace, |connection| {
            let own = exclusive(workspace);
            if shared {
                return Ok(is_true(connection, &format!("SELECT {}", free(std::iter::once(own))))?
                    && share(connection, workspace)?);
            }
            let all = free(shares(workspace).chain([own.clone()]));
            Ok(is_true(connection, &format!("SELECT {all}"))? && take(connection, &own, 0)?)
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
        let _ = self.run("SELECT RELEASE_ALL_LOCKS()");
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
            let lock = work(&run);
            let sql =
                format!("SELECT ID FROM information_schema.PROCESSLIST WHERE IS_USED_LOCK(CONCAT('{lock}', ID)) = ID");
            let ids: Vec<i64> = self.column(&sql)?.iter().filter_map(|id| id.parse().ok()).collect();
            if !ids.is_empty() {
                found.push((run, ids));
            }
        }
        Ok(found)
    }

    /// Numbers are given once, so what has gone is nobody else.
    fn end(&mut self, _: &Workspace, session: i64) -> Result<bool> {
        match self.run(&format!("KILL {session}")) {
            Ok(_) => Ok(true),
            // Another user's session is not ours to end; one that has gone is gone.
            Err(error) if matches!(error.kind, ErrorKind::Permission | ErrorKind::Statement) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn is_working(&mut self, run: &Workspace, session: i64) -> Result<bool> {
        is_true(self, &format!("SELECT IS_USED_LOCK('{}{session}') = {session}", work(run)))
    }
}

/// Places by their names, whosoever they are.
fn names(connection: &mut Connection) -> Result<Vec<Workspace>> {
    let names = connection.column("SHOW DATABASES LIKE 'plimsoll\\_%'")?;
    Ok(names.iter().filter_map(|name| Workspace::from_name(name)).collect())
}
/// Every database with a name and a mark of ours, and whether anybody holds a lease on it.
pub(super) fn list(connection: &mut Connection) -> Result<Vec<WorkspaceStatus>> {
    let mut workspaces = Vec::new();
    for workspace in names(connection)? {
        if matches!(connection.owner(&workspace)?, Owner::We | Owner::Unfinished) {
            let lease = workspace.leased_by();
            let used: Vec<String> = shares(&lease)
                .chain([exclusive(&lease)])
                .map(|lock| format!("IS_USED_LOCK('{lock}') IS NOT NULL"))
                .collect();
            let leased = is_true(connection, &format!("SELECT {}", used.join(" OR ")))?;
            workspaces.push(WorkspaceStatus { workspace, leased });
        }
    }
    workspaces.sort_by(|one, other| one.workspace.cmp(&other.workspace));
    Ok(workspaces)
}

/// Drops the database of a place with its tables. Only tables and procedures by our names are ours: if anything else is in it or depends on a table in
/// it, nothing is dropped. The mark goes last.
pub(super) fn drop_database(connection: &mut Connection, workspace: &Workspace) -> Result<()> {
    without_others::<Connection>(workspace, &unowned_objects(connection, workspace)?)?;
    let sql = format!(
        "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{workspace}' AND TABLE_NAME <> '{MARK_TABLE}'"
    );
    let tables = connection.column(&sql)?;
    let tables: Vec<String> = tables.iter().map(|name| format!("{workspace}.{}", quoted(name))).collect();
    // Ours may refer to one another.
    connection.run("SET SESSION foreign_key_checks = 0")?;
    let dropped = tables
        .chunks(TABLES_PER_DROP)
        .map(|tables| format!("DROP TABLE IF EXISTS {}", tables.join(", ")))
        .chain([format!("DROP DATABASE IF EXISTS {workspace}")])
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

/// What is not ours and would have to go with the place, or break without it. This is everything in the database but
/// plain tables and our procedures, keys elsewhere that refer to our tables, and views elsewhere that read them.
fn unowned_objects(connection: &mut Connection, workspace: &Workspace) -> Result<Vec<String>> {
    let sql = format!(
        "SELECT CONCAT(LOWER(TABLE_TYPE), ' ', TABLE_NAME) FROM information_schema.TABLES \
         WHERE TABLE_SCHEMA = '{workspace}' AND TABLE_TYPE <> 'BASE TABLE' \
         UNION ALL SELECT CONCAT(LOWER(ROUTINE_TYPE), ' ', ROUTINE_NAME) FROM information_schema.ROUTINES \
         WHERE ROUTINE_SCHEMA = '{workspace}' AND NOT (ROUTINE_TYPE = 'PROCEDURE' AND ROUTINE_NAME LIKE 'plimsoll\\_%') \
         UNION ALL SELECT CONCAT('event ', EVENT_NAME) FROM information_schema.EVENTS WHERE EVENT_SCHEMA = '{workspace}' \
         UNION ALL SELECT CONCAT('trigger ', TRIGGER_NAME) FROM information_schema.TRIGGERS \
         WHERE TRIGGER_SCHEMA = '{workspace}' \
         UNION ALL SELECT CONCAT('table ', CONSTRAINT_SCHEMA, '.', TABLE_NAME) \
         FROM information_schema.REFERENTIAL_CONSTRAINTS \
         WHERE UNIQUE_CONSTRAINT_SCHEMA = '{workspace}' AND CONSTRAINT_SCHEMA <> '{workspace}' \
         UNION ALL SELECT CONCAT('view ', TABLE_SCHEMA, '.', TABLE_NAME) FROM information_schema.VIEWS \
         WHERE TABLE_SCHEMA <> '{workspace}' AND VIEW_DEFINITION LIKE '%`{}`.%'",
        workspace.name().replace('_', "\\_")
    );
    connection.column(&sql)
}

/// A name between backquotes.
pub(super) fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
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
        assert_eq!(shares(&own).last().unwrap(), "plimsoll_data_0000000000000001.shared31");
        assert_eq!((gate(&own), work(&own)).0, "plimsoll_data_0000000000000001.gate");
        let longest = format!("{}{}", work(&workspace), u32::MAX);
        for name in shares(&workspace).chain([gate(&workspace), exclusive(&workspace), longest]) {
            assert!(name.len() <= 64, "{name}");
        }
        assert_eq!(quoted("a`b"), "`a``b`");
    }
}
