//! Places: schemas that bear our mark, and the application lock that stands for the lease on each.
//!
//! An application lock can't be turned from exclusive into shared. So there is a second one, the gate. Every session
//! that takes or changes a lease on that place holds the gate: while the one is given back and the other taken, nobody
//! comes in between.

use plimsoll_engine::database::{Workspace, WorkspaceStatus};
use plimsoll_engine::error::{Error, ErrorKind, Result};
use plimsoll_engine::table::ColumnType;
use plimsoll_engine::value::{Row, Value};

use super::connect::Connector;
use super::error::Errors;
use super::sql::{self, Text};
use super::wire::{Outcome, Wire};

/// How long the gate of a lease may be held by somebody else.
const GATE_PATIENCE_MS: u32 = 10_000;
/// Tables or procedures dropped in one text.
const TABLES_PER_DROP: usize = 64;
/// Prefix of the names of working sessions; the run's place follows.
pub(super) const WORK: &str = "plimsoll work ";
/// Name of sessions that neither work nor hold a lease.
pub(super) const CONTROL: &str = "plimsoll";

const NAME: ColumnType = ColumnType::Text(128);

/// The owner of a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// There is no such schema.
    Nobody,
    /// It bears our mark.
    We,
    /// It has the name and not the mark.
    Somebody,
}

/// A connection for control, with what its errors are made by.
pub(super) struct Control<'a> {
    pub(super) wire: Box<dyn Wire>,
    pub(super) errors: &'a Errors,
}

impl<'a> Control<'a> {
    /// Connects under a name.
    pub(super) fn connect(connector: &'a Connector, name: &str) -> Result<Self> {
        let mut control = Self { wire: connector.connect(name)?, errors: &connector.errors };
        match control.run(sql::PATIENCE.sql) {
            Err(error) if matches!(error.kind, ErrorKind::Lost | ErrorKind::Cancelled) => Err(error),
            // A server without that setting has its own patience.
            _ => Ok(control),
        }
    }

    fn done<T>(&self, outcome: Outcome<T>) -> Result<T> {
        outcome.map_err(|fault| self.errors.running(fault, self.wire.is_dead()))
    }

    /// Runs a text for its effect.
    pub(super) fn run(&mut self, sql: &str) -> Result<u64> {
        let outcome = self.wire.run(sql);
        self.done(outcome)
    }

    /// The rows of a text of ours.
    pub(super) fn rows(&mut self, text: Text, values: &[Value<'_>], columns: &[ColumnType]) -> Result<Vec<Row>> {
        let outcome = self.wire.rows(text.sql, values, columns);
        self.done(outcome)
    }

    /// The whole number that a text made here answers with; `None` for no row or NULL.
    fn answer(&mut self, sql: &str) -> Result<Option<i64>> {
        let outcome = self.wire.rows(sql, &[], &[ColumnType::BigInt]);
        Ok(self.done(outcome)?.first().and_then(|row| whole(row, 0)))
    }

    /// The first whole number of a text of ours; `None` for no row or NULL.
    pub(super) fn number(&mut self, text: Text, values: &[Value<'_>]) -> Result<Option<i64>> {
        let rows = self.rows(text, values, &[ColumnType::BigInt])?;
        Ok(rows.first().and_then(|row| whole(row, 0)))
    }

    /// The texts of a column.
    pub(super) fn names(&mut self, text: Text, values: &[Value<'_>]) -> Result<Vec<String>> {
        let rows = self.rows(text, values, &[NAME])?;
        Ok(rows.iter().filter_map(|row| text_of(row, 0)).collect())
    }

    /// The owner of the schema of a place.
    pub(super) fn owner(&mut self, workspace: &Workspace) -> Result<Owner> {
        Ok(match self.number(sql::OWNER, &[Value::Text(workspace.name())])? {
            None => Owner::Nobody,
            Some(0) => Owner::Somebody,
            Some(_) => Owner::We,
        })
    }

    /// Makes the schema of a place; it has its mark from the first moment.
    pub(super) fn create(&mut self, workspace: &Workspace) -> Result<()> {
        self.run(&sql::create_workspace(workspace.name())).map(drop)
    }

    /// Does something while nobody else takes or changes a lease on that place.
    pub(super) fn in_gate<T>(&mut self, workspace: &Workspace, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let [_, gate] = sql::resource(workspace.name());
        match self.answer(&sql::take_lock(&gate, false, GATE_PATIENCE_MS))? {
            Some(0..) => {}
            _ => {
                return Err(Error::new(
                    ErrorKind::Busy,
                    format!("the gate of the lease on {workspace} is held by somebody else"),
                )
                .hint("another program stands in the middle of taking the lease; try again"));
            }
        }
        let done = work(self);
        let left = self.run(&sql::give_lock_back(&gate));
        let done = done?;
        left.map(|_| done)
    }

    /// Takes the lock of a place for this session unless another session's stands against it. To be done in the gate.
    pub(super) fn take(&mut self, workspace: &Workspace, shared: bool) -> Result<bool> {
        let [lease, _] = sql::resource(workspace.name());
        match self.answer(&sql::take_lock(&lease, shared, 0))? {
            // Granted at once, or after others let go.
            Some(0..) => Ok(true),
            // Not granted in time.
            Some(-1) => Ok(false),
            other => {
                let code = other.map_or_else(|| "nothing".to_owned(), |code| code.to_string());
                Err(Error::new(
                    ErrorKind::Unsupported,
                    format!("sp_getapplock answered {code} to a lease on {workspace}"),
                )
                .hint("leases need application locks (sp_getapplock), which this server does not seem to have"))
            }
        }
    }

    /// Takes the lock if nobody stands in the way.
    pub(super) fn try_lock(&mut self, workspace: &Workspace, shared: bool) -> Result<bool> {
        self.in_gate(workspace, |control| control.take(workspace, shared))
    }

    /// Gives back a lock of this session.
    pub(super) fn unlock(&mut self, workspace: &Workspace) -> Result<()> {
        let [lease, _] = sql::resource(workspace.name());
        self.run(&sql::give_lock_back(&lease)).map(drop)
    }

    /// Every schema with a name and a mark of ours, and whether anybody holds a lease on it.
    pub(super) fn list(&mut self) -> Result<Vec<WorkspaceStatus>> {
        let mut workspaces = Vec::new();
        for workspace in self.names(sql::PLACES, &[])?.iter().filter_map(|name| Workspace::from_name(name)) {
            workspaces.push(WorkspaceStatus { leased: self.is_leased(&workspace)?, workspace });
        }
        Ok(workspaces)
    }

    /// True if somebody holds the lease on a place, or is about to.
    pub(super) fn is_leased(&mut self, workspace: &Workspace) -> Result<bool> {
        // Between giving back and taking again, only the gate is held.
        let [lease, gate] = sql::resource(workspace.name());
        let mut is_free =
            |resource: &str| Ok::<bool, Error>(self.number(sql::IS_FREE, &[Value::Text(resource)])? == Some(1));
        Ok(!is_free(&lease)? || !is_free(&gate)?)
    }

    /// Drops the schema of a place with its tables and procedures. Only tables and procedures with our prefix are ours: if anything else is in the schema or refers to it,
    /// nothing is dropped.
    pub(super) fn drop_schema(&mut self, workspace: &Workspace) -> Result<()> {
        let name = workspace.name();
        let others = self.names(sql::STRANGERS, &[Value::Text(name)])?;
        if let Some(first) = others.first() {
            return Err(kept(workspace, first, others.len() - 1));
        }
        let procedures = self.names(sql::PROCEDURES, &[Value::Text(name)])?;
        for procedures in procedures.chunks(TABLES_PER_DROP) {
            self.run(&sql::drop_procedures(name, procedures))?;
        }
        let tables = self.names(sql::TABLES, &[Value::Text(name)])?;
        for tables in tables.chunks(TABLES_PER_DROP) {
            self.run(&sql::drop_tables(name, tables))?;
        }
        self.run(&sql::drop_workspace(name)).map(drop)
    }
}

/// The error that keeps us off a schema that isn't ours.
pub(super) fn foreign(workspace: &Workspace) -> Error {
    Error::new(ErrorKind::Safety, format!("the schema {workspace} does not bear our mark, so it is not touched"))
        .hint(format!("if it is ours after all: {}", sql::mark(workspace.name())))
}

/// The error that keeps a place for the sake of what is not ours.
fn kept(workspace: &Workspace, first: &str, more: usize) -> Error {
    let more = if more == 0 { String::new() } else { format!(" (and {more} more)") };
    Error::new(
        ErrorKind::Safety,
        format!("the schema {workspace} is kept, as it would take along what is not ours: {first}{more}"),
    )
    .hint("drop or move what depends on our tables or lies in our schema, then run plimsoll clean")
}

/// A whole number of a row; `None` for NULL.
pub(super) fn whole(row: &Row, index: usize) -> Option<i64> {
    match row.get(index) {
        Value::BigInt(number) => Some(number),
        Value::Int(number) => Some(number.into()),
        _ => None,
    }
}

/// A text of a row; `None` for NULL.
pub(super) fn text_of(row: &Row, index: usize) -> Option<String> {
    match row.get(index) {
        Value::Text(text) => Some(text.to_owned()),
        _ => None,
    }
}

/// Name of the sessions that hold leases.
pub(super) fn lease_name(workspace: &Workspace) -> String {
    format!("plimsoll lease {workspace}")
}
