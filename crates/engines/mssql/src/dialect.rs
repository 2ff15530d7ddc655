//! SQL Server's SQL, as far as it differs.

use plimsoll_engine::{ColumnType, Dialect, MOST_SAMPLED, SingleRow, Table, decimal, dialect::columns_of};

use super::pieces::{Piece, pieces};
use super::sql::quoted;

/// The SQL of SQL Server. Tables are named without a schema; a session puts its place in front ([`super::qualify`]).
#[derive(Debug)]
pub(super) struct MssqlDialect {
    /// True for a server that knows the hint for parallel plans.
    prefers_parallel: bool,
}

/// The dialect of a server that knows the hint for parallel plans, or does not.
pub(super) const fn of(prefers_parallel: bool) -> &'static MssqlDialect {
    if prefers_parallel { &MssqlDialect { prefers_parallel: true } } else { &MssqlDialect { prefers_parallel: false } }
}

/// Money as a text that is cast: the smallest one has no literal, as its sign is not part of one.
pub(super) fn money(units: i64) -> String {
    format!("CAST('{}' AS money)", decimal(units))
}

/// What calls of procedures begin with.
pub(super) const CALL: &str = "EXEC ";

impl MssqlDialect {
    /// What a statement that inserts rows begins with; the table's name is as it is to stand.
    pub(super) fn insert_start(&self, name: &str, table: &Table) -> String {
        format!("INSERT INTO {name} ({}) VALUES ", self.columns(&table.columns))
    }

    /// Makes the procedure for a request; both names are as they are to stand, the body has its tables' names with the place.
    pub(super) fn create_procedure(&self, request: SingleRow, table: &Table, name: &str, body: &str) -> String {
        let parameter = |(kind, number): (ColumnType, usize)| format!("@P{number} {}", self.type_name(kind));
        let parameters: Vec<String> = request.parameters(table).into_iter().zip(1..).map(parameter).collect();
        format!("CREATE PROCEDURE {name} {} AS {body}", parameters.join(", "))
    }
}

/// Rows that a sample of a column looks at, where it need not be all.
const SAMPLED: u32 = 50_000;

fn loop_join(table: &str) -> String {
    const COLUMNS: &str = "[RowId], [Int1], [Int2], [Int3], [Int4], [Int5]";
    let table = quoted(table);
    format!(
        "SELECT COUNT_BIG(*) FROM (SELECT TOP (@P2 - @P1 + 1) {COLUMNS} FROM {table} \
         WHERE [RowId] >= @P1 ORDER BY [RowId]) t1 \
         INNER LOOP JOIN (SELECT TOP (@P3) {COLUMNS} FROM {table} ORDER BY [RowId]) t2 \
         ON abs(((t1.[Int1] * t2.[Int2]) + t1.[Int3]) - ((t2.[Int1] * t1.[Int2]) + t2.[Int4])) < 17 \
         AND abs(((t1.[Int5] % 5) * (t1.[Int5] % 5) * (t1.[Int5] % 5)) - (t2.[Int5] % 25)) < 7"
    )
}

/// A name that a user has written, perhaps with its schema in front and in signs of its own: what stands without signs gets some.
fn quoted_by_parts(name: &str) -> String {
    let part = |piece: Piece<'_>| match piece {
        Piece::Word(word) if !word.starts_with(['[', '"']) => quoted(word),
        piece => piece.text().to_owned(),
    };
    pieces(name).into_iter().map(part).collect()
}

impl Dialect for MssqlDialect {
    /// Outside of a transaction each statement is one. Rows are not counted to the client meanwhile.
    fn insert_in_loop(&self, table: &Table, rows: u64) -> Option<String> {
        let table = self.table(&table.name);
        Some(format!(
            "SET NOCOUNT ON; DECLARE @number bigint = 0; WHILE @number < {rows} BEGIN INSERT INTO {table} VALUES (1); \
             SET @number = @number + 1; END; SET NOCOUNT OFF"
        ))
    }

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

    /// `RowCount` is a reserved word, and others may be in a user's table.
    fn column(&self, name: &str) -> String {
        quoted(name)
    }

    fn table(&self, name: &str) -> String {
        quoted(name)
    }

    fn money_literal(&self, units: i64) -> String {
        money(units)
    }

    fn begin(&self, _: bool) -> &'static str {
        "BEGIN TRANSACTION"
    }

    /// The rows lie in the order of the key: a clustered primary key, and no other index.
    fn create_table(&self, table: &Table) -> String {
        let primary = format!("PRIMARY KEY CLUSTERED ({})", quoted(table.key()));
        let columns = columns_of(table, |column| (quoted(&column.name), self.type_name(column.kind)), primary);
        format!("CREATE TABLE {} ({columns})", quoted(&table.name))
    }

    fn call(&self, request: SingleRow, table: &Table) -> Option<String> {
        let placeholders: Vec<String> =
            (1..=request.parameters(table).len()).map(|number| self.placeholder(number)).collect();
        Some(format!("{CALL}{} {}", quoted(&request.procedure(table)), placeholders.join(", ")))
    }

    /// As the seeds did (reference, 2.2 to 2.6).
    fn prefers_procedures(&self) -> bool {
        true
    }

    /// The weakest isolation is a hint of the table: rows are read without locks, and pages in the order of their allocation.
    fn scan(&self, table: &str, weak: bool) -> String {
        let hint = if weak { " WITH (NOLOCK)" } else { "" };
        format!(
            "SELECT COUNT_BIG(*) FROM {}{hint} WHERE [Bit1] IS NOT NULL AND [TinyInt1] BETWEEN 10 AND 240 \
             AND [Int3] BETWEEN 100000 AND 2000000000 AND [Money2] BETWEEN {} AND {}",
            quoted(table),
            self.money_literal(0),
            self.money_literal(10_000_000 * 10_000),
        )
    }

    /// As the seeds did it: the first rows by `TOP ... ORDER BY`, and a loop join that is forced. On one CPU, for ladders that give
    /// each session a part of the outer rows, as on every engine.
    fn join(&self, table: &str) -> String {
        format!("{} OPTION (FORCE ORDER, MAXDOP 1)", loop_join(table))
    }

    /// The hint has the server take a parallel plan whatever it costs, as the seeds' was. Where there is none, sessions share the join.
    fn join_in_parallel(&self, table: &str) -> Option<String> {
        self.prefers_parallel
            .then(|| format!("{} OPTION (FORCE ORDER, USE HINT ('ENABLE_PARALLEL_PLAN_PREFERENCE'))", loop_join(table)))
    }

    /// Whole pages are chosen by the server, some tens of thousands of rows of them.
    fn sample_column(&self, table: &str, column: &str, seed: u64) -> String {
        let (table, column) = (quoted_by_parts(table), quoted_by_parts(column));
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

    /// Large objects and XML, which no variant can hold.
    fn sample_long_column(&self, table: &str, column: &str, seed: u64) -> Option<String> {
        let (table, column, seed) = (quoted_by_parts(table), quoted_by_parts(column), seed % 1_000_000 + 1);
        Some(format!(
            "SELECT TOP ({MOST_SAMPLED}) CONVERT(nvarchar(4000), CONVERT(nvarchar(max), {column})), N'nvarchar' \
             FROM {table} TABLESAMPLE SYSTEM ({SAMPLED} ROWS) REPEATABLE ({seed}) WHERE {column} IS NOT NULL"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_users_keep_their_parts_and_their_signs() {
        for (name, expected) in
            [("t", "[t]"), ("dbo.Order", "[dbo].[Order]"), ("[my shop].\"Key\"", "[my shop].\"Key\""), ("#t", "#t")]
        {
            assert_eq!(quoted_by_parts(name), expected);
        }
    }

    #[test]
    fn money_is_a_text_that_is_cast() {
        let literals = [1_230_000, -1, 0, i64::MIN].map(|units| of(true).money_literal(units));
        let expected = ["123.0000", "-0.0001", "0.0000", "-922337203685477.5808"];
        assert_eq!(literals, expected.map(|text| format!("CAST('{text}' AS money)")));
    }
}
