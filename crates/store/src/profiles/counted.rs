//! What a server counted of waits, files and other counters: sums of a slot by what they are of, beside those of statements.

use std::collections::{BTreeMap, HashMap};

use plimsoll_profile::bucket::{Other, Sum};
use plimsoll_profile::{Counted, Source, Status, Thing};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::columns::{self, REST, whole};
use super::kinds::Part;

/// Of each slot of a part, by its begin.
pub(crate) type OfSlots = BTreeMap<i64, BTreeMap<Source, Counted>>;

/// Numbers of what sums are of, that were looked up already.
#[derive(Debug, Default)]
pub(crate) struct Things(HashMap<(Source, Thing), i64>);

impl Things {
    fn number(&mut self, connection: &Connection, source: Source, thing: &Thing) -> rusqlite::Result<i64> {
        let key = (source, thing.clone());
        if let Some(number) = self.0.get(&key) {
            return Ok(*number);
        }
        let Thing { name, kind, database, service } = thing;
        let row = params![number_of(source), name, kind, database, service];
        let find = "SELECT thing_no FROM watched_thing
            WHERE source = ?1 AND name = ?2 AND kind = ?3 AND database = ?4 AND service = ?5";
        let found: Option<i64> = connection.prepare_cached(find)?.query_row(row, |row| row.get(0)).optional()?;
        let number = match found {
            Some(number) => number,
            None => connection
                .prepare_cached(
                    "INSERT INTO watched_thing (source, name, kind, database, service) VALUES (?1, ?2, ?3, ?4, ?5)",
                )?
                .insert(row)?,
        };
        self.0.insert(key, number);
        Ok(number)
    }
}

/// A source as it is stored: its place among all.
fn number_of(source: Source) -> i64 {
    source as i64
}

/// Writes the sums of a slot.
pub(crate) fn put(
    connection: &Connection,
    slot: i64,
    things: &mut Things,
    counted: &BTreeMap<Source, Counted>,
) -> rusqlite::Result<()> {
    let mut insert = connection.prepare_cached(
        "INSERT INTO watched_count (slot_no, source, thing_no, status, sums, measures) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    for (source, Counted { sums, other }) in counted {
        for (thing, sum) in sums {
            let thing = things.number(connection, *source, thing)?;
            let measures = columns::packed(&sum.values);
            insert.execute(params![slot, number_of(*source), thing, sum.status.bits(), 1, measures])?;
        }
        if let Some(Other { sums, sum }) = other {
            let measures = columns::packed(&sum.values);
            insert.execute(params![slot, number_of(*source), REST, sum.status.bits(), whole(*sums), measures])?;
        }
    }
    Ok(())
}

/// How many rows these are.
pub(crate) fn rows(counted: &BTreeMap<Source, Counted>) -> usize {
    counted.values().map(|counted| counted.sums.len() + usize::from(counted.other.is_some())).sum()
}

/// Reads the sums of a part.
pub(crate) fn of_part(connection: &Connection, number: i64, part: Part) -> rusqlite::Result<OfSlots> {
    let Part { tier, is_rolled, from_us, to_us } = part;
    let mut statement = connection.prepare_cached(
        "SELECT start_us, one.source, thing_no, one.status, one.sums, measures, name, kind, database, service
        FROM watched_slot JOIN watched_count one USING (slot_no) LEFT JOIN watched_thing USING (thing_no)
        WHERE watched_no = ?1 AND tier = ?2 AND start_us >= ?3 AND start_us < ?4 AND (?5 IS NULL OR is_rolled = ?5)",
    )?;
    let mut rows = statement.query(params![number, tier as i64, from_us, to_us, is_rolled])?;
    let mut all = OfSlots::new();
    while let Some(row) = rows.next()? {
        let source = usize::try_from(row.get::<_, i64>(1)?).ok().and_then(|at| Source::ALL.get(at).copied());
        // One that a later release knows is left out.
        let Some(source) = source else { continue };
        let counted = all.entry(row.get(0)?).or_default().entry(source).or_default();
        let values = columns::unpacked(row.get_ref(5)?.as_blob()?);
        let sum = Sum { values, status: Status::from_bits(row.get(3)?), longest_us: None };
        if row.get::<_, i64>(2)? == REST {
            counted.other = Some(Other { sums: row.get::<_, i64>(4)?.unsigned_abs(), sum });
        } else if let Some(thing) = thing_of(row)? {
            counted.sums.insert(thing, sum);
        }
    }
    Ok(all)
}

fn thing_of(row: &Row<'_>) -> rusqlite::Result<Option<Thing>> {
    let Some(name) = row.get(6)? else { return Ok(None) };
    Ok(Some(Thing { name, kind: row.get(7)?, database: row.get(8)?, service: row.get(9)? }))
}

/// Forgets what no slot has any more.
pub(crate) fn forget_unused(connection: &Connection) -> rusqlite::Result<()> {
    let unused = "DELETE FROM watched_thing WHERE thing_no NOT IN (SELECT thing_no FROM watched_count)";
    connection.execute(unused, []).map(drop)
}
