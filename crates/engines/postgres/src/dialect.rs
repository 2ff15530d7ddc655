//! PostgreSQL's SQL, as far as it differs.

use plimsoll_engine::{ColumnType, Dialect, MOST_SAMPLED, Table};

#[derive(Debug)]
pub(super) struct PostgresDialect;

impl Dialect for PostgresDialect {
    fn insert_in_loop(&self, table: &Table, rows: u64) -> Option<String> {
        let table = self.table(&table.name);
        Some(format!(
            "DO $loop$ BEGIN FOR number IN 1..{rows} LOOP INSERT INTO {table} VALUES (1); COMMIT; END LOOP; END $loop$"
        ))
    }

    fn type_name(&self, kind: ColumnType) -> String {
        match kind {
            ColumnType::Bit => "boolean".to_owned(),
            // The smallest integer there is.
            ColumnType::TinyInt | ColumnType::SmallInt => "smallint".to_owned(),
            ColumnType::Int => "integer".to_owned(),
            ColumnType::BigInt => "bigint".to_owned(),
            ColumnType::Float => "double precision".to_owned(),
            // The type named money depends on the server's locale and has two decimals.
            ColumnType::Money => "numeric(19,4)".to_owned(),
            ColumnType::DateTime => "timestamp(3)".to_owned(),
            ColumnType::Text(length) => format!("varchar({})", length.max(1)),
        }
    }

    /// Not of tables that somebody has made its heirs.
    fn rows_of(&self, table: &Table) -> String {
        format!("ONLY {}", self.table(&table.name))
    }

    fn placeholder(&self, number: usize) -> String {
        format!("${number}")
    }

    fn cast_to_bigint(&self, place: &str) -> String {
        format!("{place}::bigint")
    }

    fn without_parallelism(&self) -> Option<&'static str> {
        Some("SET max_parallel_workers_per_gather = 0")
    }

    /// Whole pages are chosen: as many as hold some tens of thousands of rows, by the planner's statistics.
    fn sample_column(&self, table: &str, column: &str, seed: u64) -> String {
        format!(
            "SELECT {column}::text, pg_typeof({column})::text FROM {table} \
             TABLESAMPLE SYSTEM ((SELECT least(100, 5e6 / greatest(reltuples, 1)) FROM pg_class \
             WHERE oid = '{table}'::regclass)) REPEATABLE ({}) WHERE {column} IS NOT NULL LIMIT {MOST_SAMPLED}",
            seed % 1_000_000
        )
    }

    /// Full pages, and no autovacuum that would start in the middle of a test: [`settle_table`] does its work before.
    ///
    /// [`settle_table`]: plimsoll_engine::Session::settle_table
    fn table_options(&self) -> &'static str {
        " WITH (fillfactor = 100, autovacuum_enabled = false, toast.autovacuum_enabled = false)"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_has_four_decimals() {
        let literals = [1_230_000, -1, 0, i64::MIN].map(|units| PostgresDialect.money_literal(units));
        assert_eq!(literals, ["123.0000", "-0.0001", "0.0000", "-922337203685477.5808"]);
    }
}
