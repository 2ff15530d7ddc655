//! `plimsoll clean URL`: removes what killed runs left: what is ours and has no lease. Nothing else is touched.

use plimsoll_bench::{Interrupt, scratch};
use plimsoll_engine::{Error, WorkspaceKind};
use plimsoll_measurement::exit;

use crate::args::Clean;
use crate::engines;
use crate::failure::Failure;
use crate::printer::Printer;

/// Cleans a target.
pub fn clean(options: &Clean, printer: &Printer) -> Result<u8, Failure> {
    let target = engines::parse(&options.target, printer)?;
    // Backups on this machine, which a target that is away has no say in.
    if !options.dry_run {
        let folders = scratch::remove_leftovers();
        if folders > 0 {
            printer.remark(&format!("removed {folders} folders of killed runs from this machine's temporary files"));
        }
    }
    let opened = engines::open(&target, &options.access, &Interrupt::default(), printer);
    let database = opened.database?;
    let mut workspaces = database.workspaces()?;
    if !options.dry_run {
        let ended = database.end_orphans()?;
        if ended > 0 {
            printer.remark(&format!("ended {ended} sessions of killed runs"));
        }
        workspaces = database.workspaces()?;
    }
    let (mut removed, mut in_use, mut kept, mut failed) = (0, 0, 0, None::<Error>);
    for status in workspaces {
        let workspace = &status.workspace;
        if status.leased {
            in_use += 1;
            printer.remark(&format!("{workspace} is in use by another run"));
        } else if workspace.kind() == WorkspaceKind::Data && !options.data {
            kept += 1;
            printer.remark(&format!("{workspace} is a kept data set; --data removes it"));
        } else if options.dry_run {
            match database.check_ours(workspace) {
                Ok(()) => {
                    removed += 1;
                    printer.result(&format!("would remove {workspace}"));
                }
                Err(error) => failed = Some(error),
            }
        } else {
            match database.remove(workspace) {
                Ok(true) => {
                    removed += 1;
                    printer.result(&format!("removed {workspace}"));
                }
                Ok(false) => in_use += 1,
                Err(error) => failed = Some(error),
            }
        }
    }
    if removed + in_use + kept == 0 && failed.is_none() {
        printer.result("nothing to remove: the target has no objects of Plimsoll");
    }
    match failed {
        Some(error) => Err(error.into()),
        None => Ok(exit::DONE),
    }
}
