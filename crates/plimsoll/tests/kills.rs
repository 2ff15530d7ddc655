//! `kill -9` at seeded moments of a run: what was reported finished is in the store, the store opens, `clean` leaves the
//! target as it was found, and a neighbour on the same target lives on.
//!
//! `PLIMSOLL_KILLS=50 cargo test -p plimsoll --test kills` takes some minutes; without it a few moments are tried.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Child;
use std::time::Duration;

use common::{Scene, wait_until};
use plimsoll_testbed::Postgres;

/// Long enough to be killed in any phase: looking around, loading, measuring, dropping.
const SETS: [&str; 10] = [
    "--set",
    "volume=40MiB",
    "--set",
    "chunk=1MiB",
    "--set",
    "source=128KiB",
    "--set",
    "first_set=2MiB",
    "--set",
    "at_least=0s",
];

/// What a line says that reports a point.
const POINT: &str = ": repetition ";

fn kills() -> u64 {
    std::env::var("PLIMSOLL_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(5)
}

/// Moments up to three seconds, spread by a fixed sequence.
fn moment(number: u64) -> Duration {
    Duration::from_millis(number.wrapping_mul(0x9e37_79b9_7f4a_7c15) % 3000)
}

fn start(scene: &Scene, target: &str, number: u64) -> Child {
    let test = ["write-chunk", "retest", "read-scan"][(number % 3) as usize];
    let sets = if test == "read-scan" { &SETS[..2] } else { &SETS[..if test == "retest" { 10 } else { 6 }] };
    let mut words = vec!["run", test, "--target", target, "--short", "--verbose", "--repetitions", "26"];
    words.extend_from_slice(sets);
    scene.spawn(&words)
}

/// Reads what a run tells until it has reported a point.
fn await_point(child: &mut Child) -> String {
    let mut told = String::new();
    let mut lines = BufReader::new(child.stderr.as_mut().unwrap());
    while !told.contains(POINT) {
        assert!(lines.read_line(&mut told).unwrap() > 0, "it ended: {told}");
    }
    // What was read beyond that line would be lost with the buffer.
    told.push_str(std::str::from_utf8(lines.buffer()).unwrap());
    told
}

/// Kills a run, at a moment or (the last one) when it has reported a point, and checks the store; returns how many points
/// it had reported.
fn kill(scene: &Scene, mut child: Child, number: u64) -> usize {
    let mut told = String::new();
    if number + 1 == kills() {
        told = await_point(&mut child);
    } else {
        std::thread::sleep(moment(number));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    child.stderr.take().unwrap().read_to_string(&mut told).unwrap();
    assert!(!told.contains("error:") && !told.contains("panicked"), "{told}");
    // The last line may have been cut off by the kill.
    let told = told.rfind('\n').map_or("", |end| &told[..end]);
    let reported = told.lines().filter(|line| line.contains(POINT)).count();
    let Some(newest) = scene.say(&["runs", "--json", "--limit", "1"]).json().into_iter().next() else {
        assert_eq!(reported, 0);
        return 0;
    };
    if reported > 0 {
        let record = scene.say(&["show", newest["run_id"].as_str().unwrap(), "--json"]).json().remove(0);
        let repetitions = record["repetitions"].as_array().unwrap();
        let stored: usize = repetitions.iter().map(|repetition| repetition["points"].as_array().unwrap().len()).sum();
        assert!(stored >= reported, "{reported} points were reported and {stored} stored");
    }
    reported
}

/// Ends a neighbour, which must have worked all the time and leave nothing.
fn end(scene: &Scene, mut neighbour: Child) {
    wait_until(|| {
        assert!(neighbour.try_wait().unwrap().is_none(), "the neighbour ended");
        let runs = scene.say(&["runs", "--json", "--limit", "1"]).json();
        runs.first().is_some_and(|run| {
            let record = scene.say(&["show", run["run_id"].as_str().unwrap(), "--json"]).json().remove(0);
            record["repetitions"][0]["points"].as_array().is_some_and(|points| points.len() > 3)
        })
    });
    let pid = neighbour.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let said = common::said(&neighbour.wait_with_output().unwrap());
    assert_eq!(said.code, 130, "{said:#?}");
    assert!(said.json()[0]["repetitions"][0]["points"].as_array().unwrap().len() > 3, "{said:#?}");
}

fn neighbour(scene: &Scene, target: &str) -> Child {
    let words =
        ["run", "write-chunk", "--target", target, "--short", "--json", "--set", "at_least=1h", "--set", "chunk=64KiB"];
    scene.spawn(&[&words[..], &["--set", "source=16KiB", "--set", "volume=40MiB", "--repetitions", "26"]].concat())
}

#[test]
fn on_postgresql() {
    let server = Postgres::builder().shared_buffers_mb(64).start().unwrap();
    let (target, scene, next_door) = (server.socket_url("postgres"), Scene::new(), Scene::new());
    let living = neighbour(&next_door, &target);
    let workspaces = || server.psql("SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'plimsoll%'").unwrap();
    // It has to be there before it can live on, however slow the machine is.
    wait_until(|| workspaces().trim() == "1");
    let mut reported = 0;
    for number in 0..kills() {
        let child = start(&scene, &target, number);
        reported += kill(&scene, child, number);
        let cleaned = scene.say(&["clean", &target]);
        assert_eq!(cleaned.code, 0, "{cleaned:#?}");
        assert_eq!(workspaces().trim(), "1", "only the neighbour's place is left after kill {number}");
    }
    end(&next_door, living);
    assert!(reported > 0, "no run came as far as a point");
    assert_eq!(workspaces().trim(), "0");
}

#[test]
fn on_sqlite() {
    let (scene, next_door) = (Scene::new(), Scene::new());
    let target = scene.sqlite();
    let living = neighbour(&next_door, &target);
    let mut reported = 0;
    for number in 0..kills() {
        let child = start(&scene, &target, number);
        reported += kill(&scene, child, number);
        let cleaned = scene.say(&["clean", &target]);
        assert_eq!(cleaned.code, 0, "{cleaned:#?}");
        let workspaces: std::collections::BTreeSet<String> = scene
            .leftovers()
            .iter()
            .filter_map(|name| name.split('.').find(|part| part.starts_with("plimsoll_")).map(str::to_owned))
            .collect();
        assert!(workspaces.len() <= 1, "only the neighbour's place is left after kill {number}: {workspaces:?}");
    }
    end(&next_door, living);
    assert!(reported > 0, "no run came as far as a point");
    assert!(scene.leftovers().is_empty(), "{:?}", scene.leftovers());
}

#[test]
fn of_a_minute_that_was_not_over_a_part_is_kept() {
    let scene = Scene::new();
    let target = scene.sqlite();
    let words = ["run", "mix-b", "--target", &target, "--short", "--set", "volume=1MiB", "--set", "sessions=1"];
    let mut child = scene.spawn(&[&words[..], &["--set", "duration=10m", "--repetitions", "1"]].concat());
    let kept = || {
        let record = scene.say(&["show", "latest", "--json"]).json().pop()?;
        let repetition = record["repetitions"].as_array()?.first()?.clone();
        repetition["requests"].is_array().then_some(repetition)
    };
    wait_until(|| kept().is_some());
    child.kill().unwrap();
    child.wait().unwrap();
    let repetition = kept().unwrap();
    let sum = |numbers: &serde_json::Value| -> u64 {
        numbers.as_array().unwrap().iter().map(|number| number.as_u64().unwrap()).sum()
    };
    let kinds = repetition["requests"].as_array().unwrap();
    let answered: u64 = kinds.iter().map(|kind| kind["operations"].as_u64().unwrap()).sum();
    assert_eq!(repetition["points"].as_array().map(Vec::len), Some(0), "no minute is over: {repetition}");
    // Kinds are kept every ten seconds, and what was answered in each second when it is over.
    assert!(answered > 0 && answered <= sum(&repetition["seconds"]["operations"]), "{repetition}");
    let shown = scene.say(&["show", "latest"]);
    assert!(shown.code == 0 && shown.out.contains("unfinished"), "{shown:#?}");
    assert_eq!(scene.say(&["clean", &target]).code, 0);
}
