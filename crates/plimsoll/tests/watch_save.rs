//! `plimsoll watch --save-to`: slots go into tables of the user's own database.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;
#[path = "common/watched.rs"]
mod watched;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;

use common::Scene;
use plimsoll_clock::RealClock;
use plimsoll_engine::{
    Credentials, Database, Engine, Row, SavedColumn, SavedTable, SavedType, Target, Value as Cell, target,
};
use plimsoll_mysql::MySql;
use plimsoll_postgres::Postgres as PostgresEngine;
use plimsoll_sqlite::Sqlite;
use plimsoll_testbed::{MariaDb, Postgres, Product};
use serde_json::Value;
use watched::{begun, interrupted, load, server};

/// What is compared of a row, by its names in both.
const COMPARED: [&str; 16] = [
    "id",
    "database",
    "executions",
    "elapsed_us",
    "active_us",
    "sampled_us",
    "unseen_us",
    "rows",
    "reads",
    "writes",
    "cache_lookups",
    "temp_pages",
    "log_bytes",
    "io_read_us",
    "status",
    "slot_status",
];

fn mariadb() -> MariaDb {
    let builder = MariaDb::builder().buffer_pool_mb(64).setting("performance_schema", "ON");
    builder.data_dir_in(env!("CARGO_TARGET_TMPDIR")).start().unwrap()
}

/// A database that is saved to, and how a test looks into it.
enum Place<'p> {
    Sqlite(&'p Path),
    Postgres(&'p Postgres),
    MariaDb(&'p MariaDb),
}

impl Place<'_> {
    fn url(&self) -> String {
        match self {
            Self::Sqlite(path) => format!("sqlite:{}", path.display()),
            Self::Postgres(server) => server.socket_url("postgres"),
            Self::MariaDb(server) => server.socket_url("test"),
        }
    }

    /// The rows of an answer; values have `|` between them, and NULL is nothing.
    fn ask(&self, sql: &str) -> Vec<String> {
        match self {
            Self::Sqlite(path) => {
                let connection = rusqlite::Connection::open(path).unwrap();
                let mut statement = connection.prepare(sql).unwrap();
                let columns = statement.column_count();
                let text = |value: rusqlite::types::Value| match value {
                    rusqlite::types::Value::Null => String::new(),
                    rusqlite::types::Value::Integer(number) => number.to_string(),
                    rusqlite::types::Value::Text(text) => text,
                    other => format!("{other:?}"),
                };
                let row = |row: &rusqlite::Row<'_>| {
                    (0..columns).map(|at| row.get(at).map(text)).collect::<Result<Vec<_>, _>>().map(|row| row.join("|"))
                };
                statement.query_map([], row).unwrap().collect::<Result<_, _>>().unwrap()
            }
            Self::Postgres(server) => server.psql(sql).unwrap().lines().map(str::to_owned).collect(),
            Self::MariaDb(server) => {
                let said = server.sql(&sql.replace('"', "`")).unwrap();
                let value = |value: &str| if value == "NULL" { String::new() } else { value.to_owned() };
                let row = |line: &str| line.split('\t').map(value).collect::<Vec<_>>().join("|");
                said.lines().map(row).collect()
            }
        }
    }

    /// The query that the documentation has for it.
    fn example(&self) -> String {
        let heading = match self {
            Self::Sqlite(_) => "-- SQLite\n",
            Self::Postgres(_) => "-- PostgreSQL\n",
            Self::MariaDb(_) => "-- MySQL, MariaDB\n",
        };
        let examples = include_str!("../../../docs/WATCH.md").split("```sql\n").nth(1).unwrap();
        examples.split_once(heading).unwrap().1.split_once(';').unwrap().0.to_owned()
    }

    /// All rows of the table, as [`exported`] gives those of the store.
    fn saved(&self, table: &str) -> BTreeSet<String> {
        let columns = COMPARED.map(|name| format!("\"{name}\"")).join(", ");
        let rows = self.ask(&format!("SELECT slot_start_us, slot_end_us, {columns} FROM {table}"));
        let all: BTreeSet<String> = rows.iter().cloned().collect();
        assert_eq!(all.len(), rows.len(), "a row is there twice");
        all
    }
}

fn micros(moment: &Value) -> i64 {
    moment.as_str().unwrap().parse::<jiff::Timestamp>().unwrap().as_microsecond()
}

fn told(lines: &str) -> BTreeSet<i64> {
    lines.lines().map(|line| micros(&serde_json::from_str::<Value>(line).unwrap()["slot_start"])).collect()
}

/// Rows of these slots as the store has them.
fn exported(scene: &Scene, slots: &BTreeSet<i64>) -> BTreeSet<String> {
    let rows = scene.say(&["watch", "export", "--json"]).json();
    let text = |value: &Value| match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let row = |row: &Value| {
        let compared = COMPARED.map(|name| text(&row[name])).join("|");
        format!("{}|{}|{compared}", micros(&row["slot_start"]), micros(&row["slot_end"]))
    };
    rows.iter().filter(|row| slots.contains(&micros(&row["slot_start"]))).map(row).collect()
}

/// The command that watches a server in slots of a second and saves them.
fn words<'w>(url: &'w str, to: &'w str, table: &'w str) -> Vec<&'w str> {
    vec!["watch", url, "--every", "1s", "--json", "--save-to", to, "--table", table, "--allow-writes"]
}

fn next(lines: &mut impl BufRead, count: usize) -> String {
    let mut out = String::new();
    for _ in 0..count {
        lines.read_line(&mut out).unwrap();
    }
    out
}

#[test]
fn slots_are_saved_as_they_are_exported() {
    let (files, server, mariadb) = (Scene::new(), server(), mariadb());
    server.psql("CREATE SCHEMA own").unwrap();
    let (url, file) = (server.socket_url("postgres"), files.path("saved.db"));
    let places = [
        (Place::Sqlite(&file), "watched"),
        (Place::Postgres(&server), "own.watched"),
        (Place::MariaDb(&mariadb), "watched"),
    ];
    for (place, table) in &places {
        let (scene, to) = (Scene::new(), place.url());
        // What is no INSERT is in the sum of the others.
        let mut words = words(&url, &to, table);
        words.extend(["--only", "text=INSERT"]);
        let (child, mut lines, mut all) = begun(&scene, &words);
        server.psql("SELECT count(*) FROM held").unwrap();
        load(&server, 20);
        all += &next(&mut lines, 2);
        let (code, rest, err) = interrupted(child, lines);
        assert_eq!(code, 130, "{err}");
        all += &rest;
        let slots = told(&all);
        let (saved, exported) = (place.saved(table), exported(&scene, &slots));
        assert!(saved.len() >= slots.len(), "{all}");
        assert_eq!(saved, exported, "{to}");
        // `BEGIN` and `COMMIT` of what saves have no rows.
        let others = format!("SELECT sum(\"rows\") FROM {table} WHERE id = 'other'");
        assert_eq!(place.ask(&others), ["1"], "{all}");
        let loaded = format!(
            "SELECT sum(executions), sum(\"rows\") FROM {table} w JOIN {table}_texts t ON t.text_id = w.text_id \
             WHERE t.text LIKE 'INSERT INTO held%' AND nested = {}",
            if matches!(place, Place::Postgres(_)) { "false" } else { "0" }
        );
        assert_eq!(place.ask(&loaded), ["20|60"], "{err}");
        // What saves is none of the load, also where it is the same server.
        let texts = place.ask(&format!("SELECT count(*) FROM {table}_texts WHERE text LIKE '%watched%'"));
        assert_eq!(texts, ["0"], "{:?}", place.ask(&format!("SELECT text FROM {table}_texts")));
        let minutes = place.ask(&place.example().replace("watched", table));
        let inserts = minutes.iter().filter(|row| row.contains("|INSERT INTO held"));
        let executions = inserts.map(|row| row.split('|').nth(2).unwrap().parse::<u64>().unwrap());
        assert_eq!(executions.sum::<u64>(), 20, "{minutes:?}");
        // A second watching goes on in the same table, under a number of its own.
        let (child, lines, _) = begun(&scene, &words);
        assert_eq!(interrupted(child, lines).0, 130);
        assert_eq!(place.ask(&format!("SELECT count(DISTINCT session_id) FROM {table}")), ["2"]);
    }
}

#[test]
fn a_server_that_saves_to_itself_does_not_watch_that() {
    let (scene, server) = (Scene::new(), mariadb());
    server.sql("CREATE TABLE held (k INT)").unwrap();
    let url = server.socket_url("test");
    let (child, mut lines, mut all) = begun(&scene, &words(&url, &url, "watched"));
    server.sql(&"INSERT INTO held VALUES (1), (2), (3); ".repeat(7)).unwrap();
    all += &next(&mut lines, 2);
    let (code, rest, err) = interrupted(child, lines);
    assert_eq!(code, 130, "{err}");
    let place = Place::MariaDb(&server);
    assert_eq!(place.saved("watched"), exported(&scene, &told(&(all + &rest))));
    let sum = "SELECT sum(executions) FROM watched w JOIN watched_texts t ON t.text_id = w.text_id WHERE t.text LIKE ";
    assert_eq!(place.ask(&format!("{sum}'INSERT INTO `held`%'")), ["7"]);
    assert_eq!(place.ask(&format!("{sum}'%watched%'")), [""], "{:?}", place.ask("SELECT text FROM watched_texts"));
    // MySQL has counted it. MariaDB has no digest of a statement that was prepared.
    let counted = "SELECT count(*) > 0 FROM performance_schema.events_statements_summary_by_digest \
                   WHERE DIGEST_TEXT LIKE 'EXECUTE INSERT INTO%watched%' AND COUNT_STAR > 3";
    assert_eq!(place.ask(counted), [if server.product() == Product::MySql { "1" } else { "0" }]);
}

#[test]
fn what_is_not_ours_is_refused_and_stays() {
    let (scene, server, mariadb) = (Scene::new(), server(), mariadb());
    let (url, file) = (server.socket_url("postgres"), scene.path("saved.db"));
    rusqlite::Connection::open(&file).unwrap().execute_batch("CREATE TABLE mine (a INTEGER)").unwrap();
    for place in [Place::Sqlite(&file), Place::Postgres(&server), Place::MariaDb(&mariadb)] {
        let to = place.url();
        let change = |sql: &str| match &place {
            Place::Sqlite(path) => rusqlite::Connection::open(path).unwrap().execute_batch(sql).unwrap(),
            Place::Postgres(server) => drop(server.psql(sql).unwrap()),
            Place::MariaDb(server) => drop(server.sql(sql).unwrap()),
        };
        let without = &words(&url, &to, "watched")[..9];
        scene.say(without).failed(6, &["--allow-writes", "watched"]);
        change("CREATE TABLE watched (a INTEGER, b INTEGER)");
        change("INSERT INTO watched VALUES (1, 2)");
        scene.say(&words(&url, &to, "watched")).failed(6, &["watched is there", "'plimsoll watch'", "--table"]);
        assert_eq!(place.ask("SELECT * FROM watched"), ["1|2"]);
        // Nothing was made either: the name is free.
        change("CREATE TABLE watched_texts (a INTEGER)");
        change("DROP TABLE watched");
        scene.say(&words(&url, &to, "watched")).failed(6, &["watched_texts is there"]);
        change("CREATE VIEW seen AS SELECT a FROM watched_texts");
        scene.say(&words(&url, &to, "seen")).failed(6, &["seen is there"]);
        // One of ours with a column of somebody's is not added to.
        let (child, lines, _) = begun(&scene, &words(&url, &to, "own"));
        assert_eq!(interrupted(child, lines).0, 130);
        let before = place.ask("SELECT count(*) FROM own");
        change("ALTER TABLE own ADD COLUMN note INTEGER");
        scene.say(&words(&url, &to, "own")).failed(6, &["own has other columns"]);
        assert_eq!(place.ask("SELECT count(*) FROM own"), before);
        for name in ["a;b", "a.b.c", "\"x\"", ""] {
            scene.say(&words(&url, &to, name)).failed(2, &["is no name for a table"]);
        }
    }
    let [file, maria] = [format!("sqlite:{}", file.display()), mariadb.socket_url("test")];
    for to in [&file, &maria] {
        scene.say(&words(&url, to, "other.watched")).failed(2, &["names a schema"]);
    }
    scene.say(&words(&url, &mariadb.socket_url(""), "watched")).failed(2, &["names no database"]);
    scene.say(&words(&url, "lab:azure-sql-db/S2", "watched")).failed(2, &["nothing can be saved"]);
    server.psql("CREATE ROLE poor LOGIN; CREATE SCHEMA closed").unwrap();
    let poor = url.replacen("postgres://", "postgres://poor@", 1).replacen("poor@plimsoll@", "poor@", 1);
    scene.say(&words(&url, &poor, "closed.watched")).failed(5, &["closed"]);
    // A mark that somebody else set makes no table ours.
    let (child, lines, _) = begun(&scene, &words(&url, &url, "given"));
    assert_eq!(interrupted(child, lines).0, 130);
    server.psql("ALTER TABLE given OWNER TO poor").unwrap();
    scene.say(&words(&url, &url, "given")).failed(6, &["given is there"]);
}

#[test]
fn a_database_that_is_away_for_a_while_gets_every_slot_once() {
    let (scene, server) = (Scene::new(), server());
    let other = Postgres::builder().data_dir_in(env!("CARGO_TARGET_TMPDIR")).start().unwrap();
    let (url, place) = (server.socket_url("postgres"), Place::Postgres(&other));
    let to = place.url();
    let (child, mut lines, mut all) = begun(&scene, &words(&url, &to, "watched"));
    load(&server, 5);
    all += &next(&mut lines, 1);
    other.stop_immediate().unwrap();
    load(&server, 6);
    all += &next(&mut lines, 3);
    other.restart().unwrap();
    load(&server, 7);
    all += &next(&mut lines, 2);
    let (code, rest, err) = interrupted(child, lines);
    assert_eq!(code, 130, "{err}");
    all += &rest;
    assert_eq!(err.matches("it is tried again with each slot").count(), 1, "{err}");
    assert!(err.contains("takes slots again") && !err.contains("not in watched"), "{err}");
    let slots = told(&all);
    assert_eq!(place.saved("watched"), exported(&scene, &slots), "{err}");
    let starts = place.ask("SELECT DISTINCT slot_start_us FROM watched");
    assert_eq!(starts.iter().map(|start| start.parse().unwrap()).collect::<BTreeSet<i64>>(), slots);
    let sum =
        "SELECT sum(executions) FROM watched JOIN watched_texts USING (text_id) WHERE text LIKE 'INSERT INTO held%'";
    assert_eq!(place.ask(sum), ["18"]);
}

#[test]
fn a_table_that_is_locked_holds_no_slot_up() {
    let (scene, server) = (Scene::new(), server());
    let other = Postgres::builder().data_dir_in(env!("CARGO_TARGET_TMPDIR")).start().unwrap();
    let (url, place) = (server.socket_url("postgres"), Place::Postgres(&other));
    let to = place.url();
    let (child, mut lines, mut all) = begun(&scene, &words(&url, &to, "watched"));
    let mut client = other.client("postgres").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = client.stdin.take().unwrap();
    // Who reads is let in.
    input.write_all(b"BEGIN; LOCK TABLE watched IN EXCLUSIVE MODE; SELECT 'locked';\n").unwrap();
    let mut said = BufReader::new(client.stdout.take().unwrap());
    said.read_line(&mut String::new()).unwrap();
    let slots = |place: &Place<'_>| place.ask("SELECT DISTINCT slot_start_us FROM watched ORDER BY 1");
    let before = slots(&place);
    load(&server, 5);
    all += &next(&mut lines, 3);
    assert_eq!(slots(&place), before);
    drop((input, said));
    client.wait().unwrap();
    let (code, rest, err) = interrupted(child, lines);
    assert_eq!(code, 130, "{err}");
    all += &rest;
    let longest = all.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["seconds"].as_f64().unwrap());
    // A connection that waits is given up after ten seconds.
    assert!(longest.fold(0.0, f64::max) < 9.0, "{all}");
    assert_eq!(place.saved("watched"), exported(&scene, &told(&all)), "{err}");
}

/// The one in the environment is that of the server that is watched.
#[test]
fn no_server_gets_the_password_of_the_other_one() {
    let (scene, server) = (Scene::new(), server());
    server.psql("CREATE ROLE keeper LOGIN PASSWORD 'of keeper'; CREATE SCHEMA own AUTHORIZATION keeper").unwrap();
    let (url, to) = (server.socket_url("postgres"), server.tcp_url("keeper", "", "postgres").replacen(":@", "@", 1));
    let mut words = words(&url, &to, "own.watched");
    words.extend(["--for", "1s"]);
    let mut command = scene.command(&words);
    common::said(&command.env("PLIMSOLL_PASSWORD", "of keeper").output().unwrap()).failed(4, &["password"]);
    let file = scene.path("password");
    std::fs::write(&file, "of keeper\n").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    words.extend(["--save-password-file", file.to_str().unwrap()]);
    let said = scene.say(&words);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(Place::Postgres(&server).saved("own.watched"), exported(&scene, &told(&said.out)));
}

#[test]
fn what_is_never_saved_is_counted_at_the_end() {
    let (scene, server) = (Scene::new(), server());
    let other = Postgres::builder().data_dir_in(env!("CARGO_TARGET_TMPDIR")).start().unwrap();
    let (url, to) = (server.socket_url("postgres"), other.socket_url("postgres"));
    let mut words = words(&url, &to, "watched");
    words.extend(["--for", "8s"]);
    let (child, mut lines, mut all) = begun(&scene, &words);
    all += &next(&mut lines, 1);
    other.stop_immediate().unwrap();
    std::io::Read::read_to_string(&mut lines, &mut all).unwrap();
    let ended = common::said(&child.wait_with_output().unwrap());
    assert_eq!(ended.code, 7, "{ended:?}");
    other.restart().unwrap();
    let saved = Place::Postgres(&other).ask("SELECT count(DISTINCT slot_start_us) FROM watched");
    let missing = told(&all).len() - saved[0].parse::<usize>().unwrap();
    assert!(missing > 0, "{ended:?}");
    assert!(ended.err.contains(&format!("{missing} slots are not in watched of")), "{ended:?}");
    // The store has all of them.
    assert!(exported(&scene, &told(&all)).len() >= told(&all).len());
}

fn open(engine: &dyn Engine, url: &str) -> Box<dyn Database> {
    let target = Target::parse(url).unwrap();
    engine.open(&target, &Credentials::default(), Arc::new(RealClock::new())).unwrap()
}

/// As after a connection that was lost when the end of the transaction was under way.
#[test]
fn rows_that_are_there_already_are_passed_over() {
    let (scene, server, mariadb) = (Scene::new(), server(), mariadb());
    let engines: [&dyn Engine; 3] = [&Sqlite, &PostgresEngine, &MySql];
    target::register(engines.iter().map(|engine| engine.notation()).collect());
    let file = scene.path("saved.db");
    let column = |name, kind| SavedColumn { name, kind };
    let columns = vec![
        column("session_id", SavedType::Word),
        column("slot_start_us", SavedType::Whole),
        column("text", SavedType::Text),
        column("part", SavedType::Float),
        column("nested", SavedType::Flag),
    ];
    let table = SavedTable { schema: None, name: "kept".to_owned(), columns, key: 2 };
    let row = |number: i64| {
        let mut row = Row::default();
        row.push(Cell::Text("s"));
        row.push(Cell::BigInt(number));
        row.push(if number % 2 == 0 { Cell::Null } else { Cell::Text("'ä€\u{1f6a2}'") });
        row.push(Cell::Float(0.1));
        row.push(Cell::Bit(true));
        row
    };
    let rows: Vec<Row> = (0..117).map(row).collect();
    let places = [Place::Sqlite(&file), Place::Postgres(&server), Place::MariaDb(&mariadb)];
    for (engine, place) in engines.into_iter().zip(places) {
        let database = open(engine, &place.url());
        let mut saving = database.saving().unwrap().unwrap();
        saving.begin(&[&table]).unwrap();
        assert_eq!(place.ask("SELECT count(*) FROM kept"), ["0"], "what is tried is taken back");
        saving.add(&[(&table, &rows[..60])]).unwrap();
        saving.add(&[(&table, &rows)]).unwrap();
        let mut again = database.saving().unwrap().unwrap();
        again.begin(&[&table]).unwrap();
        again.add(&[(&table, &rows)]).unwrap();
        assert_eq!(place.ask("SELECT count(*), count(text), min(slot_start_us) FROM kept"), ["117|58|0"]);
        assert_eq!(place.ask("SELECT count(*) FROM kept WHERE text = '''ä€\u{1f6a2}''' AND part = 0.1"), ["58"]);
        // All of it, or nothing.
        let mut wrong = row(500);
        wrong.push(Cell::Null);
        assert!(saving.add(&[(&table, &[row(400), wrong])]).is_err());
        assert_eq!(place.ask("SELECT count(*) FROM kept"), ["117"]);
    }
}
