//! A user with the grants of docs/SAFETY.md: the tests run, and the server keeps a definition's statements from what is not Plimsoll's,
//! also where its words say nothing of it. The grants are read from the document.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;

use common::Scene;
use plimsoll_testbed::{MariaDb, Postgres};

const PASSWORD: &str = "few-rights-1";
const RUN: [&str; 4] = ["--short", "--repetitions", "1", "--quiet"];
/// Scans, requests with their procedures, single commits in a loop in the server.
const TESTS: [[&str; 2]; 4] = [
    ["read-scan", "volume=1MiB"],
    ["insert", "duration=1s"],
    ["direct-select", "duration=1s"],
    ["insert-latency", "commits=100"],
];

/// The grants for an engine, as a user would copy them.
fn grants(engine: &str, database: &str) -> String {
    let document = include_str!("../../../docs/SAFETY.md");
    let row = document.lines().find(|line| line.starts_with(&format!("| {engine} | `"))).unwrap();
    let cell = row.split('|').nth(2).unwrap();
    // One backtick around the statements, or two where they have some themselves.
    let quotes = cell.len() - cell.trim_start().trim_start_matches('`').len() - 1;
    let statements = cell.trim_start()[quotes..].split(&"`".repeat(quotes)).next().unwrap();
    statements.replace("'...'", &format!("'{PASSWORD}'")).replace("DATABASE name", &format!("DATABASE {database}"))
}

fn all_run(scene: &Scene, target: &str) {
    for [test, set] in TESTS {
        let ran = scene.say(&[&["run", test, "--target", target, "--set", set], &RUN[..]].concat());
        assert_eq!(ran.code, 0, "{test}: {ran:#?}");
    }
    let clean = scene.say(&["clean", target]);
    assert!(clean.code == 0 && !clean.out.contains("removed"), "{clean:#?}");
}

/// Each statement passes the check of words, and ends at the server.
fn none_reaches(scene: &Scene, target: &str, setups: &[&[&str]]) {
    for setup in setups {
        let file = scene.path("reaches.toml");
        let text = format!(
            "name = \"reaches\"\nsteps = [\"requests\"]\n[setup]\nstatements = {setup:?}\n[[request]]\nstatements = [\"SELECT 1\"]\n"
        );
        fs::write(&file, text).unwrap();
        let ran = scene.say(&[&["run", &file.display().to_string(), "--target", target], &RUN[..]].concat());
        assert_eq!(ran.code, 5, "{setup:?}: {ran:#?}");
        let reason = ran.err.to_lowercase();
        assert!(reason.contains("permission denied") || reason.contains("denied to user"), "{setup:?}: {ran:#?}");
    }
    let clean = scene.say(&["clean", target]);
    assert!(clean.code == 0 && !clean.out.contains("removed"), "{clean:#?}");
}

#[test]
fn of_postgresql() {
    let (scene, server) = (Scene::new(), Postgres::builder().start().unwrap());
    server.psql("CREATE DATABASE sales").unwrap();
    server.psql_in("sales", "CREATE SCHEMA other; CREATE TABLE other.t (a int); CREATE SEQUENCE other.s").unwrap();
    server.psql(&grants("PostgreSQL", "sales")).unwrap();
    let target = server.tcp_url("measurer", PASSWORD, "sales");
    all_run(&scene, &target);
    let function = "CREATE FUNCTION f() RETURNS void LANGUAGE sql AS 'INSERT INTO other.t VALUES (1)'";
    let late = "CREATE FUNCTION f() RETURNS int LANGUAGE plpgsql AS 'BEGIN EXECUTE ''INSERT INTO other.t VALUES (1)''; RETURN 1; END'";
    none_reaches(&scene, &target, &[&["SELECT nextval('other.s')"], &[function], &[late, "SELECT f()"]]);
    assert_eq!(server.psql_in("sales", "SELECT count(*) FROM other.t").unwrap().trim(), "0");
    assert_eq!(server.psql_in("sales", "SELECT is_called FROM other.s").unwrap().trim(), "f");
}

#[test]
fn of_mariadb() {
    let (scene, server) = (Scene::new(), MariaDb::builder().start().unwrap());
    server.sql("CREATE DATABASE other; CREATE TABLE other.t (a int)").unwrap();
    server.sql("CREATE FUNCTION other.f() RETURNS int MODIFIES SQL DATA RETURN (SELECT LAST_INSERT_ID(1))").unwrap();
    server.sql(&grants("MySQL, MariaDB", "")).unwrap();
    let target = server.tcp_url("measurer", PASSWORD, "");
    all_run(&scene, &target);
    none_reaches(&scene, &target, &[&["SELECT other.f()"]]);
}
