//! A new kind of test is one folder and one line: its run is stored, listed, shown, compared, reported and drawn by a program that
//! has never heard of it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;
mod modelled_device;

use std::sync::Arc;
use std::time::Duration;

use common::Scene;
use plimsoll_bench::step::kind::Kinds;
use plimsoll_bench::{Definition, Interrupt, Keeper, On, Plan, Sinks, execute};
use plimsoll_clock::{Clock, VirtualClock, enter};
use plimsoll_engine::{Cold, Description, Error, ErrorKind, WeakIsolation};
use plimsoll_measurement::{Event, Host, RunRecord, Subject};
use plimsoll_store::RunStore;

/// The line.
const KINDS: Kinds = Kinds(&[&modelled_device::KIND]);

const DEFINITION: &str = r#"name = "device-read"
title = "Reads of a modelled device"
about = "32 operations under way on one thread, which complete out of order."
steps = ["modelled-device"]
repetitions = 3
[parameters]
lasts = "90s"
"#;

struct InStore(Arc<RunStore>);

impl Keeper for InStore {
    fn keep(&mut self, events: &[Event]) -> plimsoll_engine::Result<()> {
        let kept = self.0.append(events).map(drop);
        kept.map_err(|error| Error::new(ErrorKind::DiskFull, error.to_string()))
    }
}

fn description() -> Description {
    let isolation = WeakIsolation::NoEffect("a device isolates nothing".to_owned());
    Description {
        local: true,
        embedded: true,
        fingerprint: "modelled-device".to_owned(),
        ..Description::new("modelled device", "1".to_owned(), 8192, isolation)
    }
}

/// Runs the test in virtual time, with its events in a store.
fn run(store: &Arc<RunStore>, (name, value): (&str, &str)) -> RunRecord {
    let definition = Definition::parse_of(KINDS, "device.toml", DEFINITION).unwrap();
    let mut parameters = definition.parameters(false);
    parameters.set_by_hand(name, value, &definition.steps).unwrap();
    let plan = Plan {
        definition: &definition,
        parameters,
        repetitions: definition.repetitions,
        settle: Duration::ZERO,
        cold: Cold::default(),
        levels: None,
        keep_data: false,
        without_samples: false,
        campaign: None,
        label: None,
        target: "device:modelled".to_owned(),
        ceilings: Vec::new(),
        reference: None,
        anchor: None,
        catalog_edition: None,
        build: "test".to_owned(),
        host: Host::default(),
    };
    let clock: Arc<dyn Clock> = Arc::new(VirtualClock::new());
    let _entered = enter(&clock, "run");
    let sinks = Sinks { keeper: Some(Box::new(InStore(Arc::clone(store)))), feeds: Vec::new() };
    let description = description();
    let on = On { subject: Subject::Volume, description: &description, database: None };
    execute(&plan, on, &clock, &Interrupt::default(), sinks)
}

#[test]
fn a_modelled_device_is_one_folder_and_one_line() {
    let scene = Scene::new();
    let store = Arc::new(RunStore::open(scene.store()).unwrap());
    let [fast, slow, half] = [("seed", "1"), ("seed", "2"), ("in_flight", "16")].map(|set| run(&store, set));
    drop(store);
    assert_eq!((&fast.error, fast.subject, fast.clock.as_str()), (&None, Subject::Volume, "virtual"));
    let result = fast.result.as_ref().unwrap();
    assert_eq!((result.metric.as_str(), result.repetitions), ("iops", 3));
    // By Little's law 32 operations of 10 ms are 3,200 a second.
    assert!((result.value / 3200.0 - 1.0).abs() < 0.01, "{result:?}");
    let expected = result.expected.as_ref().unwrap();
    assert!((expected.value - 3200.0).abs() < 1e-9 && expected.error_percent.unwrap().abs() < 1.0, "{expected:?}");
    // It is a function of definition and seed.
    let (again, mut before) =
        (run(&Arc::new(RunStore::open(scene.path("again.db")).unwrap()), ("seed", "1")), fast.clone());
    (before.run_id, before.host) = (again.run_id.clone(), again.host.clone());
    assert_eq!(before, again);

    // Stored: what comes out of the store is what was measured.
    let store = RunStore::open(scene.store()).unwrap();
    assert_eq!(store.record(&fast.run_id).unwrap(), fast);
    drop(store);
    let say = |words: &[&str]| {
        let said = scene.say(words);
        assert_eq!(said.code, 0, "{words:?}: {}", said.err);
        said.out
    };
    let list = say(&["runs"]);
    assert_eq!(list.lines().filter(|line| line.contains("device-read")).count(), 3, "{list}");
    let shown = say(&["show", &fast.run_id]);
    assert!(shown.contains("device-read") && shown.contains("IOPS") && shown.contains("3,200"), "{shown}");

    // Compared: the other device takes twice as long.
    let compared = say(&["compare", &fast.run_id, &slow.run_id, "--json"]);
    let compared: serde_json::Value = serde_json::from_str(compared.lines().next().unwrap()).unwrap();
    let rows = compared["rows"].as_array().or(compared["metrics"].as_array());
    let row = rows.into_iter().flatten().find(|row| row["metric"] == "iops").unwrap_or(&compared);
    assert_eq!(row["metric"], "iops", "{compared}");
    assert!((row["ratio"].as_f64().unwrap() - 0.5).abs() < 0.01, "{compared}");
    assert!(say(&["compare", &fast.run_id, &slow.run_id]).contains("worse"));
    // What differs beside the target is named, though nobody here knows what it means.
    let compared = say(&["compare", &fast.run_id, &half.run_id]);
    assert!(compared.contains("Changed from A to B: in_flight 32 → 16."), "{compared}");

    // Reported, on all faces, and drawn.
    let markdown = say(&["report", &fast.run_id, "--markdown", "-"]);
    assert!(markdown.contains("IOPS") && markdown.contains("| "), "{markdown}");
    for (rows, needle) in [("points", "minute 1"), ("seconds", "operations"), ("phases", "rate"), ("requests", "read")]
    {
        let csv = say(&["report", &fast.run_id, "--csv", "-", "--rows", rows]);
        assert!(csv.lines().count() > 3 && csv.contains(needle), "{rows}: {csv}");
    }
    let html = say(&["report", &fast.run_id, &slow.run_id, "--html", "-"]);
    assert!(html.contains("<svg") && html.contains("<path") && html.contains("device-read"), "nothing is drawn");
}
