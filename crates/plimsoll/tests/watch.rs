//! `plimsoll watch` as people and scripts use it, on a PostgreSQL with a known load.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStdout};

use common::Scene;
use plimsoll_testbed::Postgres;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

fn server() -> Postgres {
    let builder = Postgres::builder().setting("shared_preload_libraries", "pg_stat_statements");
    let server = builder.data_dir_in(env!("CARGO_TARGET_TMPDIR")).start().unwrap();
    server.psql("CREATE EXTENSION pg_stat_statements; CREATE TABLE held (k int)").unwrap();
    server
}

/// A watch that has begun, and its first line: what happens from now on is in the others.
fn begun(scene: &Scene, words: &[&str]) -> (Child, BufReader<ChildStdout>, String) {
    let mut child = scene.spawn(words);
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    lines.read_line(&mut first).unwrap();
    (child, lines, first)
}

/// Ctrl-C, and what was still said.
fn interrupted(mut child: Child, mut lines: BufReader<ChildStdout>) -> (i32, String, String) {
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let (mut out, mut err) = (String::new(), String::new());
    lines.read_to_string(&mut out).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    (child.wait().unwrap().code().unwrap(), out, err)
}

fn load(server: &Postgres, times: usize) {
    server.psql(&"INSERT INTO held SELECT generate_series(1, 3); ".repeat(times)).unwrap();
}

#[test]
fn scripts_get_every_execution_of_a_known_load_in_some_slot() {
    let (scene, server) = (Scene::new(), server());
    let url = server.socket_url("postgres");
    let (child, lines, first) = begun(&scene, &["watch", &url, "--every", "1s", "--json"]);
    load(&server, 40);
    let (code, out, err) = interrupted(child, lines);
    assert_eq!(code, 130, "{err}");
    assert!(err.contains("of the server's time"), "{err}");
    let slots: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(serde_json::from_str::<Value>(&first).unwrap()["slot_start"].as_str().unwrap().ends_with('Z'));
    let queries = |slot: &Value| slot["queries"].as_array().unwrap().clone();
    let all: Vec<Value> = slots.iter().flat_map(queries).collect();
    let is_ours = |query: &&Value| query["text"].as_str().is_some_and(|text| text.contains("INSERT INTO held"));
    let sum = |name: &str| all.iter().filter(is_ours).map(|query| query[name].as_u64().unwrap()).sum::<u64>();
    assert_eq!((sum("executions"), sum("rows")), (40, 120), "{out}");
    assert!(!out.contains("/* plimsoll watch */"), "{out}");
    for slot in &slots {
        assert!(slot["status"] == "exact" && slot["seconds"].as_f64().unwrap() > 0.0, "{slot}");
        assert!(slot["coverage_percent"].as_f64().is_some() && slot["own_us"].as_u64().unwrap() > 0, "{slot}");
    }
}

#[test]
fn people_get_a_line_for_each_slot_and_the_answer_at_the_end() {
    let (scene, server) = (Scene::new(), server());
    let url = server.socket_url("postgres");
    let (child, lines, first) = begun(&scene, &["watch", &url, "--every", "1s"]);
    assert!(first.contains(" active ") && first.contains("exact"), "{first}");
    load(&server, 2_000);
    let (code, out, err) = interrupted(child, lines);
    assert_eq!(code, 130, "{err}");
    assert!(err.contains("Nothing is stored"), "{err}");
    assert!(out.contains("'INSERT INTO held SELECT generate_series($1, $2)' costs most: "), "{out}");
    let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("of the database time, in 2,000 executions of "), "{out}");
    let row = out.lines().rfind(|line| line.trim_start().starts_with("INSERT INTO held")).unwrap();
    assert!(row.contains("2,000") && row.contains("6,000") && row.contains("exact"), "{row}");
    assert!(out.contains("these statements are left out") && !out.contains("plimsoll watch */"), "{out}");
}

#[test]
fn what_is_missing_has_its_exit_code_and_a_next_step() {
    let scene = Scene::new();
    let bare = Postgres::builder().data_dir_in(env!("CARGO_TARGET_TMPDIR")).start().unwrap();
    let url = bare.socket_url("postgres");
    scene.say(&["watch", &url]).failed(3, &["pg_stat_statements", "shared_preload_libraries"]);
    scene.say(&["watch", &url, "--every", "100ms"]).failed(2, &["--every", "it is from"]);
    scene.say(&["watch", &url, "--for", "soon"]).failed(2, &["--for"]);
    scene.say(&["watch", &scene.sqlite()]).failed(2, &["no statistics of statements"]);
}

#[test]
fn a_server_that_is_away_for_a_while_leaves_a_gap_and_no_spike() {
    let (scene, server) = (Scene::new(), server());
    let url = server.socket_url("postgres");
    let (child, mut lines, _) = begun(&scene, &["watch", &url, "--every", "1s", "--json"]);
    load(&server, 10);
    // A start that is nearer than two seconds to the one before is taken for the same.
    server.psql("SELECT pg_sleep(2.5)").unwrap();
    server.restart().unwrap();
    load(&server, 5);
    // Two more slots: the second was begun after the load.
    let mut out = String::new();
    lines.read_line(&mut out).unwrap();
    lines.read_line(&mut out).unwrap();
    let (code, rest, err) = interrupted(child, lines);
    assert_eq!(code, 130, "{err}");
    out.push_str(&rest);
    let slots: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(slots.iter().any(|slot| slot["event"] == "restart"), "{out}");
    let executions = slots.iter().flat_map(|slot| slot["queries"].as_array().unwrap()).filter_map(|query| {
        query["text"].as_str()?.contains("INSERT INTO held").then(|| query["executions"].as_u64())?
    });
    assert_eq!(executions.sum::<u64>(), 15, "{out}");
}
