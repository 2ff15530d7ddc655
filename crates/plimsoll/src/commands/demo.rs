//! `plimsoll demo`: four tests in their short form on a temporary SQLite file, and a report. Opens nothing, needs nothing.

use std::time::Duration;

use plimsoll_bench::run::Plan;
use plimsoll_bench::{Interrupt, definition};
use plimsoll_engine::{Cold, Target};
use plimsoll_measurement::exit;

use super::report::{page, try_path, write};
use super::run::{Session, build, present, this_machine};
use crate::args::{Access, Demo};
use crate::engines;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::settings::Settings;
use crate::signals;

/// What is shown, with parameters small enough for about a minute in all.
const TESTS: &[(&str, &[(&str, &str)])] =
    &[("read-scan", &[]), ("write-chunk", &[]), ("cpu-join", &[]), ("memory", &[("largest_set", "64MiB")])];

/// A cache that is large enough to be worth finding.
const CACHE: &str = "cache_size=-16384";

/// Runs the demo.
pub fn demo(options: &Demo, settings: &Settings, printer: &Printer) -> Result<u8, Failure> {
    try_path(&options.html)?;
    let folder = tempfile::Builder::new().prefix("plimsoll-demo-").tempdir().map_err(|error| {
        Failure::usage(format!("cannot make a temporary folder: {error}")).hint("set TMPDIR to a folder with 1 GB free")
    })?;
    let target = Target::parse(&format!("sqlite:{}?{CACHE}", folder.path().join("demo.db").display()))?;
    let host = this_machine();
    let interrupt = Interrupt::default();
    signals::listen(&interrupt, printer)?;
    let mut store = settings.open_store()?;
    let opened = engines::open(&target, &Access { password_file: None }, printer);
    printer.remark("Four short tests on a temporary SQLite database, three repetitions each: about a minute.");

    let mut records = Vec::new();
    for (name, changes) in TESTS {
        let definition = definition::find_builtin(name).map_err(Failure::usage)?;
        let mut parameters = definition.parameters(true);
        for (key, value) in *changes {
            parameters.set(key, value, &definition.steps).map_err(Failure::usage)?;
        }
        let plan = Plan {
            definition: &definition,
            parameters,
            repetitions: definition.repetitions,
            settle: Duration::ZERO,
            cold: Cold::default(),
            keep_data: false,
            campaign: Some("demo".to_owned()),
            target: format!("sqlite:demo.db?{CACHE}"),
            reference: None,
            anchor: None,
            catalog_edition: None,
            build: build(),
            host: host.clone(),
        };
        let session = Session { printer, interrupt: &interrupt };
        let record = session.run(&plan, &target, &opened, store.as_mut())?;
        present(&record, options.json, printer)?;
        let failed = record.error.as_ref().map(|error| error.exit_code);
        records.push(record);
        if let Some(code) = failed {
            return Ok(code);
        }
    }
    write(
        &options.html,
        &page(&records, "Plimsoll demo: what this machine's disk and CPU deliver to SQLite"),
        printer,
    )?;
    printer.remark("next: plimsoll run read-scan --target postgres://USER@HOST/DATABASE --short");
    Ok(exit::DONE)
}
