//! The statements of the catalogue, each held against its own description and against the documented shapes of system views; and
//! what the dialect makes, as golden files.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_engine::{ColumnType, Dialect, Entry, SingleRow, Table};
use toml::Table as Toml;

use crate::dialect;
use crate::sql::{Product, STATEMENTS, TEXTS};

const SHAPES: &str = include_str!("../../data/mssql-views.toml");
/// The editions, with what a view's products call them, and the major version of those that have one.
const EDITIONS: [(&str, &str, i64); 7] = [
    ("2016", "server", 13),
    ("2017", "server", 14),
    ("2019", "server", 15),
    ("2022", "server", 16),
    ("2025", "server", 17),
    ("azure-sql-database", "database", i64::MAX),
    ("managed-instance", "instance", i64::MAX),
];
/// Words that may follow a view without being its alias.
const NO_ALIAS: &[&str] = &["ON", "WHERE", "ORDER", "GROUP", "CROSS", "JOIN", "LEFT"];

struct View {
    products: BTreeSet<String>,
    columns: BTreeMap<String, i64>,
}

fn shapes() -> BTreeMap<String, View> {
    let table: Toml = SHAPES.parse().unwrap();
    let view = |(name, shape): (String, toml::Value)| {
        let shape = shape.as_table().unwrap();
        for key in ["permission", "source"] {
            assert!(!shape[key].as_str().unwrap().is_empty(), "{name} has no {key}");
        }
        let since = shape["since"].as_integer().unwrap();
        let products = shape["products"].as_array().unwrap().iter().map(|product| product.as_str().unwrap().to_owned());
        let column = |column: &toml::Value| {
            let column = column.as_table().unwrap();
            assert!(!column["type"].as_str().unwrap().is_empty());
            let since = column.get("since").map_or(since, |since| since.as_integer().unwrap());
            (column["name"].as_str().unwrap().to_owned(), since)
        };
        let columns = shape["columns"].as_array().unwrap().iter().map(column).collect();
        (name, View { products: products.collect(), columns })
    };
    table.into_iter().map(view).collect()
}

/// Words, and signs by themselves; texts in quotes are left out.
fn words(sql: &str) -> Vec<String> {
    let mut words: Vec<String> = vec![String::new()];
    for (index, part) in sql.split('\'').enumerate() {
        if index % 2 == 1 {
            continue;
        }
        for c in part.chars() {
            if c.is_alphanumeric() || "_.@#".contains(c) {
                words.last_mut().unwrap().push(c);
            } else {
                words.push(c.to_string());
                words.push(String::new());
            }
        }
        words.push(String::new());
    }
    words.retain(|word| !word.trim().is_empty());
    words
}

/// What a text has against the shapes, where it is for these editions; for all of them where none is named.
fn offences(sql: &str, editions: &[&str], shapes: &BTreeMap<String, View>) -> Vec<String> {
    let of_text = |(edition, ..): &&(&str, &str, i64)| editions.is_empty() || editions.contains(edition);
    let editions: Vec<_> = EDITIONS.iter().filter(of_text).collect();
    let mut found = Vec::new();
    let words = words(sql);
    let mut aliases = BTreeMap::new();
    for (at, word) in words.iter().enumerate().filter(|(_, word)| word.starts_with("sys.")) {
        if words[at.saturating_sub(1)].eq_ignore_ascii_case("EXEC") || words[at.saturating_sub(1)] == "=" {
            continue;
        }
        let Some(view) = shapes.get(word) else {
            found.push(format!("{word} has no shape"));
            continue;
        };
        let lacking = editions.iter().filter(|(_, product, _)| !view.products.contains(*product));
        found.extend(lacking.map(|(edition, ..)| format!("{word} is not on {edition}")));
        // A function has parameters before its alias.
        let mut next = at + 1;
        if words.get(next).is_some_and(|word| word == "(") {
            let mut depth = 0;
            loop {
                match words[next].as_str() {
                    "(" => depth += 1,
                    ")" => depth -= 1,
                    _ => {}
                }
                next += 1;
                if depth == 0 {
                    break;
                }
            }
        }
        match words.get(next) {
            Some(alias) if alias.len() == 1 && !NO_ALIAS.contains(&alias.as_str()) => {
                aliases.insert(alias.clone(), word.clone());
            }
            _ => found.push(format!("{word} has no alias")),
        }
    }
    for word in &words {
        let Some((alias, column)) = word.split_once('.') else { continue };
        let Some(view) = aliases.get(alias) else { continue };
        let Some(since) = shapes[view].columns.get(column) else {
            found.push(format!("{view} has no column {column}"));
            continue;
        };
        let older = editions.iter().filter(|(.., version)| version < since);
        found.extend(older.map(|(edition, ..)| format!("{view}.{column} is not on {edition}")));
    }
    // A word that is a column's name and stands alone could not be told from another's.
    let columns: BTreeSet<&String> = aliases.values().flat_map(|view| shapes[view].columns.keys()).collect();
    let bare = words.iter().filter(|word| columns.contains(word) && word.contains('_'));
    found.extend(bare.map(|word| format!("the column {word} stands without its view")));
    found
}

fn example(entry: &Entry) -> String {
    STATEMENTS.example(entry, &[]).unwrap_or_else(|gap| panic!("'{}' has no example for {gap}", entry.name))
}

#[test]
fn every_column_of_a_system_view_is_a_documented_one() {
    let shapes = shapes();
    let mut used = BTreeSet::new();
    for entry in STATEMENTS.entries() {
        let (sql, editions) = (example(entry), entry.editions.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(offences(&sql, &editions, &shapes), Vec::<String>::new(), "{}: {sql}", entry.name);
        used.extend(words(&sql).into_iter().filter(|word| shapes.contains_key(word)));
    }
    // No shape that nobody uses.
    assert_eq!(used, shapes.keys().cloned().collect());
}

#[test]
fn what_is_not_documented_is_found() {
    let mut shapes = shapes();
    shapes.get_mut("sys.dm_exec_sessions").unwrap().columns.insert("page_server_reads".to_owned(), 16);
    for (sql, expected) in [
        ("SELECT s.no_such FROM sys.dm_exec_sessions s", "sys.dm_exec_sessions has no column no_such"),
        (
            "SELECT s.page_server_reads FROM sys.dm_exec_sessions s",
            "sys.dm_exec_sessions.page_server_reads is not on 2019",
        ),
        ("SELECT o.edition FROM sys.database_service_objectives o", "sys.database_service_objectives is not on 2019"),
        ("SELECT n.a FROM sys.nowhere n", "sys.nowhere has no shape"),
        ("SELECT cpu_time FROM sys.dm_exec_sessions s", "the column cpu_time stands without its view"),
        ("SELECT 1 FROM sys.dm_exec_sessions", "sys.dm_exec_sessions has no alias"),
    ] {
        assert_eq!(offences(sql, &["2019", "azure-sql-database"], &shapes), [expected], "{sql}");
        assert!(!offences(sql, &[], &shapes).is_empty(), "{sql}");
    }
}

/// What is said of a statement is said in full, and there is a constant for each.
#[test]
fn a_statement_is_what_its_entry_says() {
    let mut known: Vec<&str> = TEXTS.iter().map(|text| text.name()).collect();
    let mut named: Vec<&str> = STATEMENTS.entries().iter().map(|entry| entry.name.as_str()).collect();
    for names in [&mut known, &mut named] {
        names.sort_unstable();
    }
    assert_eq!(known, named);
    for entry in STATEMENTS.entries() {
        let (name, sql) = (&entry.name, example(entry));
        assert!(!sql.contains("--") && sql.starts_with(char::is_alphabetic) && !sql.ends_with(';'), "{name}");
        assert!(!entry.purpose.is_empty() && !entry.purpose.ends_with('.'), "{name}");
        assert!(!entry.source.is_empty() && !entry.source.contains([':', ' ']), "{name}: {}", entry.source);
        assert!(entry.permission.as_ref().is_none_or(|permission| !permission.is_empty()), "{name}");
        let editions: BTreeSet<&String> = entry.editions.iter().collect();
        assert_eq!(editions.len(), entry.editions.len(), "{name}");
        assert!(editions.iter().all(|edition| EDITIONS.iter().any(|(known, ..)| known == edition)), "{name}");
        let has = |number: usize| words(&sql).contains(&format!("@P{number}"));
        assert!((1..=entry.values.len()).all(has) && !has(entry.values.len() + 1), "the values of {name}");
        for gap in entry.example.keys() {
            let forms = [format!("{{{gap}}}"), format!("{{[{gap}]}}"), format!("{{'{gap}'}}")];
            assert!(forms.iter().any(|form| entry.sql.contains(form)), "{name} has no gap {gap}");
        }
    }
}

/// The parts of a list, at commas outside of parentheses and texts, up to the word FROM.
fn parts(list: &str) -> Vec<String> {
    let (mut parts, mut depth, mut in_text) = (vec![String::new()], 0, false);
    for (at, c) in list.char_indices() {
        match c {
            '\'' => in_text = !in_text,
            '(' if !in_text => depth += 1,
            ')' if !in_text => depth -= 1,
            ',' if !in_text && depth == 0 => {
                parts.push(String::new());
                continue;
            }
            'F' if !in_text && depth == 0 && list[at..].starts_with("FROM ") => break,
            _ => {}
        }
        parts.last_mut().unwrap().push(c);
    }
    parts.into_iter().map(|part| part.trim().to_owned()).collect()
}

/// The type of a column, where its text says so.
fn stated(part: &str) -> Option<&str> {
    let cast = part.strip_prefix("MAX(").unwrap_or(part);
    match part.split('(').next()? {
        "HAS_PERMS_BY_NAME" | "IS_SRVROLEMEMBER" | "1" => Some("int"),
        "COUNT_BIG" => Some("bigint"),
        "APPLOCK_TEST" => Some("smallint"),
        "CONVERT" => part["CONVERT(".len()..].split(',').next(),
        _ if cast.starts_with("CAST(") => {
            let (_, kind) = cast.rsplit_once(" AS ")?;
            let end = kind.find(')')? + usize::from(kind.contains('('));
            Some(&kind[..end])
        }
        _ => None,
    }
}

/// The driver reads an answer by the types of its entry, so these have to be those of the text.
#[test]
fn an_answer_has_the_columns_of_its_text() {
    let mut typed = 0;
    for entry in STATEMENTS.entries() {
        let (name, sql) = (&entry.name, example(entry));
        // The statement of a text that answers; where others come before, the last one.
        let answers = sql.rsplit("; \n").next().unwrap().rsplit(";\n").next().unwrap().strip_prefix("SELECT ");
        let Some(list) = answers else {
            assert!(entry.answer.is_empty() || sql.contains("EXEC sys."), "{name} answers");
            continue;
        };
        let list = list.strip_prefix("TOP (1) ").or_else(|| list.strip_prefix("DISTINCT ")).unwrap_or(list);
        let parts = parts(list);
        assert_eq!(parts.len(), entry.answer.len(), "{name}: {parts:?}");
        for (part, column) in parts.iter().zip(&entry.answer) {
            if let Some(kind) = stated(part) {
                assert_eq!(kind, column.kind, "{name}: {part}");
                typed += 1;
            }
        }
    }
    assert!(typed > 100, "{typed}");
}

#[test]
fn statements_go_to_the_editions_that_have_them() {
    let text = |name: &str| TEXTS.iter().find(|text| text.name() == name).unwrap();
    for (name, server, database, instance) in [
        ("identity", true, true, true),
        ("permissions", true, false, false),
        ("permissions from 2022 on", true, false, true),
        ("waits of the database", false, true, false),
        ("resource use of an instance", false, false, true),
    ] {
        let sent = [Product::Server, Product::Database, Product::Instance].map(|product| text(name).is_for(product));
        assert_eq!(sent, [server, database, instance], "{name}");
    }
    // Of those that not every release has, the driver chooses one by the server's own.
    let releases = |entry: &Entry| entry.editions.iter().filter(|edition| edition.starts_with("20")).count();
    let some = STATEMENTS.entries().iter().filter(|entry| !matches!(releases(entry), 0 | 5));
    let some: Vec<&str> = some.map(|entry| entry.name.as_str()).collect();
    assert_eq!(some, ["permissions", "permissions from 2022 on"]);
    let edition = |product: Product, major| product.edition(major);
    assert_eq!(edition(Product::Server, Some(16)), Some("2022"));
    assert_eq!(edition(Product::Server, Some(12)), None);
    assert_eq!(edition(Product::Database, Some(12)), Some("azure-sql-database"));
}

#[test]
fn every_statement_of_a_test_is_a_golden_file() {
    use ColumnType::{BigInt, Bit, DateTime, Float, Int, Money, SmallInt, TinyInt};
    let columns = [
        ("RowId", Int),
        ("Bit1", Bit),
        ("TinyInt1", TinyInt),
        ("SmallInt1", SmallInt),
        ("BigInt1", BigInt),
        ("Float1", Float),
        ("Money1", Money),
        ("DateTime1", DateTime),
        ("VarChar1", ColumnType::Text(120)),
        ("VarChar2", ColumnType::Text(9000)),
    ];
    let (table, dialect) = (Table::new("t", &columns), dialect::of(true));
    let statements = [
        ("create table", dialect.create_table(&table)),
        ("drop table", dialect.drop_table(&table)),
        ("count rows", dialect.count_rows(&table)),
        ("scan", dialect.scan("t", false)),
        ("scan weak", dialect.scan("t", true)),
        ("copy chunk", dialect.copy_chunk(&table, "source", 1000, 2, 5001)),
        ("join", dialect.join("cpu")),
        ("join in parallel", dialect.join_in_parallel("cpu").unwrap()),
        ("touch", dialect.lookup_keys(&table, 3)),
        ("sample column", dialect.sample_column("t", "Int1", 7)),
        ("sample long column", dialect.sample_long_column("t", "VarChar2", 7).unwrap()),
        ("insert row", dialect.insert_row(&table)),
        ("update row", dialect.update_row(&table)),
        ("delete row", dialect.delete_row(&table)),
        ("read row", dialect.read_row(&table)),
        ("read range", dialect.read_range(&table, "SmallInt1")),
        ("read rows", dialect.read_rows(&table)),
        ("begin", dialect.begin(true).to_owned()),
    ];
    let file = |name: &str| format!("statement_{}", name.replace(' ', "_"));
    for request in SingleRow::ALL {
        let name = format!("{request:?}").to_lowercase();
        insta::assert_snapshot!(file(&format!("call {name}")), dialect.call(request, &table).unwrap());
        let body = dialect.single_row(request, &table);
        let made = dialect.create_procedure(request, &table, "[p].[plimsoll_read_t]", &body);
        insta::assert_snapshot!(file(&format!("procedure {name}")), made);
    }
    for (name, text) in statements {
        insta::assert_snapshot!(file(name), text);
    }
}
