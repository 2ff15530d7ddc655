//! `plimsoll doctor URL --self-test`: which statements of the engine work at a target, on the screen and as a file to be sent.

use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use plimsoll_bench::Interrupt;
use plimsoll_bench::self_test::{Options, self_test as test};
use plimsoll_measurement::Subject;
use plimsoll_report::terminal::Style;
use plimsoll_report::{markdown, self_test as build, terminal};

use super::report::{try_path, write};
use crate::args::Doctor;
use crate::engines;
use crate::failure::Failure;
use crate::intents::known;
use crate::printer::Printer;
use crate::progress::Progress;
use crate::settings::Settings;
use crate::signals;

/// Tests a target.
pub fn self_test(url: &str, options: &Doctor, settings: &Settings, printer: &Printer) -> Result<u8, Failure> {
    let target = engines::parse(url, settings, printer)?;
    let is_printed = options.report.as_deref() == Some(Path::new("-"));
    if options.json && is_printed {
        return Err(
            Failure::usage("--json and --report - both want standard output").hint("name a file for the report")
        );
    }
    if let Some(path) = &options.report {
        try_path(path)?;
    }
    let interrupt = Interrupt::default();
    signals::listen(&interrupt, printer)?;
    let _bound = bounded(&interrupt);
    let opened = engines::open(&target, &options.access, &known(settings, printer), &interrupt, printer);
    let database = opened.database.map_err(|error| signals::failure(&interrupt, error))?;
    let wanted =
        Options { workspace: options.allow_workspace, build: format!("plimsoll {}", env!("CARGO_PKG_VERSION")) };
    let tested = {
        let mut progress = Progress::new(printer, "self-test".to_owned(), Subject::default(), 1);
        test(database.as_ref(), &wanted, opened.clock.as_ref(), &interrupt, &mut |what| progress.says(what))?
    };
    if options.json {
        let line = serde_json::to_string(&tested.for_others()).map_err(|error| Failure::usage(error.to_string()))?;
        printer.json(&line);
    } else if !is_printed {
        let style = Style { full: printer.verbose, ..printer.style };
        printer.result(&terminal::report(&build::report(&tested.record), style));
    }
    match &options.report {
        Some(path) => write(path, &markdown::document(&build::report_for_others(&tested.for_others())), printer)?,
        None => printer.remark("--verbose shows all that was tried, and --report FILE writes it without your names"),
    }
    Ok(signals::exit_code(&interrupt).unwrap_or_else(|| tested.record.exit_code()))
}

/// After so long all lines to the server are broken, so that all of it ends within two minutes, whatever was asked and whoever is silent.
const LONGEST: Duration = Duration::from_secs(112);

/// Ends what is still waited for at a server after [`LONGEST`], unless what this gives is dropped before.
fn bounded(interrupt: &Interrupt) -> Sender<()> {
    let (done, is_done) = channel::<()>();
    let interrupt = interrupt.clone();
    let watch = move || {
        // Nothing is ever sent: the sender goes when the work is done.
        if matches!(is_done.recv_timeout(LONGEST), Err(RecvTimeoutError::Timeout)) {
            interrupt.hurry(Duration::ZERO);
        }
    };
    // Without a thread for it the work takes as long as it takes.
    let _ = std::thread::Builder::new().name("self-test".to_owned()).spawn(watch);
    done
}
