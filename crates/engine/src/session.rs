//! Sessions: what a run does with its data.

use crate::dialect::Dialect;
use crate::error::{Error, ErrorKind, Result};
use crate::request::{Answer, RequestAccess, Requester, RowSource, Statement};
use crate::table::{ColumnType, Table};
use crate::value::{Row, RowSummary, Value};
use crate::workspace::Workspace;

/// What opens sessions at a target.
pub trait Sessions {
    /// A new session that works in `workspace` for the run that holds the lease on `run`, and reaches what `access` says.
    fn session_with(&self, workspace: &Workspace, run: &Workspace, access: RequestAccess) -> Result<Box<dyn Session>>;

    /// A new session that works in `workspace` and nowhere else.
    ///
    /// # Errors
    /// Those of [`Sessions::session_with`].
    fn session(&self, workspace: &Workspace, run: &Workspace) -> Result<Box<dyn Session>> {
        self.session_with(workspace, run, RequestAccess::OWN)
    }

    /// A new session that only makes requests: the same unless the engine has leaner ones.
    ///
    /// # Errors
    /// Those of [`Sessions::session_with`].
    fn requester(&self, workspace: &Workspace, run: &Workspace, access: RequestAccess) -> Result<Box<dyn Requester>> {
        Ok(self.session_with(workspace, run, access)?)
    }

    /// The same in place of a session that was lost. It is tried once: whoever lost it knows how long to go on, and an error says
    /// how long to wait.
    ///
    /// # Errors
    /// Those of [`Sessions::session_with`].
    fn replacement(&self, workspace: &Workspace, run: &Workspace, access: RequestAccess) -> Result<Box<dyn Requester>> {
        self.requester(workspace, run, access)
    }
}

/// A session: one connection, one thread. It makes requests like a [`Requester`], and looks after data.
pub trait Session: Requester {
    /// The engine's SQL.
    fn dialect(&self) -> &'static dyn Dialect;

    /// Runs a statement that returns no rows; gives the number of rows it changed. Statements are prepared once and
    /// kept if they have parameters.
    fn execute(&mut self, sql: &str, parameters: &[Value<'_>]) -> Result<u64>;

    /// Runs a query with columns of these types and hands over its rows one by one.
    fn query(
        &mut self,
        sql: &str,
        parameters: &[Value<'_>],
        types: &[ColumnType],
        each: &mut dyn FnMut(&mut Row) -> Result<()>,
    ) -> Result<()>;

    /// Has the engine read a statement without running it: an error says what is wrong with it, such as a table that is
    /// not there.
    fn check(&mut self, sql: &str) -> Result<()>;

    /// Removes a table if it is there, and what it leaves behind where that would be felt by the next one.
    fn drop_table(&mut self, table: &Table) -> Result<()> {
        self.check_table(table)?;
        self.remove_table(table)
    }

    /// Removes a table of ours if it is there, and nothing more: what it leaves behind stays, as does the question whose it is.
    fn remove_table(&mut self, table: &Table) -> Result<()> {
        let sql = self.dialect().drop_table(table);
        self.execute(&sql, &[]).map(drop)
    }

    /// An error if a table of that name is there and is not ours, or if somebody has put something on it that would go with it. Where
    /// tables of ours have no marks nothing is said of them.
    fn check_table(&mut self, table: &Table) -> Result<()> {
        let _ = table;
        Ok(())
    }

    /// Makes an empty table in the session's place, with its clustered primary key (where the engine has one).
    fn create_table(&mut self, table: &Table) -> Result<()> {
        let sql = self.dialect().create_table(table);
        self.execute(&sql, &[]).map(drop)
    }

    /// Marks the tables that a definition's own statements made in the session's place, so that they go with it. For the run that holds
    /// the lease alone.
    fn adopt_tables(&mut self) -> Result<()> {
        Ok(())
    }

    /// Makes stored procedures for requests for single rows of a table, which [`Dialect::call`] calls, in place of those that may be
    /// there. False where there are none or the user may not make them: then requests are texts.
    fn make_procedures(&mut self, table: &Table) -> Result<bool> {
        let _ = table;
        Ok(false)
    }

    /// Loads rows by the engine's fast path, in one transaction: all of them, or none on an error.
    fn load(&mut self, table: &Table, rows: &mut dyn RowSource) -> Result<RowSummary>;

    /// Brings a loaded table to rest: statistics, visibility, everything that would else happen during a test.
    fn settle_table(&mut self, table: &Table) -> Result<()>;

    /// Writes what is dirty to the data files; false where the user may not ask for it.
    fn checkpoint(&mut self) -> Result<bool>;

    /// How large a table is; `None` where that is not to be seen.
    fn table_size(&mut self, table: &Table) -> Result<Option<TableSize>>;

    /// How the engine last ran a statement that this session made, where it tells that and lets us see it.
    fn plan(&mut self, sql: &str) -> Result<Option<Plan>> {
        let _ = sql;
        Ok(None)
    }

    /// Cumulative pages of the table and its index that the engine did not have in its cache. `None` where the engine
    /// doesn't count by table.
    fn table_misses(&mut self, table: &Table) -> Result<Option<u64>> {
        let _ = table;
        Ok(None)
    }

    /// Runs a query that returns one row of one integer, such as a count.
    fn query_count(&mut self, sql: &str, parameters: &[Value<'_>]) -> Result<u64> {
        let mut count = None;
        self.query(sql, parameters, &[ColumnType::BigInt], &mut |row| {
            if let Value::BigInt(value) = row.get(0) {
                count = u64::try_from(value).ok();
            }
            Ok(())
        })?;
        count.ok_or_else(|| Error::new(ErrorKind::Statement, "the engine returned no count"))
    }
}

/// Makes a request by [`Session::query`] or, where no rows come back, [`Session::execute`]: for an engine that has no leaner way.
///
/// # Errors
/// Those of the session; and if the columns are not known, which such an engine has to be told.
pub fn ask_for<S: Session + ?Sized>(
    session: &mut S,
    statement: &Statement,
    parameters: &[Value<'_>],
) -> Result<Answer> {
    let Some(columns) = &statement.columns else {
        return Err(Error::new(ErrorKind::Unsupported, "this engine can't make requests of columns it isn't told"));
    };
    if columns.is_empty() {
        return Ok(Answer { rows: session.execute(&statement.sql, parameters)?, content_bytes: 0 });
    }
    let mut answer = Answer::default();
    session.query(&statement.sql, parameters, columns, &mut |row| {
        answer.rows += 1;
        answer.content_bytes += row.content_bytes();
        Ok(())
    })?;
    Ok(answer)
}

/// Size of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableSize {
    /// Bytes of the pages that hold the rows (with a clustered key: the whole tree).
    pub table_bytes: u64,
    /// Bytes of the pages of a separate primary key index; 0 where the key is clustered.
    pub index_bytes: u64,
}

impl TableSize {
    /// Bytes of all its pages.
    pub const fn bytes(self) -> u64 {
        self.table_bytes + self.index_bytes
    }
}

/// How a statement was run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Its operators by the engine's names, each with those that it takes rows from in parentheses behind it.
    pub shape: String,
    /// True if it joins by nested loops.
    pub joins_by_loops: bool,
    /// CPUs that worked on it at once; `None` where the engine doesn't say.
    pub degree: Option<u32>,
}
