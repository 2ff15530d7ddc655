//! `plimsoll simulate` from the outside: what it prints and keeps, and what it refuses.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{Scene, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

const SCENARIO: &str = r#"
[workload]
sessions = 20
think_time = "5ms"
cpu_time = "1ms"
log_size = "1KiB"

[cpu]
cores = 2

[disks.log]
iops = 2_000
latency = "1ms"

[files.log]
disk = "log"
size = "10GB"

[run]
warm_up = "1s"
duration = "10s"
"#;

fn scene() -> Scene {
    let scene = Scene::new();
    std::fs::write(scene.path("mine.toml"), SCENARIO).unwrap();
    scene
}

#[test]
fn a_scenario_is_a_run_like_a_measured_one_and_says_that_it_was_simulated() {
    let scene = scene();
    let said = scene.say(&["simulate", "mine.toml", "--json"]);
    assert_eq!(said.code, 0, "{said:#?}");
    let record = &said.json()[0];
    let schema: Value = serde_json::from_str(include_str!("../../../docs/run.schema.json")).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    let faults: Vec<String> = schema.iter_errors(record).map(|error| error.to_string()).collect();
    assert!(faults.is_empty(), "{faults:?}");
    assert_eq!((&record["basis"], &record["target"]), (&"simulated".into(), &"scenario:mine".into()));
    assert_eq!(record["result"]["values"].as_array().unwrap().len(), 3);
    // Two cores of 1 ms each are the limit.
    let rate = record["result"]["value"].as_f64().unwrap();
    assert!((1_800.0..2_000.0).contains(&rate), "{rate}");
    assert_eq!(record["verdict"]["limit"], "cpu");

    let id = record["run_id"].as_str().unwrap();
    for words in [vec!["show", id], vec!["simulate", "mine.toml"]] {
        let said = scene.say(&words);
        assert!(said.code == 0 && said.out.contains("(simulated)"), "{said:#?}");
    }
    let said = scene.say(&["report", id, "--html", "page.html"]);
    assert_eq!(said.code, 0, "{said:#?}");
    assert!(std::fs::read_to_string(scene.path("page.html")).unwrap().contains("(simulated)"));
}

/// What differs between two calls: who and when.
fn without_identity(mut record: Value) -> Value {
    for key in ["run_id", "started_at", "ended_at", "host"] {
        record.as_object_mut().unwrap().remove(key);
    }
    record
}

/// One session changes pages that are in memory. Their writes fill the disk, and it meets one of them seldom or often.
#[test]
fn a_disk_that_only_the_background_fills_is_no_bottleneck() {
    let scene = scene();
    let disk = "\n[disks.data]\niops = 200\nlatency = \"1ms\"\n[files.data]\ndisk = \"data\"\nsize = \"10GB\"\n\
                [background_writer]\ndirty_share = 0.1\nwrites_in_flight = 8\npages_per_write = 1\n[buffer_pool]\npages = 8_000\n";
    std::fs::write(scene.path("mine.toml"), format!("{SCENARIO}{disk}")).unwrap();
    let words = ["simulate", "mine.toml", "--json", "--set", "workload.changes=1", "--set", "workload.sessions=1"];
    let verdict = |more: &[&str]| {
        let all = [&words[..], &["--set", "workload.think_time=0s", "--set", "run.duration=60s"], more].concat();
        scene.say(&all).json()[0]["verdict"].clone()
    };
    let seldom = verdict(&[]);
    assert_eq!(seldom["limit"], "none", "{seldom}");
    assert!(seldom["evidence"].to_string().contains("Work in the background fills data, IOPS"), "{seldom}");
    let often = verdict(&["--set", "buffer_pool.pages=1_000", "--set", "disks.data.iops=30"]);
    assert_eq!(often["limit"], "data_iops", "{often}");
}

#[test]
fn a_grid_has_a_record_for_each_case_and_the_same_bits_each_time() {
    let scene = scene();
    let grid = ["simulate", "mine.toml", "--vary", "sessions=5,10,20,40", "--set", "replications=2", "--json"];
    let [first, second] = [(); 2].map(|()| scene.say(&grid).json());
    assert_eq!(first.len(), 4);
    assert_eq!(first[3]["target"], "scenario:mine/sessions 40");
    let all = |records: Vec<Value>| records.into_iter().map(without_identity).collect::<Vec<_>>();
    assert_eq!(all(first), all(second));
    let said = scene.say(&grid[..6]);
    assert!(said.out.contains("The universal scalability law"), "{said:#?}");
    let said = scene.say(&["runs", "--json"]);
    assert_eq!(said.json().len(), 12, "{said:#?}");
    let said = scene.say(&["runs", "--json", "--target", "scenario:mine/sessions 40"]);
    assert_eq!(said.json().len(), 3, "{said:#?}");
}

#[test]
fn what_is_wrong_is_refused_and_nothing_is_kept() {
    let scene = scene();
    scene.say(&["simulate", "absent.toml"]).failed(2, &["cannot read the scenario absent.toml"]);
    scene.say(&["simulate", "mine.toml", "--set", "sesions=3"]).failed(2, &["sesions: there is no such key"]);
    scene.say(&["simulate", "mine.toml", "--set", "log=0GB"]).failed(2, &["mine.toml: files.log.size"]);
    scene.say(&["simulate", "mine.toml", "--vary", "log"]).failed(2, &["--vary log is not of the form key=value"]);
    let unknown = [
        "simulate",
        "mine.toml",
        "--set",
        "disks.log.disk=azure-managed-disk/P31",
        "--set",
        "disks.log.date=2026-09-01",
    ];
    scene.say(&unknown).failed(2, &["disks.log.disk: unknown level 'P31'"]);
    std::fs::write(scene.path("bad.toml"), SCENARIO.replace("cores = 2", "cores = two")).unwrap();
    scene.say(&["simulate", "bad.toml"]).failed(2, &["bad.toml:9"]);
    scene.say(&["simulate", "mine.toml", "--set", "warm_up=1000h"]).failed(2, &["run.warm_up"]);
    scene
        .say(&[
            "simulate",
            "mine.toml",
            "--set",
            "caps.one.iops=5",
            "--set",
            "log=1GB",
            "--set",
            "files.data.count=1001",
        ])
        .failed(2, &["files.data"]);
    let cases = "[[cases]]\nname = \"one\"\n".repeat(1_001);
    std::fs::write(scene.path("cases.toml"), format!("{SCENARIO}{cases}")).unwrap();
    scene.say(&["simulate", "cases.toml"]).failed(2, &["cases.toml: cases: there are 1001 of them"]);
    let group = |number| format!("[files.f{number}]\ndisk = \"log\"\nsize = \"1GB\"\n");
    let groups: Vec<String> = (0..1_001).map(group).collect();
    std::fs::write(scene.path("files.toml"), format!("{SCENARIO}{}", groups.concat())).unwrap();
    scene.say(&["simulate", "files.toml"]).failed(2, &["files.toml: files: 1002 is not possible"]);
    std::fs::write(scene.path("large.toml"), "#".repeat(2 << 20)).unwrap();
    scene.say(&["simulate", "large.toml"]).failed(2, &["large.toml"]);
    assert!(!scene.store().exists());
}

/// A day of twenty sessions is minutes of work.
#[test]
fn an_interrupt_keeps_the_cases_that_are_done() {
    let scene = scene();
    let mut child = scene.spawn(&["simulate", "mine.toml", "--vary", "duration=5s,23h", "--set", "replications=1"]);
    let kept = || scene.say(&["runs", "--json"]).json().len();
    wait_until(|| scene.store().exists() && kept() == 1);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(kept(), 1);
}

#[test]
fn a_queue_that_grows_for_ever_is_not_enough_evidence() {
    let scene = scene();
    std::fs::write(scene.path("open.toml"), SCENARIO.replace("think_time = \"5ms\"", "rate = 3_000")).unwrap();
    let said = scene.say(&["simulate", "open.toml"]);
    assert_eq!(said.code, 7, "{said:#?}");
    assert!(
        said.out.contains("There is not enough evidence") && said.out.contains("the queue grows without"),
        "{said:#?}"
    );
}

#[test]
fn requests_that_come_at_a_rate_and_are_answered_have_no_bottleneck() {
    let scene = scene();
    let open =
        SCENARIO.replace("think_time = \"5ms\"", "rate = 1_850").replace("duration = \"10s\"", "duration = \"60s\"");
    std::fs::write(scene.path("open.toml"), open).unwrap();
    let record = &scene.say(&["simulate", "open.toml", "--json"]).json()[0];
    let verdict = &record["verdict"];
    assert_eq!(verdict["limit"], "none", "{verdict:#}");
    assert!(verdict["utilisation_percent"].as_f64() > Some(90.0), "{verdict:#}");
}
