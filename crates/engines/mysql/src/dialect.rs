//! The SQL of MySQL and MariaDB, as far as it differs.

use plimsoll_engine::{ColumnType, Dialect, MOST_SAMPLED, SingleRow, Table, mark};

use super::contents::PROCEDURE;
use super::product::Product;
use super::statements::{quoted, text};

#[derive(Debug)]
pub(super) struct MySqlDialect(Product);

pub(super) fn of(product: Product) -> &'static MySqlDialect {
    static MARIADB: MySqlDialect = MySqlDialect(Product::MariaDb);
    static MYSQL: MySqlDialect = MySqlDialect(Product::MySql);
    match product {
        Product::MariaDb => &MARIADB,
        Product::MySql => &MYSQL,
    }
}

/// What calls of procedures begin with.
pub(super) const CALL: &str = "CALL ";

impl MySqlDialect {
    /// Makes a table with its mark.
    pub(super) fn create_marked(&self, table: &Table, mark: &str) -> String {
        format!("{} COMMENT = '{mark}'", self.create_table(table))
    }

    /// Makes the procedure for a request, with its mark: its parameters stand where the request's text has places for them.
    pub(super) fn create_procedure(&self, request: SingleRow, table: &Table, place: &str) -> String {
        let parameter = |(kind, number): (ColumnType, usize)| format!("IN parameter{number} {}", self.type_name(kind));
        let parameters: Vec<String> = request.parameters(table).into_iter().zip(1..).map(parameter).collect();
        let text = self.single_row(request, table);
        let pieces: Vec<&str> = text.split('?').collect();
        let named = pieces[1..].iter().zip(1..).map(|(piece, number)| format!("parameter{number}{piece}"));
        let body: String = std::iter::once(pieces[0].to_owned()).chain(named).collect();
        let (name, parameters) = (request.procedure(table), parameters.join(", "));
        let mark = mark::of_part(PROCEDURE, &name, place);
        format!("CREATE PROCEDURE {} ({parameters}) COMMENT '{mark}' {body}", quoted(&name))
    }
}

/// Names of types as other engines have them, where a sample's values are numbers.
const TYPES: [(&str, &str); 6] = [
    ("bigint", "bigint"),
    ("int", "integer"),
    ("mediumint", "integer"),
    ("smallint", "smallint"),
    ("tinyint", "smallint"),
    ("double", "double precision"),
];

impl Dialect for MySqlDialect {
    /// Each statement of a block is a transaction of its own while the session commits by itself. MySQL has blocks in procedures only.
    fn insert_in_loop(&self, table: &Table, rows: u64) -> Option<String> {
        let table = self.table(&table.name);
        (self.0 == Product::MariaDb).then(|| {
            format!("BEGIN NOT ATOMIC FOR number IN 1 .. {rows} DO INSERT INTO {table} VALUES (1); END FOR; END")
        })
    }

    fn type_name(&self, kind: ColumnType) -> String {
        match kind {
            ColumnType::Bit => "boolean".to_owned(),
            ColumnType::TinyInt => "tinyint unsigned".to_owned(),
            ColumnType::SmallInt => "smallint".to_owned(),
            ColumnType::Int => "int".to_owned(),
            ColumnType::BigInt => "bigint".to_owned(),
            ColumnType::Float => "double".to_owned(),
            ColumnType::Money => "decimal(19,4)".to_owned(),
            ColumnType::DateTime => "datetime(3)".to_owned(),
            // A byte for a character, so that wide rows stay within what a row may have.
            ColumnType::Text(length) => format!("varchar({}) CHARACTER SET ascii COLLATE ascii_bin", length.max(1)),
        }
    }

    fn placeholder(&self, _: usize) -> String {
        "?".to_owned()
    }

    fn is_positional(&self) -> bool {
        true
    }

    /// `Int1` is a word for a type.
    fn column(&self, name: &str) -> String {
        quoted(name)
    }

    fn table(&self, name: &str) -> String {
        quoted(name)
    }

    fn without_parallelism(&self) -> Option<&'static str> {
        Some(self.0.text("nested loop"))
    }

    fn weak_isolation(&self) -> Option<&'static str> {
        Some(text("weak isolation"))
    }

    /// Statistics are kept with the table and not renewed in the middle of a test: [`settle_table`] does that before.
    ///
    /// [`settle_table`]: plimsoll_engine::Session::settle_table
    fn table_options(&self) -> &'static str {
        " ENGINE = InnoDB, ROW_FORMAT = DYNAMIC, STATS_PERSISTENT = 1, STATS_AUTO_RECALC = 0"
    }

    fn call(&self, request: SingleRow, table: &Table) -> Option<String> {
        let placeholders = vec!["?"; request.parameters(table).len()].join(", ");
        Some(format!("{CALL}{} ({placeholders})", quoted(&request.procedure(table))))
    }

    /// A union would be written to a temporary table first. A list of offsets is joined with the source instead: by a nested
    /// loop, so that the source is read once for each and keys rise.
    fn copy_chunk(&self, target: &Table, source: &str, source_rows: u64, times: u64, first_key: u64) -> String {
        let (others, key) = (self.columns(&target.columns[1..]), self.column(target.key()));
        let offsets: Vec<String> =
            (0..times).map(|part| format!("SELECT {} AS `shift`", first_key - 1 + part * source_rows)).collect();
        format!(
            "{} INTO {} ({key}, {others}) SELECT {key} + `shift`, {others} FROM ({}) AS `shifts` STRAIGHT_JOIN {}",
            self.0.insert_by_nested_loop(),
            quoted(&target.name),
            offsets.join(" UNION ALL "),
            quoted(source)
        )
    }

    fn cross_join(&self) -> &'static str {
        "STRAIGHT_JOIN"
    }

    /// The first rows in the order of their keys; the server chooses no others without reading all.
    fn sample_column(&self, table: &str, column: &str, _: u64) -> String {
        let (schema, name) = table.split_once('.').map_or_else(
            || ("DATABASE()".to_owned(), table),
            |(schema, name)| (format!("'{}'", schema.trim_matches('`')), name),
        );
        let cases: Vec<String> = TYPES.iter().map(|(ours, theirs)| format!("WHEN '{ours}' THEN '{theirs}'")).collect();
        format!(
            "SELECT CAST({quoted} AS CHAR), (SELECT CASE DATA_TYPE {} ELSE DATA_TYPE END FROM information_schema.COLUMNS \
             WHERE TABLE_SCHEMA = {schema} AND TABLE_NAME = '{}' AND COLUMN_NAME = '{}') \
             FROM {table} WHERE {quoted} IS NOT NULL LIMIT {MOST_SAMPLED}",
            cases.join(" "),
            name.trim_matches('`'),
            column.trim_matches('`'),
            quoted = quoted(column.trim_matches('`'))
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_is_a_join_with_offsets() {
        let table = Table::new("t", &[("RowId", ColumnType::Int), ("A", ColumnType::Bit)]);
        assert_eq!(
            of(Product::MariaDb).copy_chunk(&table, "s", 10, 2, 1),
            "SET STATEMENT join_cache_level = 0 FOR INSERT INTO `t` (`RowId`, `A`) SELECT `RowId` + `shift`, `A` \
             FROM (SELECT 0 AS `shift` UNION ALL SELECT 10 AS `shift`) AS `shifts` STRAIGHT_JOIN `s`"
        );
        assert!(of(Product::MySql).copy_chunk(&table, "s", 10, 2, 1).starts_with("INSERT /*+ SET_VAR("));
    }

    #[test]
    fn money_has_four_decimals() {
        let literals = [1_230_000, -1, 0].map(|units| of(Product::MySql).money_literal(units));
        assert_eq!(literals, ["123.0000", "-0.0001", "0.0000"]);
    }
}
