//! How what was watched is written: slots with their sums, and in the same change what the next slot is subtracted from.

use std::collections::HashMap;

use plimsoll_profile::bucket::{Key, Sum};
use plimsoll_profile::{Item, Record};
use rusqlite::{Connection, OptionalExtension as _, params};
use xxhash_rust::xxh3::xxh3_128;

use super::columns::{self, REST, blob, whole};
use super::counted::{self, Things};
use super::kinds::{Happened, MINUTE_US, Save, Text};

/// A statement's last time is brought up to date once in so long.
const LAST_SEEN_STEP_US: i64 = 3_600_000_000;

/// What can go wrong beside what SQLite says.
#[derive(Debug)]
pub(crate) enum Refused {
    Sqlite(rusqlite::Error),
    Document(serde_json::Error),
    /// Somebody else has saved meanwhile.
    Overtaken,
}

impl From<rusqlite::Error> for Refused {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<serde_json::Error> for Refused {
    fn from(error: serde_json::Error) -> Self {
        Self::Document(error)
    }
}

/// Makes a target known.
pub(crate) fn begin(connection: &Connection, target: &str, engine: &str) -> rusqlite::Result<()> {
    let sql = "INSERT INTO watched (target, engine) VALUES (?1, ?2) ON CONFLICT (target) DO UPDATE SET engine = ?2";
    connection.execute(sql, [target, engine]).map(drop)
}

/// Writes all of it.
pub(crate) fn save(connection: &Connection, number: i64, save: &Save<'_>) -> Result<(), Refused> {
    let sql = "UPDATE watched SET reads = ?3, known = ?4 WHERE watched_no = ?1 AND reads = ?2";
    let head = serde_json::to_string(&save.changes.head)?;
    let row = params![number, whole(save.reads_before), whole(save.reads), head];
    if connection.prepare_cached(sql)?.execute(row)? == 0 {
        return Err(Refused::Overtaken);
    }
    if save.changes.is_anew {
        connection.execute("DELETE FROM watched_row WHERE watched_no = ?1", [number])?;
    }
    let mut put = connection
        .prepare_cached("INSERT OR REPLACE INTO watched_row (watched_no, row, document) VALUES (?1, ?2, ?3)")?;
    let mut drop_row = connection.prepare_cached("DELETE FROM watched_row WHERE watched_no = ?1 AND row = ?2")?;
    for (row, kept) in &save.changes.rows {
        match kept {
            Some(kept) => put.execute(params![number, blob(row.0), serde_json::to_string(kept)?])?,
            None => drop_row.execute(params![number, blob(row.0)])?,
        };
    }
    let mut numbers = Numbers::of(number);
    for one in save.records {
        let tier = usize::from(one.bucket.length_us >= MINUTE_US);
        record(connection, &mut numbers, tier, false, one)?;
    }
    let end_us = save.records.last().map_or(0, |record| record.about.end_us);
    for one in save.texts {
        let query = numbers.query(connection, one.item, end_us)?;
        text(connection, query, one)?;
    }
    save.events.iter().try_for_each(|one| event(connection, number, one))?;
    Ok(())
}

/// Writes something that happened; of one kind and begin the last one stays.
pub(crate) fn event(connection: &Connection, number: i64, one: &Happened) -> rusqlite::Result<()> {
    let sql =
        "INSERT OR REPLACE INTO watched_event (watched_no, from_us, kind, to_us, note) VALUES (?1, ?2, ?3, ?4, ?5)";
    let row = params![number, one.from_us, one.kind, one.to_us, one.note];
    connection.prepare_cached(sql)?.execute(row).map(drop)
}

/// Numbers of statements, of waits and of what else is counted that were looked up already.
#[derive(Default)]
pub(crate) struct Numbers {
    number: i64,
    queries: HashMap<Item, i64>,
    waits: HashMap<String, i64>,
    things: Things,
}

impl Numbers {
    /// Of a target.
    pub(crate) fn of(number: i64) -> Self {
        Self { number, ..Self::default() }
    }

    fn query(&mut self, connection: &Connection, item: Item, at_us: i64) -> rusqlite::Result<i64> {
        if let Some(query) = self.queries.get(&item) {
            return Ok(*query);
        }
        let sql = "SELECT query_no, last_us FROM watched_query WHERE watched_no = ?1 AND item = ?2";
        let mut find = connection.prepare_cached(sql)?;
        let found: Option<(i64, i64)> =
            find.query_row(params![self.number, blob(item.0)], |row| row.try_into()).optional()?;
        let query = match found {
            Some((query, last_us)) if at_us.saturating_sub(last_us) < LAST_SEEN_STEP_US => query,
            Some((query, _)) => {
                let sql = "UPDATE watched_query SET last_us = ?2 WHERE query_no = ?1";
                connection.prepare_cached(sql)?.execute([query, at_us])?;
                query
            }
            None => {
                let sql = "INSERT INTO watched_query (watched_no, item, first_us, last_us) VALUES (?1, ?2, ?3, ?3)";
                connection.prepare_cached(sql)?.insert(params![self.number, blob(item.0), at_us])?
            }
        };
        self.queries.insert(item, query);
        Ok(query)
    }

    fn wait(&mut self, connection: &Connection, name: &str) -> rusqlite::Result<i64> {
        if let Some(wait) = self.waits.get(name) {
            return Ok(*wait);
        }
        let insert = "INSERT INTO watched_wait_name (name) VALUES (?1) ON CONFLICT DO NOTHING";
        connection.prepare_cached(insert)?.execute([name])?;
        let sql = "SELECT wait_no FROM watched_wait_name WHERE name = ?1";
        let wait = connection.prepare_cached(sql)?.query_row([name], |row| row.get(0))?;
        self.waits.insert(name.to_owned(), wait);
        Ok(wait)
    }
}

/// Writes a record in place of one that is there.
pub(crate) fn record(
    connection: &Connection,
    numbers: &mut Numbers,
    tier: usize,
    is_rolled: bool,
    record: &Record,
) -> Result<(), Refused> {
    let (number, tier, bucket) = (numbers.number, tier as i64, &record.bucket);
    let others = usize::from(bucket.other.is_some()) + usize::from(bucket.other_nested.is_some());
    let sums = bucket.sums.len() + others + counted::rows(&record.counted);
    connection
        .prepare_cached("DELETE FROM watched_slot WHERE watched_no = ?1 AND tier = ?2 AND start_us = ?3")?
        .execute([number, tier, bucket.start_us])?;
    connection
        .prepare_cached(
            "INSERT INTO watched_slot (watched_no, tier, start_us, is_rolled, length_us, covered_us, status, explained_us,
            total_us, sums, document) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        )?
        .execute(params![
            number,
            tier,
            bucket.start_us,
            is_rolled,
            whole(bucket.length_us),
            whole(bucket.covered_us),
            bucket.status.bits(),
            bucket.explained_us.map(whole),
            bucket.total_us.map(whole),
            sums as i64,
            serde_json::to_string(&record.about)?
        ])?;
    let slot = connection.last_insert_rowid();
    let mut insert = connection.prepare_cached(
        "INSERT INTO watched_sum (slot_no, query_no, nested, plan, status, sums, longest_us, measures)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?;
    let mut put = |query: i64, nested: bool, plan: i64, count: u64, sum: &Sum| {
        let (longest_us, measures) = (sum.longest_us.map(whole), columns::packed(&sum.values));
        insert.execute(params![slot, query, nested, plan, sum.status.bits(), whole(count), longest_us, measures])
    };
    for (Key { is_nested, item, plan }, sum) in &bucket.sums {
        let query = numbers.query(connection, *item, bucket.start_us)?;
        put(query, *is_nested, plan.map_or(0, |plan| plan.0.cast_signed()), 1, sum)?;
    }
    for (is_nested, other) in [(false, bucket.other), (true, bucket.other_nested)] {
        if let Some(other) = other {
            put(REST, is_nested, 0, other.sums, &other.sum)?;
        }
    }
    let mut insert = connection
        .prepare_cached("INSERT INTO watched_wait (slot_no, query_no, wait_no, us) VALUES (?1, ?2, ?3, ?4)")?;
    for ((item, name), us) in &record.waits {
        let query = match item {
            Some(item) => numbers.query(connection, *item, bucket.start_us)?,
            None => REST,
        };
        let wait = numbers.wait(connection, name)?;
        insert.execute([slot, query, wait, whole(*us)])?;
    }
    counted::put(connection, slot, &mut numbers.things, &record.counted).map_err(Refused::Sqlite)
}

/// Keeps a text once, whatever statements have it.
fn text(connection: &Connection, query: i64, one: &Text) -> rusqlite::Result<()> {
    let text_no: Option<i64> = match &one.text {
        None => None,
        Some(text) => {
            let hash = blob(xxh3_128(text.as_bytes()));
            let insert = "INSERT INTO watched_text (hash, text) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
            connection.prepare_cached(insert)?.execute(params![hash, text])?;
            let find = "SELECT text_no FROM watched_text WHERE hash = ?1";
            Some(connection.prepare_cached(find)?.query_row([hash], |row| row.get(0))?)
        }
    };
    let sql = "UPDATE watched_query SET database = coalesce(?2, database), text_no = coalesce(?3, text_no),
        object = coalesce(?4, object) WHERE query_no = ?1";
    connection.prepare_cached(sql)?.execute(params![query, one.database, text_no, one.object]).map(drop)
}
