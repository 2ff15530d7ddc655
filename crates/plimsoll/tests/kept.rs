//! What release v0.1.0 left behind: its store opens and says the same. And what the lab measured since its model was last
//! changed: it measures the same for the same seeds. What may differ is listed, with the reason, in data/v0.1.0/agreed.toml.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod agreed;
mod common;

use std::path::PathBuf;
use std::{env, fs};

use agreed::{Agreed, Difference, Renames, differences, figures_gone};
use common::Scene;
use serde_json::Value;

/// Fields that have another name now: old path and new path, as steps with `.` between them; `*` is any one step. A rule applies
/// wherever its steps follow each other, and all rules apply, from the first to the last. Milliseconds became microseconds.
const RENAMES: Renames<'static> = &[
    ("truth", "expected"),
    ("lifts", "gains"),
    ("stretches", "segments"),
    ("silences", "stalls"),
    ("points.*.accesses", "points.*.metrics.accesses"),
    ("points.*.cache_miss_pages", "points.*.metrics.cache_miss_pages"),
    ("points.*.content_bytes", "points.*.metrics.content_bytes"),
    ("points.*.cpu_percent", "points.*.metrics.cpu_percent"),
    ("points.*.cpu_seconds", "points.*.metrics.cpu_seconds"),
    ("points.*.device_bytes", "points.*.metrics.device_bytes"),
    ("points.*.errors", "points.*.metrics.errors"),
    ("points.*.join_rows", "points.*.metrics.join_rows"),
    ("points.*.log_bytes", "points.*.metrics.log_bytes"),
    ("points.*.matches", "points.*.metrics.matches"),
    ("points.*.mb_per_minute", "points.*.metrics.mb_per_minute"),
    ("points.*.memory_percent", "points.*.metrics.memory_percent"),
    ("points.*.operations", "points.*.metrics.operations"),
    ("points.*.page_bytes", "points.*.metrics.page_bytes"),
    ("points.*.passes", "points.*.metrics.passes"),
    ("points.*.rows", "points.*.metrics.rows"),
    ("points.*.sessions", "points.*.metrics.sessions"),
    ("points.*.set_bytes", "points.*.metrics.set_bytes"),
    ("points.*.source_miss_pages", "points.*.metrics.source_miss_pages"),
    ("points.*.rate_asked", "points.*.metrics.asked_per_s"),
    ("points.*.latency_ms_p50", "points.*.metrics.latency_us_p50"),
    ("points.*.latency_ms_p99", "points.*.metrics.latency_us_p99"),
    ("latency_ms_p50", "latency_us_p50"),
    ("latency_ms_p99", "latency_us_p99"),
    ("truth_error_percent", "expected_error_percent"),
    ("truth_published", "expected_published"),
    ("parameters.shrink", "parameters.scale_duration"),
    ("parameters.way", "parameters.copy_method"),
];

/// What belongs to the one run, the one machine and the one build.
const PASSING: [&str; 3] = ["run_id", "host", "build"];

/// The folder of an output: the lab's own, or the release's.
fn data(name: &str) -> PathBuf {
    let folder = if name.starts_with("lab/") { "tests/data" } else { "tests/data/v0.1.0" };
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(folder).join(name)
}

/// Name of an output and arguments that make it.
fn commands(file: &str) -> Vec<(String, Vec<String>)> {
    let text = fs::read_to_string(data(file)).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let command = |line: &str| {
        let (name, arguments) = line.split_once(": ").unwrap();
        (name.to_owned(), arguments.split(' ').map(str::to_owned).collect())
    };
    lines.map(command).collect()
}

fn golden(name: &str) -> String {
    fs::read_to_string(data(name)).unwrap()
}

/// Whether an output is of one of these kinds.
fn is(name: &str, kinds: &[&str]) -> bool {
    name.rsplit_once('.').is_some_and(|(_, kind)| kinds.contains(&kind))
}

/// JSON Lines, or CSV as objects, as one array.
fn records(name: &str, text: &str) -> Value {
    if !is(name, &["csv"]) {
        return text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect();
    }
    let mut lines = text.lines().map(agreed::cells);
    let header = lines.next().unwrap();
    lines
        .map(|cells| header.iter().cloned().zip(cells.iter().map(|cell| agreed::cell(cell))).collect::<Value>())
        .collect()
}

/// What differs between an output of then and one of now.
fn compare(name: &str, old: &str, new: &str) -> Vec<Difference> {
    if is(name, &["txt", "md"]) {
        figures_gone(name, old, new)
    } else {
        differences(name, &records(name, old), &records(name, new), RENAMES)
    }
}

/// A scene with a copy of the kept store.
fn kept() -> Scene {
    let scene = Scene::new();
    fs::copy(data("runs.db"), scene.store()).unwrap();
    scene
}

/// Ids of the kept runs, the oldest first.
fn ids() -> Vec<String> {
    let runs = records("runs.json", &golden("runs.json"));
    let mut ids: Vec<String> =
        runs.as_array().unwrap().iter().map(|run| run["run_id"].as_str().unwrap().to_owned()).collect();
    ids.sort();
    ids
}

#[test]
fn the_kept_store_opens_and_says_the_same() {
    let (scene, ids) = (kept(), ids());
    assert_eq!(ids.len(), 19);
    let agreed = Agreed::read(&golden("agreed.toml"));
    let mut found = Vec::new();
    for (name, arguments) in commands("commands.txt") {
        let of_run = |word: &String| match word.strip_prefix('@') {
            Some(number) => ids[number.parse::<usize>().unwrap()].clone(),
            None => word.clone(),
        };
        let mut words: Vec<String> = arguments.iter().map(of_run).collect();
        if words[0] == "show" && is(&name, &["txt"]) {
            // What release v0.1.0 always said.
            words.push("--full".to_owned());
        }
        let said = scene.say(&words.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(said.code, 0, "{name}: {}", said.err);
        found.extend(compare(&name, &golden(&name), &said.out));
    }
    agreed.check(&found, |output| !output.starts_with("lab/"));
}

#[test]
fn the_lab_measures_the_same_for_the_same_seeds() {
    let scene = Scene::new();
    let agreed = Agreed::read(&golden("agreed.toml"));
    let mut found = Vec::new();
    for (name, arguments) in commands("lab/lab.txt") {
        let name = format!("lab/{name}");
        let words =
            [&["run", "--json", "--quiet"], &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..]].concat();
        let said = scene.say(&words);
        assert_eq!(said.code, 0, "{name}: {}", said.err);
        // Files of a copy are named by their run.
        let id = records(&name, &said.out)[0]["run_id"].as_str().unwrap().to_owned();
        let mut lasting = records(&name, &said.out.replace(&id, "RUN"));
        for record in lasting.as_array_mut().unwrap() {
            for field in PASSING {
                record.as_object_mut().unwrap().remove(field);
            }
        }
        if env::var_os("PLIMSOLL_UPDATE_DOCS").is_some() {
            let lines: Vec<String> = lasting.as_array().unwrap().iter().map(|record| format!("{record}\n")).collect();
            fs::write(data(&name), lines.concat()).unwrap();
        }
        found.extend(differences(&name, &records(&name, &golden(&name)), &lasting, &[]));
    }
    agreed.check(&found, |output| output.starts_with("lab/"));
}

#[test]
fn a_changed_figure_is_found_in_every_kind_of_output() {
    for name in ["show-scan.json", "compare-scan.json", "history.json", "report-points.csv", "lab/insert-s2.json"] {
        let old = records(name, &golden(name));
        assert!(differences(name, &old, &old, &[]).is_empty());
        let mut new = old.clone();
        let path = agreed::nudge(&mut new).unwrap_or_else(|| panic!("{name} has no figure"));
        let found = differences(name, &old, &new, &[]);
        assert_eq!(found.len(), 1, "{name}");
        assert_eq!(found[0].path, path, "{name}");
    }
    let text = golden("show-scan.txt");
    assert!(text.contains("285 MB/min") && figures_gone("show-scan.txt", &text, &text).is_empty());
    assert_eq!(figures_gone("show-scan.txt", &text, &text.replace("849 ms", "848 ms"))[0].old, "[\"849\"]");
}
