//! What a target should show is computed only until somebody interrupts, and a run that was interrupted there says so.

mod common;

use std::sync::Arc;

use common::{Altered, plan};
use plimsoll_bench::{Interrupt, Sinks, definition, execute};
use plimsoll_clock::{Clock, RealClock};
use plimsoll_engine::{Credentials, Engine as _, Target};
use plimsoll_measurement::exit;
use plimsoll_sqlite::Sqlite;

#[test]
fn a_run_that_is_interrupted_when_all_is_measured_keeps_its_figures_and_its_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let clock: Arc<dyn Clock> = Arc::new(RealClock::new());
    let target = Target::parse(&format!("sqlite:{}", folder.path().join("m.db").display())).unwrap();
    let interrupt = Interrupt::default();
    let mut database = Altered::new(Sqlite.open(&target, &Credentials::default(), Arc::clone(&clock)).unwrap());
    database.when_asked = Some(interrupt.clone());
    let definition = definition::find_builtin("client-read").unwrap();
    let mut parameters = definition.parameters(true);
    parameters.set("volume", "4MiB", &definition.steps).unwrap();
    let record = execute(&plan(&definition, parameters, &target), &database, &clock, &interrupt, Sinks::default());
    assert_eq!(record.repetitions.iter().filter(|repetition| repetition.complete).count(), 2);
    assert!(record.result.is_some(), "{:?}", record.warnings);
    let error = record.error.unwrap();
    assert_eq!(
        (error.exit_code, error.message.as_str()),
        (exit::INTERRUPTED, "the run was interrupted; what was measured is kept")
    );
}
