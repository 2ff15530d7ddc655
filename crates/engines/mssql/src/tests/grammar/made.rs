//! Statements that the program makes: of all tables of the tests, and of tables whose names and columns are as bad as a server
//! lets them be.

use plimsoll_bench::definition::Definition;
use plimsoll_bench::schema::{Width, cpu, family};
use plimsoll_bench::workload::custom::text;
use plimsoll_engine::{ColumnType, Dialect as _, Result, Row, RowSource, SingleRow, Table, Value};
use plimsoll_testbed::grammar::reserved_words;

use super::super::scripted::{Said, Script};
use crate::dialect::{self, MssqlDialect};
use crate::inserts;
use crate::qualify::{KnownTables, OwnObjects, qualify};

/// That of a server that knows every hint.
pub const DIALECT: &MssqlDialect = dialect::of(true);
const TYPES: [ColumnType; 9] = [
    ColumnType::Int,
    ColumnType::Bit,
    ColumnType::TinyInt,
    ColumnType::SmallInt,
    ColumnType::BigInt,
    ColumnType::Float,
    ColumnType::Money,
    ColumnType::DateTime,
    ColumnType::Text(120),
];
const LENGTHS: [u16; 10] = [0, 1, 40, 120, 310, 4000, 4001, 8000, 8001, u16::MAX];
/// Names that mean something else without their signs.
const NAMES: [&str; 20] = [
    "a b", "a]b", "]", "[", "[a]", "a\"b", "it's", "''", "größe", "名前", "🗄", "1a", "a-b", "a.b", "a,b", "@x", "--",
    "/*", ";", "#",
];
const EXAMPLES: [(&str, &str); 3] = [
    ("pgbench-select", include_str!("../../../../../../examples/pgbench-select.toml")),
    ("pgbench-tpcb", include_str!("../../../../../../examples/pgbench-tpcb.toml")),
    ("sysbench-point-select", include_str!("../../../../../../examples/sysbench-point-select.toml")),
];

/// All of them.
pub fn statements() -> Vec<String> {
    let mut texts = Vec::new();
    for table in tables() {
        texts.extend(of_table(&table));
    }
    for table in ["cpu", "t0"] {
        texts.extend([DIALECT.join(table)].into_iter().chain(DIALECT.join_in_parallel(table)).map(placed));
    }
    for width in [Width::Seeds, Width::Wide] {
        let table = family("t0", width);
        for (column, seed) in table.columns.iter().zip(0..) {
            texts.extend([DIALECT.read_range(&table, &column.name)].map(placed));
            texts.extend([DIALECT.sample_column(&table.name, &column.name, seed * 77_777_777)].map(placed));
        }
        for times in [1, 7, 100] {
            texts.push(placed(DIALECT.copy_chunk(&table, "source", 2_500, times, u64::from(u32::MAX))));
        }
        for keys in [1, 2, 64] {
            texts.push(placed(DIALECT.lookup_keys(&table, keys)));
        }
        for weak in [false, true] {
            texts.push(placed(DIALECT.scan(&table.name, weak)));
        }
    }
    let commits = Table::new("commits", &[("Number", ColumnType::Int)]);
    texts.extend([DIALECT.create_table(&commits), DIALECT.insert_row(&commits)].map(placed));
    texts.extend(DIALECT.insert_in_loop(&commits, 5_000).map(placed));
    for units in [0, 1, -1, 9_999, i64::MAX, i64::MIN] {
        texts.push(format!("SELECT {}", DIALECT.money_literal(units)));
    }
    texts.extend(loads());
    texts
}

/// The tables of the tests, and others: each name as that of a table and of its columns, among columns of all types.
fn tables() -> Vec<Table> {
    let mut tables = vec![
        cpu("cpu"),
        Table::new("plimsoll_manifest", &[("Number", ColumnType::Int), ("RowCount", ColumnType::BigInt)]),
    ];
    for width in [Width::Seeds, Width::Wide] {
        tables.extend(["t0", "t1", "source", "##plimsoll"].map(|name| family(name, width)));
    }
    for length in LENGTHS {
        tables.push(Table::new(
            format!("texts_{length}"),
            &[("RowId", ColumnType::Int), ("a", ColumnType::Text(length))],
        ));
    }
    let words = reserved_words();
    let long = "x".repeat(120);
    let names = words.iter().map(String::as_str).chain(NAMES).chain([long.as_str()]);
    for (name, first) in names.zip(0..) {
        let column =
            |number: usize| (format!("{name}{}", ["", "2", " 3"][number]), TYPES[(first + number) % TYPES.len()]);
        let columns: Vec<(String, ColumnType)> = (0..3).map(column).collect();
        let columns: Vec<(&str, ColumnType)> = columns.iter().map(|(name, kind)| (name.as_str(), *kind)).collect();
        tables.push(Table::new(name, &columns));
    }
    tables
}

/// A text as it is sent.
fn placed(sql: impl AsRef<str>) -> String {
    qualify(sql.as_ref(), "plimsoll_run_x", &KnownTables::All, &OwnObjects::default())
}

/// Everything that is made of one table, as it is sent.
pub fn of_table(table: &Table) -> Vec<String> {
    let dialect = DIALECT;
    let last = &table.columns[table.columns.len() - 1].name;
    let mut texts = vec![
        dialect.create_table(table),
        dialect.drop_table(table),
        dialect.count_rows(table),
        dialect.read_all(table),
        dialect.read_range(table, last),
        dialect.read_rows(table),
        dialect.lookup_keys(table, 3),
        dialect.copy_chunk(table, "source", 1000, 2, 5001),
        dialect.scan(&table.name, true),
        dialect.sample_column("t0", &format!("[{}]", last.replace(']', "]]")), 7),
    ];
    texts.extend(dialect.sample_long_column("t0", &format!("[{}]", last.replace(']', "]]")), 7));
    for request in SingleRow::ALL {
        texts.push(dialect.single_row(request, table));
        texts.extend(dialect.call(request, table));
    }
    let mut texts: Vec<String> = texts.into_iter().map(placed).collect();
    for request in SingleRow::ALL {
        let body = placed(dialect.single_row(request, table));
        texts.push(dialect.create_procedure(request, table, "[plimsoll_run_x].[plimsoll_read_t]", &body));
    }
    texts
}

/// Values of all types at their ends, a few hundred rows of them.
struct Extremes(usize);

impl RowSource for Extremes {
    fn next(&mut self, row: &mut Row) -> Result<bool> {
        let turn = self.0;
        self.0 += 1;
        let float = [0.0, -0.0, 0.1, f64::MAX, f64::MIN, f64::MIN_POSITIVE, 5e-324][turn % 7];
        // The years 1 and 9999.
        let moment = [0, -1, 999, -62_135_596_800_000, 253_402_300_799_999][turn % 5];
        let text = ["", "'", "it's", "''", "--", "/*", "ä", "名前 🗄", "[]", "\n", "%_\\"][turn % 11];
        row.push(Value::Int([0, -1, i32::MAX, i32::MIN][turn % 4]));
        row.push([Value::Null, Value::Bit(false), Value::Bit(true)][turn % 3]);
        row.push(Value::TinyInt([0, u8::MAX][turn % 2]));
        row.push(Value::SmallInt([0, i16::MAX, i16::MIN][turn % 3]));
        row.push(Value::BigInt([0, i64::MAX, i64::MIN][turn % 3]));
        row.push(Value::Float(float));
        row.push(Value::Money([0, -1, 1, i64::MAX, i64::MIN][turn % 5]));
        row.push(Value::DateTime(moment));
        row.push(Value::Text(text));
        Ok(turn < 450)
    }
}

/// The texts by which rows are loaded where the bulk protocol is not to be had.
fn loads() -> Vec<String> {
    let columns: Vec<(String, ColumnType)> =
        TYPES.iter().zip(NAMES).map(|(kind, name)| (name.to_owned(), *kind)).collect();
    let columns: Vec<(&str, ColumnType)> = columns.iter().map(|(name, kind)| (name.as_str(), *kind)).collect();
    let script = Script::default().on("", [Said::Rows(Vec::new())]);
    let table = Table::new("t", &columns);
    inserts::load(&mut script.clone(), "[plimsoll_run_x].[t]", &table, &mut Extremes(0)).unwrap();
    script.asked()
}

/// The statements of the examples that name no engine, as they are sent.
pub fn examples() -> Vec<String> {
    let mut texts = Vec::new();
    for (name, toml) in EXAMPLES {
        let own = Definition::parse(name, toml).unwrap().own.unwrap();
        let asked = own.requests.iter().flat_map(|request| &request.statements);
        for asked in asked {
            let sql = asked.text.for_engine("SQL Server", None).unwrap();
            let (sql, _) = text::placed(sql, false, |number| DIALECT.placeholder(number));
            texts.push(placed(text::filled(&sql, 1, &own.variables)));
        }
    }
    assert!(texts.len() > 5, "{texts:?}");
    texts
}
