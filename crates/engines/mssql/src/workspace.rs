//! Places: schemas that bear our mark, and the application lock that stands for the lease on each.
//!
//! An application lock can't be turned from exclusive into shared. So there is a second one, the gate. Every session
//! that takes or changes a lease on that place holds the gate: while the one is given back and the other taken, nobody
//! comes in between.

use std::collections::BTreeMap;
use std::time::Duration;

use plimsoll_clock::Clock;
use plimsoll_engine::server::place::{Keeper, Keepers, Owner, WORK, foreign, why_not_ours, without_others};
use plimsoll_engine::{
    Error, ErrorKind, Intents, Mark, Part, Result, Row, Value, Workspace, WorkspaceKind, WorkspaceStatus,
};

use super::connect::Connector;
use super::control::{Control, text_of, whole};
use super::sql;

/// How long the gate of a lease may be held by somebody else.
const GATE_PATIENCE_MS: u32 = 10_000;

impl Keepers for Connector {
    type Keeper = Control;

    fn clock(&self) -> &dyn Clock {
        self.clock.as_ref()
    }

    fn intents(&self) -> &Intents {
        &self.intents
    }

    fn keeper(&self, name: &str) -> Result<Control> {
        Control::connect(self, name)
    }

    fn replacement(&self, name: &str) -> Result<Control> {
        Control::connect(&self.at_once(), name)
    }
}

impl Keeper for Control {
    const RENEW_PATIENCE: Duration = Duration::from_secs(75);

    fn noun(workspace: &Workspace) -> &'static str {
        if workspace.kind() == WorkspaceKind::Copy { "database" } else { "schema" }
    }

    /// Removal asks for the owner of a whole database.
    fn owner(&mut self, workspace: &Workspace) -> Result<Owner> {
        if workspace.kind() == WorkspaceKind::Copy {
            return Ok(Owner::We);
        }
        let marks = self.names(sql::OWNER, &[Value::Text(workspace.name())])?;
        Ok(marks.first().map_or(Owner::Nobody, |mark| Owner::by_mark(Some(mark), workspace.name())))
    }

    /// It has its mark from the first moment.
    fn make(&mut self, workspace: &Workspace, _: bool, mark: &Mark) -> Result<()> {
        let words = [("workspace", workspace.name()), ("mark", &mark.to_string())];
        self.run_filled(sql::MAKE_SCHEMA, &words).map(drop)
    }

    fn marking(workspace: &Workspace, mark: &Mark) -> String {
        sql::MARK_SCHEMA.filled(&[("workspace", workspace.name()), ("mark", &mark.to_string())])
    }

    fn try_lock(&mut self, workspace: &Workspace, shared: bool) -> Result<bool> {
        in_gate(self, workspace, |control| take(control, workspace, shared))
    }

    fn lower(&mut self, workspace: &Workspace) -> Result<bool> {
        in_gate(self, workspace, |control| {
            control.unlock(workspace)?;
            take(control, workspace, true)
        })
    }

    fn unlock(&mut self, workspace: &Workspace) -> Result<()> {
        let [lease, _] = sql::resource(workspace.name());
        self.run_filled(sql::GIVE_LOCK_BACK, &[("resource", &lease)]).map(drop)
    }

    fn leave(&mut self, workspace: &Workspace) {
        // If it fails the session is dead and the lock with it.
        let _ = self.unlock(workspace);
    }

    fn answers(&mut self) -> bool {
        self.set(sql::ANSWERS.sql()).is_ok()
    }

    /// Those of this database; without permission nobody's but our own are to be seen.
    fn working(&mut self) -> Result<Vec<(Workspace, Vec<i64>)>> {
        let rows = match self.rows(sql::WORKING_SESSIONS, &[]) {
            Ok(rows) => rows,
            Err(error) if error.kind == ErrorKind::Lost => return Err(error),
            // A server without that view has no sessions that could be found.
            Err(_) => return Ok(Vec::new()),
        };
        let mut found: BTreeMap<Workspace, Vec<i64>> = BTreeMap::new();
        for row in &rows {
            let run = text_of(row, 1).and_then(|name| Workspace::from_name(name.strip_prefix(WORK)?.trim_end()));
            if let (Some(session), Some(run)) = (whole(row, 0), run) {
                found.entry(run).or_default().push(session);
            }
        }
        Ok(found.into_iter().collect())
    }

    fn end(&mut self, run: &Workspace, session: i64) -> Result<bool> {
        // The name is asked again: a number may have passed to another session in the meantime.
        if !self.is_working(run, session)? {
            return Ok(false);
        }
        match self.run_filled(sql::KILL, &[("session", &session.to_string())]) {
            Ok(_) => Ok(true),
            Err(error) if error.kind == ErrorKind::Lost => Err(error),
            // Another user's session, or it went by itself: it is not ours to end.
            Err(_) => Ok(false),
        }
    }

    /// Tables have no marks here.
    fn adopt(&mut self, _: &Workspace, _: &[Part]) -> Result<()> {
        Ok(())
    }

    fn take(&mut self, workspace: &Workspace, part: &Part) -> Result<()> {
        let kind = part.kind.to_uppercase();
        if !REMOVED.contains(&kind.as_str()) {
            return Ok(());
        }
        let words = [("workspace", workspace.name()), ("kind", &*kind), ("name", part.plain())];
        match self.run_filled(sql::DROP_PART, &words) {
            Err(error) if matches!(error.kind, ErrorKind::Lost | ErrorKind::Cancelled) => Err(error),
            _ => Ok(()),
        }
    }

    fn strangers(&mut self, workspace: &Workspace) -> Result<Vec<String>> {
        within(self, workspace).map(|(_, strangers)| strangers)
    }

    fn is_working(&mut self, run: &Workspace, session: i64) -> Result<bool> {
        let name = format!("{WORK}{run}");
        Ok(self.number(sql::IS_WORKING, &[Value::BigInt(session), Value::Text(&name)])? == Some(1))
    }
}

/// Takes an application lock of this session; the answer is below zero if it was not to be had in that time.
fn take_lock(control: &mut Control, resource: &str, shared: bool, patience_ms: u32) -> Result<Option<i64>> {
    let mode = if shared { "Shared" } else { "Exclusive" };
    let words = [("resource", resource), ("mode", mode), ("patience", &patience_ms.to_string())];
    control.answer(sql::TAKE_LOCK, &words)
}

/// Does something while nobody else takes or changes a lease on that place.
fn in_gate<T>(control: &mut Control, workspace: &Workspace, work: impl FnOnce(&mut Control) -> Result<T>) -> Result<T> {
    let [_, gate] = sql::resource(workspace.name());
    if !granted(take_lock(control, &gate, false, GATE_PATIENCE_MS)?, workspace)? {
        let message = format!("the gate of the lease on {workspace} is held by somebody else");
        return Err(Error::new(ErrorKind::Busy, message)
            .hint("another program stands in the middle of taking the lease; try again"));
    }
    let done = work(control);
    let left = control.run_filled(sql::GIVE_LOCK_BACK, &[("resource", &gate)]);
    let done = done?;
    left.map(|_| done)
}

/// Takes the lock of a place for this session unless another session's stands against it. To be done in the gate.
fn take(control: &mut Control, workspace: &Workspace, shared: bool) -> Result<bool> {
    let [lease, _] = sql::resource(workspace.name());
    let answer = take_lock(control, &lease, shared, 0)?;
    // That of a call which the server did not take, and of some servers where somebody holds the lock.
    if answer == Some(-999) && !is_free(control, &lease)? {
        return Ok(false);
    }
    granted(answer, workspace)
}

/// True if nobody holds an application lock.
fn is_free(control: &mut Control, resource: &str) -> Result<bool> {
    Ok(control.number(sql::IS_FREE, &[Value::Text(resource)])? == Some(1))
}

/// Whether a lock was granted, by what `sp_getapplock` is documented to answer.
fn granted(answer: Option<i64>, workspace: &Workspace) -> Result<bool> {
    let failed = |kind, what: &str, hint: &str| {
        Err(Error::new(kind, format!("{what} (sp_getapplock, the lease on {workspace})")).hint(hint))
    };
    match answer {
        // At once, or after others let go.
        Some(0 | 1) => Ok(true),
        // Not in time.
        Some(-1) => Ok(false),
        Some(-2) => failed(ErrorKind::Cancelled, "the request for a lock was cancelled", "start again"),
        Some(-3) => failed(
            ErrorKind::Busy,
            "the request for a lock was chosen as a deadlock victim",
            "another program takes and gives back leases at the same time; try again",
        ),
        Some(-999) => failed(
            ErrorKind::Permission,
            "the server does not take the call for a lock",
            "application locks are made for the role public, which every user of a database is a member of: see whether public may \
             still execute sp_getapplock",
        ),
        other => {
            let code = other.map_or_else(|| "nothing".to_owned(), |code| code.to_string());
            failed(
                ErrorKind::Unsupported,
                &format!("the server answers {code} to a request for a lock"),
                "leases need application locks, which this server does not seem to have",
            )
        }
    }
}

/// Every schema with a name of ours, whether it is ours, and whether anybody holds a lease on it.
pub(super) fn list(control: &mut Control, intents: &Intents) -> Result<Vec<WorkspaceStatus>> {
    let mut statuses = Vec::new();
    for row in control.rows(sql::PLACES, &[])? {
        let named = text_of(&row, 0).and_then(|name| Workspace::from_name(&name));
        // A schema is never a copy, whatever its name is.
        let Some(workspace) = named.filter(|workspace| workspace.kind() != WorkspaceKind::Copy) else { continue };
        let owner = Owner::by_mark(text_of(&row, 1).as_deref(), workspace.name());
        let not_ours = why_not_ours(&owner, intents, &workspace)?.map(Error::safety);
        statuses.push(WorkspaceStatus { leased: is_leased(control, &workspace)?, workspace, not_ours });
    }
    Ok(statuses)
}

/// True if somebody holds the lease on a place, or is about to.
pub(super) fn is_leased(control: &mut Control, workspace: &Workspace) -> Result<bool> {
    // Between giving back and taking again, only the gate is held.
    let [lease, gate] = sql::resource(workspace.name());
    Ok(!is_free(control, &lease)? || !is_free(control, &gate)?)
}

/// Kinds that are removed by such a statement.
const REMOVED: [&str; 8] = ["TABLE", "VIEW", "PROCEDURE", "PROC", "FUNCTION", "SEQUENCE", "SYNONYM", "TYPE"];
/// The kind of a procedure as the server calls it.
const PROCEDURE: &str = "SQL_STORED_PROCEDURE";
/// What names of our procedures begin with.
const PREFIX: &str = "plimsoll_";

/// The two texts of a row.
fn pair(row: &Row) -> Option<(String, String)> {
    Some((text_of(row, 0)?, text_of(row, 1)?))
}

/// Names of our procedures in the schema of a place, and what else is in it beside tables or refers to it: kinds and names.
fn within(control: &mut Control, workspace: &Workspace) -> Result<(Vec<String>, Vec<String>)> {
    let name = workspace.name();
    let within = control.rows(sql::STRANGERS, &[Value::Text(name)])?;
    let (procedures, mut strangers): (Vec<_>, Vec<_>) =
        within.iter().filter_map(pair).partition(|(kind, name)| kind == PROCEDURE && name.starts_with(PREFIX));
    match control.rows(sql::DEPENDENTS, &[Value::Text(name)]) {
        Ok(dependents) => strangers.extend(dependents.iter().filter_map(pair)),
        Err(error) if error.kind == ErrorKind::Lost => return Err(error),
        // Who may not ask does not hear of them.
        Err(_) => {}
    }
    let strangers = strangers.iter().map(|(kind, name)| format!("{kind} {name}")).collect();
    Ok((procedures.into_iter().map(|(_, name)| name).collect(), strangers))
}

/// Drops the schema of a place with its tables and procedures. Only tables, and procedures with our prefix, are ours. If anything
/// else is in the schema or refers to it, nothing is dropped.
pub(super) fn drop_schema(control: &mut Control, workspace: &Workspace) -> Result<()> {
    let name = workspace.name();
    // Orphans were waited for since the mark was looked at.
    if let Owner::Somebody(reason) = control.owner(workspace)? {
        return Err(foreign::<Control>(workspace, &reason));
    }
    let (procedures, strangers) = within(control, workspace)?;
    without_others::<Control>(workspace, &strangers)?;
    // All or nothing: a view elsewhere that nobody told us of may keep a table.
    control.run(sql::BEGIN.sql())?;
    match drop_all(control, name, &procedures) {
        Ok(()) => control.run(sql::COMMIT.sql()).map(drop),
        Err(error) => {
            // A session that is lost has taken its transaction with it.
            let _ = control.run(sql::ROLLBACK.sql());
            Err(error)
        }
    }
}

fn drop_all(control: &mut Control, name: &str, procedures: &[String]) -> Result<()> {
    // Of all tables that refer to each other none could be the first.
    let keys = control.rows(sql::FOREIGN_KEYS, &[Value::Text(name)])?;
    for (table, key) in keys.iter().filter_map(pair) {
        control.run_filled(sql::DROP_FOREIGN_KEY, &[("workspace", name), ("table", &table), ("key", &key)])?;
    }
    // A table that can't be dropped leaves all that uses it.
    for table in control.names(sql::TABLES, &[Value::Text(name)])? {
        control.run_filled(sql::DROP_TABLE, &[("workspace", name), ("table", &table)])?;
    }
    for procedure in procedures {
        control.run_filled(sql::DROP_PROCEDURE, &[("workspace", name), ("procedure", procedure)])?;
    }
    control.run_filled(sql::DROP_SCHEMA, &[("workspace", name)]).map(drop)
}
