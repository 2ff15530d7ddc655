//! Request tests through the program: on the lab in virtual time and on SQLite, closed loop and on a schedule.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::process::Command;

use serde_json::Value;

fn run(folder: &Path, arguments: &[&str]) -> (Option<i32>, Value) {
    let output = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
        .args(["run", "--json", "--quiet", "--short", "--repetitions", "1"])
        .args(arguments)
        .env("PLIMSOLL_STORE", folder.join("runs.db"))
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    (output.status.code(), serde_json::from_str(text.lines().next().unwrap_or("null")).unwrap())
}

fn operations(record: &Value) -> u64 {
    let kinds = record["repetitions"][0]["requests"].as_array().unwrap();
    kinds.iter().map(|kind| kind["operations"].as_u64().unwrap()).sum()
}

#[test]
fn every_request_test_runs_on_the_lab_and_is_the_same_twice() {
    let folder = tempfile::tempdir().unwrap();
    for test in
        ["insert", "insert-delete", "direct-select", "indirect-select", "update", "mix-a", "mix-b", "cached-read"]
    {
        let arguments = [test, "--set", "duration=1s", "--target", "lab:azure-sql-db/S2@v12-retest"];
        let [(code, mut one), (_, mut two)] = [run(folder.path(), &arguments), run(folder.path(), &arguments)];
        assert_eq!(code, Some(0), "{test}: {one}");
        assert!(operations(&one) > 0, "{test}");
        for record in [&mut one, &mut two] {
            let record = record.as_object_mut().unwrap();
            record.remove("run_id");
            record.remove("host");
        }
        assert_eq!(one, two, "{test}");
        let seconds: u64 = one["repetitions"][0]["seconds"]["operations"]
            .as_array()
            .unwrap()
            .iter()
            .map(|count| count.as_u64().unwrap())
            .sum();
        assert_eq!(seconds, operations(&one), "{test}");
    }
}

/// A schedule on the lab: every request starts within its slot, and what the target is too slow for shows in the times.
#[test]
fn a_rate_is_kept_and_times_count_from_the_intended_start() {
    let folder = tempfile::tempdir().unwrap();
    let lab = "lab:azure-sql-db/S2@v12-retest";
    let at = |rate: &str| {
        let rate = format!("rate={rate}");
        let (code, record) =
            run(folder.path(), &["direct-select", "--set", &rate, "--set", "duration=10s", "--target", lab]);
        assert_eq!(code, Some(0), "{record}");
        record
    };
    let record = at("1000");
    assert_eq!(operations(&record), 10_000);
    let slow = run(folder.path(), &["update", "--set", "rate=1000", "--set", "duration=10s", "--target", lab]).1;
    let kind = &slow["repetitions"][0]["requests"][0];
    let mean = |times: &Value| times["sum_us"].as_f64().unwrap() / times["count"].as_f64().unwrap();
    assert!(mean(&kind["times"]) > 20.0 * mean(&kind["times_uncorrected"]), "{kind}");
    let warnings = slow["warnings"].as_array().unwrap();
    assert!(warnings.iter().any(|warning| warning.as_str().unwrap().contains("too slow for the rate")), "{warnings:?}");
}

#[test]
fn sessions_work_on_sqlite_in_real_time() {
    let folder = tempfile::tempdir().unwrap();
    let target = format!("sqlite:{}?synchronous=off", folder.path().join("x.db").display());
    let (code, record) =
        run(folder.path(), &["mix-b", "--set", "duration=2s", "--set", "volume=2MiB", "--target", &target]);
    assert_eq!(code, Some(0), "{record}");
    assert!(operations(&record) > 0);
    let names: Vec<&str> = std::fs::read_dir(folder.path())
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().to_str().map(|name| name.contains("plimsoll_run")))
        .filter(|ours| *ours)
        .map(|_| "left")
        .collect();
    assert!(names.is_empty());
}

#[test]
fn a_mix_that_makes_no_sense_is_refused_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let write = |text: &str| {
        let path = folder.path().join("mine.toml");
        std::fs::write(&path, text).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
            .args(["run", path.to_str().unwrap(), "--target", "lab:azure-sql-db/S2"])
            .env("PLIMSOLL_STORE", folder.path().join("runs.db"))
            .output()
            .unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let text = include_str!("../../bench/definitions/mix-a.toml").replace("mix-a", "mine");
    for (from, to, said) in [
        ("insert = 20", "insrt = 20", "did you mean 'insert'?"),
        ("insert = 20", "insert = -1", "is not a number from 0 on"),
        ("insert = 20", "insert = \"many\"", "is no number"),
        ("[mix]", "[mixx]", "did you mean 'mix'?"),
    ] {
        let (code, error) = write(&text.replace(from, to));
        assert!(code == Some(2) && error.contains(said), "{from} -> {to}: {error}");
    }
}
