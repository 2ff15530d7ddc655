//! Places: databases that bear our mark, and the named locks that stand for the lease on each.
//!
//! The server has named locks (`GET_LOCK`) that are exclusive and fall with their session. A lease is made of several
//! of them. There is one for a session that has the place for itself, one of many for each session that shares it, and
//! a gate that is held only while somebody looks at the others and takes one. Names are as long as all versions take
//! (64 bytes), and never to change, as programs of different versions must respect each other's leases.

use std::time::Duration;

use plimsoll_clock::Clock;
use plimsoll_engine::server::place::{Keeper, Keepers, Owner, foreign, why_not_ours, without_others};
use plimsoll_engine::{Error, ErrorKind, Intents, Mark, Part, Result, Workspace, WorkspaceKind, WorkspaceStatus, mark};

use super::capabilities;
use super::connect::Connector;
use super::connection::Connection;
use super::contents::{Contents, TABLE};
use super::error::{Errors, statement};
use super::statements::{fill, of_place, of_table, text};

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

    fn intents(&self) -> &Intents {
        &self.intents
    }

    /// It neither works nor is in any database.
    fn keeper(&self, name: &str) -> Result<Connection> {
        let mut connection = self.connect_apart(name)?;
        connection.set(connection.server.product.text("settings of a session"))?;
        Ok(connection)
    }
}

impl Connection {
    /// Whose a database is that is not listed: nobody's if it is not there, and not to be told without a right in it.
    fn not_listed(&mut self, workspace: &Workspace) -> Result<Owner> {
        match self.ask(&of_place("whether a database can't be seen", workspace)) {
            Err(error) if error.kind == ErrorKind::Missing => Ok(Owner::Nobody),
            Err(error) => Err(error),
            // It was made in between.
            Ok(_) => Ok(Owner::by_mark(None, workspace.name())),
        }
    }
}

impl Keeper for Connection {
    const RENEW_PATIENCE: Duration = Duration::from_secs(5);

    fn noun(_: &Workspace) -> &'static str {
        "database"
    }

    fn owner(&mut self, workspace: &Workspace) -> Result<Owner> {
        match Contents::of(self, workspace)?.owner(workspace) {
            Some(owner) => Ok(owner),
            None => self.not_listed(workspace),
        }
    }

    fn make(&mut self, workspace: &Workspace, is_there: bool, mark: &Mark) -> Result<()> {
        // Asked before, so that the mark follows at once.
        let server = writable_server(self)?;
        if !is_there {
            self.set(&of_place("make a database", workspace))?;
        }
        self.set(&marking(workspace, mark, &server)).map(drop).inspect_err(|_| {
            // We made it just now, and it is empty: better none than one without a mark.
            if !is_there {
                let _ = self.run(&of_place("remove a database", workspace));
            }
        })
    }

    fn marking(workspace: &Workspace, mark: &Mark) -> String {
        marking(workspace, mark, "")
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

    fn adopt(&mut self, workspace: &Workspace, parts: &[Part]) -> Result<()> {
        let contents = Contents::of(self, workspace)?;
        let is_expected = |name: &&str| parts.iter().any(|part| part.is(TABLE, name));
        contents.tables(false).filter(is_expected).try_for_each(|table| {
            let mark = mark::of_part(TABLE, table, workspace.leased_by().name());
            let words = [("workspace", workspace.name()), ("table", table), ("mark", &mark)];
            self.run(&fill("mark a table", &words)).map(drop)
        })
    }

    fn take(&mut self, workspace: &Workspace, part: &Part) -> Result<()> {
        let words = [("workspace", workspace.name()), ("kind", &*part.kind.to_uppercase()), ("name", part.plain())];
        match self.run(&fill("remove a part", &words)) {
            Err(error) if matches!(error.kind, ErrorKind::Lost | ErrorKind::Cancelled) => return Err(error),
            _ => {}
        }
        Ok(())
    }

    fn strangers(&mut self, workspace: &Workspace) -> Result<Vec<String>> {
        let mut strangers = Contents::of(self, workspace)?.strangers();
        strangers.extend(self.column(&of_place("what depends on a database", workspace))?);
        Ok(strangers)
    }

    fn is_working(&mut self, run: &Workspace, session: i64) -> Result<bool> {
        let (lock, session) = (format!("{}{session}", work(run)), session.to_string());
        is_true(self, &fill("has a session a lock", &[("lock", &lock), ("session", &session)]))
    }
}

/// An error if a table that is to be made anew is there and not ours, or has something of somebody else's on it.
pub(super) fn check_table(connection: &mut Connection, workspace: &Workspace, table: &str) -> Result<()> {
    let mut others = Contents::of(connection, workspace)?.strangers_at(table);
    others.extend(connection.column(&of_place("what depends on a database", workspace))?);
    others.extend(connection.column(&of_table("triggers of a table", workspace, table))?);
    without_others::<Connection>(workspace, &others)
}

/// The number of the server; an error if that is for reading, also for users who could write all the same.
pub(super) fn writable_server(connection: &mut Connection) -> Result<String> {
    let row = connection.ask(text("which server this is"))?.into_iter().next().unwrap_or_default();
    let said = |index: usize| row.get(index).cloned().flatten().unwrap_or_default();
    if said(0) != "1" {
        return Ok(said(1));
    }
    let message = "the server is read-only (read_only), as replicas are: nothing is made or removed there";
    Err(Error::new(ErrorKind::Permission, message).hint("connect to the primary"))
}

/// An error where a replica is seen to be connected: filters that keep our tables from it let procedures of ours through, and it stops at
/// one of a database that it does not have.
pub(super) fn check_unreplicated(connection: &mut Connection) -> Result<()> {
    let count = connection.ask_one(text("replicas that are connected"))?;
    if count.is_none_or(|count| count == "0") {
        return Ok(());
    }
    let message =
        "replicas are connected to this server, and one that filters tables would stop at a procedure of ours";
    Err(Error::new(ErrorKind::Safety, message).hint("leave out procedures=yes"))
}

/// The statement that marks a database as made at the server of this number, which stays with the mark where replication takes it.
fn marking(workspace: &Workspace, mark: &Mark, server: &str) -> String {
    fill("mark a database", &[("workspace", workspace.name()), ("mark", &mark.to_string()), ("server", server)])
}

/// Places by their names, whosoever they are.
fn names(connection: &mut Connection) -> Result<Vec<Workspace>> {
    let names = connection.column(text("databases by our names"))?;
    Ok(names.iter().filter_map(|name| Workspace::from_name(name)).collect())
}

/// Every database with a name of ours, whether it is ours, and whether anybody holds a lease on it.
pub(super) fn list(connection: &mut Connection, intents: &Intents) -> Result<Vec<WorkspaceStatus>> {
    let mut workspaces = Vec::new();
    for workspace in names(connection)? {
        let not_ours = why_not_ours(&connection.owner(&workspace)?, intents, &workspace)?.map(Error::safety);
        // This session holds none.
        let leased = !is_free(connection, &workspace.leased_by())?;
        workspaces.push(WorkspaceStatus { workspace, leased, not_ours });
    }
    workspaces.sort_by(|one, other| one.workspace.cmp(&other.workspace));
    Ok(workspaces)
}

/// Drops the database of a place with its tables. Only tables and procedures that bear our mark are ours: if anything else is in it or
/// depends on a table in it, or if this user might not see that, nothing is dropped. Keys of others are looked after by the server as
/// well. The mark goes last.
pub(super) fn drop_database(connection: &mut Connection, intents: &Intents, workspace: &Workspace) -> Result<()> {
    writable_server(connection)?;
    // What this process has made and held since is not somebody's to build on.
    if !intents.is_made_here(workspace.name()) {
        check_sight(connection, workspace)?;
    }
    let contents = check_whole(connection, workspace)?;
    let errors = connection.errors.clone();
    for row in connection.ask(&of_place("foreign keys of a database", workspace))? {
        if let [Some(table), Some(key), ..] = &row[..] {
            connection.run(&fill(
                "remove a foreign key",
                &[("workspace", workspace.name()), ("table", table), ("key", key)],
            ))?;
        }
    }
    for table in contents.tables(true) {
        let dropped = connection.run(&of_table("remove a table", workspace, table));
        dropped.map_err(|error| dropping(&errors, workspace, error))?;
    }
    // What came meanwhile stays as well.
    check_whole(connection, workspace)?;
    // The server drops the mark's table with the others before it finds out that it can't remove the folder.
    intents.leaving(workspace.name())?;
    let dropped = connection.run(&of_place("remove a database", workspace)).map(drop);
    dropped.map_err(|error| dropping(&errors, workspace, error))?;
    intents.over(workspace.name());
    Ok(())
}

/// What is in a database of ours; an error if any of it, or anything that depends on it, is not ours.
fn check_whole(connection: &mut Connection, workspace: &Workspace) -> Result<Contents> {
    let contents = Contents::of(connection, workspace)?;
    if let Some(Owner::Somebody(reason)) = contents.owner(workspace) {
        return Err(foreign::<Connection>(workspace, &reason));
    }
    let mut others = contents.strangers();
    others.extend(connection.column(&of_place("what depends on a database", workspace))?);
    without_others::<Connection>(workspace, &others)?;
    Ok(contents)
}

/// An error if something could be in a database of ours, or depend on it, that this user may not see.
fn check_sight(connection: &mut Connection, workspace: &Workspace) -> Result<()> {
    let mut grants = capabilities::unseen(connection, workspace)?;
    let unread = if grants.is_empty() { connection.column(text("views that can't be read"))? } else { Vec::new() };
    if !unread.is_empty() {
        grants.push(capabilities::SEES_ELSEWHERE.to_owned());
    }
    if grants.is_empty() {
        return Ok(());
    }
    let user = &connection.errors.user;
    let message = format!(
        "the database {workspace} is kept, as {user} may not see everything that could be in it or depend on it, such as \
         views and keys of other databases"
    );
    let grants: Vec<String> = grants.iter().map(|grant| format!("{grant} TO the account of '{user}'")).collect();
    Err(Error::new(ErrorKind::Permission, message)
        .hint(format!("{}; or run plimsoll clean as a user that sees all", grants.join("; "))))
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
    use super::super::contents::MARK_TABLE;
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
        let mark = Mark::new(Workspace::data(1).name());
        let marking = Connection::marking(&Workspace::data(1), &mark);
        assert!(marking.contains(&format!(".`{MARK_TABLE}` (")) && marking.contains(&format!("= '{mark}'")));
    }
}
