//! A working session.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_clock::Clock;
use plimsoll_engine::{
    Answer, Cancel, ColumnType, Dialect, Error, ErrorKind, RequestAccess, Requester, Result, Row, RowSource,
    RowSummary, Sampler, Session, SingleRow, Statement, Table, TableSize, Value, Workspace, ask_for, mark,
};
use plimsoll_measurement::{Reading, Views};

use super::connect::Connector;
use super::connection::{Connection, Failed, Prepared};
use super::contents::{Contents, PROCEDURE, TABLE};
use super::describe::ServerFacts;
use super::dialect;
use super::statements::{fill, of_place, of_table, text};
use super::working::connect;
use super::{counters, load, rows, workspace};

/// What a session in the user's own database does there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outside {
    Writes,
    Reads,
}

/// A connection with statements that work in one place.
pub(super) struct MySqlSession {
    connection: Connection,
    workspace: Workspace,
    clock: Arc<dyn Clock>,
    facts: ServerFacts,
    statements: HashMap<String, Prepared>,
    /// Rows were changed since sizes were counted.
    changed: bool,
}

impl MySqlSession {
    pub(super) fn open(
        connector: &Arc<Connector>,
        facts: ServerFacts,
        (workspace, run): (&Workspace, &Workspace),
        access: RequestAccess,
    ) -> Result<Self> {
        let connection = connect(connector, workspace, run, access)?;
        let (workspace, clock) = (workspace.clone(), Arc::clone(&connector.clock));
        Ok(Self { connection, workspace, clock, facts, statements: HashMap::new(), changed: false })
    }

    /// In the database of the URL and for no run, with the name of that database. Whatever takes longer than `patience` is given up.
    pub(super) fn outside(
        connector: &Arc<Connector>,
        facts: ServerFacts,
        what: Outside,
        (name, patience): (&str, Duration),
    ) -> Result<(Self, String)> {
        let database = connector.database().map(str::to_owned).ok_or_else(|| {
            Error::new(ErrorKind::Usage, "the URL names no database, in which a table could be")
                .hint("name one behind the server: mysql://me@db.example/mine")
        })?;
        let mut connection = connector.connect_in(&database, name)?;
        connection.set(connection.server.product.text("settings of a session"))?;
        connection.link.set_timeout(Some(patience));
        match what {
            // Also for users who could write there all the same.
            Outside::Writes => workspace::writable_server(&mut connection).map(drop)?,
            Outside::Reads => connection.set(text("read only")).map(drop)?,
        }
        let (clock, statements) = (Arc::clone(&connector.clock), HashMap::new());
        // A name for statements that nobody asks for here.
        let workspace = Workspace::run("none")?;
        Ok((Self { connection, workspace, clock, facts, statements, changed: false }, database))
    }

    /// A table's name as the server keeps it.
    pub(super) fn kept_name(&self, name: &str) -> String {
        if self.facts.lowers_names { name.to_lowercase() } else { name.to_owned() }
    }

    /// The place that marks of tables name: in a copy that of its run.
    fn place(&self) -> Workspace {
        self.workspace.leased_by()
    }

    /// Executes a statement by its prepared form, which is kept if it has parameters. One that failed is prepared anew: its
    /// table may have been made again with other columns.
    fn execute_prepared(
        &mut self,
        sql: &str,
        parameters: &[Value<'_>],
        each: super::connection::Each<'_>,
    ) -> Result<super::connection::Done> {
        self.connection.link.alive()?;
        let prepared = match self.statements.remove(sql) {
            Some(prepared) => Ok(prepared),
            None => self.connection.prepare(sql),
        };
        let mut prepared = prepared.map_err(|failed| self.connection.fail(failed))?;
        let outcome = self.connection.execute(&mut prepared, parameters, each);
        match outcome {
            Ok(done) if !parameters.is_empty() => {
                self.statements.insert(sql.to_owned(), prepared);
                return Ok(done);
            }
            Err(Failed::Wire(_)) => {}
            _ => {
                if let Err(Failed::Receiver(_)) = &outcome {
                    // The rest of the rows would still be sent, and the next statement would have to wait for all of them.
                    self.connection.link.cancel().cancel();
                    match self.connection.drain() {
                        Ok(()) | Err(Failed::Server(_)) => {}
                        Err(failed) => drop(self.connection.fail(failed)),
                    }
                }
                if self.connection.link.alive().is_ok() {
                    self.connection.close(&prepared).map_err(|error| self.connection.fail(error.into()))?;
                }
            }
        }
        self.connection.link.line.shrink();
        outcome.map_err(|failed| self.connection.fail(failed))
    }
}

impl Session for MySqlSession {
    fn dialect(&self) -> &'static dyn Dialect {
        dialect::of(self.connection.server.product)
    }

    fn create_table(&mut self, table: &Table) -> Result<()> {
        let dialect = dialect::of(self.connection.server.product);
        // Some servers have names of tables in lower case, and a mark names its table as it is kept.
        let mark = mark::of_part(TABLE, &self.kept_name(&table.name), self.place().name());
        self.execute(&dialect.create_marked(table, &mark), &[]).map(drop)
    }

    fn adopt_tables(&mut self) -> Result<()> {
        let (workspace, place) = (self.workspace.clone(), self.place());
        for table in Contents::of(&mut self.connection, &workspace)?.tables(false) {
            let mark = mark::of_part(TABLE, table, place.name());
            let words = [("workspace", workspace.name()), ("table", table), ("mark", &mark)];
            self.connection.run(&fill("mark a table", &words))?;
        }
        Ok(())
    }

    fn execute(&mut self, sql: &str, parameters: &[Value<'_>]) -> Result<u64> {
        self.changed = true;
        let done = if parameters.is_empty() {
            self.connection.work(sql)?
        } else {
            self.execute_prepared(sql, parameters, &mut |_, _| Ok(()))?
        };
        Ok(done.rows)
    }

    fn query(
        &mut self,
        sql: &str,
        parameters: &[Value<'_>],
        types: &[ColumnType],
        each: &mut dyn FnMut(&mut Row) -> Result<()>,
    ) -> Result<()> {
        let mut row = Row::default();
        self.execute_prepared(sql, parameters, &mut |columns, bytes| {
            row.clear();
            rows::decode(bytes, columns, types, &mut row)?;
            each(&mut row)
        })
        .map(drop)
    }

    fn check(&mut self, sql: &str) -> Result<()> {
        self.connection.link.alive()?;
        let prepared = self.connection.prepare(sql).map_err(|failed| self.connection.fail(failed))?;
        self.connection.close(&prepared).map_err(|error| self.connection.fail(error.into()))
    }

    fn make_procedures(&mut self, table: &Table) -> Result<bool> {
        workspace::check_unreplicated(&mut self.connection)?;
        let dialect = dialect::of(self.connection.server.product);
        let contents = Contents::of(&mut self.connection, &self.workspace)?;
        for request in SingleRow::ALL {
            let (place, procedure) = (self.workspace.name(), request.procedure(table));
            // Somebody else's stays, and the server refuses a second one of its name.
            let own = contents.has_own(PROCEDURE, &procedure);
            let drop = own.then(|| fill("remove a procedure", &[("workspace", place), ("procedure", &procedure)]));
            for sql in drop.into_iter().chain([dialect.create_procedure(request, table, self.place().name())]) {
                match self.connection.run(&sql) {
                    Err(error) if error.kind == ErrorKind::Permission => return Ok(false),
                    done => done?,
                };
            }
        }
        Ok(true)
    }

    fn load(&mut self, table: &Table, rows: &mut dyn RowSource) -> Result<RowSummary> {
        self.changed = true;
        load::load(&mut self.connection, &self.workspace, table, rows, self.facts.way)
    }

    fn check_table(&mut self, table: &Table) -> Result<()> {
        workspace::check_table(&mut self.connection, &self.workspace, &table.name)
    }

    /// Statistics for the planner; the table's own are not renewed in the middle of a test.
    fn settle_table(&mut self, table: &Table) -> Result<()> {
        self.connection.work(&of_table("analyze", &self.workspace, &table.name)).map(drop)
    }

    /// Writes the dirty pages of the place's tables by taking each for a copy, which has to be allowed (`RELOAD`).
    fn checkpoint(&mut self) -> Result<bool> {
        let tables = self.connection.column(&of_place("InnoDB's tables of a database", &self.workspace))?;
        for table in tables {
            if !counters::flush(&mut self.connection, &self.workspace, &table)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Statistics know the pages of a table; they are renewed if rows were changed since.
    fn table_size(&mut self, table: &Table) -> Result<Option<TableSize>> {
        if std::mem::take(&mut self.changed) {
            self.settle_table(table)?;
        }
        counters::table_size(&mut self.connection, &self.workspace, &table.name, self.facts.page_bytes).map(Some)
    }
}

impl Requester for MySqlSession {
    fn ask(&mut self, statement: &Statement, parameters: &[Value<'_>]) -> Result<Answer> {
        ask_for(self, statement, parameters)
    }

    fn load_batch(&mut self, table: &Table, rows: &mut dyn RowSource) -> Result<RowSummary> {
        self.load(table, rows)
    }

    fn canceller(&self) -> Arc<dyn Cancel> {
        self.connection.link.cancel()
    }
}

impl Sampler for MySqlSession {
    fn sample(&mut self) -> Result<Vec<Reading>> {
        counters::sample(&mut self.connection, self.clock.as_ref(), self.facts.is_direct)
    }

    fn views(&mut self) -> Result<Views> {
        let files = counters::files(&mut self.connection)?;
        Ok(Views { files, ..Views::default() })
    }
}
