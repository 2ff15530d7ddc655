//! Runs of the product's tests on a lab in virtual time.
#![allow(dead_code, clippy::unwrap_used, reason = "tests; every file of them uses a part of it")]

use std::sync::Arc;
use std::time::Duration;

use plimsoll_bench::run::Plan;
use plimsoll_bench::{Interrupt, Sinks, definition, execute};
use plimsoll_clock::{Clock, VirtualClock, enter};
use plimsoll_engine::Cold;
use plimsoll_hardware::Spec;
use plimsoll_lab::level::Level;
use plimsoll_lab::{Address, LabDatabase};
use plimsoll_measurement::{Host, RunRecord};

/// Runs a test on a lab in virtual time.
pub fn run(
    open: impl FnOnce(Arc<dyn Clock>) -> LabDatabase,
    test: &str,
    repetitions: u32,
    set: &[(&str, &str)],
) -> RunRecord {
    let clock: Arc<dyn Clock> = Arc::new(VirtualClock::new());
    let _on_clock = enter(&clock, "test");
    let lab = open(Arc::clone(&clock));
    let definition = definition::find_builtin(test).unwrap();
    let mut parameters = definition.parameters(false);
    for (name, value) in set {
        parameters.set(name, value, &definition.steps).unwrap();
    }
    let plan = Plan {
        definition: &definition,
        parameters,
        repetitions,
        settle: Duration::ZERO,
        cold: Cold::default(),
        levels: None,
        keep_data: false,
        without_samples: false,
        campaign: None,
        label: None,
        target: "lab:".to_owned(),
        ceilings: Vec::new(),
        reference: None,
        anchor: None,
        catalog_edition: None,
        build: "test".to_owned(),
        host: Host::default(),
    };
    let record = execute(&plan, &lab, &clock, &Interrupt::default(), Sinks::default());
    assert!(record.is_complete(), "{:?}", record.error);
    record
}

/// Runs a test once on hardware as TOML describes it.
pub fn on_hardware(hardware: &str, test: &str, set: &[(&str, &str)]) -> RunRecord {
    let spec = Spec::parse("test.toml", hardware).unwrap();
    let level = Level {
        spec,
        name: "test".into(),
        edition: None,
        edition_date: None,
        published: None,
        disk: None,
        provenance: [].into(),
    };
    let address = Address::parse("lab:test.toml?scale=1").unwrap();
    run(|clock| LabDatabase::on(level, &address, clock).unwrap(), test, 1, set)
}

/// Runs a test once on a level of the catalogue.
pub fn on_level(url: &str, test: &str, set: &[(&str, &str)]) -> RunRecord {
    run(|clock| LabDatabase::open(url, clock).unwrap(), test, 1, set)
}
