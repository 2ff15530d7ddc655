//! Every text as a golden file, and every column of a system view in it held against the documented shapes.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_engine::{ColumnType, Dialect, SingleRow, Table};
use toml::Table as Toml;

use crate::dialect::MssqlDialect;
use crate::sql::{self, Level, Product, TEXTS, Text};

const SHAPES: &str = include_str!("../../data/mssql-views.toml");
/// The oldest version that the driver is for: 2016.
const OLDEST: i64 = 13;
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

const fn product_name(product: Product) -> &'static str {
    match product {
        Product::Server => "server",
        Product::Database => "database",
        Product::Instance => "instance",
    }
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

/// What a text has against the shapes.
fn offences(text: &Text, shapes: &BTreeMap<String, View>) -> Vec<String> {
    let mut found = Vec::new();
    let words = words(text.sql);
    let mut aliases = BTreeMap::new();
    for (at, word) in words.iter().enumerate().filter(|(_, word)| word.starts_with("sys.")) {
        if words[at.saturating_sub(1)].eq_ignore_ascii_case("EXEC") || words[at.saturating_sub(1)] == "=" {
            continue;
        }
        let Some(view) = shapes.get(word) else {
            found.push(format!("{word} has no shape"));
            continue;
        };
        for product in text.products.iter().map(|product| product_name(*product)) {
            if !view.products.contains(product) {
                found.push(format!("{word} is not on {product}"));
            }
        }
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
        match shapes[view].columns.get(column) {
            None => found.push(format!("{view} has no column {column}")),
            Some(since) if *since > OLDEST => found.push(format!("{view}.{column} is there from {since} on")),
            Some(_) => {}
        }
    }
    // A word that is a column's name and stands alone could not be told from another's.
    let columns: BTreeSet<&String> = aliases.values().flat_map(|view| shapes[view].columns.keys()).collect();
    let bare = words.iter().filter(|word| columns.contains(word) && word.contains('_'));
    found.extend(bare.map(|word| format!("the column {word} stands without its view")));
    found
}

#[test]
fn every_column_of_a_system_view_is_a_documented_one() {
    let shapes = shapes();
    let mut used = BTreeSet::new();
    for text in TEXTS {
        assert_eq!(offences(text, &shapes), Vec::<String>::new(), "{}: {}", text.name, text.sql);
        used.extend(words(text.sql).into_iter().filter(|word| shapes.contains_key(word)));
    }
    // No shape that nobody uses.
    assert_eq!(used, shapes.keys().cloned().collect());
}

#[test]
fn what_is_not_documented_is_found() {
    let shapes = shapes();
    let text = |sql, products| Text { name: "planted", products, sql };
    let all: &[Product] = &[Product::Server, Product::Database];
    for (sql, expected) in [
        ("SELECT s.no_such FROM sys.dm_exec_sessions s", "sys.dm_exec_sessions has no column no_such"),
        ("SELECT o.edition FROM sys.database_service_objectives o", "sys.database_service_objectives is not on server"),
        ("SELECT n.a FROM sys.nowhere n", "sys.nowhere has no shape"),
        ("SELECT cpu_time FROM sys.dm_exec_sessions s", "the column cpu_time stands without its view"),
        ("SELECT 1 FROM sys.dm_exec_sessions", "sys.dm_exec_sessions has no alias"),
    ] {
        assert_eq!(offences(&text(sql, all), &shapes), [expected], "{sql}");
    }
}

/// The name of a golden file.
fn file(group: &str, name: &str) -> String {
    format!("{group}_{}", name.replace(' ', "_"))
}

#[test]
fn every_text_is_a_golden_file() {
    let names: BTreeSet<&str> = TEXTS.iter().map(|text| text.name).collect();
    assert_eq!(names.len(), TEXTS.len());
    // Those that are always the same are a file themselves, with nothing in it that is not sent.
    let named: Vec<&str> = sql::FILE.lines().filter_map(|line| line.strip_prefix("--- ")).skip(1).collect();
    assert_eq!(named, TEXTS.iter().map(|text| text.name).collect::<Vec<_>>());
    assert!(TEXTS.iter().all(|text| !text.sql.contains("--") && text.sql.starts_with(char::is_alphabetic)));
    let own = |edition: &str, objective: &str| Level::Own {
        edition: edition.to_owned(),
        objective: objective.to_owned(),
        max_bytes: Some(250 << 30),
    };
    let made = [
        ("create a place", sql::create_workspace("plimsoll_run_x")),
        ("mark a place", sql::mark("plimsoll_run_x")),
        ("take a lease alone", sql::take_lock("plimsoll lease plimsoll_run_x", false, 0)),
        ("take a lease with others", sql::take_lock("plimsoll lease plimsoll_run_x", true, 0)),
        ("give a lease back", sql::give_lock_back("plimsoll lease plimsoll_run_x")),
        ("drop tables", sql::drop_objects("TABLE", "plimsoll_run_x", &["a".to_owned(), "b]c".to_owned()])),
        ("drop procedures", sql::drop_objects("PROCEDURE", "plimsoll_run_x", &["plimsoll_read_t".to_owned()])),
        ("drop a procedure", sql::drop_procedure("[plimsoll_run_x].[plimsoll_read_t]")),
        ("create a database", sql::create_database("plimsoll_copy_xa", "o'clock")),
        ("back up a database", sql::back_up("plimsoll_copy_xa")),
        ("restore a database", sql::restore("plimsoll_copy_xa", "plimsoll_copy_xb", "o'clock")),
        ("delete a backup", sql::delete_backup("/var/opt/mssql/data/plimsoll_copy_xa.bak")),
        ("forget backups", sql::forget_backups("plimsoll_copy_xa")),
        ("drop a database", sql::drop_database("plimsoll_copy_xa")),
        ("create a database in Azure", sql::create_azure_database("plimsoll_copy_xa", &own("Standard", "S2"))),
        (
            "create a database in Hyperscale",
            sql::create_azure_database("plimsoll_copy_xa", &own("Hyperscale", "HS_Gen5_2")),
        ),
        ("create a database in a pool", sql::create_azure_database("plimsoll_copy_xa", &Level::Pool("p]1".to_owned()))),
        ("copy a database in Azure", sql::copy_azure_database("plimsoll_copy_xa", "plimsoll_copy_xb")),
        ("drop a database in Azure", sql::drop_azure_database("plimsoll_copy_xa")),
        ("mark a database", sql::mark_database("o'clock")),
        ("ask for a level", sql::ask_for_level("sales", "S3", false, Some(250 << 30))),
        ("ask for a level of another edition", sql::ask_for_level("sales", "BC_Gen5_4", true, Some(250 << 30))),
        ("ask for a level with a small size", sql::ask_for_level("sales", "Basic", true, Some(500 << 20))),
        ("ask for a level with no known size", sql::ask_for_level("sales", "P1", true, None)),
        ("drop a place", sql::drop_workspace("plimsoll_run_x")),
        ("end a session", sql::kill(51)),
        ("settle a table", sql::settle("plimsoll_run_x", "t")),
        ("resources of a place", sql::resource("plimsoll_run_x").join("\n")),
    ];
    for (name, text) in made {
        insta::assert_snapshot!(file("server", name), text);
    }
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
    let (table, dialect) = (Table::new("t", &columns), MssqlDialect);
    let statements = [
        ("create table", dialect.create_table(&table)),
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
    for request in SingleRow::ALL {
        let name = format!("{request:?}").to_lowercase();
        insta::assert_snapshot!(file("statement", &format!("call {name}")), dialect.call(request, &table).unwrap());
        let body = dialect.single_row(request, &table);
        let made = dialect.create_procedure(request, &table, "[p].[plimsoll_read_t]", &body);
        insta::assert_snapshot!(file("statement", &format!("procedure {name}")), made);
    }
    for (name, text) in statements {
        insta::assert_snapshot!(file("statement", name), text);
    }
}
