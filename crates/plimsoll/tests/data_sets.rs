//! A kept data set with something of others in it: nothing of theirs is dropped or emptied by a run, and nothing of theirs runs in the
//! name of another user.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::Scene;
use plimsoll_testbed::{MariaDb, Postgres};
use serde_json::Value;

const RUN: [&str; 9] =
    ["run", "read-scan", "--repetitions", "1", "--set", "volume=1MiB", "--no-samples", "--quiet", "--json"];

fn run(scene: &Scene, target: &str, more: &[&str]) -> common::Said {
    scene.say(&[&RUN[..], &["--target", target], more].concat())
}

/// Keeps a data set, and says whether the run used one.
fn keeps(scene: &Scene, target: &str) -> bool {
    let said = run(scene, target, &["--keep-data"]);
    assert_eq!(said.code, 0, "{said:#?}");
    said.json()[0]["parameters"]["data_reused"] == Value::Bool(true)
}

/// A run that keeps data refuses the set and names what is in it; one that doesn't loads its own.
fn is_left_alone(scene: &Scene, target: &str, names: &str) {
    run(scene, target, &["--keep-data"]).failed(6, &["the kept data set is not used", names]);
    let said = run(scene, target, &[]);
    assert_eq!(said.code, 0, "{said:#?}");
    assert_ne!(said.json()[0]["parameters"]["data_reused"], Value::Bool(true));
}

#[test]
fn of_postgresql() {
    let (scene, server) = (Scene::new(), Postgres::builder().trusting(true).start().unwrap());
    server.psql("CREATE ROLE few LOGIN; GRANT CREATE, CONNECT ON DATABASE postgres TO few; CREATE TABLE public.precious AS SELECT 1 AS a").unwrap();
    let all = server.socket_url("postgres");
    let few = server.tcp_url("few", "", "postgres");
    let place = || {
        let name = server.psql("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'plimsoll_data%'").unwrap();
        name.trim().to_owned()
    };
    // A default of a table's column is a part of it, and would run in the name of who inserts.
    keeps(&scene, &few);
    let evil = format!(
        "SET ROLE few; SET search_path = {}; CREATE SCHEMA more; CREATE FUNCTION more.evil() RETURNS int LANGUAGE plpgsql AS \
         $$ BEGIN DELETE FROM public.precious; RETURN 1; END $$; ALTER TABLE plimsoll_manifest ADD x int DEFAULT more.evil(); \
         DELETE FROM plimsoll_manifest WHERE number > 1",
        place()
    );
    // The default runs for the rows that are there, as the user who may not.
    let evil = evil.replace(
        "ADD x int DEFAULT more.evil()",
        "ADD x int; ALTER TABLE plimsoll_manifest ALTER x SET DEFAULT more.evil()",
    );
    server.psql(&evil).unwrap();
    is_left_alone(&scene, &all, "belongs to another user (few)");
    assert_eq!(server.psql("SELECT count(*) FROM public.precious").unwrap().trim(), "1");
    assert_eq!(scene.say(&["clean", "--data", &all]).code, 0);
    // Somebody's only copy in the place of a table of ours, and a table that is heir of another.
    assert!(!keeps(&scene, &all));
    let place = place();
    server.psql(&format!("DROP TABLE {place}.table3; CREATE TABLE {place}.table3 (note text); INSERT INTO {place}.table3 VALUES ('my only copy')")).unwrap();
    is_left_alone(&scene, &all, "table3");
    assert_eq!(server.psql(&format!("SELECT note FROM {place}.table3")).unwrap().trim(), "my only copy");
    server.psql(&format!("DROP TABLE {place}.table3; CREATE TABLE public.parent (\"RowId\" int NOT NULL)")).unwrap();
    assert!(!keeps(&scene, &all), "what is missing is loaded");
    let column = server
        .psql(&format!("SELECT attname FROM pg_attribute WHERE attrelid = '{place}.table2'::regclass AND attnum = 1"))
        .unwrap();
    server
        .psql(&format!(
            "ALTER TABLE public.parent RENAME \"RowId\" TO \"{}\"; ALTER TABLE {place}.table2 INHERIT public.parent",
            column.trim()
        ))
        .unwrap();
    is_left_alone(&scene, &all, "parent");
}

#[test]
fn of_mariadb() {
    let (scene, server) = (Scene::new(), MariaDb::builder().start().unwrap());
    let target = server.socket_url("test");
    assert!(!keeps(&scene, &target));
    assert!(keeps(&scene, &target));
    let place = server.sql("SHOW DATABASES LIKE 'plimsoll_data%'").unwrap();
    let place = place.lines().last().unwrap().trim().to_owned();
    server.sql("CREATE TABLE test.precious (a int); INSERT INTO test.precious VALUES (1)").unwrap();
    server
        .sql(&format!(
            "RENAME TABLE {place}.table1 TO {place}.real1; CREATE VIEW {place}.table1 AS SELECT * FROM {place}.real1"
        ))
        .unwrap();
    is_left_alone(&scene, &target, "table1");
    server.sql(&format!("DROP VIEW {place}.table1; CREATE TABLE {place}.table1 (note text); INSERT INTO {place}.table1 VALUES ('my only copy')")).unwrap();
    is_left_alone(&scene, &target, "table1");
    assert_eq!(server.sql(&format!("SELECT note FROM {place}.table1")).unwrap().trim(), "my only copy");
}

#[test]
fn of_sqlite() {
    let scene = Scene::new();
    let target = scene.sqlite();
    assert!(!keeps(&scene, &target));
    assert!(keeps(&scene, &target));
    let entries = std::fs::read_dir(scene.folder()).unwrap().map(|entry| entry.unwrap().path());
    let is_data = |path: &std::path::PathBuf| {
        path.to_string_lossy().contains("plimsoll_data") && path.extension().is_some_and(|end| end == "db")
    };
    let file = entries.into_iter().find(is_data).unwrap();
    let database = rusqlite::Connection::open(&file).unwrap();
    database
        .execute_batch("DROP TABLE table3; CREATE TABLE table3 (note text); INSERT INTO table3 VALUES ('my only copy')")
        .unwrap();
    drop(database);
    is_left_alone(&scene, &target, "table3");
    let database = rusqlite::Connection::open(&file).unwrap();
    let note: String = database.query_row("SELECT note FROM table3", [], |row| row.get(0)).unwrap();
    assert_eq!(note, "my only copy");
}
