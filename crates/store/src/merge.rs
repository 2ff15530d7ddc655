//! Runs from another store: ids are unique across machines, so stores can be put together.

use std::io::ErrorKind;
use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use crate::{SqliteStore, StoreError};

/// A run that is here unfinished and finished over there was copied while it went on: the finished one takes its place.
/// What is finished here is never touched.
const MAKE_ROOM: &str = "DELETE FROM main.run WHERE ended_at IS NULL
    AND run_id IN (SELECT run_id FROM other.run WHERE ended_at IS NOT NULL)";

const CHOOSE: &str = "CREATE TEMP TABLE arriving AS
    SELECT run_id FROM other.run WHERE run_id NOT IN (SELECT run_id FROM main.run)";

/// The columns are named, so that their order may differ in files that came to this version by different ways.
const COPY_RUNS: &str = "INSERT INTO main.run (run_id, test, target, target_fingerprint, campaign, ended_at, document)
    SELECT run_id, test, target, target_fingerprint, campaign, ended_at, document
    FROM other.run WHERE run_id IN (SELECT run_id FROM arriving)";
const COPY_PARTS: &str = "
    INSERT INTO main.repetition (run_id, label, sequence, document)
        SELECT run_id, label, sequence, document
        FROM other.repetition WHERE run_id IN (SELECT run_id FROM arriving);
    INSERT INTO main.point (run_id, label, sequence, document)
        SELECT run_id, label, sequence, document
        FROM other.point WHERE run_id IN (SELECT run_id FROM arriving);
    DROP TABLE temp.arriving;";

impl SqliteStore {
    /// Copies the runs of another store that are not here yet; how many came. The other store is not changed. All come, or
    /// none.
    ///
    /// # Errors
    /// [`StoreError::Missing`], [`StoreError::Older`] or what [`SqliteStore::open`] says of a file that isn't a store.
    pub fn merge_from(&mut self, path: impl AsRef<Path>) -> Result<usize, StoreError> {
        let path = path.as_ref();
        // ATTACH takes text, and a name that isn't would be changed into that of another file.
        let name = path.to_str().ok_or_else(|| StoreError::io(path)(ErrorKind::InvalidFilename.into()))?;
        // Stays open, so that the file keeps the version that was found.
        let other = SqliteStore::open_for_reading(path)?;
        let failed = StoreError::sqlite(&self.path);
        let attached = self.connection.execute("ATTACH ?1 AS other", [name]);
        attached.map_err(StoreError::sqlite(path))?;
        let copied = copy(&mut self.connection);
        let detached = self.connection.execute_batch("DETACH other");
        drop(other);
        let copied = copied.map_err(&failed)?;
        detached.map_err(failed)?;
        Ok(copied)
    }
}

fn copy(connection: &mut Connection) -> rusqlite::Result<usize> {
    // An immediate transaction would take the other store's write lock as well. The first statement writes, so that this one
    // takes ours at once and never has to turn a read that is out of date into a write.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Deferred)?;
    transaction.execute(MAKE_ROOM, [])?;
    transaction.execute(CHOOSE, [])?;
    let copied = transaction.execute(COPY_RUNS, [])?;
    transaction.execute_batch(COPY_PARTS)?;
    transaction.commit()?;
    Ok(copied)
}
