//! What a disk should deliver: the arguments that say what was bought.

use plimsoll_disk::bought::{Promise, Purchase, promise};

use crate::args::Bought;
use crate::failure::Failure;

/// The limits of what was bought, for a file of so many bytes; `None` if the user says nothing of it.
pub fn bought(options: &Bought, file_bytes: u64) -> Result<Option<Promise>, Failure> {
    let Some(disks) = &options.disks else { return Ok(None) };
    let purchase = Purchase {
        disks: disks.clone(),
        vm: options.vm.clone(),
        account: options.account.clone(),
        layout: options.layout.clone(),
        columns: options.columns,
        unit: options.allocation_unit.clone(),
        redundancy: options.redundancy.clone(),
    };
    let mut promise = promise(&purchase, file_bytes)?;
    if let Some(text) = &options.expect {
        let percent = text.trim().trim_end_matches('%').trim().parse::<f64>().ok();
        let percent = percent
            .filter(|percent| (1.0..=200.0).contains(percent))
            .ok_or_else(|| Failure::usage(format!("--expect {text} is no percentage")).hint("such as --expect 75%"))?;
        promise.expect(percent);
    }
    Ok(Some(promise))
}
