//! Displacing what the server has cached, where rewriting a table leaves it there.
//!
//! `VACUUM FULL` ends with building the indexes, and for that it scans the new heap. The scan of a table larger than a
//! quarter of shared buffers goes through a small ring; a smaller one stays in the cache (`initscan` in
//! `heap/heapam.c`). Such a page has been used once, so the clock sweep takes it when it comes by for the second time
//! (`StrategyGetBuffer` in `buffer/freelist.c`). As many new pages as shared buffers hold twice bring that about: each
//! takes a free buffer or moves the sweep on by at least one. Pages that were used more often, as those of tables that
//! were not rewritten may be, can outlast that.
//!
//! This writes to a server that others may depend on, for the sake of one figure. So it is done only where the free space
//! can be seen and most of it stays free, and only in an amount that a disk takes in some seconds. A server elsewhere
//! could be filled up, which stops everybody on it. Without displacing nothing is lost but coldness: the pages that
//! stayed cached are missing from the scan's misses, from which the caller sees how cold it was.

use plimsoll_engine::database::Workspace;
use plimsoll_engine::error::Result;

use super::connection::Connection;

/// Name of the table that displaces; it is in the run's place and nobody else ever sees it.
const TABLE: &str = "plimsoll_displacer";
/// Rounds of the clock sweep.
const ROUNDS: i64 = 2;
/// Of the free space this part may be taken for a moment: what others write meanwhile must find room.
const FREE_PART: u64 = 4;
/// Most bytes that are written: some ten seconds of a disk of 400 MB/s, enough for 2 GB of shared buffers. A larger cache
/// is what its owner paid for, and others would feel its loss for long.
const MOST_BYTES: u64 = 4 << 30;

/// Fills shared buffers with pages of a table in the run's place that is gone afterwards; false if that would take too
/// much space, or nobody knows.
pub(super) fn displace(connection: &mut Connection, run: &Workspace, free_bytes: Option<u64>) -> Result<bool> {
    let sql =
        "SELECT setting::int8, current_setting('block_size')::int8 FROM pg_settings WHERE name = 'shared_buffers'";
    let row = connection.row(sql, &[])?;
    let (Some(buffers), Some(page)) = (row.get::<i64>(0), row.get::<i64>(1)) else { return Ok(false) };
    let pages = ROUNDS * buffers;
    if !fits((pages * page) as u64, free_bytes) {
        return Ok(false);
    }
    // One row fills a page; a plain INSERT, unlike COPY, goes through all of shared buffers; unlogged, as it is for nothing.
    // All of it is one transaction: whenever it is cancelled or the server crashes, nothing is left.
    let bytes = page - page / 10;
    let fill = format!(
        "CREATE UNLOGGED TABLE {run}.{TABLE} (filler text) WITH (autovacuum_enabled = false); \
         ALTER TABLE {run}.{TABLE} ALTER filler SET STORAGE PLAIN; \
         INSERT INTO {run}.{TABLE} SELECT repeat('x', {bytes}) FROM generate_series(1, {pages}); \
         DROP TABLE {run}.{TABLE}"
    );
    connection.run(&fill)?;
    Ok(true)
}

/// True if so much may be written where so much is free.
fn fits(bytes: u64, free_bytes: Option<u64>) -> bool {
    free_bytes.is_some_and(|free| bytes <= free / FREE_PART && bytes <= MOST_BYTES)
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
