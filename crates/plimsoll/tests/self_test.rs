//! `plimsoll doctor URL --self-test` against a server of our own, which does what servers of users do.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::process::Command;

use common::{Scene, wait_until};
use plimsoll_testbed::Postgres;
use serde_json::Value;

/// What must not be in a file that is given away.
const SECRETS: [&str; 5] = ["zephyrine", "quokkabase", "guarded-s3cret", "127.0.0.1", "Ottoline"];

/// A server with a database and a user of few rights; `more` is run in that database.
fn server(more: &[&str]) -> Postgres {
    let server = Postgres::builder().shared_buffers_mb(16).start().unwrap();
    server.psql("CREATE ROLE zephyrine LOGIN PASSWORD 'guarded-s3cret'").unwrap();
    server.psql("CREATE DATABASE quokkabase").unwrap();
    for sql in more {
        server.psql_in("quokkabase", sql).unwrap();
    }
    server
}

const MAY_CREATE: &str = "GRANT CREATE ON DATABASE quokkabase TO zephyrine";

/// A trigger of the owner's that answers a new table with this statement.
fn at_a_new_table(statement: &str) -> String {
    format!(
        "CREATE FUNCTION barrier() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN {statement}; END $$; \
         CREATE EVENT TRIGGER barrier ON ddl_command_start WHEN tag IN ('CREATE TABLE') EXECUTE FUNCTION barrier()"
    )
}

fn command(scene: &Scene, server: &Postgres, words: &[&str]) -> Command {
    let url = format!("postgres://zephyrine@127.0.0.1:{}/quokkabase", server.port());
    let mut command = scene.command(&[&["doctor", &url, "--self-test"], words].concat());
    command.env("PLIMSOLL_PASSWORD", "guarded-s3cret");
    command
}

/// The JSON of a test, and its exit code.
fn tested(scene: &Scene, server: &Postgres, words: &[&str]) -> (i32, Value) {
    let words = [&["--json", "--report", "r.md"], words].concat();
    let said = common::said(&command(scene, server, &words).output().unwrap());
    let file = std::fs::read_to_string(scene.path("r.md")).unwrap();
    for secret in SECRETS {
        assert!(!said.out.contains(secret) && !file.contains(secret), "{secret}: {file}");
    }
    (said.code, said.json().remove(0))
}

/// Names of what came to this.
fn with<'a>(record: &'a Value, result: &str) -> Vec<&'a str> {
    let checks = record["checks"].as_array().unwrap().iter();
    checks.filter(|check| check["result"] == result).map(|check| check["name"].as_str().unwrap()).collect()
}

fn check<'a>(record: &'a Value, name: &str) -> &'a Value {
    record["checks"].as_array().unwrap().iter().find(|check| check["name"] == name).unwrap()
}

#[track_caller]
fn assert_nothing_is_left(server: &Postgres) {
    let sql = "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'plimsoll%'";
    assert_eq!(server.psql_in("quokkabase", sql).unwrap().trim(), "0");
}

#[test]
fn everything_works_for_the_owner_and_the_file_has_no_names() {
    let (scene, server) = (Scene::new(), server(&["ALTER ROLE zephyrine SUPERUSER"]));
    let (code, record) = tested(&scene, &server, &["--allow-workspace"]);
    let usual = ["worked", "not-in-edition", "not-sent"];
    let checks = record["checks"].as_array().unwrap().iter();
    let rest: Vec<&Value> = checks.filter(|check| !usual.contains(&check["result"].as_str().unwrap())).collect();
    assert!(rest.is_empty(), "{rest:#?}");
    assert_eq!(code, 0);
    assert!(with(&record, "worked").len() > 30, "{record}");
    assert!(with(&record, "worked").contains(&"remove the workspace"));
    assert_nothing_is_left(&server);
    // The screen has the answer first.
    let shown = common::said(&command(&scene, &server, &[]).output().unwrap());
    assert!(shown.code == 0 && shown.out.lines().nth(3).unwrap().starts_with("All "), "{shown:#?}");
    assert!(shown.out.contains("--allow-workspace"));
}

#[test]
fn what_a_user_may_not_do_is_named_with_the_right_for_it() {
    let revoke = "REVOKE EXECUTE ON FUNCTION pg_current_wal_lsn() FROM public";
    let (scene, server) = (Scene::new(), server(&[revoke]));
    let (code, record) = tested(&scene, &server, &["--allow-workspace"]);
    assert_eq!(code, 5, "{record}");
    let refused = check(&record, "position of the log");
    assert_eq!([&refused["result"], &refused["code"], &refused["class"]], ["needs-right", "42501", "permission"]);
    assert!(refused["permission"].as_str().unwrap().contains("pg_current_wal_lsn"));
    assert_eq!(check(&record, "claim a workspace")["result"], "needs-right");
    assert_eq!(check(&record, "scan")["detail"], "there was no workspace");
    // On the screen the names are there.
    let shown = common::said(&command(&scene, &server, &["--allow-workspace"]).output().unwrap());
    assert!(shown.out.contains("quokkabase") && shown.out.contains("GRANT CREATE"), "{shown:#?}");
    // With a workspace, what may not be seen is left out and stops nothing else.
    server.psql_in("quokkabase", MAY_CREATE).unwrap();
    let (code, record) = tested(&scene, &server, &["--allow-workspace"]);
    let rights = [
        "timeline",
        "folder of the cluster",
        "sees the position of the log",
        "position of the log",
        "counters of a workspace",
    ];
    let needs: Vec<&str> = with(&record, "needs-right").into_iter().filter(|name| *name != "checkpoint").collect();
    assert_eq!(needs, rights);
    let counted = check(&record, "counters of a session");
    assert_eq!((code, &counted["detail"]), (5, &Value::from("cache_miss_pages")), "{counted}");
}

#[test]
fn words_of_the_owners_own_stay_with_the_owner() {
    let trigger = at_a_new_table("RAISE EXCEPTION 'Ottoline forbids'");
    let (scene, server) = (Scene::new(), server(&[MAY_CREATE, &trigger]));
    let (code, record) = tested(&scene, &server, &["--allow-workspace"]);
    assert_eq!((code, &check(&record, "make a table")["code"]), (7, &Value::from("P0001")));
    assert_eq!(check(&record, "scan")["result"], "not-sent");
    assert_nothing_is_left(&server);
    let shown = common::said(&command(&scene, &server, &["--allow-workspace"]).output().unwrap());
    assert!(shown.out.contains("Ottoline forbids"), "{shown:#?}");
}

#[test]
fn what_does_not_end_is_ended() {
    let (scene, server) = (Scene::new(), server(&[MAY_CREATE, &at_a_new_table("PERFORM pg_sleep(600)")]));
    let (code, record) = tested(&scene, &server, &["--allow-workspace"]);
    assert_eq!((code, with(&record, "timed-out")), (7, vec!["make a table"]));
    assert_nothing_is_left(&server);
}

#[test]
fn an_interrupt_keeps_what_was_found_and_leaves_nothing() {
    let (scene, server) = (Scene::new(), server(&[MAY_CREATE, &at_a_new_table("PERFORM pg_sleep(600)")]));
    let mut child = command(&scene, &server, &["--allow-workspace", "--report", "r.md"]).spawn().unwrap();
    wait_until(|| is_asleep(&server));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let file = std::fs::read_to_string(scene.path("r.md")).unwrap();
    assert!(file.contains("it was interrupted") && file.contains("| claim a workspace | worked |"), "{file}");
    assert_nothing_is_left(&server);
}

fn is_asleep(server: &Postgres) -> bool {
    server.psql("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'").unwrap().trim() == "1"
}

#[test]
fn a_server_that_goes_away_leaves_a_report() {
    let (scene, server) = (Scene::new(), server(&[MAY_CREATE, &at_a_new_table("PERFORM pg_sleep(600)")]));
    let mut child = command(&scene, &server, &["--allow-workspace", "--report", "r.md"]).spawn().unwrap();
    wait_until(|| is_asleep(&server));
    server.stop_immediate().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(7));
    let file = std::fs::read_to_string(scene.path("r.md")).unwrap();
    assert!(file.contains("'plimsoll clean' does it later"), "{file}");
    server.restart().unwrap();
    let url = format!("postgres://zephyrine:guarded-s3cret@127.0.0.1:{}/quokkabase", server.port());
    assert_eq!(scene.say(&["clean", &url]).code, 0);
    assert_nothing_is_left(&server);
}

#[test]
fn an_engine_without_a_list_of_statements_asks_for_consent() {
    let scene = Scene::new();
    let target = "lab:azure-sql-db/S2@v12-ga-2015-01".to_owned();
    scene.say(&["doctor", &target, "--self-test"]).failed(6, &["--allow-workspace"]);
    let said = scene.say(&["doctor", &target, "--self-test", "--allow-workspace", "--json"]);
    assert_eq!(said.code, 0, "{said:#?}");
    assert_eq!(check(&said.json()[0], "read all rows")["result"], "worked");
    assert!(scene.leftovers().is_empty());
    for words in [&["--report", "gone/r.md"][..], &["--json", "--report", "-"], &["--report", "/dev/full"]] {
        let code = if words.contains(&"/dev/full") { 7 } else { 2 };
        let all = [&["doctor", &target, "--self-test", "--allow-workspace"], words].concat();
        scene.say(&all).failed(code, &[]);
    }
}
