//! A working session, and one that makes requests.

use std::collections::HashSet;
use std::collections::hash_map::{Entry, HashMap};
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use plimsoll_clock::Clock;
use plimsoll_engine::{
    Answer, Cancel, ColumnType, Dialect, Error, ErrorKind, Plan, RequestAccess, Requester, Result, Row, RowSource,
    RowSummary, Sampler, Session, SingleRow, Statement, Table, TableSize, Value, Workspace,
};
use plimsoll_measurement::{Reading, Views};

use super::abilities::{Abilities, Ability};
use super::connect::Connector;
use super::control::Control;
use super::counters;
use super::dialect::{self, CALL, MssqlDialect};
use super::inserts;
use super::plan;
use super::qualify::{self, KnownTables, OwnObjects};
use super::sql;
use super::wire::{Fault, Loading, Outcome, Wire};
use plimsoll_engine::server::place::WORK;

/// Errors of a check that say nothing of the statement: its parameters can't be told without running it. What is wrong with it
/// has a number of its own beside them.
const BEYOND_A_CHECK: RangeInclusive<u32> = 11_501..=11_530;

/// What the names of our procedures begin with.
const OURS: &str = "[plimsoll_";

/// A connection with statements that work in one place.
pub(super) struct MssqlSession {
    control: Control,
    canceller: Arc<dyn Cancel>,
    clock: Arc<dyn Clock>,
    workspace: Workspace,
    access: RequestAccess,
    dialect: &'static MssqlDialect,
    known: KnownTables,
    /// What else is there, for all sessions of the target.
    made: Arc<Mutex<OwnObjects>>,
    /// Texts with the place in them, by the texts they were made from.
    qualified: HashMap<String, String>,
    /// The same by the numbers of requests.
    requests: Vec<Option<String>>,
    abilities: Abilities,
    loads: (u32, Option<bool>),
    measures_loads: Arc<AtomicBool>,
}

impl MssqlSession {
    /// Connects under the name of the run, so that it ends when the run's lease is gone.
    pub(super) fn open(
        connector: &Connector,
        workspace: &Workspace,
        run: &Workspace,
        access: RequestAccess,
        abilities: Abilities,
    ) -> Result<Self> {
        let wire = connector.connect(&format!("{WORK}{run}"))?;
        let canceller = wire.canceller();
        let mut session = Self {
            control: Control::on(wire, connector),
            canceller,
            clock: Arc::clone(&connector.clock),
            workspace: workspace.clone(),
            access,
            dialect: dialect::of(abilities.has(Ability::PreferParallelPlans)),
            known: KnownTables::All,
            made: Arc::clone(&connector.made),
            qualified: HashMap::new(),
            requests: Vec::new(),
            abilities,
            loads: connector.loads,
            measures_loads: Arc::clone(&connector.measures_loads),
        };
        session.control.set(sql::SETTINGS.sql())?;
        if access.existing {
            session.learn_tables()?;
        }
        Ok(session)
    }

    /// Which tables are in the place, where others may be reached as well.
    fn learn_tables(&mut self) -> Result<()> {
        let tables = self.control.names(sql::TABLES, &[Value::Text(self.workspace.name())])?;
        self.known = KnownTables::These(tables.iter().map(|table| table.to_lowercase()).collect::<HashSet<_>>());
        self.qualified.clear();
        self.requests.clear();
        Ok(())
    }

    fn on_wire<T>(&mut self, work: impl FnOnce(&mut dyn Wire) -> Outcome<T>) -> Result<T> {
        let outcome = work(self.control.wire.as_mut());
        self.control.done(outcome)
    }

    /// The text as it is sent: names of our tables get their place.
    fn placed(&mut self, sql: &str) -> Result<String> {
        if self.access.read_only()
            && let Some(word) = qualify::first_write_keyword(sql)
        {
            return Err(Error::new(
                ErrorKind::Safety,
                format!("a statement with {word} is not sent, as this session may only read"),
            )
            .hint("say 'writes = true' in the definition and give --allow-writes if it is to change your tables"));
        }
        // Only our procedures have such names, and all of them are in the place.
        if let Some(call) = sql.strip_prefix(CALL).filter(|call| call.starts_with(OURS)) {
            return Ok(format!("{CALL}{}.{call}", sql::quoted(self.workspace.name())));
        }
        // A deadlock has ended the transaction already, and there is none to be rolled back.
        if sql.trim().eq_ignore_ascii_case("ROLLBACK") {
            return Ok(sql::ROLLBACK.sql().to_owned());
        }
        Ok(match self.qualified.entry(sql.to_owned()) {
            Entry::Occupied(known) => known.get().clone(),
            Entry::Vacant(new) => new
                .insert({
                    let made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
                    let text = qualify::qualify(sql, self.workspace.name(), &self.known, &made);
                    super::pieces::with_counts(&text).unwrap_or(text)
                })
                .clone(),
        })
    }

    fn name(&self, table: &Table) -> String {
        sql::in_schema(self.workspace.name(), &table.name)
    }

    fn load_with(&mut self, table: &Table, usual: Loading, rows: &mut dyn RowSource) -> Result<RowSummary> {
        let loading = Loading { table_lock: self.loads.1.unwrap_or(usual.table_lock), ..usual };
        let name = self.name(table);
        if !self.abilities.has(Ability::LoadInBulk) {
            return self.on_wire(|wire| inserts::load(wire, &name, table, rows));
        }
        self.on_wire(|wire| wire.load(&name, loading, rows))
    }

    /// Runs a text, and looks again which tables there are if it made or removed some.
    fn change(&mut self, sql: &str, parameters: &[Value<'_>]) -> Result<u64> {
        let makes = qualify::changes_tables(sql);
        if makes {
            // What a text makes it may also use.
            self.made.lock().unwrap_or_else(PoisonError::into_inner).by(sql);
            self.qualified.clear();
        }
        let text = self.placed(sql)?;
        let changed = self.control.patiently(|wire| wire.query(&text, parameters, &[], &mut |_| Ok(())))?;
        if self.access.existing && makes {
            self.learn_tables()?;
        }
        Ok(changed)
    }
}

impl Session for MssqlSession {
    fn dialect(&self) -> &'static dyn Dialect {
        self.dialect
    }

    fn execute(&mut self, sql: &str, parameters: &[Value<'_>]) -> Result<u64> {
        self.change(sql, parameters)
    }

    fn query(
        &mut self,
        sql: &str,
        parameters: &[Value<'_>],
        types: &[ColumnType],
        each: &mut dyn FnMut(&mut Row) -> Result<()>,
    ) -> Result<()> {
        let text = self.placed(sql)?;
        self.on_wire(|wire| wire.query(&text, parameters, types, each)).map(drop)
    }

    /// The server states the parameters that a text leaves open, and for that it reads the text against its tables.
    fn check(&mut self, sql: &str) -> Result<()> {
        let text = self.placed(sql)?;
        let Err(fault) = self.control.wire.rows(sql::CHECK.sql(), &[Value::Text(&text)], &[]) else { return Ok(()) };
        let is_beyond_it = match &fault {
            Fault::Server(server_errors) => {
                server_errors.iter().all(|server_error| BEYOND_A_CHECK.contains(&server_error.number))
            }
            _ => false,
        };
        match self.control.met(fault) {
            // A server that can't check has nothing against it.
            error if error.kind == ErrorKind::Unsupported => Ok(()),
            error if error.kind == ErrorKind::Statement && is_beyond_it => Ok(()),
            error => Err(error),
        }
    }

    fn make_procedures(&mut self, table: &Table) -> Result<bool> {
        if !self.abilities.has(Ability::MakeProcedures) {
            return Ok(false);
        }
        for request in SingleRow::ALL {
            let (workspace, procedure) = (self.workspace.name(), request.procedure(table));
            let body = qualify::qualify(
                &self.dialect.single_row(request, table),
                workspace,
                &KnownTables::All,
                &OwnObjects::default(),
            );
            let name = sql::in_schema(workspace, &procedure);
            let words = [("workspace", workspace), ("procedure", procedure.as_str())];
            self.control.run_filled(sql::DROP_PROCEDURE, &words)?;
            self.control.run(&self.dialect.create_procedure(request, table, &name, &body))?;
        }
        Ok(true)
    }

    /// With a lock of the table, so that the server may log less; in one transaction unless the target asks for batches.
    fn load(&mut self, table: &Table, rows: &mut dyn RowSource) -> Result<RowSummary> {
        self.load_with(table, Loading { table_lock: true, batch_rows: self.loads.0 }, rows)
    }

    fn settle_table(&mut self, table: &Table) -> Result<()> {
        let words = [("workspace", self.workspace.name()), ("table", table.name.as_str())];
        match self.control.run_filled(sql::SETTLE, &words) {
            Err(error) if matches!(error.kind, ErrorKind::Lost | ErrorKind::Cancelled | ErrorKind::Busy) => Err(error),
            // A server without that statement looks after its statistics by itself.
            _ => Ok(()),
        }
    }

    fn checkpoint(&mut self) -> Result<bool> {
        match self.control.run(sql::CHECKPOINT.sql()) {
            Ok(_) => Ok(true),
            // Not everybody may, and not every server has it.
            Err(error) if matches!(error.kind, ErrorKind::Lost | ErrorKind::Cancelled) => Err(error),
            Err(_) => Ok(false),
        }
    }

    fn table_size(&mut self, table: &Table) -> Result<Option<TableSize>> {
        let name = self.name(table);
        if !self.abilities.has(Ability::SeeSizes) {
            let there = self.control.number(sql::TABLE_IS_THERE, &[Value::Text(&name)])?;
            return there.map(|_| None).ok_or_else(|| no_size(&name));
        }
        let rows = self.control.rows(sql::TABLE_SIZE, &[Value::Text(&name)])?;
        match rows.first().map(|row| (row.get(0), row.get(1))) {
            Some((Value::BigInt(table), Value::BigInt(index))) => {
                Ok(Some(TableSize { table_bytes: table as u64, index_bytes: index as u64 }))
            }
            _ => Err(no_size(&name)),
        }
    }

    fn plan(&mut self, sql: &str) -> Result<Option<Plan>> {
        let text = self.placed(sql)?;
        plan::of(&mut self.control, &text, self.abilities)
    }

    fn table_misses(&mut self, table: &Table) -> Result<Option<u64>> {
        let name = self.name(table);
        counters::table_misses(&mut self.control, &name, self.abilities)
    }
}

fn no_size(name: &str) -> Error {
    Error::new(ErrorKind::Statement, format!("there is no table {name}, or its size is not to be seen"))
}

impl Sampler for MssqlSession {
    fn sample(&mut self) -> Result<Vec<Reading>> {
        counters::sample(&mut self.control, self.clock.as_ref(), self.abilities)
    }

    fn sample_memory(&mut self) -> Result<Option<Reading>> {
        counters::sample_memory(&mut self.control, self.clock.as_ref(), self.abilities)
    }

    fn views(&mut self) -> Result<Views> {
        counters::views(&mut self.control, self.clock.as_ref(), self.abilities)
    }
}

impl Requester for MssqlSession {
    fn ask(&mut self, statement: &Statement, parameters: &[Value<'_>]) -> Result<Answer> {
        let number = statement.number as usize;
        if self.requests.len() <= number {
            self.requests.resize_with(number + 1, || None);
        }
        let text = match self.requests[number].take() {
            Some(text) => text,
            None => self.placed(&statement.sql)?,
        };
        let answer = self.on_wire(|wire| wire.ask(&text, parameters, statement.columns.as_deref()));
        self.requests[number] = Some(text);
        answer
    }

    /// Beside other sessions, so without a lock of the table.
    fn load_batch(&mut self, table: &Table, rows: &mut dyn RowSource) -> Result<RowSummary> {
        self.measures_loads.store(true, Ordering::Relaxed);
        self.load_with(table, Loading { table_lock: false, batch_rows: 0 }, rows)
    }

    fn canceller(&self) -> Arc<dyn Cancel> {
        Arc::clone(&self.canceller)
    }
}
