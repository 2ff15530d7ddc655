//! A working session.

use std::collections::HashMap;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use plimsoll_clock::Clock;
use plimsoll_engine::database::{Cancel, RowSource, Sampler, Session, TableSize, Workspace};
use plimsoll_engine::dialect::Dialect;
use plimsoll_engine::error::{Error, ErrorKind, Result};
use plimsoll_engine::request::{self, Answer, RequestAccess, Requester};
use plimsoll_engine::session::ask_for;
use plimsoll_engine::table::{ColumnType, Table};
use plimsoll_engine::value::{Row, RowSummary, Value};
use plimsoll_measurement::{Reading, Views};
use postgres::fallible_iterator::FallibleIterator;
use postgres::{CancelToken, Client, RowIter, Statement};
use postgres_types::{ToSql, Type};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::connect::Connector;
use super::copy::{self, ByDriver};
use super::counters;
use super::dialect::PostgresDialect;
use super::error::Errors;
use super::wire::{self, Parameter, Raw};
use super::workspace::{self, WORK};

/// How long a cancel request may hold up the thread that makes it.
pub(super) const CANCEL_PATIENCE: Duration = Duration::from_secs(2);

/// Settings of a working session beside its place.
const SETTINGS: &[(&str, &str)] = &[
    // Compiling takes seconds that a test would count, and starts at a size of table that the seeds know nothing of.
    ("jit", "off"),
    // Scans that start where another one is would be served by that one's reads.
    ("synchronize_seqscans", "off"),
    // Only VACUUM FULL and DROP wait for strong locks; whoever stands in their way should not hold them up for ever.
    ("lock_timeout", "60000"),
    // A statement of a client that died ends within seconds and not at its end.
    ("client_connection_check_interval", "5000"),
    // Counters are read as they are, not as they were when the transaction first looked.
    ("stats_fetch_consistency", "none"),
    // What the server wants to tell goes to nobody.
    ("client_min_messages", "error"),
];

/// A connection that works in a place under the name of the run, so that it ends when the run's lease is gone.
pub(super) fn connect(
    connector: &Connector,
    workspace: &Workspace,
    run: &Workspace,
    access: RequestAccess,
) -> Result<(Client, Arc<PostgresCancel>)> {
    let mut client = connector.connect(&format!("{WORK}{run}"))?;
    let prepared = client.batch_execute(&preparation(workspace, access));
    prepared.map_err(|error| connector.errors.running(&error))?;
    let canceller = Arc::new(PostgresCancel::new(client.cancel_token(), connector.tls()));
    Ok((client, canceller))
}

/// The statements that make a fresh connection a working one.
pub(super) fn preparation(workspace: &Workspace, access: RequestAccess) -> String {
    let mut settings = workspace::staying().to_vec();
    settings.extend(SETTINGS.iter().map(|(name, value)| (*name, (*value).to_owned())));
    if access.read_only() {
        settings.push(("default_transaction_read_only", "on".to_owned()));
    }
    // Tables are looked for in our place, and after it where the user's sessions look if those may be reached.
    let usual = if access.existing { " || ', ' || current_setting('search_path')" } else { "" };
    format!("{}; SELECT set_config('search_path', '{workspace}'{usual}, false)", workspace::setting(&settings))
}

/// A connection whose statements work in one place.
pub(super) struct PostgresSession {
    client: Client,
    errors: Errors,
    clock: Arc<dyn Clock>,
    workspace: Workspace,
    statements: HashMap<String, Statement>,
    canceller: Arc<PostgresCancel>,
    server_version: u32,
}

impl PostgresSession {
    /// Connects under the name of the run.
    pub(super) fn open(
        connector: &Connector,
        clock: &Arc<dyn Clock>,
        workspace: &Workspace,
        run: &Workspace,
        version: u32,
        access: RequestAccess,
    ) -> Result<Self> {
        let (client, canceller) = connect(connector, workspace, run, access)?;
        let (errors, clock, workspace) = (connector.errors.clone(), Arc::clone(clock), workspace.clone());
        Ok(Self { client, errors, clock, workspace, statements: HashMap::new(), canceller, server_version: version })
    }

    fn failed(&self) -> impl Fn(postgres::Error) -> Error + use<> {
        let errors = self.errors.clone();
        move |error| errors.running(&error)
    }

    /// The prepared form of a statement; the first time it is prepared.
    fn prepared(&mut self, sql: &str) -> Result<Statement> {
        if let Some(statement) = self.statements.get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(sql).map_err(self.failed())?;
        self.statements.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    /// A statement that failed is prepared anew: its table may have been made again with other columns.
    fn forget(&mut self, sql: &str) -> impl Fn(postgres::Error) -> Error + use<> {
        self.statements.remove(sql);
        self.failed()
    }
}

impl Session for PostgresSession {
    fn dialect(&self) -> &'static dyn Dialect {
        &PostgresDialect
    }

    fn execute(&mut self, sql: &str, parameters: &[Value<'_>]) -> Result<u64> {
        if parameters.is_empty() {
            return self.execute_once(sql);
        }
        let statement = self.prepared(sql)?;
        let values: Vec<Parameter<'_>> = parameters.iter().map(|value| Parameter(*value)).collect();
        let references: Vec<&(dyn ToSql + Sync)> = values.iter().map(|value| value as _).collect();
        match self.client.execute(&statement, &references) {
            Ok(changed) => Ok(changed),
            Err(error) => Err(self.forget(sql)(error)),
        }
    }

    fn query(
        &mut self,
        sql: &str,
        parameters: &[Value<'_>],
        types: &[ColumnType],
        each: &mut dyn FnMut(&mut Row) -> Result<()>,
    ) -> Result<()> {
        match self.stream(sql, parameters, types, each) {
            Ok(()) => Ok(()),
            Err(Stop::Server(error)) => {
                self.statements.remove(sql);
                Err(error)
            }
            Err(Stop::Receiver(error)) => {
                // The rest of the rows would still be sent, and the next statement would have to wait for all of them.
                self.canceller.cancel();
                let _ = self.client.simple_query("");
                Err(error)
            }
        }
    }

    fn check(&mut self, sql: &str) -> Result<()> {
        self.client.prepare(sql).map(drop).map_err(self.failed())
    }

    fn create_table(&mut self, table: &Table) -> Result<()> {
        self.execute_once(&PostgresDialect.create_table(table)).map(drop)
    }

    fn load(&mut self, table: &Table, rows: &mut dyn RowSource) -> Result<RowSummary> {
        copy::load(&mut ByDriver { client: &mut self.client, errors: &self.errors }, table, rows)
    }

    /// Statistics for the planner, frozen rows and a visibility map, so that no later scan writes.
    fn settle_table(&mut self, table: &Table) -> Result<()> {
        self.execute_once(&format!("VACUUM (FREEZE, ANALYZE) {}", table.name)).map(drop)
    }

    fn checkpoint(&mut self) -> Result<bool> {
        match self.execute_once("CHECKPOINT") {
            Ok(_) => Ok(true),
            Err(error) if error.kind == ErrorKind::Permission => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn table_size(&mut self, table: &Table) -> Result<TableSize> {
        let sql = "SELECT pg_relation_size(c.oid), coalesce(pg_relation_size(i.indexrelid), 0) FROM pg_class c \
                   LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary WHERE c.oid = $1::text::regclass";
        let row = self.client.query_one(sql, &[&table.name]).map_err(self.failed())?;
        let bytes = |index| row.try_get::<_, i64>(index).map(|bytes| bytes as u64).map_err(self.failed());
        Ok(TableSize { table_bytes: bytes(0)?, index_bytes: bytes(1)? })
    }

    fn table_misses(&mut self, table: &Table) -> Result<Option<u64>> {
        counters::flush(&mut self.client, &self.errors, self.clock.as_ref(), self.server_version)?;
        counters::table_misses(&mut self.client, &self.errors, table)
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
        Arc::clone(&self.canceller) as Arc<dyn Cancel>
    }
}

impl Sampler for PostgresSession {
    fn sample(&mut self) -> Result<Vec<Reading>> {
        counters::flush(&mut self.client, &self.errors, self.clock.as_ref(), self.server_version)?;
        counters::sample(&mut self.client, &self.errors, self.clock.as_ref(), &self.workspace)
    }

    /// Writes of the log. Waits are not counted by session.
    fn views(&mut self) -> Result<Views> {
        counters::flush(&mut self.client, &self.errors, self.clock.as_ref(), self.server_version)?;
        let files = counters::files(&mut self.client, &self.errors, self.server_version)?;
        Ok(Views { files, ..Views::default() })
    }
}

impl PostgresSession {
    /// Runs a query and hands over its rows until somebody has enough.
    fn stream(
        &mut self,
        sql: &str,
        parameters: &[Value<'_>],
        types: &[ColumnType],
        each: &mut dyn FnMut(&mut Row) -> Result<()>,
    ) -> std::result::Result<(), Stop> {
        let rows = if parameters.is_empty() {
            self.client.query_typed_raw(sql, std::iter::empty::<(&(dyn ToSql + Sync), Type)>())
        } else {
            let statement = self.prepared(sql).map_err(Stop::Server)?;
            self.client.query_raw(&statement, parameters.iter().map(|value| Parameter(*value)))
        };
        let rows = rows.map_err(|error| Stop::Server(self.errors.running(&error)))?;
        hand_over(rows, types, each, &self.errors)
    }

    /// A statement without parameters, in one round trip and without being prepared.
    fn execute_once(&mut self, sql: &str) -> Result<u64> {
        let messages = self.client.simple_query(sql).map_err(self.failed())?;
        let changed = messages.iter().rev().find_map(|message| match message {
            postgres::SimpleQueryMessage::CommandComplete(rows) => Some(*rows),
            _ => None,
        });
        Ok(changed.unwrap_or(0))
    }
}

/// Who ended a query before its end.
enum Stop {
    Server(Error),
    Receiver(Error),
}

/// Reads rows as they arrive: the driver takes no more from the network than has been handed over.
fn hand_over(
    mut rows: RowIter<'_>,
    types: &[ColumnType],
    each: &mut dyn FnMut(&mut Row) -> Result<()>,
    errors: &Errors,
) -> std::result::Result<(), Stop> {
    let mut row = Row::default();
    while let Some(received) = rows.next().map_err(|error| Stop::Server(errors.running(&error)))? {
        row.clear();
        if received.len() < types.len() {
            return Err(Stop::Receiver(super::error::statement("a query returned fewer columns than were asked for")));
        }
        for (index, kind) in types.iter().enumerate() {
            let raw: Option<Raw<'_>> =
                received.try_get(index).map_err(|error| Stop::Receiver(errors.running(&error)))?;
            wire::decode(*kind, received.columns()[index].type_(), raw.as_ref(), &mut row).map_err(Stop::Receiver)?;
        }
        each(&mut row).map_err(Stop::Receiver)?;
    }
    Ok(())
}

/// Cancels over a connection of its own, protected like the session's.
pub(super) struct PostgresCancel {
    token: CancelToken,
    tls: MakeRustlsConnect,
}

impl PostgresCancel {
    pub(super) fn new(token: CancelToken, tls: MakeRustlsConnect) -> Self {
        Self { token, tls }
    }
}

impl Cancel for PostgresCancel {
    fn cancel(&self) {
        let (token, tls) = (self.token.clone(), self.tls.clone());
        let (sender, receiver) = mpsc::channel();
        let spawned = thread::Builder::new().name("cancel".to_owned()).spawn(move || {
            // A server that can't be reached has nothing to cancel, or will notice by itself that we are gone.
            let _ = token.cancel_query(tls);
            let _ = sender.send(());
        });
        if spawned.is_ok() {
            let _ = receiver.recv_timeout(CANCEL_PATIENCE);
        }
    }
}
