//! Labels of runs, and thresholds that end one with a code of its own.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{Said, Scene};

fn run(scene: &Scene, more: &[&str]) -> Said {
    let words = ["run", "update", "--short", "--target", "lab:azure-sql-db/S2@v12-retest", "--set", "duration=2s"];
    scene.say(&[&words[..], &["--repetitions", "2"], more].concat())
}

#[test]
fn a_threshold_that_is_crossed_gives_code_1() {
    let scene = Scene::new();
    let kept = run(&scene, &["--fail-if", "p50 > 1h", "--fail-if", "errors > 1%"]);
    assert!(kept.code == 0 && kept.err.contains("'p50 > 1h' is not so: latency_p50 is "), "{kept:#?}");
    let crossed = run(&scene, &["--fail-if", "request_rate < 1000000", "--fail-if", "p50 > 1h", "--json"]);
    assert!(
        crossed.code == 1 && crossed.err.contains("'request_rate < 1000000' is true: request_rate is "),
        "{crossed:#?}"
    );
    assert_eq!(crossed.json().len(), 1, "the result is printed all the same");
    // What can't be judged is refused before anything is measured.
    let before = scene.say(&["runs", "--json"]).json().len();
    run(&scene, &["--fail-if", "read_rate < 3"]).failed(2, &["no figure read_rate", "request_rate"]);
    run(&scene, &["--fail-if", "request_rate < 3 MB"]).failed(2, &["request_rate is in 1/s"]);
    run(&scene, &["--fail-if", "p99 > 20"]).failed(2, &["not a time with a unit"]);
    run(&scene, &["--fail-if", "fast"]).failed(2, &["none of >, >=, < and <="]);
    assert_eq!(scene.say(&["runs", "--json"]).json().len(), before);
}

#[test]
fn a_run_is_found_by_its_label() {
    let scene = Scene::new();
    for label in ["before", "after"] {
        assert_eq!(run(&scene, &["--label", label]).code, 0);
    }
    let listed = scene.say(&["runs"]);
    assert!(listed.out.contains("Label") && listed.out.contains("before"), "{listed:#?}");
    let said = scene.say(&["compare", "before", "after"]);
    let words = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.code == 0 && words.contains("A is before, and B is after."), "{said:#?}");
    let side_by_side = scene.say(&["report", "before", "after", "--markdown", "-"]);
    assert!(side_by_side.out.contains("before") && side_by_side.out.contains("after"), "{side_by_side:#?}");
    // Of several runs with a label the newest is meant.
    assert_eq!(run(&scene, &["--label", "before", "--set", "sessions=2"]).code, 0);
    let newest = scene.say(&["show", "before", "--json"]).json();
    assert_eq!(newest[0]["parameters"]["sessions"], serde_json::json!(2));
    run(&scene, &["--label", "latest"]).failed(2, &["that is the last run"]);
    run(&scene, &["--label", " "]).failed(2, &["1 to 40 characters"]);
}
