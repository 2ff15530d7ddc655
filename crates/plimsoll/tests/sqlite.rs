//! The whole path on SQLite: run, store, show, compare, report, clean; with everything that can be in the way.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use common::Scene;
use serde_json::Value;

/// Small enough for a test, large enough for every step.
fn run(scene: &Scene, target: &str, test: &str, more: &[&str]) -> common::Said {
    let short = ["run", test, "--target", target, "--short", "--json", "--repetitions", "2"];
    let sets: &[&str] = match test {
        "read-scan" | "read-scan-weak" => &["--set", "volume=8MiB"],
        "write-chunk" => {
            &["--set", "volume=2MiB", "--set", "chunk=200KiB", "--set", "source=50KiB", "--set", "at_least=0s"]
        }
        "cpu-join" => &["--set", "rows=1000", "--set", "stop_after=1m"],
        "memory" => &["--set", "largest_set=32MiB"],
        _ => &["--set", "volume=8MiB", "--set", "chunk=200KiB", "--set", "source=50KiB"],
    };
    scene.say(&[&short[..], sets, more].concat())
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("not a number: {value}"))
}

#[test]
fn every_test_gives_a_complete_run_that_meets_the_published_schema() {
    let scene = Scene::new();
    let target = format!("{}?cache_size=-8192", scene.sqlite());
    let schema: Value = serde_json::from_str(include_str!("../../../docs/run.schema.json")).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    for test in ["read-scan", "read-scan-weak", "write-chunk", "cpu-join", "memory", "retest"] {
        let said = run(&scene, &target, test, &[]);
        assert_eq!(said.code, 0, "{test}: {said:#?}");
        let record = &said.json()[0];
        let faults: Vec<String> = schema.iter_errors(record).map(|error| error.to_string()).collect();
        assert!(faults.is_empty(), "{test}: {faults:?}");
        assert_eq!(record["repetitions"].as_array().unwrap().len(), 2, "{test}");
        assert!(record["repetitions"].as_array().unwrap().iter().all(|r| r["complete"] == true));
        let result = &record["result"];
        assert!(
            number(&result["low"]) <= number(&result["value"]) && number(&result["value"]) <= number(&result["high"])
        );
        let evidence = record["verdict"]["evidence"].as_array().unwrap();
        assert!(!evidence.is_empty(), "{test}: a run was looked at, so something is said of its limit");
        assert!(record["ended_at"].is_string() && record.get("error").is_none(), "{test}");
    }
    assert!(scene.leftovers().is_empty(), "{:?}", scene.leftovers());
    assert!(!scene.path("data.db").exists(), "the target itself is never made");
    let listed = scene.say(&["runs", "--json"]).json();
    assert_eq!(listed.len(), 6);
}

#[test]
fn a_scan_is_cold_and_says_how_one_knows() {
    let scene = Scene::new();
    let record = run(&scene, &scene.sqlite(), "read-scan", &["--set", "volume=24MiB"]).json().remove(0);
    for repetition in record["repetitions"].as_array().unwrap() {
        let misses = number(&repetition["cold"]["engine_miss_percent"]);
        assert!((98.0..=102.0).contains(&misses), "{misses}");
        if common::on_a_device(scene.folder()) {
            let device = number(&repetition["cold"]["device_read_percent"]);
            assert!(device >= 98.0, "{device}");
            assert_eq!(repetition["cold"]["verified"], true);
        }
        assert_eq!(repetition["points"].as_array().unwrap().len(), 10);
    }
}

#[test]
fn memory_is_found_without_the_setting() {
    let scene = Scene::new();
    for megabytes in [4, 12] {
        let target = format!("{}?cache_size=-{}", scene.sqlite(), megabytes * 1024);
        let record = run(&scene, &target, "memory", &[]).json().remove(0);
        let found = number(&record["result"]["value"]);
        assert!((found / f64::from(megabytes) - 1.0).abs() <= 0.1, "{found} MB of {megabytes} MB");
    }
}

#[test]
fn kept_data_is_reused_verified_and_repaired() {
    let scene = Scene::new();
    let target = scene.sqlite();
    let reused = |said: &common::Said| said.json()[0]["parameters"]["data_reused"].clone();
    let first = run(&scene, &target, "read-scan", &["--keep-data"]);
    assert_eq!(reused(&first), false);
    let kept = scene.leftovers();
    assert!(kept.iter().any(|name| name.contains("plimsoll_data_")), "{kept:?}");
    assert_eq!(reused(&run(&scene, &target, "read-scan", &[])), true, "another run reuses it and leaves it there");
    assert_eq!(scene.leftovers(), kept);
    // Damage: a row is gone.
    let file = kept.iter().find(|name| !name.contains(".lock")).unwrap();
    rusqlite::Connection::open(scene.path(file)).unwrap().execute("DELETE FROM table3 WHERE RowId = 5", []).unwrap();
    assert_eq!(reused(&run(&scene, &target, "read-scan", &[])), false, "a damaged set is not used");
    assert_eq!(reused(&run(&scene, &target, "read-scan", &["--keep-data"])), false, "whoever keeps data repairs it");
    assert_eq!(reused(&run(&scene, &target, "read-scan", &[])), true);
    assert_eq!(scene.say(&["clean", &target]).code, 0);
    assert_eq!(scene.leftovers(), kept, "clean leaves kept data");
    assert_eq!(scene.say(&["clean", &target, "--data"]).code, 0);
    assert!(scene.leftovers().is_empty());
}

/// What only looks like ours stays, and all of it is listed with the reason.
#[test]
fn clean_lists_what_is_not_ours_and_touches_nothing() {
    let scene = Scene::new();
    let at = |name: &str| scene.path(&format!("data.db.{name}"));
    std::fs::write(at("plimsoll_run_a.lock"), "").unwrap();
    std::fs::write(at("plimsoll_run_b.db"), [0; 4096]).unwrap();
    std::fs::write(at("plimsoll_copy_ca.db"), "").unwrap();
    std::fs::write(at("plimsoll_run_d.db-wal"), "").unwrap();
    std::fs::create_dir(at("plimsoll_run_e.lock")).unwrap();
    let before = scene.leftovers();
    run(&scene, &scene.sqlite(), "read-scan", &["--set", "volume=4MiB"]);
    for words in [&["--data"][..], &["--dry-run"]] {
        let said = scene.say(&[&["clean", &scene.sqlite()], words].concat());
        assert_eq!(said.code, 0, "{said:#?}");
        for name in ["run_a", "run_b", "copy_ca", "run_d", "run_e"] {
            assert!(said.out.contains(&format!("left alone plimsoll_{name}: ")), "{name}: {said:#?}");
        }
        assert!(said.out.contains("it is a directory"), "{said:#?}");
        assert!(!said.out.contains("no objects of Plimsoll") && said.err.contains("by hand"), "{said:#?}");
    }
    assert_eq!(scene.leftovers(), before);
}

#[test]
fn stored_runs_can_be_shown_compared_and_reported() {
    let scene = Scene::new();
    let target = scene.sqlite();
    run(&scene, &target, "cpu-join", &["--campaign", "today"]);
    run(&scene, &target, "cpu-join", &["--campaign", "today", "--reference", "latest", "--anchor", "latest=50"]);
    let record = scene.say(&["show", "latest", "--json"]).json().remove(0);
    let row = &record["cpu_table"]["rows"][0];
    assert!(number(&row["reference_multiple"]) > 0.0);
    assert_eq!(record["cpu_table"]["anchor_dtu"], 50.0);
    assert!(scene.say(&["show", "latest"]).out.contains("CPU ladder"));
    let ids: Vec<String> =
        scene.say(&["runs", "--json"]).json().iter().map(|run| run["run_id"].as_str().unwrap().to_owned()).collect();
    let compared = scene.say(&["compare", &ids[1], &ids[0], "--json", "--margin", "50%"]);
    assert_eq!(compared.code, 0, "{compared:#?}");
    assert!(number(&compared.json()[0]["ratio"]) > 0.0);
    let out = |name: &str| scene.path(name).to_str().unwrap().to_owned();
    let words = ["report", "--campaign", "today", "--html", &out("r.html"), "--csv", &out("r.csv"), "--markdown", "-"];
    let said = scene.say(&words);
    assert_eq!(said.code, 0, "{said:#?}");
    assert!(said.out.contains("cpu-join"));
    let html = std::fs::read_to_string(scene.path("r.html")).unwrap();
    assert!(html.contains("<svg") && !html.contains("http://") && !html.contains("https://"));
    assert!(std::fs::read_to_string(scene.path("r.csv")).unwrap().lines().count() > 2);
    scene.say(&["report", "latest", "--html", "/nowhere/r.html"]).failed(2, &["/nowhere/r.html"]);
}

#[test]
fn targets_that_cannot_be_measured_are_refused() {
    let scene = Scene::new();
    let no_folder = format!("sqlite:{}", scene.path("nowhere/data.db").display());
    run(&scene, &no_folder, "read-scan", &[]).failed(4, &["nowhere"]);
    std::fs::write(scene.path("notes.txt"), "these are notes and not a database at all, really not").unwrap();
    let notes = format!("sqlite:{}", scene.path("notes.txt").display());
    run(&scene, &notes, "read-scan", &[]).failed(2, &["notes.txt"]);
    let target = scene.sqlite();
    let said = run(&scene, &target, "read-scan", &["--set", "volume=1000000000000000000"]);
    said.failed(6, &["free"]);
    assert_eq!(said.json()[0]["error"]["kind"], "safety");
    run(&scene, &format!("{target}?cachesize=5"), "read-scan", &[]).failed(2, &["cachesize", "cache_size"]);
    assert!(scene.leftovers().is_empty());
}

#[test]
fn an_interrupt_keeps_what_was_measured_and_leaves_nothing() {
    let scene = Scene::new();
    let target = scene.sqlite();
    let words = [
        "run",
        "write-chunk",
        "--target",
        &target,
        "--short",
        "--json",
        "--set",
        "at_least=10m",
        "--set",
        "volume=1MiB",
    ];
    let child = scene.spawn(&[&words[..], &["--set", "chunk=64KiB", "--set", "source=16KiB"]].concat());
    wait_for_points(&scene, 3);
    signal(child.id(), "INT");
    let said = common::said(&child.wait_with_output().unwrap());
    assert_eq!(said.code, 130, "{said:#?}");
    let record = &said.json()[0];
    assert_eq!(record["error"]["kind"], "interrupted");
    assert!(record["repetitions"][0]["points"].as_array().unwrap().len() >= 3);
    assert_eq!(record["repetitions"][0]["complete"], false);
    assert!(scene.leftovers().is_empty(), "{:?}", scene.leftovers());
}

/// What can't be kept is not said to be, whoever interrupts the run.
#[test]
fn an_interrupt_does_not_hide_that_the_store_is_gone() {
    let scene = Scene::new();
    let target = scene.sqlite();
    let child = scene.spawn(&["run", "insert", "--target", &target, "--short", "--json", "--set", "duration=10m"]);
    wait_for_events(&scene, "repetition", 1);
    for end in ["", "-wal", "-shm"] {
        let of = |name: &str| scene.path(&format!("{name}{end}"));
        std::fs::rename(of(scene.store().file_name().unwrap().to_str().unwrap()), of("moved.db")).unwrap();
    }
    signal(child.id(), "INT");
    let said = common::said(&child.wait_with_output().unwrap());
    assert_eq!(said.code, 7, "{}", said.err);
    assert!(said.err.contains("not all that was measured is kept"), "{}", said.err);
    assert!(!scene.store().exists(), "nothing is made in its place");
    assert!(scene.leftovers().iter().all(|name| name.starts_with("moved")), "{:?}", scene.leftovers());
}

#[test]
fn kill_9_loses_no_finished_point_and_the_next_run_or_clean_removes_the_rest() {
    let scene = Scene::new();
    let target = scene.sqlite();
    let words = ["run", "write-chunk", "--target", &target, "--short", "--set", "at_least=10m", "--set", "volume=1MiB"];
    let mut child = scene.spawn(&[&words[..], &["--set", "chunk=64KiB", "--set", "source=16KiB"]].concat());
    let seen = wait_for_points(&scene, 3);
    // A neighbour on the same target lives on while the other is killed and cleaned up after.
    let neighbour =
        scene.spawn(&["run", "read-scan", "--target", &target, "--short", "--json", "--set", "volume=16MiB"]);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(scene.say(&["clean", &target]).code, 0);
    let neighbour = common::said(&neighbour.wait_with_output().unwrap());
    assert_eq!(neighbour.code, 0, "{neighbour:#?}");
    assert!(scene.leftovers().is_empty(), "{:?}", scene.leftovers());
    let killed = scene.say(&["runs", "--json", "--test", "write-chunk"]).json().remove(0);
    assert!(killed.get("ended_at").is_none());
    let record = scene.say(&["show", killed["run_id"].as_str().unwrap(), "--json"]).json().remove(0);
    assert!(record["repetitions"][0]["points"].as_array().unwrap().len() >= seen);
}

#[test]
fn a_killed_run_shows_the_figures_of_its_complete_repetitions() {
    let scene = Scene::new();
    let words = ["run", "insert", "--target", &scene.sqlite(), "--set", "duration=1s", "--set", "volume=1MiB"];
    let mut child = scene.spawn(&[&words[..], &["--set", "sessions=1", "--repetitions", "20"]].concat());
    let complete = || {
        let said = scene.say(&["show", "latest", "--json"]);
        let records = if said.code == 0 { said.json() } else { Vec::new() };
        let repetitions = records.first().and_then(|record| record["repetitions"].as_array().cloned());
        repetitions.into_iter().flatten().filter(|repetition| repetition["complete"] == true).count()
    };
    common::wait_until(|| complete() >= 2);
    child.kill().unwrap();
    child.wait().unwrap();
    let record = scene.say(&["show", "latest", "--json"]).json().remove(0);
    assert!(record.get("ended_at").is_none(), "{record}");
    assert_eq!(record["result"]["repetitions"].as_u64(), Some(complete() as u64), "{record}");
    let shown = scene.say(&["show", "latest"]).out;
    assert!(shown.contains("The request rate is") && shown.contains("it was killed, or goes on"), "{shown}");
    assert_eq!(scene.say(&["clean", &scene.sqlite()]).code, 0);
}

#[test]
fn a_folder_that_is_moved_ends_the_run_and_what_stays_is_named() {
    let scene = Scene::new();
    let folder = scene.path("here");
    std::fs::create_dir(&folder).unwrap();
    let target = format!("sqlite:{}", folder.join("data.db").display());
    let words = ["run", "insert", "--target", &target, "--json", "--set", "duration=1s", "--set", "volume=1MiB"];
    let child = scene.spawn(&[&words[..], &["--set", "sessions=1", "--repetitions", "20"]].concat());
    common::wait_until(|| {
        let said = scene.say(&["show", "latest", "--json"]);
        said.code == 0 && said.json()[0]["repetitions"][0]["complete"] == true
    });
    let moved = scene.path("there");
    std::fs::rename(&folder, &moved).unwrap();
    let said = common::said(&child.wait_with_output().unwrap());
    said.failed(7, &[]);
    let record = &said.json()[0];
    assert!(record["result"]["value"].is_number(), "{record}");
    assert!(record["warnings"].to_string().contains("was not at the target any more at the end"), "{record}");
    assert!(record["error"].to_string().contains("plimsoll clean sqlite:FOLDER/FILE"), "{record}");
    assert_eq!(scene.say(&["clean", &format!("sqlite:{}", moved.join("data.db").display())]).code, 0);
    assert_eq!(std::fs::read_dir(&moved).unwrap().count(), 0);
}

#[test]
fn requests_that_would_end_for_want_of_room_are_not_begun() {
    let Some(disk) = common::Tmpfs::mount(200) else { return };
    let scene = Scene::new();
    let target = format!("sqlite:{}", disk.path.join("data.db").display());
    let said = scene.say(&["run", "insert", "--target", &target, "--short", "--set", "volume=1MiB"]);
    said.failed(6, &["leaves 256 MB free, but only 200 MB are free on the target's disk"]);
    assert_eq!(std::fs::read_dir(&disk.path).unwrap().count(), 0);
}

#[test]
fn a_password_file_that_others_may_read_is_named() {
    let scene = Scene::new();
    let file = scene.path("word");
    std::fs::write(&file, "planted").unwrap();
    let said = |mode: u32| {
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        scene.say(&["clean", &scene.sqlite(), "--password-file", "word"])
    };
    assert!(said(0o640).err.contains("may read the password file word; chmod 0600"));
    assert!(!said(0o600).err.contains("password file"));
}

/// Waits until the store has this many points of some run; returns how many it has.
fn wait_for_points(scene: &Scene, points: usize) -> usize {
    wait_for_events(scene, "point", points)
}

/// The same of any kind of event.
fn wait_for_events(scene: &Scene, kind: &str, points: usize) -> usize {
    for _ in 0..600 {
        let seen = rusqlite::Connection::open(scene.store()).and_then(|store| {
            store.query_row("SELECT count(*) FROM event WHERE kind = ?1", [kind], |row| row.get::<_, i64>(0))
        });
        if let Ok(seen) = seen
            && seen >= points as i64
        {
            return seen as usize;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("the run makes no progress");
}

fn signal(pid: u32, name: &str) {
    assert!(std::process::Command::new("kill").args([format!("-{name}"), pid.to_string()]).status().unwrap().success());
}
