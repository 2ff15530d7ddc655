//! Every test of the program, short and once: what it came to, and what was absent. A row for each.

use std::fmt::Write as _;

use serde_json::Value;

use crate::common::{Said, Scene};

/// What tests need to be told beside their names.
const FLAGS: [(&str, &[&str]); 4] = [
    ("import", &["--allow-create-database"]),
    ("copy", &["--allow-create-database"]),
    ("restore", &["--allow-create-database"]),
    ("level-change", &["--allow-level-change", "--set", "level=S1"]),
];

/// Classes of errors by which a test says that this server or this user has not got what it needs.
const ABSENT: [&str; 3] = ["unsupported", "permission", "tool-missing"];

/// Names of the tests, or of those in PLIMSOLL_TRIAL.
fn names(scene: &Scene) -> Vec<String> {
    let chosen = std::env::var("PLIMSOLL_TRIAL").unwrap_or_default();
    if !chosen.is_empty() {
        return chosen.split(',').map(str::to_owned).collect();
    }
    // An unknown name is answered by all that are known.
    let said = scene.say(&["tests", "show", "none-is-called-so"]);
    let (_, names) = said.err.split_once("known names: ").unwrap_or_else(|| panic!("{said:#?}"));
    names.lines().next().unwrap_or_default().split(", ").map(str::to_owned).collect()
}

fn run(scene: &Scene, test: &str) -> Said {
    let url = crate::url();
    let flags = FLAGS.iter().find(|(name, _)| *name == test).map_or(&[][..], |(_, flags)| flags);
    let words = ["run", test, "--short", "--repetitions", "1", "--json", "--quiet", "--target", &url];
    scene.say(&[&words[..], flags].concat())
}

/// A number with three digits that count.
fn short(number: f64) -> String {
    if number >= 100.0 { format!("{number:.0}") } else { format!("{number:.3}") }
}

/// The row of the table: what a test came to.
fn row(test: &str, said: &Said) -> Result<String, String> {
    let record = said.json().into_iter().next().ok_or_else(|| format!("{test}: no record: {}", said.err))?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let figure = match (&record["result"]["value"], &record["result"]["unit"]) {
        (Value::Number(value), unit) => format!("{} {}", short(value.as_f64().unwrap()), text(unit)),
        _ => "none".to_owned(),
    };
    let error = &record["error"];
    let (outcome, why) = if error.is_object() {
        let class = text(&error["kind"]);
        if !ABSENT.contains(&class.as_str()) {
            return Err(format!("{test}: {} ({class})", text(&error["message"])));
        }
        (class, text(&error["message"]))
    } else {
        if said.code != 0 {
            return Err(format!("{test}: exit code {} without an error: {}", said.code, said.err));
        }
        let warnings = record["warnings"].as_array().cloned().unwrap_or_default();
        let absent = warnings.iter().map(text).filter(|warning| warning.contains("not available"));
        let names: Vec<String> =
            absent.filter_map(|warning| warning.split(" not available").next().map(str::to_owned)).collect();
        ("ran".to_owned(), names.join(", "))
    };
    Ok(format!("| {test} | {outcome} | {figure} | {} |", why.replace('|', "/")))
}

#[test]
fn every_test_ends_with_a_figure_or_with_what_is_absent() {
    let scene = Scene::new();
    let (mut table, mut failed) = ("| test | ended | figure | absent |\n|---|---|---|---|\n".to_owned(), Vec::new());
    for test in names(&scene) {
        let said = run(&scene, &test);
        match row(&test, &said) {
            Ok(row) => {
                println!("{row}");
                let _ = writeln!(table, "{row}");
            }
            Err(why) => {
                println!("{why}");
                failed.push(why);
            }
        }
    }
    println!("\n{table}");
    assert!(failed.is_empty(), "{failed:#?}");
    let left = crate::workspaces(crate::open().as_ref());
    assert!(left.is_empty(), "left behind: {left:?}");
}
