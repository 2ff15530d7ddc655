//! Sessions that few threads serve, on a real PostgreSQL: their counts are the server's, and what may happen to one session holds up
//! no other.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::time::Duration;

use common::{Said, Scene, wait_until};
use plimsoll_testbed::Postgres;
use serde_json::Value;

fn server() -> Postgres {
    Postgres::builder().shared_buffers_mb(32).data_dir_in(env!("CARGO_TARGET_TMPDIR")).start().unwrap()
}

const FEW: [&str; 8] = ["--json", "--quiet", "--repetitions", "1", "--set", "threads=few", "--set", "sessions=30"];

fn run<'a>(test: &'a str, target: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["run", test, "--target", target][..], &FEW, more].concat()
}

fn record(said: &Said) -> Value {
    assert_eq!(said.code, 0, "{said:?}");
    said.json().remove(0)
}

fn sum(record: &Value, key: &str) -> u64 {
    let kinds = record["repetitions"][0]["requests"].as_array().unwrap();
    kinds.iter().map(|kind| kind[key].as_u64().unwrap_or(0)).sum()
}

fn definition(scene: &Scene, text: &str) -> String {
    let path = scene.path("own.toml");
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[test]
fn requests_are_those_that_the_server_counts() {
    let (scene, server) = (Scene::new(), server());
    let target = server.socket_url("postgres");
    server.psql("CREATE TABLE theirs (id int, text text)").unwrap();
    let text = "name = \"own\"\nsteps = [\"requests\"]\nexisting = true\nwrites = true\n[[request]]\nname = \"insert\"\n\
                statements = [\"INSERT INTO theirs VALUES (:id, :text)\"]\n[request.parameters]\nid = { uniform = [1, 1000] }\n\
                text = { text = 50 }\n[[request]]\nname = \"pair\"\ntransaction = true\n\
                statements = [\"INSERT INTO theirs VALUES (1, NULL)\", \"SELECT count(*) FROM theirs WHERE id = 0\"]\n";
    let own = definition(&scene, text);
    let record = record(&scene.say(&run(&own, &target, &["--allow-writes", "--set", "duration=2s"])));
    assert_eq!(record["host"]["client"]["sessions_per_thread"], 30, "{record}");
    // What was answered after the end is known too.
    let made = sum(&record, "operations") + sum(&record, "drained");
    let count = server.psql("SELECT count(*) FROM theirs").unwrap();
    assert_eq!(count.trim(), made.to_string(), "{record}");
    assert!(made > 100);
    assert!(!record["warnings"].to_string().contains("a thread of its own"), "{record}");
    let sets = ["--set", "threads=few", "--set", "duration=1s", "--set", "volume=2MiB"];
    let few = [&["run", "bulk-load", "--target", &target, "--json", "--repetitions", "1"][..], &sets].concat();
    let record = &scene.say(&few).json()[0];
    assert!(record["warnings"].to_string().contains("each session has a thread of its own"), "{record}");
    let one_each =
        ["run", "direct-select", "--target", &target, "--set", "duration=1s", "--json", "--repetitions", "1"];
    let record = &scene.say(&one_each).json()[0];
    assert!(record["host"]["client"]["sessions_per_thread"].is_null(), "{record}");
}

/// Each half of a transaction takes a row that the other half of another wants.
#[test]
fn a_session_that_waits_before_it_tries_again_holds_up_no_other() {
    let (scene, server) = (Scene::new(), server());
    let target = server.socket_url("postgres");
    server.psql("CREATE TABLE counts (id int PRIMARY KEY, n int); INSERT INTO counts VALUES (1, 0), (2, 0)").unwrap();
    server.psql("ALTER DATABASE postgres SET deadlock_timeout = '5ms'").unwrap();
    let half = |name: &str, first: u32, second: u32| {
        format!(
            "[[request]]\nname = \"{name}\"\ntransaction = true\nstatements = [\"UPDATE counts SET n = n + 1 WHERE id = {first}\", \
             \"SELECT 1\", \"UPDATE counts SET n = n + 1 WHERE id = {second}\"]\n"
        )
    };
    let head = "name = \"own\"\nsteps = [\"requests\"]\nexisting = true\nwrites = true\n";
    let own = definition(&scene, &format!("{head}{}{}", half("up", 1, 2), half("down", 2, 1)));
    let record =
        record(&scene.say(&run(&own, &target, &["--allow-writes", "--set", "duration=2s", "--set", "sessions=4"])));
    assert!(sum(&record, "retries") > 0, "{record}");
    let seen = server.psql("SELECT min(n), max(n) FROM counts").unwrap();
    let made = sum(&record, "operations") + sum(&record, "drained");
    assert_eq!(seen.trim(), format!("{made}|{made}"), "{record}");
}

#[test]
fn long_answers_and_long_requests_come_whole() {
    let (scene, server) = (Scene::new(), server());
    let target = server.socket_url("postgres");
    let text = "name = \"own\"\nsteps = [\"requests\"]\nexisting = true\n[[request]]\nname = \"long\"\n\
                statements = [\"SELECT :text || repeat('x', 100000) FROM generate_series(1, 20)\"]\n[request.parameters]\n\
                text = { text = 900000 }\n[[request]]\nname = \"short\"\nstatements = [\"SELECT 1\"]\n";
    let own = definition(&scene, text);
    let record = record(&scene.say(&run(&own, &target, &["--set", "duration=5s"])));
    let kinds = record["repetitions"][0]["requests"].as_array().unwrap();
    let long = kinds.iter().find(|kind| kind["kind"] == "long").unwrap();
    let number = |key: &str| long[key].as_u64().unwrap();
    assert!(number("operations") > 0, "{record}");
    assert_eq!(number("content_bytes"), 1_000_000 * number("rows"), "{long}");
    assert_eq!(number("rows"), 20 * number("operations"), "{long}");
}

#[test]
fn sessions_that_are_ended_come_back() {
    let (scene, server) = (Scene::new(), server());
    let target = server.socket_url("postgres");
    let words = run("direct-select", &target, &["--set", "volume=2MiB", "--set", "duration=6s", "--set", "rate=500"]);
    let child = scene.spawn(&words);
    let sessions =
        "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'plimsoll work%' AND query LIKE 'SELECT%'";
    wait_until(|| server.psql(sessions).unwrap().trim().parse::<u32>().unwrap() >= 30);
    std::thread::sleep(Duration::from_secs(1));
    // Some of them, and not the one that holds the lease.
    let ended = server
        .psql(
            "SELECT count(pg_terminate_backend(pid)) FROM (SELECT pid FROM pg_stat_activity \
             WHERE application_name LIKE 'plimsoll work%' AND query LIKE 'SELECT%table0%' LIMIT 7) AS picked",
        )
        .unwrap();
    assert_eq!(ended.trim(), "7");
    let record = record(&common::said(&child.wait_with_output().unwrap()));
    let lost = &record["repetitions"][0]["seconds"]["errors_by_class"]["connection-lost"];
    let lost: u64 = lost.as_array().unwrap().iter().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(lost, 7, "{record}");
    assert!(record["warnings"].to_string().contains("came back"), "{record}");
    // The others went on meanwhile: all that was due was done, but for what a busy machine had not begun at the end.
    let backlog = record["repetitions"][0]["phases"][0]["backlog"].as_u64().unwrap_or(0);
    let made = sum(&record, "operations") + sum(&record, "drained") + lost;
    assert_eq!(made + backlog, 3000, "{record}");
    assert!(made > 2500, "{record}");
}

#[test]
fn an_interrupt_ends_them_all() {
    let (scene, server) = (Scene::new(), server());
    let target = server.socket_url("postgres");
    let text = "name = \"own\"\nsteps = [\"requests\"]\nexisting = true\n[[request]]\nname = \"slow\"\n\
                statements = [\"SELECT pg_sleep(100)\"]\n[[request]]\nname = \"short\"\nstatements = [\"SELECT 1\"]\n";
    let own = definition(&scene, text);
    let child = scene.spawn(&run(&own, &target, &["--set", "duration=10m"]));
    let sleeping = "SELECT count(*) FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(100)' AND state = 'active'";
    wait_until(|| server.psql(sleeping).unwrap().trim() == "30");
    assert!(std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let said = common::said(&child.wait_with_output().unwrap());
    assert_eq!(said.code, 130, "{said:?}");
    assert_eq!(server.psql(sleeping).unwrap().trim(), "0");
}

#[test]
fn all_sessions_come_back_when_the_server_does() {
    let (scene, server) = (Scene::new(), server());
    let target = server.socket_url("postgres");
    let child = scene.spawn(&run("update", &target, &["--set", "volume=2MiB", "--set", "duration=15s"]));
    let working =
        "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'plimsoll work%' AND query LIKE 'UPDATE%'";
    wait_until(|| server.psql(working).unwrap().trim().parse::<u32>().unwrap() >= 30);
    std::thread::sleep(Duration::from_secs(1));
    server.stop_immediate().unwrap();
    server.restart().unwrap();
    let record = record(&common::said(&child.wait_with_output().unwrap()));
    let seconds = &record["repetitions"][0]["seconds"];
    let lost: u64 =
        seconds["errors_by_class"]["connection-lost"].as_array().unwrap().iter().filter_map(Value::as_u64).sum();
    assert!(
        (1..=60).contains(&lost),
        "each session loses a request, and another one if it came back too early: {lost}"
    );
    let operations: Vec<u64> = seconds["operations"].as_array().unwrap().iter().filter_map(Value::as_u64).collect();
    assert!(operations[operations.len() - 2] > 0, "{operations:?}");
    assert!(record["warnings"].to_string().contains("came back"), "{record}");
}
