//! Events as rows of the store, and the columns of lists that follow from them.

use std::collections::BTreeSet;
use std::path::Path;

use plimsoll_measurement::event::{Event, Kind};
use plimsoll_measurement::fold::Fold;
use rusqlite::{Connection, params};

use crate::{Kept, StoreError, summary};

/// Read at a time: all there are.
const ALL: i64 = -1;

/// Events with their documents. All are written before the store is touched.
pub(crate) fn rows(events: &[Event]) -> Result<Vec<(&Event, String)>, StoreError> {
    let row = |event: &'_ Event| {
        let refused =
            |source| StoreError::Document { kind: event.kind.name().to_owned(), run_id: event.run_id.clone(), source };
        event.kind.document().map_err(refused)
    };
    events.iter().map(|event| Ok((event, row(event)?))).collect()
}

/// Adds those that are not known, and brings the columns of lists up to date; how many were added.
pub(crate) fn append(connection: &Connection, path: &Path, rows: &[(&Event, String)]) -> Result<usize, StoreError> {
    let failed = StoreError::sqlite(path);
    let mut added = 0;
    let mut touched: BTreeSet<(&str, bool)> = BTreeSet::new();
    let sql = "INSERT INTO event (run_id, source, sequence, at, kind, document) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
        ON CONFLICT DO NOTHING";
    let mut insert = connection.prepare_cached(sql).map_err(&failed)?;
    for (event, document) in rows {
        let Event { run_id, source, sequence, at, kind } = event;
        // SQLite has no numbers without a sign; it is read back the same way.
        let row = params![run_id, source, *sequence as i64, at, kind.name(), document];
        if insert.execute(row).map_err(&failed)? > 0 {
            added += 1;
            touched.insert((run_id, matches!(kind, Kind::Begun(_) | Kind::Finished(_))));
        }
    }
    let mut done = BTreeSet::new();
    for (run_id, is_listed_anew) in touched.into_iter().rev() {
        if done.insert(run_id) && (is_listed_anew || summary::has_ended(connection, path, run_id)?) {
            list(connection, path, run_id)?;
        }
    }
    Ok(added)
}

/// Brings a run's columns of lists up to date. Of a run that is over, events are dropped that are no longer needed.
fn list(connection: &Connection, path: &Path, run_id: &str) -> Result<(), StoreError> {
    let kept = page(connection, path, run_id, 0, ALL)?;
    let fold = Fold::of(run_id, kept.iter().map(|kept| kept.event.clone()));
    let Some(record) = fold.record() else { return Ok(()) };
    summary::write(connection, path, record)?;
    if fold.is_finished() {
        let failed = StoreError::sqlite(path);
        let mut delete = connection.prepare_cached("DELETE FROM event WHERE position = ?1").map_err(&failed)?;
        for kept in kept.iter().filter(|kept| !fold.needs(&kept.event)) {
            delete.execute([kept.position as i64]).map_err(&failed)?;
        }
    }
    Ok(())
}

pub(crate) fn fold(connection: &Connection, path: &Path, run_id: &str) -> Result<Fold, StoreError> {
    Ok(Fold::of(run_id, page(connection, path, run_id, 0, ALL)?.into_iter().map(|kept| kept.event)))
}

/// Position, source, sequence number, time, kind and document of an event.
type Columns = (i64, String, i64, String, String, String);

/// Events of a run behind a position, at most so many.
pub(crate) fn page(
    connection: &Connection,
    path: &Path,
    run_id: &str,
    after: u64,
    limit: impl Into<i64>,
) -> Result<Vec<Kept>, StoreError> {
    let sql = "SELECT position, source, sequence, at, kind, document FROM event
        WHERE run_id = ?1 AND position > ?2 ORDER BY position LIMIT ?3";
    let query = || -> rusqlite::Result<Vec<Columns>> {
        let mut statement = connection.prepare_cached(sql)?;
        let after = i64::try_from(after).unwrap_or(i64::MAX);
        statement.query_map(params![run_id, after, limit.into()], |row| row.try_into())?.collect()
    };
    let kept = |(position, source, sequence, at, name, document): Columns| {
        let refused = |source| StoreError::Document { kind: name.clone(), run_id: run_id.to_owned(), source };
        let kind = Kind::read(&name, &document).map_err(refused)?;
        let event = Event { run_id: run_id.to_owned(), source, sequence: sequence as u64, at, kind };
        Ok(Kept { position: position as u64, event })
    };
    query().map_err(StoreError::sqlite(path))?.into_iter().map(kept).collect()
}
