//! Places: schemas that bear our mark, and the advisory lock that stands for the lease on each.

use std::time::Duration;

use plimsoll_clock::Clock;
use plimsoll_engine::server::place::{Keeper, Keepers, Owner, WORK, foreign, listed, why_not_ours, without_others};
use plimsoll_engine::{Error, ErrorKind, Intents, Mark, Part, Result, Workspace, WorkspaceKind, WorkspaceStatus, mark};
use xxhash_rust::xxh3::xxh3_64;

use super::connect::{Connector, KEEPALIVE_IDLE, KEEPALIVE_INTERVAL, KEEPALIVE_RETRIES};
use super::connection::{Connection, Failed};
use super::statements::{filled, sql};

/// Tables dropped in one transaction: each takes some locks (table, TOAST table, indexes) of a table of a few thousand.
const TABLES_PER_DROP: usize = 64;
/// So long a session that holds a lock may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// SQLSTATE of what RESTRICT refuses.
const DEPENDENT_OBJECTS: &str = "2BP01";
/// SQLSTATE of what only its owner may do.
const INSUFFICIENT_PRIVILEGE: &str = "42501";

/// The number under which PostgreSQL knows the lease on a place: XXH3-64 of its name, never to change, as programs of
/// different versions must respect each other's leases.
pub(super) fn lock_key(workspace: &Workspace) -> i64 {
    xxh3_64(workspace.name().as_bytes()) as i64
}

/// The statement with settings that keep the server from ending an idle session, and make it notice a dead client.
pub(super) fn staying() -> String {
    let [idle, interval] = [KEEPALIVE_IDLE, KEEPALIVE_INTERVAL].map(|time| time.as_secs().to_string());
    let words = [("idle", idle.as_str()), ("interval", &interval), ("count", &KEEPALIVE_RETRIES.to_string())];
    filled("settings of a session that stays", &words)
}

/// An error if what we make would be published: a subscriber without such tables stops at the first of our rows, and gets nothing more.
pub(super) fn check_unpublished(connection: &mut Connection) -> Result<()> {
    let rows = connection.rows(sql("publications of all tables"), &[])?;
    let names: Vec<String> = rows.iter().filter_map(|row| row.text(0)).map(ToOwned::to_owned).collect();
    if names.is_empty() {
        return Ok(());
    }
    let message = format!(
        "this database publishes every table that is made in it (publication {}): subscribers without our tables would stop",
        listed(&names)
    );
    Err(Error::new(ErrorKind::Safety, message).hint("name another database of this server in the URL"))
}

/// An error if a commit would wait for a standby that nobody is: it would stand there until somebody connects one.
fn check_commits_end(connection: &mut Connection) -> Result<()> {
    let rows = connection.rows(sql("standbys that commits wait for in vain"), &[])?;
    let Some(names) = rows.first().and_then(|row| row.text(0)) else { return Ok(()) };
    let message = format!(
        "each commit waits for a synchronous standby (synchronous_standby_names = '{names}'), and none is connected: nothing that writes would end"
    );
    Err(Error::new(ErrorKind::Safety, message).hint(
        "connect the standby, or let this user's commits not wait: ALTER ROLE ... SET synchronous_commit = local",
    ))
}

/// True if a session in any database of the server holds a lock of this name. Locks are those of a database, while
/// [copies](plimsoll_engine::WorkspaceKind::Copy) are seen from all.
pub(super) fn is_locked_anywhere(connection: &mut Connection, workspace: &Workspace) -> Result<bool> {
    Ok(connection.row(sql("whether a lock is held anywhere"), &[&lock_key(workspace).to_string()])?.is_true(0))
}

impl Keepers for Connector {
    type Keeper = Connection;

    fn clock(&self) -> &dyn Clock {
        self.clock.as_ref()
    }

    fn intents(&self) -> &Intents {
        &self.intents
    }

    /// It stays connected; see [`staying`].
    fn keeper(&self, name: &str) -> Result<Connection> {
        let mut connection = self.connect(name)?;
        connection.set(&staying())?;
        Ok(connection)
    }
}

impl Keeper for Connection {
    const RENEW_PATIENCE: Duration = Duration::from_secs(5);

    fn noun(workspace: &Workspace) -> &'static str {
        if workspace.kind() == WorkspaceKind::Copy { "database" } else { "schema" }
    }

    /// A schema has its mark from the first moment, so that one without it is never an unfinished one of ours. A database gets it
    /// once it is there.
    fn owner(&mut self, workspace: &Workspace) -> Result<Owner> {
        let is_copy = workspace.kind() == WorkspaceKind::Copy;
        let statement = if is_copy { "mark of a database" } else { "mark of a workspace" };
        let rows = self.rows(sql(statement), &[workspace.name()])?;
        let Some(row) = rows.first() else { return Ok(Owner::Nobody) };
        Ok(owner(row.text(0), workspace))
    }

    fn make(&mut self, workspace: &Workspace, _: bool, mark: &Mark) -> Result<()> {
        check_unpublished(self)?;
        check_commits_end(self)?;
        // Two statements in one message are one transaction.
        let make = filled("make a schema", &[("schema", workspace.name())]);
        self.set(&format!("{make}; {}", Self::marking(workspace, mark))).map(drop)
    }

    fn marking(workspace: &Workspace, mark: &Mark) -> String {
        let mark = mark.to_string();
        if workspace.kind() == WorkspaceKind::Copy {
            return filled("mark a database", &[("database", workspace.name()), ("mark", &mark)]);
        }
        filled("mark a schema", &[("schema", workspace.name()), ("mark", &mark)])
    }

    fn try_lock(&mut self, workspace: &Workspace, shared: bool) -> Result<bool> {
        let statement = if shared { "take a shared lock" } else { "take a lock" };
        Ok(self.row(sql(statement), &[&lock_key(workspace).to_string()])?.is_true(0))
    }

    /// A session is never in its own way, so it may hold both for a moment.
    fn lower(&mut self, workspace: &Workspace) -> Result<bool> {
        let taken = self.try_lock(workspace, true)?;
        if taken {
            self.unlock(workspace)?;
        }
        Ok(taken)
    }

    fn unlock(&mut self, workspace: &Workspace) -> Result<()> {
        self.rows(sql("give a lock back"), &[&lock_key(workspace).to_string()]).map(drop)
    }

    fn leave(&mut self, _: &Workspace) {
        self.link.set_timeout(Some(PATIENCE));
        // If it fails the session is dead and its locks with it.
        let _ = self.set(sql("give all locks back"));
    }

    fn answers(&mut self) -> bool {
        self.link.set_timeout(Some(PATIENCE));
        let answers = self.set("").is_ok();
        self.link.set_timeout(None);
        answers
    }

    /// Those of this database, where the locks of their runs are.
    fn working(&mut self) -> Result<Vec<(Workspace, Vec<i64>)>> {
        let rows = self.rows(sql("working sessions"), &[WORK])?;
        let found = rows.iter().filter_map(|row| {
            let run = Workspace::from_name(row.text(0)?.strip_prefix(WORK)?)?;
            Some((run, row.text(1)?.split(',').filter_map(|pid| pid.parse().ok()).collect()))
        });
        Ok(found.collect())
    }

    /// The name is asked again: a number may have passed to another session in the meantime.
    fn end(&mut self, run: &Workspace, session: i64) -> Result<bool> {
        match self.rows(sql("end a session"), &[&session.to_string(), &format!("{WORK}{run}")]) {
            Ok(rows) => Ok(rows.first().is_some_and(|row| row.is_true(0))),
            // Another user's session is not ours to end.
            Err(error) if error.kind == ErrorKind::Permission => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn adopt(&mut self, workspace: &Workspace, parts: &[Part]) -> Result<()> {
        let place = workspace.name();
        for row in self.rows(sql("marks of tables"), &[place])? {
            let is_expected = |name: &&str| !row.is_true(1) && parts.iter().any(|part| part.is("table", name));
            if let Some(name) = row.text(0).filter(is_expected) {
                let mark = mark::of_part("table", name, place);
                self.run(&filled("mark a table", &[("schema", place), ("table", name), ("mark", &mark)]))?;
            }
        }
        Ok(())
    }

    fn take(&mut self, workspace: &Workspace, part: &Part) -> Result<()> {
        let place = workspace.name();
        let Part { kind, name, on } = part;
        // Both are words of a statement that the server has read before.
        let gone = if on.is_empty() || kind == "statistics" || kind == "index" {
            self.try_run(&format!("DROP {kind} IF EXISTS {place}.{name}"))
        } else {
            self.try_run(&format!("DROP {kind} IF EXISTS {name} ON {place}.{on}"))
        };
        match gone {
            Err(Failed::Server(_)) | Ok(_) => {}
            Err(failed) => return Err(self.fail(failed)),
        }
        Ok(())
    }

    fn strangers(&mut self, workspace: &Workspace) -> Result<Vec<String>> {
        strangers(self, workspace)
    }

    fn other_owners(&mut self, workspace: &Workspace) -> Result<Vec<String>> {
        let rows = self.rows(sql("who else owns a workspace"), &[workspace.name()])?;
        Ok(rows.iter().filter_map(|row| row.text(0).map(str::to_owned)).collect())
    }

    fn is_working(&mut self, run: &Workspace, session: i64) -> Result<bool> {
        Ok(self.row(sql("whether a session works"), &[&session.to_string(), &format!("{WORK}{run}")])?.is_true(0))
    }
}

/// The owner of a schema or database that is there, by its comment.
pub(super) fn owner(comment: Option<&str>, workspace: &Workspace) -> Owner {
    let is_copy = workspace.kind() == WorkspaceKind::Copy;
    match comment {
        None | Some("") if is_copy => Owner::Unfinished,
        comment => Owner::by_mark(comment, workspace.name()),
    }
}

/// Every schema with a name of ours, whether it is ours, and whether anybody holds a lock on its name.
pub(super) fn list(connection: &mut Connection, intents: &Intents) -> Result<Vec<WorkspaceStatus>> {
    let keys: Vec<i64> =
        connection.rows(sql("locks of this database"), &[])?.iter().filter_map(|row| row.get(0)).collect();
    let mut statuses = Vec::new();
    for row in connection.rows(sql("workspaces"), &[])? {
        let named = row.text(0).and_then(Workspace::from_name);
        // A schema is never a copy, whatever its name is.
        let Some(workspace) = named.filter(|workspace| workspace.kind() != WorkspaceKind::Copy) else { continue };
        let not_ours = why_not_ours(&owner(row.text(1), &workspace), intents, &workspace)?.map(Error::safety);
        statuses.push(WorkspaceStatus { leased: keys.contains(&lock_key(&workspace)), workspace, not_ours });
    }
    Ok(statuses)
}

/// Drops the schema of a place with its tables, many of them in several transactions. Only tables that bear our mark are ours: if
/// anything else is in the schema or depends on a table in it, nothing is dropped. Each transaction looks again, at tables that it
/// keeps from others.
pub(super) fn drop_schema(connection: &mut Connection, workspace: &Workspace) -> Result<()> {
    check_whole(connection, workspace)?;
    let rows = connection.rows(sql("tables of a workspace"), &[workspace.name()])?;
    let tables: Vec<&str> = rows.iter().filter_map(|row| row.text(0)).collect();
    for tables in tables.chunks(TABLES_PER_DROP) {
        let tables = tables.join(", ");
        drop_own(connection, workspace, Some(&tables), &format!("DROP TABLE {tables} RESTRICT"))?;
    }
    drop_own(connection, workspace, None, &filled("drop a schema", &[("schema", workspace.name())]))
}

/// An error unless a schema is ours and so is all that is in it.
fn check_whole(connection: &mut Connection, workspace: &Workspace) -> Result<()> {
    if let Owner::Somebody(reason) = connection.owner(workspace)? {
        return Err(foreign::<Connection>(workspace, &reason));
    }
    let others = strangers(connection, workspace)?;
    without_others::<Connection>(workspace, &others)
}

/// What is not ours in the schema of a place, or tied to it.
pub(super) fn strangers(connection: &mut Connection, workspace: &Workspace) -> Result<Vec<String>> {
    strangers_at(connection, workspace, "")
}

/// The same of one table that is made anew, or of all if it has no name.
fn strangers_at(connection: &mut Connection, workspace: &Workspace, table: &str) -> Result<Vec<String>> {
    let rows = connection.rows(sql("what is not ours in a workspace"), &[workspace.name(), table])?;
    Ok(rows.iter().filter_map(|row| row.text(0).map(str::to_owned)).collect())
}

/// An error if a table that is to be made anew is there and not ours, or has something of somebody else's on it.
pub(super) fn check_table(connection: &mut Connection, workspace: &Workspace, table: &str) -> Result<()> {
    let others = strangers_at(connection, workspace, table)?;
    without_others::<Connection>(workspace, &others)
}

/// Drops something in a transaction of its own, after a last look at what is there.
fn drop_own(connection: &mut Connection, workspace: &Workspace, tables: Option<&str>, drop: &str) -> Result<()> {
    connection.run("BEGIN")?;
    let dropped = locked(connection, workspace, tables)
        .and_then(|()| check_whole(connection, workspace))
        .and_then(|()| dropping(connection, workspace, drop));
    let end = if dropped.is_ok() { "COMMIT" } else { "ROLLBACK" };
    let ended = connection.run(end);
    dropped.and(ended.map(|_| ()))
}

fn locked(connection: &mut Connection, workspace: &Workspace, tables: Option<&str>) -> Result<()> {
    let Some(tables) = tables else { return Ok(()) };
    // A lock asks for a right that an owner can lose, and can give itself again.
    let lock =
        format!("GRANT TRUNCATE ON TABLE {tables} TO CURRENT_USER; LOCK TABLE {tables} IN ACCESS EXCLUSIVE MODE");
    dropping(connection, workspace, &lock)
}

/// Drops something. If it can't be, somebody was faster with a view, or the place is another user's.
fn dropping(connection: &mut Connection, workspace: &Workspace, sql: &str) -> Result<()> {
    let Err(failed) = connection.try_run(sql) else { return Ok(()) };
    let is_anothers = matches!(&failed, Failed::Server(server_error) if server_error.code == INSUFFICIENT_PRIVILEGE);
    if let Failed::Server(server_error) = &failed
        && server_error.code == DEPENDENT_OBJECTS
    {
        let others = server_error.detail.as_ref().unwrap_or(&server_error.message);
        without_others::<Connection>(workspace, &others.lines().map(str::to_owned).collect::<Vec<_>>())?;
    }
    let error = connection.fail(failed);
    if !is_anothers {
        return Err(error);
    }
    Err(Error::new(ErrorKind::Permission, format!("the schema {workspace} is another user's and can't be removed"))
        .hint("run plimsoll clean as the user that made it, or as a superuser"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Part of the contract between versions.
    #[test]
    fn keys_never_change() {
        assert_eq!(lock_key(&Workspace::data(1)), -915_352_293_635_228_647);
        assert_ne!(lock_key(&Workspace::data(1)), lock_key(&Workspace::data(2)));
    }
}
