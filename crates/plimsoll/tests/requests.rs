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
    let phase = &record["repetitions"][0]["phases"][0];
    assert_eq!((phase["start_lag"]["sum_us"].as_f64(), phase["backlog"].as_u64()), (Some(0.0), Some(0)), "{phase}");
    let slow = run(folder.path(), &["update", "--set", "rate=1000", "--set", "duration=10s", "--target", lab]).1;
    let kind = &slow["repetitions"][0]["requests"][0];
    let mean = |times: &Value| times["sum_us"].as_f64().unwrap() / times["count"].as_f64().unwrap();
    assert!(mean(&kind["times"]) > 20.0 * mean(&kind["times_uncorrected"]), "{kind}");
    let warnings = slow["warnings"].as_array().unwrap();
    assert!(
        warnings.iter().any(|warning| warning.as_str().unwrap().contains("too slow for 1000 requests")),
        "{warnings:?}"
    );
}

fn phases(record: &Value) -> &Vec<Value> {
    record["repetitions"][0]["phases"].as_array().unwrap()
}

/// What one phase leaves undone is none of the next.
#[test]
fn a_ladder_has_its_phases_and_no_backlog_leaks() {
    let folder = tempfile::tempdir().unwrap();
    let lab = ["--set", "duration=5s", "--target", "lab:azure-sql-db/S2@v12-retest"];
    let on_lab = |arguments: &[&str]| {
        let (code, record) = run(folder.path(), &[arguments, &lab].concat());
        assert_eq!(code, Some(0), "{record}");
        record
    };
    let record = on_lab(&["update", "--set", "rate=50,5000,50"]);
    let phases_of = phases(&record);
    let backlog: Vec<u64> = phases_of.iter().map(|phase| phase["backlog"].as_u64().unwrap()).collect();
    assert!(backlog[0] == 0 && backlog[1] > 1000 && backlog[2] == 0, "{backlog:?}");
    assert_eq!(phases_of[2]["start_lag"]["sum_us"], phases_of[0]["start_lag"]["sum_us"], "each starts afresh");
    assert_eq!((&phases_of[0]["operations"], &phases_of[2]["operations"]), (&250.into(), &250.into()));
    let whole = on_lab(&["mix-b", "--set", "sessions=1,8"]);
    let rate = |index: usize| phases(&whole)[index]["rate"].as_f64().unwrap();
    assert!(rate(1) > 1.5 * rate(0), "eight sessions do more than one: {} and {}", rate(0), rate(1));
    assert_eq!(whole["result"]["note"], "at 8 sessions, with the most requests a second");
    let ramp = on_lab(&["direct-select", "--set", "rate=100..300"]);
    assert_eq!(operations(&ramp), 1000, "the mean of the rates");
    let bulk = on_lab(&["bulk-load", "--set", "batch=1,1000"]);
    let content = |index: usize| phases(&bulk)[index]["mb_per_minute"].as_f64().unwrap();
    // A row alone has a transaction's records; a thousand fill their pages.
    assert!(content(1) > 1.5 * content(0), "larger batches load more: {} and {}", content(0), content(1));
}

#[test]
fn the_highest_rate_that_meets_a_goal_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let lab = "lab:azure-sql-db/S2@v12-retest";
    let (code, record) = run(folder.path(), &["update", "--find-knee", "p99=100ms", "--target", lab]);
    assert_eq!(code, Some(0), "{record}");
    let tried: Vec<(f64, bool)> = phases(&record)
        .iter()
        .map(|phase| (phase["rate_asked"].as_f64().unwrap(), phase["holds"].as_bool().unwrap()))
        .collect();
    let always = |rate: f64| tried.iter().filter(|(other, _)| (other - rate).abs() < 1e-9).all(|(_, holds)| *holds);
    let best = tried.iter().filter(|(rate, _)| always(*rate)).map(|(rate, _)| *rate).fold(0.0, f64::max);
    let least = tried.iter().filter(|(_, holds)| !*holds).map(|(rate, _)| *rate).fold(f64::INFINITY, f64::min);
    assert!(best > 0.0 && least / best < 1.04, "{tried:?}");
    let value = record["result"]["value"].as_f64().unwrap();
    assert!((value / best - 1.0).abs() < 0.02, "{value} {best}");
    let found = phases(&record).iter().find(|phase| phase["rate_asked"] == best).unwrap();
    assert_eq!(operations(&record), found["operations"].as_u64().unwrap(), "no request of a rate that was too much");
    for bad in ["p99", "p98=1s", "p99=fast", "p99=20", "p99=0s"] {
        assert_eq!(run(folder.path(), &["update", "--find-knee", bad, "--target", lab]).0, Some(2), "{bad}");
    }
    assert_eq!(run(folder.path(), &["read-scan", "--find-knee", "p99=1s", "--target", lab]).0, Some(2));
}

#[test]
fn a_goal_that_cannot_be_judged_is_not_met_and_a_search_that_finds_nothing_is_no_result() {
    let folder = tempfile::tempdir().unwrap();
    let lab = ["--target", "lab:azure-sql-db/S2@v12-retest", "--set", "duration=1s"];
    let warned = |record: &Value, words: &str| {
        assert!(record["warnings"].to_string().contains(words), "{words}: {}", record["warnings"]);
    };
    // Ten thousand response times need 1,000 a second in the ten seconds that a try lasts at most.
    let (code, record) =
        run(folder.path(), &[&["update", "--find-knee", "p99.9=1ms", "--set", "rate=13"], &lab[..]].concat());
    assert_eq!(code, Some(7), "{record}");
    let tried: Vec<_> =
        phases(&record).iter().map(|phase| (phase["rate_asked"].as_f64(), phase["holds"].as_bool())).collect();
    assert_eq!(tried, [(Some(1000.0), Some(false)); 2]);
    assert!(record["result"].is_null() && record["error"]["kind"] == "no-result", "{record}");
    let message = record["error"]["message"].as_str().unwrap();
    assert!(
        message.starts_with("no rate met the goal of 1.00 ms for p99.9: at 1000/s, the lowest that was tried, "),
        "{message}"
    );
    warned(
        &record,
        "no rate below 1000/s can be judged: p99.9 needs 10000 response times, and a try lasts 10 s at most (at 13/s it has 130)",
    );
    let runs = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
        .arg("runs")
        .env("PLIMSOLL_STORE", folder.path().join("runs.db"))
        .output()
        .unwrap();
    let listed = String::from_utf8(runs.stdout).unwrap();
    assert!(listed.contains("failed (no-result)"), "{listed}");
    // A try lasts as long as its percentile needs, and has it then.
    let (code, record) = run(folder.path(), &[&["update", "--find-knee", "p99=100ms"], &lab[..]].concat());
    assert_eq!(code, Some(0), "{record}");
    let rate = |phase: &Value| phase["rate_asked"].as_f64().unwrap();
    for phase in phases(&record).iter().filter(|phase| phase["holds"] == true) {
        let (seconds, count) = (phase["seconds"].as_f64().unwrap(), phase["times"]["count"].as_u64().unwrap());
        assert!((seconds - (1000.0 / rate(phase)).max(1.0)).abs() < 1e-6 && count >= 1000, "{phase}");
    }
    assert!(record["results"].to_string().contains("latency_p99"), "{}", record["results"]);
}

/// A second at a scale of 1/128 is what two minutes are at full volumes.
#[test]
fn the_rate_on_a_cold_database_rises_as_the_pool_fills() {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
        .args(["run", "scale", "--json", "--quiet", "--repetitions", "1", "--set", "volume=12GiB"])
        .args(["--target", "lab:azure-sql-db/S2@v12-retest?scale=1/128"])
        .env("PLIMSOLL_STORE", folder.path().join("runs.db"))
        .output()
        .unwrap();
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(record["parameters"]["duration"], 56.25, "two hours shrink with the volumes");
    let operations = record["repetitions"][0]["seconds"]["operations"].as_array().unwrap();
    let mean = |from: usize, to: usize| {
        operations[from..to].iter().map(|count| count.as_f64().unwrap()).sum::<f64>() / (to - from) as f64
    };
    assert!(mean(5, 25) >= 1.5 * mean(0, 1), "{operations:?}");
    assert!(mean(25, 56) >= 1.5 * mean(0, 1), "{operations:?}");
}

/// Everything stands still for 500 ms in the middle of 10 s at 1,000 a second: 500 requests were due meanwhile, the first of
/// them waits 500 ms, the next 499, and so on. Of 10,000 the 100th longest is the 99th percentile.
#[test]
fn a_freeze_shows_as_the_schedule_says_and_hides_without_one() {
    let folder = tempfile::tempdir().unwrap();
    let lab = "lab:azure-sql-db/S2@v12-retest";
    let at = |target: &str, pace: &str| {
        let sets = ["direct-select", "--set", "duration=10s", "--set", "volume=64MiB", "--set", pace, "--target"];
        let (code, record) = run(folder.path(), &[&sets[..], &[target]].concat());
        assert_eq!(code, Some(0), "{record}");
        record
    };
    let frozen = |pace: &str| {
        // The requests are the last that takes time.
        let ends = at(lab, pace)["virtual_seconds"].as_f64().unwrap();
        let record = at(&format!("{lab}?fault=freeze:{}s:500ms", ends - 5.0), pace);
        record["repetitions"][0]["requests"][0].clone()
    };
    let ms = |times: &Value, percent: f64| {
        let times: plimsoll_measurement::LatencyHistogramData = serde_json::from_value(times.clone()).unwrap();
        times.percentile_us(percent).unwrap() / 1e3
    };
    let near = |measured: f64, exact: f64| assert!((measured / exact - 1.0).abs() < 0.015, "{measured} {exact}");
    let kind = frozen("rate=1000");
    assert_eq!(kind["operations"], 10_000);
    near(ms(&kind["times"], 99.0), 401.0);
    near(ms(&kind["times"], 99.9), 491.0);
    near(ms(&kind["times"], 100.0), 500.0);
    assert!(ms(&kind["times"], 95.0) < 10.0 && ms(&kind["times_uncorrected"], 99.0) < 1.0, "{kind}");
    // Eight sessions that wait for their answers make eight requests meanwhile, and nobody hears of the others.
    let closed = frozen("think=1ms");
    assert!(ms(&closed["times"], 99.9) < 1.0 && ms(&closed["times"], 100.0) > 490.0, "{closed}");
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
