//! Comparisons and histories of stored runs whose figures are made, so that what has to be found is known.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::Scene;
use plimsoll_bench::definition::find_builtin;
use plimsoll_measurement::event::{MAIN, events_of};
use plimsoll_measurement::units::MB;
use plimsoll_measurement::{Metric, Point, Repetition, RunRecord};
use plimsoll_store::RunStore;

const TARGET: &str = "sqlite:./data.db";

/// A run of `test` at these rates, one a repetition, as an early release would have stored it: without anything that isn't needed.
fn run(number: u32, test: &str, rates: &[f64]) -> RunRecord {
    let definition = find_builtin(test).unwrap();
    let text = r#"{"schema_version": "2.0", "subject": "database", "basis": "measured", "run_id": "", "test": "", "target": "sqlite:./data.db", "engine": "sqlite",
        "engine_version": "3.50.4", "clock": "real", "started_at": "", "ended_at": "2026-03-01T11:00:00Z",
        "target_fingerprint": "sqlite-1", "parameters": {"page_bytes": 4096}, "definition": {"hash": "", "text": ""},
        "build": "plimsoll 0.1.0", "repetitions": [], "verdict": {"limit": null, "evidence": []}, "warnings": [],
        "host": {"platform": "linux", "cpus": 2}}"#;
    let mut run: RunRecord = serde_json::from_str(text).unwrap();
    run.run_id = format!("01a2{number:08x}7000800000000000");
    test.clone_into(&mut run.test);
    run.started_at = format!("2026-03-{:02}T10:00:00.000Z", number + 1);
    (run.definition.hash, run.definition.text) = (definition.hash(), definition.text.clone());
    let repetition = |(at, rate): (usize, &f64)| {
        let point = Point { seconds: 60.0, ..Point::default() }
            .with(Metric::ContentBytes, (rate * MB as f64) as u64)
            .with(Metric::MbPerMinute, *rate);
        let label = char::from(b'a' + at as u8).to_string();
        Repetition { label, complete: true, points: vec![point], ..Repetition::default() }
    };
    run.repetitions = rates.iter().enumerate().map(repetition).collect();
    run
}

fn keep(scene: &Scene, runs: &[RunRecord]) {
    let store = RunStore::open(scene.store()).unwrap();
    for run in runs {
        store.append(&events_of(run, MAIN)).unwrap();
    }
}

/// Twelve runs, the last five a tenth slower and on another version.
fn slower() -> Vec<RunRecord> {
    let noise = [1.0, 0.996, 1.003, 0.999, 1.004, 0.998, 1.001];
    let all = (0..12_u32).map(|number| {
        let level = if number < 7 { 500.0 } else { 450.0 } * noise[number as usize % 7];
        let mut run = run(number, "read-scan", &[level, level * 1.01, level * 0.99]);
        if number >= 7 {
            run.engine_version = Some("3.51.0".to_owned());
        }
        run
    });
    all.collect()
}

/// Rates of runs that were made in turn, and the settings of each: the newest of a name stand for it.
fn in_turn(scene: &Scene, all: &[(&str, f64, &str)]) {
    let run = |(number, (label, rate, setting)): (usize, &(&str, f64, &str))| {
        let mut run = run(number as u32, "read-scan", &[*rate, rate * 1.002, rate * 0.998]);
        run.label = Some((*label).to_owned());
        run.environment.insert("cache".to_owned(), (*setting).to_owned());
        run
    };
    keep(scene, &all.iter().enumerate().map(run).collect::<Vec<_>>());
}

#[test]
fn runs_of_one_name_count_once_each() {
    let scene = Scene::new();
    // Repetitions are 0.2 % apart, and runs 5 %: what looks certain in each pair is none.
    let rates = [("a", 500.0), ("b", 520.0), ("a", 525.0), ("b", 500.0), ("a", 498.0), ("b", 545.0)];
    in_turn(&scene, &rates.map(|(label, rate)| (label, rate, if label == "a" { "1" } else { "2" })));
    let ids = ["01a200000004", "01a200000005"];
    let single = scene.say(&["compare", ids[0], ids[1], "--json"]).json()[0].clone();
    assert_eq!((&single["verdict"], &single["baseline"]["repetitions"]), (&"better".into(), &3.into()));
    let all = scene.say(&["compare", "a", "b", "--json"]).json()[0].clone();
    assert_eq!((&all["verdict"], &all["baseline"]["runs_counted"]), (&"undecided".into(), &3.into()));
    assert_eq!(all["candidate"]["runs"].as_array().unwrap().len(), 3);
    let ratio = (520.0_f64 * 500.0 * 545.0 / (500.0 * 525.0 * 498.0)).cbrt();
    assert!((all["ratio"].as_f64().unwrap() / ratio - 1.0).abs() < 1e-4, "{all}");
    let told = scene.say(&["compare", "a", "b"]).out;
    assert!(told.contains("Each of 3 runs of A and 3 of B counts once"), "{told}");
    assert!(told.contains("runs per side would") && told.contains("cache 1 → 2"), "{told}");
    let page = scene.path("page.html");
    assert_eq!(scene.say(&["report", "a", "b", "--html", &page.display().to_string()]).code, 0);
    assert!(std::fs::read_to_string(page).unwrap().contains("Each of 3 runs of A and 3 of B counts once"));
}

#[test]
fn a_run_of_the_same_name_that_measured_something_else_does_not_count() {
    let scene = Scene::new();
    in_turn(&scene, &[("a", 500.0, "1"), ("b", 600.0, "9"), ("a", 505.0, "1"), ("b", 650.0, "2"), ("b", 660.0, "2")]);
    let said = scene.say(&["compare", "a", "b", "--json"]);
    let object = &said.json()[0];
    assert_eq!((&object["baseline"]["runs_counted"], &object["candidate"]["runs_counted"]), (&2.into(), &2.into()));
    assert!(
        said.err.contains("'b' is the newest run of that name") && said.err.contains("1 with other settings"),
        "{said:#?}"
    );
    let alone = scene.say(&["compare", "01a200000000", "b", "--json"]);
    assert_eq!(alone.json()[0]["candidate"]["repetitions"], 3);
    assert!(alone.err.contains("1 like it, as the other side has one run"), "{alone:#?}");
}

#[test]
fn what_did_not_measure_the_same_is_refused_unless_wanted() {
    let scene = Scene::new();
    let mut other = run(1, "read-scan", &[500.0, 510.0, 490.0]);
    other.parameters.insert("row".to_owned(), "900".into());
    keep(&scene, &[run(0, "read-scan", &[400.0, 404.0, 398.0]), other, run(2, "write-chunk", &[40.0, 41.0])]);
    let ids = ["01a200000000", "01a200000001", "01a200000002"];
    scene.say(&["compare", ids[0], ids[1]]).failed(2, &["did not measure the same", "row", "900", "--anyway"]);
    scene.say(&["compare", ids[0], ids[2]]).failed(2, &["test (read-scan against write-chunk)"]);
    let said = scene.say(&["compare", ids[0], ids[1], "--anyway", "--json"]);
    assert!(said.code == 0 && said.err.contains("may mean nothing"), "{said:#?}");
    let object = &said.json()[0];
    assert_eq!((&object["comparable"], &object["verdict"]), (&false.into(), &"better".into()));
    let expected = serde_json::json!([{"what": "row", "candidate": "\"900\"", "refuses": true}]);
    assert_eq!(object["differences"], expected);
    // Nothing in common is not to be had by any means.
    scene.say(&["compare", ids[0], ids[2], "--anyway"]).failed(2, &["no figure in common"]);
}

#[test]
fn an_undecided_comparison_says_how_many_repetitions_would_tell() {
    let scene = Scene::new();
    let mut other = run(1, "read-scan", &[106.0, 109.0, 101.0]);
    other.target = "postgres://db/x".to_owned();
    other.engine = "postgresql".to_owned();
    keep(&scene, &[run(0, "read-scan", &[100.0, 104.0, 97.0]), other]);
    let said = scene.say(&["compare", "01a200000000", "01a200000001", "--margin", "1%", "--json"]);
    let object = &said.json()[0];
    let count = object["repetitions_to_decide"].as_u64().unwrap();
    assert!(said.code == 0 && object["verdict"] == "undecided" && count > 3, "{said:#?}");
    let said = scene.say(&["compare", "01a200000000", "01a200000001", "--margin", "1%"]);
    assert!(said.out.contains("Changed from A to B: engine sqlite → postgresql."), "{said:#?}");
    assert!(said.out.contains(&format!("about {count} repetitions per side would decide; there are 3")), "{said:#?}");
    for margin in ["-5%", "100%", "NaN", "1e300"] {
        scene.say(&["compare", "01a200000000", "01a200000001", &format!("--margin={margin}")]).failed(2, &["--margin"]);
    }
}

#[test]
fn a_history_finds_the_change_and_what_came_with_it() {
    let scene = Scene::new();
    keep(&scene, &slower());
    let said = scene.say(&["history", "read-scan", "--fail-on", "worse"]);
    assert_eq!(said.code, 1, "{said:#?}");
    for words in ["It has got worse: -", "2026-03-08 10:00", "engine version (3.50.4 against 3.51.0)"] {
        assert!(said.out.contains(words), "{words}: {said:#?}");
    }
    let object = scene.say(&["history", "read-scan", "--target", TARGET, "--json"]).json().remove(0);
    assert_eq!((&object["verdict"], &object["changes"][0]["verdict"]), (&"worse".into(), &"worse".into()));
    assert_eq!(object["changes"][0]["run_id"], "01a2000000077000800000000000");
    assert_eq!(object["changes"][0]["differences"][0]["what"], "engine version");
    assert!((object["overall"]["ratio"].as_f64().unwrap() - 0.9).abs() < 0.01, "{object:#}");
    let page = scene.path("history.html");
    assert_eq!(scene.say(&["history", "read-scan", "--html", page.to_str().unwrap(), "--json"]).code, 0);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("<svg") && page.contains("level 2") && !page.contains("http://"));
}

#[test]
fn a_history_without_a_change_raises_no_alarm() {
    let scene = Scene::new();
    keep(&scene, &slower()[..7]);
    let said = scene.say(&["history", "read-scan", "--fail-on", "worse"]);
    assert!(said.code == 0 && said.out.contains("No change was found in 7 runs"), "{said:#?}");
}

#[test]
fn runs_that_cannot_be_held_together_are_left_out_and_named() {
    let scene = Scene::new();
    let mut runs = slower();
    runs[0].target_fingerprint = Some("sqlite-2".to_owned());
    runs[1].parameters.insert("cache".to_owned(), "warm".into());
    runs[2].repetitions.clear();
    runs[3].definition.text = "of another age".to_owned();
    runs[4].repetitions[0].points[0].metrics.set(Metric::ContentBytes, 0);
    runs[4].repetitions.truncate(1);
    // Under another URL, and the same server still.
    runs[5].target = "sqlite:/elsewhere/data.db".to_owned();
    keep(&scene, &runs);
    let object = scene.say(&["history", "read-scan", "--target", TARGET, "--json"]).json().remove(0);
    assert_eq!(object["runs"].as_array().unwrap().len(), 7, "{object:#}");
    let why: Vec<&str> =
        object["left_out"].as_array().unwrap().iter().map(|one| one["why"].as_str().unwrap()).collect();
    for (why, expected) in why.iter().zip(["another server", "cache", "no complete", "it differs in", "no complete"]) {
        assert!(why.contains(expected), "{expected}: {why}");
    }
    assert_eq!(why.len(), 5);
    scene.say(&["history", "read-scan"]).failed(2, &["2 targets", "--target"]);
    let like = scene.say(&["history", "read-scan", "--target", TARGET, "--like", "01a200000001", "--json"]);
    assert_eq!(like.json()[0]["runs"].as_array().unwrap().len(), 1, "{like:#?}");
}

#[test]
fn few_runs_no_runs_and_wrong_words() {
    let scene = Scene::new();
    scene.say(&["history", "read-scan"]).failed(4, &["no result store"]);
    drop(RunStore::open(scene.store()).unwrap());
    scene.say(&["history", "read-scan"]).failed(2, &["no run of read-scan"]);
    keep(&scene, &[run(0, "read-scan", &[])]);
    scene.say(&["history", "read-scan"]).failed(7, &["complete repetition"]);
    scene.say(&["compare", "latest", "latest"]).failed(7, &["no complete repetition"]);
    keep(&scene, &[run(1, "read-scan", &[500.0])]);
    let said = scene.say(&["history", "read-scan", "--fail-on", "worse"]);
    assert!(said.code == 0 && said.out.contains("1 run: at least 6 are needed"), "{said:#?}");
    let itself = scene.say(&["compare", "latest", "latest"]);
    assert!(itself.code == 0 && itself.out.contains("single repetitions show no spread"), "{itself:#?}");
    assert!(itself.err.contains("is compared with itself"), "{itself:#?}");
    scene.say(&["history", "read-scan", "--metric", "read_rat"]).failed(7, &["read_rat"]);
    scene.say(&["history", "read-scan", "--target", "sqlite:./other.db"]).failed(2, &["no run", "other.db"]);
    scene.say(&["history", "read-scan", "--like", "0000"]).failed(2, &["0000"]);
}

#[test]
fn a_campaign_has_the_base_that_is_wanted() {
    let scene = Scene::new();
    let mut runs = Vec::new();
    for (number, target, factor) in [(0, TARGET, 1.0), (2, "sqlite:./big.db", 2.0)] {
        for (more, test) in [(0, "read-scan"), (1, "write-chunk")] {
            let rates = [100.0 * factor, 101.0 * factor, 99.0 * factor];
            let mut run = run(number + more, test, &rates);
            run.target = target.to_owned();
            run.campaign = Some("c".to_owned());
            let figure = r#"{"metric": "rate", "value": 1, "unit": "MB/min", "confidence": 0.95, "repetitions": 3}"#;
            let mut figure: plimsoll_measurement::Figure = serde_json::from_str(figure).unwrap();
            (figure.value, figure.low, figure.high) = (rates[0], Some(rates[0] * 0.98), Some(rates[0] * 1.02));
            run.result = Some(figure);
            runs.push(run);
        }
    }
    keep(&scene, &runs);
    let report = |more: &[&str]| scene.say(&[&["report", "--campaign", "c", "--markdown", "-"], more].concat());
    assert!(report(&[]).out.contains("In percent of data.db"), "{:#?}", report(&[]));
    for base in ["sqlite:./big.db", "01a200000003"] {
        let said = report(&["--base", base]);
        assert!(said.out.contains("In percent of big.db") && said.out.contains("| 50.0 (4"), "{said:#?}");
    }
    report(&["--base", "sqlite:./none.db"]).failed(2, &["--base"]);
    report(&["--base", ""]).failed(2, &["--base"]);
}

/// A page of runs that measured the same begins with which is better, and one of others does not.
#[test]
fn a_report_of_two_settings_begins_with_which_is_better() {
    let scene = Scene::new();
    let mut faster = run(1, "read-scan", &[500.0, 505.0, 495.0]);
    faster.environment.insert("cache_size".to_owned(), "-65536 (set by the URL)".to_owned());
    let mut slower = run(0, "read-scan", &[400.0, 404.0, 396.0]);
    slower.environment.insert("cache_size".to_owned(), "-2000".to_owned());
    keep(&scene, &[slower, faster, run(2, "write-chunk", &[40.0, 41.0])]);
    let report = |ids: &[&str]| scene.say(&[&["report"], ids, &["--markdown", "-"]].concat()).out;
    let both = report(&["01a200000000", "01a200000001"]);
    let place = |text: &str| both.find(text).unwrap_or_else(|| panic!("{text}: {both}"));
    assert!(place("B is better: the read rate of B is 1.25 times that of A") < place("2 runs"), "{both}");
    assert!(
        both.contains("Changed from A to B: cache size -2000 → -65536") || both.contains("cache_size -2000 → -65536"),
        "{both}"
    );
    assert!(!report(&["01a200000000", "01a200000002"]).contains("is better"));
}
