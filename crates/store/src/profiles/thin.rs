//! What was watched gets coarser as it gets older: minutes, quarters of an hour, hours; and what is too old goes.

use plimsoll_profile::record::roll_up;
use rusqlite::{Connection, params};

use super::kinds::{Keep, LENGTHS_US, Part};
use super::write::{self, Numbers, Refused};
use super::{counted, read};

const HOUR_US: i64 = 3_600_000_000;

/// So much of a file a row of sums takes, and a slot (`tests/profiles.rs` measures it).
const BYTES_OF_SUM: i64 = 64;
const BYTES_OF_SLOT: i64 = 400;

fn floor(us: i64, length_us: i64) -> i64 {
    us.div_euclid(length_us).saturating_mul(length_us)
}

fn stamps<const N: usize>(connection: &Connection, number: i64, column: &str) -> rusqlite::Result<[i64; N]>
where
    [i64; N]: Default + serde::de::DeserializeOwned,
{
    let sql = format!("SELECT {column} FROM watched WHERE watched_no = ?1");
    let text: String = connection.query_row(&sql, [number], |row| row.get(0))?;
    Ok(serde_json::from_str(&text).unwrap_or_default())
}

/// Rolls up what is complete, and drops what is too old or too much. `first_us` is where what was written begins, and `now_us` where it
/// ends. Done again, it changes nothing.
pub(crate) fn thin(
    connection: &Connection,
    number: i64,
    first_us: i64,
    now_us: i64,
    keep: &Keep,
) -> Result<(), Refused> {
    let old: [i64; 3] = stamps(connection, number, "rolled")?;
    let mut rolled = old;
    for (at, length_us) in LENGTHS_US.into_iter().enumerate() {
        let length = length_us.cast_signed();
        // A server's clock may have been set back.
        let from_us = rolled[at].min(floor(first_us, length));
        let to_us = floor(now_us, length);
        if from_us < to_us {
            tier(connection, number, (at + 1, from_us, to_us), keep.top)?;
        }
        rolled[at] = to_us;
    }
    if rolled != old {
        let sql = "UPDATE watched SET rolled = ?2 WHERE watched_no = ?1";
        connection.prepare_cached(sql)?.execute(params![number, serde_json::to_string(&rolled)?])?;
    }
    // Once in a quarter of an hour is often enough.
    if rolled[1] != old[1] {
        drop_old(connection, number, rolled, now_us, keep)?;
    }
    Ok(())
}

/// Makes the buckets of a tier that begin in a time, out of the tier below.
fn tier(
    connection: &Connection,
    number: i64,
    (tier, from_us, to_us): (usize, i64, i64),
    top: usize,
) -> Result<(), Refused> {
    let length_us = LENGTHS_US[tier - 1];
    let length = length_us.cast_signed();
    let sql = "SELECT DISTINCT start_us / ?1 FROM watched_slot
        WHERE watched_no = ?2 AND tier = ?3 AND start_us >= ?4 AND start_us < ?5 ORDER BY 1";
    let below = tier - 1;
    let groups: Vec<i64> = connection
        .prepare_cached(sql)?
        .query_map(params![length, number, below as i64, from_us, to_us], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    if groups.is_empty() {
        return Ok(());
    }
    let items = read::items(connection, number)?;
    let mut numbers = Numbers::of(number);
    for group in groups {
        let start_us = group.saturating_mul(length);
        let part = Part { tier: below, is_rolled: None, from_us: start_us, to_us: start_us.saturating_add(length) };
        let mut finer = Vec::new();
        let mut counted = counted::of_part(connection, number, part)?;
        read::records(connection, number, part, &items, &mut |mut record| {
            record.counted = counted.remove(&record.bucket.start_us).unwrap_or_default();
            finer.push(record);
        })?;
        // Minutes are listed in whole, as slots are.
        let top = if tier == 1 { usize::MAX } else { top };
        for record in roll_up(&finer, length_us, top) {
            write::record(connection, &mut numbers, tier, true, &record)?;
        }
    }
    Ok(())
}

/// About how many bytes are kept of a target.
fn bytes(connection: &Connection, number: i64) -> rusqlite::Result<u64> {
    let sql = "SELECT coalesce(sum(sums) * ?2 + count(*) * ?3, 0) FROM watched_slot WHERE watched_no = ?1";
    let row = [number, BYTES_OF_SUM, BYTES_OF_SLOT];
    connection.prepare_cached(sql)?.query_row(row, |row| row.get::<_, i64>(0)).map(i64::unsigned_abs)
}

fn drop_old(connection: &Connection, number: i64, rolled: [i64; 3], now_us: i64, keep: &Keep) -> Result<(), Refused> {
    let old: [i64; 4] = stamps(connection, number, "kept")?;
    let mut kept = old;
    // A tier goes up to what the next one has in whole; the last one has no next.
    let most = |tier: usize| floor(rolled.get(tier).copied().unwrap_or(now_us), HOUR_US);
    let aged_us = now_us.min(keep.now_us);
    for (tier, kept) in kept.iter_mut().enumerate() {
        *kept = (*kept).max(floor(aged_us.saturating_sub(keep.us[tier]), HOUR_US).min(most(tier)));
    }
    order(&mut kept);
    remove(connection, number, old, kept)?;
    let mut tier = 0;
    while tier < kept.len() && bytes(connection, number)? > keep.most_bytes {
        // What is kept shortest should not outlast what is coarser: the finest goes first, an hour at a time.
        let sql = "SELECT min(start_us) FROM watched_slot WHERE watched_no = ?1 AND tier = ?2 AND start_us < ?3";
        let oldest: Option<i64> = connection
            .prepare_cached(sql)?
            .query_row([number, tier as i64, most(tier).min(floor(now_us, HOUR_US) - HOUR_US)], |row| row.get(0))?;
        let Some(oldest) = oldest else {
            tier += 1;
            continue;
        };
        let before = kept;
        kept[tier] = floor(oldest, HOUR_US) + HOUR_US;
        order(&mut kept);
        remove(connection, number, before, kept)?;
    }
    if kept != old {
        let sql = "UPDATE watched SET kept = ?2 WHERE watched_no = ?1";
        connection.prepare_cached(sql)?.execute(params![number, serde_json::to_string(&kept)?])?;
    }
    Ok(())
}

/// What is finer goes no further back than what is coarser, so that each moment is read once.
fn order(kept: &mut [i64; 4]) {
    for finer in (0..kept.len() - 1).rev() {
        kept[finer] = kept[finer].max(kept[finer + 1]);
    }
}

fn remove(connection: &Connection, number: i64, old: [i64; 4], kept: [i64; 4]) -> rusqlite::Result<()> {
    let sql = "DELETE FROM watched_slot WHERE watched_no = ?1 AND tier = ?2 AND start_us < ?3";
    for tier in (0..kept.len()).filter(|tier| kept[*tier] != old[*tier]) {
        connection.prepare_cached(sql)?.execute([number, tier as i64, kept[tier]])?;
    }
    if kept[3] != old[3] {
        let last = kept[3];
        connection.execute("DELETE FROM watched_event WHERE watched_no = ?1 AND to_us < ?2", [number, last])?;
        let gone = "DELETE FROM watched_query WHERE watched_no = ?1 AND last_us < ?2";
        if connection.execute(gone, [number, last - HOUR_US])? > 0 {
            let unused = "DELETE FROM watched_text WHERE text_no NOT IN
                (SELECT text_no FROM watched_query WHERE text_no IS NOT NULL)";
            connection.execute(unused, [])?;
            counted::forget_unused(connection)?;
        }
    }
    Ok(())
}
