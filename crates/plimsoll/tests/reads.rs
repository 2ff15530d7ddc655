//! Reads into the client through the program: on the lab with the truth beside them, on SQLite and on PostgreSQL.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::Scene;
use plimsoll_testbed::Postgres;
use serde_json::Value;

const LAB: &str = "lab:azure-sql-db/S2@v12-ga-2015-01";

fn record(scene: &Scene, words: &[&str]) -> Value {
    let said = scene.say(&[&["run", "--json"][..], words].concat());
    assert_eq!(said.code, 0, "{said:#?}");
    let record = said.json().remove(0);
    for repetition in record["repetitions"].as_array().unwrap() {
        let tables = record["parameters"]["tables"].as_u64().unwrap();
        let points = repetition["points"].as_array().unwrap();
        let mut names: Vec<&str> = points.iter().map(|point| point["label"].as_str().unwrap()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len() as u64, tables, "each table once");
        assert!(points.iter().all(|point| point["metrics"]["mb_per_minute"].as_f64().unwrap() > 0.0));
        assert!(!repetition["minutes"].as_array().unwrap().is_empty());
    }
    record
}

fn rate(record: &Value) -> f64 {
    record["result"]["value"].as_f64().unwrap()
}

#[test]
fn one_reader_on_the_lab_reads_at_the_limit_and_twice_the_same() {
    let scene = Scene::new();
    let run = || record(&scene, &["probe", "--set", "volume=4GiB", "--target", LAB]);
    let [mut one, mut two] = [run(), run()];
    for record in [&mut one, &mut two] {
        let record = record.as_object_mut().unwrap();
        record.remove("run_id").unwrap();
        record.remove("host").unwrap();
    }
    assert_eq!(one, two);
    assert_eq!(one["repetitions"].as_array().unwrap().len(), 1);
    assert!(one["expected"]["error_percent"].as_f64().unwrap().abs() < 1.0, "{}", one["expected"]);
    let cold = &one["repetitions"][0]["cold"];
    assert!(cold["engine_miss_percent"].as_f64().unwrap() > 98.0 && cold["verified"] == true, "{cold}");
    let engine = record(&scene, &["probe", "--set", "volume=4GiB", "--set", "into=engine", "--target", LAB]);
    assert!((rate(&one) / rate(&engine) - 1.0).abs() < 0.01, "a device that binds binds both");
}

#[test]
fn several_readers_share_the_tables_and_the_device() {
    let scene = Scene::new();
    let read = |readers: &str, target: &str| {
        let sets = ["--set", "volume=1GiB", "--set", "tables=16", "--repetitions", "1", "--set", readers];
        record(&scene, &[&["client-read", "--target", target][..], &sets].concat())
    };
    let (one, four) = (read("readers=1", LAB), read("readers=4", LAB));
    assert!((0.9..1.1).contains(&(rate(&four) / rate(&one))), "{} {}", rate(&one), rate(&four));
    assert!(
        four.get("expected").is_none_or(Value::is_null)
            && four["repetitions"][0]["points"][0]["metrics"]["sessions"] == 4
    );
}

#[test]
fn sqlite_is_read_by_two_and_a_weak_read_is_refused() {
    let scene = Scene::new();
    let sets = ["--short", "--set", "volume=20MiB", "--set", "readers=2", "--repetitions", "2"];
    let read = record(&scene, &[&["client-read", "--target", &scene.sqlite()][..], &sets].concat());
    let misses = read["repetitions"][0]["cold"]["engine_miss_percent"].as_f64().unwrap();
    assert!((98.0..102.0).contains(&misses), "{misses}");
    assert!(scene.leftovers().is_empty());
    scene.say(&["run", "probe", "--set", "isolation=weakest", "--target", LAB]).failed(2, &["default isolation"]);
}

#[test]
fn postgresql_is_read_cold() {
    let server = Postgres::builder().shared_buffers_mb(16).data_dir_in(env!("CARGO_TARGET_TMPDIR")).start().unwrap();
    let scene = Scene::new();
    let target = server.socket_url("postgres");
    for readers in ["readers=1", "readers=3"] {
        let sets = ["--short", "--set", "volume=40MiB", "--set", readers, "--repetitions", "2"];
        let read = record(&scene, &[&["client-read", "--target", &target][..], &sets].concat());
        for repetition in read["repetitions"].as_array().unwrap() {
            let misses = repetition["cold"]["engine_miss_percent"].as_f64().unwrap();
            assert!((98.0..=102.0).contains(&misses), "{}", repetition["cold"]);
        }
    }
}
