//! How what was watched is read: of each part of a time the finest tier that is still kept.

use std::collections::{BTreeMap, HashMap};

use plimsoll_profile::bucket::{Bucket, Key, Other, Sum};
use plimsoll_profile::{About, Head, Item, Known, Plan, Record, RowId, Status};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::columns::{self, REST};
use super::counted;
use super::kinds::{Happened, Part, Profile, Text};

/// From when on each tier below the last is kept in whole.
pub(crate) fn kept(connection: &Connection, number: i64) -> rusqlite::Result<[i64; 4]> {
    let text: String =
        connection.query_row("SELECT kept FROM watched WHERE watched_no = ?1", [number], |row| row.get(0))?;
    Ok(serde_json::from_str(&text).unwrap_or_default())
}

/// The parts that make up a time, none of it twice.
pub(crate) fn parts(kept: [i64; 4], from_us: i64, to_us: i64) -> Vec<Part> {
    let part = |tier: usize, is_rolled, low: i64, high: i64| Part {
        tier,
        is_rolled,
        from_us: from_us.max(low),
        to_us: to_us.min(high),
    };
    let all = [
        part(3, None, i64::MIN, kept[2]),
        part(2, None, kept[2], kept[1]),
        part(1, Some(true), kept[1], kept[0]),
        part(1, Some(false), kept[1], i64::MAX),
        part(0, None, kept[0], i64::MAX),
    ];
    all.into_iter().filter(|part| part.from_us < part.to_us).collect()
}

/// Records of a part without their sums, in order of time.
const HEADS: &str = "SELECT start_us, length_us, covered_us, status, explained_us, total_us, document FROM watched_slot
    WHERE watched_no = ?1 AND tier = ?2 AND start_us >= ?3 AND start_us < ?4 AND (?5 IS NULL OR is_rolled = ?5)
    ORDER BY start_us";

/// Reads the records of a part without statements and sessions, in order of time: with what the server counted of all else.
pub(crate) fn counted(connection: &Connection, number: i64, part: Part) -> rusqlite::Result<Vec<Record>> {
    let mut counted = counted::of_part(connection, number, part)?;
    let Part { tier, is_rolled, from_us, to_us } = part;
    let mut heads = connection.prepare_cached(HEADS)?;
    let mut heads = heads.query(params![number, tier as i64, from_us, to_us, is_rolled])?;
    let mut records = Vec::new();
    while let Some(head) = heads.next()? {
        let mut record = head_of(head)?;
        record.counted = counted.remove(&record.bucket.start_us).unwrap_or_default();
        records.push(record);
    }
    Ok(records)
}

/// Reads the records of a part one by one, in order of time, without what [`counted`] reads: most who look at statements need none of that.
pub(crate) fn records(
    connection: &Connection,
    number: i64,
    part: Part,
    items: &HashMap<i64, Item>,
    each: &mut dyn FnMut(Record),
) -> rusqlite::Result<()> {
    let Part { tier, is_rolled, from_us, to_us } = part;
    let mut heads = connection.prepare_cached(HEADS)?;
    let mut sums = connection.prepare_cached(
        "SELECT start_us, query_no, nested, plan, one.status, one.sums, longest_us, measures
        FROM watched_slot JOIN watched_sum one USING (slot_no)
        WHERE watched_no = ?1 AND tier = ?2 AND start_us >= ?3 AND start_us < ?4 AND (?5 IS NULL OR is_rolled = ?5)
        ORDER BY start_us, query_no, nested, plan",
    )?;
    let mut waits = connection.prepare_cached(
        "SELECT start_us, query_no, name, us
        FROM watched_slot JOIN watched_wait USING (slot_no) JOIN watched_wait_name USING (wait_no)
        WHERE watched_no = ?1 AND tier = ?2 AND start_us >= ?3 AND start_us < ?4 AND (?5 IS NULL OR is_rolled = ?5)
        ORDER BY start_us, query_no, wait_no",
    )?;
    let tier = tier as i64;
    let mut heads = heads.query(params![number, tier, from_us, to_us, is_rolled])?;
    let mut sums = sums.query(params![number, tier, from_us, to_us, is_rolled])?;
    let mut waits = waits.query(params![number, tier, from_us, to_us, is_rolled])?;
    let (mut sum, mut wait) = (sums.next()?.map(sum_of).transpose()?, waits.next()?.map(wait_of).transpose()?);
    while let Some(head) = heads.next()? {
        let mut record = head_of(head)?;
        let start_us = record.bucket.start_us;
        while let Some((at_us, query, key, count, row)) = sum.filter(|(at_us, ..)| *at_us <= start_us) {
            if at_us == start_us {
                put(&mut record.bucket, (query, key, count, row), items);
            }
            sum = sums.next()?.map(sum_of).transpose()?;
        }
        while let Some((at_us, query, name, us)) = wait.take_if(|(at_us, ..)| *at_us <= start_us) {
            if at_us == start_us {
                record.waits.insert((items.get(&query).copied(), name), us);
            }
            wait = waits.next()?.map(wait_of).transpose()?;
        }
        each(record);
    }
    Ok(())
}

fn head_of(row: &Row<'_>) -> rusqlite::Result<Record> {
    let of = |at: usize| row.get::<_, Option<i64>>(at).map(|value| value.map(i64::unsigned_abs));
    let document: String = row.get(6)?;
    let bucket = Bucket {
        start_us: row.get(0)?,
        length_us: of(1)?.unwrap_or(0),
        covered_us: of(2)?.unwrap_or(0),
        status: Status::from_bits(row.get(3)?),
        explained_us: of(4)?,
        total_us: of(5)?,
        sums: BTreeMap::new(),
        other: None,
        other_nested: None,
    };
    let about: About = serde_json::from_str(&document).unwrap_or_default();
    Ok(Record { bucket, about, waits: BTreeMap::new(), counted: BTreeMap::new() })
}

/// When, which statement, whether nested and with which plan, how many sums it is made of, the sum.
type SumRow = (i64, i64, (bool, Option<Plan>), u64, Sum);

fn sum_of(row: &Row<'_>) -> rusqlite::Result<SumRow> {
    let plan: i64 = row.get(3)?;
    let longest_us: Option<i64> = row.get(6)?;
    let sum = Sum {
        values: columns::unpacked(row.get_ref(7)?.as_blob()?),
        status: Status::from_bits(row.get(4)?),
        longest_us: longest_us.map(i64::unsigned_abs),
    };
    let plan = (plan != 0).then_some(Plan(plan.cast_unsigned()));
    Ok((row.get(0)?, row.get(1)?, (row.get(2)?, plan), row.get::<_, i64>(5)?.unsigned_abs(), sum))
}

fn wait_of(row: &Row<'_>) -> rusqlite::Result<(i64, i64, String, u64)> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get::<_, i64>(3)?.unsigned_abs()))
}

fn put(
    bucket: &mut Bucket,
    (query, (is_nested, plan), count, sum): (i64, (bool, Option<Plan>), u64, Sum),
    items: &HashMap<i64, Item>,
) {
    if let Some(&item) = items.get(&query) {
        bucket.sums.insert(Key { is_nested, item, plan }, sum);
    } else {
        let other = if is_nested { &mut bucket.other_nested } else { &mut bucket.other };
        *other = Some(Other { sums: count, sum });
    }
}

/// The statements of a target by their numbers.
pub(crate) fn items(connection: &Connection, number: i64) -> rusqlite::Result<HashMap<i64, Item>> {
    let mut statement = connection.prepare_cached("SELECT query_no, item FROM watched_query WHERE watched_no = ?1")?;
    let rows = statement.query_map([number], |row| Ok((row.get(0)?, columns::item(row, 1)?)))?;
    rows.filter(|row| !matches!(row, Ok((REST, _)))).collect()
}

/// The texts of all statements of a target.
pub(crate) fn texts(connection: &Connection, number: i64) -> rusqlite::Result<Vec<Text>> {
    let mut statement = connection.prepare_cached(
        "SELECT item, database, text, object FROM watched_query LEFT JOIN watched_text USING (text_no) WHERE watched_no = ?1",
    )?;
    let text = |row: &Row<'_>| {
        Ok(Text { item: columns::item(row, 0)?, database: row.get(1)?, text: row.get(2)?, object: row.get(3)? })
    };
    statement.query_map([number], text)?.collect()
}

/// When each statement of a target was first seen: the begin of the slot.
pub(crate) fn first_seen(connection: &Connection, number: i64) -> rusqlite::Result<Vec<(Item, i64)>> {
    let mut statement = connection.prepare_cached("SELECT item, first_us FROM watched_query WHERE watched_no = ?1")?;
    statement.query_map([number], |row| Ok((columns::item(row, 0)?, row.get(1)?)))?.collect()
}

/// What happened in a time, in order.
pub(crate) fn events(
    connection: &Connection,
    number: i64,
    from_us: i64,
    to_us: i64,
) -> rusqlite::Result<Vec<Happened>> {
    let mut statement = connection.prepare_cached(
        "SELECT from_us, to_us, kind, note FROM watched_event WHERE watched_no = ?1 AND to_us >= ?2 AND from_us < ?3
        ORDER BY from_us, kind",
    )?;
    let event =
        |row: &Row<'_>| Ok(Happened { from_us: row.get(0)?, to_us: row.get(1)?, kind: row.get(2)?, note: row.get(3)? });
    statement.query_map(params![number, from_us, to_us], event)?.collect()
}

/// All that was watched, what was watched last first.
pub(crate) fn watched(connection: &Connection) -> rusqlite::Result<Vec<Profile>> {
    let mut statement = connection.prepare_cached("SELECT watched_no, target, engine FROM watched")?;
    let mut all: Vec<Profile> = statement
        .query_map([], |row| {
            let (number, target, engine) = (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok(Profile { number, target, engine, span_us: None, covered_us: 0, statements: 0 })
        })?
        .collect::<rusqlite::Result<_>>()?;
    for one in &mut all {
        for Part { tier, is_rolled, from_us, to_us } in parts(kept(connection, one.number)?, i64::MIN, i64::MAX) {
            let sql =
                "SELECT min(start_us), max(coalesce(document ->> '$.end_us', start_us)), coalesce(sum(covered_us), 0)
                FROM watched_slot WHERE watched_no = ?1 AND tier = ?2 AND start_us >= ?3 AND start_us < ?4
                AND (?5 IS NULL OR is_rolled = ?5)";
            let mut statement = connection.prepare_cached(sql)?;
            let span: (Option<i64>, Option<i64>, i64) = statement
                .query_row(params![one.number, tier as i64, from_us, to_us, is_rolled], |row| row.try_into())?;
            one.covered_us += span.2.unsigned_abs();
            if let Some((from, to)) = span.0.zip(span.1) {
                let (low, high) = one.span_us.unwrap_or((from, to));
                one.span_us = Some((low.min(from), high.max(to)));
            }
        }
        let count = "SELECT count(*) FROM watched_query WHERE watched_no = ?1";
        one.statements = connection.query_row(count, [one.number], |row| row.get::<_, i64>(0))?.unsigned_abs();
    }
    all.sort_by_key(|one| std::cmp::Reverse(one.span_us.map(|(_, to)| to)));
    Ok(all)
}

/// A target's number, and what is known of it.
pub(crate) fn known(connection: &Connection, target: &str) -> rusqlite::Result<Option<(i64, Known)>> {
    let sql = "SELECT watched_no, known FROM watched WHERE target = ?1";
    let found: Option<(i64, Option<String>)> =
        connection.query_row(sql, [target], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    let Some((number, head)) = found else { return Ok(None) };
    let Some(head) = head.and_then(|head| serde_json::from_str::<Head>(&head).ok()) else {
        return Ok(Some((number, Known::default())));
    };
    let mut statement = connection.prepare("SELECT row, document FROM watched_row WHERE watched_no = ?1")?;
    let rows = statement.query_map([number], |row| {
        let (id, document): ([u8; 16], String) = (row.get(0)?, row.get(1)?);
        Ok(serde_json::from_str(&document).ok().map(|kept| (RowId(u128::from_be_bytes(id)), kept)))
    })?;
    let rows: Vec<_> = rows.collect::<rusqlite::Result<Vec<_>>>()?;
    Ok(Some((number, Known::of_kept(head, rows.into_iter().flatten()))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_moment_is_in_one_part() {
        let of = |from, to| {
            let parts = parts([40, 30, 20, 0], from, to).into_iter();
            parts.map(|part| (part.tier, part.is_rolled, part.from_us, part.to_us)).collect::<Vec<_>>()
        };
        assert_eq!(
            of(0, 100),
            [
                (3, None, 0, 20),
                (2, None, 20, 30),
                (1, Some(true), 30, 40),
                (1, Some(false), 30, 100),
                (0, None, 40, 100)
            ]
        );
        assert_eq!(of(50, 60), [(1, Some(false), 50, 60), (0, None, 50, 60)]);
        assert_eq!(of(10, 15), [(3, None, 10, 15)]);
    }
}
