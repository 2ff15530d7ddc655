//! What a disk should deliver: the arguments that say what was bought.

use std::path::Path;

use plimsoll_disk::bought::{Promise, Purchase, promise};
use plimsoll_disk::built;
use plimsoll_disk::step::MOST_EXPECTED_PERCENT;

use crate::args::Bought;
use crate::failure::Failure;

/// The limits of what was bought, for a file of so many bytes in that folder, if it is of this machine; `None` if the user says nothing of it.
pub fn bought(options: &Bought, file_bytes: u64, folder: Option<&Path>) -> Result<Option<Promise>, Failure> {
    let Some(disks) = &options.disks else {
        return match &options.expect {
            Some(_) => Err(Failure::usage("--expect is a part of what was bought, and --as says what that is")
                .hint("such as --as '16 x azure-unmanaged-disk/standard@2014-06' --expect 75%")),
            None => Ok(None),
        };
    };
    let purchase = Purchase {
        disks: disks.clone(),
        vm: options.vm.clone(),
        account: options.account.clone(),
        layout: options.layout.clone(),
        columns: options.columns,
        unit: options.allocation_unit.clone(),
        redundancy: options.redundancy.clone(),
        // A volume that does not say it is as the user says.
        built: folder.and_then(|folder| built::below(folder).ok()),
    };
    Ok(Some(promise(&purchase, file_bytes)?))
}

/// The percentage of the limits that the user expects; 0 if nothing is said of it.
pub fn expected_percent(options: &Bought) -> Result<u64, Failure> {
    let Some(text) = &options.expect else { return Ok(0) };
    let percent = text.trim().trim_end_matches('%').trim().parse::<u64>().ok();
    percent.filter(|percent| (1..=MOST_EXPECTED_PERCENT).contains(percent)).ok_or_else(|| {
        Failure::usage(format!("--expect {text} is no whole percentage from 1 to {MOST_EXPECTED_PERCENT}"))
            .hint("such as --expect 75%")
    })
}
