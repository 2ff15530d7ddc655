//! A working session.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_clock::Clock;
use plimsoll_engine::mark;
use plimsoll_engine::request::{self};
use plimsoll_engine::server::place::WORK;
use plimsoll_engine::{
    Answer, Cancel, ColumnType, Dialect, ErrorKind, RequestAccess, Requester, Result, Row, RowSource, RowSummary,
    Sampler, Session, Table, TableSize, Value, Workspace, ask_for,
};
use plimsoll_measurement::{Reading, Views};
use postgres_types::Type;
use xxhash_rust::xxh3::xxh3_64;

use super::connect::Connector;
use super::connection::{BINARY, Connection, Failed, Outcome};
use super::dialect::PostgresDialect;
use super::prepared::Prepared;
use super::statements::{filled, sql};
use super::{copy, counters, wire, workspace};

/// The same in every edition, in which only the right for it differs.
pub(super) const CHECKPOINT: &str = "CHECKPOINT";

/// A connection that works in a place under the name of the run, so that it ends when the run's lease is gone.
pub(super) fn connect(
    connector: &Connector,
    workspace: &Workspace,
    run: &Workspace,
    access: RequestAccess,
) -> Result<Connection> {
    let mut connection = connector.connect(&format!("{WORK}{run}"))?;
    connection.set(&preparation(workspace, access))?;
    Ok(connection)
}

/// The statements that make a fresh connection a working one.
fn preparation(workspace: &Workspace, access: RequestAccess) -> String {
    let mut statements = vec![workspace::staying(), sql("settings of a working session").to_owned()];
    if access.existing {
        statements.push(sql("compile as for others").to_owned());
    }
    if access.read_only() {
        statements.push(sql("no writes").to_owned());
    }
    statements.push(path(workspace, access));
    statements.join("; ")
}

/// Tables are looked for in our place, and after it where the user's sessions look if those may be reached.
fn path(workspace: &Workspace, access: RequestAccess) -> String {
    let path = if access.existing { "look in a workspace and beside it" } else { "look in a workspace" };
    filled(path, &[("schema", workspace.name())])
}

/// A connection with statements that work in one place.
pub(super) struct PostgresSession {
    connection: Connection,
    clock: Arc<dyn Clock>,
    workspace: Workspace,
    /// The statement by which names mean what they should.
    path: String,
    statements: HashMap<String, Prepared>,
    server_version: u32,
    /// The user may not see the position of the log.
    log_is_hidden: bool,
}

impl PostgresSession {
    pub(super) fn open(
        connector: &Connector,
        workspace: &Workspace,
        run: &Workspace,
        version: u32,
        access: RequestAccess,
    ) -> Result<Self> {
        let connection = connect(connector, workspace, run, access)?;
        let (clock, workspace) = (Arc::clone(&connector.clock), workspace.clone());
        Ok(Self {
            connection,
            clock,
            path: path(&workspace, access),
            workspace,
            statements: HashMap::new(),
            server_version: version,
            log_is_hidden: false,
        })
    }

    /// In no place of ours and for no run: for statements that say which schema a table is in. Whatever takes longer than `patience` is
    /// given up.
    pub(super) fn outside(connector: &Connector, version: u32, name: &str, patience: Duration) -> Result<Self> {
        let mut connection = connector.connect(name)?;
        connection.set(&format!("{}; {}", workspace::staying(), sql("settings of a working session")))?;
        connection.link.set_timeout(Some(patience));
        Ok(Self {
            connection,
            clock: Arc::clone(&connector.clock),
            path: sql("names of the system alone").to_owned(),
            // A name for statements that nobody asks for here.
            workspace: Workspace::run("none")?,
            statements: HashMap::new(),
            server_version: version,
            log_is_hidden: false,
        })
    }

    /// An error if what is made here would be published.
    pub(super) fn check_unpublished(&mut self) -> Result<()> {
        workspace::check_unpublished(&mut self.connection)
    }

    /// Executes a statement by its prepared form, which is kept. One that failed is prepared anew: its table may have been made
    /// again with other columns.
    fn execute_prepared(
        &mut self,
        sql: &str,
        parameters: &[Value<'_>],
        mut each: impl FnMut(&[Type], &[u8]) -> Outcome<()>,
    ) -> Outcome<u64> {
        let prepared = match self.statements.remove(sql) {
            Some(prepared) => prepared,
            None => self.connection.prepare(&format!("p{:x}", xxh3_64(sql.as_bytes())), sql)?,
        };
        let columns = &prepared.columns;
        let changed = self.connection.execute(&prepared, parameters, BINARY, |message| each(columns, message))?;
        self.statements.insert(sql.to_owned(), prepared);
        Ok(changed)
    }

    /// A table by its name with our place in front: an event trigger may change where names are looked for while a table is made or
    /// removed. Behind that the path is set again.
    fn in_place(&self, table: &Table) -> Table {
        table.named(format!("{}.{}", self.workspace.name(), self.dialect().table(&table.name)))
    }

    /// The statement that marks a table.
    fn marking(&self, table: &str) -> String {
        let place = self.workspace.name();
        let mark = mark::of_part("table", table, place);
        filled("mark a table", &[("schema", place), ("table", table), ("mark", &mark)])
    }

    /// Makes this session's counts visible to it.
    fn flushed(&mut self) -> Result<&mut Connection> {
        counters::flush(&mut self.connection, self.clock.as_ref(), self.server_version)?;
        Ok(&mut self.connection)
    }
}

impl Session for PostgresSession {
    fn dialect(&self) -> &'static dyn Dialect {
        &PostgresDialect
    }

    /// With the mark by which it is known as ours, in one transaction.
    fn create_table(&mut self, table: &Table) -> Result<()> {
        workspace::check_unpublished(&mut self.connection)?;
        // Names in the texts of tests are not quoted, so the server has them in lower case.
        let marking = self.marking(&table.name.to_lowercase());
        let create = self.dialect().create_table(&self.in_place(table));
        self.connection.run(&format!("{create}; {marking}; {}", self.path)).map(drop)
    }

    fn remove_table(&mut self, table: &Table) -> Result<()> {
        let drop_it = self.dialect().drop_table(&self.in_place(table));
        self.connection.run(&format!("{drop_it}; {}", self.path)).map(drop)
    }

    fn adopt_tables(&mut self) -> Result<()> {
        for row in self.connection.rows(sql("marks of tables"), &[self.workspace.name()])? {
            if let Some(name) = row.text(0).filter(|_| !row.is_true(1)) {
                self.connection.run(&self.marking(name))?;
            }
        }
        Ok(())
    }

    fn execute(&mut self, sql: &str, parameters: &[Value<'_>]) -> Result<u64> {
        if parameters.is_empty() {
            return self.connection.work(sql);
        }
        self.connection.link.alive()?;
        let changed = self.execute_prepared(sql, parameters, |_, _| Ok(()));
        changed.map_err(|failed| self.connection.fail(failed))
    }

    fn query(
        &mut self,
        sql: &str,
        parameters: &[Value<'_>],
        types: &[ColumnType],
        each: &mut dyn FnMut(&mut Row) -> Result<()>,
    ) -> Result<()> {
        self.connection.link.alive()?;
        let mut row = Row::default();
        let hand_over = |columns: &[Type], message: &[u8]| {
            wire::decode(message, columns, types, &mut row).and_then(|()| each(&mut row)).map_err(Failed::Receiver)
        };
        let outcome = if parameters.is_empty() {
            self.connection.query(sql, hand_over)
        } else {
            self.execute_prepared(sql, parameters, hand_over).map(drop)
        };
        if let Err(Failed::Receiver(_)) = &outcome {
            self.connection.abandon();
        }
        self.connection.link.line.shrink();
        outcome.map_err(|failed| self.connection.fail(failed))
    }

    fn check(&mut self, sql: &str) -> Result<()> {
        self.connection.link.alive()?;
        self.connection.prepare("check", sql).map(drop).map_err(|failed| self.connection.fail(failed))
    }

    fn load(&mut self, table: &Table, rows: &mut dyn RowSource) -> Result<RowSummary> {
        let table = self.in_place(table);
        copy::load(&mut self.connection, &table, rows)
    }

    /// Statistics for the planner, frozen rows and a visibility map, so that no later scan writes.
    fn settle_table(&mut self, table: &Table) -> Result<()> {
        self.connection
            .work(&filled("settle a table", &[("schema", self.workspace.name()), ("table", &table.name)]))
            .map(drop)
    }

    fn check_table(&mut self, table: &Table) -> Result<()> {
        workspace::check_table(&mut self.connection, &self.workspace, &table.name)
    }

    fn checkpoint(&mut self) -> Result<bool> {
        match self.connection.run(CHECKPOINT) {
            Ok(_) => Ok(true),
            Err(error) if error.kind == ErrorKind::Permission => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn table_size(&mut self, table: &Table) -> Result<Option<TableSize>> {
        let row = self.connection.row(sql("size of a table"), &[&table.name])?;
        Ok(row.get(0).map(|table_bytes| TableSize { table_bytes, index_bytes: row.get(1).unwrap_or(0) }))
    }

    fn table_misses(&mut self, table: &Table) -> Result<Option<u64>> {
        counters::table_misses(self.flushed()?, table)
    }
}

impl Requester for PostgresSession {
    fn ask(&mut self, statement: &request::Statement, parameters: &[Value<'_>]) -> Result<Answer> {
        ask_for(self, statement, parameters)
    }

    fn load_batch(&mut self, table: &Table, rows: &mut dyn RowSource) -> Result<RowSummary> {
        self.load(table, rows)
    }

    fn canceller(&self) -> Arc<dyn Cancel> {
        self.connection.link.cancel()
    }
}

impl Sampler for PostgresSession {
    fn sample(&mut self) -> Result<Vec<Reading>> {
        self.flushed()?;
        counters::sample(&mut self.connection, self.clock.as_ref(), &self.workspace, &mut self.log_is_hidden)
    }

    /// Writes of the log. Waits are not counted by session.
    fn views(&mut self) -> Result<Views> {
        let version = self.server_version;
        Ok(Views { files: counters::files(self.flushed()?, version)?, ..Views::default() })
    }
}
