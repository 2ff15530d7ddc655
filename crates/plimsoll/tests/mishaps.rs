//! What may happen to a target while requests are made of it: each ends with what was measured, a clear message, the right
//! code, and nothing of ours left.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::io::Write as _;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use common::{Said, Scene, wait_until};
use plimsoll_testbed::Postgres;
use serde_json::Value;

const PLANTED: &str = "planted-pa55word";

fn server() -> Postgres {
    Postgres::builder().shared_buffers_mb(32).data_dir_in(env!("CARGO_TARGET_TMPDIR")).start().unwrap()
}

/// A run of requests in one repetition, for so many seconds, that has begun to make them.
fn started(scene: &Scene, server: &Postgres, target: &str, test: &str, more: &[&str]) -> Child {
    let common = ["run", test, "--target", target, "--short", "--json", "--repetitions", "1", "--set", "volume=2MiB"];
    let child = scene.spawn(&[&common, more].concat());
    let working = "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'plimsoll work%' \
                   AND query ~ '^(INSERT|UPDATE|DELETE)'";
    wait_until(|| server.psql(working).unwrap().trim() != "0");
    // Some requests of a second or two.
    std::thread::sleep(Duration::from_millis(1500));
    child
}

fn ended(child: Child) -> (Said, Value) {
    let said = common::said(&child.wait_with_output().unwrap());
    let record = said.json().remove(0);
    (said, record)
}

fn schemas(server: &Postgres) -> String {
    server
        .psql("SELECT string_agg(nspname, ' ') FROM pg_namespace WHERE nspname LIKE 'plimsoll%'")
        .unwrap()
        .trim()
        .to_owned()
}

fn answered(record: &Value) -> u64 {
    let kinds = record["repetitions"][0]["requests"].as_array().unwrap();
    kinds.iter().map(|kind| kind["operations"].as_u64().unwrap()).sum()
}

#[test]
fn a_server_that_goes_and_comes_back_leaves_a_gap() {
    let scene = Scene::new();
    let server = server();
    let target = server.socket_url("postgres");
    let child = started(&scene, &server, &target, "insert-delete", &["--set", "duration=20s"]);
    server.stop_immediate().unwrap();
    std::thread::sleep(Duration::from_secs(2));
    server.restart().unwrap();
    std::thread::sleep(Duration::from_secs(3));
    // The lease was taken again: whoever cleans up leaves the run alone.
    let clean = scene.say(&["clean", &target]);
    assert_eq!(clean.code, 0, "{clean:?}");
    let (said, record) = ended(child);
    assert_eq!(said.code, 0, "{said:#?}");
    let seconds = &record["repetitions"][0]["seconds"];
    let lost = &seconds["errors_by_class"]["connection-lost"];
    let lost: u64 = lost.as_array().unwrap().iter().map(|count| count.as_u64().unwrap()).sum();
    assert!((1..=8).contains(&lost), "each session loses one request: {lost}");
    let operations: Vec<u64> =
        seconds["operations"].as_array().unwrap().iter().map(|count| count.as_u64().unwrap()).collect();
    assert!(operations.contains(&0), "there is a gap: {operations:?}");
    assert!(operations[operations.len() - 2] > 0, "and work after it: {operations:?}");
    assert!(record["warnings"].to_string().contains("came back"), "{record}");
    assert_eq!(schemas(&server), "");
}

#[test]
fn a_server_that_stays_away_ends_the_run() {
    let scene = Scene::new();
    let server = server();
    let target = server.socket_url("postgres");
    let child = started(&scene, &server, &target, "insert-delete", &["--set", "duration=12s"]);
    server.stop_immediate().unwrap();
    let (said, record) = ended(child);
    said.failed(7, &["did not come back"]);
    assert_eq!(record["error"]["kind"], "connection-lost", "{record}");
    assert!(!record["warnings"].to_string().contains("came back"), "{record}");
    assert!(answered(&record) > 0);
    server.restart().unwrap();
    assert_eq!(scene.say(&["clean", &target]).code, 0);
    assert_eq!(schemas(&server), "");
}

#[test]
fn a_table_that_goes_ends_the_run_at_once() {
    let scene = Scene::new();
    let server = server();
    let target = server.socket_url("postgres");
    let child = started(&scene, &server, &target, "insert-delete", &["--set", "duration=10m"]);
    let workspace = schemas(&server);
    server.psql(&format!("DROP TABLE {workspace}.table0")).unwrap();
    let (said, record) = ended(child);
    said.failed(7, &["in a row failed", "table0"]);
    assert!(answered(&record) > 0);
    assert_eq!(schemas(&server), "");
}

#[test]
fn a_right_that_goes_ends_the_run_at_once() {
    let scene = Scene::new();
    let server = server();
    let role = format!("CREATE ROLE owner LOGIN PASSWORD '{PLANTED}'; GRANT CREATE ON DATABASE postgres TO owner");
    server.psql(&role).unwrap();
    let target = server.socket_url("postgres").replace("//plimsoll@", "//owner@");
    let child = started(&scene, &server, &target, "update", &["--set", "duration=10m"]);
    let workspace = schemas(&server);
    server.psql(&format!("REVOKE ALL ON {workspace}.table0 FROM owner")).unwrap();
    let (said, record) = ended(child);
    said.failed(7, &["permission", "table0"]);
    assert!(answered(&record) > 0);
    assert_eq!(schemas(&server), "");
}

#[test]
fn an_interrupt_keeps_what_was_measured() {
    let scene = Scene::new();
    let server = server();
    let target = server.socket_url("postgres");
    let mut child = started(&scene, &server, &target, "mix-b", &["--set", "duration=10m", "--set", "rate=50,100"]);
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    wait_until(|| child.try_wait().unwrap().is_some());
    let (said, record) = ended(child);
    assert_eq!(said.code, 130, "{said:#?}");
    assert!(answered(&record) > 0);
    let repetition = &record["repetitions"][0];
    assert_eq!((&repetition["complete"], repetition["points"].as_array().unwrap().len()), (&false.into(), 1));
    assert_eq!(schemas(&server), "");
    let shown = scene.say(&["show", "latest", "--json"]);
    assert_eq!(answered(&shown.json()[0]), answered(&record), "{shown:?}");
}

#[test]
fn an_interrupt_does_not_wait_for_a_frozen_server() {
    let scene = Scene::new();
    let server = server();
    let target = server.socket_url("postgres");
    for again in [false, true] {
        let child = started(&scene, &server, &target, "mix-b", &["--set", "duration=10m"]);
        let frozen = Frozen::of(&server);
        let interrupt = || {
            let pid = rustix::process::Pid::from_child(&child);
            rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        };
        interrupt();
        if again {
            std::thread::sleep(Duration::from_millis(200));
            interrupt();
        }
        let (said, record) = ended(child);
        assert_eq!(said.code, 130, "{said:#?}");
        assert!(answered(&record) > 0);
        assert!(record["warnings"].to_string().contains("not waited for any longer"), "{record}");
        let shown = scene.say(&["show", "latest", "--json"]);
        assert_eq!(answered(&shown.json()[0]), answered(&record), "{shown:?}");
        drop(frozen);
        let clean = || {
            assert_eq!(scene.say(&["clean", &target]).code, 0);
            schemas(&server).is_empty()
        };
        wait_until(clean);
    }
}

/// All processes of a server, which stand still until it is dropped.
struct Frozen(Vec<String>);

impl Frozen {
    fn of(server: &Postgres) -> Self {
        let pids = server.psql("SELECT pid FROM pg_stat_activity").unwrap();
        let mut pids: Vec<String> = pids.lines().map(|pid| pid.trim().to_owned()).collect();
        let parent = Command::new("ps").args(["-o", "ppid=", "-p", &pids[0]]).output().unwrap();
        pids.push(String::from_utf8(parent.stdout).unwrap().trim().to_owned());
        let frozen = Self(pids);
        frozen.signal("-STOP");
        frozen
    }

    fn signal(&self, signal: &str) {
        // The session that named them is gone by now.
        let _ = Command::new("kill").arg(signal).args(&self.0).stderr(Stdio::null()).status();
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        self.signal("-CONT");
    }
}

#[test]
fn a_disk_that_fills_ends_the_run() {
    let Some(disk) = common::Tmpfs::mount(150) else {
        let _ = writeln!(std::io::stderr(), "a full disk was not tried: mounting a small one needs root");
        return;
    };
    let scene = Scene::new();
    std::fs::create_dir(scene.path("wal")).unwrap();
    let server = Postgres::builder().data_dir_in(&disk.path).wal_dir_in(scene.path("wal")).start().unwrap();
    let role = format!("CREATE ROLE owner LOGIN PASSWORD '{PLANTED}'; GRANT CREATE ON DATABASE postgres TO owner");
    server.psql(&role).unwrap();
    let target = server.socket_url("postgres").replace("//plimsoll@", "//owner@");
    let words = ["run", "bulk-load", "--target", &target, "--short", "--json", "--set", "duration=10m"];
    let said = scene.say(&[&words[..], &["--set", "batch=2000"]].concat());
    said.failed(7, &[]);
    let record = &said.json()[0];
    assert_eq!(record["error"]["kind"], "disk-full", "{record}");
    assert!(answered(record) > 0);
    assert_eq!(schemas(&server), "");
}
