//! The whole path on a real PostgreSQL: complete runs, proofs, every way to be refused, and what is left after a kill.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::io::Write as _;
use std::sync::OnceLock;

use common::{Said, Scene, wait_until};
use plimsoll_testbed::Postgres;
use serde_json::Value;

const PLANTED: &str = "planted-pa55word";

/// One server for all tests of this file; what they make there is theirs alone.
fn server() -> &'static Postgres {
    static SERVER: OnceLock<Postgres> = OnceLock::new();
    SERVER.get_or_init(|| {
        let server =
            Postgres::builder().shared_buffers_mb(32).data_dir_in(env!("CARGO_TARGET_TMPDIR")).start().unwrap();
        let roles = format!(
            "CREATE ROLE owner LOGIN PASSWORD '{PLANTED}'; CREATE ROLE reader LOGIN PASSWORD '{PLANTED}'; \
             CREATE ROLE visitor LOGIN PASSWORD '{PLANTED}'; \
             ALTER ROLE reader SET default_transaction_read_only = on"
        );
        server.psql(&roles).unwrap();
        server
    })
}

/// A database of a test's own, so that tests don't see each other's places.
fn database(name: &str) -> String {
    server().psql(&format!("CREATE DATABASE {name} OWNER owner")).unwrap();
    server().socket_url(name)
}

fn over_tcp(user: &str, name: &str) -> String {
    format!("postgres://{user}@127.0.0.1:{}/{name}", server().port())
}

fn schemas(name: &str) -> String {
    server().psql_in(name, "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'plimsoll%'").unwrap().trim().to_owned()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("not a number: {value}"))
}

fn points(record: &Value) -> impl Iterator<Item = &Value> {
    record["repetitions"].as_array().unwrap().iter().flat_map(|repetition| repetition["points"].as_array().unwrap())
}

#[test]
fn every_test_is_complete_and_proved_and_agrees_with_sqlite() {
    let scene = Scene::new();
    let target = database("complete");
    let quiet = server_of_its_own();
    for (test, sets) in [
        ("read-scan", &["--set", "volume=128MiB"][..]),
        (
            "write-chunk",
            &["--set", "volume=20MiB", "--set", "chunk=2MiB", "--set", "source=256KiB", "--set", "at_least=0s"],
        ),
        ("cpu-join", &["--set", "rows=2000", "--set", "stop_after=1m"]),
        ("memory", &["--set", "first_set=8MiB"]),
    ] {
        // Neighbours would take their part of the memory.
        let target = if test == "memory" { &quiet.socket_url("postgres") } else { &target };
        let words = ["run", test, "--target", target, "--short", "--json", "--repetitions", "2"];
        let said = scene.say(&[&words[..], sets].concat());
        assert_eq!(said.code, 0, "{test}: {said:#?}");
        let record = said.json().remove(0);
        assert_eq!(record["repetitions"].as_array().unwrap().iter().filter(|r| r["complete"] == true).count(), 2);
        match test {
            "read-scan" => proved_cold(&record),
            "write-chunk" => points(&record).for_each(|point| {
                assert!(number(&point["metrics"]["log_bytes"]) > number(&point["metrics"]["content_bytes"]));
            }),
            "cpu-join" => {
                let local =
                    scene.say(&[&["run", test, "--target", &scene.sqlite(), "--short", "--json"][..], sets].concat());
                assert_eq!(matches(&record), matches(&local.json()[0]), "a join has the same matches on both engines");
            }
            _ => {
                let found = number(&record["result"]["value"]);
                assert!((found / 32.0 - 1.0).abs() <= 0.1, "{found} MB of shared_buffers of 32 MB");
            }
        }
        assert_eq!(schemas("complete"), "", "{test} left something");
    }
    // The same by restarts, on a server that nobody else uses.
    let url = quiet.socket_url("postgres");
    let words =
        ["run", "read-scan", "--target", &url, "--short", "--json", "--repetitions", "2", "--set", "volume=40MiB"];
    let said = scene.say(&[&words[..], &["--restart-command", &quiet.restart_command()]].concat());
    assert_eq!(said.code, 0, "{said:#?}");
    let record = &said.json()[0];
    assert_eq!(record["repetitions"][0]["cold"]["methods"][0], "restart");
    proved_cold(record);
}

fn server_of_its_own() -> Postgres {
    Postgres::builder().shared_buffers_mb(32).data_dir_in(env!("CARGO_TARGET_TMPDIR")).start().unwrap()
}

/// Misses equal the pages within 2 %; where the device can be seen, it delivered at least 98 % of them.
fn proved_cold(record: &Value) {
    for repetition in record["repetitions"].as_array().unwrap() {
        let cold = &repetition["cold"];
        let misses = number(&cold["engine_miss_percent"]);
        assert!((98.0..=102.0).contains(&misses), "{cold}");
        if common::on_a_device(std::path::Path::new(env!("CARGO_TARGET_TMPDIR"))) {
            assert!(number(&cold["device_read_percent"]) >= 98.0 && cold["verified"] == true, "{cold}");
        }
    }
}

/// Matches by N, whoever timed it.
fn matches(record: &Value) -> std::collections::BTreeMap<u64, u64> {
    points(record)
        .map(|point| (point["metrics"]["join_rows"].as_u64().unwrap(), point["metrics"]["matches"].as_u64().unwrap()))
        .collect()
}

#[test]
fn whoever_cannot_get_in_is_told_why_and_no_password_is_seen_anywhere() {
    let scene = Scene::new();
    database("guarded");
    std::fs::write(scene.path("right"), format!("{PLANTED}\n")).unwrap();
    std::fs::write(scene.path("wrong"), format!("{PLANTED}-not\n")).unwrap();
    let run = |target: &str, more: &[&str]| {
        let words = ["run", "read-scan", "--target", target, "--short", "--json", "--set", "volume=8MiB"];
        scene.say(&[&words[..], more].concat())
    };
    let right = &["--password-file", "right"][..];
    let mut all: Vec<Said> = Vec::new();
    let mut expect = |said: Said, code: i32, words: &[&str]| {
        said.failed(code, words);
        assert_eq!(said.json()[0]["error"]["exit_code"], code);
        all.push(said);
    };
    expect(run("postgres://u@127.0.0.1:1/db", right), 4, &["127.0.0.1:1"]);
    expect(run("postgres://u@no.such.host.invalid/db", right), 4, &["no.such.host.invalid"]);
    expect(run(&over_tcp("owner", "guarded"), &["--password-file", "wrong"]), 4, &["owner"]);
    expect(run(&over_tcp("owner", "guarded"), &[]), 4, &["password"]);
    expect(run(&over_tcp("owner", "nowhere"), right), 4, &["nowhere"]);
    expect(run(&over_tcp("reader", "guarded"), right), 5, &["read-only", "default_transaction_read_only"]);
    expect(run(&over_tcp("visitor", "guarded"), right), 5, &["GRANT CREATE"]);
    let inline = format!("postgres://owner:{PLANTED}@127.0.0.1:{}/guarded?password={PLANTED}", server().port());
    let said = run(&inline, &["--repetitions", "1"]);
    assert!(said.err.contains("the URL holds a password"), "{said:#?}");
    all.push(said);
    all.push(run(&over_tcp("owner", "guarded"), &[right, &["--repetitions", "1"]].concat()));
    assert_eq!(all.last().unwrap().code, 0, "{all:#?}");
    all.push(scene.say(&["doctor", &over_tcp("owner", "guarded"), "--password-file", "right"]));
    assert_eq!(all.last().unwrap().code, 0, "{all:#?}");
    all.push(scene.say(&["report", "latest", "--html", "-", "--markdown", "-", "--csv", "-"]));
    all.push(scene.say(&["show", "latest", "--json"]));
    for said in &all {
        assert!(!said.out.contains(PLANTED) && !said.err.contains(PLANTED), "{said:#?}");
    }
    for entry in std::fs::read_dir(scene.folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() && !path.ends_with("right") && !path.ends_with("wrong") {
            let bytes = std::fs::read(&path).unwrap();
            let found = bytes.windows(PLANTED.len()).any(|window| window == PLANTED.as_bytes());
            assert!(!found, "the password is in {}", path.display());
        }
    }
    assert_eq!(schemas("guarded"), "");
}

#[test]
fn what_is_not_ours_is_never_touched() {
    let scene = Scene::new();
    let target = database("strangers");
    server()
        .psql_in("strangers", "CREATE SCHEMA plimsoll_run_somebody; CREATE TABLE plimsoll_run_somebody.t (a int)")
        .unwrap();
    let words = ["run", "cpu-join", "--target", &target, "--short", "--set", "rows=1000", "--repetitions", "1"];
    assert_eq!(scene.say(&words).code, 0);
    assert_eq!(scene.say(&["clean", &target, "--data"]).code, 0);
    assert_eq!(schemas("strangers"), "plimsoll_run_somebody");
}

#[test]
fn kept_data_is_shared_and_an_interrupted_load_goes_on_by_table() {
    let scene = Scene::new();
    let target = database("kept");
    let words = ["run", "read-scan", "--target", &target, "--short", "--json", "--set", "volume=200MiB"];
    let keep = [&words[..], &["--keep-data", "--repetitions", "1"]].concat();
    let mut child = scene.spawn(&keep);
    wait_until(|| schemas("kept").contains("plimsoll_data") && manifest() >= 3);
    child.kill().unwrap();
    child.wait().unwrap();
    let finished = manifest();
    assert!((3..10).contains(&finished), "{finished} tables were finished");
    let oldest = oid_of_table("table0");
    let said = scene.say(&keep);
    assert_eq!(said.code, 0, "{said:#?}");
    assert_eq!(manifest(), 10);
    assert_eq!(oid_of_table("table0"), oldest, "a finished table is not loaded again");
    let again = scene.say(&[&words[..], &["--repetitions", "1"]].concat());
    assert_eq!(again.json()[0]["parameters"]["data_reused"], true);
    assert_eq!(scene.say(&["clean", &target]).code, 0);
    assert!(schemas("kept").starts_with("plimsoll_data_"));
    assert_eq!(scene.say(&["clean", &target, "--data"]).code, 0);
    assert_eq!(schemas("kept"), "");
}

fn in_kept_set(column: &str) -> i64 {
    let workspace =
        schemas("kept").lines().find(|line| line.starts_with("plimsoll_data")).unwrap_or_default().to_owned();
    let counted = server().psql_in("kept", &format!("SELECT {}", column.replace("PLACE", &workspace)));
    counted.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

fn manifest() -> i64 {
    in_kept_set("count(*) FROM PLACE.plimsoll_manifest")
}

fn oid_of_table(table: &str) -> i64 {
    in_kept_set(&format!("'PLACE.{table}'::regclass::oid"))
}

#[test]
fn a_killed_run_leaves_orphans_that_clean_ends_while_a_neighbour_lives_on() {
    let scene = Scene::new();
    let target = database("killed");
    // One long statement: the server does not notice that its client is gone.
    let words = ["run", "cpu-join", "--target", &target, "--set", "rows=100000", "--set", "stop_after=10m"];
    let mut child = scene.spawn(&words);
    wait_until(|| stored_points(&scene) >= 3);
    let seen = stored_points(&scene);
    let neighbour =
        scene.spawn(&["run", "read-scan", "--target", &target, "--short", "--json", "--set", "volume=60MiB"]);
    wait_until(|| working() >= 3);
    child.kill().unwrap();
    child.wait().unwrap();
    let cleaned = scene.say(&["clean", &target]);
    assert_eq!(cleaned.code, 0, "{cleaned:#?}");
    let neighbour = common::said(&neighbour.wait_with_output().unwrap());
    assert_eq!(neighbour.code, 0, "{neighbour:#?}");
    wait_until(|| working() == 0);
    assert_eq!(schemas("killed"), "");
    let killed = scene.say(&["runs", "--json", "--test", "cpu-join"]).json().remove(0);
    let record = scene.say(&["show", killed["run_id"].as_str().unwrap(), "--json"]).json().remove(0);
    assert!(points(&record).count() >= seen as usize);
}

/// Sessions that work for some run in that database.
fn working() -> i64 {
    let sql =
        "SELECT count(*) FROM pg_stat_activity WHERE datname = 'killed' AND application_name LIKE 'plimsoll work%'";
    server().psql(sql).unwrap().trim().parse().unwrap()
}

fn stored_points(scene: &Scene) -> i64 {
    rusqlite::Connection::open(scene.store())
        .and_then(|store| store.query_row("SELECT count(*) FROM event WHERE kind = 'point'", [], |row| row.get(0)))
        .unwrap_or(0)
}

#[test]
fn a_server_that_dies_in_mid_run_ends_it_with_what_was_measured() {
    let scene = Scene::new();
    let server = server_of_its_own();
    let target = server.socket_url("postgres");
    let words = ["run", "write-chunk", "--target", &target, "--short", "--json", "--set", "at_least=10m"];
    let child = scene.spawn(&words);
    wait_until(|| stored_points(&scene) >= 2);
    server.stop_immediate().unwrap();
    let said = common::said(&child.wait_with_output().unwrap());
    said.failed(7, &[]);
    let record = &said.json()[0];
    assert_eq!(record["error"]["kind"], "connection-lost", "{record}");
    assert!(points(record).count() >= 2);
    assert!(record["warnings"].to_string().contains("plimsoll clean"), "{record}");
}

#[test]
fn a_full_disk_is_refused_before_and_survived_during_a_run() {
    let Some(disk) = common::Tmpfs::mount(400) else {
        let _ = writeln!(std::io::stderr(), "a full disk was not tried: mounting a small one needs root");
        return;
    };
    let scene = Scene::new();
    std::fs::create_dir(scene.path("wal")).unwrap();
    let server = Postgres::builder().data_dir_in(&disk.path).wal_dir_in(scene.path("wal")).start().unwrap();
    let target = server.socket_url("postgres");
    let words = ["run", "read-scan", "--target", &target, "--short", "--json", "--set", "volume=2GiB"];
    scene.say(&words).failed(6, &["free"]);
    // A user who can't see where the data is can't know beforehand.
    server
        .psql(&format!("CREATE ROLE owner LOGIN PASSWORD '{PLANTED}'; GRANT CREATE ON DATABASE postgres TO owner"))
        .unwrap();
    std::fs::write(scene.path("right"), PLANTED).unwrap();
    let blind = format!("postgres://owner@127.0.0.1:{}/postgres", server.port());
    let words = [
        "run",
        "read-scan",
        "--target",
        &blind,
        "--short",
        "--json",
        "--set",
        "volume=2GiB",
        "--password-file",
        "right",
    ];
    let said = scene.say(&words);
    said.failed(7, &[]);
    assert_eq!(said.json()[0]["error"]["kind"], "disk-full", "{said:#?}");
    let left = server.psql("SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'plimsoll%'").unwrap();
    assert_eq!(left.trim(), "0");
}
