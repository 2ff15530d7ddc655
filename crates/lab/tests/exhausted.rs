//! Requests that use their rows up, on a lab in virtual time.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_bench::run::Plan;
use plimsoll_bench::{Definition, Interrupt, Sinks, execute};
use plimsoll_clock::{Clock, VirtualClock, enter};
use plimsoll_engine::Cold;
use plimsoll_lab::LabDatabase;
use plimsoll_measurement::Host;

const DELETES: &str = r#"
name = "deletes"
title = "Deletes alone"
about = "Rows go until none is left."
steps = ["requests"]
repetitions = 1

[mix]
delete = 100

[parameters]
volume = "1MiB"
tables = 1
sessions = 4
duration = "10m"
rate = 0
arrivals = "constant"
think = "0s"
keys = "uniform"
cache = "warm"
seed = 1

[short]
duration = "20s"
"#;

#[test]
fn a_run_whose_rows_are_used_up_ends_with_a_reason() {
    let clock: Arc<dyn Clock> = Arc::new(VirtualClock::new());
    let _on_clock = enter(&clock, "test");
    let url = "lab:azure-sql-db/S2@v12-ga-2015-01?scale=1/64";
    let lab = LabDatabase::open(url, Arc::clone(&clock)).unwrap();
    let definition = Definition::parse("deletes.toml", DELETES).unwrap();
    let plan = Plan {
        definition: &definition,
        parameters: definition.parameters(false),
        repetitions: 1,
        settle: Duration::ZERO,
        cold: Cold::default(),
        levels: None,
        keep_data: false,
        without_samples: false,
        campaign: None,
        label: None,
        target: url.to_owned(),
        ceilings: Vec::new(),
        reference: None,
        anchor: None,
        catalog_edition: None,
        build: "test".to_owned(),
        host: Host::default(),
    };
    let record = execute(&plan, &lab, &clock, &Interrupt::default(), Sinks::default());
    let error = record.error.unwrap();
    assert!(error.message.contains("found no row to be made of, the last of kind 'delete'"), "{error:?}");
    let repetition = &record.repetitions[0];
    assert!(!repetition.complete && repetition.requests[0].operations > 100, "{:?}", repetition.requests);
}
