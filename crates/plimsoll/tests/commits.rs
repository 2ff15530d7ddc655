//! The test of single-row inserts through the program: on the lab twice the same, on SQLite and on PostgreSQL with what each
//! of them tells about its log.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::Scene;
use plimsoll_testbed::Postgres;
use serde_json::Value;

const SHORT: [&str; 7] = ["run", "insert-latency", "--short", "--json", "--repetitions", "2", "--target"];

/// A record of so many commits, which every repetition has.
fn record(scene: &Scene, target: &str, commits: &str) -> Value {
    record_with(scene, target, commits, &[])
}

fn record_with(scene: &Scene, target: &str, commits: &str, more: &[&str]) -> Value {
    let said = scene.say(&[&SHORT[..], &[target, "--set", &format!("commits={commits}")], more].concat());
    assert_eq!(said.code, 0, "{said:#?}");
    let record = said.json().remove(0);
    for repetition in record["repetitions"].as_array().unwrap() {
        assert_eq!(repetition["points"].as_array().unwrap().len(), 10);
        assert_eq!(repetition["requests"][0]["operations"].to_string(), commits);
        assert_eq!(repetition["complete"], true);
    }
    record
}

fn figure(record: &Value, metric: &str) -> Option<f64> {
    record["results"].as_array().unwrap().iter().find(|figure| figure["metric"] == metric)?["value"].as_f64()
}

fn file<'a>(record: &'a Value, ending: &str) -> &'a Value {
    let files = record["repetitions"][1]["files"].as_array().unwrap();
    files.iter().find(|file| file["file"].as_str().unwrap().ends_with(ending)).unwrap()
}

#[test]
fn inserts_on_the_lab_are_the_same_twice_and_say_what_they_waited_for() {
    let scene = Scene::new();
    let run = || record(&scene, "lab:azure-sql-db/S2@v12-retest", "2000");
    let [mut one, mut two] = [run(), run()];
    for record in [&mut one, &mut two] {
        let record = record.as_object_mut().unwrap();
        record.remove("run_id").unwrap();
        record.remove("host").unwrap();
    }
    assert_eq!(one, two);
    assert!(figure(&one, "log_wait_share").unwrap() > 90.0);
    let time = figure(&one, "insert_time").unwrap();
    assert!((figure(&one, "insert_latency").unwrap() / (time / 2.0) - 1.0).abs() < 1e-9);
    assert!(one["expected"]["error_percent"].as_f64().unwrap().abs() < 5.0, "{}", one["expected"]);
    // The name of a file does not have the run's in it, or no two runs were alike.
    assert!(file(&one, "run.db-wal")["write_latency_ms"].as_f64().unwrap() > 1.0);
}

#[test]
fn the_shipped_hardware_takes_what_its_log_takes() {
    let scene = Scene::new();
    let hardware = concat!("lab:", env!("CARGO_MANIFEST_DIR"), "/../../examples/hardware/log-latency.toml");
    let record = record(&scene, hardware, "1000");
    assert!((figure(&record, "insert_latency").unwrap() / 0.721 - 1.0).abs() < 0.02);
}

#[test]
fn sqlite_says_what_went_to_its_log() {
    let scene = Scene::new();
    let record = record(&scene, &scene.sqlite(), "200");
    let log = file(&record, "run.db-wal");
    assert!(log["writes"].as_u64().unwrap() >= 200 && log.get("write_latency_ms").is_none(), "{log}");
    assert!(figure(&record, "log_wait_share").is_none(), "SQLite does not tell what it waits for");
    assert!(scene.leftovers().is_empty());
}

#[test]
fn postgresql_says_how_often_it_synced_and_how_long_where_it_times_that() {
    let server = Postgres::builder().durable(true).data_dir_in(env!("CARGO_TARGET_TMPDIR")).start().unwrap();
    let scene = Scene::new();
    let target = server.socket_url("postgres");
    let untimed = record(&scene, &target, "200");
    let syncs = file(&untimed, "WAL syncs");
    assert!(syncs["writes"].as_u64().unwrap() >= 200 && syncs.get("write_latency_ms").is_none(), "{syncs}");
    server.psql("ALTER SYSTEM SET track_wal_io_timing = on").unwrap();
    server.psql("SELECT pg_reload_conf()").unwrap();
    let timed = record(&scene, &target, "200");
    let sync_ms = file(&timed, "WAL syncs")["write_latency_ms"].as_f64().unwrap();
    // Syncs of the server's own processes are among them, so that on a busy disk their mean may be longer than an insert's.
    assert!(sync_ms > 0.0, "{sync_ms}");
    let inserts = |record: &Value| record["repetitions"][1]["requests"][0].clone();
    let of_server = inserts(&timed);
    assert_eq!((&timed["parameters"]["loop"], of_server["operations"].as_u64()), (&"server".into(), Some(200)));
    // Nobody timed each of them.
    assert_eq!(of_server["times"]["count"].as_u64(), Some(0));
    let of_client = record_with(&scene, &target, "200", &["--set", "loop=client"]);
    assert_eq!(of_client["parameters"]["loop"], "client");
    let inserted = inserts(&of_client);
    assert_eq!((inserted["operations"].as_u64(), inserted["times"]["count"].as_u64()), (Some(200), Some(200)));
    assert!(file(&timed, "WAL writes")["write_bytes"].as_u64().unwrap() > 200 * 40);
}
