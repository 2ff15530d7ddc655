//! SQL Server's SQL, as far as it differs.

use crate::dialect::{Dialect, MOST_SAMPLED};
use crate::table::{Column, ColumnType, Table};

/// The SQL of SQL Server. Tables are named without a schema; a session puts its place in front ([`super::qualify`]).
#[derive(Debug)]
pub(super) struct MssqlDialect;

/// Money as a text that is cast: the smallest one has no literal, as its sign is not part of one.
pub(super) fn money(units: i64) -> String {
    let (sign, units) = (if units < 0 { "-" } else { "" }, units.unsigned_abs());
    format!("CAST('{sign}{}.{:04}' AS money)", units / 10_000, units % 10_000)
}

/// Rows that a sample of a column looks at, where it need not be all.
const SAMPLED: u32 = 50_000;

impl Dialect for MssqlDialect {
    fn type_name(&self, kind: ColumnType) -> String {
        match kind {
            ColumnType::Bit => "bit".to_owned(),
            ColumnType::TinyInt => "tinyint".to_owned(),
            ColumnType::SmallInt => "smallint".to_owned(),
            ColumnType::Int => "int".to_owned(),
            ColumnType::BigInt => "bigint".to_owned(),
            ColumnType::Float => "float(53)".to_owned(),
            ColumnType::Money => "money".to_owned(),
            // The older type counts three-hundredths of a second.
            ColumnType::DateTime => "datetime2(3)".to_owned(),
            // Longer ones would be large objects.
            ColumnType::Text(length @ 0..=8000) => format!("varchar({})", length.max(1)),
            ColumnType::Text(_) => "varchar(max)".to_owned(),
        }
    }

    fn placeholder(&self, number: usize) -> String {
        format!("@P{number}")
    }

    fn money_literal(&self, units: i64) -> String {
        money(units)
    }

    fn begin(&self, _: bool) -> &'static str {
        "BEGIN TRANSACTION"
    }

    /// The rows lie in the order of the key: a clustered primary key, and no other index.
    fn create_table(&self, table: &Table) -> String {
        let column = |column: &Column| format!("{} {} NOT NULL", column.name, self.type_name(column.kind));
        let mut columns: Vec<String> = table.columns.iter().map(column).collect();
        columns.push(format!("PRIMARY KEY CLUSTERED ({})", table.key()));
        format!("CREATE TABLE {} ({})", table.name, columns.join(", "))
    }

    /// The weakest isolation is a hint of the table: rows are read without locks, and pages in the order of their allocation.
    fn scan(&self, table: &str, weak: bool) -> String {
        let hint = if weak { " WITH (NOLOCK)" } else { "" };
        format!(
            "SELECT COUNT_BIG(*) FROM {table}{hint} WHERE Bit1 IS NOT NULL AND TinyInt1 BETWEEN 10 AND 240 \
             AND Int3 BETWEEN 100000 AND 2000000000 AND Money2 BETWEEN {} AND {}",
            self.money_literal(0),
            self.money_literal(10_000_000 * 10_000),
        )
    }

    /// As the seeds did it: the first rows by `TOP ... ORDER BY`, and a loop join that is forced. On one CPU: the ladder gives
    /// each session a part of the outer rows, as on every engine.
    fn join(&self, table: &str) -> String {
        format!(
            "SELECT COUNT_BIG(*) FROM (SELECT TOP (@P2 - @P1 + 1) RowId, Int1, Int2, Int3, Int4, Int5 FROM {table} \
             WHERE RowId >= @P1 ORDER BY RowId) t1 \
             INNER LOOP JOIN (SELECT TOP (@P3) RowId, Int1, Int2, Int3, Int4, Int5 FROM {table} ORDER BY RowId) t2 \
             ON abs(((t1.Int1 * t2.Int2) + t1.Int3) - ((t2.Int1 * t1.Int2) + t2.Int4)) < 17 \
             AND abs(((t1.Int5 % 5) * (t1.Int5 % 5) * (t1.Int5 % 5)) - (t2.Int5 % 25)) < 7 \
             OPTION (FORCE ORDER, MAXDOP 1)"
        )
    }

    /// Whole pages are chosen by the server, some tens of thousands of rows of them.
    fn sample_column(&self, table: &str, column: &str, seed: u64) -> String {
        // REPEATABLE takes a number above zero.
        let seed = seed % 1_000_000 + 1;
        // Without a style some types lose digits, and dates are written in the session's language.
        format!(
            "SELECT TOP ({MOST_SAMPLED}) CONVERT(nvarchar(4000), {column}, CASE WHEN [plimsoll kind].[plimsoll name] IN ('float', 'real') THEN 3 \
             WHEN [plimsoll kind].[plimsoll name] IN ('money', 'smallmoney') THEN 2 \
             WHEN [plimsoll kind].[plimsoll name] IN ('date', 'time', 'datetime', 'smalldatetime', 'datetime2', 'datetimeoffset') THEN 126 \
             ELSE 0 END), [plimsoll kind].[plimsoll name] \
             FROM {table} TABLESAMPLE SYSTEM ({SAMPLED} ROWS) REPEATABLE ({seed}) CROSS APPLY (SELECT \
             CAST(SQL_VARIANT_PROPERTY(CAST({column} AS sql_variant), 'BaseType') AS nvarchar(128)) AS [plimsoll name]) AS [plimsoll kind] \
             WHERE {column} IS NOT NULL"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_is_a_text_that_is_cast() {
        let literals = [1_230_000, -1, 0, i64::MIN].map(|units| MssqlDialect.money_literal(units));
        let expected = ["123.0000", "-0.0001", "0.0000", "-922337203685477.5808"];
        assert_eq!(literals, expected.map(|text| format!("CAST('{text}' AS money)")));
    }
}
