//! What makes tables cold without a restart: pages that displace others from a server's cache, and files that the operating system
//! forgets.
//!
//! Displacing writes to a server that others may depend on, for the sake of one figure. So it is done only where the free space
//! can be seen and most of it stays free, and only in an amount that a disk takes in some seconds. A server elsewhere could be
//! filled up, which stops everybody on it. Without displacing nothing is lost but coldness: the pages that stayed cached are
//! missing from the scan's misses, from which the caller sees how cold it was.

use std::fs::File;
use std::path::Path;

use crate::process;

/// Name of the table that displaces; it is in the run's place and nobody else ever sees it.
pub const DISPLACER: &str = "plimsoll_displacer";
/// Of the free space this part may be taken for a moment: what others write meanwhile must find room.
const FREE_PART: u64 = 4;
/// Most bytes that are written: some ten seconds of a disk of 400 MB/s. A larger cache is what its owner paid for, and others
/// would feel its loss for long.
const MOST_BYTES: u64 = 4 << 30;

/// True if so much may be written where so much is free.
pub fn fits(bytes: u64, free_bytes: Option<u64>) -> bool {
    free_bytes.is_some_and(|free| bytes <= free / FREE_PART && bytes <= MOST_BYTES)
}

/// Has the operating system forget a file. Dirty pages can't be forgotten, and a server need not have them written.
pub fn forget(path: &Path) -> bool {
    File::open(path).and_then(|file| file.sync_data()).is_ok() && process::drop_from_os_cache(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_keep_their_space() {
        assert!(fits(256 << 20, Some(1 << 30)) && !fits((256 << 20) + 1, Some(1 << 30)));
        assert!(fits(4 << 30, Some(1 << 40)) && !fits((4 << 30) + 1, Some(1 << 40)));
        assert!(!fits(1, None));
    }
}
