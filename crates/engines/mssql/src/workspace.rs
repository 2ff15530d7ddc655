//! Places: schemas that bear our mark, and the application lock that stands for the lease on each.
//!
//! An application lock can't be turned from exclusive into shared. So there is a second one, the gate. Every session
//! that takes or changes a lease on that place holds the gate: while the one is given back and the other taken, nobody
//! comes in between.

use std::collections::BTreeMap;
use std::time::Duration;

use plimsoll_clock::Clock;
use plimsoll_engine::server::place::{Keeper, Keepers, Owner, WORK, without_others};
use plimsoll_engine::{ColumnType, Error, ErrorKind, Result, Value, Workspace, WorkspaceKind, WorkspaceStatus};

use super::connect::Connector;
use super::control::{Control, text_of, whole};
use super::sql;

/// How long the gate of a lease may be held by somebody else.
const GATE_PATIENCE_MS: u32 = 10_000;
const NAMES_PER_DROP: usize = 64;

impl Keepers for Connector {
    type Keeper = Control;

    fn clock(&self) -> &dyn Clock {
        self.clock.as_ref()
    }

    fn keeper(&self, name: &str) -> Result<Control> {
        Control::connect(self, name)
    }

    fn replacement(&self, name: &str) -> Result<Control> {
        Control::connect(&self.at_once(), name)
    }
}

impl Keeper for Control {
    const NOUN: &'static str = "schema";
    const RENEW_PATIENCE: Duration = Duration::from_secs(75);

    /// Removal asks for the owner of a whole database.
    fn owner(&mut self, workspace: &Workspace) -> Result<Owner> {
        if workspace.kind() == WorkspaceKind::Copy {
            return Ok(Owner::We);
        }
        Ok(match self.number(sql::OWNER, &[Value::Text(workspace.name())])? {
            None => Owner::Nobody,
            Some(0) => Owner::Somebody,
            Some(_) => Owner::We,
        })
    }

    /// It has its mark from the first moment.
    fn make(&mut self, workspace: &Workspace, _: Owner) -> Result<()> {
        self.run(&sql::create_workspace(workspace.name())).map(drop)
    }

    fn marking(workspace: &Workspace) -> String {
        sql::mark(workspace.name())
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
        self.run(&sql::give_lock_back(&lease)).map(drop)
    }

    fn leave(&mut self, workspace: &Workspace) {
        // If it fails the session is dead and the lock with it.
        let _ = self.unlock(workspace);
    }

    fn answers(&mut self) -> bool {
        self.run("SELECT 1").is_ok()
    }

    /// Those of this database; without permission nobody's but our own are to be seen.
    fn working(&mut self) -> Result<Vec<(Workspace, Vec<i64>)>> {
        let rows = match self.rows(sql::WORKING_SESSIONS, &[], &[ColumnType::BigInt, ColumnType::Text(128)]) {
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
        match self.run(&sql::kill(session)) {
            Ok(_) => Ok(true),
            Err(error) if error.kind == ErrorKind::Lost => Err(error),
            // Another user's session, or it went by itself: it is not ours to end.
            Err(_) => Ok(false),
        }
    }

    fn is_working(&mut self, run: &Workspace, session: i64) -> Result<bool> {
        let name = format!("{WORK}{run}");
        Ok(self.number(sql::IS_WORKING, &[Value::BigInt(session), Value::Text(&name)])? == Some(1))
    }
}

/// Does something while nobody else takes or changes a lease on that place.
fn in_gate<T>(control: &mut Control, workspace: &Workspace, work: impl FnOnce(&mut Control) -> Result<T>) -> Result<T> {
    let [_, gate] = sql::resource(workspace.name());
    match control.answer(&sql::take_lock(&gate, false, GATE_PATIENCE_MS))? {
        Some(0..) => {}
        _ => {
            return Err(Error::new(
                ErrorKind::Busy,
                format!("the gate of the lease on {workspace} is held by somebody else"),
            )
            .hint("another program stands in the middle of taking the lease; try again"));
        }
    }
    let done = work(control);
    let left = control.run(&sql::give_lock_back(&gate));
    let done = done?;
    left.map(|_| done)
}

/// Takes the lock of a place for this session unless another session's stands against it. To be done in the gate.
fn take(control: &mut Control, workspace: &Workspace, shared: bool) -> Result<bool> {
    let [lease, _] = sql::resource(workspace.name());
    match control.answer(&sql::take_lock(&lease, shared, 0))? {
        // Granted at once, or after others let go.
        Some(0..) => Ok(true),
        // Not granted in time.
        Some(-1) => Ok(false),
        other => {
            let code = other.map_or_else(|| "nothing".to_owned(), |code| code.to_string());
            Err(Error::new(ErrorKind::Unsupported, format!("sp_getapplock answered {code} to a lease on {workspace}"))
                .hint("leases need application locks (sp_getapplock), which this server does not seem to have"))
        }
    }
}

/// Every schema with a name and a mark of ours, and whether anybody holds a lease on it.
pub(super) fn list(control: &mut Control) -> Result<Vec<WorkspaceStatus>> {
    let places = control.names(sql::PLACES, &[])?;
    let status = |workspace| Ok(WorkspaceStatus { leased: is_leased(control, &workspace)?, workspace });
    places.iter().filter_map(|name| Workspace::from_name(name)).map(status).collect()
}

/// True if somebody holds the lease on a place, or is about to.
pub(super) fn is_leased(control: &mut Control, workspace: &Workspace) -> Result<bool> {
    // Between giving back and taking again, only the gate is held.
    let [lease, gate] = sql::resource(workspace.name());
    let mut is_free =
        |resource: &str| Ok::<bool, Error>(control.number(sql::IS_FREE, &[Value::Text(resource)])? == Some(1));
    Ok(!is_free(&lease)? || !is_free(&gate)?)
}

/// Drops the schema of a place with its tables and procedures. Only tables, and procedures with our prefix, are ours. If anything
/// else is in the schema or refers to it, nothing is dropped.
pub(super) fn drop_schema(control: &mut Control, workspace: &Workspace) -> Result<()> {
    let name = workspace.name();
    without_others::<Control>(workspace, &control.names(sql::STRANGERS, &[Value::Text(name)])?)?;
    for (kind, list) in [("PROCEDURE", sql::PROCEDURES), ("TABLE", sql::TABLES)] {
        for names in control.names(list, &[Value::Text(name)])?.chunks(NAMES_PER_DROP) {
            control.run(&sql::drop_objects(kind, name, names))?;
        }
    }
    control.run(&sql::drop_workspace(name)).map(drop)
}
