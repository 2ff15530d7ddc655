//! What statements cost in CPU: steps of SQLite's virtual machine, as its `EXPLAIN` lists them.

use plimsoll_engine::{ColumnType, Table};
use plimsoll_hardware::Spec;

/// Steps for a row that is copied into another table under a new key: to read a column, and to see that it is not NULL.
const STEPS_PER_COLUMN: u64 = 2;

/// Steps to read a column of floats besides: it may be stored as an integer.
const STEPS_PER_FLOAT: u64 = 1;

/// Steps for a row whatever its columns: reading its key and adding to it, handing it over, checking and inserting it.
const STEPS_PER_ROW: u64 = 13;

/// Steps for a row that is inserted from the client. There are steps of the statement whatever the table, and steps for
/// a column to take its value and to see that it is not NULL, which the key's need not.
const STEPS_PER_INSERT: u64 = 12;
const STEPS_PER_VALUE: u64 = 2;

/// Steps for a row of the tests' tables that is read into the client: its key, 24 columns, two of them floats, handing it over
/// and going on.
pub const STEPS_PER_READ_ROW: f64 = 29.0;

pub fn copied_row(table: &Table) -> u64 {
    let others = table.columns.iter().skip(1);
    let floats = others.clone().filter(|column| column.kind == ColumnType::Float).count() as u64;
    STEPS_PER_ROW + STEPS_PER_COLUMN * others.count() as u64 + STEPS_PER_FLOAT * floats
}

/// Steps for a row that is inserted from the client.
pub fn inserted_row(table: &Table) -> u64 {
    STEPS_PER_INSERT + STEPS_PER_VALUE * (table.columns.len() as u64 - 1)
}

/// CPU time of one session, which has one core at most.
pub fn cpu_seconds(spec: &Spec, steps: f64, pages: f64) -> f64 {
    let Some(step_ps) = spec.cpu.step_ps else { return 0.0 };
    (steps * step_ps as f64 + pages * spec.cpu.page_ps as f64) / 1e12 / spec.cpu.cores.min(1.0)
}

/// CPU time of one session for what a statement costs whatever it does.
pub fn statement_seconds(spec: &Spec) -> f64 {
    spec.cpu.statement_ps as f64 / 1e12 / spec.cpu.cores.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::level::{STEPS_PER_PAIR, STEPS_PER_SCANNED_ROW};
    use plimsoll_bench::generate::{Family, Rows};
    use plimsoll_bench::schema::{self, Width};
    use plimsoll_engine::{Dialect as _, Row, Value};
    use plimsoll_sqlite::SqliteDialect;
    use rusqlite::{Connection, StatementStatus};

    /// Plain SQLite in memory with a table of these rows.
    fn filled(table: &Table, rows: &mut Rows) -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(&SqliteDialect.create_table(table)).unwrap();
        connection.execute_batch("BEGIN").unwrap();
        let placeholders = vec!["?"; table.columns.len()].join(", ");
        let mut insert = connection.prepare(&format!("INSERT INTO {} VALUES ({placeholders})", table.name)).unwrap();
        let mut row = Row::default();
        while rows.fill(&mut row) {
            for (index, value) in row.values().enumerate() {
                match value {
                    Value::Null => insert.raw_bind_parameter(index + 1, rusqlite::types::Null),
                    Value::Bit(bit) => insert.raw_bind_parameter(index + 1, bit),
                    Value::TinyInt(integer) => insert.raw_bind_parameter(index + 1, integer),
                    Value::SmallInt(integer) => insert.raw_bind_parameter(index + 1, integer),
                    Value::Int(integer) => insert.raw_bind_parameter(index + 1, integer),
                    Value::BigInt(integer) | Value::Money(integer) | Value::DateTime(integer) => {
                        insert.raw_bind_parameter(index + 1, integer)
                    }
                    Value::Float(float) => insert.raw_bind_parameter(index + 1, float),
                    Value::Text(text) => insert.raw_bind_parameter(index + 1, text),
                }
                .unwrap();
            }
            insert.raw_execute().unwrap();
        }
        drop(insert);
        connection.execute_batch("COMMIT").unwrap();
        connection
    }

    fn steps(connection: &Connection, sql: &str, parameters: &[u64]) -> f64 {
        let mut statement = connection.prepare(sql).unwrap();
        for (index, value) in parameters.iter().enumerate() {
            statement.raw_bind_parameter(index + 1, *value as i64).unwrap();
        }
        if statement.column_count() == 0 {
            statement.raw_execute().unwrap();
        } else {
            let mut rows = statement.raw_query();
            while rows.next().unwrap().is_some() {}
        }
        f64::from(statement.reset_status(StatementStatus::VmStep))
    }

    /// What grows with the square of N: twice the rows less four times those of one.
    #[test]
    fn a_pair_of_rows_takes_the_steps_that_the_lab_counts_on() {
        let connection = filled(&schema::cpu("cpu"), &mut Rows::new(Family::Cpu, 1, 0, 1, 2000));
        let sql = SqliteDialect.join("cpu");
        let [half, whole] = [1000, 2000].map(|rows| steps(&connection, &sql, &[1, rows, rows]));
        let per_pair = (whole - 2.0 * half) / 2e6;
        assert!((per_pair / STEPS_PER_PAIR - 1.0).abs() < 0.0005, "{per_pair}");
        // And the rest is too little to matter from a thousand rows on.
        assert!((half / 1e6 / STEPS_PER_PAIR - 1.0).abs() < 0.001, "{half}");
    }

    #[test]
    fn a_scanned_row_takes_the_steps_that_the_lab_counts_on() {
        for width in [Width::Seeds, Width::Wide] {
            let per_row = |rows: u64| {
                let connection =
                    filled(&schema::family("t", width), &mut Rows::new(Family::Typed(width), 1, 0, 1, rows));
                steps(&connection, &SqliteDialect.scan("t", false), &[]) / rows as f64
            };
            let steps = per_row(20_000);
            assert!((steps / STEPS_PER_SCANNED_ROW - 1.0).abs() < 0.005, "{steps}");
        }
    }

    #[test]
    fn a_row_that_is_read_takes_the_steps_that_the_lab_counts_on() {
        let table = schema::family("t", Width::Seeds);
        let connection = filled(&table, &mut Rows::new(Family::Typed(Width::Seeds), 1, 0, 1, 5000));
        let per_row = steps(&connection, &SqliteDialect.read_all(&table), &[]) / 5000.0;
        assert!((per_row / STEPS_PER_READ_ROW - 1.0).abs() < 0.005, "{per_row}");
    }

    #[test]
    fn an_inserted_row_takes_steps_by_its_columns() {
        for (table, family) in
            [(schema::family("t", Width::Seeds), Family::Typed(Width::Seeds)), (schema::cpu("t"), Family::Cpu)]
        {
            let connection = filled(&table, &mut Rows::new(family, 1, 0, 1, 500));
            let placeholders = vec!["?"; table.columns.len()].join(", ");
            let mut insert = connection.prepare(&format!("INSERT INTO t VALUES ({placeholders})")).unwrap();
            for key in 501..1001 {
                insert.raw_bind_parameter(1, key).unwrap();
                for column in 2..=table.columns.len() {
                    insert.raw_bind_parameter(column, 1).unwrap();
                }
                insert.raw_execute().unwrap();
            }
            let per_row = f64::from(insert.reset_status(StatementStatus::VmStep)) / 500.0;
            assert!((per_row - inserted_row(&table) as f64).abs() < 0.05, "{per_row} {}", inserted_row(&table));
        }
    }

    #[test]
    fn a_copied_row_takes_steps_by_its_columns() {
        for (table, family) in
            [(schema::family("t", Width::Seeds), Family::Typed(Width::Seeds)), (schema::cpu("t"), Family::Cpu)]
        {
            let connection = filled(&table, &mut Rows::new(family, 1, 0, 1, 500));
            let target = table.named("target");
            connection.execute_batch(&SqliteDialect.create_table(&target)).unwrap();
            let sql = |times, first| SqliteDialect.copy_chunk(&target, "t", 500, times, first);
            let (one, two) = (steps(&connection, &sql(1, 1), &[]), steps(&connection, &sql(2, 501), &[]));
            let per_row = (two - one) / 500.0;
            assert!((per_row - copied_row(&table) as f64).abs() < 0.05, "{per_row} {}", copied_row(&table));
        }
    }
}
