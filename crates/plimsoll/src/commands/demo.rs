//! `plimsoll demo`: a short campaign on the lab, three levels side by side, and a report. Needs no server and no account.

use std::fs;
use std::path::Path;

use plimsoll_bench::run::Plan;
use plimsoll_bench::{Interrupt, definition};
use plimsoll_engine::Target;
use plimsoll_measurement::{RunRecord, exit};
use plimsoll_report::terminal;

use super::report::{page, try_path, write};
use super::run::{measure, plan, present, this_machine};
use crate::args::{Access, DEMO_PAGE, Demo};
use crate::engines;
use crate::failure::Failure;
use crate::intents::noted_in;
use crate::printer::Printer;
use crate::settings::Settings;
use crate::signals;

/// What is measured.
const LEVELS: [&str; 3] = ["S0", "S1", "S2"];

/// The edition of the catalogue that most was printed about.
const EDITION: &str = "v12-ga-2015-01";

/// The tests.
const TESTS: [&str; 4] = ["read-scan", "write-chunk", "cpu-join", "memory"];

/// The title of its page.
const TITLE: &str = "Plimsoll demo: three levels of Azure SQL Database in January 2015";

/// Runs the demo.
pub fn demo(options: &Demo, settings: &Settings, printer: &Printer) -> Result<u8, Failure> {
    try_path(&options.html)?;
    spare_foreign(&options.html)?;
    let host = this_machine();
    let interrupt = Interrupt::default();
    signals::listen(&interrupt, printer)?;
    let store = settings.open_store()?;
    printer.remark(
        "Four tests on three levels of Azure SQL Database, as they were in January 2015, modelled by the lab in virtual \
         time: about a minute.",
    );
    let mut records: Vec<RunRecord> = Vec::new();
    for level in LEVELS {
        let target = Target::parse(&format!("lab:azure-sql-db/{level}@{EDITION}"))?;
        let opened = engines::open(&target, &Access::default(), &noted_in(&store), &interrupt, printer);
        let scale = opened.database.as_ref().map_or(1, |database| database.description().scale);
        for name in TESTS {
            let definition = definition::find_builtin(name).map_err(Failure::usage)?;
            let common = plan(&definition, definition.parameters_at(false, scale), target.display(), &host);
            let plan = Plan { campaign: Some("demo".to_owned()), ..common };
            let record = measure(&plan, &target, &opened, &store, &interrupt, printer)?;
            if options.json || record.error.is_some() {
                present(&record, options.json, printer)?;
            } else {
                let line = plimsoll_report::in_a_line(&record);
                printer.remark(&format!("{} on {}: {line}", record.test, record.target));
            }
            let failed = record.error.as_ref().map(|error| error.exit_code);
            records.push(record);
            if let Some(code) = failed {
                return Ok(code);
            }
        }
    }
    // Test by test, so that the levels stand beside each other.
    let place = |record: &RunRecord| TESTS.iter().position(|name| *name == record.test);
    records.sort_by_key(place);
    if !options.json {
        printer.result(&terminal::side_by_side(&records, printer.style));
    }
    write(&options.html, &page(&records, TITLE), printer)?;
    printer.remark("next: plimsoll run read-scan --target postgres://USER@HOST/DATABASE --short");
    Ok(exit::DONE)
}

/// The page that is made if nobody names one takes the place of an earlier one, and of nothing else.
fn spare_foreign(page: &Path) -> Result<(), Failure> {
    let is_ours = |text: Vec<u8>| text.windows(TITLE.len()).any(|part| part == TITLE.as_bytes());
    if page != Path::new(DEMO_PAGE) || !page.exists() || fs::read(page).is_ok_and(is_ours) {
        return Ok(());
    }
    Err(Failure::usage(format!("{DEMO_PAGE} is there, and no page of an earlier demo"))
        .hint("move it away, or name another file with --html"))
}
