//! What a definition's own statements make in a workspace besides plain tables in their order goes with it: after a run, after Ctrl-C in
//! a built-in test, and after a `kill -9` in the middle of a statement that makes a table.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;
use std::process::Command;

use common::{Scene, said, wait_until};
use plimsoll_testbed::{MariaDb, Postgres};

const RUN: [&str; 5] = ["--repetitions", "1", "--no-samples", "--quiet", "--json"];

fn definition(scene: &Scene, setup: &[&str], requests: &[&str]) -> String {
    let path = scene.path("parts.toml");
    let text = format!(
        "name = \"parts\"\nsteps = [\"requests\"]\n[setup]\nstatements = {setup:?}\n[[request]]\ntransaction = false\n\
         statements = {requests:?}\n[parameters]\nsessions = 1\nduration = \"1s\"\n"
    );
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

/// Runs a definition, which must leave nothing behind.
fn leaves_nothing(scene: &Scene, target: &str, setup: &[&str], requests: &[&str]) {
    let file = definition(scene, setup, requests);
    let ran = scene.say(&[&["run", &file, "--target", target], &RUN[..]].concat());
    assert_eq!(ran.code, 0, "{setup:?}: {ran:#?}");
    let clean = scene.say(&["clean", target]);
    assert!(clean.code == 0 && !clean.out.contains("removed"), "{setup:?}: {clean:#?}");
}

const KEYS: [&str; 3] = [
    "CREATE TABLE a (id int PRIMARY KEY)",
    "CREATE TABLE b (id int PRIMARY KEY, a int, FOREIGN KEY (a) REFERENCES a (id))",
    "CREATE VIEW v AS SELECT a.id FROM a JOIN b ON b.a = a.id",
];
/// A request that works with a table of its own session.
const TEMPORARY: [&str; 3] =
    ["DROP TABLE IF EXISTS tmp", "CREATE TEMPORARY TABLE tmp AS SELECT * FROM a", "SELECT count(*) FROM tmp"];
const STAGE: [&str; 2] = ["DROP TABLE IF EXISTS stage", "CREATE TABLE stage AS SELECT * FROM a"];

#[test]
fn of_postgresql() {
    let (scene, server) = (Scene::new(), Postgres::builder().start().unwrap());
    let target = server.socket_url("postgres");
    leaves_nothing(&scene, &target, &KEYS, &STAGE);
    leaves_nothing(&scene, &target, &KEYS, &TEMPORARY);
    let setup = [
        "CREATE TYPE mood AS ENUM ('a')",
        "CREATE SEQUENCE sq",
        "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "CREATE TABLE p (m mood, n int DEFAULT nextval('sq'), o int CHECK (f() < o))",
        "CREATE MATERIALIZED VIEW mv AS SELECT m FROM p",
        "CREATE TRIGGER g BEFORE UPDATE ON p FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()",
        "CREATE STATISTICS st ON n, o FROM p",
        "DO $$ BEGIN CREATE TABLE q (i serial PRIMARY KEY); CREATE TABLE r (i int); END $$",
    ];
    leaves_nothing(&scene, &target, &setup, &["SELECT 1"]);
    // Older objects that come to use younger ones.
    let setup = [
        "CREATE TABLE t (id int)",
        "CREATE SEQUENCE sq",
        "ALTER TABLE t ALTER id SET DEFAULT nextval('sq')",
        "CREATE TYPE en AS ENUM ('a')",
        "ALTER TABLE t ADD e en",
        "CREATE FUNCTION f(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT 1'",
        "CREATE INDEX ON t (f(id))",
        "CREATE VIEW \"My View\" AS SELECT 1 AS one",
        "SELECT * INTO UNLOGGED newt FROM t",
    ];
    leaves_nothing(&scene, &target, &setup, &["SELECT 1"]);
    interrupted(&scene, &target);
}

/// A schema that somebody renames during a run has no name of ours any more: it stays, and the run says so.
#[test]
fn a_schema_that_is_renamed_is_told() {
    let (scene, server) = (Scene::new(), Postgres::builder().start().unwrap());
    let target = server.socket_url("postgres");
    let rename = "DO $$ BEGIN IF current_schema() LIKE 'plimsoll%' THEN \
                  EXECUTE format('ALTER SCHEMA %I RENAME TO elsewhere', current_schema()); END IF; END $$";
    let file = definition(&scene, &["CREATE TABLE t (id int)"], &[rename]);
    let ran = scene.say(&[&["run", &file, "--target", &target], &RUN[..]].concat());
    assert!(ran.out.contains("was not at the target any more at the end"), "{ran:#?}");
    assert_eq!(server.psql("SELECT count(*) FROM pg_namespace WHERE nspname = 'elsewhere'").unwrap().trim(), "1");
}

#[test]
fn of_mariadb() {
    let (scene, server) = (Scene::new(), MariaDb::builder().start().unwrap());
    let target = server.socket_url("test");
    leaves_nothing(&scene, &target, &KEYS, &STAGE);
    leaves_nothing(&scene, &target, &KEYS, &TEMPORARY);
    let setup = [
        "CREATE TABLE a (id int PRIMARY KEY, b int)",
        "CREATE TABLE b (id int PRIMARY KEY, a int, FOREIGN KEY (a) REFERENCES a (id))",
        "ALTER TABLE a ADD FOREIGN KEY (b) REFERENCES b (id)",
        "CREATE PROCEDURE mk(n int) BEGIN DECLARE i int DEFAULT 0; SET i = n; CREATE OR REPLACE TABLE w2 (i int); END",
        "CALL mk(1)",
        "CREATE TRIGGER g BEFORE INSERT ON a FOR EACH ROW BEGIN SET NEW.b = NULL; END",
    ];
    leaves_nothing(&scene, &target, &setup, &["SELECT 1"]);
    // A stranger's view on one of ours keeps all of it.
    let file = definition(
        &scene,
        &["CREATE TABLE t (id int)", "CREATE VIEW vv AS SELECT * FROM t", "SELECT SLEEP(9)"],
        &["SELECT 1"],
    );
    let mut child = scene.spawn(&["run", &file, "--target", &target]);
    wait_until(|| server.sql("SHOW PROCESSLIST").unwrap().contains("SLEEP(9)"));
    child.kill().unwrap();
    child.wait().unwrap();
    let place = server.sql("SHOW DATABASES LIKE 'plimsoll%'").unwrap();
    let place = place.lines().last().unwrap().trim().to_owned();
    server.sql(&format!("CREATE VIEW ov AS SELECT * FROM {place}.vv")).unwrap();
    wait_until(|| scene.say(&["clean", &target]).code == 6);
    server.sql("SELECT * FROM ov").unwrap();
    server.sql("DROP VIEW ov").unwrap();
    wait_until(|| scene.say(&["clean", &target]).out.contains("removed"));
    // The server ends the statement after its client has died.
    let file = definition(&scene, &["CREATE TABLE mine AS SELECT SLEEP(3) AS id"], &["SELECT 1"]);
    let mut child = scene.spawn(&["run", &file, "--target", &target]);
    wait_until(|| server.sql("SHOW PROCESSLIST").unwrap().contains("CREATE TABLE mine"));
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until(|| scene.say(&["clean", &target]).out.contains("removed"));
    interrupted(&scene, &target);
}

#[test]
fn of_sqlite() {
    let scene = Scene::new();
    let target = scene.sqlite();
    leaves_nothing(&scene, &target, &KEYS, &STAGE);
    leaves_nothing(&scene, &target, &KEYS, &TEMPORARY);
    interrupted(&scene, &target);
}

/// A loop that makes commits until it is interrupted.
fn interrupted(scene: &Scene, target: &str) {
    let child = scene.spawn(&["run", "insert-latency", "--set", "commits=10000000", "--verbose", "--target", target]);
    let pid = child.id().to_string();
    wait_until(|| {
        let runs = scene.say(&["runs", "--json", "--limit", "1"]).json();
        runs.first().is_some_and(|run| run["test"] == "insert-latency")
    });
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let said = said(&child.wait_with_output().unwrap());
    assert!(said.code == 130 && !said.err.contains("was not removed"), "{said:#?}");
    let clean = scene.say(&["clean", target]);
    assert!(clean.code == 0 && !clean.out.contains("removed"), "{clean:#?}");
}
