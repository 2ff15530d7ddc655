//! `plimsoll simulate --from RUN --on MACHINE.toml` from the outside: workloads and pairs of hardware drawn by seed. What a run of the lab on
//! the first lets predict is held against a run on the second, and what is said to bind there against reruns with each limit raised.
//!
//! `PLIMSOLL_PAIRS=40` runs all of the bar and prints a table; without it a few pairs run.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::print_stdout, reason = "the table of the bar")]

mod common;

use common::Scene;
use plimsoll_lab::scenario::{Pair, Scenario, pair};
use serde_json::Value;

/// Pairs of the bar.
const BAR: u64 = 40;

/// A limit binds if a fifth more of it gives so much, and does nothing below the other.
const GAINS: f64 = 0.05;
const NOTHING: f64 = 0.02;

/// Seeds that are tried for a case whose limit is clear.
const MOST_SEEDS: u64 = 6;

/// Keys with their tables, whether less is more, and the limit.
type Raised = (&'static [(&'static str, &'static str)], bool, &'static str);

/// What is raised: the key in the hardware's text, whether less of it is more, and the limit.
const RAISED: [Raised; 6] = [
    (&[("cpu", "cores")], false, "cpu"),
    (&[("data", "iops")], false, "data_iops"),
    (&[("data", "bandwidth")], false, "data_bandwidth"),
    (&[("log", "write_iops"), ("log", "write_bandwidth")], false, "log_write"),
    (&[("", "memory")], false, "memory"),
    (&[("client", "request_time")], true, "client"),
];

/// A held-out pair and what became of it.
struct Held {
    name: String,
    predicted: f64,
    interval: (f64, f64),
    calibration: String,
    measured: f64,
    said: Vec<String>,
    bound: Vec<&'static str>,
    aims: (String, String),
    source: String,
}

impl Held {
    fn error(&self) -> f64 {
        self.predicted / self.measured - 1.0
    }

    fn is_near(&self) -> bool {
        self.error().abs() <= 0.1
    }

    fn is_inside(&self) -> bool {
        (self.interval.0..=self.interval.1).contains(&self.measured)
    }

    fn is_limit_right(&self) -> bool {
        self.said.first().is_some_and(|said| self.bound.contains(&said.as_str()))
    }

    fn line(&self) -> String {
        format!(
            "{:<24} {:>6} -> {:<14} {:>8.1} [{:>8.1}, {:>8.1}] {:>8.1} {:>+6.1} % {} {} said {} bound {} | {}",
            self.name,
            self.source,
            format!("{}/{}", self.aims.0, self.aims.1),
            self.predicted,
            self.interval.0,
            self.interval.1,
            self.measured,
            100.0 * self.error(),
            if self.is_near() { "near" } else { "FAR " },
            if self.is_inside() { "inside " } else { "OUTSIDE" },
            self.said.join("+"),
            self.bound.join("+"),
            self.calibration,
        )
    }
}

/// Runs a test on hardware; its record.
fn run(scene: &Scene, hardware: &str, luck: u64) -> Value {
    std::fs::write(scene.path("run.toml"), hardware).unwrap();
    let target = format!("lab:run.toml?scale=1&seed={luck}");
    let said = scene.say(&["run", "./test.toml", "--target", &target, "--repetitions", "1", "--json"]);
    assert_eq!(said.code, 0, "{said:#?}");
    said.json().remove(0)
}

fn rate(record: &Value) -> f64 {
    record["result"]["value"].as_f64().unwrap()
}

/// The same hardware with a fifth more of something; nothing where it has none.
fn raised(hardware: &str, keys: &[(&str, &str)], is_less: bool) -> Option<String> {
    let mut table: toml::Table = hardware.parse().unwrap();
    let factor = if is_less { 1.0 / 1.2 } else { 1.2 };
    let mut found = false;
    for (place, key) in keys {
        let part =
            if place.is_empty() { Some(&mut table) } else { table.get_mut(*place).and_then(toml::Value::as_table_mut) };
        let Some(value) = part.and_then(|part| part.get_mut(*key)) else { continue };
        let end = |text: &str| text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
        *value = match &*value {
            toml::Value::Float(number) => (number * factor).into(),
            toml::Value::String(text) => {
                let (number, unit) = text.split_at(end(text));
                let more = number.parse::<f64>().unwrap() * factor;
                if unit == "B" {
                    format!("{:.0}B", (more / 4096.0).round() * 4096.0)
                } else {
                    format!("{more:.4}{unit}")
                }
                .into()
            }
            other => other.clone(),
        };
        found = true;
    }
    found.then(|| table.to_string())
}

/// What binds by reruns; nothing where that is not clear.
fn bound(scene: &Scene, scenario: &Scenario, measured: f64) -> Option<Vec<&'static str>> {
    let mut bound = Vec::new();
    for (keys, is_less, limit) in RAISED {
        let Some(hardware) = raised(&scenario.hardware, keys, is_less) else { continue };
        let gain = rate(&run(scene, &hardware, scenario.luck)) / measured - 1.0;
        if (NOTHING..GAINS).contains(&gain) {
            return None;
        }
        bound.extend((gain >= GAINS).then_some(limit));
    }
    if bound.is_empty() {
        bound.push("none");
    }
    Some(bound)
}

/// Measures on the first, predicts the second, and measures that too. Nothing where the second's limit is not clear.
fn held(number: u64, nth: u64) -> Option<Held> {
    let Pair { a, b, .. } = pair(number, nth);
    let scene = Scene::new();
    std::fs::write(scene.path("test.toml"), a.test()).unwrap();
    let source = run(&scene, &a.hardware, a.luck);
    std::fs::write(scene.path("b.toml"), &b.hardware).unwrap();
    // The run's own hardware is still in its file.
    let said = scene.say(&["simulate", "--from", source["run_id"].as_str().unwrap(), "--on", "b.toml", "--json"]);
    assert_eq!(said.code, 0, "{said:#?}");
    let predicted = said.json().remove(0);
    assert_eq!(predicted["basis"], "predicted");
    std::fs::write(scene.path("test.toml"), b.test()).unwrap();
    let measured = rate(&run(&scene, &b.hardware, b.luck));
    let is_quick = std::env::var_os("PLIMSOLL_PAIRS_WITHOUT_LIMITS").is_some();
    let bound = if is_quick { vec![b.aims_at.name()] } else { bound(&scene, &b, measured)? };
    let verdict = &predicted["verdict"];
    let also = verdict["also"].as_array().into_iter().flatten();
    let said = [&verdict["limit"]].into_iter().chain(also).map(|limit| limit.as_str().unwrap_or("open").to_owned());
    let result = &predicted["result"];
    Some(Held {
        name: format!("{number}.{nth} {}", b.family.name()),
        predicted: rate(&predicted),
        interval: (result["low"].as_f64().unwrap(), result["high"].as_f64().unwrap()),
        calibration: predicted["environment"]["calibration"].as_str().unwrap().split(": ").last().unwrap().to_owned(),
        measured,
        said: said.collect(),
        bound,
        aims: (a.aims_at.name().to_owned(), b.aims_at.name().to_owned()),
        source: format!("{:.0}", rate(&source)),
    })
}

#[test]
fn what_a_run_lets_predict_is_what_a_run_on_the_other_hardware_shows() {
    let asked: Option<u64> = std::env::var("PLIMSOLL_PAIRS").ok().and_then(|count| count.parse().ok());
    let numbers: Vec<u64> = asked.map_or_else(|| vec![0, 1, 2, 4], |count| (0..count).collect());
    let mut all = Vec::new();
    for number in numbers {
        let found = (0..MOST_SEEDS).find_map(|nth| held(number, nth)).expect("a clear case");
        println!("{}", found.line());
        all.push(found);
    }
    let count = |of: fn(&Held) -> bool| all.iter().filter(|held| of(held)).count();
    let (near, right, inside) = (count(Held::is_near), count(Held::is_limit_right), count(Held::is_inside));
    println!("{} pairs: {near} within 10 %, {right} limits right, {inside} inside the interval", all.len());
    if all.len() as u64 == BAR {
        assert!(near >= 32 && right >= 36 && inside >= 36, "{near} {right} {inside}");
    } else if asked.is_none() {
        assert!(near >= 3 && right >= 3 && inside >= 3, "{near} {right} {inside}");
    }
}

#[test]
fn what_nothing_can_be_predicted_from_is_refused() {
    let scene = Scene::new();
    let run = |words: &[&str]| {
        let said = scene.say(&[&["run"], words, &["--short", "--repetitions", "1", "--json"]].concat());
        assert_eq!(said.code, 0, "{said:#?}");
        said.json().remove(0)["run_id"].as_str().unwrap().to_owned()
    };
    let target = "lab:azure-sql-db/S2";
    let fit = run(&["update", "--target", target]);
    scene.say(&["simulate", "--from", &fit]).failed(2, &["does not say what to predict"]);
    scene.say(&["simulate", "--from", &fit, "--on", "azure-sql-db/S99"]).failed(2, &["unknown level 'S99'"]);
    let scan = run(&["read-scan", "--target", target]);
    scene.say(&["simulate", "--from", &scan, "--gains"]).failed(2, &["not made of requests"]);
    let blind = run(&["update", "--target", target, "--no-samples"]);
    scene.say(&["simulate", "--from", &blind, "--gains"]).failed(7, &["there is not enough evidence"]);
    let said = scene.say(&["simulate", "--from", &fit, "--on", "azure-sql-db/S3", "--gains"]);
    assert!(said.code == 0 && said.out.contains("(predicted)"), "{said:#?}");
    // What was predicted is a run like others, but not one to predict from; the latest is the latest that was measured.
    let id = scene.say(&["runs", "--json"]).json()[0]["run_id"].as_str().unwrap().to_owned();
    scene.say(&["simulate", "--from", &id, "--gains"]).failed(2, &["was predicted itself"]);
    scene.say(&["simulate", "--from", "latest", "--gains"]).failed(7, &["there is not enough evidence"]);
}

#[test]
fn the_store_keeps_how_often_predictions_were_right() {
    let scene = Scene::new();
    let run = |level: &str| {
        let target = format!("lab:azure-sql-db/{level}");
        let said = scene.say(&["run", "update", "--target", &target, "--short", "--repetitions", "1", "--json"]);
        assert_eq!(said.code, 0, "{said:#?}");
        said.json().remove(0)["run_id"].as_str().unwrap().to_owned()
    };
    let predict = |more: &[&str]| scene.say(&[&["simulate", "--from", "latest"], more].concat());
    run("S2");
    let alone = predict(&["--on", "azure-sql-db/S3"]);
    // It belongs to the answer, and an answer is wrapped.
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let first = "No prediction of this store has been checked by a run yet. Of 40 pairs";
    assert!(alone.code == 0 && words(&alone.out).contains(first), "{alone:#?}");
    let predicted = scene.say(&["runs", "--json"]).json().remove(0);
    assert_eq!((&predicted["basis"], &predicted["target"]), (&"predicted".into(), &"lab:azure-sql-db/S3".into()));
    assert!(scene.say(&["runs"]).out.contains("update (predicted)"));
    let measured = run("S3");
    let compared = scene.say(&["compare", &measured, predicted["run_id"].as_str().unwrap()]);
    assert!(compared.code == 0 && compared.out.starts_with("The prediction is "), "{compared:#?}");
    assert!(compared.out.contains("whose target was measured: 1 (1 from lab). "), "{compared:#?}");
    // To the model requests are alike: it knows their mean and no percentile.
    let shown = scene.say(&["show", predicted["run_id"].as_str().unwrap(), "--full"]);
    for said in [&shown, &compared] {
        assert!(!said.out.contains("p50"), "{said:#?}");
    }
    // Its own hardware is nothing that it had to foresee.
    let again = predict(&["--gains"]);
    assert!(again.code == 0 && words(&again.out).contains("target was measured: 1 (1 from lab). "), "{again:#?}");
    let history = scene.say(&["history", "update", "--target", "lab:azure-sql-db/S3", "--json"]).json().remove(0);
    assert_eq!(history["runs"].as_array().unwrap().len(), 1);
    assert_eq!(history["left_out"].as_array().unwrap().len(), 0, "what was predicted is no history");
}
