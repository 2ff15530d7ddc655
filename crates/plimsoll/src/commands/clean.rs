//! `plimsoll clean URL`: removes what killed runs left: what is ours and has no lease. Everything else that has a name of ours is
//! listed with the reason why it stays, and nothing is touched.

use std::mem;
use std::path::Path;

use plimsoll_bench::run::record::in_shell;
use plimsoll_bench::{Interrupt, scratch};
use plimsoll_disk::file::Leftover;
use plimsoll_disk::volume;
use plimsoll_engine::{Database, Error, ErrorKind, WorkspaceKind, WorkspaceStatus, temporary};
use plimsoll_measurement::exit;

use crate::args::Clean;
use crate::engines;
use crate::failure::Failure;
use crate::intents::known;
use crate::printer::Printer;
use crate::settings::Settings;
use crate::signals;

/// Cleans a target.
pub fn clean(options: &Clean, settings: &Settings, printer: &Printer) -> Result<u8, Failure> {
    let named = options.target.strip_prefix(volume::SCHEME).and_then(|rest| rest.strip_prefix(':'));
    let folder = Path::new(named.unwrap_or(&options.target));
    if named.is_some() || folder.is_dir() {
        return clean_folder(folder, options, printer);
    }
    let target = engines::parse(&options.target, settings, printer)?;
    // Backups on this machine, which a target that is away has no say in.
    if !options.dry_run {
        let folders = scratch::remove_leftovers() + plimsoll_lab::remove_leftovers();
        if folders > 0 {
            printer.remark(&format!("removed {folders} folders of killed runs from this machine's temporary files"));
        }
        for folder in temporary::left("plimsoll-") {
            let reason = "an earlier run made it, and it holds something that is not ours";
            printer.remark(&format!("left alone {}: {reason}", folder.display()));
        }
    }
    if options.dry_run {
        for folder in scratch::leftovers().into_iter().chain(plimsoll_lab::leftovers()) {
            printer.result(&format!("would remove {}, which a killed run made", folder.display()));
        }
    }
    let intents = known(settings, printer);
    let interrupt = Interrupt::default();
    signals::listen(&interrupt, printer)?;
    let opened = engines::open(&target, &options.access, &intents, &interrupt, printer);
    let database = opened.database.map_err(|error| signals::failure(&interrupt, error))?;
    // Whatever waits there ends soon after an interrupt.
    let _pulse = database.pulse().map(|pulse| interrupt.watch(pulse));
    let mut done = clean_database(database.as_ref(), options, &interrupt, printer);
    for (address, other) in database.elsewhere() {
        let cleaned = interrupt.check().and_then(|()| other.map_err(unreached)).and_then(|other| {
            let _pulse = other.pulse().map(|pulse| interrupt.watch(pulse));
            printer.remark(&format!("at {address}:"));
            clean_database(other.as_ref(), options, &interrupt, printer)
        });
        // Each is told; the last one ends the program.
        if let Some(earlier) = cleaned.err().and_then(|error| mem::replace(&mut done, Err(error)).err()) {
            printer.warning(&told(&earlier));
        }
    }
    signals::leave_in_time(&interrupt);
    match signals::exit_code(&interrupt) {
        None => done.map(|()| exit::DONE).map_err(Failure::from),
        Some(code) => {
            let message = "the cleaning was interrupted: what is not said to be removed may stay, or go yet, as the server may have been asked";
            Err(Failure::usage(message).code(code).hint(format!("run: plimsoll clean {}", in_shell(target.display()))))
        }
    }
}

/// Removes what killed runs left in a database, as long as nobody interrupts.
fn clean_database(
    database: &dyn Database,
    options: &Clean,
    interrupt: &Interrupt,
    printer: &Printer,
) -> Result<(), Error> {
    if !options.dry_run {
        let ended = database.end_orphans()?;
        if ended > 0 {
            printer.remark(&format!("ended {ended} sessions of runs that have no lease, as killed ones have none"));
        }
    }
    let (mut ours, mut others, mut failed) = (false, false, None::<Error>);
    for status in database.workspaces()? {
        interrupt.check()?;
        let settled = match &status.not_ours {
            None => {
                ours = true;
                settle(database, &status, options, printer)
            }
            Some(reason) if reason.kind == ErrorKind::Safety => {
                printer.result(&format!("left alone {}: {reason}", status.workspace));
                others = true;
                Ok(())
            }
            // It may be ours, so not all is clean.
            Some(reason) => {
                ours = true;
                Err(Error { message: format!("left alone {}: {reason}", status.workspace), ..reason.clone() })
            }
        };
        // Each is told; the last one ends the program.
        if let Err(error) = settled
            && let Some(earlier) = failed.replace(error)
        {
            printer.warning(&told(&earlier));
        }
    }
    if others {
        printer.remark("Plimsoll removes only what it can see to be its own: read the reasons before you remove any of that by hand");
    } else if !ours {
        printer.result("nothing to remove: no objects of Plimsoll are to be seen at the target");
    }
    failed.map_or(Ok(()), Err)
}

/// Removes the test file of disks in a folder. Nobody can tell whether a complete one was kept or its run killed.
fn clean_folder(folder: &Path, options: &Clean, printer: &Printer) -> Result<u8, Failure> {
    let folder = volume::folder(folder)?;
    match Leftover::find(&folder)? {
        None => printer.result(&format!("nothing to remove: {} has no test file of Plimsoll", folder.display())),
        Some(left) if left.is_complete && !options.data => printer
            .remark(&format!("{} is complete: a later test can use it, and --data removes it", left.path().display())),
        Some(left) if options.dry_run => printer.result(&format!("would remove {}", left.path().display())),
        Some(left) => {
            let path = left.path().to_owned();
            left.remove()?;
            printer.result(&format!("removed {}", path.display()));
        }
    }
    Ok(exit::DONE)
}

/// Removes one place of ours, or says why it stays.
fn settle(database: &dyn Database, status: &WorkspaceStatus, options: &Clean, printer: &Printer) -> Result<(), Error> {
    let workspace = &status.workspace;
    if status.leased {
        printer.remark(&format!("{workspace} is in use by another run or clean"));
    } else if workspace.kind() == WorkspaceKind::Data && !options.data {
        printer.remark(&format!("{workspace} is a kept data set; --data removes it"));
    } else if options.dry_run {
        printer.result(&format!("would remove {workspace}, if all in it is ours and nothing else depends on it"));
    } else if database.remove(workspace)? {
        printer.result(&format!("removed {workspace}"));
    }
    Ok(())
}

/// Another host of the URL may hold what was made while it was the one that answered.
fn unreached(error: Error) -> Error {
    error.hint("what a run made there while that server answered is still there: once it works again, run plimsoll clean again")
}

fn told(error: &Error) -> String {
    match &error.hint {
        Some(hint) => format!("{error} ({hint})"),
        None => error.to_string(),
    }
}
