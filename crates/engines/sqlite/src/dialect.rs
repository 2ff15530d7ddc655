//! SQLite's SQL.

use plimsoll_engine::{ColumnType, Dialect, MOST_SAMPLED, Table};

/// SQLite's SQL. It stores whole numbers in as many bytes as they need, whatever the column says.
///
/// The source of a chunked write is a temporary table, and temporary tables are held in memory. A large `INSERT ...
/// SELECT` would drive everything clean out of SQLite's small page cache, the source first. Then an ordinary table
/// would be read again and again while it is copied.
#[derive(Debug, Clone, Copy, Default)]
pub struct SqliteDialect;

impl Dialect for SqliteDialect {
    fn type_name(&self, kind: ColumnType) -> String {
        match kind {
            ColumnType::Bit
            | ColumnType::TinyInt
            | ColumnType::SmallInt
            | ColumnType::Int
            | ColumnType::BigInt
            | ColumnType::Money
            | ColumnType::DateTime => "INTEGER",
            ColumnType::Float => "REAL",
            ColumnType::Text(_) => "TEXT",
        }
        .to_owned()
    }

    fn placeholder(&self, number: usize) -> String {
        format!("?{number}")
    }

    fn money_literal(&self, units: i64) -> String {
        units.to_string()
    }

    /// The key is SQLite's row id itself (`INTEGER PRIMARY KEY`): the table's tree is ordered by it and there is no index. The comment,
    /// which SQLite keeps, marks the table as ours.
    fn create_table(&self, table: &Table) -> String {
        let (key, columns) = match table.columns.split_first() {
            Some((key, rest)) if !table.is_heap => (Some(key), rest),
            _ => (None, &table.columns[..]),
        };
        // Such a key is the number by which SQLite stores the row.
        let key = key.map(|key| format!("{} INTEGER PRIMARY KEY NOT NULL", key.name));
        let null = if table.is_heap { "NULL" } else { "NOT NULL" };
        let columns = columns.iter().map(|column| format!("{} {} {null}", column.name, self.type_name(column.kind)));
        let columns: Vec<String> = key.into_iter().chain(columns).collect();
        let name = table.name.strip_prefix("temp.").unwrap_or(&table.name);
        format!("CREATE TABLE {} (/* plimsoll: table {name} */ {})", table.name, columns.join(", "))
    }

    /// A transaction that reads first would find, when it comes to write, that another has written meanwhile.
    fn begin(&self, writes: bool) -> &'static str {
        if writes { "BEGIN IMMEDIATE" } else { "BEGIN" }
    }

    fn sample_column(&self, table: &str, column: &str, _seed: u64) -> String {
        format!(
            "SELECT CAST({column} AS TEXT), typeof({column}) FROM {table} WHERE {column} IS NOT NULL LIMIT {MOST_SAMPLED}"
        )
    }

    fn source_table(&self, name: &str) -> String {
        format!("temp.{name}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_the_row_id() {
        let table =
            Table::new("t", &[("RowId", ColumnType::Int), ("F", ColumnType::Float), ("T", ColumnType::Text(9))]);
        assert_eq!(
            SqliteDialect.create_table(&table),
            "CREATE TABLE t (/* plimsoll: table t */ RowId INTEGER PRIMARY KEY NOT NULL, F REAL NOT NULL, T TEXT NOT NULL)"
        );
        assert_eq!(SqliteDialect.money_literal(-12_345), "-12345");
    }
}
