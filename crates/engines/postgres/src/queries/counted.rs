//! What the server has counted of its files, of its log and of its work in the background, with what tells whether two reads can be
//! compared.

use plimsoll_engine::{CountedViews, Result};
use plimsoll_measurement::counters::{Edge, Evictions, Server, Source};
use plimsoll_measurement::{CounterRow, FileRow, Views};

use crate::connection::{Connection, Texts};
use crate::error::statement as fault;
use crate::statements::sql_for;

/// When counters began, as far as all of them began anew together. One that is set back alone has a stamp of its own in its row, and the others
/// go on.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Began {
    started: i64,
    /// The earliest stamp at the last reading.
    seen: Option<i64>,
    told: Option<i64>,
}

impl Began {
    /// What is told at a reading of a server that was started then. Counters outlive a stop in order, and no other.
    fn told(&mut self, started: i64, seen: Option<i64>) -> Option<i64> {
        let goes_on = self.told.is_some() && (self.started == started || self.seen == seen);
        let told = if goes_on { self.told } else { seen };
        *self = Self { started, seen, told };
        told
    }
}

/// Reads a source. Each question is a transaction of its own, so that it sees the counters of now.
pub(super) fn of(
    connection: &mut Connection,
    source: Source,
    (version, identity): (u32, &str),
    began: &mut Began,
) -> Result<Option<CountedViews>> {
    let name = match source {
        Source::Files => "files by who uses them",
        Source::Counters => "work in the background",
        Source::Queries | Source::Waits => return Ok(None),
    };
    let Some((stamps, rows)) = sql_for("stamps of counters", version).zip(sql_for(name, version)) else {
        return Ok(None);
    };
    let start = edge(connection, stamps, identity, began)?;
    let rows = connection.rows(rows, &[])?;
    let end = edge(connection, stamps, identity, began)?;
    let mut views = Views::default();
    match source {
        Source::Files => views.files = rows.iter().filter_map(file).collect(),
        _ => views.counters = rows.iter().filter_map(counter).collect(),
    }
    Ok(Some(CountedViews { start, end, views }))
}

fn edge(connection: &mut Connection, stamps: &str, identity: &str, began: &mut Began) -> Result<Edge> {
    let rows = connection.rows(stamps, &[])?;
    let unreadable = || fault("the stamps of the server's counters can't be read");
    let row = rows.first().ok_or_else(unreadable)?;
    let started_us = row.get(1).ok_or_else(unreadable)?;
    Ok(Edge {
        clock_us: row.get(0).ok_or_else(unreadable)?,
        server: Server {
            identity: identity.to_owned(),
            version: row.text(3).unwrap_or_default().to_owned(),
            started_us,
        },
        reset_us: began.told(started_us, row.get(2)),
        are_stamps_derived: false,
        evictions: Evictions::Never,
        total: None,
    })
}

fn count(row: &Texts, at: usize) -> Option<u64> {
    row.get::<f64>(at).map(|count| count as u64)
}

/// A row of the statement "files by who uses them".
fn file(row: &Texts) -> Option<FileRow> {
    Some(FileRow {
        name: row.text(0)?.to_owned(),
        kind: if row.text(1) == Some("log") { "log" } else { "data" },
        database: row.text(2).map(str::to_owned),
        reads: count(row, 3),
        read_bytes: count(row, 4),
        read_stall_seconds: row.get(5),
        writes: count(row, 6),
        write_bytes: count(row, 7),
        write_stall_seconds: row.get(8),
        syncs: count(row, 9),
        sync_stall_seconds: row.get(10),
        began_us: row.get(11),
        ..FileRow::default()
    })
}

/// A row of the statement "work in the background".
fn counter(row: &Texts) -> Option<CounterRow> {
    Some(CounterRow { name: row.text(0)?.to_owned(), count: count(row, 1)?, began_us: row.get(2) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reset_of_some_counters_is_none_of_all_and_a_crash_is() {
        let mut began = Began::default();
        assert_eq!(began.told(100, Some(20)), Some(20));
        assert_eq!(began.told(100, Some(150)), Some(20), "the rows of those that were set back say so");
        assert_eq!(began.told(200, Some(150)), Some(20), "after a stop in order");
        assert_eq!(began.told(300, Some(301)), Some(301), "after a crash");
    }

    #[test]
    fn what_a_server_does_not_count_is_absent() {
        let texts = ["log", "log", "", "", "", "", "4", "32768", "", "3", "0.25", "1700000000000000"];
        let row = Texts(texts.map(|text| (!text.is_empty()).then(|| text.to_owned())).to_vec());
        let file = file(&row).unwrap();
        assert_eq!((file.kind, file.reads, file.writes, file.write_bytes), ("log", None, Some(4), Some(32_768)));
        assert_eq!((file.write_stall_seconds, file.syncs, file.sync_stall_seconds), (None, Some(3), Some(0.25)));
        assert_eq!(file.began_us, Some(1_700_000_000_000_000));
    }
}
