//! Sessions in memory: SQLite's library as the SQL engine, and its SQL.

use std::sync::Arc;

use plimsoll_engine::session::ask_for;
use plimsoll_engine::value::RowSummary;
use plimsoll_engine::{
    Answer, Cancel, ColumnType, Dialect, Error, ErrorKind, Requester, Result, Row, RowSource, Sampler, Session,
    Statement, Table, TableSize, Value,
};
use rusqlite::types::{Null, ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, Connection, ErrorCode, InterruptHandle, ToSql};

/// The class of what SQLite says, in one sentence.
pub fn failed(error: rusqlite::Error) -> Error {
    let (code, message) = match error {
        rusqlite::Error::SqliteFailure(failure, message) => (Some(failure.code), message),
        rusqlite::Error::SqlInputError { error, msg, .. } => (Some(error.code), Some(msg)),
        other => (None, Some(other.to_string())),
    };
    let kind = match code {
        Some(ErrorCode::OperationInterrupted) => ErrorKind::Cancelled,
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => ErrorKind::Busy,
        _ => ErrorKind::Statement,
    };
    Error::new(kind, message.unwrap_or_else(|| "it failed".to_owned()))
}

struct MemoryDialect;

impl Dialect for MemoryDialect {
    fn type_name(&self, kind: ColumnType) -> String {
        match kind {
            ColumnType::Float => "REAL",
            ColumnType::Text(_) => "TEXT",
            _ => "INTEGER",
        }
        .to_owned()
    }

    fn placeholder(&self, number: usize) -> String {
        format!("?{number}")
    }

    fn money_literal(&self, units: i64) -> String {
        units.to_string()
    }

    fn begin(&self, writes: bool) -> &'static str {
        if writes { "BEGIN IMMEDIATE" } else { "BEGIN" }
    }

    fn sample_column(&self, table: &str, column: &str, _seed: u64) -> String {
        format!("SELECT CAST({column} AS TEXT), typeof({column}) FROM {table} WHERE {column} IS NOT NULL")
    }
}

/// A value on its way in.
struct Stored<'a>(Value<'a>);

impl ToSql for Stored<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self.0 {
            Value::Null => ToSqlOutput::from(Null),
            Value::Bit(bit) => bit.into(),
            Value::TinyInt(number) => number.into(),
            Value::SmallInt(number) => number.into(),
            Value::Int(number) => number.into(),
            Value::BigInt(number) | Value::Money(number) | Value::DateTime(number) => number.into(),
            Value::Float(number) => number.into(),
            Value::Text(text) => text.into(),
        })
    }
}

/// A value on its way out, as the type that was asked for.
fn read(stored: ValueRef<'_>, kind: ColumnType) -> Result<Value<'_>> {
    let value = match (stored, kind) {
        (ValueRef::Null, _) => Some(Value::Null),
        (ValueRef::Real(number), ColumnType::Float) => Some(Value::Float(number)),
        (ValueRef::Text(text), ColumnType::Text(_)) => std::str::from_utf8(text).ok().map(Value::Text),
        (ValueRef::Integer(number), ColumnType::Bit) => Some(Value::Bit(number != 0)),
        (ValueRef::Integer(number), ColumnType::TinyInt) => number.try_into().ok().map(Value::TinyInt),
        (ValueRef::Integer(number), ColumnType::SmallInt) => number.try_into().ok().map(Value::SmallInt),
        (ValueRef::Integer(number), ColumnType::Int) => number.try_into().ok().map(Value::Int),
        (ValueRef::Integer(number), ColumnType::BigInt) => Some(Value::BigInt(number)),
        (ValueRef::Integer(number), ColumnType::Money) => Some(Value::Money(number)),
        (ValueRef::Integer(number), ColumnType::DateTime) => Some(Value::DateTime(number)),
        _ => None,
    };
    value.ok_or_else(|| Error::new(ErrorKind::Statement, format!("a value is no {kind:?}")))
}

/// A session; a writer waits for another one as long as the library does.
pub struct MemorySession(pub Connection);

impl MemorySession {
    fn prepare(&self, sql: &str, parameters: &[Value<'_>]) -> Result<CachedStatement<'_>> {
        let mut statement = self.0.prepare_cached(sql).map_err(failed)?;
        if statement.parameter_count() != parameters.len() {
            let message = format!("the statement has {} parameters", statement.parameter_count());
            return Err(Error::new(ErrorKind::Statement, message));
        }
        for (number, value) in (1..).zip(parameters) {
            statement.raw_bind_parameter(number, Stored(*value)).map_err(failed)?;
        }
        Ok(statement)
    }

    fn insert_all(&mut self, table: &Table, rows: &mut dyn RowSource) -> Result<RowSummary> {
        let insert = MemoryDialect.insert_row(table);
        let (mut row_summary, mut row) = (RowSummary::default(), Row::default());
        while rows.next(&mut row)? {
            if row.len() != table.columns.len() {
                return Err(Error::new(ErrorKind::Internal, "the row is not the table's"));
            }
            let values: Vec<Value<'_>> = row.values().collect();
            self.execute(&insert, &values)?;
            row_summary.add(&mut row);
            row.clear();
        }
        Ok(row_summary)
    }
}

impl Sampler for MemorySession {}

impl Requester for MemorySession {
    fn ask(&mut self, statement: &Statement, parameters: &[Value<'_>]) -> Result<Answer> {
        ask_for(self, statement, parameters)
    }

    fn load_batch(&mut self, table: &Table, rows: &mut dyn RowSource) -> Result<RowSummary> {
        self.load(table, rows)
    }

    fn canceller(&self) -> Arc<dyn Cancel> {
        Arc::new(Canceller(self.0.get_interrupt_handle()))
    }
}

impl Session for MemorySession {
    fn dialect(&self) -> &'static dyn Dialect {
        &MemoryDialect
    }

    fn execute(&mut self, sql: &str, parameters: &[Value<'_>]) -> Result<u64> {
        let before = self.0.total_changes();
        self.prepare(sql, parameters)?.raw_execute().map_err(failed)?;
        Ok(self.0.total_changes() - before)
    }

    fn query(
        &mut self,
        sql: &str,
        parameters: &[Value<'_>],
        types: &[ColumnType],
        each: &mut dyn FnMut(&mut Row) -> Result<()>,
    ) -> Result<()> {
        let mut statement = self.prepare(sql, parameters)?;
        if statement.column_count() != types.len() {
            return Err(Error::new(ErrorKind::Statement, "the query has another number of columns"));
        }
        let (mut rows, mut row) = (statement.raw_query(), Row::default());
        while let Some(stored) = rows.next().map_err(failed)? {
            row.clear();
            for (index, kind) in types.iter().enumerate() {
                row.push(read(stored.get_ref(index).map_err(failed)?, *kind)?);
            }
            each(&mut row)?;
        }
        Ok(())
    }

    fn check(&mut self, sql: &str) -> Result<()> {
        self.0.prepare(sql).map(drop).map_err(failed)
    }

    fn load(&mut self, table: &Table, rows: &mut dyn RowSource) -> Result<RowSummary> {
        self.execute("BEGIN IMMEDIATE", &[])?;
        let loaded = self.insert_all(table, rows);
        self.execute(if loaded.is_ok() { "COMMIT" } else { "ROLLBACK" }, &[])?;
        loaded
    }

    fn settle_table(&mut self, _: &Table) -> Result<()> {
        Ok(())
    }

    fn checkpoint(&mut self) -> Result<bool> {
        Ok(true)
    }

    fn table_size(&mut self, table: &Table) -> Result<Option<TableSize>> {
        let sql = "SELECT sum(pgsize) FROM dbstat WHERE name = ?1 HAVING count(*) > 0";
        let bytes = self.0.query_row(sql, [&table.name], |row| row.get::<_, i64>(0));
        Ok(Some(TableSize { table_bytes: bytes.map_err(failed)? as u64, index_bytes: 0 }))
    }
}

struct Canceller(InterruptHandle);

impl Cancel for Canceller {
    fn cancel(&self) {
        self.0.interrupt();
    }
}
