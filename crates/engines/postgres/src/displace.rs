//! Displacing what the server has cached, where rewriting a table leaves it there.
//!
//! `VACUUM FULL` ends with building the indexes, and for that it scans the new heap. The scan of a table larger than a
//! quarter of shared buffers goes through a small ring; a smaller one stays in the cache (`initscan` in
//! `heap/heapam.c`). Such a page has been used once, so the clock sweep takes it when it comes by for the second time
//! (`StrategyGetBuffer` in `buffer/freelist.c`). As many new pages as shared buffers hold twice bring that about: each
//! takes a free buffer or moves the sweep on by at least one. Pages that were used more often, as those of tables that
//! were not rewritten may be, can outlast that.

use plimsoll_engine::server::cold::{DISPLACER, fits};
use plimsoll_engine::{Result, Workspace};

use super::connection::Connection;
use super::statements::{filled, sql};

/// Rounds of the clock sweep.
const ROUNDS: i64 = 2;

/// Fills shared buffers with pages of a table in the run's place that is gone afterwards; false if that would take too
/// much space, or nobody knows.
pub(super) fn displace(connection: &mut Connection, run: &Workspace, free_bytes: Option<u64>) -> Result<bool> {
    let row = connection.row(sql("size of the cache"), &[])?;
    let (Some(buffers), Some(page)) = (row.get::<i64>(0), row.get::<i64>(1)) else { return Ok(false) };
    let pages = ROUNDS * buffers;
    if !fits((pages * page) as u64, free_bytes) {
        return Ok(false);
    }
    let (bytes, pages) = ((page - page / 10).to_string(), pages.to_string());
    let words = [("schema", run.name()), ("table", DISPLACER), ("bytes", &bytes), ("pages", &pages)];
    connection.work(&filled("displace what is cached", &words))?;
    Ok(true)
}
