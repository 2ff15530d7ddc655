//! Tables and rows that the behaviours are shown with.

use std::fmt::Write as _;

use plimsoll_engine::value::RowSummary;
use plimsoll_engine::{ColumnType, Error, Result, Row, RowSource, Session, Table, Value};

/// Rows of a list, then perhaps an error.
pub struct List<'a> {
    rows: std::slice::Iter<'a, Vec<Value<'a>>>,
    end: Option<Error>,
}

impl<'a> List<'a> {
    pub fn new(rows: &'a [Vec<Value<'a>>]) -> Self {
        Self { rows: rows.iter(), end: None }
    }

    pub fn failing(rows: &'a [Vec<Value<'a>>], end: Error) -> Self {
        Self { rows: rows.iter(), end: Some(end) }
    }
}

impl RowSource for List<'_> {
    fn next(&mut self, row: &mut Row) -> Result<bool> {
        match self.rows.next() {
            Some(values) => {
                for value in values {
                    row.push(*value);
                }
                Ok(true)
            }
            None => self.end.take().map_or(Ok(false), Err),
        }
    }
}

/// Rows with dense keys and a text that makes them 200 bytes long or so.
pub struct Dense {
    next: i32,
    last: i32,
}

impl Dense {
    pub fn new(first: i32, last: i32) -> Self {
        Self { next: first, last }
    }
}

impl RowSource for Dense {
    fn next(&mut self, row: &mut Row) -> Result<bool> {
        if self.next > self.last {
            return Ok(false);
        }
        row.push(Value::Int(self.next));
        row.push(Value::Money(i64::from(self.next) * 10_007 - 5));
        row.push_text(|text| {
            for part in 0..12 {
                let _ = write!(text, "{:014}", i64::from(self.next) * (part + 7919));
            }
        });
        self.next += 1;
        Ok(true)
    }
}

/// The table of [`Dense`].
pub fn dense() -> Table {
    let columns = [("RowId", ColumnType::Int), ("Money1", ColumnType::Money), ("Text1", ColumnType::Text(200))];
    Table::new("dense", &columns)
}

/// A table with a column of every type.
pub fn everything() -> Table {
    let columns = [
        ("RowId", ColumnType::Int),
        ("Bit1", ColumnType::Bit),
        ("TinyInt1", ColumnType::TinyInt),
        ("SmallInt1", ColumnType::SmallInt),
        ("BigInt1", ColumnType::BigInt),
        ("Float1", ColumnType::Float),
        ("Money1", ColumnType::Money),
        ("DateTime1", ColumnType::DateTime),
        ("Text1", ColumnType::Text(20)),
    ];
    Table::new("everything", &columns)
}

/// What a query returns.
pub fn read(session: &mut dyn Session, sql: &str, parameters: &[Value<'_>], types: &[ColumnType]) -> RowSummary {
    let mut row_summary = RowSummary::default();
    let mut each = |row: &mut Row| {
        row_summary.add(row);
        Ok(())
    };
    session.query(sql, parameters, types, &mut each).unwrap();
    row_summary
}

/// All rows of a table.
pub fn read_table(session: &mut dyn Session, table: &Table) -> RowSummary {
    let sql = session.dialect().read_all(table);
    read(session, &sql, &[], &table.types())
}

/// How many rows a table has.
pub fn count(session: &mut dyn Session, table: &Table) -> u64 {
    session.query_count(&format!("SELECT count(*) FROM {}", table.name), &[]).unwrap()
}

/// What rows come to before anybody has seen them.
pub fn row_summary(source: &mut dyn RowSource) -> RowSummary {
    let (mut row_summary, mut row) = (RowSummary::default(), Row::default());
    while source.next(&mut row).unwrap() {
        row_summary.add(&mut row);
        row.clear();
    }
    row_summary
}
