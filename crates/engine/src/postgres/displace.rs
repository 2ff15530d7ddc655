//! Displacing what the server has cached, where rewriting a table leaves it there.
//!
//! `VACUUM FULL` ends with building the indexes, and for that it scans the new heap. The scan of a table larger than a
//! quarter of shared buffers goes through a small ring; a smaller one stays in the cache (`initscan` in
//! `heap/heapam.c`). Such a page has been used once, so the clock sweep takes it when it comes by for the second time
//! (`StrategyGetBuffer` in `buffer/freelist.c`). As many new pages as shared buffers hold twice bring that about: each
//! takes a free buffer or moves the sweep on by at least one.

use postgres::Client;

use super::error::Errors;
use crate::error::Result;

/// Name of the table that displaces; it is in the place for some seconds, and dropped with it at the latest.
const TABLE: &str = "plimsoll_displacer";
/// Rounds of the clock sweep.
const ROUNDS: i64 = 2;
/// How much may be written to a server whose free space we can't see: enough for 4 GB of shared buffers.
const UNSEEN_BYTES: u64 = 8 << 30;

/// Fills shared buffers with pages of a table that is then dropped; false if that would take too much space.
pub(super) fn displace(client: &mut Client, errors: &Errors, free_bytes: Option<u64>) -> Result<bool> {
    let failed = |error: postgres::Error| errors.running(&error);
    let sql =
        "SELECT setting::int8, current_setting('block_size')::int8 FROM pg_settings WHERE name = 'shared_buffers'";
    let row = client.query_one(sql, &[]).map_err(failed)?;
    let (buffers, page): (i64, i64) = (row.try_get(0).map_err(failed)?, row.try_get(1).map_err(failed)?);
    let pages = ROUNDS * buffers;
    // Half of what is free remains so.
    if (pages * page) as u64 > free_bytes.map_or(UNSEEN_BYTES, |free| free / 2) {
        return Ok(false);
    }
    // One row fills a page; a plain INSERT, unlike COPY, goes through all of shared buffers; unlogged, as it is for nothing.
    let bytes = page - page / 10;
    let fill = format!(
        "DROP TABLE IF EXISTS {TABLE}; \
         CREATE UNLOGGED TABLE {TABLE} (filler text) WITH (autovacuum_enabled = false); \
         ALTER TABLE {TABLE} ALTER filler SET STORAGE PLAIN; \
         INSERT INTO {TABLE} SELECT repeat('x', {bytes}) FROM generate_series(1, {pages})"
    );
    let filled = client.batch_execute(&fill).map_err(failed);
    // Nothing is left of it if filling failed, as all of it was one transaction.
    filled.and_then(|()| client.batch_execute(&format!("DROP TABLE {TABLE}")).map_err(failed))?;
    Ok(true)
}
