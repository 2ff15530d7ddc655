//! What single-row changes cost the log on levels of the catalogue, held against the rule that `docs/LAB.md` gives. The rule
//! is written down here once more, by the sizes of rows alone.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails by panicking, and shows its figures")]

mod common;
mod running;

use std::sync::Arc;

use common::table;
use plimsoll_bench::generate::{Family, Rows};
use plimsoll_bench::schema::Width;
use plimsoll_clock::{Clock, VirtualClock, enter};
use plimsoll_engine::{ClaimMode, Row, Session, Sessions as _, Value, Workspace, Workspaces as _};
use plimsoll_lab::LabDatabase;
use plimsoll_measurement::Counter;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};

const LEVELS: [&str; 8] = [
    "S0@v12-ga-2015-01",
    "S2@v12-ga-2015-01",
    "P1@v12-ga-2015-01",
    "S1@v12-retest",
    "S2@v12-retest",
    "Basic@v11-2014-07",
    "P2@v11-2014-07",
    "WB@v11-2015-01",
];

/// The rule: a transaction, a record, and the row.
const TRANSACTION: f64 = 208.0;
const RECORD: f64 = 96.0;

fn varint(value: u64) -> f64 {
    f64::from((64 - value.max(1).leading_zeros()).div_ceil(7))
}

fn integer(value: i64) -> f64 {
    let bits = 64 - if value < 0 { !value } else { value }.leading_zeros();
    match bits {
        0 | 1 if (0..=1).contains(&value) => 0.0,
        0..8 => 1.0,
        8..16 => 2.0,
        16..24 => 3.0,
        24..32 => 4.0,
        32..48 => 6.0,
        _ => 8.0,
    }
}

/// Bytes of a row as SQLite stores it: its length and key, the types of its values, the values.
fn stored<'a>(values: impl Iterator<Item = Value<'a>>) -> f64 {
    let (mut key, mut types, mut bytes) = (0, 2.0, 0.0);
    for (column, value) in values.enumerate() {
        let whole = match value {
            Value::Text(text) => {
                types += varint(13 + 2 * text.len() as u64) - 1.0;
                bytes += text.len() as f64;
                None
            }
            Value::Float(_) => {
                bytes += 8.0;
                None
            }
            Value::Bit(value) => Some(i64::from(value)),
            Value::TinyInt(value) => Some(value.into()),
            Value::SmallInt(value) => Some(value.into()),
            Value::Int(value) => Some(value.into()),
            Value::BigInt(value) | Value::Money(value) | Value::DateTime(value) => Some(value),
            Value::Null => None,
        };
        types += f64::from(u8::from(column > 0));
        match whole {
            Some(value) if column == 0 => key = value as u64,
            Some(value) => bytes += integer(value),
            None => {}
        }
    }
    varint((types + bytes) as u64) + varint(key) + types + bytes
}

struct Random(Xoshiro256PlusPlus);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        (self.0.next_u64() % end as u64) as usize
    }

    fn text(&mut self, bytes: usize) -> String {
        (0..bytes).map(|_| char::from(b'a' + self.below(26) as u8)).collect()
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Change {
    Insert,
    Number,
    Text,
}

fn log_bytes(session: &mut dyn Session) -> f64 {
    let readings = session.sample().unwrap();
    readings.iter().find(|reading| reading.metric == Counter::LogWriteBytes).unwrap().value
}

/// Makes changes, each in a transaction of its own; gives the log that they took, and what the rule says of them.
fn make(session: &mut dyn Session, random: &mut Random, change: Change, (least, most): (usize, usize)) -> [f64; 2] {
    let row = |random: &mut Random, key: i32| {
        let bytes = least + random.below(most - least + 1);
        let most = 2 << random.below(40);
        (key, random.below(most) as i64, random.text(bytes))
    };
    let size = |(key, number, text): &(i32, i64, String)| {
        stored([Value::Int(*key), Value::BigInt(*number), Value::Text(text)].into_iter())
    };
    let insert = "INSERT INTO t VALUES (?1, ?2, ?3)";
    let mut rows = Vec::new();
    let count = 400;
    for key in 1..=count {
        rows.push(row(random, key));
    }
    let (mut before, mut by_rule) = (log_bytes(session), 0.0);
    if change != Change::Insert {
        session.execute("BEGIN", &[]).unwrap();
    }
    for row in &rows {
        let values = [Value::Int(row.0), Value::BigInt(row.1), Value::Text(&row.2)];
        session.execute(insert, &values).unwrap();
        by_rule += TRANSACTION + RECORD + size(row);
    }
    if change == Change::Insert {
        return [log_bytes(session) - before, by_rule];
    }
    session.execute("COMMIT", &[]).unwrap();
    (before, by_rule) = (log_bytes(session), 0.0);
    for _ in 0..count {
        let old = &mut rows[random.below(count as usize)];
        let new = row(random, old.0);
        let key = Value::Int(old.0);
        by_rule += TRANSACTION + RECORD;
        if change == Change::Number {
            // The type of a number stands before the key's row, and the number before the text.
            let (from, to) = (integer(old.1), integer(new.1));
            by_rule += from + to + if from.to_bits() == to.to_bits() { 0.0 } else { 2.0 * 3.0 };
            old.1 = new.1;
            session.execute("UPDATE t SET Number = ?1 WHERE RowId = ?2", &[Value::BigInt(new.1), key]).unwrap();
        } else {
            by_rule += size(old) + size(&(old.0, old.1, new.2.clone()));
            old.2.clone_from(&new.2);
            session.execute("UPDATE t SET Text = ?1 WHERE RowId = ?2", &[Value::Text(&new.2), key]).unwrap();
        }
    }
    [log_bytes(session) - before, by_rule]
}

#[test]
fn twenty_random_tests_of_single_rows_log_what_the_rule_says() {
    for number in 0..20 {
        let random = &mut Random(Xoshiro256PlusPlus::seed_from_u64(9100 + number));
        let level = LEVELS[random.below(LEVELS.len())];
        let change = [Change::Insert, Change::Text, Change::Insert, Change::Number][number as usize % 4];
        let least = 1 + random.below(1200);
        let bytes = (least, least + random.below(900));
        let clock: Arc<dyn Clock> = Arc::new(VirtualClock::new());
        let _on_clock = enter(&clock, "test");
        let lab = LabDatabase::open(&format!("lab:azure-sql-db/{level}?seed={number}"), clock).unwrap();
        let workspace = Workspace::run("log").unwrap();
        let _lease = lab.claim(&workspace, ClaimMode::Exclusive).unwrap().unwrap();
        let mut session = lab.session(&workspace, &workspace).unwrap();
        session.create_table(&table("t")).unwrap();
        let [logged, by_rule] = make(session.as_mut(), random, change, bytes);
        let off = 100.0 * (logged / by_rule - 1.0);
        println!("{change:?} of texts of {bytes:?} bytes on {level}: {logged} bytes of log, {off:+.1} % off");
        assert!(off.abs() < 10.0, "{change:?} of {bytes:?} on {level}: {logged} and by the rule {by_rule}");
    }
}

/// The product's own tests of single rows, by the mean size of their rows: an update gives all columns new values.
#[test]
fn the_tests_of_single_rows_log_what_the_rule_says() {
    let (mut rows, mut row) = (Rows::new(Family::Typed(Width::Seeds), 1, 0, 1, 2000), Row::default());
    let mut mean = 0.0;
    while rows.fill(&mut row) {
        mean += stored(row.values()) / 2000.0;
        row.clear();
    }
    for (test, images) in [("insert", 1.0), ("update", 2.0)] {
        for (level, sessions) in [("S2", "8"), ("S0", "1")] {
            let url = format!("lab:azure-sql-db/{level}@v12-retest?seed=1&neighbour=off");
            let set = [("sessions", sessions), ("duration", "4s"), ("volume", "4MiB")];
            let record = running::on_level(&url, test, &set);
            let repetition = &record.repetitions[0];
            let changes: u64 = repetition.requests.iter().map(|kind| kind.operations + kind.drained).sum();
            let log = repetition.files.iter().filter(|file| file.file.ends_with("-wal"));
            let logged = log.filter_map(|file| file.write_bytes).sum::<u64>() as f64;
            let by_rule = changes as f64 * (TRANSACTION + RECORD + images * mean);
            let off = 100.0 * (logged / by_rule - 1.0);
            let each = logged / changes as f64;
            println!("{test} by {sessions} on {level}: {changes} in 4 s, {each:.0} bytes of log each, {off:+.1} % off");
            assert!(off.abs() < 10.0, "{test} on {level}: {logged} and by the rule {by_rule}");
        }
    }
}
