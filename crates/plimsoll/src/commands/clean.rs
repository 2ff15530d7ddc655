//! `plimsoll clean URL`: removes what killed runs left: what is ours and has no lease. Nothing else is touched.

use plimsoll_bench::{Interrupt, scratch};
use plimsoll_engine::{Error, PlaceKind};
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
    let mut places = database.places()?;
    if !options.dry_run {
        let ended = database.end_orphans()?;
        if ended > 0 {
            printer.remark(&format!("ended {ended} sessions of killed runs"));
        }
        places = database.places()?;
    }
    let (mut removed, mut in_use, mut kept, mut failed) = (0, 0, 0, None::<Error>);
    for status in places {
        let place = &status.place;
        if status.leased {
            in_use += 1;
            printer.remark(&format!("{place} is in use by a run that goes on"));
        } else if place.kind() == PlaceKind::Data && !options.data {
            kept += 1;
            printer.remark(&format!("{place} is a kept data set; --data removes it"));
        } else if options.dry_run {
            removed += 1;
            printer.result(&format!("would remove {place}"));
        } else {
            match database.remove(place) {
                Ok(true) => {
                    removed += 1;
                    printer.result(&format!("removed {place}"));
                }
                Ok(false) => in_use += 1,
                Err(error) => failed = Some(error),
            }
        }
    }
    if removed + in_use + kept == 0 && failed.is_none() {
        printer.result("nothing of ours is there");
    }
    match failed {
        Some(error) => Err(error.into()),
        None => Ok(exit::DONE),
    }
}
