//! The lab from the command line: a run is a function of command and seed, the truth stands beside it, and what can't be
//! is refused with what would be right.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::Scene;
use serde_json::Value;
use xxhash_rust::xxh3::xxh3_64;

const S0: &str = "lab:azure-sql-db/S0@v12-ga-2015-01";

/// All tests of the foundation, small; sizes are those of full volumes.
const COMMAND: [&str; 19] = [
    "run",
    "read-scan",
    "write-chunk",
    "cpu-join",
    "memory",
    "--json",
    "--repetitions",
    "2",
    "--set",
    "volume=256MiB",
    "--set",
    "chunk=16MiB",
    "--set",
    "tables=3",
    "--set",
    "rows=1000",
    "--set",
    "largest_set=1GiB",
    "--target",
];

/// The records of a command on a target.
fn measure(scene: &Scene, target: &str) -> Vec<Value> {
    let said = scene.say(&[&COMMAND[..], &[target]].concat());
    assert_eq!(said.code, 0, "{said:#?}");
    said.json()
}

/// A record without what belongs to the one run and the one machine.
fn lasting(mut record: Value) -> Value {
    let fields = record.as_object_mut().unwrap();
    fields.remove("run_id").unwrap();
    fields.remove("host").unwrap();
    record
}

#[test]
fn a_run_is_a_function_of_command_and_seed() {
    let scene = Scene::new();
    let (one, two) = (measure(&scene, S0), measure(&scene, S0));
    assert_eq!(one.len(), 4);
    for (one, two) in one.iter().zip(&two) {
        assert_eq!(lasting(one.clone()).to_string(), lasting(two.clone()).to_string());
        assert_ne!(one["run_id"], two["run_id"]);
        assert_eq!(one["clock"], "virtual");
        assert!(one["virtual_seconds"].as_f64().unwrap() > one["host"]["real_seconds"].as_f64().unwrap() / 100.0);
    }
    let other = measure(&scene, &format!("{S0}?seed=2"));
    for (one, other) in one.iter().zip(&other).filter(|(one, _)| one["test"] != "cpu-join") {
        assert_ne!(one["repetitions"], other["repetitions"], "{}", one["test"]);
    }
}

/// The same on every machine and in every release. Whoever changes model, tests or record on purpose puts the new hash here.
#[test]
fn a_run_is_the_same_on_every_machine() {
    const HASH: &str = "bc3c984f5f5e33f1";
    let records = measure(&Scene::new(), S0).into_iter().map(|record| {
        let mut record = lasting(record);
        record.as_object_mut().unwrap().remove("build").unwrap();
        record.to_string()
    });
    let text: Vec<String> = records.collect();
    assert_eq!(format!("{:016x}", xxh3_64(text.join("\n").as_bytes())), HASH);
}

#[test]
fn volumes_shrink_and_the_truth_stands_beside_the_figures() {
    let scene = Scene::new();
    let records = measure(&scene, S0);
    let scan = &records[0]["parameters"];
    assert_eq!((&scan["scale"], &scan["volume"], &scan["tables"]), (&64.into(), &(4 << 20).into(), &3.into()));
    assert_eq!(records[1]["parameters"]["source"], 16 << 10, "not below what a parameter allows");
    let memory = &records[3]["result"];
    assert!(memory["note"].as_str().unwrap().ends_with("measured at scale 1/64"), "{memory}");
    for record in &records {
        let (truth, result) = (&record["expected"], &record["result"]);
        let (is, should) = (result["value"].as_f64().unwrap(), truth["value"].as_f64().unwrap());
        assert!((100.0 * (is / should - 1.0) - truth["error_percent"].as_f64().unwrap()).abs() < 1e-6);
        assert_eq!(truth["unit"], result["unit"]);
        assert!(truth["limit"].is_string() && truth["reason"].is_string() && truth["published"].is_boolean());
    }
    let said = scene.say(&["show", records[0]["run_id"].as_str().unwrap()]);
    for words in ["of virtual time in", "expected value", "off by"] {
        assert!(said.out.contains(words), "{}", said.out);
    }
    let whole = scene.say(
        &[
            &[
                "run",
                "read-scan",
                "--json",
                "--repetitions",
                "1",
                "--set",
                "volume=4MiB",
                "--set",
                "row=900",
                "--target",
            ][..],
            &["lab:azure-sql-db/S2?scale=1"],
        ]
        .concat(),
    );
    let record = &whole.json()[0];
    assert_eq!((&record["parameters"]["volume"], &record["parameters"]["row"]), (&(4 << 20).into(), &"900".into()));
    assert!(record["parameters"].get("scale").is_none());
}

#[test]
fn what_is_no_lab_is_refused_with_the_nearest_name() {
    let scene = Scene::new();
    for (target, words) in [
        ("lab:azure-sql-bd/S2", &["azure-sql-bd", "azure-sql-db"][..]),
        ("lab:azure-sql-db/S9", &["S9", "S2"]),
        ("lab:azure-sql-db/S2@v13", &["v13", "v12-ga-2015-01"]),
        ("lab:azure-sql-db/S2?skale=1/4", &["did you mean 'scale'"]),
        ("lab:azure-sql-db/S2?scale=0", &["scale can't be '0'", "1/N"]),
        ("lab:azure-sql-db/S2?clock=sun", &["virtual or real"]),
        ("lab:azure-sql-db/S2?seed=-1", &["seed"]),
        ("lab:azure-sql-db", &["names no service and level"]),
        ("lab:missing.toml", &["missing.toml"]),
    ] {
        scene.say(&["run", "read-scan", "--target", target]).failed(2, words);
    }
    scene.say(&["lab", "verify", "--level", "S9"]).failed(2, &["S9", "S2"]);
    scene.say(&["lab", "verify", "--edition", "v13"]).failed(2, &["v12-ga-2015-01"]);
    scene
        .say(&["run", "read-scan", "--restart-command", "true", "--target", S0, "--set", "volume=64MiB"])
        .failed(2, &["no server to restart"]);
    assert_eq!(scene.say(&["catalog", "P30"]).code, 0);
    let said = scene.say(&["catalog", "postgres://me:half?other-half@host/x"]);
    said.failed(2, &["no addresses"]);
    assert!(!said.err.contains("half"), "{said:?}");
}

#[test]
fn a_file_of_ones_own_keeps_data_and_can_be_cleaned() {
    let scene = Scene::new();
    let target = format!("{S0}?file={}", scene.path("mine").display());
    let words =
        ["run", "read-scan", "--keep-data", "--json", "--repetitions", "1", "--set", "volume=64MiB", "--target"];
    for reused in [false, true] {
        let said = scene.say(&[&words[..], &[&target]].concat());
        assert_eq!(said.code, 0, "{said:#?}");
        assert_eq!(said.json()[0]["parameters"]["data_reused"], reused);
    }
    assert!(!scene.leftovers().is_empty());
    assert_eq!(scene.say(&["clean", &target, "--data"]).code, 0);
    assert!(scene.leftovers().is_empty(), "{:?}", scene.leftovers());
    assert_eq!(scene.say(&["doctor", &target]).code, 0);
}
